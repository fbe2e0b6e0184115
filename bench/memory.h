/* memory.h - where the user's buffers come from (--mem). */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <mpi.h>
#include <stddef.h>

typedef struct bench_mem {
    const char *name;
    const char *unavailable; /* NULL, or why this build does not have it */
    /* Collective over comm. Alignment is at least 64 bytes. */
    int (*alloc)(size_t bytes, MPI_Comm comm, void **memory);
    int (*free)(void **memory);
} bench_mem;

/* All kinds, ended by a row without a name; the first is the default. */
extern const bench_mem bench_mem_table[];

#endif
