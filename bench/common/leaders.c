/* leaders.c - leaders read what their nodes send from the memory of the members, and
 * write what comes to it.
 *
 * Between two barriers of the node only leaders work. Leader l of L serves the
 * nodes at offsets l, l + L, and so on: it sends a matrix of blocks to the node so
 * many places after its own and receives one from the node so many before; of
 * offset 0, its own node's. A matrix lies in order of this node's members, each
 * with the ranks of the other node, or the other way round; blocks change from one
 * order to the other on both sides, or with overlap on the receiver's only.
 *
 * As bench/sim/script.c has it, the two barriers are all: the authors' fences before
 * and after the exchange of leaders, which nobody needs, are left out.
 * Source: [Peng21] algorithms 1 to 5.
 */
#define _POSIX_C_SOURCE 200809L /* sched_yield */

#include "common/leaders.h"

#include "common/sync.h"
#include "common/util.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 1 };

typedef enum order { BY_MEMBER, BY_OTHER } order;

typedef struct block {
    unsigned char *user; /* in a member's buffer, as this rank reaches it */
    size_t bytes, at[2]; /* in a matrix in either order */
} block;

typedef struct matrix {
    int peer; /* the rank that has the other end; this one: the own node's */
    int n;    /* blocks */
    block *blocks;
    size_t bytes;
    unsigned char *wire,
        *turned; /* the message; the other order. Owned, but for the
                                     wire of what comes from the own node */
} matrix;

typedef struct leaders {
    bool spread, overlapped;
    MPI_Comm node;
    bench_sync sync;      /* of it */
    int *of, *local;      /* [P] the node of each rank, its number there */
    int *ranks;           /* [P] of all nodes in order */
    int *first;           /* [N + 1] of a node in ranks */
    int N, L;             /* nodes; leaders that were asked for */
    int k;                /* offsets that this rank serves */
    matrix *out, *in;     /* [k] */
    MPI_Request *request; /* [2 k] of receives, then of sends */
    int *done;            /* [2 k] */
    MPI_Status *status;   /* [2 k] */
} leaders;

/* ---- who is where -------------------------------------------------------- */

static int number_of(const runner *r, const char *wanted, int otherwise)
{
    char copy[sizeof r->spec->params], *rest = copy, *key, *value;

    strcpy(copy, r->spec->params);
    while (spec_next_param(&rest, &key, &value))
        if (strcmp(key, wanted) == 0 && value != NULL && atoi(value) > 0)
            otherwise = atoi(value);
    return otherwise;
}

/* Of the ranks that share memory, as many as node_size says. */
static void split(leaders *l, const runner *r, const exchange *x)
{
    MPI_Comm all;
    int local, size;

    bench_must(MPI_Comm_split_type(x->comm, MPI_COMM_TYPE_SHARED, 0,
                                   MPI_INFO_NULL, &all),
               "MPI_Comm_split_type");
    bench_must(MPI_Comm_rank(all, &local), "MPI_Comm_rank");
    bench_must(MPI_Comm_size(all, &size), "MPI_Comm_size");
    bench_must(MPI_Comm_split(all, local / number_of(r, "node_size", size), 0,
                              &l->node),
               "MPI_Comm_split");
    bench_must(MPI_Comm_free(&all), "MPI_Comm_free");
    bench_must(MPI_Allgather(&local, 1, MPI_INT, l->local, 1, MPI_INT, x->comm),
               "MPI_Allgather");
}

/* Nodes in order of their first ranks. */
static void find_nodes(leaders *l, const exchange *x)
{
    int first = x->me, n = 0;

    bench_must(MPI_Bcast(&first, 1, MPI_INT, 0, l->node), "MPI_Bcast");
    bench_must(MPI_Allgather(&first, 1, MPI_INT, l->of, 1, MPI_INT, x->comm),
               "MPI_Allgather");
    for (int i = 0; i < x->P; i++) {
        if (l->of[i] != i)
            continue;
        for (int q = i; q < x->P; q++)
            if (l->of[q] == i)
                l->ranks[n++] = q;
        l->first[++l->N] = n;
    }
    for (n = 0; n < l->N; n++)
        for (int i = l->first[n]; i < l->first[n + 1]; i++)
            l->of[l->ranks[i]] = n;
}

static int size_of(const leaders *l, int node)
{
    return l->first[node + 1] - l->first[node];
}

static int leaders_of(const leaders *l, int node)
{
    return l->L < size_of(l, node) ? l->L : size_of(l, node);
}

/* The rank of a node that serves an offset. */
static int leader_of(const leaders *l, int node, int offset)
{
    const int n = leaders_of(l, node), at = offset % n;

    return l
        ->ranks[l->first[node] + (l->spread ? at * size_of(l, node) / n : at)];
}

/* ---- matrices ------------------------------------------------------------ */

/* What the members send to other ranks, or get from them: [Q][P]. */
typedef struct side {
    int *counts, *displs;
    const unsigned char *buffer; /* this rank's */
} side;

