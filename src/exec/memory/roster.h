/* roster.h - processes of other ranks on this node, known by their ids alone: one
 * may die before ranks share memory.
 */
#ifndef ROTA_ROSTER_H
#define ROTA_ROSTER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rota_fellow {
    int rank;
    int32_t pid;
    bool gone; /* at the last look */
} rota_fellow;

typedef struct rota_roster {
    int n;
    int dead; /* 1 + a rank that was found dead, or 0 */
    rota_fellow fellow[];
} rota_roster;

/* Returns 1 + a rank that was gone at this look and the one before, or 0. The last
 * message of a process that ends may be on its way at the first. */
int rota_roster_look(rota_roster *roster);

/* Has this process ended, in whatever way? */
bool rota_process_is_gone(int64_t pid);

#endif /* ROTA_ROSTER_H */
