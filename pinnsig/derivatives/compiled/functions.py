"""Elementary functions in C that compilers turn into vector code: exp, tanh, arctan and erf.

Each is a polynomial on a small interval (a Chebyshev interpolant, worked out with 50 digits) and
arithmetic without branches; errors are a few units in the last place of float or double.
"""

COEFFICIENTS = {
    # (expm1(r)/r - 1)/r for |r| <= log(2)/2
    "expm1": (
        (0.500000002, 0.166666667, 0.0416664484, 0.00833330909, 0.00139354518, 0.000198929918),
        (
            0.5, 0.166666666666666719, 0.0416666666666666704, 0.00833333333332490571,
            0.00138888888888828704, 0.000198412698790330438, 2.48015873285558591e-5,
            2.75572501630291799e-6, 2.75572699032157929e-7, 2.51073537672618774e-8,
            2.09162128374938533e-9,
        ),
    ),
    # (arctan(y)/y - 1)/y^2 as a function of y^2, for |y| <= tan(pi/8)
    "arctan": (
        (-0.333333317, 0.199995234, -0.142633666, 0.10737397, -0.0643103871),
        (
            -0.333333333333333332, 0.199999999999997838, -0.142857142856546389,
            0.111111111046522548, -0.0909090872858745904, 0.0769229565832787351,
            -0.0666641207772527434, 0.0587878246944398118, -0.0522938047378184059,
            0.0454671950955516654, -0.0344458444235773849, 0.0161482285467718696,
        ),
    ),
    # erf(x)/x as a function of x^2, for |x| <= 1
    "erf": (
        (
            1.12837917, -0.376126384, 0.11283782, -0.0268653959, 0.00522092315, -0.00084823551,
            0.000112524636, -9.6258056e-6,
        ),
        (
            1.12837916709551257, -0.376126389031837524, 0.112837916709551196,
            -0.0268661706451296843, 0.00522397762542141024, -0.000854832702179975452,
            0.000120553328967057821, -1.4925647378433174e-5, 1.64620414944001158e-6,
            -1.63645857367756981e-7, 1.47918579801849927e-8, -1.2161193068258871e-9,
            8.69691486950916132e-11, -4.21164597327995078e-12,
        ),
    ),
    # exp(x^2) erfc(x) as a function of (x - 3)/(x + 3), for x >= 1 until erf(x) rounds to 1
    "erfcx": (
        (
            0.179001151, -0.326233544, 0.245603887, -0.150117955, 0.0716546029, -0.0243558157,
            0.00462695124, 0.00152196627,
        ),
        (
            0.17900115118138995, -0.326233560043037234, 0.245603801712330896,
            -0.150115936500775715, 0.0716658371979756606, -0.0243924993187961057,
            0.00426913633295649299, 0.000707746443624924825, -0.00059706195018302304,
            4.52552032355200856e-5, 6.40565404558771535e-5, -1.2859402378401242e-5,
            -7.97747965955024459e-6, 2.11295025569698193e-6, 1.24565023158538122e-6,
            -2.70747357851415872e-7, -2.04669632292832439e-7,
        ),
    ),
}  # fmt: skip

TYPES = {
    "float": """
typedef float T;
typedef unsigned int U;
#define MANTISSA 23
#define MAGIC 12583039.0f  /* 1.5 * 2^23 + 127 */
#define LN2_HIGH 0.693359375f
#define LN2_LOW -2.12194440e-4f
#define LOWEST -87.0f
#define ERF_REACH 4.0f
#define LARGEST 3.4028234e38f
""",
    "double": """
typedef double T;
typedef unsigned long long U;
#define MANTISSA 52
#define MAGIC 6755399441056767.0  /* 1.5 * 2^52 + 1023 */
#define LN2_HIGH 0.6931471803691238
#define LN2_LOW 1.9082149292705877e-10
#define LOWEST -708.0
#define ERF_REACH 6.0
#define LARGEST 1.7976931348623157e308
""",
}

BODY = """
static inline T size_of(T x) { return x < 0 ? -x : x; }
static inline T signed_as(T size, T x) { return x < 0 ? -size : size; }

/* y = n log 2 + r for y <= 0: returns expm1(r), and gives 2^n */
static inline T split_exp(T y, T *power) {
    y = y < LOWEST ? LOWEST : y;
    union { T value; U bits; } n;
    n.value = y * (T)1.4426950408889634 + MAGIC;
    T whole = n.value - MAGIC;
    n.bits <<= MANTISSA;  /* the low bits of the sum are n plus the exponent's bias */
    *power = n.value;
    T r = (y - whole * LN2_HIGH) - whole * LN2_LOW;
    return r + r * r * poly_expm1(r);
}
static inline T exp_of(T y) {
    T power, q = split_exp(y, &power);
    return q * power + power;
}
/* tanh(x), and exp(-2|x|) and 1/(1 + exp(-2|x|)) */
static inline T tanh_of(T x, T *e, T *inverse) {
    T power, q = split_exp(-2 * size_of(x), &power);
    T m = q * power + (power - 1);
    *e = q * power + power;
    *inverse = 1 / (2 + m);
    return signed_as(-m * *inverse, x);
}
/* arctan a = pi/4 + arctan((a - 1)/(a + 1)) = pi/2 - arctan(1/a) */
static inline T arctan_of(T x) {
    T a = size_of(x);
    T above = a > (T)0.41421356237309503, far = a > (T)2.414213562373095;
    T top = far ? -1 : (above ? a - 1 : a), bottom = far ? a : (above ? a + 1 : 1);
    T base = far ? (T)1.5707963267948966 : (above ? (T)0.7853981633974483 : 0);
    T y = top / bottom, y2 = y * y;
    return signed_as(base + (y + y * y2 * poly_arctan(y2)), x);
}
static inline T erf_of(T x) {
    T a = size_of(x);
    a = a > ERF_REACH ? ERF_REACH : a;
    T far = 1 - exp_of(-a * a) * poly_erfcx((a - 3) / (a + 3));
    return a < 1 ? x * poly_erf(x * x) : signed_as(far, x);
}
"""


def write_functions(scalar: str) -> str:
    """Types and functions for `float` or `double`: exp_of, tanh_of, arctan_of, erf_of."""
    place = list(TYPES).index(scalar)
    polynomials = (write_polynomial(name, c[place]) for name, c in COEFFICIENTS.items())
    return "\n".join([TYPES[scalar], *polynomials, BODY])


def write_polynomial(name: str, coefficients: tuple[float, ...]) -> str:
    """The function `poly_<name>`, by Horner's rule."""
    *lower, total = (f"(T){c!r}" for c in coefficients)
    for c in reversed(lower):
        total = f"({total} * x + {c})"
    return f"static inline T poly_{name}(T x) {{ return {total}; }}"
