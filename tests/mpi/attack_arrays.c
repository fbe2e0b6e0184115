/* attack_arrays.c - attacks on exchanges of several arrays and on plans that run
 * backwards: see attack.c.
 */
#include "attack.h"

#include <limits.h>
#include <string.h>

enum { TWO = 2 }; /* arrays */

static void *found[TWO];

/* ---- exchanges of arrays: making ----------------------------------------- */

/* The arguments that attacks spoil. */
typedef struct shape {
    size_t max_block;
    int n;
    MPI_Datatype type[TWO];
    const MPI_Datatype *types;
    rota_plan **plan;
} shape;

static int init_arrays(const fixture *f, const shape *s)
{
    return rota_exchange_init_arrays(s->max_block, s->n, s->types, f->comm,
                                     f->info, s->plan);
}

#define ARRAYS(name, spoil)                                                    \
    static int arrays_##name(fixture *f, bool wrong)                           \
    {                                                                          \
        shape s = {.max_block = 4096, .n = TWO, .plan = &f->made};             \
        s.type[0] = MPI_INT;                                                   \
        s.type[1] = MPI_SHORT;                                                 \
        s.types = s.type;                                                      \
        if (wrong) {                                                           \
            spoil;                                                             \
        }                                                                      \
        return init_arrays(f, &s);                                             \
    }

ARRAYS(null_plan, s.plan = NULL)
ARRAYS(null_types, s.types = NULL)
ARRAYS(none, s.n = 0)
ARRAYS(negative, s.n = INT_MIN)
ARRAYS(null_type, s.type[1] = MPI_DATATYPE_NULL)
ARRAYS(uncommitted, s.type[0] = f->raw)
ARRAYS(gaps, s.type[1] = MPI_SHORT_INT)
ARRAYS(other_number, s.n = 1)
ARRAYS(other_size, s.type[1] = MPI_DOUBLE)
ARRAYS(other_bound, s.max_block = 64)
ARRAYS(unknown_hint, MPI_Info_set(f->info, "rota_nonsense", "1"))
ARRAYS(null_comm, f->comm = MPI_COMM_NULL)

/* ---- starting and waiting ------------------------------------------------ */

/* Counts and displacements of both arrays; all are good. */
typedef struct both {
    const void *sendbuf[TWO];
    int count[TWO * MOST_RANKS], displ[TWO * MOST_RANKS];
    MPI_Count count_c[TWO * MOST_RANKS];
    MPI_Aint displ_c[TWO * MOST_RANKS];
} both;

/* Of each array N elements for each rank. */
static both sound_both(const fixture *f)
{
    both b = {.sendbuf = {f->send, f->send}};

    for (int i = 0; i < TWO * test_P; i++) {
        b.count[i] = N;
        b.displ[i] = i % test_P * N;
        b.count_c[i] = b.count[i];
        b.displ_c[i] = b.displ[i];
    }
    return b;
}

static int start_arrays(rota_plan *plan, const both *b)
{
    return rota_exchange_start_arrays(plan, b->sendbuf, b->count, b->displ);
}

#define START(name, call, spoil)                                               \
    static int arrays_##name(fixture *f, bool wrong)                           \
    {                                                                          \
        both b = sound_both(f);                                                \
        spoil;                                                                 \
        return wrong ? (call) : MPI_SUCCESS;                                   \
    }

START(start_null, start_arrays(NULL, &b), )
START(start_fixed, start_arrays(f->fixed, &b), )
START(start_exchange, start_arrays(f->exchange, &b), )
START(start_active, start_arrays(f->arrays, &b), )
START(start_no_bufs,
      rota_exchange_start_arrays(f->arrays, NULL, b.count, b.displ), )
START(start_no_counts,
      rota_exchange_start_arrays(f->arrays, b.sendbuf, NULL, b.displ), )
START(start_no_displs,
      rota_exchange_start_arrays(f->arrays, b.sendbuf, b.count, NULL), )
START(start_buffer, start_arrays(f->arrays, &b), b.sendbuf[1] = NULL)
START(start_in_place, start_arrays(f->arrays, &b), b.sendbuf[0] = MPI_IN_PLACE)
START(start_negative, start_arrays(f->arrays, &b),
      b.count[TWO * test_P - 1] = -1)
