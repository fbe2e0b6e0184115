/* attack_more.c - attacks on plans with a type a block, on plans among neighbours
 * and on sparse exchanges: see attack.c.
 */
#include "attack.h"

#include <limits.h>
#include <string.h>

static int init_w(const fixture *f, const making *m)
{
    return rota_alltoallw_init(
        m->sendbuf, m->sendcounts, m->sdispls, m->sendtypes, m->recvbuf,
        m->recvcounts, m->rdispls, m->recvtypes, f->comm, f->info, m->plan);
}

static int init_near(const fixture *f, const making *m)
{
    return rota_neighbor_alltoallv_init(
        m->sendbuf, m->sendcounts, m->sdispls, m->sendtype, m->recvbuf,
        m->recvcounts, m->rdispls, m->recvtype, m->comm, f->info, m->plan);
}

static int init_near_w(const fixture *f, const making *m)
{
    return rota_neighbor_alltoallw_init(
        m->sendbuf, m->sendcounts, m->sbytes, m->sendtypes, m->recvbuf,
        m->recvcounts, m->rbytes, m->recvtypes, m->comm, f->info, m->plan);
}

static making sound_w(fixture *f)
{
    making m = sound(f);

    m.sdispls = f->at;
    m.rdispls = f->rat;
    return m;
}

#define W(name, spoil) MAKING(w_##name, sound_w, init_w, spoil)
#define NEAR(name, spoil) MAKING(near_##name, sound, init_near, spoil)
#define NEAR_W(name, spoil) MAKING(near_w_##name, sound, init_near_w, spoil)

/* ---- a type a block ------------------------------------------------------ */

W(null_sendcounts, m.sendcounts = NULL)
W(null_sdispls, m.sdispls = NULL)
W(null_sendtypes, m.sendtypes = NULL)
W(null_recvcounts, m.recvcounts = NULL)
W(null_rdispls, m.rdispls = NULL)
W(null_recvtypes, m.recvtypes = NULL)
W(null_plan, m.plan = NULL)
W(null_sendbuf, m.sendbuf = NULL)
W(null_recvbuf, m.recvbuf = NULL)
W(recvbuf_in_place, m.recvbuf = MPI_IN_PLACE)
W(in_place_apart, m.sendbuf = MPI_IN_PLACE)
W(null_sendtype, f->type[test_P - 1] = MPI_DATATYPE_NULL)
W(null_recvtype, f->rtype[0] = MPI_DATATYPE_NULL)
W(uncommitted, f->rtype[test_P - 1] = f->raw)
W(negative_sendcount, f->count[0] = -1)
W(negative_recvcount, f->rcount[test_P - 1] = INT_MIN)
W(one_less, f->count[0]--)
W(smaller_type, f->type[test_P - 1] = MPI_SHORT)
W(blocks_overlap, f->rat[test_P - 1] = f->rat[0] + 1)
W(buffers_overlap, m.recvbuf = f->send + 1)
W(unknown_hint, MPI_Info_set(f->info, "rota_nonsense", "1"))
W(bad_value, MPI_Info_set(f->info, "rota_radix", "-3"))
W(other_hint, MPI_Info_set(f->info, "rota_batch", "3"))
W(null_comm, f->comm = MPI_COMM_NULL)

static int w_other_function(fixture *f, bool wrong)
{
    making m = sound_w(f);

    return wrong ? rota_alltoallv_init(f->send, f->count, f->displ, MPI_INT,
                                       f->recv, f->rcount, f->rdispl, MPI_INT,
                                       f->comm, f->info, &f->made)
                 : init_w(f, &m);
}

static int init_w_c(const fixture *f, rota_plan **plan,
                    const MPI_Datatype *types)
{
    return rota_alltoallw_init_c(f->send, f->count_c, f->at_c, types,
                                 (void *)f->recv, f->rcount_c, f->rat_c,
                                 f->rtype, f->comm, f->info, plan);
}

static int w_c_null_types(fixture *f, bool wrong)
{
    return init_w_c(f, &f->made, wrong ? NULL : f->type);
}

static int w_c_beyond(fixture *f, bool wrong)
{
    for (int q = 0; wrong && q < test_P; q++)
        f->count_c[q] = f->rcount_c[q] = LLONG_MAX / 2;
    return init_w_c(f, &f->made, f->type);
}

/* ---- neighbours ---------------------------------------------------------- */

NEAR(null_sendcounts, m.sendcounts = NULL)
NEAR(null_sdispls, m.sdispls = NULL)
NEAR(null_recvcounts, m.recvcounts = NULL)
NEAR(null_rdispls, m.rdispls = NULL)
NEAR(null_plan, m.plan = NULL)
NEAR(null_sendbuf, m.sendbuf = NULL)
NEAR(null_recvbuf, m.recvbuf = NULL)
NEAR(in_place, m.sendbuf = MPI_IN_PLACE)
NEAR(recvbuf_in_place, m.recvbuf = MPI_IN_PLACE)
NEAR(null_sendtype, m.sendtype = MPI_DATATYPE_NULL)
NEAR(null_recvtype, m.recvtype = MPI_DATATYPE_NULL)
NEAR(uncommitted, m.sendtype = f->raw)
NEAR(negative_sendcount, f->count[RING - 1] = -1)
NEAR(negative_recvcount, f->rcount[0] = -1)
NEAR(one_less, f->count[0]--)
NEAR(blocks_overlap, f->rdispl[1] = f->rdispl[0] + N - 1)
NEAR(buffers_overlap, m.recvbuf = f->send + 1)
NEAR(unknown_hint, MPI_Info_set(f->info, "rota_nonsense", "1"))
NEAR(bad_value, MPI_Info_set(f->info, "rota_algorithm", "guess"))
NEAR(other_hint, MPI_Info_set(f->info, "rota_batch", "3"))
NEAR(null_comm, m.comm = MPI_COMM_NULL)
NEAR(no_topology, m.comm = MPI_COMM_WORLD)

