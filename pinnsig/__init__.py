"""pinnsig: physics-informed neural networks for odd-sigmoid activations."""
