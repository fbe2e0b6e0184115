/* status.h - how a run ended. */
#ifndef ROTA_STATUS_H
#define ROTA_STATUS_H

#include "base/err.h"

#include <stddef.h>

/* What a run reports even though nothing failed. */
typedef enum rota_note {
    ROTA_NOTHING,
    ROTA_ABOVE_BOUND, /* peer left out a block above the bound */
    ROTA_MISMATCH,    /* peer sent another size than expected */
    ROTA_PACK_FAILED, /* the program's function returned `sent` for block `peer` */
    ROTA_UNPACK_FAILED,
    ROTA_UNREADABLE, /* the system refused to read peer's memory; sent: errno */
} rota_note;

typedef struct rota_status {
    bool broken;    /* MPI reported an error: requests may still be pending */
    bool starved;   /* out of memory in the last poll; the next tries again */
    int err;        /* status of the run */
    rota_note note; /* the run's first note, with: */
    int peer;
    size_t sent, expected;
    char text[ROTA_ERR_TEXT]; /* the text of err, or of a lack of memory */
} rota_status;

/* Keep a run's first note; of notes on the bound, the one with the largest
 * block. The owner clears status->note before a start. */
void rota_status_note(rota_status *status, rota_note note, int peer,
                      size_t sent, size_t expected);

/* Record that the run has failed. */
void rota_status_fail(rota_status *status, int err) ROTA_RARE;

/* If *err says that this process is out of memory, set it to MPI_SUCCESS and
 * return true: the caller leaves all as it was, and the next poll tries
 * again. */
bool rota_status_postpone(rota_status *status, int *err) ROTA_RARE;

/* Fail: the status is broken, so there are no more runs. */
int rota_status_refuse(void) ROTA_RARE;

/* Return the run's error, with its text. */
int rota_status_error(const rota_status *status) ROTA_RARE;

/* The result of a run that is over. */
static inline int rota_status_result(const rota_status *status)
{
    return status->err == MPI_SUCCESS ? MPI_SUCCESS : rota_status_error(status);
}

#endif /* ROTA_STATUS_H */
