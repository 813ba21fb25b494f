"""Random networks that are compositions of operations."""

import itertools
import math

import torch
from hypothesis import strategies as st
from torch import Tensor, nn

from pinnsig.activations import Activation, parse_activation
from pinnsig.initializers import Xavier
from pinnsig.networks import FFNN

ACTIVATIONS = ["tanh", "2 erf(0.5x)", "gd", "tanh(2x)+arctan(x)/3", "softsign2"]

STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            [
                "activate",
                "linear",
                "shared",
                "add",
                "subtract",
                "multiply",
                "affine",
                "gate",
                "scale",
                "one",
                "computed",
                "shift",
                "features",
            ]
        ),
        st.integers(0, 99),
        st.integers(0, 99),
    ),
    min_size=1,
    max_size=12,
)
"""What is done, to which two of the values before it."""


class Recipe(nn.Module):
    """A network that does what a list of steps says, on values of one width.

    Args:
        steps: from `STEPS`.
        act: the activation.
        inputs, outputs, width: units.
    """

    def __init__(self, steps, act="tanh", inputs=2, outputs=1, width=5, seed=0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)

        def draw(*shape: int) -> Tensor:
            scale = 0.8 / math.sqrt(shape[-1]) if len(shape) > 1 else 0.8
            return scale * torch.randn(shape, generator=generator, dtype=torch.float64)

        self.steps, self.f = steps, parse_activation(act)
        self.own = nn.ParameterList()
        self.fixed: Tensor
        self.phase: Tensor
        self.register_buffer("fixed", draw(width, width))
        self.register_buffer("phase", draw(width))

        def own(*shape: int) -> int:
            self.own.append(nn.Parameter(draw(*shape)))
            return len(self.own) - 1

        self.shared, self.entry, self.exit = own(width, width), own(width, inputs), own(1, width)
        self.entry_bias = own(width)
        self.exit = own(outputs, width)
        shapes = {
            "linear": [(width, width), (width,)], "scale": [(width,)], "shift": [(1, width)],
            "one": [()], "gate": [()], "computed": [(width, width), (width,)],
        }  # fmt: skip
        self.places = [[own(*shape) for shape in shapes.get(step, [])] for step, _, _ in steps]

    def forward(self, x: Tensor) -> Tensor:
        f, linear, p = self.f, nn.functional.linear, self.own
        values = [f(linear(x, p[self.entry], p[self.entry_bias]))]
        for (step, i, j), places in zip(self.steps, self.places, strict=True):
            a, b = values[-1 - i % len(values)], values[-1 - j % len(values)]
            q = [p[place] for place in places]
            match step:
                case "activate":
                    new = f(a)
                case "linear":
                    new = f(linear(a, *q))
                case "shared":
                    new = linear(a, p[self.shared])
                case "add":
                    new = a + b
                case "subtract":
                    new = a - 0.5 * b
                case "multiply":
                    new = f(a) * b
                case "affine":
                    new = (1 - a) / 2
                case "gate":
                    new = q[0] * a + (1 - q[0]) * b
                case "scale":
                    new = f(q[0] * a)
                case "one":
                    new = q[0] * f(a)
                case "computed":
                    new = a @ (q[1].exp().unsqueeze(1) * q[0]).mT / 2
                case "shift":
                    new = a - q[0]
                case _:
                    new = f(linear(a, self.fixed) + self.phase)
            values.append(new)
        return linear(values[-1], p[self.exit])


def recipes(act: st.SearchStrategy[str], inputs: int = 2) -> st.SearchStrategy[Recipe]:
    """Random networks of a few units."""
    return st.builds(
        Recipe,
        steps=STEPS,
        act=act,
        inputs=st.just(inputs),
        outputs=st.integers(1, 2),
        width=st.sampled_from([1, 5, 8]),
        seed=st.integers(0, 3),
    )


class ModifiedMLP(nn.Module):
    """Wang, Teng, Perdikaris, SIAM J. Sci. Comput. 43 (2021), with two gates of the input."""

    def __init__(self, f: Activation, inputs=2, outputs=1, depth=3, width=8) -> None:
        super().__init__()
        self.f = f
        self.gates = nn.ModuleList([nn.Linear(inputs, width) for _ in range(2)])
        sizes = [inputs, *[width] * depth]
        self.layers = nn.ModuleList([nn.Linear(*pair) for pair in itertools.pairwise(sizes)])
        self.last = nn.Linear(width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        u, v = (self.f(gate(x)) for gate in self.gates)
        between = u - v
        first, *others = self.layers
        h = self.f(first(x))
        for layer in others:
            h = v + self.f(layer(h)) * between
        return self.last(h)


class Pirate(nn.Module):
    """Wang, Li, Chen, Perdikaris, JMLR 25 (2024): blocks that begin as the identity."""

    def __init__(self, f: Activation, inputs=2, outputs=1, blocks=1, width=8) -> None:
        super().__init__()
        self.f = f
        self.features = nn.Linear(inputs, width)
        self.gates = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.blocks = nn.ModuleList(
            [nn.ModuleList([nn.Linear(width, width) for _ in range(3)]) for _ in range(blocks)]
        )
        self.alphas = nn.ParameterList([nn.Parameter(torch.tensor(0.3)) for _ in range(blocks)])
        self.last = nn.Linear(width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = self.f(self.features(x))
        u, v = (self.f(gate(x)) for gate in self.gates)
        between = u - v
        for block, alpha in zip(self.blocks, self.alphas, strict=True):
            first, second, third = block.children()
            g = self.f(second(v + self.f(first(x)) * between))
            x = x + alpha * (self.f(third(v + g * between)) - x)
        return self.last(x)


def ffnn(f: Activation, inputs=2, outputs=1, depth=3, width=8) -> FFNN:
    """A plain network."""
    made = FFNN(inputs, outputs, depth, width, f)
    Xavier(sigma_b=0.3).fill(made, torch.Generator().manual_seed(0))
    return made
