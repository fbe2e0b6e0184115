/* collected.h - where the blocks of an exchange are collected.
 *
 * They go into the plan's own buffer or the caller's, in rank order, end to end, if
 * they can: when a block comes, the sizes of all blocks before it must be known,
 * and it must fit. Its offset in the buffer is x->blocks.offset, from when the sizes
 * up to its own are known, and x->blocks.place is only for blocks that lie elsewhere.
 *
 * Mostly blocks come in that order, and only the first one with an unknown offset is
 * remembered. Once one comes before its turn, x->blocks.bytes is ROTA_NOT_COME of all
 * that have not come.
 */
#ifndef ROTA_COLLECTED_H
#define ROTA_COLLECTED_H

#include "exec/exec.h"

#include <stdint.h>

#define ROTA_NOT_COME SIZE_MAX

/* The buffer in which an exchange collects blocks. */
typedef struct rota_collection {
    char *to;        /* of this run: out, or the caller's */
    size_t limit;    /* bytes of it that may be received into */
    size_t end;      /* bytes of the blocks before next */
    rota_block next; /* the first receive block with unknown offset in it, or
                        the one behind the last */
    rota_block own;  /* among all ranks: what comes without a message */
    rota_block first, behind; /* the first receive block, and the one behind the
                                 last */
    bool early;               /* blocks may be received right into it */
    bool noting;              /* blocks.bytes says which blocks have come */
    bool elsewhere;           /* a receive block lies elsewhere: blocks.place */
    int n_pinned; /* blocks that are being received there: it may not move */
    char *out;    /* the plan's own; grows */
    size_t room;
} rota_collection;

/* Make and free x->collection. */
int rota_collected_make(rota_exec *x);
void rota_collected_free(rota_exec *x);

/* The offset of the next block is known, as is its size. */
static inline void rota_collected_pass(const rota_exec *x)
{
    rota_collection *const c = x->collection;

    x->blocks.offset[c->next] = (ptrdiff_t)c->end;
    c->end += x->blocks.bytes[c->next++];
}

/* A run begins, in which blocks may be received right into a buffer of so many
 * bytes or, unless early, nowhere yet. The sizes of blocks that do not come as
 * messages are set; own: that of c->own. */
void rota_collected_forget_places(rota_exec *x) ROTA_RARE;
static inline void rota_collected_begin(rota_exec *x, char *buffer, size_t room,
                                        bool early, size_t own)
{
    rota_collection *const c = x->collection;
    rota_block next = c->first;
    size_t end = 0;

    if (c->elsewhere)
        rota_collected_forget_places(x);
    if (next == c->own) {
        x->blocks.offset[next++] = 0;
        end = own;
    }
    c->early = early;
    c->noting = false;
    c->n_pinned = 0;
    c->next = next;
    c->end = end;
    c->to = buffer;
    c->limit = room;
}

/* The run is complete: find the offsets of all blocks that are left. */
static inline void rota_collected_end(const rota_exec *x)
{
    while (x->collection->next < x->collection->behind)
        rota_collected_pass(x);
}

/* Receive block b has come, with so many bytes: its place in the buffer; NULL, or
 * false: it has none, or not yet. */
char *rota_collected_land_late(rota_exec *x, rota_block b, size_t bytes);
static inline bool rota_collected_land(rota_exec *x, rota_block b, size_t bytes,
                                       char **to)
{
    rota_collection *const c = x->collection;
    const size_t at = c->end;

    if (b != c->next || at + bytes > c->limit || bytes > x->max_block) {
        *to = rota_collected_land_late(x, b, bytes);
        return *to != NULL;
    }
    x->blocks.bytes[b] = bytes;
    x->blocks.offset[b] = (ptrdiff_t)at;
    c->next = b + 1;
    c->end = at + bytes;
    if (c->next == c->own)
        rota_collected_pass(x);
    *to = c->to + at;
    return true;
}

/* As rota_collected_land, for a block that comes there in parts, until
 * rota_collected_lies. The plan's own buffer may grow. NULL also where counts are
 * known. */
char *rota_collected_place(rota_exec *x, rota_block b, size_t bytes);

/* Will receive block b have a place when others have come? */
bool rota_collected_waits(const rota_exec *x, rota_block b, size_t bytes);

/* Receive block b has come with so many bytes, which lie at data. */
void rota_collected_lies(rota_exec *x, rota_block b, size_t bytes, char *data);

#endif /* ROTA_COLLECTED_H */
