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

/* How sizes travel: not at all if both ends know them. */
static int choose_metadata(const rota_hints *hints, rota_kind kind,
                           rota_choice *choice)
{
    const rota_algo *const algo = choice->algo;
    const bool known =
        algo->direct ? kind != ROTA_EXCHANGE : kind == ROTA_FIXED;
    const rota_metadata late =
        algo->metadata == ROTA_META_ONCE ? ROTA_META_FUSED : algo->metadata;

    if (algo->native && (kind == ROTA_EXCHANGE || hints->metadata > 0))
        return rota_fail(MPI_ERR_ARG, "algorithm %s cannot find or send sizes",
                         algo->name);
    choice->metadata = known ? ROTA_META_ONCE : late;
    if (hints->metadata < 0 || (algo->direct && known))
        return MPI_SUCCESS;
    if (hints->metadata == ROTA_META_ONCE && !known)
        return rota_fail(MPI_ERR_ARG,
                         "rota_metadata = once, but algorithm %s must send "
                         "sizes where counts vary",
                         algo->name);
    choice->metadata = (rota_metadata)hints->metadata;
    return MPI_SUCCESS;
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
    return choose_metadata(hints, kind, choice);
}
