/* table.c - the registry of algorithms. */
#include "algos/algo.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

const rota_algo *const rota_algo_table[] = {
#define ROTA_ALGO(name) &rota_algo_##name,
#define ROTA_NEIGHBOR_ALGO(name)
#include "algos/list.h"
#undef ROTA_NEIGHBOR_ALGO
#undef ROTA_ALGO
    NULL,
};

const rota_algo *const rota_neighbor_table[] = {
#define ROTA_ALGO(name)
#define ROTA_NEIGHBOR_ALGO(name) &rota_algo_##name,
#include "algos/list.h"
#undef ROTA_NEIGHBOR_ALGO
#undef ROTA_ALGO
    NULL,
};

/* Other names, from the literature, for schedules that are the same here. */
static const struct {
    const char *alias;
    const rota_algo *algo;
} aliases[] = {
    /* [Nam25] polls with MPI_Testany here, and blocks in MPI_Waitany in
     * multi_pair. Our executor never blocks, so the two are one. */
    {"multi_pair_test", &rota_algo_multi_pair},
    /* Open MPI 4.1 and 5, ompi/mca/coll/base/coll_base_alltoallv.c. */
    {"ompi_linear", &rota_algo_linear},
    {"ompi_pairwise", &rota_algo_pairwise},
};

const rota_param rota_param_table[ROTA_N_PARAMS] = {
#define ROTA_PARAM(name, NAME, least, usual)                                   \
    {#name, ROTA_P_##NAME, least, usual, offsetof(rota_params, name)},
#include "algos/params.h"
#undef ROTA_PARAM
};

const rota_param *rota_param_find(const char *name)
{
    for (int i = 0; i < ROTA_N_PARAMS; i++)
        if (strcasecmp(rota_param_table[i].name, name) == 0)
            return &rota_param_table[i];
    return NULL;
}

const rota_algo *rota_algo_find(const char *name)
{
    for (int i = 0; rota_algo_table[i]; i++)
        if (strcmp(rota_algo_table[i]->name, name) == 0)
            return rota_algo_table[i];
    for (int i = 0; rota_neighbor_table[i]; i++)
        if (strcmp(rota_neighbor_table[i]->name, name) == 0)
            return rota_neighbor_table[i];
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (strcmp(aliases[i].alias, name) == 0)
            return aliases[i].algo;
    return NULL;
}
