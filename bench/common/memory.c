#include "common/memory.h"

#include <rota.h>
#include <stdlib.h>

/* Blocks begin at multiples of 8 from here; a cache line keeps the first one
 * from depending on what was allocated before. */
#define ALIGNMENT ((size_t)64)

static int malloc_alloc(size_t bytes, MPI_Comm comm, void **memory)
{
    (void)comm;
    *memory =
        aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT);
    return *memory != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static int malloc_free(void **memory)
{
    free(*memory);
    *memory = NULL;
    return MPI_SUCCESS;
}

static int heap_alloc(size_t bytes, MPI_Comm comm, void **memory)
{
    return rota_mem_alloc(bytes, comm, MPI_INFO_NULL, memory);
}

static int heap_free(void **memory)
{
    return rota_mem_free(memory);
}

#ifndef ROTA_HAVE_CUDA
const char *cuda_unavailable(void)
{
    return "this build has no CUDA";
}

int cuda_alloc(size_t bytes, MPI_Comm comm, void **memory)
{
    (void)bytes;
    (void)comm;
    (void)memory;
    return MPI_ERR_OTHER;
}

int cuda_free(void **memory)
{
    (void)memory;
    return MPI_ERR_OTHER;
}

int cuda_copy(void *to, const void *from, size_t bytes)
{
    (void)to;
    (void)from;
    (void)bytes;
    return MPI_ERR_OTHER;
}

int cuda_alloc_host(size_t bytes, void **memory)
{
    (void)bytes;
    (void)memory;
    return MPI_ERR_OTHER;
}

int cuda_free_host(void **memory)
{
    (void)memory;
    return MPI_ERR_OTHER;
}
#endif

const bench_mem bench_mem_table[] = {
    {.name = "malloc", .alloc = malloc_alloc, .free = malloc_free},
    {.name = "heap", .alloc = heap_alloc, .free = heap_free},
    {.name = "cuda",
     .unavailable = cuda_unavailable,
     .alloc = cuda_alloc,
     .free = cuda_free,
     .copy = cuda_copy,
     .alloc_host = cuda_alloc_host,
     .free_host = cuda_free_host},
    {.name = NULL},
};
