/* random_call.c - the calls of random_plan.h. */
#include "random_plan.h"

/* Of the int form of a call. */
typedef struct ints {
    int array[4][RANDOM_RANKS];
    const int *sendcounts, *sdispls, *recvcounts, *rdispls;
} ints;

static const int *counts_as_ints(int to[], const MPI_Count from[], int n)
{
    for (int i = 0; i < n && from; i++)
        to[i] = (int)from[i];
    return from ? to : NULL;
}

static const int *displs_as_ints(int to[], const MPI_Aint from[], int n)
{
    for (int i = 0; i < n && from; i++)
        to[i] = (int)from[i];
    return from ? to : NULL;
}

static ints *as_ints(const random_plan *r, ints *n)
{
    const random_args *const a = &r->args;

    n->sendcounts = counts_as_ints(n->array[0], a->sendcounts, r->to.n);
    n->sdispls = displs_as_ints(n->array[1], a->sdispls, r->to.n);
    n->recvcounts = counts_as_ints(n->array[2], a->recvcounts, r->from.n);
    n->rdispls = displs_as_ints(n->array[3], a->rdispls, r->from.n);
    return n;
}

/* ---- making -------------------------------------------------------------- */

/* The function for partners of a graph, neighbours, or all ranks. */
#define AMONG(r, name, suffix, ...)                                            \
    ((r)->graph ? rota_neighbor_##name##_graph##suffix(                        \
                      __VA_ARGS__, (r)->graph, (r)->args.info, (r)->args.plan) \
                : ((r)->neighbors ? rota_neighbor_##name##suffix               \
                                  : rota_##name##suffix)(                      \
                      __VA_ARGS__, (r)->comm, (r)->args.info, (r)->args.plan))

static int init_fixed(const random_plan *r)
{
    const random_args *const a = &r->args;
    ints n;

    as_ints(r, &n);
    if (r->large)
        return AMONG(r, alltoallv_init, _c, a->sendbuf, a->sendcounts,
                     a->sdispls, a->sendtype, a->recvbuf, a->recvcounts,
                     a->rdispls, a->recvtype);
    return AMONG(r, alltoallv_init, , a->sendbuf, n.sendcounts, n.sdispls,
                 a->sendtype, a->recvbuf, n.recvcounts, n.rdispls, a->recvtype);
}

static int init_uniform(const random_plan *r)
{
    const random_args *const a = &r->args;

    if (r->large)
        return AMONG(r, alltoall_init, _c, a->sendbuf, a->sendcounts[0],
                     a->sendtype, a->recvbuf, a->recvcounts[0], a->recvtype);
    return AMONG(r, alltoall_init, , a->sendbuf, (int)a->sendcounts[0],
                 a->sendtype, a->recvbuf, (int)a->recvcounts[0], a->recvtype);
}

static int init_types(const random_plan *r)
{
    const random_args *const a = &r->args;
    ints n;

    as_ints(r, &n);
    if (r->large)
        return AMONG(r, alltoallw_init, _c, a->sendbuf, a->sendcounts,
                     a->sdispls, a->sendtypes, a->recvbuf, a->recvcounts,
                     a->rdispls, a->recvtypes);
    if (r->graph)
        return rota_neighbor_alltoallw_init_graph(
            a->sendbuf, n.sendcounts, a->sdispls, a->sendtypes, a->recvbuf,
            n.recvcounts, a->rdispls, a->recvtypes, r->graph, a->info, a->plan);
    if (r->neighbors)
        return rota_neighbor_alltoallw_init(
            a->sendbuf, n.sendcounts, a->sdispls, a->sendtypes, a->recvbuf,
            n.recvcounts, a->rdispls, a->recvtypes, r->comm, a->info, a->plan);
    return rota_alltoallw_init(
        a->sendbuf, n.sendcounts, n.sdispls, a->sendtypes, a->recvbuf,
        n.recvcounts, n.rdispls, a->recvtypes, r->comm, a->info, a->plan);
}

/* 3 of what is there and 1 of what has come, byte by byte. */
static void combine_own(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const unsigned char *const came = in;
    unsigned char *const there = inout;

    (void)type;
    for (int i = 0; i < *n; i++)
        there[i] = (unsigned char)(3 * there[i] + came[i]);
}

static MPI_Op own_op(void)
{
    static MPI_Op op = MPI_OP_NULL; /* for good: plans may outlive anything */

    if (op == MPI_OP_NULL)
        MPI_Op_create(combine_own, 0, &op);
    return op;
}

/* The plan that r's is the reverse of: it sends what r receives. */
static int init_forward(random_plan *r)
{
    random_plan forward = *r;
    random_args *const a = &forward.args;

    forward.to = r->from;
    forward.from = r->to;
    a->sendbuf = r->args.recvbuf;
    a->sendcounts = r->args.recvcounts;
    a->sdispls = r->args.rdispls;
    a->recvbuf = (void *)r->args.sendbuf; /* it is not started */
    a->recvcounts = r->args.sendcounts;
    a->rdispls = r->args.sdispls;
    a->info = MPI_INFO_NULL;
    a->plan = &r->forward;
    return init_fixed(&forward);
}