START(start_beyond,
      rota_exchange_start_arrays_c(f->arrays, b.sendbuf, b.count_c, b.displ_c),
      b.count_c[0] = LLONG_MAX / 2)
LOCAL(arrays_by_start, rota_start(f->arrays))
LOCAL(arrays_by_exchange_start,
      rota_exchange_start(f->arrays, f->send, f->count, f->displ))
LOCAL(arrays_wait_null, rota_exchange_wait_arrays(NULL, found, NULL, NULL))
LOCAL(arrays_wait_inactive,
      rota_exchange_wait_arrays(f->arrays, found, NULL, NULL))
LOCAL(arrays_wait_exchange,
      rota_exchange_wait_arrays(f->exchange, found, NULL, NULL))
LOCAL(arrays_wait_c_null, rota_exchange_wait_arrays_c(NULL, found, NULL, NULL))
LOCAL(arrays_by_wait, rota_wait(f->arrays))
LOCAL(arrays_by_exchange_wait, rota_exchange_wait(f->arrays, found, NULL, NULL))
LOCAL(arrays_set_buffer, rota_exchange_set_buffer(f->arrays, f->recv, 64))
LOCAL(arrays_parts, rota_plan_set_partitioned(f->arrays))
LOCAL(arrays_free, rota_plan_free(&f->arrays))

/* ---- backwards ----------------------------------------------------------- */

typedef struct backwards {
    rota_plan *plan, **reverse;
    const void *sendbuf;
    void *recvbuf;
    MPI_Datatype type;
    MPI_Op op;
} backwards;

#define BACK(name, spoil)                                                      \
    static int back_##name(fixture *f, bool wrong)                             \
    {                                                                          \
        backwards b = {.plan = f->fixed,                                       \
                       .reverse = &f->made,                                    \
                       .sendbuf = f->send,                                     \
                       .recvbuf = f->recv,                                     \
                       .type = MPI_INT,                                        \
                       .op = MPI_SUM};                                         \
        if (wrong) {                                                           \
            spoil;                                                             \
        }                                                                      \
        return rota_plan_init_reverse(b.plan, b.sendbuf, b.recvbuf, b.type,    \
                                      b.op, f->info, b.reverse);               \
    }

BACK(null_plan, b.plan = NULL)
BACK(null_reverse, b.reverse = NULL)
BACK(varying, b.plan = f->varying)
BACK(arrays, b.plan = f->arrays)
BACK(null_sendbuf, b.sendbuf = NULL)
BACK(null_recvbuf, b.recvbuf = NULL)
BACK(in_place, b.sendbuf = MPI_IN_PLACE)
BACK(recvbuf_in_place, b.recvbuf = MPI_IN_PLACE)
BACK(overlap, b.recvbuf = f->send + 1)
BACK(null_type, b.type = MPI_DATATYPE_NULL)
BACK(gaps, b.type = MPI_SHORT_INT; b.op = MPI_MAXLOC)
BACK(no_whole, b.type = MPI_DOUBLE)
BACK(bad_op, b.type = MPI_FLOAT; b.op = MPI_BOR)
BACK(no_op, b.op = MPI_NO_OP)
BACK(unknown_hint, MPI_Info_set(f->info, "rota_nonsense", "1"))
BACK(other_hint, MPI_Info_set(f->info, "rota_batch", "3"))
LOCAL(back_parts, rota_plan_set_partitioned(f->back))
LOCAL(back_set_null, rota_plan_set_buffers(f->back, f->send, NULL))
LOCAL(back_set_overlap, rota_plan_set_buffers(f->back, f->send, f->send))
LOCAL(back_set_unit, rota_plan_set_unit(f->back, MPI_INT, 1))
LOCAL(back_start, rota_start(f->back))
LOCAL(back_free, rota_plan_free(&f->back))

/* ---- the table ----------------------------------------------------------- */

