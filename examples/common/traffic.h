/* traffic.h - what an application would send at a number of ranks that are not
 * there, written as ROTA_RECORD writes it (src/plan/kinds/record.h), all ranks in one
 * file: for rota-price --replay and, with as many ranks, rota-bench. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "pairs.h"

/* What goes in an exchange: pair_pack(from, to), sorted, as often as there is
 * something of unit bytes. */
typedef struct {
    int P;
    size_t unit, n_steps;
    const u64_vec *step; /* [n_steps] */
} traffic;

/* Make a folder if there is none. 0, or EXIT_WRONG after saying what is wrong. */
int traffic_folder(const char *path);

/* Write FOLDER/0.rota, and FOLDER if there is none; as above. */
int traffic_save(const traffic *t, const char *folder);

#endif
