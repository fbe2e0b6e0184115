/* sharers.c - see sharers.h. */
#include "plan/ranks/sharers.h"
#include "plan/ranks/agree.h"
#include "plan/ranks/gather.h"

#include <stdlib.h>

/* The device that this rank shares by time; 0: none. */
static uint64_t device_of(const rota_device *device, const char *memory)
{
    rota_identity found;

    return memory && device->identify(memory, &found) && found.by_time
               ? found.device
               : 0;
}

/* This rank is one of them, so there is at least one. */
static uint64_t count_sharers(uint64_t mine, const uint64_t all[], int n)
{
    uint64_t sharers = 0;

    for (int i = 0; i < n; i++)
        sharers += all[i] == mine;
    return mine != 0 ? sharers : 1;
}

int rota_comm_find_sharers(rota_comm *c, const rota_device *device,
                           const char *memory)
{
    if (c->device_sharers > 0)
        return MPI_SUCCESS;
    const rota_topo *const t = &c->topo;
    const int node = t->node[c->me], n = rota_topo_node_size(t, node);
    const uint64_t mine = device_of(device, memory);
    uint64_t *const all = calloc((size_t)n, sizeof *all);
    rota_vote vote = {0};

    int err = rota_gather_addresses(c, t->ranks + t->first[node], n,
                                    all ? MPI_SUCCESS
                                        : rota_fail_mem("who shares a device"),
                                    &mine, all, sizeof mine);
    if (err == MPI_SUCCESS)
        vote.largest = count_sharers(mine, all, n);
    err = rota_agree(c, err, &vote);
    if (err == MPI_SUCCESS)
        c->device_sharers = (int)vote.largest;
    free(all);
    return err;
}
