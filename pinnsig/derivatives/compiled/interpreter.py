"""The interpreter of programs as C source.

It takes a strip of points through all steps before the next one, so that what it keeps stays in the
nearest cache, and each step is a loop that compilers turn into vector code. Reverse mode: Griewank
and Walther, Evaluating Derivatives (2008), chapter 3.
"""

import re
from collections.abc import Iterable

from pinnsig.derivatives.compiled.expressions import write_slopes
from pinnsig.derivatives.compiled.functions import write_functions
from pinnsig.derivatives.operations import Operation
from pinnsig.derivatives.steps import CODE, COMPUTING, STEP

STRIP = 128
"""Points in a strip."""

_HEAD = f"""
#define STRIP {STRIP}
#define EACH for (long i = 0; i < STRIP; i++)
#define COUNTED for (long i = 0; i < count; i++)
#define VALUE(n) (work + step[n] * STRIP)
#define ADJOINT(n) (adjoints + step[n] * STRIP)
static inline T tanh_at(T x) {{ T e, r; return tanh_of(x, &e, &r); }}
"""

_RUN = """
/* code: a step's operation and operands; results: their steps; work: two strips for each step. The
   results go to `values`, the sums of their squares to `squares`, each where it is not null. Their
   cotangents are given, or `factors` times themselves; with either, what comes last is filled. */
void run(
    long points, long outputs, long steps, long results, const int *code, const int *result,
    const T *numbers, const T *table, const T *const *columns, const long *strides, T *work,
    T *values, double *squares, const T *cotangents, const double *factors, T *below,
    T *const *column_grads, double *slopes) {
    T *adjoints = work + steps * STRIP;
    for (long start = 0; start < points; start += STRIP) {
        long count = points - start < STRIP ? points - start : STRIP;
        for (long s = 0; s < steps; s++) {
            const int *step = code + {STEP} * s;
            long a = step[1], b = step[2];
            T *restrict out = work + s * STRIP;
            switch (step[0]) {
            case LEAF:
                COUNTED out[i] = table[(a * points + start + i) * outputs + b];
                for (long i = count; i < STRIP; i++) out[i] = 1;
                break;
            case COLUMN:
                COUNTED out[i] = columns[a][(start + i) * strides[a]];
                for (long i = count; i < STRIP; i++) out[i] = 1;
                break;
{forward}
            }
        }
        for (long r = 0; values && r < results; r++)
            COUNTED values[r * points + start + i] = work[result[r] * STRIP + i];
        for (long r = 0; squares && r < results; r++) {
            const T *z = work + result[r] * STRIP;
            double sum = 0;
            COUNTED sum += (double)z[i] * z[i];
            squares[r] += sum;
        }
        if (!cotangents && !factors) continue;
        for (long j = 0; j < steps * STRIP; j++) adjoints[j] = 0;
        for (long r = 0; r < results; r++) {
            T *g = adjoints + result[r] * STRIP, factor = factors ? factors[r] : 0;
            const T *z = work + result[r] * STRIP;
            COUNTED g[i] += factors ? factor * z[i] : cotangents[r * points + start + i];
        }
        for (long s = steps - 1; s >= 0; s--) {
            const int *step = code + {STEP} * s;
            long a = step[1], b = step[2];
            const T *restrict out = work + s * STRIP, *restrict back = adjoints + s * STRIP;
            switch (step[0]) {
            case LEAF:
                COUNTED below[(a * points + start + i) * outputs + b] = back[i];
                break;
            case COLUMN:
                if (column_grads[a]) COUNTED column_grads[a][start + i] = back[i];
                break;
{backward}
            }
        }
    }
}
"""


def write_interpreter(scalar: str) -> str:
    """The function `run`, for `float` or `double`."""
    names = (f"#define {name.upper()} {code}" for name, code in CODE.items())
    suffix = {"float": "##f", "double": ""}[scalar]
    function = f"#define F(name) __builtin_##name{suffix}"
    run = _RUN.replace("{STEP}", str(STEP))
    for key, write in (("{forward}", _write_forward), ("{backward}", _write_backward)):
        cases = (_write_case(operation, write(operation)) for operation in COMPUTING)
        run = run.replace(key, "\n".join(cases))
    return "\n".join([write_functions(scalar), *names, function, _HEAD, run])


def _write_case(operation: Operation, loops: Iterable[str]) -> str:
    body = " ".join(["; ".join(_declared(operation)) + ";", *loops])
    return f"            case {operation.name.upper()}: {{ {body} break; }}"


def _declared(operation: Operation) -> Iterable[str]:
    """Pointers to columns, and numbers."""
    for n, (name, operand) in enumerate(zip("xyw", operation.operands, strict=False), start=1):
        if operand == "c":
            yield f"const T *at_{name} = VALUE({n})"
        else:
            yield f"const T {name} = numbers[step[{n}]]"


def _write_forward(operation: Operation) -> Iterable[str]:
    yield f"EACH {{ {_read(operation, operation.value)}out[i] = {operation.value}; }}"


def _write_backward(operation: Operation) -> Iterable[str]:
    for n, slope in enumerate(write_slopes(operation), start=1):
        if slope is None:
            continue
        pulled = "back[i]" if slope == "(T)1.0" else f"back[i] * {slope}"
        if operation.masks:  # as in torch: sqrt(relu(x)) has a gradient of 0 below 0
            pulled = f"({slope} != 0 ? {pulled} : 0)"
        read = _read(operation, slope)
        if operation.operands[n - 1] == "c":  # no step reads itself: adjoints are apart
            yield f"{{ T *restrict to = ADJOINT({n}); EACH {{ {read}to[i] += {pulled}; }} }}"
        else:
            yield f"COUNTED {{ {read}slopes[step[{n}]] += {pulled}; }}"


def _read(operation: Operation, expression: str) -> str:
    """Declare the values at a point that an expression names."""
    columns = [n for n, operand in zip("xyw", operation.operands, strict=False) if operand == "c"]
    sources = {name: f"at_{name}[i]" for name in columns} | {"z": "out[i]"}
    found = set(re.findall(r"\b[xywz]\b", expression))
    return "".join(f"T {name} = {at}; " for name, at in sources.items() if name in found)