static side gather_side(const leaders *l, const exchange *x, const int *counts,
                        const int *displs, const unsigned char *buffer)
{
    const size_t n = (size_t)size_of(l, l->of[x->me]) * (size_t)x->P;
    const side s = {bench_calloc(n, sizeof(int)), bench_calloc(n, sizeof(int)),
                    buffer};

    bench_must(
        MPI_Allgather(counts, x->P, MPI_INT, s.counts, x->P, MPI_INT, l->node),
        "MPI_Allgather");
    bench_must(
        MPI_Allgather(displs, x->P, MPI_INT, s.displs, x->P, MPI_INT, l->node),
        "MPI_Allgather");
    return s;
}

static void free_side(const side *s)
{
    free(s->counts);
    free(s->displs);
}

static void number_blocks(matrix *m, int members, int others, order o)
{
    const int outer = o == BY_MEMBER ? members : others;
    const int inner = o == BY_MEMBER ? others : members;
    size_t at = 0;

    for (int i = 0; i < outer; i++)
        for (int j = 0; j < inner; j++) {
            block *const b =
                &m->blocks[o == BY_MEMBER ? i * others + j : j * others + i];
            b->at[o] = at;
            at += b->bytes;
        }
    m->bytes = at;
}

/* With the other node at this offset. */
static matrix make_matrix(const leaders *l, const exchange *x, const side *s,
                          int node, int offset)
{
    const int me = l->of[x->me], Q = size_of(l, me), others = size_of(l, node);
    matrix m = {.peer = leader_of(l, node, offset), .n = Q * others};

    m.blocks = bench_calloc((size_t)m.n, sizeof *m.blocks);
    for (int i = 0; i < m.n; i++) {
        const int member = i / others;
        const int to = l->ranks[l->first[node] + i % others];
        const size_t cell = (size_t)member * (size_t)x->P + (size_t)to;
        unsigned char *const buffer =
            x->mem->reach(s->buffer, l->local[l->ranks[l->first[me] + member]]);
        m.blocks[i].user = buffer + s->displs[cell];
        m.blocks[i].bytes = (size_t)s->counts[cell];
    }
    number_blocks(&m, Q, others, BY_MEMBER);
    number_blocks(&m, Q, others, BY_OTHER);
    m.wire = bench_calloc(m.bytes + 1, 1);
    m.turned = bench_calloc(m.bytes + 1, 1);
    return m;
}

static void make_matrices(leaders *l, const exchange *x)
{
    const int me = l->of[x->me];
    const size_t most = (size_t)l->N;
    const side from = gather_side(l, x, x->sendcounts, x->sdispls, x->sendbuf);
    const side to = gather_side(l, x, x->recvcounts, x->rdispls, x->recvbuf);

    l->out = bench_calloc(most, sizeof *l->out);
    l->in = bench_calloc(most, sizeof *l->in);
    l->request = bench_calloc(2 * most, sizeof(MPI_Request));
    l->done = bench_calloc(2 * most, sizeof *l->done);
    l->status = bench_calloc(2 * most, sizeof *l->status);
    for (int i = 0; i < l->N; i++) {
        if (leader_of(l, me, i) != x->me)
            continue;
        l->out[l->k] = make_matrix(l, x, &from, (me + i) % l->N, i);
        l->in[l->k] = make_matrix(l, x, &to, (me - i + l->N) % l->N, i);
        if (i == 0) {
            free(l->in[l->k].wire);
            l->in[l->k].wire = l->out[l->k].wire;
        }
        l->k++;
    }
    free_side(&from);
    free_side(&to);
}

int leaders_init(runner *r, const exchange *x)
{
    const size_t P = (size_t)x->P;
    const char *const name = r->spec->name;
    leaders *const l = bench_calloc(1, sizeof *l);

    l->overlapped = strcmp(name, "onmpml_published") == 0;
    l->spread = l->overlapped || strcmp(name, "nmpml_published") == 0;
    l->L =
        strcmp(name, "l_a2a_published") == 0 ? 1 : number_of(r, "leaders", 4);
    l->of = bench_calloc(P, sizeof *l->of);
    l->local = bench_calloc(P, sizeof *l->local);
    l->ranks = bench_calloc(P, sizeof *l->ranks);
    l->first = bench_calloc(P + 1, sizeof *l->first);
    r->leaders = l;
    split(l, r, x);
    find_nodes(l, x);
    sync_create_shared(&l->sync, l->node);
    make_matrices(l, x);
    return MPI_SUCCESS;
}

int leaders_free(runner *r)
{
    leaders *const l = r->leaders;

    for (int i = 0; i < l->k; i++) {
        if (l->in[i].wire != l->out[i].wire)
            free(l->in[i].wire);
        free(l->in[i].turned);
        free(l->in[i].blocks);
        free(l->out[i].wire);
        free(l->out[i].turned);
        free(l->out[i].blocks);
    }
    free(l->out);
    free(l->in);
    free((void *)l->request);
    free(l->done);
    free(l->status);
    free(l->of);
    free(l->local);
    free(l->ranks);
    free(l->first);
    sync_destroy(&l->sync);
    r->leaders = NULL;
    const int err = MPI_Comm_free(&l->node);
    free(l);
    return err;
}