/* In half the cases the first plan is freed before. */
static int init_reverse(random_plan *r)
{
    const MPI_Op op[RANDOM_OPS] = {MPI_OP_NULL, MPI_BXOR, MPI_SUM, own_op()};
    const MPI_Datatype type =
        r->op == RANDOM_SUM ? MPI_UNSIGNED_CHAR : MPI_BYTE;
    const random_args *const a = &r->args;

    MUST(init_forward(r));
    const int err = rota_plan_init_reverse(r->forward, a->sendbuf, a->recvbuf,
                                           type, op[r->op], a->info, a->plan);
    if (random_plan_choose(r, 43, 2))
        MUST(rota_plan_free(&r->forward));
    return err;
}

int random_plan_init(random_plan *r)
{
    const random_args *const a = &r->args;

    switch (r->kind) {
    case RANDOM_FIXED:
    case RANDOM_UNITS:
        return init_fixed(r);
    case RANDOM_REVERSE:
        return init_reverse(r);
    case RANDOM_ARRAYS:
        return random_arrays_init(r);
    case RANDOM_UNIFORM:
        return init_uniform(r);
    case RANDOM_TYPES:
        return init_types(r);
    case RANDOM_SPARSE:
        return rota_exchange_init_sparse(a->recvtype, r->comm, a->info,
                                         a->plan);
    case RANDOM_VARYING:
        return AMONG(r, alltoallv_varying_init, , a->max_block, a->recvtype);
    default:
        return AMONG(r, exchange_init, , a->max_block, a->recvtype);
    }
}

/* ---- starting ------------------------------------------------------------ */

static int start_varying(const random_plan *r)
{
    const random_args *const a = &r->args;
    ints n;

    as_ints(r, &n);
    return r->large ? rota_alltoallv_start_c(r->plan, a->sendbuf, a->sendcounts,
                                             a->sdispls, a->recvbuf,
                                             a->recvcounts, a->rdispls)
                    : rota_alltoallv_start(r->plan, a->sendbuf, n.sendcounts,
                                           n.sdispls, a->recvbuf, n.recvcounts,
                                           n.rdispls);
}

static int start_exchange(const random_plan *r)
{
    const random_args *const a = &r->args;
    ints n;

    as_ints(r, &n);
    return r->large ? rota_exchange_start_c(r->plan, a->sendbuf, a->sendcounts,
                                            a->sdispls)
                    : rota_exchange_start(r->plan, a->sendbuf, n.sendcounts,
                                          n.sdispls);
}

static int start_sparse(const random_plan *r)
{
    const random_args *const a = &r->args;
    ints n;

    as_ints(r, &n);
    return r->large ? rota_exchange_start_sparse_c(r->plan, a->sendbuf, r->to.n,
                                                   r->to.rank, a->sendcounts,
                                                   a->sdispls)
                    : rota_exchange_start_sparse(r->plan, a->sendbuf, r->to.n,
                                                 r->to.rank, n.sendcounts,
                                                 n.sdispls);
}

int random_plan_call_start(const random_plan *r)
{
    switch (r->kind) {
    case RANDOM_VARYING:
        return start_varying(r);
    case RANDOM_EXCHANGE:
        return start_exchange(r);
    case RANDOM_SPARSE:
        return start_sparse(r);
    case RANDOM_ARRAYS:
        return random_arrays_start(r);
    default:
        return rota_start(r->plan);
    }
}

/* ---- waiting ------------------------------------------------------------- */

static int wait_exchange(const random_plan *r, random_found *f)
{
    int counts[RANDOM_RANKS] = {0}, displs[RANDOM_RANKS] = {0};

    f->n = r->from.n;
    for (int k = 0; k < f->n; k++)
        f->source[k] = r->from.rank[k];
    if (r->large)
        return rota_exchange_wait_c(r->plan, &f->data, f->count, f->displ);
    const int err = rota_exchange_wait(r->plan, &f->data, counts, displs);
    for (int k = 0; k < f->n; k++) {
        f->count[k] = counts[k];
        f->displ[k] = displs[k];
    }
    return err;
}

static int wait_sparse(const random_plan *r, random_found *f)
{
    const MPI_Count *counts_c = NULL;
    const MPI_Aint *displs_c = NULL;
    const int *sources, *counts = NULL, *displs = NULL;
    const int err =
        r->large ? rota_exchange_wait_sparse_c(r->plan, &f->data, &f->n,
                                               &sources, &counts_c, &displs_c)
                 : rota_exchange_wait_sparse(r->plan, &f->data, &f->n, &sources,
                                             &counts, &displs);

    for (int k = 0; err == MPI_SUCCESS && k < f->n; k++) {
        f->source[k] = sources[k];
        f->count[k] = r->large ? counts_c[k] : counts[k];
        f->displ[k] = r->large ? displs_c[k] : displs[k];
    }
    return err;
}

int random_plan_call_wait(const random_plan *r, random_found *f)
{
    switch (r->kind) {
    case RANDOM_EXCHANGE:
        return wait_exchange(r, f);
    case RANDOM_SPARSE:
        return wait_sparse(r, f);
    case RANDOM_ARRAYS:
        return random_arrays_wait(r);
    default:
        return rota_wait(r->plan);
    }
}
