"""`Jet`: a quantity over the points that knows its partial derivatives.

Fields, coordinates and everything computed from them are jets. A partial is worked out when it is
read, from the partials of what the jet was made of, by Leibniz's and Faa di Bruno's formulas; so
nothing is computed that is not used, and reading partials of a recording leaf tells which ones a
residual needs. Wherever a tensor of shape (N,) will do, a jet will do.
"""

from collections.abc import Callable
from operator import add
from typing import Any, cast

import torch
from torch import Tensor

from pinnsig.core.errors import DerivativeError
from pinnsig.core.names import Alpha, parse_partial
from pinnsig.derivatives.algebra import Part, plain
from pinnsig.derivatives.calls import TorchFunctions
from pinnsig.derivatives.compositions import COMPOSITIONS
from pinnsig.derivatives.operations import FUNCTIONS
from pinnsig.derivatives.symbols import Symbol


class Jet(TorchFunctions):
    """Values of shape (N,) with partial derivatives as attributes: `u.t`, `u.xx`, `u.xt`.

    Arithmetic (+ - * / % **) and the functions in `operations` and `compositions`,
    written `torch.sin(u)` or `u.sin()`, give jets. Any other torch function sees the plain values;
    what it gives has no partials, and says so where one is read.

    Args:
        coordinates: names of the coordinates.
        part: gives the partial of a multi-index.
        like: a tensor of shape (N,) that sets shape, dtype and device.

    Raises:
        DerivativeError: an attribute that is neither a partial nor a tensor's, or a partial of
            something made from plain tensors.
    """

    __slots__ = ("_compute", "_parts", "coordinates", "like")

    def __init__(
        self, coordinates: tuple[str, ...], part: Callable[[Alpha], Part], like: Tensor
    ) -> None:
        self.coordinates = coordinates
        self.like = like
        self._compute = part
        self._parts: dict[Alpha, Part] = {}

    def part(self, alpha: Alpha) -> Part:
        """The partial of a multi-index, in its most compact form."""
        if alpha not in self._parts:
            self._parts[alpha] = self._compute(alpha)
        return self._parts[alpha]

    def tensor(self, alpha: Alpha) -> Tensor:
        """The partial of a multi-index, shape (N,)."""
        part = self.part(alpha)
        if isinstance(part, Tensor | Symbol) and part.ndim:
            return cast(Tensor, part)  # as a symbol behaves
        constant = cast(Tensor | float, 0.0 if part is None else part)
        return torch.zeros_like(self.like) + constant

    def shifted(self, by: Alpha) -> "Jet":
        """The partial of a multi-index as a jet of its own."""
        return Jet(self.coordinates, lambda alpha: self.part(tuple(map(add, alpha, by))), self.like)

    def with_parts(self, part: Callable[[Alpha], Part]) -> "Jet":
        """Another jet at the same points."""
        return Jet(self.coordinates, part, self.like)

    def detached(self) -> "Jet":
        """The same numbers, through which no gradient flows."""

        def part(alpha: Alpha) -> Part:
            found = self.part(alpha)
            return found.detach() if isinstance(found, Tensor | Symbol) else found

        return self.with_parts(part)

    def __getattr__(self, name: str) -> Any:
        alpha = None if name.startswith("_") else parse_partial(name, self.coordinates)
        if alpha is not None:
            return self.shifted(alpha)
        if name in FUNCTIONS or name in COMPOSITIONS or name == "where":
            return lambda *args, **kwargs: self.call(
                getattr(Tensor, name, None), name, (self, *args), kwargs
            )
        if name.startswith("__"):  # Python and numpy ask what it can do
            raise AttributeError(name)
        if not hasattr(self.like, name):
            raise DerivativeError(
                f"there is no partial {name!r}: the coordinates are {', '.join(self.coordinates)}"
            )
        found = getattr(self.value, name)
        if not callable(found):
            return found
        return lambda *args, **kwargs: self.without_partials(
            name, found(*plain(args), **plain(kwargs))
        )

    def __repr__(self) -> str:
        return f"Jet({self.value!r})"

    def __len__(self) -> int:
        return len(self.like)

    def __getitem__(self, index: Any) -> Tensor:
        return self.value[index]
