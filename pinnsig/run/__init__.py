"""Everything that makes a run: settings, building, training, directory, result, figures."""
