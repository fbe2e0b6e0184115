/* loan.h - messages within the node that pass only a flag.
 *
 * At one end of such a message all blocks are shared (schedule.h). The rank
 * there, the lender, has its scratch in its arena, and tells each peer in a
 * table where its blocks lie. The other end copies: into the blocks before it
 * writes the flag, an entry of the line, or out of them after the flag has
 * come.
 *
 * Between runs: a rank writes to shared blocks only when the lender has
 * finished as many runs as the rank has handed to it, which the lender counts
 * in a word (rota_lines_finish_run). What the lender itself receives into shared
 * blocks, from other nodes, it receives only when everything it handed on in
 * the last run has been taken (rota_lines_reclaim), which its lines' counts
 * tell.
 */
#ifndef ROTA_LOAN_H
#define ROTA_LOAN_H

#include "exec/exec.h"
#include "exec/memory/arena.h"

/* One end of a message that is handed over. */
typedef struct rota_loan {
    bool lends;       /* the shared blocks are this rank's: the peer copies */
    size_t bytes;     /* of the message */
    uint32_t n;       /* number of blocks */
    uint32_t n_moves; /* copies: adjacent blocks are one, so at most n */
    bool elements;    /* some block is of a datatype */
    char **there;     /* [n] if not lends: where the peer's shared blocks lie */
    rota_move *move;  /* [n] if not lends: the copies, of plain bytes */
    _Atomic uint64_t *finished; /* if not lends: the lender's finished runs */
    uint64_t runs;              /* how many there must be for this one to go */
} rota_loan;

/* What a lender tells one peer. */
typedef struct rota_loan_table {
    uint64_t n;         /* number of blocks */
    rota_place scratch; /* the lender's scratch */
    rota_place finished;
    uint64_t offset[]; /* [n] messages that the peer sends, then receives */
} rota_loan_table;

/* The number of blocks that this rank lends to the peer. */
uint32_t rota_loan_count(const rota_exec *x, int peer);
void rota_loan_tell(const rota_exec *x, int peer, rota_loan_table *table);

/* Make the lender's end of a message, or the other end: it takes the next
 * blocks of the table, from *at on. NULL: no memory. */
rota_loan *rota_loan_lend(const rota_exec *x, rota_dir dir, uint32_t m);
rota_loan *rota_loan_find(const rota_exec *x, rota_dir dir, uint32_t m,
                          const rota_peer *lender, const rota_loan_table *table,
                          uint64_t *at);
void rota_loan_free(rota_loan *h);

/* This rank's blocks have moved, or have become known. */
void rota_loan_resolve(const rota_exec *x, rota_dir dir, uint32_t m,
                       rota_loan *h);

/* May the shared blocks be written? */
static inline bool rota_loan_may_go(const rota_loan *h)
{
    return h->lends ||
           (int64_t)(atomic_load_explicit(h->finished, memory_order_acquire) -
                     h->runs) >= 0;
}

int rota_loan_copy(rota_exec *x, rota_dir dir, uint32_t m, const rota_loan *h);

#endif /* ROTA_LOAN_H */
