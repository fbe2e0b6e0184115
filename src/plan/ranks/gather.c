/* gather.c - see gather.h. */
#include "plan/ranks/gather.h"
#include "exec/exec.h"
#include "plan/ranks/agree.h"

#include <stdlib.h>
#include <string.h>

/* One round: send all gathered so far to the rank `distance` places below,
 * which lacks it, and receive as much from the rank `distance` places above. */
static int gather_round(const rota_comm *c, const int rank[], int n, int at,
                        int distance, char *gathered, size_t bytes)
{
    const int more = distance < n - distance ? distance : n - distance;
    const int size = (int)((size_t)more * bytes);
    const int from = rank[(at + distance) % n];
    const rota_meeting m = rota_comm_meeting(c, "swap addresses", from);
    MPI_Request request[2];

    ROTA_TRY(MPI_Irecv(gathered + (size_t)distance * bytes, size, MPI_BYTE,
                       from, ROTA_TAG_ADDRESS, c->dup, &request[0]));
    ROTA_TRY(MPI_Isend(gathered, size, MPI_BYTE, rank[(at + n - distance) % n],
                       ROTA_TAG_ADDRESS, c->dup, &request[1]));
    return rota_wait_requests(&m, 1, 2, request);
}

/* By doubling: if every rank talked to every other, MPI would connect them all
 * for this alone. */
int rota_swap_addresses(const rota_comm *c, const int rank[], int n, int status,
                        const void *mine, void *addresses, size_t bytes)
{
    char *const gathered = malloc((size_t)n * bytes + 1);
    int err = status, at = 0;

    if (err == MPI_SUCCESS && !gathered)
        err = rota_fail_mem("addresses");
    /* A rank that cannot take part would leave the others waiting. */
    err = rota_agree(c, err, NULL);
    while (err == MPI_SUCCESS && rank[at] != c->me)
        at++;
    if (err == MPI_SUCCESS)
        memcpy(gathered, mine, bytes);
    for (int distance = 1; err == MPI_SUCCESS && distance < n; distance *= 2)
        err = gather_round(c, rank, n, at, distance, gathered, bytes);
    for (int i = 0; err == MPI_SUCCESS && i < n; i++)
        memcpy((char *)addresses + (size_t)((at + i) % n) * bytes,
               gathered + (size_t)i * bytes, bytes);
    free(gathered);
    return err;
}
