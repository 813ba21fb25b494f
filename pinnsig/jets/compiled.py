"""The elementwise part of a layer as compiled C: one pass over memory, for CPUs with a compiler.

The source is written out for one plan, type and activation, compiled once and kept in the user's
cache directory. Without a C compiler, or with the environment variable PINNSIG_COMPILE=0, torch's
own operations do the same.
"""

import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import torch
from torch import Tensor

from pinnsig.activations import Activation
from pinnsig.jets.c_source import native_form, write_source
from pinnsig.jets.kernels import Derivatives, LayerKernel, TorchKernel
from pinnsig.jets.plan import Plan

FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")


class CompiledKernel:
    """The work in C; see `LayerKernel`. Several threads may use one at once."""

    def __init__(
        self, library: ctypes.CDLL, activation: Activation, plan: Plan, native: bool
    ) -> None:
        self.activation, self.plan, self.native = activation, plan, native
        self.library = library

    def forward(self, h: Tensor, bias: Tensor, z: Tensor, order: int) -> Derivatives:
        """See `LayerKernel.forward`."""
        f: Derivatives = ()
        if not self.native:
            h[0] += bias
            f = self.activation.derivatives(h[0], order)
        self._activate(h, bias.contiguous(), z, f)
        return f

    def again(self, h: Tensor, f: Derivatives, z: Tensor) -> None:
        """See `LayerKernel.again`."""
        self._activate(h, h.new_zeros(h.shape[2]), z, f)

    def _activate(self, h: Tensor, bias: Tensor, z: Tensor, f: Derivatives) -> None:
        _, n, width = h.shape
        used = f[: self.plan.order + 1]
        self.library.forward(n, width, *_pointers(bias, h, z, *used))

    def backward(self, grad: Tensor, h: Tensor, f: Derivatives) -> Tensor:
        """See `LayerKernel.backward`."""
        _, n, width = h.shape
        bias_gradient = grad.new_zeros(width)
        used = f[1 : self.plan.order + 2]
        self.library.backward(n, width, *_pointers(bias_gradient, h, grad, *used))
        return bias_gradient


def _pointers(*tensors: Tensor) -> list[int]:
    return [tensor.data_ptr() for tensor in tensors]


def kernel_for(activation: Activation, plan: Plan, like: Tensor) -> LayerKernel:
    """The fastest kernel for the device and type of `like`."""
    if like.device.type == "cpu":
        return _cpu_kernel(activation, plan, like.dtype)
    return TorchKernel(activation, plan)


@functools.lru_cache(maxsize=256)
def _cpu_kernel(activation: Activation, plan: Plan, dtype: torch.dtype) -> LayerKernel:
    native = native_form(activation, plan.order + 1) if dtype == torch.float32 else None
    library = _compile(write_source(plan, "float" if dtype == torch.float32 else "double", native))
    if library is None:
        return TorchKernel(activation, plan)
    pointers = 3 if native else 3 + plan.order + 1
    for function in (library.forward, library.backward):
        function.restype = None
        function.argtypes = [ctypes.c_long] * 2 + [ctypes.c_void_p] * pointers
    return CompiledKernel(library, activation, plan, native is not None)


def _compile(source: str) -> ctypes.CDLL | None:
    """The source as a loaded library, compiled unless it was before; None where that fails."""
    compiler = shutil.which(os.environ.get("CC") or "cc")
    if compiler is None or os.environ.get("PINNSIG_COMPILE") == "0":
        return None
    try:
        folder = _cache_folder()
        key = hashlib.sha256(f"{compiler} {_machine()} {FLAGS}\n{source}".encode()).hexdigest()[:24]
        path = folder / f"{key}.so"
        if not path.is_file():
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                code, made = Path(scratch) / "kernel.c", Path(scratch) / "kernel.so"
                code.write_text(source, encoding="ascii")
                for tuned in (("-march=native",), ()):  # not every compiler knows the machine
                    command = [compiler, *FLAGS, *tuned, "-o", str(made), str(code)]
                    if subprocess.run(command, capture_output=True, timeout=120).returncode == 0:
                        break
                made.replace(path)
        return ctypes.CDLL(str(path))
    except (OSError, subprocess.SubprocessError):
        return None


@functools.cache
def _machine() -> str:
    """What the code is tuned for: the processor's own features, where the system tells."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        return next((line for line in text.splitlines() if line.startswith("flags")), "")
    except OSError:
        import platform

        return f"{platform.machine()} {platform.processor()}"


def _cache_folder() -> Path:
    """A folder that only this user can write to: what lies in it is loaded as code."""
    root = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(root) if root else Path.home() / ".cache") / "pinnsig"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder
