/* native.c - MPI_Ialltoallv or MPI_Ialltoallw on the plan's own communicator.
 *
 * Not the persistent form: an inactive MPI_Alltoallv_init request is not to be
 * trusted in MPICH 4.0 (its test says not done, its wait hangs). Values that travel
 * with the blocks (carried.h) take an MPI_Iallgather behind it.
 */
#include "exec/move/blocks.h"
#include "exec/payload/carried.h"
#include "exec/step/steps.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* One direction's arguments, in elements of its region's datatype. If blocks
 * have types of their own, displacements are in bytes. Folding may have dropped
 * messages without bytes: their counts are 0. */
typedef struct side {
    MPI_Count *count;   /* [P] */
    MPI_Aint *displ;    /* [P] */
    MPI_Datatype *type; /* [P], or NULL: all have one type */
    int *small_count;   /* [P] the same as int, if all fit */
    int *small_displ;   /* [P] */
    ptrdiff_t first;    /* bytes from the region's base to what displacements
                           count from: the lowest block */
    rota_region region;
    char *
        packed; /* [room] all blocks end to end, where the program packs them */
    size_t room;
} side;

typedef struct native {
    side side[ROTA_N_DIRS];
    MPI_Request request, values;
    bool large;  /* something does not fit an int */
    bool filled; /* filled, in a fixed plan for good */
} native;

/* Blocks may be anywhere: relative to MPI_BOTTOM, or not a multiple of an extent
 * from the base. */
static ptrdiff_t find_first(const rota_exec *x, rota_dir dir,
                            const rota_phase *phase)
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];
    ptrdiff_t first = 0;

    for (uint32_t m = phase->msg[dir]; m < phase[1].msg[dir]; m++) {
        const ptrdiff_t at = x->blocks.offset[l->item[l->msg[m].first]];
        first = m == phase->msg[dir] || at < first ? at : first;
    }
    return first;
}

/* Do the program's functions pack and unpack the blocks? */
static bool is_called(const rota_exec *x, const side *s)
{
    return x->blocks.types[s->region].type->packer;
}

static char *base_of(const rota_exec *x, const side *s)
{
    return is_called(x, s) ? s->packed : x->blocks.base[s->region] + s->first;
}

static MPI_Datatype type_of(const rota_exec *x, const side *s)
{
    return is_called(x, s) ? MPI_BYTE : x->blocks.types[s->region].type->mpi;
}

/* Blocks that the program packs are end to end. */
static int place_called(side *s, const rota_exec *x, rota_dir dir,
                        const rota_phase *phase)
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];
    size_t at = 0;

    for (uint32_t m = phase->msg[dir]; m < phase[1].msg[dir]; m++) {
        const size_t bytes = rota_message_bytes(&x->blocks, dir, m);
        s->count[l->msg[m].peer] = (MPI_Count)bytes;
        s->displ[l->msg[m].peer] = (MPI_Aint)at;
        at += bytes;
    }
    return rota_grow(&s->packed, &s->room, at, "blocks that are packed");
}

/* Pack all that is sent, or unpack all that has come. */
static int copy_called(const rota_exec *x, const side *s, rota_dir dir,
                       const rota_phase *phase)
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];

    for (uint32_t m = phase->msg[dir]; is_called(x, s) && m < phase[1].msg[dir];
         m++) {
        char *const at = s->packed + s->displ[l->msg[m].peer];
        ROTA_TRY(dir == ROTA_SEND ? rota_message_pack(&x->blocks, m, at)
                                  : rota_message_unpack(&x->blocks, m, at));
    }
    return MPI_SUCCESS;
}

static void place_all(side *to, const rota_exec *x, rota_dir dir,
                      const rota_phase *phase)
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];

    to->first = find_first(x, dir, phase);
    for (uint32_t m = phase->msg[dir]; m < phase[1].msg[dir]; m++) {
        const rota_block b = l->item[l->msg[m].first];
        const rota_type *const t = rota_block_type(&x->blocks, b);
        const int q = l->msg[m].peer;
        to->count[q] = (MPI_Count)(x->blocks.bytes[b] / t->size);
        to->displ[q] = x->blocks.offset[b] - to->first;
        if (to->type)
            to->type[q] = t->mpi;
        else
            to->displ[q] = t->extent ? to->displ[q] / t->extent : 0;
    }
}

