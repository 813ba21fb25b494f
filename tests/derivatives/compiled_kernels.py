"""Compiling the `fused` kernels for a GPU that need not be here."""

from typing import Any

from pinnsig.activations import Activation
from pinnsig.derivatives import Plan
from pinnsig.derivatives.fused import Tuning
from pinnsig.derivatives.fused.source import load_kernels


def compile_kernel(
    activation: Activation, plan: Plan, width: int, which: str, layers: int, arch: int = 90
) -> tuple[Any, dict[str, int]]:
    """Return what Triton makes of a kernel, and how it is launched.

    Args:
        activation, plan, width: what it is for.
        which: forward or backward.
        layers: between the first and the last.
        arch: the device's compute capability, times ten.
    """
    from triton.backends.compiler import GPUTarget  # pyright: ignore[reportMissingImports]
    from triton.compiler import ASTSource, compile  # pyright: ignore[reportMissingImports]

    kernel: Any = getattr(load_kernels(activation, plan), which)
    options = Tuning().options(len(plan), width)
    launch = {name: options.pop(name) for name in ("num_warps", "num_stages")}
    constants = {"LAYERS": layers, "SAVE": True, **options}
    numbers = ("points", "members", "start", "slabs")
    kinds = dict.fromkeys(numbers, "i32") | dict.fromkeys(constants, "constexpr")
    signature = {name: kinds.get(name, "*fp32") for name in kernel.arg_names}
    places = {(i,): constants[n] for i, n in enumerate(kernel.arg_names) if n in constants}
    # pointers that torch gives are aligned, which decides how loads are made
    aligned = [["tt.divisibility", 16]]
    attributes = {(i,): aligned for i, n in enumerate(kernel.arg_names) if signature[n] == "*fp32"}
    source = ASTSource(fn=kernel, signature=signature, constexprs=places, attrs=attributes)
    return compile(source, target=GPUTarget("cuda", arch, 32), options=launch), launch
