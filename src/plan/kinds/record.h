/* record.h - records the counts of a program's exchanges for later.
 *
 * If ROTA_RECORD names a folder, each process writes a file there, named after
 * its rank in MPI_COMM_WORLD: RANK.rota, entries of 16 bytes in native byte
 * order,
 *
 *     uint32 a, uint32 b, uint64 c
 *
 *     0x524f5441, 1, size of MPI_COMM_WORLD   the first one: version 1
 *     0xffffffff, plan, key                   a plan, numbered from 0 in each
 *                                             file; all its ranks have its key
 *     P, rank, kind                           follows: of its communicator;
 *                                             0 fixed, 1 varying, 2 exchange,
 *                                             also sparse
 *     0xfffffffe, plan, n                     a start, described by n entries
 *     first, ranks, bytes                     its blocks: so many bytes to each
 *                                             of so many ranks; none to others
 *     0xfffffffd, plan, n                     n more starts like its last
 *     0xfffffffc, 0, n                        n starts found no room
 *
 * The n-th start of a key is the same exchange in all files. Calls that
 * librota_mpi leaves to MPI are one varying plan for each set of ranks.
 *
 * All files together have at most a GiB, each between 64 KiB and 64 MiB.
 * Nothing here fails: what cannot be written is reported once, on standard
 * error.
 */
#ifndef ROTA_RECORD_H
#define ROTA_RECORD_H

#include "base/stats.h"

#include <mpi.h>
#include <stddef.h>

typedef struct rota_record rota_record; /* the record of a plan */

/* Begin to record a plan; NULL: nothing is recorded. Local; all ranks of comm,
 * which must be intact, call it in the same order. */
rota_record *rota_record_open(MPI_Comm comm, rota_kind kind);

/* Record a start. bytes: [P] what it sends. */
void rota_record_start(rota_record *r, const size_t bytes[]);

/* The same for n blocks, each to a rank. A rank may have several; those of negative
 * ranks do not count. */
void rota_record_blocks(rota_record *r, int n, const int rank[],
                        const size_t bytes[]);
void rota_record_close(rota_record *r); /* r may be NULL */

#endif /* ROTA_RECORD_H */
