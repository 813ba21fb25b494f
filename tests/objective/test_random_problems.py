"""Random problems, right and wrong: each is trained, or refused in one line, never a traceback.

A case is a function of its number; `python -m tests.test_random_problems NUMBER` shows one.
"""

import math
import random
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import pinnsig
from pinnsig.core.errors import PinnsigError
from pinnsig.problem import (
    Box,
    Choice,
    Coefficient,
    Dirichlet,
    Initial,
    Neumann,
    Periodic,
    PointData,
    Problem,
    Robin,
)
from pinnsig.run.building import build, build_objective
from pinnsig.run.settings import resolve

ORDINARY, SLOW = 60, 10_000
SOLVED = 8  # one case in so many is trained through `solve`

COORDINATES = ("x", "y", "t", "tau", "S", "x_1", "x_2", "z", "time")
ODD_COORDINATES = (
    "xx",
    "value",
    "like",
    "u",
    "e",
    "self",
    "lambda",
    "_x",
    "α",
    "shape",
    "x_",
    "sin",
)
FIELDS = (("u",), ("u",), ("u", "v"), ("u_1", "u_2"), ("u_re", "u_im"), ("T",), ("u", "v", "p"))
ODD_FIELDS = (
    ("u", "u"), ("x",), (), "u", ("u", "u_x"), ("value",), ("",), ("1u",), ("lambda",), (1,), None,
    ("u", None), ("self",), ("n", "t"), ("ψ",), ("u v",), ("residual",), ("k",), ["u"],
)  # fmt: skip
INTERVALS = ((0.0, 1.0), (-1, 1), (0.0, 2.0 * math.pi), (0.5, 0.7), (-1e-3, 1e-3), (0, 1e4))
ODD_INTERVALS: tuple[Any, ...] = (
    (1.0, 0.0), (0.0, math.inf), (0.0, math.nan), (0.0, 0.0), "01", ("0", "1"), 3.0, None, (0,),
    (np.float32(0), np.int64(2)), (0.0, 1j), (True, 2), (0.0, 1e308), (1e300, 1.5e300),
    (-1e308, 1e308), (0.0, 5e-324), (torch.tensor(0.0), torch.tensor(1.0)),
)  # fmt: skip
FUNCTIONS = (
    "sin", "cos", "exp", "log", "sqrt", "tanh", "abs", "square", "sigmoid", "atan", "asinh",
    "erf", "relu", "log1p", "expm1", "tan", "reciprocal", "sinh", "lgamma", "sinc", "floor",
    "rsqrt", "acos", "sign",
)  # fmt: skip
ODD_FUNCTIONS = (
    "mean", "sum", "sort", "isnan", "rand_like", "real", "conj", "cumsum", "argmax", "numel",
    "bernoulli", "fft.fft", "det", "softmax", "logsumexp", "norm", "unique", "nonzero", "vstack",
    "i0", "special.bessel_j0", "frexp", "std", "round", "nosuch", "clone", "detach", "zeros_like",
    "isfinite", "logical_not", "bitwise_not", "angle", "sgn", "nan_to_num", "empty_like", "stack",
)  # fmt: skip
BINARY = ("maximum", "minimum", "atan2", "hypot", "pow", "where0", "logaddexp", "fmod", "remainder")
ODD_ATOMS = (
    "{f}.value", "{f}.zz", "{f}[0]", "{f}.{c}{c}{c}{c}{c}", "np.ones(3)", "1j", "'a'", "None",
    "torch.ones(len({f}))", "torch.rand(len({f}))", "{f}.value.mean()", "len({f})", "True",
    "torch.tensor(0.1)", "{f}.T", "{f}.value[:, None]", "{f}.value.numpy()", "nowhere", "{c}.{c}",
    "{f}.value.tolist()", "math.sin({f})", "np.sin({f})", "np.float32(2)", "float('nan')", "1e400",
    "{f}.__class__", "torch.complex({f}.value, {f}.value)", "{f}.value.long()", "({f} > 0)",
    "{f}.value.float()", "{f}.value.double()", "{f}.value.half()",
    "{f}.value.mul_(2)", "{c}.mul_(2)",
    "torch.zeros(3)", "torch.tensor([1.0])", "self.nowhere", "self.residual", "1 // 0", "[{f}]",
    "{f}.value.to_sparse()", "torch.eye(2)", "10**400", "{f}.{c}.{c}", "{f}.shape[0]",
    "(lambda: 1)",
    "next(iter({f}))", "{f}.detach()", "{f}.value.requires_grad_()", "torch.Generator()",
    "{f}.clip(0)",
    "{f}.backward()", "{f}.value.unsqueeze(0)", "print()", "self.__dict__.clear()", "exit(3)",
    "open('/nowhere')", "{f}.max()", "-{f}.value.relu_()", "int({f})", "(yield)",
)  # fmt: skip


