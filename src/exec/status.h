/* status.h - how a run ended. */
#ifndef ROTA_STATUS_H
#define ROTA_STATUS_H

#include "base/err.h"

#include <stddef.h>

/* What a run has to report though nothing failed. */
typedef enum rota_note {
    ROTA_NOTHING,
    ROTA_ABOVE_BOUND, /* a block was left out: peer, its size */
    ROTA_MISMATCH,    /* peer sent one size, another was expected */
} rota_note;

typedef struct rota_status {
    bool broken; /* MPI reported an error: requests may hang about */
    int err;     /* of the run, with its text */
    char
        text[ROTA_ERR_TEXT]; /* if it is one of rota_fail, or of what ran out */
    bool starved;   /* memory ran out when the run was last advanced: what needs
                     it is tried again */
    rota_note note; /* of the run, the first one, with: */
    int peer;
    size_t sent, expected;
} rota_status;

/* Keep a run's first note; of those on the bound the one of the largest block.
 * The owner clears status->note before a start. */
void rota_status_note(rota_status *status, rota_note note, int peer,
                      size_t sent, size_t expected);

/* The run has failed. */
void rota_status_fail(rota_status *status, int err) ROTA_RARE;

/* In a run: is *err that this process has no memory? Then it is MPI_SUCCESS from
 * here on, and the caller leaves all as it was, to be tried again at the next
 * poll. */
bool rota_status_postpone(rota_status *status, int *err) ROTA_RARE;

/* Fail as the run did. */
int rota_status_error(const rota_status *status) ROTA_RARE;

/* The result of a run that is over. */
static inline int rota_status_result(const rota_status *status)
{
    return status->err == MPI_SUCCESS ? MPI_SUCCESS : rota_status_error(status);
}

#endif /* ROTA_STATUS_H */
