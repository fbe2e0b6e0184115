/* p2p_sized.h - messages of MPI that tell their length: rota_metadata says how
 * the length travels.
 */
#ifndef ROTA_P2P_SIZED_H
#define ROTA_P2P_SIZED_H

#include "exec/exec.h"

/* The state of such a message. */
typedef struct rota_p2p_sized {
    uint64_t length;     /* ROTA_META_COMBINED: length of the next message */
    MPI_Request head;    /* request of what goes before the data */
    MPI_Request data;    /* and of the data */
    MPI_Message message; /* found by a probe, waits for memory */
    MPI_Status status;   /* status of that message */
    int await;
    uint32_t
        back; /* so many before it is the last one to or from the same rank;
                      0: there is none */
} rota_p2p_sized;

/* For the messages of a direction among P ranks; NULL: no memory. t may be NULL. */
rota_p2p_sized *rota_p2p_sized_make(const rota_msgs *l, int P);
void rota_p2p_sized_free(rota_p2p_sized *t, rota_dir dir, size_t n);

/* Post and test message m. done: it is complete and, if received, in its
 * place. */
int rota_p2p_sized_post(rota_exec *x, rota_p2p_sized *t, rota_dir dir,
                        uint32_t m);
int rota_p2p_sized_test(rota_exec *x, rota_p2p_sized *t, rota_dir dir,
                        uint32_t m, bool *done);

#endif /* ROTA_P2P_SIZED_H */