/* ---- copies -------------------------------------------------------------- */

static void read_members(const matrix *m, unsigned char *to)
{
    for (int i = 0; i < m->n; i++)
        memcpy(to + m->blocks[i].at[BY_MEMBER], m->blocks[i].user,
               m->blocks[i].bytes);
}

static void turn(const matrix *m, unsigned char *to, const unsigned char *from,
                 order into)
{
    for (int i = 0; i < m->n; i++)
        memcpy(to + m->blocks[i].at[into], from + m->blocks[i].at[!into],
               m->blocks[i].bytes);
}

static void write_members(const matrix *m, const unsigned char *from, order o)
{
    for (int i = 0; i < m->n; i++)
        memcpy(m->blocks[i].user, from + m->blocks[i].at[o],
               m->blocks[i].bytes);
}

/* Until the message is as it is sent. */
static void compose(const leaders *l, const matrix *m)
{
    read_members(m, l->overlapped ? m->wire : m->turned);
    if (!l->overlapped)
        turn(m, m->wire, m->turned, BY_OTHER);
}

/* What another node sends in the order of its members is here in that of the others.
 * With overlap nothing of the own node is turned. */
static void distribute(const leaders *l, const matrix *m, bool own)
{
    const order o = l->overlapped ? BY_MEMBER : BY_OTHER;

    if (l->overlapped && own) {
        write_members(m, m->wire, BY_OTHER);
        return;
    }
    turn(m, m->turned, m->wire, o);
    write_members(m, m->turned, o);
}

/* ---- messages ------------------------------------------------------------ */

static bool is_message(const matrix *m, const exchange *x)
{
    return m->peer != x->me && m->bytes > 0;
}

static int receive(leaders *l, const exchange *x)
{
    int err = MPI_SUCCESS;

    for (int i = 0; i < l->k && err == MPI_SUCCESS; i++) {
        l->request[i] = l->request[l->k + i] = MPI_REQUEST_NULL;
        if (is_message(&l->in[i], x))
            err = MPI_Irecv(l->in[i].wire, (int)l->in[i].bytes, MPI_BYTE,
                            l->in[i].peer, TAG, x->comm, &l->request[i]);
    }
    return err;
}

static int send(leaders *l, const exchange *x, int i)
{
    const matrix *const m = &l->out[i];

    return is_message(m, x)
               ? MPI_Isend(m->wire, (int)m->bytes, MPI_BYTE, m->peer, TAG,
                           x->comm, &l->request[l->k + i])
               : MPI_SUCCESS;
}

static bool is_own(const leaders *l, int i)
{
    return l->in[i].wire == l->out[i].wire;
}

/* As they come, until all that was sent and received is complete. */
static int distribute_each(leaders *l)
{
    for (;;) {
        int n = 0;
        const int err =
            MPI_Testsome(2 * l->k, l->request, &n, l->done, l->status);
        if (err != MPI_SUCCESS || n == MPI_UNDEFINED)
            return err;
        for (int i = 0; i < n; i++)
            if (l->done[i] < l->k)
                distribute(l, &l->in[l->done[i]], false);
        if (n == 0)
            sched_yield();
    }
}

static int overlap(leaders *l, const exchange *x)
{
    const bool own = l->k > 0 && is_own(l, 0);
    int err = receive(l, x);

    for (int i = 0; i < l->k && err == MPI_SUCCESS; i++) {
        compose(l, &l->out[i]);
        err = send(l, x, i);
    }
    if (err == MPI_SUCCESS)
        err = distribute_each(l);
    if (own)
        distribute(l, &l->in[0], true);
    return err;
}

static int wait_all(leaders *l)
{
    int err = MPI_SUCCESS, done = 0;

    while (err == MPI_SUCCESS && !done) {
        err = MPI_Testall(2 * l->k, l->request, &done, l->status);
        if (!done)
            sched_yield();
    }
    return err;
}

static int in_turn(leaders *l, const exchange *x)
{
    int err;

    for (int i = 0; i < l->k; i++)
        compose(l, &l->out[i]);
    err = receive(l, x);
    for (int i = 0; i < l->k && err == MPI_SUCCESS; i++)
        err = send(l, x, i);
    if (err == MPI_SUCCESS)
        err = wait_all(l);
    for (int i = 0; i < l->k; i++)
        distribute(l, &l->in[i], is_own(l, i));
    return err;
}

int leaders_run(runner *r, const exchange *x)
{
    leaders *const l = r->leaders;
    int err = MPI_SUCCESS;

    sync_barrier(&l->sync, false);
    if (l->k > 0)
        err = l->overlapped ? overlap(l, x) : in_turn(l, x);
    sync_barrier(&l->sync, false);
    return err;
}
