"""C source that carries a plan's partials through a whole network, forward and backward.

Points are taken in tiles, so small that what a layer reads and writes stays in the cache next to
the processor. A tile's stack has a row for each unit and K blocks of columns, one for each
partial; so vectors are full whatever the width. A pass keeps the pre-activations of all layers,
and does each of the three matrix products of a layer once.
"""

from pinnsig.derivatives.compiled.products import write_products
from pinnsig.derivatives.compiled.tiles import TILES

_SHAPE = """
typedef struct {
    long partials, points, inputs, width, outputs, hidden, tile;
} Shape;
"""

_SIZES = """
/* see `pinnsig.derivatives.compiled.layers` */
typedef void Activate(long units, const T *bias, T *h, T *z);
typedef void ActivateBack(long units, const T *h, T *g, T *z);

static long padded(long n) { return (n + LANES - 1) / LANES * LANES; }
static long size_in(const Shape *s, long layer) { return layer ? s->width : s->inputs; }
static long size_out(const Shape *s, long layer) {
    return layer < s->hidden ? s->width : s->outputs;
}
/* numbers in a layer's sums: rows of weights in whole vectors, and the bias's tile by tile */
static long sums_of(const Shape *s, long layer) {
    return size_out(s, layer) * (padded(size_in(s, layer)) + s->tile);
}
static long all_sums_of(const Shape *s) {
    return sums_of(s, 0) + (s->hidden - 1) * sums_of(s, 1) + sums_of(s, s->hidden);
}
/* how many numbers a pass over all points keeps, and how many it works with */
long kept(const Shape *s) { return tiles_of(s) * s->hidden * s->width * columns_of(s); }
long worked(const Shape *s) {
    long i = padded(s->inputs), w = padded(s->width);
    long sums = (1 + (long)(sizeof(double) / sizeof(T))) * all_sums_of(s);
    long block = (s->width + s->outputs) * (w + i);
    return (sums > block ? sums : block) + (4 * w + 3 * i + s->outputs) * columns_of(s) + 16;
}

"""

SPARSE_INPUTS = 8
"""Inputs from which on it pays to look for those that a partial is not zero in."""

_SUPPORTS = """
/* The inputs that a partial is not zero in are among low, ..., high - 1: for a coordinate's own
   first one of many. Only zeros are skipped, so that sums are the same bit for bit. */
typedef struct { long low, high; } Support;
static int sparse(const Shape *s) { return s->inputs >= SPARSE; }
static void find_supports(const Shape *s, const T *entry, Support *found) {
    for (long k = 0; k < s->partials; k++) found[k].low = s->inputs, found[k].high = 0;
    for (long j = 0; j < s->inputs; j++)
        for (long k = 0; k < s->partials; k++, entry += s->tile) {
            int any = 0;
            for (long p = 0; p < s->tile; p++) any |= entry[p] != 0;
            if (!any) continue;
            if (found[k].low > j) found[k].low = j;
            found[k].high = j + 1;
        }
}
/* the first layer's product */
static void enter(const Shape *s, long out, const Support *found, const T *weight, const T *entry,
    T *h) {
    long columns = columns_of(s);
    for (long k = 0; k < s->partials; k++, entry += s->tile, h += s->tile) {
        long low = found[k].low, depth = found[k].high - low;
        if (depth > 0)
            product(out, s->tile, depth, weight + low, s->inputs, 1, entry + low * columns, columns,
                h, columns, 0, NULL);
        else
            for (long a = 0; a < out; a++)
                for (long p = 0; p < s->tile; p++) h[a * columns + p] = 0;
    }
}
"""

_FORWARD = """
/* `out` has shape (K, points, outputs); `states` takes what the way back needs, or is null */
void forward(const Shape *s, Activate *activate, const T *const *weights, const T *inputs, T *work,
    T *states, T *out) {
    long last = s->hidden, columns = columns_of(s), stack = s->width * columns;
    T *z = work, *spare = z + stack, *entry = spare + stack, *result = entry + s->inputs * columns;
    Support found[s->partials];
    for (long t = 0; t < tiles_of(s); t++) {
        gather(s, t * s->tile, s->inputs, inputs, entry);
        if (sparse(s)) find_supports(s, entry, found);
        for (long l = 0; l <= last; l++) {
            long in = size_in(s, l), out_size = size_out(s, l);
            T *h = l == last ? result : states ? states + (t * last + l) * stack : spare;
            if (!l && sparse(s))
                enter(s, out_size, found, weights[0], entry, h);
            else
                product(out_size, columns, in, weights[2 * l], in, 1, l ? z : entry, columns, h,
                    columns, 0, states && l < last ? h + stack : NULL);
            if (l < last) activate(out_size, weights[2 * l + 1], h, z);
        }
        scatter(s, t * s->tile, s->outputs, result, weights[2 * last + 1], out);
    }
}
"""

