/* mpi3.c - exchanges that any MPI 3 has, for mpi3.sh to run with librota_mpi, which
 * is to take them: blocking and nonblocking ones of every shape, among all ranks and
 * among neighbours, in place, with other datatypes, on several communicators and
 * buffers; persistent ones and those for large counts where MPI has them. Every block
 * says who sent it to whom, and when.
 */
#include "sides.h"

#include <string.h>

enum { ROUNDS = 30, MOST = 40 };

/* Two at a time, completed together or one by one. */
static void later(int shape, bool near, side a[2], side b[2], MPI_Datatype t,
                  MPI_Comm c, int round)
{
    MPI_Request r[2];
    MPI_Status status[2];
    int done = 0, index;

    for (int i = 0; i < 2; i++)
        nonblocking(shape, near, &a[i], &b[i], t, t, c, &r[i]);
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
        a[i] = make_side(n_to, to, me, MOST);
        b[i] = make_side(n_from, from, me, MOST);
    }
    for (int round = 0; round < ROUNDS; round++) {
        const int stride = 1 + round / 5 % 2;
        const MPI_Datatype t = stride == 2 ? holes : MPI_INT;
        layout l[2];
        for (int i = 0; i < 2; i++) {
            l[i] = (layout){t, stride, shape == ONE ? 1 + round % 3 : -1,
                            round + i, round + i};
            lay_out(&a[i], &l[i], true);
            lay_out(&b[i], &l[i], false);
        }
        blocking(shape, near, &a[0], &b[0], t, t, c);
        check_side(&b[0], &l[0], what);
        if (shape == W)
            continue;
        lay_out(&b[0], &l[0], false);
        MUST(MPI_Barrier(c));
        later(shape, near, a, b, t, c, round);
        for (int i = 0; i < 2; i++)
            check_side(&b[i], &l[i], what);
    }
    for (int i = 0; i < 2; i++) {
        drop_side(&a[i]);
        drop_side(&b[i]);
    }
    MUST(MPI_Type_free(&holes));
}

#if HAS_PERSISTENT
static void persistent(MPI_Comm c)
{
    side a = make_side(P, NULL, me, MOST), b = make_side(P, NULL, me, MOST);
    layout l = {MPI_INT, 1, -1, 0, 0};
    MPI_Request r;

    lay_out(&a, &l, true);
    lay_out(&b, &l, false);
    MUST(MPI_Alltoallv_init(a.data, a.count, a.displ, MPI_INT, b.data, b.count,
                            b.displ, MPI_INT, c, MPI_INFO_NULL, &r));
    for (int round = 0; round < ROUNDS; round++) {
        l.round = round;
        lay_out(&a, &l, true);
        MUST(MPI_Start(&r));
        MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
        check_side(&b, &l, "persistent");
    }
    MUST(MPI_Request_free(&r));
    drop_side(&a);
    drop_side(&b);
}
#endif

#if HAS_LARGE

enum { NOW, LATER, AGAIN, HOWS };

typedef struct large_side {
    MPI_Count *count;
    MPI_Aint *displ;
} large_side;

static large_side enlarge(const side *s)
{
    const size_t n = (size_t)s->n + 1;
    const large_side l = {malloc(n * sizeof(MPI_Count)),
                          malloc(n * sizeof(MPI_Aint))};

    for (int i = 0; i < s->n; i++) {
        l.count[i] = s->count[i];
        l.displ[i] = s->displ[i];
    }
    return l;
}

/* FORMS(call): how is NOW, LATER or AGAIN, r the request of the last two. */
#define FORMS(name, iname, ...)                                                \
    MUST(how == NOW ? MPI_##name##_c(__VA_ARGS__, c)                           \
         : how == LATER                                                        \
             ? MPI_##iname##_c(__VA_ARGS__, c, r)                              \
             : MPI_##name##_init_c(__VA_ARGS__, c, MPI_INFO_NULL, r))

static void call_large(int how, int shape, bool near, const side *a,
                       const side *b, MPI_Comm c, MPI_Request *r)
{
    const large_side s = enlarge(a), d = enlarge(b);

    if (shape == ONE && near)
        FORMS(Neighbor_alltoall, Ineighbor_alltoall, a->data, s.count[0],
              MPI_INT, b->data, d.count[0], MPI_INT);
    else if (shape == ONE)
        FORMS(Alltoall, Ialltoall, a->data, s.count[0], MPI_INT, b->data,
              d.count[0], MPI_INT);
    else if (shape == V && near)
        FORMS(Neighbor_alltoallv, Ineighbor_alltoallv, a->data, s.count,
              s.displ, MPI_INT, b->data, d.count, d.displ, MPI_INT);
    else if (shape == V)
        FORMS(Alltoallv, Ialltoallv, a->data, s.count, s.displ, MPI_INT,
              b->data, d.count, d.displ, MPI_INT);
    else if (near)
        FORMS(Neighbor_alltoallw, Ineighbor_alltoallw, a->data, s.count, a->far,
              a->type, b->data, d.count, b->far, b->type);
    else
        FORMS(Alltoallw, Ialltoallw, a->data, s.count, a->far, a->type, b->data,
              d.count, b->far, b->type);
    for (int i = 0; i < 2; i++) {
        free(i ? d.count : s.count);
        free(i ? d.displ : s.displ);
    }
}

/* All 18 functions, a shape and a form at a time. */
static void large(int how, int shape, bool near, MPI_Comm c, int n_to,
                  const int to[], int n_from, const int from[])
{
    side a = make_side(n_to, to, me, MOST),
         b = make_side(n_from, from, me, MOST);
    layout l = {MPI_INT, 1, shape == ONE ? 3 : -1, 0, 0};
    MPI_Request r = MPI_REQUEST_NULL;

    for (int round = 0; round < ROUNDS; round++) {
        l.round = round;
        lay_out(&a, &l, true);
        lay_out(&b, &l, false);
        if (how != AGAIN || round == 0)
            call_large(how, shape, near, &a, &b, c, &r);
        if (how == AGAIN)
            MUST(MPI_Start(&r));
        MUST(MPI_Wait(&r, MPI_STATUS_IGNORE));
        check_side(&b, &l, "large counts");
    }
    if (how == AGAIN)
        MUST(MPI_Request_free(&r));
    drop_side(&a);
    drop_side(&b);
}

#endif

/* Each rank's block is replaced by what comes from there, which has as many
 * elements. */
static void in_place(MPI_Comm c)
{
    side b = make_side(P, NULL, me, MOST);
    layout l = {MPI_INT, 1, -1, 0, 0};

    for (int round = 0; round < ROUNDS; round++) {
        l.which = l.round = round;
        for (int i = 0; i < P; i++) {
            b.count[i] = count_of(&b, i < me ? i : me, i < me ? me : i, &l);
            b.displ[i] = i * MOST;
            for (int k = 0; k < b.count[i]; k++)
                b.data[b.displ[i] + k] = value(me, i, round, k);
        }
        MUST(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, b.data,
                           b.count, b.displ, MPI_INT, c));
        check_side(&b, &l, "in place");
    }
    drop_side(&b);
}

int main(int argc, char **argv)
{
    int one = 1, to[3], from[3];
    MPI_Comm ring, graph, other;

    if (argc > 1) /* does it make calls for large counts? */
        return !HAS_LARGE;
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
#if HAS_LARGE
    for (int i = 0; i < HOWS * SHAPES; i++) {
        large(i / SHAPES, i % SHAPES, false, other, P, NULL, P, NULL);
        large(i / SHAPES, i % SHAPES, true, graph, n, to, n, from);
    }
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