/* Collective: some ranks send to themselves and expect nothing. */
static int with_edge_too_many(fixture *f, bool wrong,
                              int (*init)(const fixture *f, const making *m))
{
    making m = sound(f);

    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED,
                                        wrong, &test_me, MPI_UNWEIGHTED,
                                        MPI_INFO_NULL, 0, &m.comm));
    const int err = init(f, &m);
    MPI_Comm_free(&m.comm);
    return err;
}

static int near_edge_too_many(fixture *f, bool wrong)
{
    return with_edge_too_many(f, wrong, init_near);
}

static int near_w_edge_too_many(fixture *f, bool wrong)
{
    return with_edge_too_many(f, wrong, init_near_w);
}

static int near_other_function(fixture *f, bool wrong)
{
    const making m = sound(f);

    return wrong ? init_near_w(f, &m) : init_near(f, &m);
}

static int init_near_c(fixture *f, const MPI_Count *counts)
{
    return rota_neighbor_alltoallv_init_c(f->send, counts, f->displ_c, MPI_INT,
                                          f->recv, f->rcount_c, f->displ_c,
                                          MPI_INT, f->ring, f->info, &f->made);
}

static int near_c_null_counts(fixture *f, bool wrong)
{
    return init_near_c(f, wrong ? NULL : f->count_c);
}

static int near_c_beyond(fixture *f, bool wrong)
{
    if (wrong)
        f->rcount_c[0] = LLONG_MAX;
    return init_near_c(f, f->count_c);
}

NEAR_W(null_sendtypes, m.sendtypes = NULL)
NEAR_W(null_recvtypes, m.recvtypes = NULL)
NEAR_W(null_sdispls, m.sbytes = NULL)
NEAR_W(null_rdispls, m.rbytes = NULL)
NEAR_W(null_sendbuf, m.sendbuf = NULL)
NEAR_W(in_place, m.sendbuf = MPI_IN_PLACE)
NEAR_W(null_sendtype, f->type[RING - 1] = MPI_DATATYPE_NULL)
NEAR_W(uncommitted, f->rtype[0] = f->raw)
NEAR_W(negative_count, f->rcount[RING - 1] = -7)
NEAR_W(smaller_type, f->type[0] = MPI_SHORT)
NEAR_W(blocks_overlap, f->rat_c[1] = f->rat_c[0] + 3)
NEAR_W(no_topology, m.comm = MPI_COMM_WORLD)

static int near_w_c_null(fixture *f, bool wrong)
{
    return rota_neighbor_alltoallw_init_c(f->send, f->count_c, f->at_c, f->type,
                                          f->recv, wrong ? NULL : f->rcount_c,
                                          f->rat_c, f->rtype, f->ring, f->info,
                                          &f->made);
}

static int init_near_one(fixture *f, int sent, int received, MPI_Comm comm)
{
    return rota_neighbor_alltoall_init(f->send, sent, MPI_INT, f->recv,
                                       received, MPI_INT, comm, f->info,
                                       &f->made);
}

static int near_one_negative(fixture *f, bool wrong)
{
    return init_near_one(f, N, wrong ? -1 : N, f->ring);
}

static int near_one_less_of_all(fixture *f, bool wrong)
{
    return init_near_one(f, wrong ? N - 1 : N, N, f->ring);
}

static int near_one_no_topology(fixture *f, bool wrong)
{
    (void)wrong;
    return init_near_one(f, N, N, MPI_COMM_WORLD);
}

static int near_one_null(fixture *f, bool wrong)
{
    return rota_neighbor_alltoall_init_c(f->send, N, MPI_INT,
                                         wrong ? NULL : f->recv, N, MPI_INT,
                                         f->ring, f->info, &f->made);
}

/* ---- neighbours, varying and exchange ------------------------------------ */

static int init_near_v(fixture *f, size_t bound, MPI_Datatype type)
{
    return rota_neighbor_alltoallv_varying_init(bound, type, f->ring, f->info,
                                                &f->made);
}

static int near_v_type(fixture *f, bool wrong)
{
    return init_near_v(f, 64, wrong ? MPI_DATATYPE_NULL : MPI_INT);
}

static int near_v_raw(fixture *f, bool wrong)
{
    return init_near_v(f, 64, wrong ? f->raw : MPI_INT);
}

static int near_v_bound(fixture *f, bool wrong)
{
    return init_near_v(f, wrong ? ROTA_UNBOUNDED : 64, MPI_INT);
}

static int near_v_size(fixture *f, bool wrong)
{
    return init_near_v(f, 64, wrong ? MPI_DOUBLE : MPI_INT);
}

