"""The interpreter of programs as C source.

It takes a strip of points through all steps before the next one, so that what it keeps stays in the
nearest cache, and each step is a loop that compilers turn into vector code. Reverse mode: Griewank
and Walther, Evaluating Derivatives (2008), chapter 3.
"""

from pinnsig.derivatives.compiled.functions import write_functions
from pinnsig.derivatives.symbols import CODE

STRIP = 128
"""Points in a strip."""

# of x, or x and y, with the result z: the value, and what the cotangent g adds to those of x and y
RULES = {
    "add": ("x[i] + y[i]", "g[i]", "g[i]"),
    "sub": ("x[i] - y[i]", "g[i]", "-g[i]"),
    "mul": ("x[i] * y[i]", "g[i] * y[i]", "g[i] * x[i]"),
    "div": ("x[i] / y[i]", "g[i] / y[i]", "-g[i] * z[i] / y[i]"),
    "add_number": ("x[i] + c", "g[i]"),
    "mul_number": ("x[i] * c", "g[i] * c"),
    "pow_number": ("F(pow)(x[i], c)", "g[i] * (c * F(pow)(x[i], c - 1))"),
    "sqrt": ("F(sqrt)(x[i])", "g[i] / (2 * z[i])"),
    "exp": ("F(exp)(x[i])", "g[i] * z[i]"),
    "log": ("F(log)(x[i])", "g[i] / x[i]"),
    "sin": ("F(sin)(x[i])", "g[i] * F(cos)(x[i])"),
    "cos": ("F(cos)(x[i])", "-g[i] * F(sin)(x[i])"),
    "tanh": ("tanh_at(x[i])", "g[i] * (1 - z[i] * z[i])"),
    "sinh": ("F(sinh)(x[i])", "g[i] * F(cosh)(x[i])"),
    "cosh": ("F(cosh)(x[i])", "g[i] * F(sinh)(x[i])"),
    "erf": ("F(erf)(x[i])", "g[i] * (T)1.1283791670955126 * F(exp)(-x[i] * x[i])"),
    "erfc": ("F(erfc)(x[i])", "g[i] * (T)-1.1283791670955126 * F(exp)(-x[i] * x[i])"),
    "abs": ("size_of(x[i])", "g[i] * ((x[i] > 0) - (x[i] < 0))"),
    "sign": ("(x[i] > 0) - (x[i] < 0)", "0"),
    "reciprocal": ("1 / x[i]", "-g[i] * z[i] * z[i]"),
    "tan": ("F(tan)(x[i])", "g[i] * (1 + z[i] * z[i])"),
    "asin": ("F(asin)(x[i])", "g[i] / F(sqrt)((1 - x[i]) * (1 + x[i]))"),
    "acos": ("F(acos)(x[i])", "-g[i] / F(sqrt)((1 - x[i]) * (1 + x[i]))"),
    "atan": ("F(atan)(x[i])", "g[i] / (1 + x[i] * x[i])"),
    "asinh": ("F(asinh)(x[i])", "g[i] / F(sqrt)(1 + x[i] * x[i])"),
    "acosh": ("F(acosh)(x[i])", "g[i] / F(sqrt)((x[i] - 1) * (x[i] + 1))"),
    "atanh": ("F(atanh)(x[i])", "g[i] / ((1 - x[i]) * (1 + x[i]))"),
    "exp2": ("F(exp2)(x[i])", "g[i] * z[i] * (T)0.6931471805599453"),
    "expm1": ("F(expm1)(x[i])", "g[i] * F(exp)(x[i])"),
    "log2": ("F(log2)(x[i])", "g[i] / (x[i] * (T)0.6931471805599453)"),
    "log10": ("F(log10)(x[i])", "g[i] / (x[i] * (T)2.302585092994046)"),
    "log1p": ("F(log1p)(x[i])", "g[i] / (1 + x[i])"),
    "sigmoid": ("1 / (1 + F(exp)(-x[i]))", "g[i] * z[i] * (1 - z[i])"),
    "softplus": (
        "(x[i] > 0 ? x[i] : 0) + F(log1p)(F(exp)(-size_of(x[i])))",
        "g[i] / (1 + F(exp)(-x[i]))",
    ),
    "relu": ("x[i] < 0 ? 0 : x[i]", "g[i] * (x[i] > 0)"),
}
# what a number gets from the cotangent of a step that it is in
NUMBERS = {"add_number": "g[i]", "mul_number": "g[i] * x[i]"}

