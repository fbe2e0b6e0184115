/* mpi3.c - exchanges that any MPI 3 has, for mpi3.sh to run with librota_mpi, which
 * is to take them: blocking and nonblocking ones of every shape, among all ranks and
 * among neighbours, in place, with other datatypes, on several communicators and
 * buffers; persistent ones where MPI has them. Every block says who sent it to whom,
 * and when.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 30, MOST = 40 };

static int P, me, wrong;

#define MUST(call)                                                             \
    do {                                                                       \
        if ((call) != MPI_SUCCESS) {                                           \
            fprintf(stderr, "rank %d: %s failed\n", me, #call);                \
            MPI_Abort(MPI_COMM_WORLD, 1);                                      \
        }                                                                      \
    } while (0)

static int value(int from, int to, int round, int i)
{
    return 1 + from * 1000003 + to * 8191 + round * 131 + i;
}

static int count_of(int from, int to, int round)
{
    return (from * 7 + to * 3 + round) % (MOST + 1);
}

/* What a rank sends and receives in a round: n blocks, each of at most MOST ints, in
 * every second int if the elements have holes. */
typedef struct side {
    int n, *peer, *count, *displ, *data;
    MPI_Aint *far;
    MPI_Datatype *type;
} side;

static side make(int n, const int peer[])
{
    const size_t m = (size_t)n + 1;
    side s = {n,
              malloc(m * sizeof(int)),
              malloc(m * sizeof(int)),
              malloc(m * sizeof(int)),
              malloc(m * 2 * MOST * sizeof(int)),
              malloc(m * sizeof(MPI_Aint)),
              malloc(m * sizeof(MPI_Datatype))};

    for (int i = 0; i < n; i++)
        s.peer[i] = peer ? peer[i] : i;
    return s;
}

static void drop(side *s)
{
    free(s->peer);
    free(s->count);
    free(s->displ);
    free(s->data);
    free(s->far);
    free(s->type);
}

/* stride: ints from one element to the next; same: all counts are that, else they
 * are those of the round. */
static void lay_out(side *s, MPI_Datatype type, int stride, bool sends,
                    int same, int round)
{
    for (int i = 0; i < s->n; i++) {
        const int from = sends ? me : s->peer[i], to = sends ? s->peer[i] : me;
        s->count[i] = same >= 0 ? same : count_of(from, to, round);
        s->displ[i] = i * (same >= 0 ? same : MOST);
        s->far[i] = (MPI_Aint)(s->displ[i] * stride) * (MPI_Aint)sizeof(int);
        s->type[i] = type;
        for (int k = 0; k < s->count[i]; k++)
            s->data[(s->displ[i] + k) * stride] =
                sends ? value(from, to, round, k) : -1;
    }
}

static void check(const side *s, int stride, int round, const char *what)
{
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < s->count[i]; k++)
            if (s->data[(s->displ[i] + k) * stride] !=
                value(s->peer[i], me, round, k)) {
                if (wrong++ == 0)
                    fprintf(stderr,
                            "rank %d, round %d, %s: block %d is wrong\n", me,
                            round, what, i);
                return;
            }
}

/* ---- exchanges ----------------------------------------------------------- */

enum { ONE, V, W, SHAPES };

static void blocking(int shape, bool near, side *a, side *b, MPI_Datatype t,
                     MPI_Comm c)
{
    const int n = a->n > 0 ? a->count[0] : b->n > 0 ? b->count[0] : 0;

    if (shape == ONE)
        MUST(near ? MPI_Neighbor_alltoall(a->data, n, t, b->data, n, t, c)
                  : MPI_Alltoall(a->data, n, t, b->data, n, t, c));
    else if (shape == V)
        MUST(near ? MPI_Neighbor_alltoallv(a->data, a->count, a->displ, t,
                                           b->data, b->count, b->displ, t, c)
                  : MPI_Alltoallv(a->data, a->count, a->displ, t, b->data,
                                  b->count, b->displ, t, c));
    else if (near)
        MUST(MPI_Neighbor_alltoallw(a->data, a->count, a->far, a->type, b->data,
                                    b->count, b->far, b->type, c));
    else {
        for (int i = 0; i < a->n; i++)
            a->displ[i] = (int)a->far[i];
        int *const displ = malloc(((size_t)b->n + 1) * sizeof(int));
        for (int i = 0; i < b->n; i++)
            displ[i] = (int)b->far[i];
        MUST(MPI_Alltoallw(a->data, a->count, a->displ, a->type, b->data,
                           b->count, displ, b->type, c));
        free(displ);
    }
}

static void nonblocking(int shape, bool near, side *a, side *b, MPI_Datatype t,
                        MPI_Comm c, MPI_Request *r)
{
    const int n = a->n > 0 ? a->count[0] : b->n > 0 ? b->count[0] : 0;

    if (shape == ONE)
        MUST(near ? MPI_Ineighbor_alltoall(a->data, n, t, b->data, n, t, c, r)
                  : MPI_Ialltoall(a->data, n, t, b->data, n, t, c, r));
    else
        MUST(near
                 ? MPI_Ineighbor_alltoallv(a->data, a->count, a->displ, t,
                                           b->data, b->count, b->displ, t, c, r)
                 : MPI_Ialltoallv(a->data, a->count, a->displ, t, b->data,
                                  b->count, b->displ, t, c, r));
}

