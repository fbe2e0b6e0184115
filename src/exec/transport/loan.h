/* loan.h - messages within the node of which only a flag is sent.
 *
 * At one end of such a message all blocks are shared (schedule.h). Their rank,
 * the lender, has its scratch in its arena and tells each of the others in a
 * table where its blocks lie there. The other end copies: to there before it
 * writes the flag, an entry of the line, or from there when the flag has come.
 *
 * From run to run: a rank writes to temporary blocks only when their lender has
 * finished as many runs as the rank has handed to it before, which the lender
 * counts in a word (rota_step_finish). What the lender itself receives into
 * temporary blocks, from other nodes, it receives when all that it handed on in
 * the run before has been taken (rota_step_reclaim): the counts of its lines
 * say so.
 */
#ifndef ROTA_LOAN_H
#define ROTA_LOAN_H

#include "exec/exec.h"
#include "exec/transport/arena.h"

/* Of one message. */
typedef struct rota_loan {
    bool lends;       /* the shared blocks are this rank's: the other copies */
    size_t bytes;     /* of the message */
    uint32_t n;       /* blocks */
    uint32_t n_moves; /* below n where blocks lie end to end at both ends */
    bool elements;    /* some block is of a datatype, not of plain bytes */
    char **there; /* [n] if not lends: where the other's temporary blocks lie */
    rota_move *move;            /* [n] likewise, of plain bytes */
    _Atomic uint64_t *finished; /* likewise: runs of the lender */
    uint64_t runs;              /* that it must have finished to be sent */
} rota_loan;

/* What a lender tells one rank. */
typedef struct rota_loan_table {
    uint64_t n;         /* blocks in it */
    rota_place scratch; /* of the lender */
    rota_place finished;
    uint64_t offset[]; /* [n] by message that the rank sends, then receives */
} rota_loan_table;

/* Blocks that this rank lends to the peer. */
uint32_t rota_loan_count(const rota_exec *x, int peer);
void rota_loan_tell(const rota_exec *x, int peer, rota_loan_table *table);

/* A message of a lender; of the other end, of which this is the next one in the
 * table, whose blocks from *at on it takes. NULL: no memory. */
rota_loan *rota_loan_lend(const rota_exec *x, rota_dir dir, uint32_t m);
rota_loan *rota_loan_find(const rota_exec *x, rota_dir dir, uint32_t m,
                          const rota_peer *lender, const rota_loan_table *table,
                          uint64_t *at);
void rota_loan_free(rota_loan *h);

/* Blocks here lie elsewhere, or are known now. */
void rota_loan_resolve(const rota_exec *x, rota_dir dir, uint32_t m,
                       rota_loan *h);

/* May the temporary blocks be written? */
static inline bool rota_loan_may_go(const rota_loan *h)
{
    return h->lends ||
           (int64_t)(atomic_load_explicit(h->finished, memory_order_acquire) -
                     h->runs) >= 0;
}

int rota_loan_copy(const rota_exec *x, rota_dir dir, uint32_t m,
                   const rota_loan *h);

#endif /* ROTA_LOAN_H */
