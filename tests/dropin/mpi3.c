/* mpi3.c - exchanges that any MPI 3 has, for mpi3.sh to run with librota_mpi, which
 * is to take them: blocking and nonblocking ones of every shape, among all ranks and
 * among neighbours, in place, with other datatypes, on several communicators and
 * buffers; persistent ones where MPI has them. Every block says who sent it to whom,
 * and when.
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
