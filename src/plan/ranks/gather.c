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
    size_t sum = 0;

    for (int i = 0; i < lists; i++)
        sum += (size_t)count[(first + i) % n];
    return sum * bytes;
}

/* Send to one rank and receive from another. */
static int swap(const rota_comm *c, const char *step, int to, const char out[],
                size_t n_out, int from, char in[], size_t n_in)
{
    const rota_meeting m = rota_comm_meeting(c, step, from);
    MPI_Request request[2];

    ROTA_TRY(MPI_Irecv(in, (int)n_in, MPI_BYTE, from, ROTA_TAG_ADDRESS, c->dup,
                       &request[0]));
    ROTA_TRY(MPI_Isend(out, (int)n_out, MPI_BYTE, to, ROTA_TAG_ADDRESS, c->dup,
                       &request[1]));
    return rota_wait_requests(&m, 1, 2, request);
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
        ROTA_TRY(swap(c, step, rank[(at + n - d) % n], lists, out,
                      rank[(at + d) % n], (char *)lists + have, in));
    }
    return MPI_SUCCESS;
}

/* Bytes of a message at most, so that a rank without memory for all has room. */
enum { PIECE = 1 << 14 };

static int rank_at(const int rank[], int i)
{
    return rank ? rank[i] : i;
}

/* The same for lists of equal length, in pieces. list NULL: this rank has none, and
 * passes zeros on. */
static int gather(const rota_comm *c, const int rank[], int n, int at,
                  size_t bytes, char *list)
{
    static const char zeros[PIECE];
    char unused[PIECE];

    for (int d = 1; d < n; d *= 2) {
        const int to = rank_at(rank, (at + n - d) % n);
        const int from = rank_at(rank, (at + d) % n);
        const size_t all = (size_t)(d < n - d ? d : n - d) * bytes;
        for (size_t done = 0; done < all; done += PIECE) {
            const size_t now = all - done < PIECE ? all - done : PIECE;
            ROTA_TRY(swap(
                c, "swap addresses", to, list ? list + done : zeros, now, from,
                list ? list + (size_t)d * bytes + done : unused, now));
        }
    }
    return MPI_SUCCESS;
}

/* By doubling: if every rank talked to every other, MPI would connect them all
 * for this alone. */
int rota_gather_addresses(const rota_comm *c, const int rank[], int n,
                          int status, const void *mine, void *addresses,
                          size_t bytes)
{
    char *const list =
        status == MPI_SUCCESS ? malloc((size_t)n * bytes + 1) : NULL;
    int at = 0;

    if (status == MPI_SUCCESS && !list)
        status = rota_fail_mem("addresses");
    while (rank_at(rank, at) != c->me)
        at++;
    if (list)
        memcpy(list, mine, bytes);
    const int err = gather(c, rank, n, at, bytes, list);
    for (int i = 0; list && err == MPI_SUCCESS && i < n; i++)
        memcpy((char *)addresses + (size_t)((at + i) % n) * bytes,
               list + (size_t)i * bytes, bytes);
    free(list);
    return status == MPI_SUCCESS ? err : status;
}
