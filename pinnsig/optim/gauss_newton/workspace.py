"""Memory for Levenberg-Marquardt steps, and the factorisations that one Jacobian needs."""

import torch
from torch import Tensor

from pinnsig.optim.base import Rows, SharedRows
from pinnsig.optim.gauss_newton.damped import DampedSolver, NormalEquations, Orthogonal
from pinnsig.optim.gauss_newton.linearization import (
    HeldLinearization,
    Linearization,
    StreamedLinearization,
    wide_dtype,
)
from pinnsig.optim.gauss_newton.plan import Plan, free_bytes, make_plan

# lambda over |J|^2, in units of rounding, under which QR is taken: Cholesky is about to fail there.
# Above it both led to the same losses, down to 1e-14, and QR takes two to four times as long.
QR_UNDER = 10.0


class Workspace:
    """A plan, and the memory that is written over at each step.

    Args:
        rows, parameters: N and P.
        dtype, device: of the parameters.
        shares: see `make_plan`.

    Raises:
        SettingsError: too little memory, see `make_plan`.
    """

    def __init__(
        self,
        rows: int,
        parameters: int,
        dtype: torch.dtype,
        device: torch.device,
        shares: int = 1,
    ) -> None:
        self.plan = make_plan(rows, parameters, dtype, device, free_bytes(device), shares)
        self.dtype, self.device = dtype, device
        self.block: Tensor | None = None
        self.jacobian: Tensor | None = None

    def fits(self, rows: int, parameters: int, theta: Tensor) -> bool:
        """Whether it is made for these sizes and this type."""
        asked = (rows, parameters, theta.dtype, theta.device)
        return asked == (self.plan.rows, self.plan.parameters, self.dtype, self.device)

    def linearize(self, rows: Rows | SharedRows) -> Linearization:
        """The residuals' first-order model at the present parameters."""
        plan = self.plan
        if isinstance(rows, SharedRows):
            return rows.linearization(plan.held, plan.block, plan.group or plan.block)
        if self.block is None:
            shape = plan.block, plan.parameters
            self.block = torch.empty(shape, dtype=self.dtype, device=self.device)
        if not plan.held:
            return StreamedLinearization(rows, self.block, plan.group)
        if self.jacobian is None:
            shape, dtype = (plan.rows, plan.parameters), wide_dtype(self.device)
            self.jacobian = torch.empty(shape, dtype=dtype, device=self.device)
        return HeldLinearization(rows, self.jacobian, self.block)


class Factorizations:
    """Factors of one J for one lambda after another, each by the cheapest way that is accurate.

    Args:
        model: the residuals' first-order model.
        plan: which form.
        square: |J|^2, the sum over all entries, of a J nearby; 0 when none is known.

    Attributes:
        dual: which form.
        square: as given, or of this J once its Gram matrix was needed.
    """

    def __init__(self, model: Linearization, plan: Plan, square: float) -> None:
        self.model, self.plan, self.square = model, plan, square
        self.dual = plan.dual
        self._normal: NormalEquations | None = None

    def scale(self) -> float:
        """|J|^2, about."""
        if not self.square:
            self._gram()
        return self.square

    def _gram(self) -> NormalEquations:
        if self._normal is None:
            self._normal = NormalEquations(self.model, self.dual)
            self.square = float(self._normal.trace)
        return self._normal

    def at(self, damping: float) -> DampedSolver | None:
        """A solver for lambda; None where rounding forbids one."""
        least = QR_UNDER * torch.finfo(self.model.residual.dtype).eps * self.scale()
        held = isinstance(self.model, HeldLinearization) and self.plan.orthogonal
        if damping >= least or not held:
            normal = self._gram()
            if normal.factor(damping):
                return normal
        if isinstance(self.model, HeldLinearization) and self.plan.orthogonal:
            orthogonal = Orthogonal(self.model, self.dual)
            orthogonal.factor(damping)
            return orthogonal
        return None
