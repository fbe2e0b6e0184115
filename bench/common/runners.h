/* runners.h - what can be timed: the entries of --algos. */
#ifndef BENCH_RUNNERS_H
#define BENCH_RUNNERS_H

#include "common/exchange.h"
#include "common/memory.h"
#include "common/spec.h"

#include <mpi.h>
#include <rota.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct runner runner;

enum { RUNNER_KEYS = 2 };

/* Functions return MPI_SUCCESS or an error code. */
typedef struct runner_ops {
    const char *name; /* NULL: any name, as the value of rota_algorithm */
    int kinds;        /* bits of bench_kind */
    bool device;      /* only for memory that the host must not touch */
    bool window;      /* only for memory that a node shares */
    /* Of parameters that are no hints, then NULL. */
    const char *keys[RUNNER_KEYS];
    const char *unavailable; /* NULL, or why this build does not have it */
    bool has_init;           /* setting up is worth a time of its own */
    int (*init)(runner *r, const exchange *x); /* collective; may be NULL */
    int (*run)(runner *r, const exchange *x);  /* start .. wait */
    int (*free)(runner *r);                    /* may be NULL */
    /* What must be done besides filling the send buffer; may be NULL. */
    void (*refresh)(runner *r, const exchange *x, uint64_t stamp);
} runner_ops;

/* What a run on a device consists of. Copies that go on beside the exchange
 * are in the latter. */
enum { PART_DOWN, PART_EXCHANGE, PART_UP, N_PARTS };

struct runner {
    const runner_ops *ops;
    const algo_spec *spec; /* borrowed */
    const bench_mem *mem;
    MPI_Info info; /* hints, owned; MPI_INFO_NULL if none */
    rota_plan *plan;
    MPI_Request request;
    unsigned char *source;           /* owned: of a bare copy */
    double lap_us, part_us[N_PARTS]; /* of the last run, where no plan says */
    MPI_Win window;                  /* of one-sided messages */
    int *there;                /* [P] owned: where this rank's blocks go */
    struct partners *partners; /* owned: of sparse exchanges */
    struct leaders *leaders;   /* owned: of [Peng21] as published */
    struct read_once *once;    /* owned: what must cross between cores */
};

/* Facts of a plan, the largest over all ranks; negative if not known. */
typedef struct runner_facts {
    double rounds, messages, scratch_bytes;
} runner_facts;

/* The operations for spec, NULL with the reason in error [errlen]. */
const runner_ops *runners_find(const algo_spec *spec, bench_kind kind,
                               const bench_mem *mem, char *error,
                               size_t errlen);

/* The value of --algos where none is given. */
const char *runners_default(bench_kind kind);

void runners_help(FILE *out);

/* Make a runner for spec, which must be one that runners_find finds, not yet
 * set up (ops->init). */
void runner_create(runner *r, const algo_spec *spec, bench_kind kind,
                   const bench_mem *mem);
void runner_destroy(runner *r);
/* The same for a runner whose set-up failed. */
void runner_abandon(runner *r);

/* What rota_plan_describe says of a plan, of a runner's: to be deleted by
 * cJSON_Delete. */
struct cJSON *plan_description(const rota_plan *plan);
struct cJSON *runner_description(const runner *r);

/* Microseconds of the parts of the last run on this rank, where memory is of a
 * device; negative if not known. */
void runner_parts(const runner *r, double part_us[N_PARTS]);

/* Collective over comm. */
void runner_describe(const runner *r, MPI_Comm comm, runner_facts *facts);

#endif
