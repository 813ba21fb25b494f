"""C that all passes have in common which take points in tiles.

A tile's stack has a row for each unit and K blocks of columns, one for each partial.
"""

COLUMNS = 64
"""Columns of a tile's stack: a stack of 64 units takes a third of the cache next to the processor,
and more columns make no product faster."""

FLUSH = 32
"""Tiles whose gradients are summed in the network's own type before they go to double."""


def tile_points(partials: int) -> int:
    """Points of a tile: a multiple of 16, so whole vectors of any processor."""
    return 16 * max(1, COLUMNS // (16 * partials))


TILES = (
    f"#define FLUSH {FLUSH}\n"
    + """
static long tiles_of(const Shape *s) { return (s->points + s->tile - 1) / s->tile; }
static long columns_of(const Shape *s) { return s->partials * s->tile; }

/* between an array of shape (K, points, rows) and a tile's stack of that many rows */
static void gather(const Shape *s, long first, long rows, const T *from, T *to) {
    long count = s->points - first < s->tile ? s->points - first : s->tile;
    for (long j = 0; j < rows; j++)
        for (long k = 0; k < s->partials; k++, to += s->tile) {
            const T *at = from + (k * s->points + first) * rows + j;
            for (long p = 0; p < s->tile; p++) to[p] = p < count ? at[p * rows] : 0;
        }
}
static void scatter(
    const Shape *s, long first, long rows, const T *from, const T *bias, T *to) {
    long count = s->points - first < s->tile ? s->points - first : s->tile;
    for (long j = 0; j < rows; j++)
        for (long k = 0; k < s->partials; k++, from += s->tile) {
            T *at = to + (k * s->points + first) * rows + j, shift = bias && !k ? bias[j] : 0;
            for (long p = 0; p < count; p++) at[p * rows] = from[p] + shift;
        }
}
/* single sums of a few tiles go on in double: there are thousands of tiles */
static void flush(long total, T *sums, double *wide) {
    for (long j = 0; j < total; j++) wide[j] += sums[j], sums[j] = 0;
}
"""
)
"""What it reads of a `Shape` are its partials, points and tile."""
