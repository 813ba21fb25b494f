"""Burgers' loss and gradient in JAX, compiled, by forward-over-forward mode; for `peers.py`.

A loop that a JAX user writes for speed: `jvp` of `jvp` for u_xx, `vmap` over the points, one `jit`
around `value_and_grad`. Each network takes its weights by the names that ours has.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

Weights = Mapping[str, Any]
Forward = Callable[[Weights, Any], Any]
"""Outputs at one point, shape (2,), from weights by name."""


def _linear(weights: Weights, name: str, x: Any) -> Any:
    return weights[f"{name}.weight"] @ x + weights[f"{name}.bias"]


def _ffnn(weights: Weights, x: Any) -> Any:
    import jax.numpy as jnp  # pyright: ignore[reportMissingImports]

    last = len(weights) // 2 - 1
    for i in range(last):
        x = jnp.tanh(_linear(weights, f"layers.{i}", x))
    return _linear(weights, f"layers.{last}", x)


def _count(weights: Weights, name: str) -> int:
    """Return how many layers are called `name.0`, `name.1`, ..."""
    return sum(key.startswith(f"{name}.") and key.endswith(".weight") for key in weights)


def _modified_mlp(weights: Weights, x: Any) -> Any:
    import jax.numpy as jnp  # pyright: ignore[reportMissingImports]

    u, v = (jnp.tanh(_linear(weights, name, x)) for name in ("u", "v"))
    for i in range(_count(weights, "layers")):
        z = jnp.tanh(_linear(weights, f"layers.{i}", x))
        x = (1 - z) * u + z * v
    return _linear(weights, "last", x)


def _pirate(weights: Weights, x: Any) -> Any:
    import jax.numpy as jnp  # pyright: ignore[reportMissingImports]

    x = jnp.sin(weights["features.weight"] @ x + weights["features.phase"])
    u, v = (jnp.tanh(_linear(weights, name, x)) for name in ("u", "v"))
    for block in range(sum(key.startswith("gates.") for key in weights)):
        size = _count(weights, f"blocks.{block}")
        z = x
        for i in range(size):
            z = jnp.tanh(_linear(weights, f"blocks.{block}.{i}", z))
            if i < size - 1:
                z = (1 - z) * u + z * v
        gate = weights[f"gates.{block}"]
        x = gate * z + (1 - gate) * x
    return _linear(weights, "last", x)


FORWARDS: dict[str, Forward] = {"ffnn": _ffnn, "modified-mlp": _modified_mlp, "pirate": _pirate}
"""By our networks' names."""


def evaluation(
    network: nn.Module,
    name: str,
    nu: float,
    points: Mapping[str, Tensor],
    values: Mapping[str, Tensor],
) -> Callable[[], tuple[float, Tensor]]:
    """Return the compiled loss and gradient.

    Args:
        network: ours, whose weights are copied.
        name: a name in `FORWARDS`.
        nu: the viscosity.
        points: by term, shape (N, 2): x, t.
        values: what u is at the points of conditions, shape (N, 1).
    """
    if torch.get_num_threads() == 1:  # XLA has threads of its own
        flags = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flags}".strip()
    import jax  # pyright: ignore[reportMissingImports]
    import jax.numpy as jnp  # pyright: ignore[reportMissingImports]

    forward = FORWARDS[name]
    weights = {k: jnp.asarray(p.detach().numpy()) for k, p in network.named_parameters()}
    fixed = {k: jnp.asarray(b.numpy()) for k, b in network.named_buffers()}
    place = {k: jnp.asarray(p.numpy()) for k, p in points.items()}
    given = {k: jnp.asarray(v.numpy()[:, 0]) for k, v in values.items()}

    def loss(weights: Weights) -> Any:
        def u(point: Any) -> Any:
            return forward({**weights, **fixed}, point)[0]

        def residual(point: Any) -> Any:
            along_x, along_t = jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0])

            def slope(p: Any) -> Any:
                return jax.jvp(u, (p,), (along_x,))

            (value, u_x), (_, u_xx) = jax.jvp(slope, (point,), (along_x,))
            _, u_t = jax.jvp(u, (point,), (along_t,))
            return u_t + value * u_x - nu * u_xx

        total = (jax.vmap(residual)(place["residual"]) ** 2).mean()
        for term, wanted in given.items():
            total = total + ((jax.vmap(u)(place[term]) - wanted) ** 2).mean()
        return total

    compiled = jax.jit(jax.value_and_grad(loss))

    def evaluate() -> tuple[float, Tensor]:
        value, gradient = compiled(weights)
        jax.block_until_ready(gradient)
        flat = [torch.from_dlpack(gradient[k]).reshape(-1) for k, _ in network.named_parameters()]
        return float(value), torch.cat(flat)

    return evaluate
