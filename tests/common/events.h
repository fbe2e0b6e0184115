/* events.h - a hash of what passes between ranks, to compare two builds.
 *
 * An event is a message that is posted, or an entry that is put into a queue of
 * the node or taken from one. Events of one stream are hashed in their order;
 * streams are added, because which of several peers comes first depends on
 * time. No address and no time goes into a hash. The tags of a process are
 * replaced by their order.
 */
#ifndef ROTA_TEST_EVENTS_H
#define ROTA_TEST_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum events_kind {
    EVENTS_SENT,     /* posted to be sent to a peer by MPI, with a tag */
    EVENTS_RECEIVED, /* posted to be received */
    EVENTS_FOUND,    /* found by a probe */
    EVENTS_MATCHED,  /* posted to be received after that */
    EVENTS_CALLED,   /* collectives of MPI's */
    EVENTS_OPENED,   /* queues of the node, either end */
    EVENTS_PUT,      /* entries put into one */
    EVENTS_TAKEN,    /* taken from it */
    EVENTS_RETURNED, /* sent back through it */
} events_kind;

typedef struct events_stream {
    events_kind kind;
    int rank;      /* simulated rank whose stream it is; 0 in real ones */
    int tag;       /* of messages */
    uint64_t peer; /* rank; of a queue: address of its memory */
} events_stream;

void events_add(events_stream stream, uint64_t event);

/* The streams since the last call, as one hash; *n: how many events. Forgets
 * them. */
uint64_t events_take(uint64_t *n);

uint64_t events_mix(uint64_t hash, uint64_t value);

/* Print all streams whenever they are taken. */
extern bool events_verbose;

/* Has the library told anything that passes within a node (ROTA_EVENTS)? */
bool events_have_queues(void);

#endif /* ROTA_TEST_EVENTS_H */