_BACKWARD = """
/* columns, whole vectors, of z turned that hold a partial's inputs */
static Support vectors_of(Support found) {
    if (found.low >= found.high) return (Support){0, 0};
    return (Support){found.low / LANES * LANES, padded(found.high)};
}
/* sums over a tile: the weights' gradient, from the rows of g and of z turned, and the bias's */
static void add_sums(const Shape *s, long in, long out, const Support *found, const T *g,
    const T *turned, T *sums) {
    long row = padded(in), columns = columns_of(s);
    if (!found) product(out, row, columns, g, columns, 1, turned, row, sums, row, 1, NULL);
    for (long k = 0; found && k < s->partials; k++) {
        Support v = vectors_of(found[k]);
        product(out, v.high - v.low, s->tile, g + k * s->tile, columns, 1,
            turned + k * s->tile * row + v.low, row, sums + v.low, row, 1, NULL);
    }
    sums += out * row;
    for (long a = 0; a < out; a++)
        for (long p = 0; p < s->tile; p++) sums[a * s->tile + p] += g[a * columns + p];
}
/* the same point by point: sum over k of g_k (x) z_k, `stride` points to a row of a Jacobian */
static void write_rows(const Shape *s, long first, long in, long out, const Support *found,
    const T *g, const T *turned, T *block, T *jacobian, long stride, long length) {
    long row = padded(in), columns = columns_of(s);
    long count = s->points - first < s->tile ? s->points - first : s->tile;
    for (long p = 0; p < count; p++) {
        int add = (first + p) % stride != 0;
        T *to = jacobian + (first + p) / stride * length, *into = in == row ? to : block;
        int onto = in == row && add;
        if (!found)
            product(out, row, s->partials, g + p, columns, s->tile, turned + p * row,
                s->tile * row, into, row, onto, NULL);
        else if (!onto)
            for (long j = 0; j < out * row; j++) into[j] = 0;
        for (long k = 0; found && k < s->partials; k++) {
            Support v = vectors_of(found[k]);
            product(out, v.high - v.low, 1, g + k * s->tile + p, columns, 1,
                turned + (k * s->tile + p) * row + v.low, row, into + v.low, row, 1, NULL);
        }
        if (in != row)
            for (long a = 0; a < out; a++)
                for (long b = 0; b < in; b++)
                    to[a * in + b] = block[a * row + b] + (add ? to[a * in + b] : 0);
        to += out * in;
        for (long a = 0; a < out; a++) to[a] = g[a * columns + p] + (add ? to[a] : 0);
    }
}
static void write_gradient(const Shape *s, const double *wide, T *gradient) {
    for (long l = 0; l <= s->hidden; l++) {
        long in = size_in(s, l), out = size_out(s, l), row = padded(in);
        for (long a = 0; a < out; a++, wide += row)
            for (long b = 0; b < in; b++) *gradient++ += wide[b];
        for (long a = 0; a < out; a++, wide += s->tile) {
            double sum = 0;
            for (long p = 0; p < s->tile; p++) sum += wide[p];
            *gradient++ += sum;
        }
    }
}

/* `cotangent` is the output's and `states` what forward left; `below`, the inputs' cotangent, may
   be null. The weights' gradient is added to `gradient`, summed over all points; where stride > 0,
   rows of that length, one for each stride points, are written to it. */
void backward(const Shape *s, ActivateBack *activate_back, const T *const *weights,
    const T *inputs, T *work, const T *states, const T *cotangent, T *gradient, T *below,
    long stride, long length) {
    long last = s->hidden, columns = columns_of(s), stack = s->width * columns;
    long total = all_sums_of(s), parameters = 0;
    for (long l = 0; l <= last; l++) parameters += size_out(s, l) * (size_in(s, l) + 1);
    long w = padded(s->width), i = padded(s->inputs);
    T *cotangents[2] = {work, work + stack}, *z = work + 2 * stack, *z_turned = z + w * columns;
    T *entry = z_turned + w * columns, *entry_turned = entry + i * columns;
    T *leaving = entry_turned + i * columns, *exit = leaving + i * columns;
    T *sums = exit + s->outputs * columns;
    sums += (8 - (sums - work) % 8) % 8;
    double *wide = (double *)(sums + (total + 7) / 8 * 8);
    Support found[s->partials];
    for (long j = 0; !stride && j < total; j++) sums[j] = 0, wide[j] = 0;
    for (T *j = z; j < exit; j++) *j = 0;  /* rows beyond the last unit stay zero */
    for (long t = 0; t < tiles_of(s); t++) {
        long first = t * s->tile, place = total, column = parameters;
        const T *g = exit;
        gather(s, first, s->outputs, cotangent, exit);
        gather(s, first, s->inputs, inputs, entry);
        if (sparse(s)) find_supports(s, entry, found);
        transpose(i, columns, entry, entry_turned);
        for (long l = last; l >= 0; l--) {
            long in = size_in(s, l), out = size_out(s, l);
            T *next = l ? cotangents[l % 2] : leaving;
            const T *h = l ? states + (t * last + l - 1) * stack : NULL;
            place -= sums_of(s, l), column -= out * (in + 1);
            if (l || below)
                product(in, columns, out, weights[2 * l], 1, in, g, columns, next, columns, 0, h);
            if (l) activate_back(in, h, next, z), transpose(w, columns, z, z_turned);
            const T *turned = l ? z_turned : entry_turned;
            const Support *among = !l && sparse(s) ? found : NULL;
            if (stride)
                write_rows(s, first, in, out, among, g, turned, sums, gradient + column, stride,
                    length);
            else
                add_sums(s, in, out, among, g, turned, sums + place);
            g = next;
        }
        if (below) scatter(s, first, s->inputs, leaving, NULL, below);
        if (!stride && t % FLUSH == FLUSH - 1) flush(total, sums, wide);
    }
    if (stride) return;
    flush(total, sums, wide);
    write_gradient(s, wide, gradient);
}
"""


def write_network(scalar: str) -> str:
    """The functions `forward`, `backward`, `kept` and `worked`, for `float` or `double`."""
    head = f"#include <stddef.h>\n#define SPARSE {SPARSE_INPUTS}\ntypedef {scalar} T;"
    products = write_products({"float": 4, "double": 8}[scalar])
    return "\n".join([head, products, _SHAPE, TILES, _SIZES, _SUPPORTS, _FORWARD, _BACKWARD])
