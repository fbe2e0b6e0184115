/* inside.h - what the tools share that look inside the library: algorithms by
 * name, their schedules and topologies, without MPI. */
#ifndef BENCH_INSIDE_H
#define BENCH_INSIDE_H

#include "base/crossing.h"
#include "choose/candidates.h"

/* Print "PROGRAM: text" and exit with 1. */
_Noreturn void inside_die(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* p, or die for want of memory. */
void *inside_must(void *p);

/* An int that is not below least; name is the option's, for the error. */
int inside_int(const char *name, const char *text, int least);

/* "NAME", or "NAME:radix=R:batch=B:leaders=L:metadata=HOW" with any of them; text
 * is cut up. */
rota_hints inside_parse(char *text);

/* Likewise, whatever NAME is. */
rota_hints inside_parse_as(const rota_algo *algo, char *text);

/* Ranks in order, node_size to a node; 0 for all on one. Free with
 * rota_topo_free. */
rota_topo inside_topo(int P, int node_size);

/* The schedule of rank me, as a plan for fixed counts would have it built.
 * choice receives the parameters that were used. */
void inside_build(const rota_hints *hints, const rota_topo *topo, int me,
                  rota_sched *s, rota_choice *choice);

/* As a plan of that kind would, whose blocks have at most max_block bytes. */
void inside_build_kind(const rota_hints *hints, const rota_topo *topo,
                       rota_kind kind, size_t max_block, int me, rota_sched *s,
                       rota_choice *choice);

/* As a plan for fixed counts among neighbours would. neighbors, crossing: of rank
 * me, kept until s is freed. */
void inside_build_among(const rota_hints *hints, const rota_topo *topo,
                        const rota_neighbors *neighbors,
                        const rota_crossing *crossing, int me, rota_sched *s,
                        rota_choice *choice);

#endif