static int near_v_no_topology(fixture *f, bool wrong)
{
    (void)wrong;
    f->ring = MPI_COMM_WORLD;
    return init_near_v(f, 64, MPI_INT);
}

static int init_near_x(fixture *f, MPI_Datatype type, rota_plan **plan)
{
    return rota_neighbor_exchange_init(64, type, f->ring, f->info, plan);
}

static int near_x_type(fixture *f, bool wrong)
{
    return init_near_x(f, wrong ? MPI_DATATYPE_NULL : MPI_INT, &f->made);
}

static int near_x_null(fixture *f, bool wrong)
{
    return init_near_x(f, MPI_INT, wrong ? NULL : &f->made);
}

static int near_x_other(fixture *f, bool wrong)
{
    return wrong ? init_near_v(f, 64, MPI_INT)
                 : init_near_x(f, MPI_INT, &f->made);
}

static int near_x_no_topology(fixture *f, bool wrong)
{
    (void)wrong;
    f->ring = MPI_COMM_WORLD;
    return init_near_x(f, MPI_INT, &f->made);
}

/* ---- running plans among neighbours -------------------------------------- */

static void *found;
static int n_sources;
static const int *sources;

static int start_near(fixture *f, const void *send, const int *counts,
                      const int *displs, void *recv)
{
    return rota_alltoallv_start(f->near_varying, send, counts, displs, recv,
                                f->rcount, f->rdispl);
}

static int near_start_negative(fixture *f, bool wrong)
{
    if (wrong)
        f->count[RING - 1] = -5;
    return wrong ? start_near(f, f->send, f->count, f->displ, f->recv)
                 : MPI_SUCCESS;
}

static int near_x_negative(fixture *f, bool wrong)
{
    if (wrong)
        f->count[0] = INT_MIN;
    return wrong ? rota_exchange_start(f->near_exchange, f->send, f->count,
                                       f->displ)
                 : MPI_SUCCESS;
}

LOCAL(typed_start, rota_start(f->typed))
LOCAL(near_start, rota_start(f->near))
LOCAL(near_start_exchange, rota_start(f->near_exchange))
LOCAL(sparse_start, rota_start(f->sparse))
LOCAL(near_start_null, start_near(f, f->send, NULL, f->displ, f->recv))
LOCAL(near_start_displs, start_near(f, f->send, f->count, NULL, f->recv))
LOCAL(near_start_buffer, start_near(f, NULL, f->count, f->displ, f->recv))
LOCAL(near_start_to_null, start_near(f, f->send, f->count, f->displ, NULL))
LOCAL(near_start_in_place,
      start_near(f, MPI_IN_PLACE, f->count, f->displ, f->recv))
LOCAL(near_start_overlap, start_near(f, f->send, f->count, f->displ, f->send))
/* All start two plans, and some of them one twice. */
static int startall_twice(fixture *f, bool wrong)
{
    rota_plan *const plans[] = {f->near, f->typed, f->near};
    const int err = rota_startall(wrong ? 3 : 2, plans);

    MUST(rota_waitall(2, plans));
    return err;
}

/* What goes before an error and after it is complete, and starts again. */
static int waitall_with(fixture *f, rota_plan *other)
{
    rota_plan *const plans[] = {f->near, other, f->typed};

    MUST(rota_start(f->near));
    MUST(rota_start(f->typed));
    return rota_waitall(3, plans);
}

static int waitall_null(fixture *f, bool wrong)
{
    return waitall_with(f, wrong ? NULL : f->near);
}

static int waitall_sparse(fixture *f, bool wrong)
{
    MUST(rota_exchange_start_sparse(f->sparse, f->send, 0, NULL, NULL, NULL));
    const int err = waitall_with(f, wrong ? f->sparse : f->near);
    int n = -1;
    MUST(rota_exchange_wait_sparse(f->sparse, &found, &n, NULL, NULL, NULL));
    CHECK(n == 0);
    return err;
}

LOCAL(near_x_arrays,
      rota_exchange_start(f->near_exchange, f->send, NULL, f->displ))
LOCAL(near_x_buffer,
      rota_exchange_start(f->near_exchange, NULL, f->count, f->displ))
LOCAL(near_x_in_place,
      rota_exchange_start(f->near_exchange, MPI_IN_PLACE, f->count, f->displ))
LOCAL(near_x_active,
      rota_exchange_start(f->near_exchange, f->send, f->count, f->displ))
LOCAL(near_x_wait_null, rota_exchange_wait(f->near_exchange, NULL, NULL, NULL))
LOCAL(near_x_wait, rota_wait(f->near_exchange))
LOCAL(near_free, rota_plan_free(&f->near))
LOCAL(typed_free, rota_plan_free(&f->typed))
LOCAL(typed_set_null, rota_plan_set_buffers(f->typed, f->send, NULL))
LOCAL(typed_set_in_place,
      rota_plan_set_buffers(f->typed, MPI_IN_PLACE, f->to_typed))
LOCAL(typed_set_overlap, rota_plan_set_buffers(f->typed, f->send, f->send + 1))
LOCAL(near_set_null, rota_plan_set_buffers(f->near, NULL, f->to_near))
LOCAL(near_set_in_place,
      rota_plan_set_buffers(f->near, MPI_IN_PLACE, f->to_near))
