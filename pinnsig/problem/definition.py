"""What a problem's class must have, and must not take from the library; refused in one line."""

import functools

from pinnsig.core.errors import ProblemError
from pinnsig.core.names import check_names
from pinnsig.geometry import Domain
from pinnsig.problem.coefficients import Setting
from pinnsig.problem.functions import Function

WRITTEN = (
    "domain", "fields", "hard", "scaled_inputs", "residual", "conditions", "collocation_points",
)  # fmt: skip
"""What a subclass may have of the base class's attributes; the others are the library's."""

METHODS = ("residual", "conditions", "solution", "ansatz", "hard_ansatz", "features")


@functools.lru_cache(maxsize=256)
def check_definition(cls: type, base: type) -> None:
    """Refuse a class that is no well formed problem.

    Args:
        cls: a subclass of `Problem`.
        base: `Problem` itself.

    Raises:
        ProblemError: a line that says what is wrong, and what would be right.
    """
    try:
        _check(cls, base)
    except ProblemError as error:
        raise ProblemError(f"{cls.__name__}: {error}") from None


def _check(cls: type, base: type) -> None:
    own = {name: value for c in reversed(cls.__mro__[: cls.__mro__.index(base)])
           for name, value in vars(c).items()}  # fmt: skip
    for name in own:
        if name in vars(base) and not name.startswith("__") and name not in WRITTEN:
            raise ProblemError(f"{name!r} is an attribute of every problem: choose another name")
    domain, fields = getattr(cls, "domain", None), getattr(cls, "fields", ())
    if not isinstance(domain, Domain):
        raise ProblemError("there is no domain: set domain = Box(x=(0.0, 1.0))")
    if "residual" not in own:
        raise ProblemError("there is no residual: write residual(self, u, x, ...)")
    if not isinstance(fields, tuple | list) or not fields:
        raise ProblemError(f"fields must be a tuple, such as ('u', 'v'), not {fields!r}")
    for name in METHODS:
        if not callable(getattr(cls, name, base.__init__)):
            raise ProblemError(f"{name} must be a method, such as {_example(name)}")
    for name in ("hard", "scaled_inputs"):
        if not isinstance(getattr(cls, name), bool):
            raise ProblemError(f"{name} must be True or False, not {getattr(cls, name)!r:.60}")
    others = [name for name, value in own.items() if isinstance(value, Setting)]
    functions = {name: value for name, value in own.items() if isinstance(value, Function)}
    check_names((*fields, *functions), domain.names, others)
    for name, function in functions.items():
        if function.given not in (None, name):
            raise ProblemError(
                f"{name} = Function({function.given!r}) has two names: write "
                f"Function({name!r}, ...)"
            )
        unknown = next((axis for axis in function.of if axis not in domain.names), None)
        if unknown is not None:
            raise ProblemError(
                f"the function {name} is of {unknown!r}, which is no coordinate: they are "
                f"{', '.join(domain.names)}"
            )


def _example(method: str) -> str:
    return f"def {method}(self{'' if method == 'conditions' else ', ...'})"
