"""C source that carries a plan's partials through a whole network, forward and backward.

Points are taken in tiles, so small that what a layer reads and writes stays in the cache next to
the processor; within a tile the K partials are K blocks of rows. Units beyond the network's own,
which fill the last vector of a row, have no weights. What a pass keeps is the pre-activations of
all layers; each of the three matrix products of a layer is done once.
"""

from pinnsig.jets.compiled.products import write_products

TILE_BYTES = 24576
"""What the stack of one layer takes at one tile: half the cache next to the processor."""


FLUSH = 8
"""Tiles whose gradients are summed in the network's own type before they go to double."""

_SHAPES = """
typedef struct {
    long partials, points, inputs, width, outputs, hidden;
} Shape;

/* see `pinnsig.jets.compiled.layers` */
typedef void Activate(long n, const T *h, T *z);
typedef void ActivateBack(long n, const T *h, T *g, T *z);

static long padded(long n) { return (n + LANES - 1) / LANES * LANES; }
static long size_in(const Shape *s, long layer) { return layer ? s->width : s->inputs; }
static long size_out(const Shape *s, long layer) {
    return layer < s->hidden ? s->width : s->outputs;
}
/* six points fill whole blocks of the products, whatever the plan */
static long tile_of(const Shape *s) {
    long most = TILE_BYTES / (6 * s->partials * padded(s->width) * (long)sizeof(T));
    long all = (s->points + 5) / 6;
    return 6 * (most < 1 ? 1 : most < all ? most : all);
}
static long tiles_of(const Shape *s) { return (s->points + tile_of(s) - 1) / tile_of(s); }
static long stack_of(const Shape *s) { return s->partials * tile_of(s) * padded(s->width); }
/* weights and biases of all layers in rows of whole vectors, from either end */
static long turned_of(const Shape *s) {
    return (s->inputs + s->hidden + (s->hidden - 1) * s->width) * padded(s->width)
        + (s->width + 1) * padded(s->outputs);
}
static long packed_of(const Shape *s) {
    return s->width * (padded(s->inputs) + (s->hidden - 1) * padded(s->width))
        + s->outputs * padded(s->width) + s->hidden * padded(s->width) + padded(s->outputs);
}
/* how many numbers a pass over all points keeps, and how many it works with */
long kept(const Shape *s) { return s->points ? tiles_of(s) * s->hidden * stack_of(s) : 0; }
long worked(const Shape *s) {
    long i = padded(s->inputs), o = padded(s->outputs), w = padded(s->width);
    long sums = (1 + (long)(sizeof(double) / sizeof(T))) * packed_of(s), block = (w + o) * (w + i);
    return turned_of(s) + packed_of(s) + (sums > block ? sums : block) + 3 * stack_of(s)
        + s->partials * tile_of(s) * (2 * i + o);
}

/* between an array of shape (K, points, columns) and a tile, (K, tile, padded columns) */
static void gather(const Shape *s, long first, long tile, long columns, const T *from, T *to) {
    long count = s->points - first < tile ? s->points - first : tile, row = padded(columns);
    for (long k = 0; k < s->partials; k++)
        for (long p = 0; p < tile; p++)
            for (long j = 0; j < columns; j++)
                to[(k * tile + p) * row + j] =
                    p < count ? from[(k * s->points + first + p) * columns + j] : 0;
}
static void scatter(const Shape *s, long first, long tile, long columns, const T *from, T *to) {
    long count = s->points - first < tile ? s->points - first : tile, row = padded(columns);
    for (long k = 0; k < s->partials; k++)
        for (long p = 0; p < count; p++)
            for (long j = 0; j < columns; j++)
                to[(k * s->points + first + p) * columns + j] = from[(k * tile + p) * row + j];
}
"""

_FORWARD = """
/* h = z W^T, with the bias on the value's rows; `packed` holds W^T and the bias, in whole vectors */
static void linear(long tile, long rows, long in, long out, const T *z, const T *packed, T *h,
    const T *ahead) {
    long row = padded(out), below = padded(in);
    const T *bias = packed + in * row;
    for (long p = 0; p < tile; p++)
        for (long j = 0; j < row; j++) h[p * row + j] = bias[j];
    product(tile, row, in, z, below, 1, packed, row, h, row, 1, ahead);
    product(rows - tile, row, in, z + tile * below, below, 1, packed, row, h + tile * row, row,
        0, ahead + tile * row);
}

/* `out` has shape (K, points, outputs); `states` takes what the way back needs, or is null */
void forward(const Shape *s, Activate *activate, const T *const *weights, const T *inputs, T *work,
    T *states, T *out) {
    if (!s->points) return;
    long last = s->hidden, tile = tile_of(s), tiles = tiles_of(s), rows = s->partials * tile;
    long w = padded(s->width), stack = rows * w;
    T *to = work;
    for (long l = 0; l <= last; l++) {
        long in = size_in(s, l), out = size_out(s, l), row = padded(out);
        for (long b = 0; b < in; b++)
            for (long a = 0; a < row; a++)
                to[b * row + a] = a < out ? weights[2 * l][a * in + b] : 0;
        for (long a = 0; a < row; a++) to[in * row + a] = a < out ? weights[2 * l + 1][a] : 0;
        to += (in + 1) * row;
    }
    T *z = to, *spare = z + stack, *entry = spare + stack, *result = entry + rows * padded(s->inputs);
    for (long t = 0; t < tiles; t++) {
        gather(s, t * tile, tile, s->inputs, inputs, entry);
        const T *packed = work, *below = entry;
        for (long l = 0; l < last; l++) {
            T *h = states ? states + (t * last + l) * stack : spare;
            linear(tile, rows, size_in(s, l), s->width, below, packed, h, states ? h + stack : h);
            activate(tile * w, h, z);
            packed += (size_in(s, l) + 1) * w, below = z;
        }
        linear(tile, rows, s->width, s->outputs, z, packed, result, result);
        scatter(s, t * tile, tile, s->outputs, result, out);
    }
}
"""

