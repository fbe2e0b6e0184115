/* record.h - the counts of a program's exchanges, written down for later.
 *
 * If ROTA_RECORD names a folder, each process writes a file there, which is named
 * for its rank in MPI_COMM_WORLD: RANK.rota, entries of 16 bytes in the machine's
 * order of bytes,
 *
 *     uint32 a, uint32 b, uint64 c
 *
 *     0x524f5441, 1, size of MPI_COMM_WORLD       the first one: version 1
 *     0xffffffff, plan, key                       a plan, from 0 on in each file;
 *                                                 all its ranks have the same key
 *     P, rank, kind                               follows: of its communicator;
 *                                                 0 fixed, 1 varying, 2 exchange,
 *                                                 sparse ones too
 *     0xfffffffe, plan, n                         a start, of which n entries tell
 *     first, ranks, bytes                         the blocks: so many to each of
 *                                                 so many ranks; none to others
 *     0xfffffffd, plan, n                         n more starts like its last
 *     0xfffffffc, 0, n                            n starts found no room
 *
 * The n-th start of a key is the same exchange in all files. Calls that librota_mpi
 * leaves to MPI are one varying plan for each set of ranks.
 *
 * All files together have a GiB at most, each between 64 KiB and 64 MiB. Nothing
 * here fails: what cannot be written is said once on standard error.
 */
#ifndef ROTA_RECORD_H
#define ROTA_RECORD_H

#include "base/stats.h"

#include <mpi.h>
#include <stddef.h>

typedef struct rota_record rota_record; /* of a plan */

/* NULL: nothing is to be recorded. Local; all ranks of comm, which is intact, in
 * the same order. */
rota_record *rota_record_open(MPI_Comm comm, rota_kind kind);

/* bytes: [P] of what a start sends. */
void rota_record_start(rota_record *r, const size_t bytes[]);

/* The same block by block; there may be several for a rank, and those for none, a
 * negative one, do not count. */
void rota_record_begin(rota_record *r);
void rota_record_add(rota_record *r, int rank, size_t bytes);
void rota_record_end(rota_record *r);
void rota_record_close(rota_record *r); /* r may be NULL */

#endif /* ROTA_RECORD_H */
