/* memory.h - where the user's buffers come from (--mem). */
#ifndef BENCH_MEMORY_H
#define BENCH_MEMORY_H

#include <mpi.h>
#include <stddef.h>

typedef struct bench_mem {
    const char *name;
    /* NULL, or why there is none here. NULL itself: there always is. */
    const char *(*unavailable)(void);
    /* Collective over comm. Alignment is at least 64 bytes. */
    int (*alloc)(size_t bytes, MPI_Comm comm, void **memory);
    int (*free)(void **memory);
    /* To or from memory of this kind and the host's, where the host must not
     * touch it itself; else NULL. */
    int (*copy)(void *to, const void *from, size_t bytes);
} bench_mem;

/* All kinds, ended by a row without a name; the first is the default. */
extern const bench_mem bench_mem_table[];

/* cuda_memory.c, or memory.c without CUDA. */
const char *cuda_unavailable(void);
int cuda_alloc(size_t bytes, MPI_Comm comm, void **memory);
int cuda_free(void **memory);
int cuda_copy(void *to, const void *from, size_t bytes);

#endif
