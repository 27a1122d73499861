"""The fixed parts of exported C: walking trees, link functions, searching tables.

``@`` stands for the prefix of all names. A part is written only if the model needs it, because
compilers warn of unused functions. The text is valid C99 and C++11.
"""

# Trees that are walked side by side: the processor then overlaps their memory accesses.
N_ABREAST = 8

NODE = """\
/* A node of a tree. A split goes to node `left` if column[which] <= threshold, else to `left` + 1.
   A leaf has its value (or the number of its entry in a table) as threshold, and leads to itself:
   it compares with a column that is always -INFINITY. */
typedef struct {
    double threshold;
    int32_t left;
    int32_t which;
} @node;
"""

_NEXT = """\
static inline int32_t @next(int32_t at, const double *column)
{
    const @node *node = @nodes + at;
    return node->left + !(column[node->which] <= node->threshold);
}
"""

_NEXT_WITH_SETS = """\
static inline int32_t @next(int32_t at, const double *column)
{
    const @node *node = @nodes + at;
    double value = column[node->which];
    if (node->which >= @N_PLAIN)
        return node->left + !@is_in_set((int32_t)node->threshold, value);
    return node->left + !(value <= node->threshold);
}
"""

_WALK = """\
/* Walk eight trees side by side, from their roots to their leaves. */
static void @walk(const int32_t *root, const double *column, int32_t *leaf)
{
    int32_t a = root[0], b = root[1], c = root[2], d = root[3];
    int32_t e = root[4], f = root[5], g = root[6], h = root[7];
    int32_t next, moved;
#define @STEP(at) next = @next(at, column); moved |= next ^ at; at = next;
    do {
        moved = 0;
        @STEP(a) @STEP(b) @STEP(c) @STEP(d) @STEP(e) @STEP(f) @STEP(g) @STEP(h)
    } while (moved);
#undef @STEP
    leaf[0] = a; leaf[1] = b; leaf[2] = c; leaf[3] = d;
    leaf[4] = e; leaf[5] = f; leaf[6] = g; leaf[7] = h;
}
"""

_IS_IN_SET = """\
/* Whether a category goes left. -INFINITY stands for a missing one that goes left. */
static int @is_in_set(int32_t number, double code)
{
    const @set *own = @sets + number;
    uint32_t place;
    if (!(code > -1.0 && code < own->n_codes))
        return code == -INFINITY;
    place = (uint32_t)code;
    return (int)(@bits[own->first + place / 32] >> place % 32 & 1);
}
"""

_LEAF_MODEL = """\
/* What a leaf with a linear model adds; its plain value if the model gives no finite number. */
static double @evaluate(const @leaf *leaf, const @term *terms, const double *column)
{
    double sum = leaf->constant;
    int32_t k;
    if (leaf->first == leaf->last)
        return leaf->value;
    for (k = leaf->first; k < leaf->last; k++)
        sum += terms[k].coefficient * column[terms[k].which];
    if (!(sum - sum == 0.0))
        return leaf->value;
    return sum < leaf->low ? leaf->low : sum > leaf->high ? leaf->high : sum;
}
"""

LEAF_TYPES = """\
/* A leaf with a linear model: the terms from `first` to before `last`. */
typedef struct {
    double value, constant, low, high;
    int32_t first, last;
} @leaf;

typedef struct {
    double coefficient;
    int32_t which;
} @term;
"""

SET_TYPE = """\
/* A set of categories: a bit for each code below n_codes. */
typedef struct {
    int32_t first, n_codes;
} @set;
"""

_MISSING_LEFT = """\
/* A number that goes left in every split if it is missing. */
static double @missing_left(double value)
{
    return value != value ? -INFINITY : value;
}
"""

_KNOWN = """\
/* The code of a category; NAN if it is missing or unknown. */
static double @known(double code, int32_t n_categories)
{
    return code >= 0.0 && code < n_categories ? code : NAN;
}
"""

_FOR_SET = """\
/* A code for a set: -INFINITY if it is missing and goes left. */
static double @for_set(double code, int missing_left)
{
    if (code != code)
        return missing_left ? -INFINITY : NAN;
    return code > -1.0 ? code : NAN;
}
"""

_CODE = """\
/* The digit of a category in a key: n_categories if it is missing, -1 if it is unknown. */
static int64_t @digit(double code, int32_t n_categories)
{
    if (code != code)
        return n_categories;
    return code >= 0.0 && code < n_categories ? (int64_t)code : -1;
}
"""

_FIND_KEY = """\
/* The place of a key in a table, -1 if it is not there. */
static int64_t @find_key(const int64_t *keys, int64_t n_keys, int64_t key)
{
    int64_t low = 0, high = n_keys;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n_keys && keys[low] == key ? low : -1;
}
"""

