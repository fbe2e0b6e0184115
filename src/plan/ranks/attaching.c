/* attaching.c - see attaching.h. */
#include "plan/ranks/attaching.h"
#include "exec/memory/attach.h"
#include "plan/ranks/agree.h"
#include "plan/ranks/gather.h"

#include <stdlib.h>

/* The shortest message for which it may pay, however many there are; and what a rank
 * has to send to others of its node in all: with less, what passes through the pool
 * stays in caches (docs/measurements.md). */
enum { SHORTEST = 1 << 15, LEAST_IN_ALL = 1 << 19 };

enum { NEVER = 1 << 20 }; /* the highest that the hint may be */

/* What a rank tells the others of its node. */
typedef struct address {
    rota_foreign cookie_at; /* in private memory; 0: nobody can read there */
    uint64_t cookie;        /* of the process's arena */
    int64_t pid;
} address;

/* May this process read the private memory of all that share memory with it? Each
 * process is asked once. */
static bool may_attach(const rota_node *node, const address addresses[])
{
    bool all = true;

    for (int i = 0; i < node->n; i++) {
        rota_peer *const peer = node->near[i].peer;
        uint64_t cookie = 0;
        if (!peer)
            continue;
        if (peer->attaching == ROTA_ATTACH_UNKNOWN)
            peer->attaching =
                addresses[i].cookie_at != 0 &&
                        rota_attach_read(addresses[i].pid,
                                         addresses[i].cookie_at,
                                         (char *)&cookie, sizeof cookie) &&
                        cookie == addresses[i].cookie
                    ? ROTA_ATTACH_ALLOWED
                    : ROTA_ATTACH_REFUSED;
        all = all && peer->attaching == ROTA_ATTACH_ALLOWED;
    }
    return all;
}

/* Memory that others read is freed after the agreement. */
static int ask(rota_comm *c)
{
    rota_node *const node = c->node;
    const int place = c->topo.node[c->me];
    address *const addresses = calloc((size_t)node->n, sizeof *addresses);
    uint64_t *const cookie = malloc(sizeof *cookie);
    address mine = {.cookie_at = (uintptr_t)cookie,
                    .cookie = rota_arena_self()->cookie,
                    .pid = rota_arena_self()->pid};
    rota_vote vote = {0};

    if (cookie)
        *cookie = mine.cookie;
    int err = rota_gather_addresses(
        c, c->topo.ranks + c->topo.first[place], node->n,
        addresses ? MPI_SUCCESS : rota_fail_mem("addresses"), &mine, addresses,
        sizeof mine);
    if (err == MPI_SUCCESS)
        vote.used = !may_attach(node, addresses);
    err = rota_agree(c, err, &vote);
    node->attaches = err == MPI_SUCCESS && vote.used == 0;
    free(cookie);
    free(addresses);
    return err;
}

/* May a plan with blocks of at most so many bytes send enough? Where ranks share
 * cores, to ask takes as long as a third of the first plan, so that a plan without a
 * bound does not. */
static bool may_pay(const rota_comm *c, size_t largest)
{
    const size_t n = (size_t)rota_topo_largest_node(&c->topo);

    return largest >= SHORTEST && largest >= LEAST_IN_ALL / n &&
           (largest < SIZE_MAX || rota_comm_load(c) <= 1);
}

int rota_comm_ask_attaching(rota_comm *c, size_t largest, int wish)
{
    if (!c->node || c->attaching_asked || wish == NEVER ||
        (wish == 0 && !may_pay(c, largest)))
        return MPI_SUCCESS;
    c->attaching_asked = true;
    return ask(c);
}

size_t rota_comm_attach_from(const rota_comm *c, int wish, size_t sent,
                             const char **why)
{
    const size_t others = c->node ? (size_t)c->node->n - 1 : 0;

    *why = wish == NEVER ? "not used: a hint forbids it"
           : !c->attaching_asked
               ? "not used: blocks are short, or not known to be long"
           : !c->node->attaches ? "not used: it is not allowed"
           : wish == 0 && sent < LEAST_IN_ALL
               ? "not used: too little is sent in all"
               : NULL;
    if (*why)
        return SIZE_MAX;
    if (wish > 0)
        return (size_t)wish;
    if (sent < SIZE_MAX || others == 0)
        return SHORTEST;
    return LEAST_IN_ALL / others > SHORTEST ? LEAST_IN_ALL / others : SHORTEST;
}
