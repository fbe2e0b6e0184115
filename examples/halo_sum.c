/* halo_sum.c - a rod in pieces: elements add to the nodes at both their ends, and the
 * last node of a rank is the first of the next one. What is added to a copy goes
 * back to the rank that owns the node, by the plan that copies nodes, backwards. */
#include <rota.h>
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 1000 };
static double mass[ELEMENTS + 1]; /* of nodes; the last one is a copy */

static void must(int code)
{
    if (code != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

/* Node 0 goes to the rank before, as its last one. */
static rota_plan *plan_copies(int me, int P)
{
    const int before = me > 0 ? me - 1 : MPI_PROC_NULL;
    const int next = me < P - 1 ? me + 1 : MPI_PROC_NULL;
    const int one = 1, first = 0, last = ELEMENTS;
    rota_graph *graph;
    rota_plan *plan;
    must(rota_graph_create_adjacent(MPI_COMM_WORLD, 1, &next, 1, &before,
                                    MPI_INFO_NULL, &graph));
    must(rota_neighbor_alltoallv_init_graph(mass, &one, &first, MPI_DOUBLE,
                                            mass, &one, &last, MPI_DOUBLE,
                                            graph, MPI_INFO_NULL, &plan));
    must(rota_graph_free(&graph)); /* the plan keeps it */
    return plan;
}

static void run(rota_plan *plan)
{
    must(rota_start(plan));
    must(rota_wait(plan));
}

/* Element i of the rod has mass i + 1, half of it at each end. */
static void add_elements(int me)
{
    for (int i = 0; i < 2 * ELEMENTS; i++)
        mass[(i + 1) / 2] += (me * ELEMENTS + i / 2 + 1) / 2.0;
}

static int is_wrong(int me, int P)
{
    for (int i = 0; i <= ELEMENTS; i++) {
        const int node = me * ELEMENTS + i;
        if (mass[i] != (node < P * ELEMENTS ? node + 0.5 : node / 2.0))
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int P, me, wrong, all;
    must(MPI_Init(&argc, &argv));
    must(MPI_Comm_size(MPI_COMM_WORLD, &P));
    must(MPI_Comm_rank(MPI_COMM_WORLD, &me));
    rota_plan *copy = plan_copies(me, P), *sum;
    must(rota_plan_init_reverse(copy, mass, mass, MPI_DOUBLE, MPI_SUM,
                                MPI_INFO_NULL, &sum));
    add_elements(me);
    run(sum);  /* copies are added to the nodes that they are of */
    run(copy); /* and become what those are now */
    wrong = is_wrong(me, P);
    must(MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (me == 0)
        printf("masses are %s\n", all ? "wrong" : "right");
    must(rota_plan_free(&sum));
    must(rota_plan_free(&copy));
    must(MPI_Finalize());
    return all ? EXIT_FAILURE : EXIT_SUCCESS;
}
