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
    int (*free)(void **memory); /* collective likewise */
    /* Where the host must not touch this memory itself, else NULL: copies to
     * or from it, which are made on return, and memory of the host for them. */
    int (*copy)(void *to, const void *from, size_t bytes);
    int (*alloc_host)(size_t bytes, void **memory);
    int (*free_host)(void **memory);
    /* Where the ranks of a node reach each other's memory, else NULL: this rank's
     * address of what the rank of that number in the node got when this rank got
     * memory. */
    unsigned char *(*reach)(const void *memory, int local);
} bench_mem;

/* All kinds, ended by a row without a name; the first is the default. */
extern const bench_mem bench_mem_table[];

/* cuda_memory.c, or memory.c without CUDA. */
const char *cuda_unavailable(void);
int cuda_alloc(size_t bytes, MPI_Comm comm, void **memory);
int cuda_free(void **memory);
int cuda_copy(void *to, const void *from, size_t bytes);
int cuda_alloc_host(size_t bytes, void **memory); /* page-locked */
int cuda_free_host(void **memory);

#endif