LOCAL(near_set_overlap, rota_plan_set_buffers(f->near, f->to_near, f->to_near))
LOCAL(near_set_exchange,
      rota_plan_set_buffers(f->near_exchange, f->send, f->recv))

/* ---- sparse exchanges ---------------------------------------------------- */

static int init_sparse(fixture *f, MPI_Datatype type, rota_plan **plan)
{
    return rota_exchange_init_sparse(type, f->comm, f->info, plan);
}

static int sparse_type(fixture *f, bool wrong)
{
    return init_sparse(f, wrong ? MPI_DATATYPE_NULL : MPI_INT, &f->made);
}

static int sparse_raw(fixture *f, bool wrong)
{
    return init_sparse(f, wrong ? f->raw : MPI_INT, &f->made);
}

static int sparse_size(fixture *f, bool wrong)
{
    return init_sparse(f, wrong ? MPI_DOUBLE : MPI_INT, &f->made);
}

static int sparse_null(fixture *f, bool wrong)
{
    return init_sparse(f, MPI_INT, wrong ? NULL : &f->made);
}

static int sparse_hint(fixture *f, bool wrong)
{
    if (wrong)
        MPI_Info_set(f->info, "rota_intranode", "air");
    return init_sparse(f, MPI_INT, &f->made);
}

static int sparse_no_comm(fixture *f, bool wrong)
{
    f->comm = wrong ? MPI_COMM_NULL : f->comm;
    return init_sparse(f, MPI_INT, &f->made);
}

static int sparse_other(fixture *f, bool wrong)
{
    return wrong ? rota_exchange_init(64, MPI_INT, f->comm, f->info, &f->made)
                 : init_sparse(f, MPI_INT, &f->made);
}

typedef struct sending {
    rota_plan *plan;
    const void *buffer;
    int n, dest[2];
    const int *dests, *counts, *displs;
} sending;

static int send_spoilt(const sending *s)
{
    return rota_exchange_start_sparse(s->plan, s->buffer, s->n,
                                      s->dests ? s->dest : NULL, s->counts,
                                      s->displs);
}

#define SENDING(name, spoil)                                                   \
    static int name(fixture *f, bool wrong)                                    \
    {                                                                          \
        sending s = {.plan = f->sparse,                                        \
                     .buffer = f->send,                                        \
                     .n = 1,                                                   \
                     .dest = {f->to, f->to},                                   \
                     .dests = &f->to,                                          \
                     .counts = f->count,                                       \
                     .displs = f->displ};                                      \
        spoil;                                                                 \
        return wrong ? send_spoilt(&s) : MPI_SUCCESS;                          \
    }

SENDING(sparse_start_null, s.plan = NULL)
SENDING(sparse_start_fixed, s.plan = f->fixed)
SENDING(sparse_start_exchange, s.plan = f->exchange)
SENDING(sparse_start_active, s.n = 0)
SENDING(sparse_start_dests, s.dests = NULL)
SENDING(sparse_start_counts, s.counts = NULL)
SENDING(sparse_start_displs, s.displs = NULL)
SENDING(sparse_start_buffer, s.buffer = NULL)
SENDING(sparse_start_in_place, s.buffer = MPI_IN_PLACE)
SENDING(sparse_start_negative_n, s.n = -1)
SENDING(sparse_start_below, s.dest[0] = -1)
SENDING(sparse_start_above, s.dest[0] = test_P)
SENDING(sparse_start_twice, s.n = 2)
SENDING(sparse_start_negative, f->count[0] = wrong ? -1 : N)

static int sparse_start_beyond(fixture *f, bool wrong)
{
    f->count_c[0] = LLONG_MAX / 2;
    return wrong ? rota_exchange_start_sparse_c(f->sparse, f->send, 1, &f->to,
                                                f->count_c, f->displ_c)
                 : MPI_SUCCESS;
}

static int sparse_no_room(fixture *f, bool wrong)
{
    if (!wrong)
        return MPI_SUCCESS;
    MUST(rota_exchange_set_buffer(f->sparse, f->recv, 1));
    const int err = rota_exchange_wait_sparse(f->sparse, &found, &n_sources,
                                              &sources, NULL, NULL);
    CHECK(n_sources == 1);
    MUST(rota_exchange_set_buffer(f->sparse, NULL, 0));
    return err;
}

#define WAIT_SPARSE(plan, buffer, n)                                           \
    rota_exchange_wait_sparse(plan, buffer, n, NULL, NULL, NULL)
LOCAL(sparse_wait_null, WAIT_SPARSE(NULL, &found, &n_sources))
LOCAL(sparse_wait_inactive, WAIT_SPARSE(f->sparse, &found, &n_sources))
LOCAL(sparse_wait_fixed, WAIT_SPARSE(f->fixed, &found, &n_sources))
LOCAL(sparse_wait_exchange, WAIT_SPARSE(f->exchange, &found, &n_sources))
LOCAL(sparse_wait_to_null, WAIT_SPARSE(f->sparse, NULL, &n_sources))
LOCAL(sparse_wait_no_n, WAIT_SPARSE(f->sparse, &found, NULL))
LOCAL(sparse_wait_c_null,
      rota_exchange_wait_sparse_c(f->sparse, NULL, NULL, NULL, NULL, NULL))
