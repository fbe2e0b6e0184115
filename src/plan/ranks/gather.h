/* gather.h - what each of some ranks tells all of them. */
#ifndef ROTA_GATHER_H
#define ROTA_GATHER_H

#include "plan/ranks/comm.h"

/* Exchange `bytes` bytes with each of n ranks, this one among them: mine goes to
 * all, theirs come into addresses, in the order of rank; NULL: all ranks of c. If
 * status is an error, or there is no memory, this rank fails: it takes part, and in
 * place of what it has and passes on others get zeros. So ranks must agree on the
 * result before they wait for each other. Collective over c, whose ranks may do it in
 * groups. */
int rota_gather_addresses(const rota_comm *c, const int rank[], int n,
                          int status, const void *mine, void *addresses,
                          size_t bytes);

/* Exchange lists of entries, each of `bytes` bytes. count: [n] the entries of each
 * rank. lists: on entry the list of this rank, which is rank[at]; on return those of
 * all, from this rank's on, at most INT_MAX bytes together. Collective over the n
 * ranks, which must all have room. */
int rota_gather_lists(const rota_comm *c, const char *step, const int rank[],
                      int n, int at, const int count[], size_t bytes,
                      void *lists);

#endif /* ROTA_GATHER_H */
