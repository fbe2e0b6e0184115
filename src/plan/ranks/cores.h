/* cores.h - the cores of this machine, without hwloc. */
#ifndef ROTA_CORES_H
#define ROTA_CORES_H

/* How many there are, if that is easily told: the machine has one NUMA node, this
 * process may use all of its processors, whatever its threads are bound to, and hwloc
 * is not told to describe another. 0: ask hwloc. Local. */
int rota_cores_count(void);

#endif /* ROTA_CORES_H */
