"""The C kernel that updates one triangle of a symmetric matrix and multiplies with it in one pass.

Rows stand in groups of `BLOCK`; a group holds its entries up to the diagonal, in square blocks one
after the other, each row by row. So memory is read and written in the order in which it lies. The
blocks on the diagonal hold both of their triangles.
"""

import ctypes
from collections.abc import Callable
from functools import cache
from itertools import pairwise

import torch
from torch import Tensor

from pinnsig.derivatives.compiled.compiler import load
from pinnsig.derivatives.compiled.tape import SCALARS

BLOCK = 8
"""Rows and columns of a block; a power of two, which vectors are made of."""

Kernel = Callable[[int, int, Tensor, float, Tensor, Tensor], None]
"""Groups from, and up to; matrix; scale; z_1, z_2, these with signs, and g, shape (5, columns);
the product H g, shape (columns,), zero before, of which the entries of these groups are added."""

_SOURCE = """
typedef SCALAR T;
typedef T V __attribute__((vector_size(BLOCK * sizeof(T)), aligned(sizeof(T)), may_alias));
#define EACH for (int r = 0; r < BLOCK; r++)

void update_and_multiply(long first, long last, T *restrict h, T scale, long columns,
                         const T *restrict vectors, T *restrict product)
{
    const T *z1 = vectors, *z2 = z1 + columns, *g = vectors + 4 * columns;
    const V *y1 = (const V *)(z2 + columns), *y2 = (const V *)(z2 + 2 * columns);
    for (long k = first; k < last; k++) {
        V *block = (V *)(h + BLOCK * BLOCK * (k * (k + 1) / 2));
        V sums[BLOCK];
        const T *a = z1 + BLOCK * k, *b = z2 + BLOCK * k, *c = g + BLOCK * k;
        EACH sums[r] = (V){0};
        for (long j = 0; j < k; j++, block += BLOCK) {
            V p = y1[j], q = y2[j], along = ((const V *)g)[j], down = ((V *)product)[j];
            #pragma GCC unroll 8
            EACH {
                V entry = scale * block[r] + a[r] * p + b[r] * q;
                block[r] = entry;
                sums[r] += entry * along;
                down += entry * c[r];
            }
            ((V *)product)[j] = down;
        }
        V p = y1[k], q = y2[k], along = ((const V *)g)[k];
        EACH {
            V entry = scale * block[r] + a[r] * p + b[r] * q;
            block[r] = entry;
            sums[r] += entry * along;
        }
        EACH {
            T sum = 0;
            for (int i = 0; i < BLOCK; i++) sum += sums[r][i];
            product[BLOCK * k + r] += sum;
        }
    }
}
"""


@cache
def find_kernel(dtype: torch.dtype) -> Kernel | None:
    """The kernel for a type; None where there is no compiler."""
    if dtype not in SCALARS:
        return None
    definitions = f"#define SCALAR {SCALARS[dtype]}\n#define BLOCK {BLOCK}\n"
    library = load(definitions + _SOURCE)
    if library is None:
        return None
    run = library.update_and_multiply
    pointer, size = ctypes.c_void_p, ctypes.c_long
    scalar = ctypes.c_float if dtype == torch.float32 else ctypes.c_double
    run.restype, run.argtypes = None, [size, size, pointer, scalar, size, pointer, pointer]

    def kernel(
        first: int, last: int, values: Tensor, scale: float, vectors: Tensor, product: Tensor
    ) -> None:
        columns = vectors.shape[1]
        places = vectors.data_ptr(), product.data_ptr()
        run(first, last, values.data_ptr(), scale, columns, *places)

    return kernel


def packed_size(groups: int) -> int:
    """How many numbers the first groups hold together."""
    return BLOCK * BLOCK * (groups * (groups + 1) // 2)


@cache
def balanced_groups(groups: int, shares: int) -> list[tuple[int, int]]:
    """First group and one past the last, of shares that hold about as many entries each."""
    ends = [round(groups * (i / shares) ** 0.5) for i in range(shares + 1)]
    return [(first, last) for first, last in pairwise(ends) if first < last]