LOCAL(sparse_by_exchange_wait,
      rota_exchange_wait(f->sparse, &found, NULL, NULL))
LOCAL(sparse_by_exchange_start,
      rota_exchange_start(f->sparse, f->send, f->count, f->displ))
LOCAL(sparse_by_wait, rota_wait(f->sparse))
LOCAL(sparse_test, rota_test(f->sparse, NULL))
LOCAL(sparse_set, rota_plan_set_buffers(f->sparse, f->send, f->recv))
LOCAL(sparse_free, rota_plan_free(&f->sparse))

/* ---- the table ----------------------------------------------------------- */

#define ALL COLLECTIVE
#define CHECKED (COLLECTIVE | IF_CHECKED)
#define APART (COLLECTIVE | NOT_BY_ALL)
#define NOBODY_ELSE (COLLECTIVE | BY_ALL)
#define W_INIT "rota_alltoallw_init"
#define N_INIT "rota_neighbor_alltoallv_init"
#define NW_INIT "rota_neighbor_alltoallw_init"
#define N1_INIT "rota_neighbor_alltoall_init"
#define NV_INIT "rota_neighbor_alltoallv_varying_init"
#define NX_INIT "rota_neighbor_exchange_init"
#define S_INIT "rota_exchange_init_sparse"
#define S_START "rota_exchange_start_sparse"
#define S_WAIT "rota_exchange_wait_sparse"

