"""Shapes of tensors and arrays by name, as signatures give them.

A size means the same number wherever it stands in one signature: N points, K partials of a plan,
R residuals, P numbers of a flat parameter vector. `rows` is a residual's count of values: one at
each point, or at each group of neighbours that belong together. `*members` stands for a dimension
of networks that are carried together, or for none.

A checker of types sees plain tensors and arrays; the tests check the shapes while they run.
"""

import numpy as np
from jaxtyping import Bool, Float, Float64
from numpy.typing import NDArray
from torch import Tensor

# at points
Scalar = Float[Tensor, ""]
"""One number."""
Column = Float[Tensor, "N"]
"""A number at each point."""
Points = Float[Tensor, "N dimensions"]
"""The points themselves, a coordinate in each column."""
Inputs = Float[Tensor, "N inputs"]
"""What a network takes."""
FieldValues = Float[Tensor, "N fields"]
"""A problem's fields, in their order."""

# partials, in the order of a plan
PartialColumns = Float[Tensor, "K N"]
"""The partials of one quantity."""
CoordinateTable = Float[Tensor, "K N dimensions"]
"""The partials of the coordinates."""
InputTable = Float[Tensor, "K N inputs"]
"""The partials of a network's inputs."""
Table = Float[Tensor, "K N outputs"]
"""The partials of a network's outputs."""
MemberInputTables = Float[Tensor, "*members K N inputs"]
"""The partials of the inputs, of each member apart."""
MemberTables = Float[Tensor, "*members K N outputs"]
"""The partials of the outputs, of each member apart."""

# in the parameters
Flat = Float[Tensor, "P"]
"""All parameters, or a gradient in them."""
MemberFlats = Float[Tensor, "*members P"]
"""The same of each member."""
Jacobian = Float[Tensor, "rows P"]
"""A gradient for each row."""
MemberJacobians = Float[Tensor, "*members rows P"]
"""The same of each member."""
TermGradients = Float[Tensor, "terms P"]
"""A gradient for each term of a loss."""
ResidualJacobians = Float[Tensor, "R rows P"]
"""A Jacobian for each residual."""

# residuals and terms
RowValues = Float[Tensor, "rows"]
"""A number for each row, such as a residual."""
ResidualValues = Float[Tensor, "R rows"]
"""All residuals of a block."""
ResidualSums = Float[Tensor, "R"]
"""A number for each residual."""
Terms = Float[Tensor, "terms"]
"""A number for each term of a loss."""
WeightedTerms = Float[Tensor, "2 terms"]
"""Mean squares of the terms: as they are, and with factors of points, as they are minimised."""

# NumPy's arrays, in which points are drawn and compared
UnitArray = Float64[NDArray[np.float64], "N axes"]
"""Points of the unit cube."""
PointArray = Float64[NDArray[np.float64], "N dimensions"]
"""Points of a domain, a coordinate in each column."""
ColumnArray = Float64[NDArray[np.float64], "N"]
"""A number at each point."""
MaskArray = Bool[NDArray[np.bool_], "N"]
"""Yes or no at each point."""
AxisArray = Float64[NDArray[np.float64], "_"]
"""Points along one coordinate, of a length of its own."""
GridArray = Float64[NDArray[np.float64], "*grid"]
"""A number at each point of a grid, or of scattered points."""
