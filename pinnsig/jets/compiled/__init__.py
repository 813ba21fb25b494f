"""The pass through a whole network as compiled C, for CPUs with a compiler.

The source is written out for one plan, type and activation. Without a C compiler, or with the
environment variable PINNSIG_COMPILE=0, torch's own operations do the same.
"""

from pinnsig.jets.compiled.tape import CompiledTape, find_library

__all__ = ["CompiledTape", "find_library"]