const attack attacks_on_more[] = {
    {W_INIT, "NULL sendcounts", MPI_ERR_ARG, ALL, w_null_sendcounts},
    {W_INIT, "NULL sdispls", MPI_ERR_ARG, ALL, w_null_sdispls},
    {W_INIT, "NULL sendtypes", MPI_ERR_ARG, ALL, w_null_sendtypes},
    {W_INIT, "NULL recvcounts", MPI_ERR_ARG, ALL, w_null_recvcounts},
    {W_INIT, "NULL rdispls", MPI_ERR_ARG, ALL, w_null_rdispls},
    {W_INIT, "NULL recvtypes", MPI_ERR_ARG, ALL, w_null_recvtypes},
    {W_INIT, "NULL plan", MPI_ERR_ARG, ALL, w_null_plan},
    {W_INIT, "NULL sendbuf", MPI_ERR_BUFFER, ALL, w_null_sendbuf},
    {W_INIT, "NULL recvbuf", MPI_ERR_BUFFER, ALL, w_null_recvbuf},
    {W_INIT, "recvbuf in place", MPI_ERR_BUFFER, ALL, w_recvbuf_in_place},
    {W_INIT, "in place on some ranks", MPI_ERR_ARG, APART, w_in_place_apart},
    {W_INIT, "null type in sendtypes", MPI_ERR_TYPE, ALL, w_null_sendtype},
    {W_INIT, "null type in recvtypes", MPI_ERR_TYPE, ALL, w_null_recvtype},
    {W_INIT, "uncommitted type", MPI_ERR_TYPE, ALL, w_uncommitted},
    {W_INIT, "negative sendcount", MPI_ERR_COUNT, ALL, w_negative_sendcount},
    {W_INIT, "negative recvcount", MPI_ERR_COUNT, ALL, w_negative_recvcount},
    {W_INIT, "counts that do not match", MPI_ERR_COUNT, CHECKED, w_one_less},
    {W_INIT, "types that do not match", MPI_ERR_COUNT, CHECKED, w_smaller_type},
    {W_INIT, "receive blocks that overlap", MPI_ERR_ARG, CHECKED | TOGETHER,
     w_blocks_overlap},
    {W_INIT, "buffers that overlap", MPI_ERR_BUFFER, CHECKED,
     w_buffers_overlap},
    {W_INIT, "unknown hint", MPI_ERR_ARG, ALL, w_unknown_hint},
    {W_INIT, "bad value of a hint", MPI_ERR_ARG, ALL, w_bad_value},
    {W_INIT, "hints that differ", MPI_ERR_ARG, APART, w_other_hint},
    {W_INIT, "another function", MPI_ERR_ARG, APART, w_other_function},
    {W_INIT, "null communicator", MPI_ERR_COMM, NOBODY_ELSE, w_null_comm},
    {W_INIT "_c", "NULL sendtypes", MPI_ERR_ARG, ALL, w_c_null_types},
    {W_INIT "_c", "sizes beyond the address space", MPI_ERR_COUNT, ALL,
     w_c_beyond},
    {N_INIT, "NULL sendcounts", MPI_ERR_ARG, ALL, near_null_sendcounts},
    {N_INIT, "NULL sdispls", MPI_ERR_ARG, ALL, near_null_sdispls},
    {N_INIT, "NULL recvcounts", MPI_ERR_ARG, ALL, near_null_recvcounts},
    {N_INIT, "NULL rdispls", MPI_ERR_ARG, ALL, near_null_rdispls},
    {N_INIT, "NULL plan", MPI_ERR_ARG, ALL, near_null_plan},
    {N_INIT, "NULL sendbuf", MPI_ERR_BUFFER, ALL, near_null_sendbuf},
    {N_INIT, "NULL recvbuf", MPI_ERR_BUFFER, ALL, near_null_recvbuf},
    {N_INIT, "sendbuf in place", MPI_ERR_BUFFER, ALL, near_in_place},
    {N_INIT, "recvbuf in place", MPI_ERR_BUFFER, ALL, near_recvbuf_in_place},
    {N_INIT, "null sendtype", MPI_ERR_TYPE, ALL, near_null_sendtype},
    {N_INIT, "null recvtype", MPI_ERR_TYPE, ALL, near_null_recvtype},
    {N_INIT, "uncommitted type", MPI_ERR_TYPE, ALL, near_uncommitted},
    {N_INIT, "negative sendcount", MPI_ERR_COUNT, ALL, near_negative_sendcount},
    {N_INIT, "negative recvcount", MPI_ERR_COUNT, ALL, near_negative_recvcount},
    {N_INIT, "counts that do not match", MPI_ERR_COUNT, CHECKED, near_one_less},
    {N_INIT, "receive blocks that overlap", MPI_ERR_ARG, CHECKED,
     near_blocks_overlap},
    {N_INIT, "buffers that overlap", MPI_ERR_BUFFER, CHECKED,
     near_buffers_overlap},
    {N_INIT, "unknown hint", MPI_ERR_ARG, ALL, near_unknown_hint},
    {N_INIT, "bad value of a hint", MPI_ERR_ARG, ALL, near_bad_value},
    {N_INIT, "hints that differ", MPI_ERR_ARG, APART, near_other_hint},
    {N_INIT, "another function", MPI_ERR_ARG, APART, near_other_function},
    {N_INIT, "null communicator", MPI_ERR_COMM, NOBODY_ELSE, near_null_comm},
    {N_INIT, "no process topology", MPI_ERR_TOPOLOGY, NOBODY_ELSE,
     near_no_topology},
    {N_INIT, "an edge with one end", MPI_ERR_TOPOLOGY, ALL, near_edge_too_many},
    {N_INIT "_c", "NULL sendcounts", MPI_ERR_ARG, ALL, near_c_null_counts},
    {N_INIT "_c", "sizes beyond the address space", MPI_ERR_COUNT, ALL,
     near_c_beyond},
    {NW_INIT, "NULL sendtypes", MPI_ERR_ARG, ALL, near_w_null_sendtypes},
    {NW_INIT, "NULL recvtypes", MPI_ERR_ARG, ALL, near_w_null_recvtypes},
    {NW_INIT, "NULL sdispls", MPI_ERR_ARG, ALL, near_w_null_sdispls},
    {NW_INIT, "NULL rdispls", MPI_ERR_ARG, ALL, near_w_null_rdispls},
    {NW_INIT, "NULL sendbuf", MPI_ERR_BUFFER, ALL, near_w_null_sendbuf},
    {NW_INIT, "sendbuf in place", MPI_ERR_BUFFER, ALL, near_w_in_place},
    {NW_INIT, "null type in sendtypes", MPI_ERR_TYPE, ALL,
     near_w_null_sendtype},
    {NW_INIT, "uncommitted type", MPI_ERR_TYPE, ALL, near_w_uncommitted},
    {NW_INIT, "negative count", MPI_ERR_COUNT, ALL, near_w_negative_count},
    {NW_INIT, "types that do not match", MPI_ERR_COUNT, CHECKED,
     near_w_smaller_type},
    {NW_INIT, "receive blocks that overlap", MPI_ERR_ARG, CHECKED,
     near_w_blocks_overlap},
    {NW_INIT, "no process topology", MPI_ERR_TOPOLOGY, NOBODY_ELSE,
     near_w_no_topology},
    {NW_INIT, "an edge with one end", MPI_ERR_TOPOLOGY, ALL,
     near_w_edge_too_many},
    {NW_INIT "_c", "NULL recvcounts", MPI_ERR_ARG, ALL, near_w_c_null},
    {N1_INIT, "negative count", MPI_ERR_COUNT, ALL, near_one_negative},
    {N1_INIT, "counts that do not match", MPI_ERR_COUNT, CHECKED,
     near_one_less_of_all},
    {N1_INIT, "no process topology", MPI_ERR_TOPOLOGY, NOBODY_ELSE,
     near_one_no_topology},
    {N1_INIT "_c", "NULL recvbuf", MPI_ERR_BUFFER, ALL, near_one_null},
    {NV_INIT, "null type", MPI_ERR_TYPE, ALL, near_v_type},
    {NV_INIT, "uncommitted type", MPI_ERR_TYPE, ALL, near_v_raw},
    {NV_INIT, "bounds that differ", MPI_ERR_ARG, APART, near_v_bound},
    {NV_INIT, "sizes of type that differ", MPI_ERR_ARG, APART, near_v_size},
    {NV_INIT, "no process topology", MPI_ERR_TOPOLOGY, NOBODY_ELSE,
     near_v_no_topology},
    {NX_INIT, "null type", MPI_ERR_TYPE, ALL, near_x_type},
    {NX_INIT, "NULL plan", MPI_ERR_ARG, ALL, near_x_null},
    {NX_INIT, "another function", MPI_ERR_ARG, APART, near_x_other},
    {NX_INIT, "no process topology", MPI_ERR_TOPOLOGY, NOBODY_ELSE,
     near_x_no_topology},
    {S_INIT, "null type", MPI_ERR_TYPE, ALL, sparse_type},
    {S_INIT, "uncommitted type", MPI_ERR_TYPE, ALL, sparse_raw},
    {S_INIT, "sizes of type that differ", MPI_ERR_ARG, APART, sparse_size},
    {S_INIT, "NULL plan", MPI_ERR_ARG, ALL, sparse_null},
    {S_INIT, "bad value of a hint", MPI_ERR_ARG, ALL, sparse_hint},
    {S_INIT, "another function", MPI_ERR_ARG, APART, sparse_other},
    {S_INIT, "null communicator", MPI_ERR_COMM, NOBODY_ELSE, sparse_no_comm},
    {"rota_start", "active, types", MPI_ERR_REQUEST, ACTIVE, typed_start},
    {"rota_start", "active, neighbours", MPI_ERR_REQUEST, ACTIVE, near_start},
    {"rota_start", "exchange of neighbours", MPI_ERR_REQUEST, 0,
     near_start_exchange},
    {"rota_start", "sparse exchange", MPI_ERR_REQUEST, 0, sparse_start},
    {"rota_startall", "a plan twice", MPI_ERR_REQUEST, 0, startall_twice},
    {"rota_alltoallv_start", "neighbours, NULL counts", MPI_ERR_ARG, 0,
     near_start_null},
    {"rota_alltoallv_start", "neighbours, NULL displacements", MPI_ERR_ARG, 0,
     near_start_displs},
    {"rota_alltoallv_start", "neighbours, NULL sendbuf", MPI_ERR_BUFFER, 0,
     near_start_buffer},
    {"rota_alltoallv_start", "neighbours, NULL recvbuf", MPI_ERR_BUFFER, 0,
     near_start_to_null},
    {"rota_alltoallv_start", "neighbours, in place", MPI_ERR_BUFFER, 0,
     near_start_in_place},
    {"rota_alltoallv_start", "neighbours, one buffer", MPI_ERR_BUFFER,
     IF_CHECKED, near_start_overlap},
    {"rota_alltoallv_start", "neighbours, negative count", MPI_ERR_COUNT, 0,
     near_start_negative},
    {"rota_exchange_start", "neighbours, NULL counts", MPI_ERR_ARG, 0,
     near_x_arrays},
    {"rota_exchange_start", "neighbours, NULL sendbuf", MPI_ERR_BUFFER, 0,
     near_x_buffer},
    {"rota_exchange_start", "neighbours, in place", MPI_ERR_BUFFER, 0,
     near_x_in_place},
    {"rota_exchange_start", "neighbours, negative count", MPI_ERR_COUNT, 0,
     near_x_negative},
    {"rota_exchange_start", "neighbours, active", MPI_ERR_REQUEST, ACTIVE,
     near_x_active},
    {"rota_exchange_start", "sparse", MPI_ERR_REQUEST, 0,
     sparse_by_exchange_start},
    {S_START, "NULL", MPI_ERR_REQUEST, 0, sparse_start_null},
    {S_START, "fixed", MPI_ERR_REQUEST, 0, sparse_start_fixed},
    {S_START, "not sparse", MPI_ERR_REQUEST, 0, sparse_start_exchange},
    {S_START, "active", MPI_ERR_REQUEST, ACTIVE, sparse_start_active},
    {S_START, "NULL dests", MPI_ERR_ARG, 0, sparse_start_dests},
    {S_START, "NULL counts", MPI_ERR_ARG, 0, sparse_start_counts},
    {S_START, "NULL displacements", MPI_ERR_ARG, 0, sparse_start_displs},
    {S_START, "NULL sendbuf", MPI_ERR_BUFFER, 0, sparse_start_buffer},
    {S_START, "in place", MPI_ERR_BUFFER, 0, sparse_start_in_place},
    {S_START, "negative n", MPI_ERR_COUNT, 0, sparse_start_negative_n},
    {S_START, "rank -1", MPI_ERR_ARG, 0, sparse_start_below},
    {S_START, "rank P", MPI_ERR_ARG, 0, sparse_start_above},
    {S_START, "a rank twice", MPI_ERR_ARG, 0, sparse_start_twice},
    {S_START, "negative count", MPI_ERR_COUNT, 0, sparse_start_negative},
    {S_START "_c", "beyond the address space", MPI_ERR_COUNT, 0,
     sparse_start_beyond},
    {"rota_exchange_wait", "neighbours, NULL recvbuf", MPI_ERR_ARG, ACTIVE,
     near_x_wait_null},
    {"rota_exchange_wait", "sparse", MPI_ERR_REQUEST, ACTIVE,
     sparse_by_exchange_wait},
    {S_WAIT, "NULL", MPI_ERR_REQUEST, 0, sparse_wait_null},
    {S_WAIT, "not active", MPI_ERR_REQUEST, 0, sparse_wait_inactive},
    {S_WAIT, "fixed", MPI_ERR_REQUEST, ACTIVE, sparse_wait_fixed},
    {S_WAIT, "not sparse", MPI_ERR_REQUEST, ACTIVE, sparse_wait_exchange},
    {S_WAIT, "NULL recvbuf", MPI_ERR_ARG, ACTIVE, sparse_wait_to_null},
    {S_WAIT, "NULL n_sources", MPI_ERR_ARG, ACTIVE, sparse_wait_no_n},
    {S_WAIT, "too small a buffer", MPI_ERR_BUFFER, ACTIVE, sparse_no_room},
    {S_WAIT "_c", "NULL recvbuf", MPI_ERR_ARG, ACTIVE, sparse_wait_c_null},
    {"rota_test", "sparse, NULL flag", MPI_ERR_ARG, ACTIVE, sparse_test},
    {"rota_wait", "exchange of neighbours", MPI_ERR_REQUEST, ACTIVE,
     near_x_wait},
    {"rota_wait", "sparse exchange", MPI_ERR_REQUEST, ACTIVE, sparse_by_wait},
    {"rota_waitall", "NULL among plans", MPI_ERR_REQUEST, 0, waitall_null},
    {"rota_waitall", "sparse exchange among plans", MPI_ERR_REQUEST, 0,
     waitall_sparse},
    {"rota_plan_set_buffers", "types, NULL recvbuf", MPI_ERR_BUFFER, 0,
     typed_set_null},
    {"rota_plan_set_buffers", "types, in place", MPI_ERR_BUFFER, 0,
     typed_set_in_place},
    {"rota_plan_set_buffers", "types, buffers that overlap", MPI_ERR_BUFFER,
     IF_CHECKED, typed_set_overlap},
    {"rota_plan_set_buffers", "neighbours, NULL sendbuf", MPI_ERR_BUFFER, 0,
     near_set_null},
    {"rota_plan_set_buffers", "neighbours, in place", MPI_ERR_BUFFER, 0,
     near_set_in_place},
    {"rota_plan_set_buffers", "neighbours, one buffer", MPI_ERR_BUFFER,
     IF_CHECKED, near_set_overlap},
    {"rota_plan_set_buffers", "exchange of neighbours", MPI_ERR_REQUEST, 0,
     near_set_exchange},
    {"rota_plan_set_buffers", "sparse exchange", MPI_ERR_REQUEST, 0,
     sparse_set},
    {"rota_plan_free", "active, types", MPI_ERR_REQUEST, ACTIVE, typed_free},
    {"rota_plan_free", "active, neighbours", MPI_ERR_REQUEST, ACTIVE,
     near_free},
    {"rota_plan_free", "active, sparse", MPI_ERR_REQUEST, ACTIVE, sparse_free},
};
const int n_attacks_on_more = sizeof attacks_on_more / sizeof *attacks_on_more;

