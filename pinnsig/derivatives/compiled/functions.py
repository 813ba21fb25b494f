"""Elementary functions in C that compilers turn into vector code: exp, tanh, sine, powers, ...

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
    # the same for x >= 0 until exp(-x^2) is 0
    "erfcx_far": (
        (
            0.179001151, -0.326233566, 0.245603807, -0.150115706, 0.0716657309, -0.0243948785,
            0.00426932149, 0.000717949953, -0.000594454367, 2.61787898e-5, 5.44225139e-5,
        ),
        (
            0.179001151181389951, -0.326233560043037224, 0.245603801712330775,
            -0.15011593650077765, 0.0716658371979850853, -0.0243924993186587206,
            0.0042691363326579609, 0.000707746438730135941, -0.000597061946030756684,
            4.52553001668430324e-5, 6.40565350545044047e-5, -1.28605059084526547e-5,
            -7.97802868021905497e-6, 2.12003221007165659e-6, 1.25216096039765605e-6,
            -2.93936172336737585e-7, -2.33930442755686159e-7, 2.83245415196979931e-8,
            4.58597900778659374e-8, 1.43836148513155501e-9, -7.92878872807830279e-9,
            -1.52156477913204846e-9, 8.54196327070779217e-10, 2.92531728222624931e-10,
        ),
    ),
    # (artanh(s)/s - 1)/s^2 as a function of s^2, for |s| <= 3 - sqrt(8)
    "artanh": (
        (0.333333425, 0.199943789, 0.14790493),
        (
            0.333333333333333332, 0.200000000000004416, 0.142857142853998925,
            0.111111111962905225, 0.0909089777376056812, 0.076931223688108333,
            0.0663431918463341194, 0.0654401742546377692,
        ),
    ),
    # (sin(r)/r - 1)/r^2 as a function of r^2, for |r| <= pi/4
    "sin": (
        (-0.166666647, 0.0083327471, -0.000195876391),
        (
            -0.166666666666666646, 0.00833333333333093655, -0.000198412698367405321,
            2.75573160931984052e-6, -2.50511298964501863e-8, 1.59179889793974333e-10,
        ),
    ),
    # (cos(r) - 1 + r^2/2)/r^4 as a function of r^2, likewise
    "cos": (
        (0.0416666647, -0.00138883019, 2.45476898e-5),
        (
            0.0416666666666666654, -0.00138888888888873898, 2.48015872987544012e-5,
            -2.755731726587808e-7, 2.08761450494131791e-9, -1.13825446453492504e-11,
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
#define LOWEST -87.33f
#define ROUND 12582912.0f  /* 1.5 * 2^23: added and taken away again, it rounds */
#define QUARTER(n) ((x - n * 1.5703125f) - n * 4.837512969970703e-4f) - n * 7.549789954891882e-8f
#define ONE 0x3f800000u
#define ROOT_HALF 0x3f3504f3u
#define SMALLEST 1.17549435e-38f
#define UP 4294967296.0f
#define UP_BITS 32
#define WHOLE 8388608.0f
#define WHOLE_BITS 0x4b000000u
#define BIAS 127
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
#define LOWEST -708.39
#define ROUND 6755399441055744.0  /* 1.5 * 2^52 */
#define QUARTER(n) ((x - n * 1.57079632673412561417) - n * 6.07710050630396597660e-11) \
    - n * 2.02226624879595063154e-21
#define ONE 0x3ff0000000000000ull
#define ROOT_HALF 0x3fe6a09e667f3bcdull
#define SMALLEST 2.2250738585072014e-308
#define UP 18446744073709551616.0
#define UP_BITS 64
#define WHOLE 4503599627370496.0
#define WHOLE_BITS 0x4330000000000000ull
#define BIAS 1023
#define ERF_REACH 6.0
#define LARGEST 1.7976931348623157e308
""",
}