_HEAD = f"""
#define STRIP {STRIP}
#define EACH for (long i = 0; i < STRIP; i++)
static inline T tanh_at(T x) {{ T e, r; return tanh_of(x, &e, &r); }}
"""

_RUN = """
/* steps: three numbers each; results: their steps; work: two strips for each step. The results go
   to `values`, the sums of their squares to `squares`, each where it is not null. Their cotangents
   are given, or `factors` times themselves; with either, what comes last is filled. */
void run(
    long points, long outputs, long steps, long results, const int *code, const int *result,
    const T *numbers, const T *table, const T *const *columns, const long *strides, T *work,
    T *values, double *squares, const T *cotangents, const double *factors, T *below,
    T *const *column_grads, double *slopes) {
    T *adjoints = work + steps * STRIP;
    for (long start = 0; start < points; start += STRIP) {
        long w = points - start < STRIP ? points - start : STRIP;
        for (long s = 0; s < steps; s++) {
            long a = code[3 * s + 1], b = code[3 * s + 2];
            T *restrict z = work + s * STRIP;
            const T *x = work + a * STRIP, *y = work + b * STRIP;
            switch (code[3 * s]) {
            case LEAF:
                for (long i = 0; i < w; i++) z[i] = table[(a * points + start + i) * outputs + b];
                for (long i = w; i < STRIP; i++) z[i] = 1;
                break;
            case COLUMN:
                for (long i = 0; i < w; i++) z[i] = columns[a][(start + i) * strides[a]];
                for (long i = w; i < STRIP; i++) z[i] = 1;
                break;
{forward}
            }
        }
        for (long r = 0; values && r < results; r++)
            for (long i = 0; i < w; i++)
                values[r * points + start + i] = work[result[r] * STRIP + i];
        for (long r = 0; squares && r < results; r++) {
            const T *z = work + result[r] * STRIP;
            double sum = 0;
            for (long i = 0; i < w; i++) sum += (double)z[i] * z[i];
            squares[r] += sum;
        }
        if (!cotangents && !factors) continue;
        for (long j = 0; j < steps * STRIP; j++) adjoints[j] = 0;
        for (long r = 0; r < results; r++) {
            T *g = adjoints + result[r] * STRIP, factor = factors ? factors[r] : 0;
            const T *z = work + result[r] * STRIP;
            for (long i = 0; i < w; i++)
                g[i] += factors ? factor * z[i] : cotangents[r * points + start + i];
        }
        for (long s = steps - 1; s >= 0; s--) {
            long a = code[3 * s + 1], b = code[3 * s + 2];
            const T *restrict z = work + s * STRIP, *restrict g = adjoints + s * STRIP;
            const T *x = work + a * STRIP, *y = work + b * STRIP;
            T *to = adjoints + a * STRIP, *with = adjoints + b * STRIP;
            switch (code[3 * s]) {
            case LEAF:
                for (long i = 0; i < w; i++) below[(a * points + start + i) * outputs + b] = g[i];
                break;
            case COLUMN:
                for (long i = 0; column_grads[a] && i < w; i++) column_grads[a][start + i] = g[i];
                break;
{backward}
            }
        }
    }
}
"""


def write_interpreter(scalar: str) -> str:
    """The function `run`, for `float` or `double`."""
    names = "\n".join(f"#define {name.upper()} {code}" for name, code in CODE.items())
    suffix = {"float": "f", "double": ""}[scalar]
    function = f"#define F(name) __builtin_##name{'##f' if suffix else ''}"
    forward, backward = [], []
    for name, (value, *slopes) in RULES.items():
        number = "T c = numbers[b]; " if name.endswith("_number") else ""
        forward.append(
            f"            case {name.upper()}: {{ {number}EACH z[i] = {value}; break; }}"
        )
        back = " ".join(
            f"EACH {to}[i] += {slope};" for to, slope in zip(("to", "with"), slopes, strict=False)
        )
        if name in NUMBERS:
            back += f" for (long i = 0; i < w; i++) slopes[b] += {NUMBERS[name]};"
        backward.append(f"            case {name.upper()}: {{ {number}{back} break; }}")
    run = _RUN.replace("{forward}", "\n".join(forward)).replace("{backward}", "\n".join(backward))
    return "\n".join([write_functions(scalar), names, function, _HEAD, run])