/* Two at a time, completed together or one by one. */
static void later(int shape, bool near, side a[2], side b[2], MPI_Datatype t,
                  MPI_Comm c, int round)
{
    MPI_Request r[2];
    MPI_Status status[2];
    int done = 0, index;

    for (int i = 0; i < 2; i++)
        nonblocking(shape, near, &a[i], &b[i], t, c, &r[i]);
    if (round % 3 == 0) {
        MUST(MPI_Waitall(2, r, round % 2 ? status : MPI_STATUSES_IGNORE));
    } else if (round % 3 == 1) {
        for (int i = 0; i < 2; i++)
            MUST(MPI_Waitany(2, r, &index, status));
    } else {
        while (!done)
            MUST(MPI_Test(&r[1], &done, status));
        MUST(MPI_Wait(&r[0], MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < 2; i++)
        if (r[i] != MPI_REQUEST_NULL && wrong++ == 0)
            fprintf(stderr, "rank %d: a request that is done is kept\n", me);
}

static void exchange(int shape, bool near, MPI_Comm c, int n_to, const int to[],
                     int n_from, const int from[], const char *what)
{
    MPI_Datatype holes;
    side a[2], b[2];

    MUST(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &holes));
    MUST(MPI_Type_commit(&holes));
    for (int i = 0; i < 2; i++) {
        a[i] = make(n_to, to);
        b[i] = make(n_from, from);
    }
    for (int round = 0; round < ROUNDS; round++) {
        const int stride = 1 + round / 5 % 2;
        const MPI_Datatype t = stride == 2 ? holes : MPI_INT;
        const int same = shape == ONE ? 1 + round % 3 : -1;
        for (int i = 0; i < 2; i++) {
            lay_out(&a[i], t, stride, true, same, round + i);
            lay_out(&b[i], t, stride, false, same, round + i);
        }
        blocking(shape, near, &a[0], &b[0], t, c);
        check(&b[0], stride, round, what);
        if (shape == W)
            continue;
        lay_out(&b[0], t, stride, false, same, round);
        MUST(MPI_Barrier(c));
        later(shape, near, a, b, t, c, round);
        for (int i = 0; i < 2; i++)
            check(&b[i], stride, round + i, what);
    }
    for (int i = 0; i < 2; i++) {
        drop(&a[i]);
        drop(&b[i]);
    }
    MUST(MPI_Type_free(&holes));
}

#if HAS_PERSISTENT
static void persistent(MPI_Comm c)
{
    side a = make(P, NULL), b = make(P, NULL);
    MPI_Request r;

    lay_out(&a, MPI_INT, 1, true, -1, 0);
    lay_out(&b, MPI_INT, 1, false, -1, 0);
    MUST(MPI_Alltoallv_init(a.data, a.count, a.displ, MPI_INT, b.data, b.count,
                            b.displ, MPI_INT, c, MPI_INFO_NULL, &r));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < P; i++)
            for (int k = 0; k < a.count[i]; k++)
                a.data[a.displ[i] + k] = value(me, i, round, k);
        MUST(MPI_Start(&r));
        MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
        check(&b, 1, round, "persistent");
    }
    MUST(MPI_Request_free(&r));
    drop(&a);
    drop(&b);
}
#endif

/* Each rank's block is replaced by what comes from there, which has as many
 * elements. */
static void in_place(MPI_Comm c)
{
    side b = make(P, NULL);

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < P; i++) {
            b.count[i] = count_of(i < me ? i : me, i < me ? me : i, round);
            b.displ[i] = i * MOST;
            for (int k = 0; k < b.count[i]; k++)
                b.data[b.displ[i] + k] = value(me, i, round, k);
        }
        MUST(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, b.data,
                           b.count, b.displ, MPI_INT, c));
        check(&b, 1, round, "in place");
    }
    drop(&b);
}

int main(int argc, char **argv)
{
    int one = 1, to[3], from[3];
    MPI_Comm ring, graph, other;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &P);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int i = 0; i < 3; i++) {
        to[i] = (me + 1 + i) % P;
        from[i] = (me - 1 - i + 3 * P) % P;
    }
    MUST(MPI_Comm_dup(MPI_COMM_WORLD, &other));
    MUST(MPI_Cart_create(MPI_COMM_WORLD, 1, &P, &one, 0, &ring));
    const int n = P < 3 ? P : 3; /* no edge twice */
    MUST(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n, from, MPI_UNWEIGHTED,
                                        n, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                        &graph));
    for (int shape = 0; shape < SHAPES; shape++) {
        exchange(shape, false, MPI_COMM_WORLD, P, NULL, P, NULL, "all ranks");
        exchange(shape, false, other, P, NULL, P, NULL, "all ranks again");
        exchange(shape, true, graph, n, to, n, from, "a graph");
        if (P > 2) {
            const int both[2] = {(me + P - 1) % P, (me + 1) % P};
            exchange(shape, true, ring, 2, both, 2, both, "a ring");
        }
    }
    in_place(MPI_COMM_WORLD);
#if HAS_PERSISTENT
    persistent(other);
#endif
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0)
        printf("%d wrong\n", wrong);
    MPI_Comm_free(&other);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&graph);
    MPI_Finalize();
    return wrong != 0;
}
