/* partners.c - a line of cells, whose ranks name their partners: one plan swaps the
 * halos of a field with one component and of one with three. */
#include <rota.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 1000, MOST = 3 };
static double heat[CELLS + 2], flow[MOST * (CELLS + 2)];

static void must(int code)
{
    if (code != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* The cells at both ends go to the ranks on both sides; at an end of the line there
 * is none. */
static rota_plan *plan_halo(int me, int P)
{
    const int partners[2] = {me > 0 ? me - 1 : MPI_PROC_NULL,
                             me < P - 1 ? me + 1 : MPI_PROC_NULL};
    const int counts[2] = {1, 1}, ends[2] = {1, CELLS};
    const int halo[2] = {0, CELLS + 1};
    rota_graph *graph;
    rota_plan *plan;
    MPI_Info info;
    must(MPI_Info_create(&info));
    must(MPI_Info_set(info, "rota_largest_unit", "24")); /* MOST doubles */
    must(MPI_Info_set(info, "rota_starts", "partners"));
    must(rota_graph_create_adjacent(MPI_COMM_WORLD, 2, partners, 2, partners,
                                    MPI_INFO_NULL, &graph));
    must(rota_neighbor_alltoallv_init_graph(heat, counts, ends, MPI_DOUBLE,
                                            heat, counts, halo, MPI_DOUBLE,
                                            graph, info, &plan));
    must(rota_graph_free(&graph)); /* the plan keeps it */
    must(MPI_Info_free(&info));
    return plan;
}

static void swap_halos(rota_plan *plan, double *field, int components)
{
    must(rota_plan_set_unit(plan, MPI_DOUBLE, components));
    must(rota_plan_set_buffers(plan, field, field));
    must(rota_start(plan));
    must(rota_wait(plan));
}

/* Cell i of a rank is cell me * CELLS + i - 1 of the line. */
static int is_wrong(const double *field, int components, int me, int P)
{
    for (int i = me == 0; i < CELLS + 2 - (me == P - 1); i++)
        for (int c = 0; c < components; c++)
            if (field[i * components + c] != 10.0 * (me * CELLS + i - 1) + c)
                return 1;
    return 0;
}

int main(int argc, char **argv)
{
    int P, me, wrong, all;
    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    for (int i = 1; i <= CELLS; i++)
        heat[i] = 10.0 * (me * CELLS + i - 1);
    for (int i = MOST; i < MOST * (CELLS + 1); i++)
        flow[i] = 10.0 * (me * CELLS + i / MOST - 1) + i % MOST;
    rota_plan *plan = plan_halo(me, P);
    swap_halos(plan, heat, 1);
    swap_halos(plan, flow, MOST);
    wrong = is_wrong(heat, 1, me, P) + is_wrong(flow, MOST, me, P);
    must(MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (me == 0)
        printf("%d cells, halos are %s\n", P * CELLS, all ? "wrong" : "right");
    must(rota_plan_free(&plan));
    must(MPI_Finalize());
    return all ? EXIT_FAILURE : EXIT_SUCCESS;
}