static int fill_side(native *n, const rota_exec *x, rota_dir dir,
                     const rota_phase *phase)
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];
    const size_t P = (size_t)x->blocks.s->P;
    side *const to = &n->side[dir];

    memset(to->count, 0, P * sizeof *to->count);
    memset(to->displ, 0, P * sizeof *to->displ);
    for (size_t q = 0; to->type && q < P; q++)
        to->type[q] = MPI_BYTE;
    if (phase->msg[dir] < phase[1].msg[dir])
        to->region = rota_block_region(x->blocks.s,
                                       l->item[l->msg[phase->msg[dir]].first]);
    if (is_called(x, to))
        ROTA_TRY(place_called(to, x, dir, phase));
    else
        place_all(to, x, dir, phase);
    for (size_t q = 0; q < P; q++) {
        to->small_count[q] = (int)to->count[q];
        to->small_displ[q] = (int)to->displ[q];
        n->large = n->large || to->small_count[q] != to->count[q] ||
                   to->small_displ[q] != to->displ[q];
    }
    return MPI_SUCCESS;
}

static int fill(native *n, const rota_exec *x, const rota_phase *phase)
{
    n->large = false;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        ROTA_TRY(fill_side(n, x, (rota_dir)dir, phase));
    return MPI_SUCCESS;
}

/* How many types MPI looks at. Open MPI 4.1 takes hold of one for each neighbour, if
 * the communicator has a topology: those may be more than the ranks. */
static size_t count_types(MPI_Comm comm, int P)
{
    int topology, n = 0, more = 0, unused;

    MPI_Topo_test(comm, &topology);
    if (topology == MPI_CART) {
        MPI_Cartdim_get(comm, &n);
        n *= 2;
    } else if (topology == MPI_GRAPH) {
        MPI_Comm_rank(comm, &unused);
        MPI_Graph_neighbors_count(comm, unused, &n);
    } else if (topology == MPI_DIST_GRAPH) {
        MPI_Dist_graph_neighbors_count(comm, &n, &more, &unused);
    }
    n = n > more ? n : more;
    return (size_t)(n > P ? n : P);
}

/* Those beyond the blocks are MPI's own. */
static MPI_Datatype *make_types(size_t n)
{
    MPI_Datatype *const types = malloc(n * sizeof *types);

    for (size_t i = 0; types && i < n; i++)
        types[i] = MPI_BYTE;
    return types;
}

static int bind(rota_exec *x, rota_step *step)
{
    const size_t P = (size_t)x->blocks.s->P;
    const size_t n_types =
        x->blocks.own_types ? count_types(x->native, x->blocks.s->P) : 0;
    native *const n = calloc(1, sizeof *n);

    if (!n)
        return rota_fail_mem("the arguments of MPI's all-to-all");
    step->own = n;
    n->request = n->values = MPI_REQUEST_NULL;
    for (int i = 0; i < ROTA_N_DIRS; i++) {
        side *const s = &n->side[i];
        s->region = i == ROTA_SEND ? ROTA_SRC : ROTA_DST;
        s->count = malloc(P * sizeof *s->count);
        s->displ = malloc(P * sizeof *s->displ);
        s->small_count = malloc(P * sizeof *s->small_count);
        s->small_displ = malloc(P * sizeof *s->small_displ);
        s->type = n_types > 0 ? make_types(n_types) : NULL;
        if (!s->count || !s->displ || !s->small_count || !s->small_displ ||
            (n_types > 0 && !s->type))
            return rota_fail_mem("the arguments of MPI's all-to-all");
    }
    return MPI_SUCCESS;
}