/* ---- plans of these kinds ------------------------------------------------ */

void attack_open_more(fixture *f)
{
    making m = sound_w(f);

    m.recvbuf = f->to_typed;
    m.plan = &f->typed;
    MUST(init_w(f, &m));
    m = sound(f);
    m.recvbuf = f->to_near;
    m.plan = &f->near;
    MUST(init_near(f, &m));
    MUST(rota_neighbor_alltoallv_varying_init(64, MPI_INT, f->ring, f->info,
                                              &f->near_varying));
    MUST(rota_neighbor_exchange_init(ROTA_UNBOUNDED, MPI_INT, f->ring, f->info,
                                     &f->near_exchange));
    MUST(rota_exchange_init_sparse(MPI_INT, f->comm, f->info, &f->sparse));
}

void attack_start_more(fixture *f)
{
    memset(f->to_typed, 0, sizeof f->to_typed);
    memset(f->to_near, 0, sizeof f->to_near);
    memset(f->to_near_varying, 0, sizeof f->to_near_varying);
    MUST(rota_start(f->typed));
    MUST(rota_start(f->near));
    MUST(start_near(f, f->send, f->count, f->displ, f->to_near_varying));
    MUST(rota_exchange_start(f->near_exchange, f->send, f->count, f->displ));
    MUST(rota_exchange_start_sparse(f->sparse, f->send, 1, &f->to, f->count,
                                    f->displ));
}

