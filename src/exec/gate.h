/* gate.h - gates: what may hold up a plan's steps and messages, and learns
 * which are done. A plan has at most one gate. The executor does not know its
 * owner (src/device). Steps of a plan without a gate are not wrapped.
 *
 * The executor calls a gate under its lock. Other threads tell a gate something by
 * writing into its own memory. They need not ring, since a wait for a plan with a
 * gate keeps polling.
 */
#ifndef ROTA_GATE_H
#define ROTA_GATE_H

#include "schedule/schedule.h"

struct rota_exec;

/* Functions for messages that the receiver fetches from memory that the host does
 * not touch. The sender sends only a descriptor of `bytes` bytes. */
typedef struct rota_fetching {
    size_t place_bytes;

    /* Describe to rank `to` where it finds the message at body. */
    void (*tell)(struct rota_exec *x, int to, const char *body, void *place);

    /* Begin to fetch the message of rank `from`. */
    int (*fetch)(struct rota_exec *x, int from, const void *place, char *to,
                 size_t bytes);
} rota_fetching;

/* The functions of a gate, the first member of what its owner keeps for a plan. The
 * owner sets x->gate, and calls rota_exec_gate if x is bound already. Any function
 * but release may be NULL. The executor asks about a phase or a send until it may go;
 * from then on it may go for the rest of the run. */
typedef struct rota_gate {
    rota_fetching *
        fetching; /* the first member of what that needs; NULL: messages are data */

    bool any_order; /* sends that may go need not wait for others of the phase,
                       unless these are for the same rank */

    /* A run is about to begin. */
    int (*begin)(struct rota_exec *x);

    /* May the phase begin? If it is native or a flow, may_send must also let
     * go of all its sends first. */
    int (*may_enter)(struct rota_exec *x, const rota_phase *phase, bool *may);

    /* May send m be posted? Those behind it in its batch wait for it, unless they go
     * in any order. */
    int (*may_send)(struct rota_exec *x, uint32_t m, bool *may);

    /* Does the gate make this copy, now or later? */
    int (*copy)(struct rota_exec *x, const rota_copy *copy, bool *taken);

    /* Receive m is complete. Then: all of the phase is. */
    int (*arrived)(struct rota_exec *x, uint32_t m);
    int (*leave)(struct rota_exec *x, const rota_phase *phase);

    /* All phases are complete: is the run? */
    int (*end)(struct rota_exec *x, bool *done);

    /* A send block that the run waits for, or -1: for stalls to tell. */
    int (*held)(const struct rota_exec *x);

    void (*release)(struct rota_exec *x); /* the plan is freed */
} rota_gate;

#endif /* ROTA_GATE_H */
