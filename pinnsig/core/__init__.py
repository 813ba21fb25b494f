"""What every package uses: errors, devices, memory, names, paths, threads."""
