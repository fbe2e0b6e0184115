/* packing.c - values picked by lists of indices, and added where they arrive.
 *
 *   mpiexec -n P packing
 */
#include <rota.h>

#include <stdio.h>
#include <stdlib.h>

enum { N = 1000, EACH = 20, STEPS = 5 };

typedef struct mesh {
    int P, me;
    double value[N], sum[N];
} mesh;

static void must(int code)
{
    if (code != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, code);
}

/* Ranks p and q share these places of the mesh. */
static int shared(int p, int q, MPI_Count k)
{
    return (int)((p + q + 7 * k) % N);
}

/* Bytes begin to end of the block are whole values: those of the plan's type. */
static int pick(void *context, int dest, MPI_Count begin, MPI_Count end,
                void *to)
{
    const mesh *const m = context;
    const MPI_Count first = begin / (MPI_Count)sizeof(double);

    for (MPI_Count i = 0; i < (end - begin) / (MPI_Count)sizeof(double); i++)
        ((double *)to)[i] = m->value[shared(m->me, dest, first + i)];
    return 0;
}

static int add(void *context, int source, MPI_Count begin, MPI_Count end,
               const void *from)
{
    mesh *const m = context;
    const MPI_Count first = begin / (MPI_Count)sizeof(double);

    for (MPI_Count i = 0; i < (end - begin) / (MPI_Count)sizeof(double); i++)
        m->sum[shared(m->me, source, first + i)] += ((const double *)from)[i];
    return 0;
}

int main(int argc, char **argv)
{
    static mesh m;
    rota_plan *plan;
    int wrong = 0;

    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &m.P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &m.me));
    must(rota_alltoall_init(m.value, EACH, MPI_DOUBLE, m.sum, EACH, MPI_DOUBLE,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    must(rota_plan_set_pack(plan, pick, add, &m));
    for (int i = 0; i < N; i++)
        m.value[i] = i;
    for (int step = 1; step <= STEPS; step++) {
        must(rota_start(plan));
        must(rota_wait(plan));
        for (int q = 0; q < m.P; q++)
            for (int k = 0; k < EACH; k++)
                m.sum[shared(m.me, q, k)] -= shared(m.me, q, k);
        for (int i = 0; i < N; i++)
            wrong += m.sum[i] != 0;
    }
    printf("rank %d: %d steps, %s\n", m.me, STEPS, wrong ? "wrong" : "right");
    must(rota_plan_free(&plan));
    must(MPI_Finalize());
    return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
