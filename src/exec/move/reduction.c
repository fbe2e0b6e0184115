/* reduction.c - see reduction.h.
 *
 * Predefined operators on numbers have a loop each; MPI_Reduce_local does the
 * rest: pairs, complex numbers, long double, and operators of the user's.
 */
#include "exec/move/reduction.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

/* ---- loops --------------------------------------------------------------- */

typedef int combine_fn(const rota_reduction *r, const char *const at[], int P);
typedef int into_fn(const rota_operator *o, const char *from, char *into,
                    size_t width, size_t n, ptrdiff_t step);

/* Combine with what `a` and `b` make, which are of type T. Of a value there is
 * mostly one element; of a block that is combined into another, which may lie
 * anywhere, there are many. */
#define COMBINE(name, T, what)                                                 \
    static inline void name##_at(void *result, const char *const at[], int P,  \
                                 size_t i)                                     \
    {                                                                          \
        T a = *(const T *)(const void *)(*at + i);                             \
                                                                               \
        for (const char *const *q = at + 1; q < at + P; q++) {                 \
            const T b = *(const T *)(const void *)(*q + i);                    \
            a = (T)(what);                                                     \
        }                                                                      \
        memcpy((char *)result + i, &a, sizeof a);                              \
    }                                                                          \
    static int name(const rota_reduction *r, const char *const at[], int P)    \
    {                                                                          \
        name##_at(r->result, at, P, 0);                                        \
        for (size_t i = sizeof(T); i < r->bytes; i += sizeof(T))               \
            name##_at(r->result, at, P, i);                                    \
        return MPI_SUCCESS;                                                    \
    }                                                                          \
    static int name##_into(const rota_operator *o, const char *from,           \
                           char *into, size_t width, size_t n, ptrdiff_t step) \
    {                                                                          \
        const char *restrict in = from;                                        \
                                                                               \
        (void)o;                                                               \
        for (; n > 0; n--, into += step, in += width) {                        \
            char *restrict const out = into;                                   \
            for (size_t i = 0; i < width; i += sizeof(T)) {                    \
                T a, b;                                                        \
                memcpy(&a, in + i, sizeof a);                                  \
                memcpy(&b, out + i, sizeof b);                                 \
                a = (T)(what);                                                 \
                memcpy(out + i, &a, sizeof a);                                 \
            }                                                                  \
        }                                                                      \
        return MPI_SUCCESS;                                                    \
    }

