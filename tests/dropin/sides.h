/* sides.h - what ranks send and receive in tests of exchanges: every block says who
 * sent it to whom, and when.
 */
#ifndef ROTA_TESTS_SIDES_H
#define ROTA_TESTS_SIDES_H

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static int P, me, wrong;

#define MUST(call)                                                             \
    do {                                                                       \
        if ((call) != MPI_SUCCESS) {                                           \
            fprintf(stderr, "rank %d: %s failed\n", me, #call);                \
            MPI_Abort(MPI_COMM_WORLD, 1);                                      \
        }                                                                      \
    } while (0)

static inline int value(int from, int to, int round, int i)
{
    return 1 + from * 1000003 + to * 8191 + round * 131 + i;
}

/* n blocks, each of at most `most` ints, in every second int if the elements have
 * holes. */
typedef struct side {
    int n, most, self; /* self: this rank, as its peers number it */
    int *peer, *count, *displ, *near, *data;
    MPI_Aint *far;
    MPI_Datatype *type;
} side;

/* peer: [n], or NULL: ranks from 0 on. */
static inline side make_side(int n, const int peer[], int self, int most)
{
    const size_t m = (size_t)n + 1;
    side s = {.n = n,
              .most = most,
              .self = self,
              .peer = malloc(m * sizeof(int)),
              .count = malloc(m * sizeof(int)),
              .displ = malloc(m * sizeof(int)),
              .near = malloc(m * sizeof(int)),
              .data = malloc(m * 2 * (size_t)most * sizeof(int)),
              .far = malloc(m * sizeof(MPI_Aint)),
              .type = malloc(m * sizeof(MPI_Datatype))};

    for (int i = 0; i < n; i++)
        s.peer[i] = peer ? peer[i] : i;
    return s;
}

static inline void drop_side(side *s)
{
    free(s->peer);
    free(s->count);
    free(s->displ);
    free(s->near);
    free(s->data);
    free(s->far);
    free(s->type);
}

/* What a call exchanges. stride: ints from one element of this rank's type to the
 * next. same: all counts are that, or, if negative, they follow from the ranks and
 * the number which. round: what the blocks say. */
typedef struct layout {
    MPI_Datatype type;
    int stride, same, which, round;
} layout;

static inline int count_of(const side *s, int from, int to, const layout *l)
{
    return l->same >= 0 ? l->same
                        : (from * 7 + to * 3 + l->which) *
                              ((s->most + 40) / 41) % (s->most + 1);
}

static inline void lay_out(side *s, const layout *l, bool sends)
{
    for (int i = 0; i < s->n; i++) {
        const int from = sends ? s->self : s->peer[i],
                  to = sends ? s->peer[i] : s->self;
        s->count[i] = count_of(s, from, to, l);
        s->displ[i] = i * (l->same >= 0 ? l->same : s->most);
        s->far[i] = (MPI_Aint)(s->displ[i] * l->stride) * (MPI_Aint)sizeof(int);
        s->near[i] = (int)s->far[i];
        s->type[i] = l->type;
        for (int k = 0; k < s->count[i]; k++)
            s->data[(s->displ[i] + k) * l->stride] =
                sends ? value(from, to, l->round, k) : -1;
    }
}

static inline void check_side(const side *s, const layout *l, const char *what)
{
    for (int i = 0; i < s->n; i++)
        for (int k = 0; k < s->count[i]; k++)
            if (s->data[(s->displ[i] + k) * l->stride] !=
                value(s->peer[i], s->self, l->round, k)) {
                if (wrong++ == 0)
                    fprintf(stderr,
                            "rank %d, round %d, %s: block %d is wrong\n", me,
                            l->round, what, i);
                return;
            }
}

enum { ONE, V, W, SHAPES };

static inline void blocking(int shape, bool near, const side *a, const side *b,
                            MPI_Datatype at, MPI_Datatype bt, MPI_Comm c)
{
    const int n = a->n > 0 ? a->count[0] : b->n > 0 ? b->count[0] : 0;

    if (shape == ONE)
        MUST(near ? MPI_Neighbor_alltoall(a->data, n, at, b->data, n, bt, c)
                  : MPI_Alltoall(a->data, n, at, b->data, n, bt, c));
    else if (shape == V)
        MUST(near ? MPI_Neighbor_alltoallv(a->data, a->count, a->displ, at,
                                           b->data, b->count, b->displ, bt, c)
                  : MPI_Alltoallv(a->data, a->count, a->displ, at, b->data,
                                  b->count, b->displ, bt, c));
    else if (near)
        MUST(MPI_Neighbor_alltoallw(a->data, a->count, a->far, a->type, b->data,
                                    b->count, b->far, b->type, c));
    else
        MUST(MPI_Alltoallw(a->data, a->count, a->near, a->type, b->data,
                           b->count, b->near, b->type, c));
}

static inline void nonblocking(int shape, bool near, const side *a,
                               const side *b, MPI_Datatype at, MPI_Datatype bt,
                               MPI_Comm c, MPI_Request *r)
{
    const int n = a->n > 0 ? a->count[0] : b->n > 0 ? b->count[0] : 0;

    if (shape == ONE)
        MUST(near ? MPI_Ineighbor_alltoall(a->data, n, at, b->data, n, bt, c, r)
                  : MPI_Ialltoall(a->data, n, at, b->data, n, bt, c, r));
    else
        MUST(near ? MPI_Ineighbor_alltoallv(a->data, a->count, a->displ, at,
                                            b->data, b->count, b->displ, bt, c,
                                            r)
                  : MPI_Ialltoallv(a->data, a->count, a->displ, at, b->data,
                                   b->count, b->displ, bt, c, r));
}

#endif /* ROTA_TESTS_SIDES_H */