class Case:
    """One random problem with the settings it is solved with."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.draw = random.Random(number)
        self.odd = self.draw.choice((0.0, 0.03, 0.15))  # how often something wrong is written
        self.lines: list[str] = []

    def pick(self, usual: Any, odd: Any) -> Any:
        return self.draw.choice(odd if self.draw.random() < self.odd else usual)

    # --- expressions --------------------------------------------------------------------------

    def atom(self, fields: list[str], coordinates: list[str]) -> str:
        f = self.draw.choice(fields or coordinates or ["1.0"])
        c = self.draw.choice(coordinates or ["x"])
        if self.draw.random() < self.odd:
            return self.draw.choice(ODD_ATOMS).format(f=f, c=c)
        partial = f"{f}.{c}" + (c if self.draw.random() < 0.3 else "") if fields else c
        number = self.draw.choice(("1.0", "2", "0.5", "math.pi", "self.k", "-3"))
        return self.draw.choice((f, partial, partial, c, number))

    def expression(self, fields: list[str], coordinates: list[str], depth: int) -> str:
        if depth == 0:
            return self.atom(fields, coordinates)
        a, b = (self.expression(fields, coordinates, depth - 1) for _ in range(2))
        way = self.draw.random()
        if way < 0.55:
            return f"({a} {self.draw.choice('+-*+-*/')} {b})"
        if way < 0.65:
            return f"({a}) ** {self.draw.choice(('2', '3', '0.5', '-1', b))}"
        if way < 0.9:
            return f"torch.{self.pick(FUNCTIONS, ODD_FUNCTIONS)}({a})"
        name = self.draw.choice(BINARY)
        return f"torch.where({a} > 0, {a}, {b})" if name == "where0" else f"torch.{name}({a}, {b})"

    def method(self, name: str, arguments: list[str], result: str) -> Any:
        """A function that returns an expression, compiled; None where Python refuses it."""
        source = f"def {name}({', '.join(arguments)}):\n    return {result}\n"
        self.lines.append(source)
        scope: dict[str, Any] = {"torch": torch, "np": np, "math": math}
        try:
            exec(compile(source, f"case{self.number}", "exec"), scope)
        except SyntaxError:
            return None
        return scope[name]

    def wrapped(self, results: list[str]) -> str:
        if len(results) == 1 and self.draw.random() < 0.8:
            return results[0]
        pairs = ", ".join(f"'r{i}': {r}" for i, r in enumerate(results))
        usual = (f"({', '.join(results)},)", f"{{{pairs}}}", f"[{', '.join(results)}]")
        odd = (
            "{}", "()", f"torch.stack([{', '.join(results)}])", f"{{1: {results[0]}}}",
            f"iter([{results[0]}])", f"[[{results[0]}]]", "{'residual': None}",
            f"({results[0]}, 0)",
        )  # fmt: skip
        return str(self.pick(usual, odd))

    # --- what a problem has --------------------------------------------------------------------

    def value(self, coordinates: list[str]) -> Any:
        if self.draw.random() < 0.5:
            return self.pick(
                (0.0, 1, -0.5, np.float64(0.3), np.float32(0.5)),
                (
                    True,
                    "0",
                    None,
                    1j,
                    [0.0],
                    torch.zeros(2),
                    math.nan,
                    torch.sin,
                    object,
                    {},
                    np.ones(1),
                ),
            )
        own = self.draw.sample(coordinates, self.draw.randint(0, len(coordinates)))
        found = self.method("value", [c for c in own], self.expression([], own, 1))
        return 0.0 if found is None else found

    def condition(self, fields: list[str], coordinates: list[str]) -> Any:
        c = self.draw.choice(coordinates)
        on = self.pick((c, f"{c}-", f"{c}+"), ("", "nowhere", 3, None, ("x", "y"), f"{c}*", []))
        targets = fields + [f"{f}_{c}" for f in fields]
        names = {
            self.pick(targets, ["", "q", "u_zz", "_u"]) for _ in range(self.draw.choice((1, 1, 2)))
        }
        values = {name: self.value(coordinates) for name in names}
        kind = self.draw.choice((Dirichlet, Neumann, Robin, Initial, Periodic, PointData))
        if kind is Robin:
            return Robin(on=on, a=self.value(coordinates), b=self.value(coordinates), **values)
        if kind is Initial:
            return Initial(**values)
        if kind is Periodic:
            return Periodic(on=on, order=self.pick((1, 2), (0, 9, "1", 1.5, None)))
        if kind is PointData:
            n = self.pick((1, 4), (0, 2))
            columns = {c: [0.5] * n for c in coordinates}
            measured = self.pick(
                ([1.0] * n,),
                (
                    ["a"] * n,
                    [1j] * n,
                    [math.nan] * n,
                    None,
                    "u",
                    [[1.0]] * n,
                    [1.0] * (n + 1),
                    [10**400],
                ),
            )
            return PointData(**{**columns, **dict.fromkeys(names, measured)})
        return kind(on=on, **values)

    def problem(self) -> type[Problem]:
        names = list(
            dict.fromkeys(
                self.pick(COORDINATES, ODD_COORDINATES)
                for _ in range(self.draw.choice((1, 2, 2, 3)))
            )
        )
        domain = Box(**{name: self.pick(INTERVALS, ODD_INTERVALS) for name in names})
        fields = self.pick(FIELDS, ODD_FIELDS)
        strings = [f for f in fields or () if isinstance(f, str)] if fields != "u" else ["u"]
        usable = list(dict.fromkeys(f for f in strings if f.isidentifier())) or ["u"]
        depth = self.draw.choice((1, 2, 2, 3))
        results = [self.expression(usable, names, depth) for _ in usable]
        arguments = list(dict.fromkeys(["self", *usable, *names]))
        body: dict[str, Any] = {
            "domain": domain, "fields": fields,
            "k": self.pick(
                (Coefficient(0.5), Coefficient(0.5, above=0.0), Coefficient(0.5, learn=True)),
                (Choice("a", "b"), None, "k", "below its limit", 0.5),
            ),
            "residual": self.method("residual", arguments, self.wrapped(results)),
        }  # fmt: skip
        if body["k"] == "below its limit":
            body["k"] = Coefficient(-1.0, above=0.0, learn=True)  # refused where it is made
        given = [self.condition(usable, names) for _ in range(self.draw.randint(0, 3))]
        body["conditions"] = lambda problem: self.pick(
            (given,), (None, [None], [0.0], "ab", given * 2)
        )
        for name in ("ansatz", "hard_ansatz"):
            if self.draw.random() < 0.15:
                raw = usable if self.draw.random() < 0.9 else ["n"]
                made = [self.expression(raw, names, 1) for _ in usable]
                body[name] = self.method(
                    name, list(dict.fromkeys(["self", *raw, *names])), self.wrapped(made)
                )
        if self.draw.random() < 0.15:
            inputs = [self.expression([], names, 1) for _ in range(self.draw.randint(1, 3))]
            body["features"] = self.method("features", ["self", *names], self.wrapped(inputs))
        if self.draw.random() < 0.2:
            exact = [self.expression([], names, 1) for _ in usable]
            body["solution"] = self.method("solution", ["self", *names], self.wrapped(exact))
        return type("Case", (Problem,), {k: v for k, v in body.items() if v is not None})

    def settings(self) -> dict[str, Any]:
        return {
            "depth": self.draw.choice((1, 2)), "width": self.draw.choice((1, 4)),
            "collocation": self.pick((10, 23, 40), (0, 1, 2, -1, "9", 2.5)),
            "initial": self.pick((4, 6), (0, 1, -1)), "boundary": self.pick((6, 12), (0, 1, 2)),
            "dtype": self.draw.choice(("float32", "float64")),
            "engine": self.draw.choice(("auto", "jets", "nested")),
            "sampler": self.pick(("lhs", "grid", "uniform"), ("nosuch",)),
            "normalize": self.draw.random() < 0.3, "seed": self.draw.randrange(5),
            "adam": 2, "lbfgs": 1,
        }  # fmt: skip

    def run(self, where: Path) -> str:
        """Solve it, or see it refused; what came of it in a word."""
        try:
            kind, settings = self.problem(), self.settings()
            if self.number % SOLVED == 0:
                result = pinnsig.solve(
                    kind, path=where / str(self.number), figures=False, **settings
                )
                assert math.isfinite(result.best_loss)
                return "solved"
            made = build_objective(build(resolve({**settings, "problem": "Case"}), kind))
            loss = made.evaluate().loss
            assert loss.isfinite() or made.non_finite_terms()
            return "evaluated"
        except PinnsigError as error:
            message = str(error)
            assert message
            assert "\n" not in message, message
            return "refused"


def faults(numbers: range, where: Path) -> dict[int, str]:
    """What went wrong, by case."""
    found, counts = {}, {"solved": 0, "evaluated": 0, "refused": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in numbers:
            try:
                counts[Case(number).run(where)] += 1
            except (Exception, SystemExit) as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                message = str(error).partition("\n")[0]
                found[number] = (
                    f"{type(error).__name__}: {message:.120} ({place.filename}:{place.lineno})"
                )
    done = sum(counts.values())
    # neither is everything refused, nor nothing
    assert done < 20 or min(counts["evaluated"], counts["refused"]) > 0.1 * done, counts
    return found


def test_a_random_problem_is_solved_or_refused_in_one_line(tmp_path):
    assert faults(range(ORDINARY), tmp_path) == {}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_ten_thousand_random_problems(tmp_path, part):
    each = SLOW // 10
    assert faults(range(ORDINARY + part * each, ORDINARY + (part + 1) * each), tmp_path) == {}


if __name__ == "__main__":
    case = Case(int(sys.argv[1]))
    try:
        print(case.run(Path(tempfile.mkdtemp())))
    finally:
        print("".join(case.lines))
