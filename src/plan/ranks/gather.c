/* gather.c - see gather.h. */
#include "plan/ranks/gather.h"
#include "exec/exec.h"
#include "plan/ranks/agree.h"

#include <stdlib.h>
#include <string.h>

/* The bytes of some lists, from the one of rank[first % n] on. */
static size_t bytes_of(const int count[], int n, int first, int lists,
                       size_t bytes)
{
    size_t sum = count ? 0 : (size_t)lists;

    for (int i = 0; count && i < lists; i++)
        sum += (size_t)count[(first + i) % n];
    return sum * bytes;
}

/* In each round a rank sends all that it has to the rank d places below, which
 * lacks it, and receives as much from the rank d places above. Since all have
 * the same counts, no message is longer than its receiver expects. */
int rota_gather_lists(const rota_comm *c, const char *step, const int rank[],
                      int n, int at, const int count[], size_t bytes,
                      void *lists)
{
    for (int d = 1; d < n; d *= 2) {
        const int more = d < n - d ? d : n - d;
        const size_t have = bytes_of(count, n, at, d, bytes);
        const size_t out = bytes_of(count, n, at, more, bytes);
        const size_t in = bytes_of(count, n, at + d, more, bytes);
        const int from = rank[(at + d) % n], to = rank[(at + n - d) % n];
        const rota_meeting m = rota_comm_meeting(c, step, from);
        MPI_Request request[2];
        ROTA_TRY(MPI_Irecv((char *)lists + have, (int)in, MPI_BYTE, from,
                           ROTA_TAG_ADDRESS, c->dup, &request[0]));
        ROTA_TRY(MPI_Isend(lists, (int)out, MPI_BYTE, to, ROTA_TAG_ADDRESS,
                           c->dup, &request[1]));
        ROTA_TRY(rota_wait_requests(&m, 1, 2, request));
    }
    return MPI_SUCCESS;
}

/* By doubling: if every rank talked to every other, MPI would connect them all
 * for this alone. */
int rota_gather_addresses(const rota_comm *c, const int rank[], int n,
                          int status, const void *mine, void *addresses,
                          size_t bytes)
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
    if (err == MPI_SUCCESS)
        err = rota_gather_lists(c, "swap addresses", rank, n, at, NULL, bytes,
                                gathered);
    for (int i = 0; err == MPI_SUCCESS && i < n; i++)
        memcpy((char *)addresses + (size_t)((at + i) % n) * bytes,
               gathered + (size_t)i * bytes, bytes);
    free(gathered);
    return err;
}
