"""L-BFGS's memory: the last pairs, and the product of the inverse Hessian's approximation."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from torch import Tensor

Array = NDArray[np.float64]


class Memory:
    """The last pairs s, y in the compact form of Byrd, Nocedal and Schnabel.

    Math. Program. 63 (1994), theorem 2.2. All pairs stand in one matrix: a new pair and the next
    direction take one pass each over it. The inner products, float64, are kept on the host, where
    the small systems are solved; fetching them is the only time that the device is waited for.

    Args:
        size: pairs kept.
        like: gives the number of parameters, type and device.
    """

    def __init__(self, size: int, like: Tensor) -> None:
        self.size = size
        # one row more than is kept: a new pair is measured before it takes the oldest one's place
        rows = size + 1
        self.pairs = like.new_zeros(2, rows, like.numel())
        self.order: list[int] = []  # rows in use, oldest first
        self.sy, self.yy = np.zeros((rows, rows)), np.zeros((rows, rows))
        # of the gradient measured last: s.g and y.g by row, g.g, and its largest entry
        self.along = np.zeros((2, rows))
        self.gg, self.largest = 0.0, 0.0

    def __len__(self) -> int:
        return len(self.order)

    @property
    def length(self) -> float:
        """See `InverseHessian.length`."""
        return 1.0

    def clear(self) -> None:
        """Forget all pairs."""
        self.order.clear()

    def add(self, s: Tensor, y: Tensor, g: Tensor, t: float = 1.0) -> bool:
        """Keep a pair, dropping the oldest, and note the products with the gradient.

        Args:
            s: change of the parameters, shape (P,).
            y: change of the gradient, shape (P,).
            g: the gradient that the next direction starts from, shape (P,).
            t: not used, see `InverseHessian.add`.

        Returns:
            Whether the pair has positive curvature; without it is left out.
        """
        del t
        row = next(i for i in range(self.size + 1) if i not in self.order)
        self.pairs[0, row], self.pairs[1, row] = s, y
        products = torch.stack([s, y, g]) @ self.pairs.flatten(0, 1).T
        found = fetch(products, dot(s, y), dot(y, y), dot(g, g), g.abs().max())
        with_s, with_y, self.along = np.reshape(found[:-4], (3, 2, self.size + 1))
        curvature, size, self.gg, self.largest = found[-4:]
        if not curvature > torch.finfo(s.dtype).eps * size:
            return False
        self.order = [*self.order, row][-self.size :]
        self.sy[:, row], self.sy[row, :] = with_y[0], with_s[1]
        self.yy[row, :] = self.yy[:, row] = with_y[1]
        self.sy[row, row], self.yy[row, row] = curvature, size
        return True

    def measure(self, g: Tensor) -> None:
        """Note the products with a gradient that no pair comes with."""
        found = fetch(g @ self.pairs.flatten(0, 1).T, dot(g, g), g.abs().max())
        self.along = np.reshape(found[:-2], (2, self.size + 1))
        self.gg, self.largest = found[-2:]

    def direction(self, g: Tensor) -> tuple[Tensor, float]:
        """-H g for the gradient that was measured last, and its slope, -g.H g.

        H's seed is scaled by s.y / y.y of the newest pair.
        """
        if not self.order:
            return -g, -self.gg
        rows = self.order
        sy, yy = self.sy[np.ix_(rows, rows)], self.yy[np.ix_(rows, rows)]
        p, q = self.along[:, rows]
        gamma = sy[-1, -1] / yy[-1, -1]
        upper = np.triu(sy)
        u = solve_triangular(upper, p)
        right = np.diagonal(sy) * u + gamma * (yy @ u - q)
        v = solve_triangular(upper, right, trans=1)
        weights = np.zeros((2, self.size + 1))
        weights[0, rows], weights[1, rows] = -v, gamma * u
        slope = -gamma * self.gg - float(v @ p) + gamma * float(u @ q)
        combination = torch.from_numpy(weights.ravel()).to(g) @ self.pairs.flatten(0, 1)
        return combination.add_(g, alpha=-gamma), slope

    def state(self) -> dict[str, Any]:
        """All of it; rows are kept in their places, so that going on gives the same bits."""
        return {
            "s": self.pairs[0, self.order],
            "y": self.pairs[1, self.order],
            "order": list(self.order),
            "sy": self.sy.tolist(),
            "yy": self.yy.tolist(),
            "along": self.along.tolist(),
            "gg": self.gg,
            "largest": self.largest,
        }

    @classmethod
    def restored(cls, size: int, state: dict[str, Any], like: Tensor) -> "Memory":
        """A memory from a state; of the newest pairs only as many as it has room for."""
        rows: list[int] = state["order"]
        memory = cls(size, like)
        if len(rows) <= size and len(state["sy"]) == size + 1:
            memory.order = list(rows)
            memory.pairs[0, rows], memory.pairs[1, rows] = state["s"].to(like), state["y"].to(like)
            memory.sy, memory.yy = np.array(state["sy"]), np.array(state["yy"])
            memory.along = np.array(state["along"])
            memory.gg, memory.largest = state["gg"], state["largest"]
            return memory
        for s, y in zip(state["s"][-size:].to(like), state["y"][-size:].to(like), strict=True):
            memory.add(s, y, y)
        return memory


def dot(a: Tensor, b: Tensor) -> Tensor:
    """Inner product, summed in float64 where the device has it."""
    wide = a.dtype if a.device.type == "mps" else torch.float64
    return a.to(wide) @ b.to(wide)


def fetch(*tensors: Tensor) -> list[float]:
    """The numbers of all tensors on the host, in one transfer."""
    wide = torch.float32 if tensors[0].device.type == "mps" else torch.float64
    return torch.cat([t.reshape(-1).to(wide) for t in tensors]).tolist()
