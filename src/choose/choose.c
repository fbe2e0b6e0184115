/* choose.c - how an algorithm is used: its parameters, and how sizes travel. */
#include "choose/choose.h"
#include "rota.h"

#include <math.h>
#include <stdio.h>

int rota_params_usual_radix(int P)
{
    int r = 2;

    while (r * r < P)
        r++;
    return r;
}

/* Bytes of max_block above which a direct exchange sends sizes first. The block
 * is then sent from where it lies, which is worth another message. Measured at
 * P = 2 by rota-bench --kind exchange --sizes 512,65536 --algos
 * multi_pair:metadata=fused,multi_pair:metadata=two_phase: 0.71 and 0.94 us at
 * 512 B, 15.1 and 11.2 us at 64 KiB. */
enum { SIZES_FIRST = 8192 };

/* How sizes travel if they must and no hint says how. */
static rota_metadata usual_metadata(const rota_algo *algo, size_t max_block)
{
    if (algo->metadata != ROTA_META_ONCE)
        return algo->metadata;
    return algo->sizes == ROTA_SIZES_STATED && max_block > SIZES_FIRST
               ? ROTA_META_TWO_PHASE
               : ROTA_META_FUSED;
}

/* Choose how sizes travel: not at all if both ends know them. */
static int choose_metadata(const rota_hints *hints, rota_kind kind,
                           size_t max_block, rota_choice *choice)
{
    const rota_algo *const algo = choice->algo;
    const bool known = algo->sizes == ROTA_SIZES_LEARNT ? kind == ROTA_FIXED
                                                        : kind != ROTA_EXCHANGE;
    choice->metadata = known && !algo->every_start ? ROTA_META_ONCE
                       : hints->progress == ROTA_PROGRESS_MPI
                           ? ROTA_META_FUSED /* nothing is posted after it */
                           : usual_metadata(algo, max_block);
    if (hints->metadata < 0 || (known && algo->sizes != ROTA_SIZES_LEARNT))
        return MPI_SUCCESS;
    if (hints->metadata == ROTA_META_ONCE && !known)
        return rota_fail(MPI_ERR_ARG,
                         "rota_metadata = once, but algorithm %s must send "
                         "sizes where counts vary",
                         algo->name);
    choice->metadata = (rota_metadata)hints->metadata;
    return MPI_SUCCESS;
}

/* Refuse kinds of plan for which the algorithm is not. */
static int check_kind(const rota_algo *algo, const rota_plan_kind *what)
{
    const rota_kind kind = what->kind;
    const size_t max_block = what->max_block;

    if (algo->neighbors != what->neighbors)
        return rota_fail(MPI_ERR_ARG, "algorithm %s is for %s", algo->name,
                         algo->neighbors ? "neighbours, not for all-to-alls"
                                         : "all-to-alls, not for neighbours");
    if (kind == ROTA_EXCHANGE &&
        (algo->native || algo->sizes == ROTA_SIZES_PADDED))
        return rota_fail(MPI_ERR_ARG, "algorithm %s cannot find receive counts",
                         algo->name);
    if (kind != ROTA_FIXED && algo->uniform)
        return rota_fail(MPI_ERR_ARG,
                         "algorithm %s is for blocks of one size, not for "
                         "counts that vary",
                         algo->name);
    if (kind != ROTA_FIXED && algo->sizes == ROTA_SIZES_PADDED &&
        max_block == ROTA_UNBOUNDED)
        return rota_fail(MPI_ERR_ARG,
                         "algorithm %s needs max_block where counts vary",
                         algo->name);
    return MPI_SUCCESS;
}

int rota_params_largest_radix(const rota_algo *algo, const rota_topo *topo)
{
    int n = algo->nodes ? rota_topo_largest_node(topo) : topo->P;

    if (algo->between && topo->n_nodes > n)
        n = topo->n_nodes;
    return n > 2 ? n : 2;
}

static rota_params choose_params(const rota_hints *hints)
{
    rota_params params = {0};

    for (int i = 0; i < ROTA_N_PARAMS; i++) {
        const rota_param *const p = &rota_param_table[i];
        const int asked = rota_param_value(&hints->params, p);
        *rota_param_of(&params, p) = asked > 0 ? asked : p->usual;
    }
    return params;
}

static int choose_radix(const rota_hints *hints, const rota_algo *algo,
                        const rota_topo *topo)
{
    const int n = rota_params_largest_radix(algo, topo);
    const int radix =
        hints->params.radix ? hints->params.radix : rota_params_usual_radix(n);

    return radix <= n ? radix : n;
}

/* Unless a hint says otherwise, blocks go from device to device. */
static rota_device_path choose_device(const rota_hints *hints, bool ipc)
{
    return hints->device == ROTA_DEVICE_AUTO && ipc &&
                   rota_algo_is_direct(hints->algo)
               ? ROTA_DEVICE_IPC
               : hints->device;
}

/* Bytes of memory that a leader's messages to and from other nodes may take where
 * all ranks of the node put blocks of any size into them. */
enum { MOST_SHARED = 1 << 26 };

/* Is there a bound, and room for blocks of that size? */
static bool may_share_parcels(const rota_plan_kind *what,
                              const rota_choice *choice)
{
    const double Q = rota_topo_largest_node(what->topo);
    const double offsets =
        ceil((what->topo->n_nodes - 1) / fmin(choice->params.leaders, Q));
    const double most = (double)what->max_block + 64; /* head and slot */

    return choice->metadata == ROTA_META_FUSED &&
           what->max_block != ROTA_UNBOUNDED &&
           2 * offsets * Q * Q * most <= MOST_SHARED;
}

void rota_choice_name(const rota_choice *choice, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "%s", choice->algo->name);

    for (int i = 0; i < ROTA_N_PARAMS && n < size; i++)
        if (choice->algo->params & rota_param_table[i].bit)
            n += (size_t)snprintf(
                text + n, size - n, ":%s=%d", rota_param_table[i].name,
                rota_param_value(&choice->params, &rota_param_table[i]));
    if (choice->device != ROTA_DEVICE_AUTO && n < size)
        snprintf(text + n, size - n, ":device=%s",
                 rota_device_words.word[choice->device]);
}

int rota_choose(const rota_hints *hints, const rota_plan_kind *what,
                rota_choice *choice)
{
    const rota_algo *const algo = hints->algo;

    *choice = (rota_choice){
        .algo = algo,
        .params = choose_params(hints),
        .intranode = hints->intranode,
        .device = choose_device(hints, what->ipc),
    };
    choice->params.radix = choose_radix(hints, algo, what->topo);
    choice->params.by_datatype =
        algo->by_datatype || (hints->by_datatype && what->kind == ROTA_FIXED &&
                              algo->params & ROTA_P_PACKING);
    ROTA_TRY(check_kind(algo, what));
    if (hints->partners && what->neighbors && !rota_algo_is_direct(algo))
        return rota_fail(MPI_ERR_ARG,
                         "rota_starts = partners, but algorithm %s lets ranks "
                         "forward for others",
                         algo->name);
    ROTA_TRY(choose_metadata(hints, what->kind, what->max_block, choice));
    choice->params.sized = choice->metadata != ROTA_META_ONCE;
    choice->params.parcels = may_share_parcels(what, choice);
    return MPI_SUCCESS;
}
