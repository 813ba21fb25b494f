"""Problem files to start from: `pinnsig new` copies one under the name that a user gives it.

Each file has one class, `Template`, and solves as it is; the first line of its docstring says what
it is.
"""
