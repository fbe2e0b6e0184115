/* plan.h - one plan on P simulated ranks: built, checked, bound and run on
 * data that are compared with the definition of an all-to-all, byte by byte.
 */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include "algos/algo.h"
#include "common/fakempi.h"
#include "common/pattern.h"
#include "common/shapes.h"
#include "exec/exec.h"
#include "exec/payload/sized.h"
#include "exec/run/sizes.h"
#include "exec/transport/lines/lines.h"

#include <stdbool.h>
#include <stdint.h>

enum { RUNS = 3 };

enum { PLAN_TAGS = ROTA_TAGS }; /* of a plan, from index * PLAN_TAGS on */

typedef enum mode {
    MODE_FIXED,    /* the same sizes and buffers in every run */
    MODE_REBASE,   /* as above, on other buffers from the second run on */
    MODE_VARYING,  /* other sizes every run */
    MODE_IN_PLACE, /* what is sent lies in the receive buffer */
    MODE_EXCHANGE, /* other sizes every run, which receivers do not know */
    MODE_UNITS,    /* the same counts of another unit every run */
    MODE_REVERSE,  /* as fixed, and what comes is combined with what is there */
    MODE_ARRAYS,   /* as an exchange, of blocks of several arrays */
    N_MODES
} mode;

/* A request of MPI is a test or a wait to the executor: that is no mode. */

/* Of the size of blocks, in modes with other sizes every run. */
typedef enum bound {
    BOUND_NONE,
    BOUND_ALL,  /* the largest block of all runs */
    BOUND_SOME, /* half that: blocks above it are left out */
    N_BOUNDS
} bound;

extern const char *const mode_name[N_MODES];
extern const char *const bound_name[N_BOUNDS];
extern const char *const metadata_name[ROTA_N_METADATA];

typedef struct spec {
    const rota_algo *algo;
    int P;
    shape shape; /* of nodes */
    rota_params params;
    pattern pattern;
    mode mode;
    rota_metadata metadata;
    bound bound;
    bool lies;  /* some receivers state other sizes than their senders */
    bool typed; /* data have gaps, different ones on the two sides */
    bool parts; /* blocks are written and made ready one by one during a run */
    int nodes;  /* 0: MPI carries all messages; else those within one of so
                   many nodes go through shared memory */
    int scale;  /* of the sizes of blocks; 0 is 1 */
    uint64_t seed;
} spec;

/* pieces x piece_bytes of data, stride apart; the next element extent away */
typedef struct layout {
    rota_type type;
    int pieces, piece_bytes;
    ptrdiff_t stride;
} layout;

/* A user's buffer. */
typedef struct memory {
    char *data, *wanted; /* [size] what is there, what should be */
    size_t size;
} memory;

typedef struct rank_plan {
    rota_sched s;
    rota_sizes sizes;
    rota_exec x;
    rota_sizing sizing;
    rota_block *landing[ROTA_N_DIRS]; /* as a plan finds them, or NULL */
    rota_node node;
    rota_reach reach;
    size_t *bytes;           /* [n_blocks] */
    ptrdiff_t *offset;       /* [n_blocks] */
    memory send[2], recv[2]; /* rebase swaps to the second ones */
    struct rota_accumulation *accumulation; /* reverse; else NULL */
    rota_types received; /* reverse: types of the blocks that are combined */
    char *stage;         /* in place: the plan's send buffer */
    char *scratch_room;  /* with a guard on either side */
    rota_scratch scratch;
    rota_note note; /* what the run should report, with: */
    size_t note_size;
    bool *told;    /* [P] the receive block comes with a header */
    uint32_t *sum; /* [P] and then 1 + the message in which several land, of
                      which only the sum is told; else 0 */
    bool *made;    /* [P] by parts: the send block is ready */
    int runs;      /* complete ones */
    bool running;
} rank_plan;

typedef struct sim_plan {
    spec spec;
    int index;            /* of its tags and its native communicator */
    layout side[2];       /* of the send buffer, of the receive buffer */
    size_t *matrix[RUNS]; /* [P*P] bytes from source to destination */
    rank_plan *rank;      /* [P] */
    rota_near **near;     /* [nodes][P] their ranks, or NULL */
    size_t max_block;     /* SIZE_MAX for none */
    size_t messages;      /* sent in all runs by now, as schedules say */
} sim_plan;

/* What the plan will not do of a spec is turned into what it will: plan->spec.
 * Each returns false after telling why in text [300]. */
bool sim_plan_make(sim_plan *plan, const spec *spec, int index, char *text);
bool sim_plan_start(sim_plan *plan, int rank, char *text);
/* By parts, during a run: perhaps make a block ready, and look at one that may have
 * arrived. */
bool sim_plan_go_on(sim_plan *plan, int rank, uint64_t chance, char *text);
bool sim_plan_finish(sim_plan *plan, int rank, char *text);
void sim_plan_free(sim_plan *plan);

/* What all ranks of the plan have called. */
fakempi_counts sim_plan_counts(const sim_plan *plan);

/* A number that looks random, the same for the same arguments. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
    return test_hash(test_hash(a) + b);
}

static inline bool spec_is_exchange(const spec *c)
{
    return c->mode == MODE_EXCHANGE || c->mode == MODE_ARRAYS;
}

/* Bound once for all runs, with persistent requests? */
static inline bool sim_plan_is_persistent(const sim_plan *plan)
{
    return plan->spec.metadata == ROTA_META_ONCE &&
           plan->spec.mode != MODE_VARYING && !spec_is_exchange(&plan->spec) &&
           plan->spec.mode != MODE_UNITS;
}

/* Which of a rank's buffers its next or current run uses. */
int sim_plan_buffer(const sim_plan *plan, int rank);

#endif /* SIM_PLAN_H */