_EXP = """\
/* e to the x for x clipped to [-708, 709]: the same bits as sumwise, whatever the C library. */
static double @exp(double x)
{
    double k, r, p;
    if (x != x)
        return x;
    x = x < -708.0 ? -708.0 : x > 709.0 ? 709.0 : x;
    k = (x * 1.4426950408889634 + 6755399441055744.0) - 6755399441055744.0;
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10;
    p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    return ldexp(1.0 + (r + (r * r) * p), (int)k);
}
"""

_EXPM1 = """\
/* e to the x minus 1, without cancellation for small x. */
static double @expm1(double x)
{
    double size = fabs(0.5 * x), s = size * size, e = @exp(-2.0 * size), tanh_of_half, p;
    p = 62.0 / 2835.0;
    p = p * s - 17.0 / 315.0;
    p = p * s + 2.0 / 15.0;
    p = p * s - 1.0 / 3.0;
    tanh_of_half = size < 0.05 ? size + size * (s * p) : (1.0 - e) / (1.0 + e);
    return (x >= 0.0 ? tanh_of_half : -tanh_of_half) * (@exp(x) + 1.0);
}
"""

_SIGMOID = """\
static double @sigmoid(double score)
{
    double e = @exp(-fabs(score)), larger = 1.0 / (1.0 + e);
    return score >= 0.0 ? larger : e * larger;
}
"""

_SOFTMAX = """\
static void @softmax(const double *score, int n, double *out)
{
    double highest = score[0], total = 0.0;
    int k;
    for (k = 1; k < n; k++)
        highest = score[k] > highest ? score[k] : highest;
    for (k = 0; k < n; k++) {
        out[k] = @exp(score[k] - highest);
        total += out[k];
    }
    for (k = 0; k < n; k++)
        out[k] /= total;
}
"""

_SORT = """\
static void @sort(const double *score, int n, double *out)
{
    int j, k;
    for (k = 0; k < n; k++) {
        for (j = k; j > 0 && out[j - 1] > score[k]; j--)
            out[j] = out[j - 1];
        out[j] = score[k];
    }
}
"""

_LARGEST = """\
/* The index of the largest number, the first of equals. */
static int @largest(const double *value, int n)
{
    int best = 0, k;
    for (k = 1; k < n; k++)
        best = value[k] > value[best] ? k : best;
    return best;
}
"""

_SHARE = """\
static void @share(const double *amount, int n, double *out)
{
    double total = 0.0;
    int k;
    for (k = 0; k < n; k++) {
        out[k] = amount[k] > 0.0 ? amount[k] : 0.0;
        total += out[k];
    }
    for (k = 0; k < n; k++)
        out[k] = total > 0.0 ? out[k] / total : 1.0 / n;
}
"""

_INTERPOLATE = """\
/* Piecewise linear interpolation between n points; constant outside of them. */
static double @interpolate(double at, const double *x, const double *y, int n)
{
    int low = 0, high = n - 1;
    if (!(at > x[0]))
        return at != at ? at : y[0];
    if (at >= x[n - 1])
        return y[n - 1];
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (x[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return (y[high] - y[low]) / (x[high] - x[low]) * (at - x[low]) + y[low];
}
"""

_MEDIAN = """\
/* The weighted median of n values; `order` is scratch. Equal values keep their order. */
static double @median(const double *value, const double *weight, int n, double half, int *order)
{
    double so_far = 0.0;
    int gap, j, k;
    for (k = 0; k < n; k++)
        order[k] = k;
    for (gap = n / 2; gap > 0; gap /= 2)
        for (k = gap; k < n; k++) {
            int own = order[k];
            for (j = k; j >= gap; j -= gap) {
                int other = order[j - gap];
                if (value[other] < value[own] || (value[other] == value[own] && other < own))
                    break;
                order[j] = other;
            }
            order[j] = own;
        }
    for (k = 0; k < n - 1; k++) {
        so_far += weight[order[k]];
        if (so_far >= half)
            break;
    }
    return value[order[k]];
}
"""

# In the order of the source; `walk` and `next` follow the tables.
FUNCTIONS = {
    "is_in_set": _IS_IN_SET,
    "next": _NEXT,
    "next_with_sets": _NEXT_WITH_SETS,
    "walk": _WALK,
    "evaluate": _LEAF_MODEL,
    "missing_left": _MISSING_LEFT,
    "known": _KNOWN,
    "for_set": _FOR_SET,
    "digit": _CODE,
    "find_key": _FIND_KEY,
    "exp": _EXP,
    "expm1": _EXPM1,
    "sigmoid": _SIGMOID,
    "softmax": _SOFTMAX,
    "sort": _SORT,
    "largest": _LARGEST,
    "share": _SHARE,
    "interpolate": _INTERPOLATE,
    "median": _MEDIAN,
}
_NEEDS = {
    "next_with_sets": {"is_in_set"},
    "expm1": {"exp"},
    "sigmoid": {"exp"},
    "softmax": {"exp"},
}


def write_functions(names: set[str]) -> str:
    """Return the functions of these names, and those that they call."""
    wanted = names.union(*(_NEEDS.get(name, set()) for name in names))
    return "\n".join(text for name, text in FUNCTIONS.items() if name in wanted)
