"""C source that carries a plan's partials through any composition of operations.

As in `network`, points are taken in tiles; a tile's pass is a list of steps (`steps`), which one
interpreter runs. What depends on the plan or on an activation are functions that a step names.
"""

from pinnsig.derivatives.compiled.products import write_products
from pinnsig.derivatives.compiled.steps import Code
from pinnsig.derivatives.compiled.tiles import TILES, tile_points
from pinnsig.derivatives.plan import Plan

PAD = 16
"""Units of a register come in multiples of it: whole vectors of any processor and type."""

_SHAPE = """
/* what all steps share: sizes of a stack; numbers in all registers; units of the widest one, whole
   vectors; numbers kept of each tile, and in all tensors' sums; trained tensors */
typedef struct {
    long partials, points, tile, registers, widest, kept, total, tensors;
} Shape;
"""

_STEPS = """
/* registers z, a, b and `ahead` are places among the registers, or -1 - theirs among what is kept;
   a tensor's sums stand at `sums`, its columns of a Jacobian at `column` */
typedef struct {
    long code, units, z, a, b, depth, ahead, tensor, bias, size, sums, column, add, second;
    double factor, shift;
    void *function;
} Step;
/* of a tensor in the gradient: rows of so many columns, or numbers that stand point by point;
   sums < 0 where it has none */
typedef struct { long sums, rows, columns; } Tensor;

typedef void Activate(long units, const T *bias, T *h, T *z);
typedef void ActivateBack(long units, const T *h, T *g, T *z);
typedef void Multiply(long units, const T *a, const T *b, T *z);
typedef void MultiplyBack(long units, const T *other, const T *g, T *z, long add);

static long padded(long n) { return (n + PAD - 1) / PAD * PAD; }
long kept(const Shape *s) { return tiles_of(s) * s->kept; }
/* registers, zeros, one register turned, and sums in both types or the rows of one point */
long worked(const Shape *s) {
    long sums = (1 + (long)(sizeof(double) / sizeof(T))) * (s->total + PAD);
    long block = s->widest * (s->widest + PAD);
    return s->registers + s->widest * (1 + columns_of(s)) + (sums > block ? sums : block) + PAD;
}

"""

_ELEMENTWISE = """
static void affine(long n, T factor, const T *a, T *z) {
#pragma GCC ivdep
    for (long i = 0; i < n; i++) z[i] = factor * a[i];
}
static void combine(long n, const T *a, T factor, const T *b, T *z) {
#pragma GCC ivdep
    for (long i = 0; i < n; i++) z[i] = a[i] + factor * b[i];
}
/* add what each unit has of its own, or all have in common, to the value's row */
static void shift(long units, long columns, long tile, const T *w, long each, T factor, T *z) {
    for (long j = 0; j < units; j++, z += columns, w += each)
        for (long p = 0; p < tile; p++) z[p] += factor * *w;
}
static void scale(long units, long columns, const T *w, long each, const T *a, T *z) {
    for (long j = 0; j < units; j++, z += columns, a += columns, w += each)
        affine(columns, *w, a, z);
}
"""