#define INIT "rota_exchange_init_arrays"
#define BEGIN "rota_exchange_start_arrays"
#define WAIT "rota_exchange_wait_arrays"
#define REVERSE "rota_plan_init_reverse"
const attack attacks_on_arrays[] = {
    {INIT, "NULL plan", MPI_ERR_ARG, COLLECTIVE, arrays_null_plan},
    {INIT, "NULL types", MPI_ERR_ARG, COLLECTIVE, arrays_null_types},
    {INIT, "no arrays", MPI_ERR_COUNT, COLLECTIVE, arrays_none},
    {INIT, "negative number", MPI_ERR_COUNT, COLLECTIVE, arrays_negative},
    {INIT, "null type", MPI_ERR_TYPE, COLLECTIVE, arrays_null_type},
    {INIT, "uncommitted type", MPI_ERR_TYPE, COLLECTIVE, arrays_uncommitted},
    {INIT, "type with gaps", MPI_ERR_TYPE, COLLECTIVE, arrays_gaps},
    {INIT, "numbers that differ", MPI_ERR_ARG, COLLECTIVE | NOT_BY_ALL,
     arrays_other_number},
    {INIT, "sizes of types that differ", MPI_ERR_ARG, COLLECTIVE | NOT_BY_ALL,
     arrays_other_size},
    {INIT, "bounds that differ", MPI_ERR_ARG, COLLECTIVE | NOT_BY_ALL,
     arrays_other_bound},
    {INIT, "unknown hint", MPI_ERR_ARG, COLLECTIVE, arrays_unknown_hint},
    {INIT, "null communicator", MPI_ERR_COMM, COLLECTIVE | BY_ALL,
     arrays_null_comm},
    {BEGIN, "NULL", MPI_ERR_REQUEST, 0, arrays_start_null},
    {BEGIN, "fixed", MPI_ERR_REQUEST, 0, arrays_start_fixed},
    {BEGIN, "exchange of one", MPI_ERR_REQUEST, 0, arrays_start_exchange},
    {BEGIN, "active", MPI_ERR_REQUEST, ACTIVE, arrays_start_active},
    {BEGIN, "NULL sendbufs", MPI_ERR_ARG, 0, arrays_start_no_bufs},
    {BEGIN, "NULL counts", MPI_ERR_ARG, 0, arrays_start_no_counts},
    {BEGIN, "NULL displacements", MPI_ERR_ARG, 0, arrays_start_no_displs},
    {BEGIN, "NULL array", MPI_ERR_BUFFER, 0, arrays_start_buffer},
    {BEGIN, "in place", MPI_ERR_BUFFER, 0, arrays_start_in_place},
    {BEGIN, "negative count", MPI_ERR_COUNT, 0, arrays_start_negative},
    {BEGIN "_c", "beyond the address space", MPI_ERR_COUNT, 0,
     arrays_start_beyond},
    {"rota_start", "exchange of arrays", MPI_ERR_REQUEST, 0, arrays_by_start},
    {"rota_exchange_start", "exchange of arrays", MPI_ERR_REQUEST, 0,
     arrays_by_exchange_start},
    {WAIT, "NULL", MPI_ERR_REQUEST, 0, arrays_wait_null},
    {WAIT, "not active", MPI_ERR_REQUEST, 0, arrays_wait_inactive},
    {WAIT, "exchange of one", MPI_ERR_REQUEST, ACTIVE, arrays_wait_exchange},
    {WAIT "_c", "NULL", MPI_ERR_REQUEST, 0, arrays_wait_c_null},
    {"rota_wait", "exchange of arrays", MPI_ERR_REQUEST, ACTIVE,
     arrays_by_wait},
    {"rota_exchange_wait", "exchange of arrays", MPI_ERR_REQUEST, ACTIVE,
     arrays_by_exchange_wait},
    {"rota_exchange_set_buffer", "exchange of arrays", MPI_ERR_REQUEST, 0,
     arrays_set_buffer},
    {"rota_plan_set_partitioned", "exchange of arrays", MPI_ERR_REQUEST, 0,
     arrays_parts},
    {"rota_plan_free", "active, arrays", MPI_ERR_REQUEST, ACTIVE, arrays_free},
    {REVERSE, "NULL plan", MPI_ERR_REQUEST, COLLECTIVE | BY_ALL,
     back_null_plan},
    {REVERSE, "NULL reverse", MPI_ERR_ARG, COLLECTIVE, back_null_reverse},
    {REVERSE, "varying", MPI_ERR_REQUEST, COLLECTIVE, back_varying},
    {REVERSE, "exchange of arrays", MPI_ERR_REQUEST, COLLECTIVE, back_arrays},
    {REVERSE, "NULL sendbuf", MPI_ERR_BUFFER, COLLECTIVE, back_null_sendbuf},
    {REVERSE, "NULL recvbuf", MPI_ERR_BUFFER, COLLECTIVE, back_null_recvbuf},
    {REVERSE, "in place", MPI_ERR_BUFFER, COLLECTIVE, back_in_place},
    {REVERSE, "recvbuf in place", MPI_ERR_BUFFER, COLLECTIVE,
     back_recvbuf_in_place},
    {REVERSE, "buffers that overlap", MPI_ERR_BUFFER, COLLECTIVE | IF_CHECKED,
     back_overlap},
    {REVERSE, "null type", MPI_ERR_TYPE, COLLECTIVE, back_null_type},
    {REVERSE, "type with gaps", MPI_ERR_TYPE, COLLECTIVE, back_gaps},
    {REVERSE, "no whole number of elements", MPI_ERR_TYPE, COLLECTIVE,
     back_no_whole},
    {REVERSE, "op that is not for the type", MPI_ERR_OP, COLLECTIVE,
     back_bad_op},
    {REVERSE, "op that combines nothing", MPI_ERR_OP, COLLECTIVE, back_no_op},
    {REVERSE, "unknown hint", MPI_ERR_ARG, COLLECTIVE, back_unknown_hint},
    {REVERSE, "hints that differ", MPI_ERR_ARG, COLLECTIVE | NOT_BY_ALL,
     back_other_hint},
    {"rota_plan_set_partitioned", "backwards, with op", MPI_ERR_REQUEST, 0,
     back_parts},
    {"rota_plan_set_buffers", "backwards, NULL recvbuf", MPI_ERR_BUFFER, 0,
     back_set_null},
    {"rota_plan_set_buffers", "backwards, one buffer", MPI_ERR_BUFFER,
     IF_CHECKED, back_set_overlap},
    {"rota_plan_set_unit", "backwards, without rota_largest_unit", MPI_ERR_ARG,
     0, back_set_unit},
    {"rota_start", "active, backwards", MPI_ERR_REQUEST, ACTIVE, back_start},
    {"rota_plan_free", "active, backwards", MPI_ERR_REQUEST, ACTIVE, back_free},
};
const int n_attacks_on_arrays =
    sizeof attacks_on_arrays / sizeof *attacks_on_arrays;