/* Of a rank's n-th block. */
static void check_block(const int *got, int rank, int n)
{
    for (int i = 0; got && i < N; i++)
        CHECK(got[i] == 1000 * rank + 10 * n + i);
}

static void check_ring(const int *got)
{
    check_block(got, (test_me + test_P - 1) % test_P, 0);
    check_block(got ? got + N : NULL, (test_me + 1) % test_P, 1);
}

void attack_finish_more(fixture *f)
{
    void *blocks = NULL;
    int n = 0;
    const int *from = NULL;

    MUST(rota_exchange_wait_sparse(f->sparse, &blocks, &n, &from, NULL, NULL));
    CHECK(n == 1 && from && from[0] == (test_me + test_P - 1) % test_P);
    check_block(blocks, (test_me + test_P - 1) % test_P, 0);
    blocks = NULL;
    MUST(rota_exchange_wait(f->near_exchange, &blocks, NULL, NULL));
    check_ring(blocks);
    MUST(rota_wait(f->typed));
    for (int q = 0; q < test_P; q++)
        check_block(f->to_typed + q * N, q, test_me);
    MUST(rota_wait(f->near));
    check_ring(f->to_near);
    MUST(rota_wait(f->near_varying));
    check_ring(f->to_near_varying);
}

void attack_close_more(fixture *f)
{
    MUST(rota_plan_free(&f->typed));
    MUST(rota_plan_free(&f->near));
    MUST(rota_plan_free(&f->near_varying));
    MUST(rota_plan_free(&f->near_exchange));
    MUST(rota_plan_free(&f->sparse));
}