static void unbind(rota_exec *x, rota_step *step)
{
    native *const n = step->own;

    (void)x;
    if (n && (n->request != MPI_REQUEST_NULL || n->values != MPI_REQUEST_NULL))
        return; /* after a failed run, MPI may still read the arrays */
    for (int i = 0; n && i < ROTA_N_DIRS; i++) {
        side *const s = &n->side[i];
        free(s->count);
        free(s->displ);
        free(s->small_count);
        free(s->small_displ);
        free(s->type);
        free(s->packed);
    }
    free(n);
}

#if MPI_VERSION < 4
static int refuse_large(void)
{
    return rota_fail(MPI_ERR_COUNT, "MPI's own all-to-all with counts or "
                                    "displacements beyond 2^31 needs MPI 4");
}
#endif

/* For blocks with types of their own. */
static int post_types(rota_exec *x, native *n)
{
    const side *const s = &n->side[ROTA_SEND], *const d = &n->side[ROTA_RECV];
    char *const from = base_of(x, s), *const to = base_of(x, d);

    if (!n->large)
        return MPI_Ialltoallw(from, s->small_count, s->small_displ, s->type, to,
                              d->small_count, d->small_displ, d->type,
                              x->native, &n->request);
#if MPI_VERSION >= 4
    return MPI_Ialltoallw_c(from, s->count, s->displ, s->type, to, d->count,
                            d->displ, d->type, x->native, &n->request);
#else
    return refuse_large();
#endif
}

static int post(rota_exec *x, const rota_step *step)
{
    const rota_phase *const phase = step->phase;
    native *const n = step->own;
    const side *const s = &n->side[ROTA_SEND], *const d = &n->side[ROTA_RECV];

    if (!x->fixed || !n->filled)
        ROTA_TRY(fill(n, x, phase));
    n->filled = true;
    ROTA_TRY(copy_called(x, s, ROTA_SEND, phase));
    const MPI_Datatype st = type_of(x, s), dt = type_of(x, d);
    char *const from = base_of(x, s), *const to = base_of(x, d);
    if (!n->large && phase->native == ROTA_NATIVE_ALLTOALL)
        return MPI_Ialltoall(from + s->displ[0], s->small_count[0], st,
                             to + d->displ[0], d->small_count[0], dt, x->native,
                             &n->request);
    if (x->blocks.own_types)
        return post_types(x, n);
    if (!n->large)
        return MPI_Ialltoallv(from, s->small_count, s->small_displ, st, to,
                              d->small_count, d->small_displ, dt, x->native,
                              &n->request);
#if MPI_VERSION >= 4
    return MPI_Ialltoallv_c(from, s->count, s->displ, st, to, d->count,
                            d->displ, dt, x->native, &n->request);
#else
    return refuse_large();
#endif
}

static int post_values(rota_exec *x, native *n)
{
    const rota_carried *const c = x->carried;

    return MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL,
                          c->table[c->starts & 1], (int)c->step, MPI_BYTE,
                          x->native, &n->values);
}

static int enter(rota_exec *x, rota_step *step)
{
    ROTA_TRY(post(x, step));
    if (x->carried)
        ROTA_TRY(post_values(x, step->own));
    return rota_step_copies(x, step);
}

static int poll(rota_exec *x, rota_step *step, bool *done)
{
    native *const n = step->own;
    int flag = 0;

    ROTA_TRY(rota_polling_test(&n->request, &flag, MPI_STATUS_IGNORE));
    if (flag && x->carried)
        ROTA_TRY(rota_polling_test(&n->values, &flag, MPI_STATUS_IGNORE));
    x->moved = x->moved || flag;
    *done = flag;
    return flag ? copy_called(x, &n->side[ROTA_RECV], ROTA_RECV, step->phase)
                : MPI_SUCCESS;
}

static void whom(const rota_exec *x, const rota_step *step, bool awaited[])
{
    (void)step;
    for (int q = 0; q < x->blocks.s->P; q++)
        awaited[q] = q != x->blocks.s->me;
}

const rota_step_kind rota_step_collective = {
    .bind = bind, .unbind = unbind, .enter = enter, .poll = poll, .whom = whom};
