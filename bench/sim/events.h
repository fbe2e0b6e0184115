/* events.h - what happens next: a heap by time, ties by order of insertion. */
#ifndef BENCH_SIM_EVENTS_H
#define BENCH_SIM_EVENTS_H

#include <stddef.h>
#include <stdint.h>

typedef struct sim_event {
    double at;
    uint64_t number; /* of insertion */
    int rank;
    uint32_t what, m;
} sim_event;

typedef struct sim_events {
    sim_event *item;
    size_t n, room;
    uint64_t number;
} sim_events;

void sim_events_add(sim_events *e, double at, int rank, uint32_t what,
                    uint32_t m);
/* The first one; there must be one. */
sim_event sim_events_take(sim_events *e);
void sim_events_free(sim_events *e);

#endif
