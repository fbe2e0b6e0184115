/* drawing.h - an exchange of all ranks, step by step. */
#ifndef BENCH_DRAWING_H
#define BENCH_DRAWING_H

#include "common/inside.h"

enum { DRAWING_MAX_RANKS = 64 };

typedef struct message {
    int src, dst;
    const struct message *before; /* the one ahead of it to dst, or NULL */
    uint32_t sent, received;      /* its number on either end */
    uint32_t phase[ROTA_N_DIRS];  /* and the phase it is in there */
    int step;                     /* 1.. */
    bool native;                  /* part of a collective, not drawn */
} message;

typedef struct drawing {
    int P, only; /* draw what one rank sends; -1: all */
    rota_choice choice;
    rota_sched *sched; /* [P] */
    int **label;       /* [P][n_blocks] source * P + destination; -1: unused */
    int **begin;       /* [P][n_phases] step in which each phase begins */
    int **copied;      /* [P][n_copies] step in which each copy is made */
    message *message;  /* [n_messages] by source, in order of posting */
    size_t n_messages;
    size_t n_native; /* of them */
    int n_steps;     /* with messages */
    int end;         /* the last one, in which there may be copies only */
} drawing;

/* The schedules of P ranks that hints ask for, followed and timed. Dies where
 * they are no all-to-all. only: as in the drawing. */
void drawing_make(drawing *d, const rota_hints *hints, int P, int node_size,
                  int only);
void drawing_free(drawing *d);

/* "S", "R", "t" and a slot of scratch, "r" and the rank in whose place of the
 * receive buffer the block is on its way; text has room for 16. */
const char *draw_place(const rota_sched *s, rota_block b, char text[]);

/* Algorithm, parameters, ranks and totals, on one line. */
void draw_title(const drawing *d, char *text, size_t size);

static inline bool draw_wanted(const drawing *d, int rank)
{
    return d->only < 0 || d->only == rank;
}

/* Is the message drawn as one of a step? */
static inline bool draw_message(const drawing *d, const message *k, int step)
{
    return k->step == step && !k->native && draw_wanted(d, k->src);
}

/* Is the MPI library's all-to-all called in the step? */
bool draw_native(const drawing *d, int step);

/* Has phase p of a rank messages? Else it takes no step of its own. */
bool draw_waits(const rota_sched *s, uint32_t p);

/* Is copy c of a rank's phase p made in the step, the phase being one of those with
 * messages or of those without? */
static inline bool draw_copy(const drawing *d, int rank, uint32_t p, uint32_t c,
                             int step, bool waits)
{
    return d->copied[rank][c] == step &&
           draw_waits(&d->sched[rank], p) == waits;
}

#endif