#define COMBINE_ORDERED(of, T)                                                 \
    COMBINE(max_##of, T, a > b ? a : b)                                        \
    COMBINE(min_##of, T, a < b ? a : b)

#define COMBINE_FLOATING(of, T)                                                \
    COMBINE_ORDERED(of, T)                                                     \
    COMBINE(sum_##of, T, a + b)                                                \
    COMBINE(prod_##of, T, a *b)

#define COMBINE_LOGICAL(of, T)                                                 \
    COMBINE(land_##of, T, a &&b)                                               \
    COMBINE(lor_##of, T, a || b)                                               \
    COMBINE(lxor_##of, T, !a != !b)

/* For numbers with a sign as well, since sums and products wrap. Small ones must not
 * be multiplied as int, which could overflow. */
#define COMBINE_INTEGERS(of, T)                                                \
    COMBINE_ORDERED(of, T)                                                     \
    COMBINE(sum_##of, T, a + b)                                                \
    COMBINE(prod_##of, T, 1u * a * b)                                          \
    COMBINE_LOGICAL(of, T)                                                     \
    COMBINE(band_##of, T, a &b)                                                \
    COMBINE(bor_##of, T, a | b)                                                \
    COMBINE(bxor_##of, T, a ^ b)

COMBINE_ORDERED(i8, int8_t)
COMBINE_ORDERED(i16, int16_t)
COMBINE_ORDERED(i32, int32_t)
COMBINE_ORDERED(i64, int64_t)
COMBINE_INTEGERS(u8, uint8_t)
COMBINE_INTEGERS(u16, uint16_t)
COMBINE_INTEGERS(u32, uint32_t)
COMBINE_INTEGERS(u64, uint64_t)
COMBINE_FLOATING(f32, float)
COMBINE_FLOATING(f64, double)
COMBINE_LOGICAL(boolean, bool)

/* By MPI: result = value 0 op value 1, and so on. Values are copied, since MPI
 * writes over its second operand; in turns, so that it is the second. */
static int combine_by_mpi(const rota_reduction *r, const char *const at[],
                          int P)
{
    _Alignas(16) char turn[2][ROTA_MOST_REDUCED];

    memcpy(turn[0], at[0], r->bytes);
    for (int q = 1; q < P; q++) {
        memcpy(turn[q & 1], at[q], r->bytes);
        ROTA_TRY(MPI_Reduce_local(turn[!(q & 1)], turn[q & 1], r->count,
                                  r->type, r->op));
    }
    memcpy(r->result, turn[(P - 1) & 1], r->bytes);
    return MPI_SUCCESS;
}

static int combine_row_by_mpi(const rota_operator *o, const char *from,
                              char *into, size_t bytes)
{
    for (size_t n = bytes / o->size; n > 0;) {
        const int some = n < INT_MAX ? (int)n : INT_MAX;
        ROTA_TRY(MPI_Reduce_local(from, into, some, o->type, o->op));
        from += (size_t)some * o->size;
        into += (size_t)some * o->size;
        n -= (size_t)some;
    }
    return MPI_SUCCESS;
}

static int combine_into_by_mpi(const rota_operator *o, const char *from,
                               char *into, size_t width, size_t n,
                               ptrdiff_t step)
{
    for (; n > 0; n--, into += step, from += width)
        ROTA_TRY(combine_row_by_mpi(o, from, into, width));
    return MPI_SUCCESS;
}

/* ---- which one ----------------------------------------------------------- */

/* Predefined operators, in the order of the loops of a type. */
enum { MAX, MIN, SUM, PROD, LAND, LOR, LXOR, BAND, BOR, BXOR, N_LOOPS };
enum { MINLOC = N_LOOPS, MAXLOC, OTHERS };

typedef struct loop {
    combine_fn *values;
    into_fn *into;
} loop;

static const struct {
    const char *name;
    loop by[N_LOOPS];
} loops[] = {
#define LOOP(name)                                                             \
    {                                                                          \
        name, name##_into                                                      \
    }
#define ORDERED(of) LOOP(max_##of), LOOP(min_##of)
#define SUMS(of) LOOP(sum_##of), LOOP(prod_##of)
#define LOGICAL(of) LOOP(land_##of), LOOP(lor_##of), LOOP(lxor_##of)
#define BITS(of) LOOP(band_##of), LOOP(bor_##of), LOOP(bxor_##of)
#define INTEGERS(of, size)                                                     \
    {                                                                          \
        ORDERED(of##size), SUMS(u##size), LOGICAL(u##size), BITS(u##size)      \
    }
    {"int8_t", INTEGERS(i, 8)},
    {"int16_t", INTEGERS(i, 16)},
    {"int32_t", INTEGERS(i, 32)},
    {"int64_t", INTEGERS(i, 64)},
    {"uint8_t", INTEGERS(u, 8)},
    {"uint16_t", INTEGERS(u, 16)},
    {"uint32_t", INTEGERS(u, 32)},
    {"uint64_t", INTEGERS(u, 64)},
    {"float", {ORDERED(f32), SUMS(f32)}},
    {"double", {ORDERED(f64), SUMS(f64)}},
    {"bool", {[LAND] = LOGICAL(boolean)}},
    {"bytes", {[BAND] = BITS(u8)}},
    {"characters", {{NULL, NULL}}},
};
enum { I8, U8 = 4, F32 = 8, F64, BOOLEAN, BYTES, CHARACTERS, UNKNOWN };

/* The operator; OTHERS: the user's; -1: none that combines. */
static int find_op(MPI_Op op)
{
    const MPI_Op known[OTHERS] = {
        [MAX] = MPI_MAX,   [MIN] = MPI_MIN,       [SUM] = MPI_SUM,
        [PROD] = MPI_PROD, [LAND] = MPI_LAND,     [LOR] = MPI_LOR,
        [LXOR] = MPI_LXOR, [BAND] = MPI_BAND,     [BOR] = MPI_BOR,
        [BXOR] = MPI_BXOR, [MINLOC] = MPI_MINLOC, [MAXLOC] = MPI_MAXLOC,
    };
    int i = 0;

    if (op == MPI_REPLACE || op == MPI_NO_OP)
        return -1;
    while (i < OTHERS && known[i] != op)
        i++;
    return i;
}

/* Loops for integers of a size from these on. */
static int integers(size_t size, int first)
{
    for (int i = 0; i < 4; i++)
        if (size == (size_t)1 << i)
            return first + i;
    return UNKNOWN;
}

static bool is_one_of(MPI_Datatype type, const MPI_Datatype list[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == type)
            return true;
    return false;
}

#define IS_ONE_OF(type, list) is_one_of(type, list, sizeof list / sizeof *list)

/* The loops for elements of a named type; UNKNOWN: there are none. */
static int find_loops(MPI_Datatype type, size_t size)
{
    const MPI_Datatype with_sign[] = {
        MPI_SIGNED_CHAR, MPI_SHORT,   MPI_INT,     MPI_LONG,    MPI_LONG_LONG,
        MPI_INT8_T,      MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_AINT,
        MPI_COUNT,       MPI_OFFSET,  MPI_INTEGER};
    const MPI_Datatype without[] = {
        MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT,     MPI_UNSIGNED,
        MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T,
        MPI_UINT16_T,      MPI_UINT32_T,           MPI_UINT64_T};
    const MPI_Datatype characters[] = {MPI_CHAR, MPI_WCHAR};

    if (IS_ONE_OF(type, with_sign))
        return integers(size, I8);
    if (IS_ONE_OF(type, without))
        return integers(size, U8);
    if (IS_ONE_OF(type, characters))
        return CHARACTERS;
    if ((type == MPI_FLOAT || type == MPI_REAL) && size == sizeof(float))
        return F32;
    if ((type == MPI_DOUBLE || type == MPI_DOUBLE_PRECISION) &&
        size == sizeof(double))
        return F64;
    if (type == MPI_C_BOOL)
        return BOOLEAN;
    return type == MPI_BYTE ? BYTES : UNKNOWN;
}

static bool is_pair(MPI_Datatype type)
{
    const MPI_Datatype pairs[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT,
                                  MPI_LONG_INT,  MPI_2INT,
                                  MPI_SHORT_INT, MPI_LONG_DOUBLE_INT};

    return IS_ONE_OF(type, pairs);
}

/* *found: the loop for op on elements of type; NULL: MPI combines them. MPI would
 * end the program for an operator that is not for the type. */
static int find_loop(MPI_Datatype type, MPI_Op mpi_op, bool named, size_t size,
                     const loop **found)
{
    const int op = find_op(mpi_op);
    const int of = named ? find_loops(type, size) : UNKNOWN;

    *found = NULL;
    if (op == OTHERS)
        return MPI_SUCCESS;
    if (op < 0)
        return rota_fail(MPI_ERR_OP, "op combines no values");
    if (!named)
        return rota_fail(MPI_ERR_OP, "op is predefined, but type is not");
    if (of == UNKNOWN && !(is_pair(type) && op < N_LOOPS))
        return MPI_SUCCESS;
    if (of != UNKNOWN && op < N_LOOPS)
        *found = &loops[of].by[op];
    return *found && (*found)->values
               ? MPI_SUCCESS
               : rota_fail(MPI_ERR_OP, "op is not for elements of %s",
                           of != UNKNOWN ? loops[of].name : "pairs");
}

/* Gaps are no data, which the result must leave alone; but those of a pair belong
 * to it. */
static int find_bytes(rota_reduction *r, bool named, size_t size)
{
    MPI_Aint lb, extent, true_lb, true_extent;

    ROTA_TRY(MPI_Type_get_extent(r->type, &lb, &extent));
    ROTA_TRY(MPI_Type_get_true_extent(r->type, &true_lb, &true_extent));
    if (!named &&
        (lb != 0 || true_lb != 0 || extent != (MPI_Aint)size || size == 0))
        return rota_fail(MPI_ERR_TYPE, "type is not contiguous");
    if (r->count > ROTA_MOST_REDUCED || extent > ROTA_MOST_REDUCED ||
        r->count * extent > ROTA_MOST_REDUCED)
        return rota_fail(MPI_ERR_COUNT,
                         "count = %d elements are more than %d bytes", r->count,
                         ROTA_MOST_REDUCED);
    r->bytes = (size_t)((r->count - 1) * extent + true_extent);
    return MPI_SUCCESS;
}

static int is_named(MPI_Datatype type, bool *named)
{
    int n_ints, n_addresses, n_types, combiner;

    ROTA_TRY(MPI_Type_get_envelope(type, &n_ints, &n_addresses, &n_types,
                                   &combiner));
    *named = combiner == MPI_COMBINER_NAMED;
    return MPI_SUCCESS;
}

int rota_reduction_resolve(rota_reduction *r)
{
    const loop *found;
    bool named;
    int size;

    ROTA_TRY(is_named(r->type, &named));
    ROTA_TRY(MPI_Type_size(r->type, &size));
    ROTA_TRY(find_bytes(r, named, (size_t)size));
    ROTA_TRY(find_loop(r->type, r->op, named, (size_t)size, &found));
    r->combine = found ? found->values : combine_by_mpi;
    return MPI_SUCCESS;
}

int rota_operator_resolve(rota_operator *o)
{
    MPI_Aint lb, extent, true_lb, true_extent;
    const loop *found;
    bool named;
    int size;

    ROTA_TRY(is_named(o->type, &named));
    ROTA_TRY(MPI_Type_size(o->type, &size));
    ROTA_TRY(MPI_Type_get_extent(o->type, &lb, &extent));
    ROTA_TRY(MPI_Type_get_true_extent(o->type, &true_lb, &true_extent));
    if (size == 0 || lb != 0 || true_lb != 0 || extent != size)
        return rota_fail(MPI_ERR_TYPE, "type is not contiguous");
    ROTA_TRY(find_loop(o->type, o->op, named, (size_t)size, &found));
    o->size = (size_t)size;
    o->combine = found ? found->into : combine_into_by_mpi;
    return MPI_SUCCESS;
}

bool rota_operator_needs_mpi(const rota_operator *o)
{
    return o->combine == combine_into_by_mpi;
}

bool rota_reduction_needs_mpi(const rota_reduction *r)
{
    return r->combine == combine_by_mpi;
}

int rota_reduction_op(const rota_reduction *r)
{
    const int op = find_op(r->op);

    return op == OTHERS ? 0 : op + 1;
}
