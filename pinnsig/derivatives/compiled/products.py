"""Matrix products in C: small blocks of the result, held in registers while they are summed.

They are written with the vector extension that GCC and Clang share, so that one source serves
every processor. Goto and van de Geijn, ACM Trans. Math. Softw. 34 (2008), 12.
"""

ROWS = (6, 4, 2, 1)
"""Rows of a block: 6 by 4 vectors fill the 32 registers of AVX-512 and NEON."""

VECTORS = (1, 2, 3, 4)
"""Vectors in a row of a block."""

HEAD = """
#if defined(__AVX512F__)
#define BYTES 64
#define WIDEST 4
#elif defined(__AVX__)
#define BYTES 32
#define WIDEST 2
#else
#define BYTES 16
#define WIDEST 4
#endif
#define LANES (BYTES / SIZE)
typedef T V __attribute__((vector_size(BYTES), aligned(sizeof(T)), may_alias));
#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#if SIZE == 8
typedef long long I __attribute__((vector_size(BYTES)));
#else
typedef int I __attribute__((vector_size(BYTES)));
#endif
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (I){__VA_ARGS__})
#endif
"""


def write_products(size: int) -> str:
    """The functions `product` and `transpose`, for numbers of that many bytes.

    product(m, n, depth, a, am, ak, b, ldb, c, ldc, add, ahead) writes A B into C, or adds it: A has
    m rows and `depth` columns that are am and ak apart, B and C have n columns, whole vectors. What
    lies at `ahead`, of the layout of C, or nothing where it is null, is meanwhile fetched into the
    cache.

    transpose(m, n, a, b) turns A of m rows and n columns, whole vectors both, into B.
    """
    blocks = "".join(_block(rows, vectors) for rows in ROWS for vectors in VECTORS)
    head = f"#define SIZE {size}\n{HEAD}"
    transposes = "".join(map(_transpose_block, (2, 4, 8, 16)))
    return head + blocks + "".join(map(_panel, VECTORS)) + _DRIVER + transposes + _TRANSPOSE


def _block(rows: int, vectors: int) -> str:
    r, v = range(rows), range(vectors)
    start = "\n    ".join(
        f"V s{i}{j} = add ? *(const V *)(c + {i} * ldc + {j} * LANES) : (V){{0}};"
        for i in r
        for j in v
    )
    loads = "\n        ".join(f"V b{j} = *(const V *)(b + {j} * LANES);" for j in v)
    sums = "\n        ".join(
        f"T a{i} = a[{i} * am]; " + " ".join(f"s{i}{j} += a{i} * b{j};" for j in v) for i in r
    )
    stores = "\n    ".join(f"*(V *)(c + {i} * ldc + {j} * LANES) = s{i}{j};" for i in r for j in v)
    ask = " ".join(
        f"__builtin_prefetch(ahead + {i} * ldc + {j} * LANES, 0, 2);" for i in r for j in v
    )
    return f"""
static inline void block_{rows}_{vectors}(
    long depth, const T *a, long am, long ak, const T *b, long ldb, T *c, long ldc, int add,
    const T *ahead) {{
    if (ahead) {{ {ask} }}
    {start}
    for (long k = 0; k < depth; k++, a += ak, b += ldb) {{
        {loads}
        {sums}
    }}
    {stores}
}}
"""


def _panel(vectors: int) -> str:
    steps = "\n    ".join(
        f"for (; i + {rows} <= m; i += {rows})"
        f" block_{rows}_{vectors}(depth, a + i * am, am, ak, b, ldb, c + i * ldc, ldc, add,"
        f"\n            ahead ? ahead + i * ldc : 0);"
        for rows in ROWS
    )
    return f"""
static void panel_{vectors}(
    long m, long depth, const T *a, long am, long ak, const T *b, long ldb, T *c, long ldc,
    int add, const T *ahead) {{
    long i = 0;
    {steps}
}}
"""


_CASES = "\n".join(
    f"        case {v}: panel_{v}(m, depth, a, am, ak, b, ldb, c, ldc, add, ahead); break;"
    for v in VECTORS
)
_DRIVER = f"""
static void product(
    long m, long n, long depth, const T *a, long am, long ak, const T *b, long ldb, T *c, long ldc,
    int add, const T *ahead) {{
    long left = n / LANES;
    for (long panels = (left + WIDEST - 1) / WIDEST; panels > 0; panels--) {{
        long vectors = (left + panels - 1) / panels;
        switch (vectors) {{
{_CASES}
        }}
        b += vectors * LANES, c += vectors * LANES, left -= vectors;
        if (ahead) ahead += vectors * LANES;
    }}
}}
"""


def _transpose_block(lanes: int) -> str:
    """A square of vectors turned in registers, halves, quarters, ... of them at a time."""
    lines, names, step = [], [f"r{i}" for i in range(lanes)], lanes // 2
    lines += [f"V r{i} = *(const V *)(a + {i} * lda);" for i in range(lanes)]
    while step:
        low = [i + (lanes if i & step else 0) - (i & step) for i in range(lanes)]
        high = [i + step for i in low]
        made = list(names)
        for i in (i for i in range(lanes) if not i & step):
            for place, picked in ((i, low), (i + step, high)):
                made[place] = f"s{step}_{place}"
                chosen = ", ".join(map(str, picked))
                lines.append(f"V {made[place]} = SHUFFLE({names[i]}, {names[i + step]}, {chosen});")
        names, step = made, step // 2
    lines += [f"*(V *)(b + {i} * ldb) = {name};" for i, name in enumerate(names)]
    body = "\n    ".join(lines)
    return f"""
#if LANES == {lanes}
static inline void transpose_block(const T *a, long lda, T *b, long ldb) {{
    {body}
}}
#endif
"""


_TRANSPOSE = """
static void transpose(long m, long n, const T *a, T *b) {
    for (long j = 0; j < n; j += LANES)
        for (long i = 0; i < m; i += LANES) transpose_block(a + i * n + j, n, b + j * m + i, m);
}
"""
