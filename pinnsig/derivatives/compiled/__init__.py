"""What a loss takes, as compiled C, for CPUs with a compiler.

A pass through a whole network is written out for one plan, type and activation; a problem's own
arithmetic is a program that one interpreter runs. Without a C compiler, or with the
environment variable PINNSIG_COMPILE=0, torch's own operations do the same.
"""

from pinnsig.derivatives.compiled.compiler import compiler_notice
from pinnsig.derivatives.compiled.operation_library import find_operations
from pinnsig.derivatives.compiled.operation_tape import CompiledOperationTape
from pinnsig.derivatives.compiled.programs import Program, ProgramCotangents, find_interpreter
from pinnsig.derivatives.compiled.tape import CompiledTape, find_library

__all__ = [
    "CompiledOperationTape",
    "CompiledTape",
    "Program",
    "ProgramCotangents",
    "compiler_notice",
    "find_interpreter",
    "find_library",
    "find_operations",
]
