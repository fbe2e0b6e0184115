/* forms.c - what authors and MPI libraries run beside a plan's schedule. */
#include "sim/engine.h"

#include <string.h>

enum { INT_BYTES = 4 };

const sim_form sim_forms[] = {
    {.name = "parlogna_published",
     .algo = &rota_algo_parlogna_published,
     .what = "[Fan25] algorithm 1; in radix 2 [Fan22] algorithm 1",
     .cell = INT_BYTES,
     .heads_apart = true,
     .all_told = true,
     .reduced = true},
    {.name = "parlinna_coalesced_published",
     .algo = &rota_algo_parlinna_coalesced_published,
     .what = "[Fan25] algorithm 2",
     .cell = INT_BYTES,
     .heads_apart = true,
     .all_told = true,
     .within_told = true},
    {.name = "parlinna_staggered_published",
     .algo = &rota_algo_parlinna_staggered_published,
     .what = "[Fan25] algorithm 3",
     .cell = INT_BYTES,
     .heads_apart = true,
     .all_told = true,
     .within_told = true},
    {.name = "sloav_published",
     .algo = &rota_algo_sloav,
     .what = "[Fan22] section 6.1: a combined buffer a round, a scan at last",
     .metadata = ROTA_META_COMBINED,
     .cell = INT_BYTES,
     .heads_apart = true,
     .all_told = true,
     .scanned = true},
    {.name = "padded_bruck_published",
     .algo = &rota_algo_padded_bruck,
     .what = "[Fan22] section 3.1",
     .reduced = true},
    {.name = "l_a2a_published",
     .algo = &rota_algo_l_a2a,
     .what = "[Peng21] algorithm 1, on a shared heap",
     .pulled = true},
    {.name = "mpml_published",
     .algo = &rota_algo_mpml,
     .what = "[Peng21] algorithms 2 and 3, on a shared heap",
     .pulled = true},
    {.name = "nmpml_published",
     .algo = &rota_algo_nmpml,
     .what = "[Peng21] algorithm 4, on a shared heap",
     .pulled = true},
    {.name = "onmpml_published",
     .algo = &rota_algo_nmpml,
     .what = "[Peng21] algorithm 5, on a shared heap",
     .pulled = true,
     .overlapped = true},
    /* MPIR_Neighbor_alltoallv_allcomm_nb is the nonblocking one and a wait, that
     * (..._sched_linear) a schedule of all sends and all receives at once:
     * src/mpi/coll/neighbor_alltoallv, ineighbor_alltoallv. */
    {.name = "mpich_neighbor",
     .algo = &rota_algo_neighbor,
     .what = "MPICH 4.0's MPI_Neighbor_alltoallv, less its preparation",
     .by_mpi = true},
    /* Sparse exchanges only (sparse.h). */
    {.name = "by_hand",
     .algo = &rota_algo_consensus,
     .what = "sparse: [Hoefler10], by MPI_Issend and MPI_Ibarrier",
     .by_mpi = true},
    {.name = "mpich_counts",
     .algo = &rota_algo_mpich_scattered,
     .what = "sparse: MPICH 4.0's MPI_Alltoall of counts and MPI_Alltoallv",
     .by_mpi = true},
    {.name = NULL},
};

sim_form sim_form_parse(char *text, rota_hints *hints)
{
    const size_t length = strcspn(text, ":");

    for (const sim_form *f = sim_forms; f->name; f++)
        if (strlen(f->name) == length && strncmp(text, f->name, length) == 0) {
            *hints = inside_parse_as(f->algo, text);
            if (hints->metadata < 0 && f->metadata != ROTA_META_ONCE)
                hints->metadata = (int)f->metadata;
            return *f;
        }
    *hints = inside_parse(text);
    return (sim_form){.algo = hints->algo, .cell = (int)sizeof(size_t)};
}