/* ---- plans of these kinds ------------------------------------------------ */

/* Backwards all goes as forwards, since blocks lie alike on both sides. */
void attack_open_arrays(fixture *f)
{
    const MPI_Datatype types[TWO] = {MPI_INT, MPI_INT};

    MUST(rota_exchange_init_arrays(ROTA_UNBOUNDED, TWO, types, f->comm, f->info,
                                   &f->arrays));
    MUST(rota_plan_init_reverse(f->fixed, f->send, f->to_back, MPI_INT, MPI_SUM,
                                f->info, &f->back));
}

void attack_start_arrays(fixture *f)
{
    const both b = sound_both(f);

    for (int i = 0; i < test_P * N; i++)
        f->to_back[i] = 7;
    MUST(start_arrays(f->arrays, &b));
    MUST(rota_start(f->back));
}

static void check(const int *got, int more)
{
    for (int i = 0; got && i < test_P * N; i++)
        CHECK(got[i] == 1000 * (i / N) + 10 * test_me + i % N + more);
}

void attack_finish_arrays(fixture *f)
{
    MUST(rota_exchange_wait_arrays(f->arrays, found, NULL, NULL));
    for (int i = 0; i < TWO; i++)
        check(found[i], 0);
    MUST(rota_wait(f->back));
    check(f->to_back, 7);
}

void attack_close_arrays(fixture *f)
{
    MUST(rota_plan_free(&f->arrays));
    MUST(rota_plan_free(&f->back));
}