_SUMS = """
/* what is summed over points: into sums, or into the rows of a Jacobian */
typedef struct { T *sums, *block, *jacobian; long first, stride, length; } Into;

static void matrix_sums(
    const Shape *s, const Step *c, const T *g, const T *turned, const Into *into) {
    long row = padded(c->depth), columns = columns_of(s);
    if (!into->stride) {
        T *sums = into->sums + c->sums;
        product(c->units, row, columns, g, columns, 1, turned, row, sums, row, 1, NULL);
        return;
    }
    long count = s->points - into->first < s->tile ? s->points - into->first : s->tile;
    for (long p = 0; p < count; p++) {
        int add = c->add || (into->first + p) % into->stride != 0;
        T *to = into->jacobian + (into->first + p) / into->stride * into->length + c->column;
        T *at = c->depth == row ? to : into->block;
        product(c->units, row, s->partials, g + p, columns, s->tile, turned + p * row,
            s->tile * row, at, row, c->depth == row && add, NULL);
        if (c->depth != row)
            for (long i = 0; i < c->units; i++)
                for (long j = 0; j < c->depth; j++) {
                    T *entry = to + i * c->depth + j;
                    *entry = into->block[i * row + j] + (add ? *entry : 0);
                }
    }
}
/* each unit's numbers at the points of a tile, for a tensor of that many or of one */
static void vector_sums(
    const Shape *s, const Step *c, long unit, const T *found, const Into *into) {
    long at = c->size == 1 ? 0 : unit;
    if (!into->stride) {
        T *sums = into->sums + c->sums + at * s->tile;
        for (long p = 0; p < s->tile; p++) sums[p] += found[p];
        return;
    }
    long count = s->points - into->first < s->tile ? s->points - into->first : s->tile;
    for (long p = 0; p < count; p++) {
        int add = c->add || at != unit || (into->first + p) % into->stride != 0;
        T *to = into->jacobian + (into->first + p) / into->stride * into->length + c->column + at;
        *to = found[p] + (add ? *to : 0);
    }
}
static void value_sums(const Shape *s, const Step *c, const T *a, const Into *into) {
    long columns = columns_of(s);
    if (into->stride || c->size == 1) {
        for (long j = 0; j < c->units; j++) vector_sums(s, c, j, a + j * columns, into);
        return;
    }
    T *restrict sums = into->sums + c->sums;
    for (long j = 0; j < c->units; j++, a += columns, sums += s->tile)
        for (long p = 0; p < s->tile; p++) sums[p] += a[p];
}
static void product_sums(const Shape *s, const Step *c, const T *a, const T *b, const Into *into) {
    T found[TILE];
    for (long j = 0; j < c->units; j++) {
        for (long p = 0; p < s->tile; p++) found[p] = 0;
        for (long k = 0; k < s->partials; k++, a += s->tile, b += s->tile)
            for (long p = 0; p < s->tile; p++) found[p] += a[p] * b[p];
        vector_sums(s, c, j, found, into);
    }
}
static void write_gradient(const Shape *s, const Tensor *tensors, const double *wide, T *gradient) {
    for (long i = 0; i < s->tensors; i++) {
        long rows = tensors[i].rows, columns = tensors[i].columns, row = padded(columns);
        const double *sums = wide + tensors[i].sums;
        if (tensors[i].sums < 0) gradient += rows;
        else if (columns)
            for (long a = 0; a < rows; a++)
                for (long b = 0; b < columns; b++) *gradient++ += sums[a * row + b];
        else
            for (long a = 0; a < rows; a++) {
                double sum = 0;
                for (long p = 0; p < s->tile; p++) sum += sums[a * s->tile + p];
                *gradient++ += sum;
            }
    }
}
"""


def _run() -> str:
    cases = {
        Code.GATHER: "gather(s, into->first, n, c->second ? second : inputs, z);",
        Code.SCATTER: "scatter(s, into->first, n, a, NULL, c->second ? below : out);",
        Code.LINEAR: """
            product(n, columns, c->depth, w, c->depth, 1, a, columns, z, columns, 0, ahead);
            if (c->bias >= 0) shift(n, columns, s->tile, weights[c->bias], 1, 1, z);""",
        Code.ACTIVATE: "((Activate *)c->function)(n, zeros, (T *)a, z);",
        Code.COMBINE: "combine(n * columns, a, c->factor, b, z);",
        Code.MULTIPLY: "((Multiply *)c->function)(n, a, b, z);",
        Code.AFFINE: """
            affine(n * columns, c->factor, a, z);
            T by = c->shift;
            if (by != 0) shift(n, columns, s->tile, &by, 0, 1, z);""",
        Code.SCALE: "scale(n, columns, w, c->size != 1, a, z);",
        Code.SHIFT: """
            affine(n * columns, 1, a, z);
            shift(n, columns, s->tile, w, c->size != 1, 1, z);""",
        Code.LINEAR_BACK: """
            product(n, columns, c->depth, w, 1, n, a, columns, z, columns, c->add, ahead);""",
        Code.ACTIVATE_BACK: "((ActivateBack *)c->function)(n, a, z, b);",
        Code.MULTIPLY_BACK: "((MultiplyBack *)c->function)(n, b, a, z, c->add);",
        Code.ACCUMULATE: "combine(n * columns, z, c->factor, a, z);",
        Code.MATRIX_SUMS: """
            transpose(padded(c->depth), columns, b, turned);
            matrix_sums(s, c, a, turned, into);""",
        Code.VALUE_SUMS: "value_sums(s, c, a, into);",
        Code.PRODUCT_SUMS: "product_sums(s, c, a, b, into);",
    }
    lines = "\n".join(f"        case {code:d}: {{ {text} break; }}" for code, text in cases.items())
    return f"""
/* `out` and `below` are what the forward and the reverse pass give, `second` the cotangent */
static void run(const Shape *s, const Step *steps, long count, const T *const *weights,
    const T *inputs, const T *second, T *work, T *states, T *turned, T *zeros, T *out, T *below,
    const Into *into) {{
    long columns = columns_of(s);
    for (const Step *c = steps; c < steps + count; c++) {{
        long n = c->units;
        T *z = c->z < 0 ? states - 1 - c->z : work + c->z;
        T *a = c->a < 0 ? states - 1 - c->a : work + c->a;
        T *b = c->b < 0 ? states - 1 - c->b : work + c->b;
        const T *ahead = c->ahead < 0 ? states - 1 - c->ahead : NULL;
        const T *w = c->tensor < 0 ? NULL : weights[c->tensor];
        switch (c->code) {{
{lines}
        }}
    }}
}}
"""


