/* choose.c - which algorithm, with which parameters. */
#include "plan/plan.h"

/* Messages in flight in each direction when nobody asks otherwise: what MPICH
 * allows itself in its scattered exchange. */
enum { DEFAULT_BATCH = 32 };

static int default_radix(int P)
{
    int r = 2;

    while (r * r < P)
        r++;
    return r; /* about sqrt(P): two phases */
}

int rota_choose(const rota_hints *hints, const rota_topo *topo, rota_kind kind,
                rota_choice *choice)
{
    const int P = topo->P;
    int radix = hints->radix ? hints->radix : default_radix(P);

    if (radix > P)
        radix = P > 2 ? P : 2;
    *choice = (rota_choice){
        .algo = hints->algo ? hints->algo : &rota_algo_multi_pair,
        .params = {.batch = hints->batch ? hints->batch : DEFAULT_BATCH,
                   .radix = radix},
        .why = hints->algo ? "asked for by a hint" : "the default",
    };
    if (kind == ROTA_VARYING && !choice->algo->direct)
        return rota_fail(MPI_ERR_ARG,
                         "algorithm %s does not support varying counts",
                         choice->algo->name);
    return MPI_SUCCESS;
}
