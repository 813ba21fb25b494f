"""Command-line text: what is read, and what is refused in one clear line."""

import pytest
import torch

from pinnsig.activations import erf, gd, parse_activation, parse_function, softsign, tanh
from pinnsig.core.errors import ActivationError

X = torch.linspace(-3, 3, 31, dtype=torch.float64)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tanh", tanh),
        (" tanh ( x ) ", tanh),
        ("1.3 tanh(x)", 1.3 * tanh),
        ("2tanh(x)", 2 * tanh),
        ("tanh(10x)", tanh.stretch(10)),
        ("tanh(1e-3*x)", tanh.stretch(1e-3)),
        ("tanh(1e-3x)", tanh.stretch(1e-3)),
        ("tanh(x*4/2)", tanh.stretch(2)),
        ("tanh(2**3 x)", tanh.stretch(8)),
        ("+tanh", tanh),
        ("-2*-3*tanh", 6 * tanh),
        ("2(tanh+gd)", 2 * (tanh + gd)),
        ("(tanh)(2)", 2 * tanh),
        ("softsign2.5", softsign(2.5)),
        ("softsign_2", softsign(2)),
        ("softsign_2.5(2x)", softsign(2.5).stretch(2)),
        (
            "tanh(10x)+erf(1000x)+softsign1(10x)/10+gd(x)",
            tanh.stretch(10) + erf.stretch(1000) + softsign(1).stretch(10) / 10 + gd,
        ),
        ("2*(tanh(x)+erf(x))/3", 2 * (tanh + erf) / 3),
        ("2*(3*tanh(2x)+gd)", 2 * (3 * tanh.stretch(2) + gd)),
        ("tanh(pi x)", tanh.stretch(torch.pi)),
    ],
)
def test_activations(text, expected):
    parsed = parse_activation(text)
    torch.testing.assert_close(parsed(X), expected(X), rtol=1e-14, atol=0)
    assert parsed.slope == pytest.approx(expected.slope, rel=1e-14)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", X),
        ("relu", X.relu()),
        ("-tanh(x)", -X.tanh()),
        ("x**3", X**3),
        ("2x**3 - x", 2 * X**3 - X),
        ("-x**2", -(X**2)),
        ("tanh(x)+0.1x", X.tanh() + 0.1 * X),
        ("x(x+1)", X * (X + 1)),
        ("2*sigmoid(x)-1", 2 * X.sigmoid() - 1),
        ("softplus(-x)", torch.nn.functional.softplus(-X)),
        ("sign(x)*sqrt(abs(x))", X.sign() * X.abs().sqrt()),
        ("tanh(sin(x))/(1+exp(-x))", X.sin().tanh() * X.sigmoid()),
        ("3", torch.full_like(X, 3)),
        ("cos(0) x", X),
        ("2**x", 2**X),
        ("1/(1+x**2)", 1 / (1 + X**2)),
    ],
)
def test_functions(text, expected):
    torch.testing.assert_close(parse_function(text)(X), expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-tanh(x)", r"not > 0.*fails strict monotonicity, slope decay"),
        ("0*tanh(x)", r"not > 0"),
        ("x**3", r"fails boundedness, strict monotonicity, slope decay"),
        ("relu(x)", r"relu is not an odd-sigmoid activation; it fails regularity"),
        ("tanh(x)+0.1x", r"fails boundedness of Definition 4.1"),
        ("tanh(x)-gd(x)", r"only sums, positive factors"),
        ("tanh(x)*gd(x)", r"only sums, positive factors"),
        ("tanh(x)+1", r"fails odd symmetry"),
        ("tanh(-x)", r"not a positive multiple of x"),
        ("tanh(x+1)", r"fails odd symmetry"),
        ("tanh(3)", r"not a positive multiple of x"),
        ("tanh(tanh(x))", r"not a positive multiple of x$"),
        ("3", r"no activation in it"),
        ("x", r"fails boundedness, slope decay"),
        ("tahn(x)", r"function 'tahn' is unknown: did you mean tanh\?"),
        ("foo", r"function 'foo' is unknown: known are .*gd"),
        ("softsign0.5", r"1 <= k"),
        ("tanh(1e400x)", r"number '1e400' is out of range"),
        ("tanh(1e300*1e300x)", r"infinite or undefined"),
        ("tanh(x)/0", r"not > 0"),
        ("1/0*tanh", r"infinite or undefined"),
        ("9**9**9**9*tanh", r"infinite or undefined"),
        ("(-2)**0.5*tanh", r"infinite or undefined"),
    ],
)
def test_refused_as_activation(text, message):
    with pytest.raises(ActivationError, match=message) as error:
        parse_activation(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "tanh(",
        "tanh(x))",
        "tanh x",
        "tanh()",
        "tanh(x, x)",
        "tanh(x=1)",
        "x[0]",
        "x.real",
        "tanh; x",
        "lambda",
        "__import__('os')",
        "__import__(x)",
        "not x",
        "x if x",
        "None",
        "x // 2",
        "x % 2",
        "x\n+tanh(",
        "1..2",
        "tanh²",
        "(" * 5000 + "x" + ")" * 5000,
        "(" * 150 + "x" + ")" * 150 + "**2)",
        "-" * 9000 + "x",
        "+".join(["tanh(x)"] * 1200),
        "tanh(" * 199 + "x" + ")" * 199 + "+",
        "**".join(["x"] * 3000),
        "9" * 5000 + "x",
        "x" * 20_000,
        "\0",
    ],
    ids=lambda t: repr(t[:20]),
)
@pytest.mark.parametrize("parse", [parse_activation, parse_function])
def test_refused_by_both(parse, text):
    with pytest.raises(ActivationError) as error:
        parse(text)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500
