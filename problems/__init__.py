"""The built-in problems: one file each, nothing but the mathematics."""
