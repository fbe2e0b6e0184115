/* batches.c - blocks of a matrix from rows to columns, for any scalar and any batch:
 * a cache has one plan for each shape. */
#include <rota.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPES = 8, MOST = 1000, BATCH = 4, RANKS = 64 };
static char send[16 * BATCH * MOST], recv[16 * BATCH * MOST];
static struct shape {
    int n; /* elements of the shortest block */
    rota_plan *plan;
} cache[SHAPES];
static int P, me;

static void must(int code)
{
    if (code != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* The longer block of a pair is that from the higher rank. Counts are of bytes until
 * a unit is set. */
static rota_plan *make_plan(int n)
{
    int counts[2][RANKS], displs[2][RANKS], at[2] = {0, 0};
    rota_plan *plan;
    MPI_Info info;
    for (int q = 0; q < P; q++)
        for (int side = 0; side < 2; side++) {
            counts[side][q] = n + (side ? q > me : me > q);
            displs[side][q] = at[side];
            at[side] += counts[side][q];
        }
    must(MPI_Info_create(&info));
    must(MPI_Info_set(info, "rota_largest_unit", "64")); /* 4 double complex */
    must(rota_alltoallv_init(send, counts[0], displs[0], MPI_BYTE, recv,
                             counts[1], displs[1], MPI_BYTE, MPI_COMM_WORLD,
                             info, &plan));
    must(MPI_Info_free(&info));
    return plan;
}

/* A batch of scalars, which lie side by side in each block. */
static void reshape(int n, MPI_Datatype scalar, int batch)
{
    struct shape *s = cache;
    while (s->plan && s->n != n)
        s++;
    if (!s->plan)
        *s = (struct shape){n, make_plan(n)};
    must(rota_plan_set_unit(s->plan, scalar, batch));
    must(rota_plan_set_buffers(s->plan, send, recv));
    must(rota_start(s->plan));
    must(rota_wait(s->plan));
}

int main(int argc, char **argv)
{
    int wrong = 0, all;
    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    for (int batch = 1; batch <= BATCH; batch++)
        for (int n = 1; n <= 3 && P <= RANKS; n++) {
            memset(send, me + 1, sizeof send);
            reshape(n, batch % 2 ? MPI_FLOAT : MPI_DOUBLE, batch);
            int at = 0, bytes = batch * (batch % 2 ? 4 : 8);
            for (int q = 0; q < P; at += bytes * (n + (q++ > me)))
                wrong += recv[at] != q + 1;
        }
    must(MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (me == 0)
        printf("blocks are %s\n", all ? "wrong" : "right");
    for (struct shape *s = cache; s->plan; s++)
        must(rota_plan_free(&s->plan));
    must(MPI_Finalize());
    return all ? EXIT_FAILURE : EXIT_SUCCESS;
}
