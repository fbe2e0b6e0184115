/* launched.h - what the launcher of a program tells about the node. */
#ifndef ROTA_LAUNCHED_H
#define ROTA_LAUNCHED_H

/* Ranks of the whole program on this node; 0: the launcher does not tell. */
int rota_ranks_launched(void);

/* These for each processor of the node, at least 1. Known before hwloc has been
 * loaded, which takes milliseconds. */
double rota_ranks_per_core(void);

#endif /* ROTA_LAUNCHED_H */