BODY = """
static inline T size_of(T x) { return x < 0 ? -x : x; }
static inline T signed_as(T size, T x) { return x < 0 ? -size : size; }

static inline T sign_of(T x) { return x > 0 ? 1 : (x < 0 ? -1 : x); }

/* y = n log 2 + r for y <= 0: returns expm1(r), and gives 2^n, or 0 out of range */
static inline T split_exp(T given, T *power) {
    T y = given < LOWEST ? LOWEST : given;
    union { T value; U bits; } n;
    n.value = y * (T)1.4426950408889634 + MAGIC;
    T whole = n.value - MAGIC;
    n.bits <<= MANTISSA;  /* the low bits of the sum are n plus the exponent's bias */
    *power = given < LOWEST ? 0 : n.value;
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
/* the distribution function of N(0, 1), for |x| <= 40 */
static inline T cdf_of(T x) {
    T a = size_of(x), y = a * (T)0.70710678118654752, half = exp_of((T)-0.25 * a * a);
    T tail = (T)0.5 * half * poly_erfcx_far((y - 3) / (y + 3)) * half;
    return x < 0 ? tail : 1 - tail;
}
/* log(1 + e) for 0 <= e <= 1: twice artanh(e/(2 + e)), and from (1 + e)/2 beyond sqrt(2) - 1 */
static inline T log1p_of(T e) {
    T far = e > (T)0.41421356237309503;
    T s = (far ? e - 1 : e) / (far ? e + 3 : e + 2), s2 = s * s;
    return far * (T)0.69314718055994531 + 2 * (s + s * s2 * poly_artanh(s2));
}
/* sin(x) and cos(x): x = n pi/2 + r; where n has too many digits, of an x rounded once more */
static inline T sin_of(T x, T *cosine) {
    union { T value; U bits; } n;
    n.value = x * (T)0.63661977236758134 + ROUND;
    T whole = n.value - ROUND, r = QUARTER(whole);
    r = r > (T)0.8 ? (T)0.8 : (r < (T)-0.8 ? (T)-0.8 : r);
    T y = r * r, s = r + r * y * poly_sin(y), c = 1 - ((T)0.5 * y - y * y * poly_cos(y));
    T first = n.bits & 1 ? c : s, second = n.bits & 1 ? s : c;
    *cosine = (n.bits + 1) & 2 ? -second : second;
    return n.bits & 2 ? -first : first;
}
static inline T two_to(T n) {
    union { T value; U bits; } power;
    power.value = n + MAGIC;
    power.bits <<= MANTISSA;
    return power.value;
}
/* x^e for x >= 0, with e = high + low so that high times x's binary exponent is exact */
static inline T power_of(T x, T e, T high, T low) {
    union { T value; U bits; } m, n;
    m.value = x < SMALLEST ? x * UP : x;
    U bits = m.bits + (ONE - ROOT_HALF);
    n.bits = (bits >> MANTISSA) | WHOLE_BITS;
    m.bits = (bits & (((U)1 << MANTISSA) - 1)) + ROOT_HALF;  /* from sqrt(1/2) to sqrt(2) */
    T exponent = n.value - (WHOLE + BIAS) - (x < SMALLEST ? UP_BITS : 0);
    T s = (m.value - 1) / (m.value + 1), s2 = s * s;
    T log2 = (T)2.8853900817779268 * (s + s * s2 * poly_artanh(s2));
    T y = high * exponent;
    y = y < (T)-3e6 ? (T)-3e6 : (y > (T)3e6 ? (T)3e6 : y);
    T whole = (y + ROUND) - ROUND, rest = (y - whole) + (low * exponent + e * log2);
    T more = (rest + ROUND) - ROUND, r = (rest - more) * (T)0.69314718055994531;
    T total = whole + more, most = 2 * BIAS - 4;
    total = total < -most ? -most : (total > most ? most : total);
    T half = ((T)0.5 * total + ROUND) - ROUND;
    T power = (1 + (r + r * r * poly_expm1(r))) * two_to(half) * two_to(total - half);
    return x > 0 ? power : (e > 0 ? x : LARGEST);
}
"""


def write_functions(scalar: str) -> str:
    """Types and functions for `float` or `double`: exp_of, tanh_of, power_of, ..."""
    place = list(TYPES).index(scalar)
    polynomials = (write_polynomial(name, c[place]) for name, c in COEFFICIENTS.items())
    return "\n".join([TYPES[scalar], *polynomials, BODY])


def write_polynomial(name: str, coefficients: tuple[float, ...]) -> str:
    """The function `poly_<name>`, by Horner's rule."""
    *lower, total = (f"(T){c!r}" for c in coefficients)
    for c in reversed(lower):
        total = f"({total} * x + {c})"
    return f"static inline T poly_{name}(T x) {{ return {total}; }}"
