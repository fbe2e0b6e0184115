/* plan.h - one plan on P simulated ranks: built, checked, bound and run on
 * data that are compared with the definition of an all-to-all, byte by byte.
 */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include "algos/algo.h"
#include "common/pattern.h"
#include "exec/exec.h"
#include "exec/sizes.h"

#include <stdbool.h>
#include <stdint.h>

enum { RUNS = 3 };

typedef enum mode {
    MODE_FIXED,    /* folded, persistent */
    MODE_REBASE,   /* as above, on other buffers from the second run on */
    MODE_VARYING,  /* other sizes every run; direct algorithms only */
    MODE_IN_PLACE, /* folded; what is sent lies in the receive buffer */
    N_MODES
} mode;

extern const char *const mode_name[N_MODES];

typedef struct spec {
    const rota_algo *algo;
    int P;
    rota_params params;
    pattern pattern;
    mode mode;
    bool typed; /* data have gaps, different ones on the two sides */
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
    size_t *bytes;           /* [n_blocks] */
    ptrdiff_t *offset;       /* [n_blocks] */
    memory send[2], recv[2]; /* rebase swaps to the second ones */
    char *stage;             /* in place: the plan's send buffer */
    char *scratch_room;      /* with a guard on either side */
    size_t scratch;
    int runs; /* complete ones */
    bool running;
} rank_plan;

typedef struct sim_plan {
    spec spec;
    int index;            /* tag and native communicator */
    layout side[2];       /* of the send buffer, of the receive buffer */
    size_t *matrix[RUNS]; /* [P*P] bytes from source to destination */
    rank_plan *rank;      /* [P] */
    size_t messages;      /* of one run, all ranks; fixed plans */
} sim_plan;

/* Each returns false after telling why in text [200]. */
bool sim_plan_make(sim_plan *plan, const spec *spec, int index, char *text);
bool sim_plan_start(sim_plan *plan, int rank, char *text);
bool sim_plan_finish(sim_plan *plan, int rank, char *text);
void sim_plan_free(sim_plan *plan);

/* A number that looks random, the same for the same arguments. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
    return test_hash(test_hash(a) + b);
}

/* Which of a rank's buffers its next or current run uses. */
int sim_plan_buffer(const sim_plan *plan, int rank);

#endif /* SIM_PLAN_H */
