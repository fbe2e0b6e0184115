/* lending.h - send buffers whose blocks the other ranks of the node read where they
 * lie.
 *
 * In place of a block, a rank of the node is sent a *descriptor*, which says where
 * the block is. Both ends know which ranks are sent descriptors
 * (rota_lending_reaches), and a message of the size of a descriptor is always one: a
 * block of just that size is copied to memory that all ranks mapped when the plan was
 * made, and lent there.
 *
 * A rank has two buffers, of which starts use one after the other. What a start lent
 * may be read until its reader begins the next one, so the buffer of start n can be
 * filled again when start n + 1 is complete: for that, a message of each other rank
 * has come, and none was sent before its sender had begun start n + 1. So nobody
 * waits for a buffer, or tells that one is free.
 *
 * When a rank frees the plan, others may still read: slots.c keeps the memory.
 */
#ifndef ROTA_LENDING_H
#define ROTA_LENDING_H

#include "exec/memory/node.h"

/* Where a block is that its receiver reads in its sender's memory. */
typedef struct rota_descriptor {
    rota_place at;
    uint64_t bytes;
} rota_descriptor;

/* What a rank tells another of its node in a start. */
typedef struct rota_lent {
    rota_descriptor descriptor;
    char copy[sizeof(rota_descriptor)]; /* of a block of this size */
} rota_lent;

typedef struct rota_lending {
    const rota_node *node; /* whose ranks read in place; NULL: none does */
    rota_peer *
        *peer;   /* [node n] their processes, for as long as the plan lives;
                         NULL: it shares no memory with this one */
    size_t from; /* bytes of a block from which it is lent */
    rota_lent *lent[2]; /* [node n] in the arena, for even and odd starts */
    rota_place lent_at[2];
    char *buffer[2];  /* to send from; NULL: none yet */
    size_t room[2];   /* bytes */
    rota_place at[2]; /* 0: it is not in the arena */
    int turn;         /* of the next start: 0, 1 */
    size_t bytes;     /* that the last start lent */
    bool read;        /* the descriptors of the last run have been read */
} rota_lending;

/* Does a rank share memory with this one, so that it is sent descriptors? Both say
 * the same. */
static inline bool rota_lending_reaches(const rota_lending *l, int rank)
{
    const int i = l->node ? l->node->of[rank] : -1;

    return i >= 0 && i != l->node->me && l->peer[i];
}

/* Is there a buffer for the next start of at least so many bytes? */
static inline bool rota_lending_has_room(const rota_lending *l, size_t bytes)
{
    return l->buffer[l->turn] && bytes <= l->room[l->turn];
}

/* Make one; what an earlier start had there is lost. In memory that others map, if
 * there is any. Returns false if there is none at all. */
bool rota_lending_grow(rota_lending *l, size_t bytes);

/* Free the buffers, or leave that to the caller. */
void rota_lending_free(rota_lending *l); /* l may be NULL */
void rota_lending_free_buffer(char *buffer);

#endif /* ROTA_LENDING_H */