_PASSES = """
/* `states` takes what the reverse pass needs, or is null */
void forward(const Shape *s, const Step *steps, long count, const T *const *weights,
    const T *inputs, T *work, T *states, T *out) {
    T *zeros = work + s->registers;
    for (long j = 0; j < s->widest; j++) zeros[j] = 0;
    for (long t = 0; t < tiles_of(s); t++) {
        Into into = {.first = t * s->tile};
        run(s, steps, count, weights, inputs, NULL, work, states + t * s->kept, NULL, zeros, out,
            NULL, &into);
    }
}

/* `below`, the inputs' cotangent, is written where the steps do. The gradient is added to
   `gradient`, summed over all points; where stride > 0, rows of that length, one for each stride
   points, are written to it. */
void backward(const Shape *s, const Step *steps, long count, const Tensor *tensors,
    const T *const *weights, const T *inputs, T *work, T *states, const T *cotangent, T *gradient,
    T *below, long stride, long length) {
    T *zeros = work + s->registers, *turned = zeros + s->widest;
    T *sums = turned + s->widest * columns_of(s);
    double *wide = (double *)(sums + (s->total + PAD - 1) / PAD * PAD);
    for (T *j = work; j < sums; j++) *j = 0;  /* so that what no unit has is finite */
    for (long j = 0; !stride && j < s->total; j++) sums[j] = 0, wide[j] = 0;
    for (long t = 0; t < tiles_of(s); t++) {
        Into into = {sums, sums, gradient, t * s->tile, stride, length};
        run(s, steps, count, weights, inputs, cotangent, work, states + t * s->kept, turned, zeros,
            NULL, below, &into);
        if (!stride && t % FLUSH == FLUSH - 1) flush(s->total, sums, wide);
    }
    if (stride) return;
    flush(s->total, sums, wide);
    write_gradient(s, tensors, wide, gradient);
}
"""


def write_operations(scalar: str) -> str:
    """The functions `forward`, `backward`, `kept` and `worked`, for `float` or `double`."""
    sizes = f"#define PAD {PAD}\n#define TILE {tile_points(1)}"
    head = f"#include <stddef.h>\ntypedef {scalar} T;\n{sizes}"
    products = write_products({"float": 4, "double": 8}[scalar])
    return "\n".join([head, products, _SHAPE, TILES, _STEPS, _ELEMENTWISE, _SUMS, _run(), _PASSES])


def write_leibniz(plan: Plan, scalar: str) -> str:
    """The functions `multiply` and `multiply_back`, by Leibniz's formula.

    multiply(units, a, b, z) writes the product of two stacks to z. multiply_back(units, other, g,
    z, add) writes to z, or adds, what the cotangent g of a product means to the factor beside
    `other`: the formula is the same in both.
    """
    tile, rows = tile_points(len(plan)), range(len(plan))
    products, cotangents = (
        formula.write(lambda stack, k: f"{stack}{k}", lambda c: f"(T){c!r}")
        for formula in (plan.product, plan.product_adjoint)
    )
    reads = [f"T b{k} = b[i + {k} * TILE];" for k in rows]
    forward = [f"T a{k} = a[i + {k} * TILE];" for k in rows] + reads
    forward += [f"z[i + {k} * TILE] = {products[k]};" for k in rows]
    backward = [f"T g{k} = g[i + {k} * TILE];" for k in rows] + reads
    head = f"typedef {scalar} T;\n#define TILE {tile}\n#define STACK {len(plan) * tile}"

    def loop(body: list[str]) -> str:
        lines = "\n            ".join(body)
        return f"""
#pragma GCC ivdep
        for (long i = 0; i < TILE; i++) {{
            {lines}
        }}"""

    def adjoint(sign: str) -> str:
        written = [f"z[i + {k} * TILE] {sign} {cotangents[k]};" for k in rows]
        return loop([*backward, *written])

    return f"""{head}
void multiply(long units, const T *restrict a, const T *restrict b, T *restrict z) {{
    for (long unit = 0; unit < units; unit++, a += STACK, b += STACK, z += STACK) {{
        {loop(forward)}
    }}
}}
void multiply_back(long units, const T *restrict b, const T *restrict g, T *restrict z, long add) {{
    for (long unit = 0; unit < units; unit++, b += STACK, g += STACK, z += STACK) {{
        if (add) {{ {adjoint("+=")} }}
        else {{ {adjoint("=")} }}
    }}
}}
"""