_BACKWARD = """
/* sums over a tile: the weights' gradient, then the bias's */
static void add_sums(long tile, long rows, long in, long out, const T *g, const T *z, T *sums) {
    long row = padded(out), below = padded(in);
    product(out, below, rows, g, 1, row, z, below, sums, below, 1, sums);
    sums += out * below;
    for (long p = 0; p < tile; p++)
        for (long j = 0; j < row; j++) sums[j] += g[p * row + j];
}
/* the same point by point: sum over k of g_k (x) z_k, `stride` points to a row of a Jacobian */
static void write_rows(long first, long count, long tile, long rows, long in, long out,
    const T *g, const T *z, T *block, T *jacobian, long stride, long columns) {
    long row = padded(out), below = padded(in);
    for (long p = 0; p < count; p++, g += row, z += below) {
        int add = (first + p) % stride != 0;
        T *to = jacobian + (first + p) / stride * columns;
        T *into = in == below ? to : block;
        product(out, below, rows / tile, g, 1, tile * row, z, tile * below, into, below,
            in == below && add, into);
        if (in != below)
            for (long a = 0; a < out; a++)
                for (long b = 0; b < in; b++)
                    to[a * in + b] = block[a * below + b] + (add ? to[a * in + b] : 0);
        to += out * in;
        for (long j = 0; j < out; j++) to[j] = g[j] + (add ? to[j] : 0);
    }
}
/* single sums of a few tiles go on in double: there are thousands of tiles */
static void flush(long total, T *sums, double *wide) {
    for (long j = 0; j < total; j++) wide[j] += sums[j], sums[j] = 0;
}

/* `cotangent` is the output's and `states` what forward left; `below`, the inputs' cotangent, may
   be null. The weights' gradient goes to `gradient`: summed over all points, or where stride > 0
   in rows, which are `columns` long, for each stride points. */
void backward(const Shape *s, ActivateBack *activate_back, const T *const *weights,
    const T *inputs, T *work, const T *states, const T *cotangent, T *gradient, T *below,
    long stride, long columns) {
    long last = s->hidden, tile = tile_of(s), tiles = s->points ? tiles_of(s) : 0;
    long rows = s->partials * tile, w = padded(s->width), stack = rows * w;
    long total = packed_of(s), parameters = 0;
    T *packed = work, *turns[2] = {packed + total, packed + total + stack}, *z = turns[1] + stack;
    T *entry = z + stack, *exit = entry + rows * padded(s->inputs);
    T *leaving = exit + rows * padded(s->outputs), *block = leaving + rows * padded(s->inputs);
    T *sums = block;
    double *wide = (double *)(sums + total);
    for (long l = 0; l <= last; l++) {
        long in = size_in(s, l), out = size_out(s, l), row = padded(in);
        for (long a = 0; in < row && a < out; a++)
            for (long b = 0; b < row; b++)
                packed[a * row + b] = b < in ? weights[2 * l][a * in + b] : 0;
        packed += out * row + padded(out), parameters += out * (in + 1);
    }
    packed = work;
    for (long j = 0; !stride && j < total; j++) sums[j] = 0, wide[j] = 0;
    for (long t = 0; t < tiles; t++) {
        long first = t * tile, count = s->points - first < tile ? s->points - first : tile;
        long place = total, column = parameters;
        T *g = exit;
        gather(s, first, tile, s->outputs, cotangent, exit);
        gather(s, first, tile, s->inputs, inputs, entry);
        for (long l = last; l >= 0; l--) {
            long in = size_in(s, l), out = size_out(s, l), row = padded(in);
            T *next = l ? turns[l % 2] : leaving;
            place -= out * row + padded(out), column -= out * (in + 1);
            const T *weight = in < row ? packed + place : weights[2 * l];
            const T *h = l ? states + (t * last + l - 1) * stack : next;
            if (l || below)
                product(rows, row, out, g, padded(out), 1, weight, row, next, row, 0, h);
            if (l) activate_back(tile * w, h, next, z);
            if (stride)
                write_rows(first, count, tile, rows, in, out, g, l ? z : entry, block,
                    gradient + column, stride, columns);
            else
                add_sums(tile, rows, in, out, g, l ? z : entry, sums + place);
            g = next;
        }
        if (below) scatter(s, first, tile, s->inputs, leaving, below);
        if (!stride && (t % FLUSH == FLUSH - 1 || t == tiles - 1)) flush(total, sums, wide);
    }
    if (!stride) {
        double *from = wide;
        for (long l = 0; l <= last; l++) {
            long in = size_in(s, l), out = size_out(s, l), row = padded(in);
            for (long a = 0; a < out; a++, from += row)
                for (long b = 0; b < in; b++) *gradient++ = from[b];
            for (long a = 0; a < out; a++) *gradient++ = from[a];
            from += padded(out);
        }
    }
}
"""


def write_network(scalar: str) -> str:
    """The functions `forward`, `backward` and `kept`, for `float` or `double`."""
    parts = (_SHAPES, _FORWARD, _BACKWARD)
    sizes = f"#define TILE_BYTES {TILE_BYTES}\n#define FLUSH {FLUSH}"
    head = f"typedef {scalar} T;\n{sizes}"
    return "\n".join([head, write_products(), *parts])
