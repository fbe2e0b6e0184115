#include "common/memory.h"

#include "common/util.h"

#include <rota.h>
#include <stdlib.h>

/* Blocks begin at multiples of 8 from here; a cache line keeps the first one
 * from depending on what was allocated before. */
#define ALIGNMENT ((size_t)64)
#define PAGE ((size_t)4096)

/* Multiples of the alignment, at least one. */
static size_t rounded(size_t bytes)
{
    return (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
}

static int malloc_alloc(size_t bytes, MPI_Comm comm, void **memory)
{
    (void)comm;
    *memory = aligned_alloc(ALIGNMENT, rounded(bytes));
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

static int local_alloc(size_t bytes, MPI_Comm comm, void **memory)
{
    (void)comm;
    *memory = rota_aligned_alloc(ALIGNMENT, rounded(bytes));
    return *memory != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

static int local_free(void **memory)
{
    rota_free(*memory);
    *memory = NULL;
    return MPI_SUCCESS;
}

/* ---- memory that a node shares ------------------------------------------- */

typedef struct shared_window {
    MPI_Win window;
    unsigned char *first; /* of all parts */
    size_t part;          /* bytes of each rank, in order */
    unsigned char *mine;
    struct shared_window *next;
} shared_window;

static shared_window *windows;

static shared_window **find_window(const void *memory)
{
    shared_window **w = &windows;

    while (*w != NULL && (*w)->mine != memory)
        w = &(*w)->next;
    return w;
}

/* The first rank has the memory of all: libraries differ in how they lay out parts of
 * unequal sizes. */
static int allocate_parts(shared_window *w, size_t bytes, MPI_Comm node)
{
    MPI_Aint part = (MPI_Aint)((bytes + PAGE) / PAGE * PAGE), all;
    int err, unit, me, n;

    err = MPI_Allreduce(MPI_IN_PLACE, &part, 1, MPI_AINT, MPI_MAX, node);
    if (err != MPI_SUCCESS)
        return err;
    MPI_Comm_rank(node, &me);
    MPI_Comm_size(node, &n);
    err = MPI_Win_allocate_shared(me == 0 ? n * part : 0, 1, MPI_INFO_NULL,
                                  node, &w->first, &w->window);
    if (err != MPI_SUCCESS)
        return err;
    w->part = (size_t)part;
    err = MPI_Win_shared_query(w->window, 0, &all, &unit, &w->first);
    w->mine = w->first + (size_t)me * w->part;
    return err;
}

static int window_alloc(size_t bytes, MPI_Comm comm, void **memory)
{
    shared_window *const w = bench_calloc(1, sizeof *w);
    MPI_Comm node;
    int err = MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                                  &node);

    if (err != MPI_SUCCESS) {
        free(w);
        return err;
    }
    err = allocate_parts(w, bytes, node);
    MPI_Comm_free(&node);
    w->next = windows;
    windows = w;
    *memory = w->mine;
    return err;
}

static int window_free(void **memory)
{
    shared_window **const at = find_window(*memory), *const w = *at;
    const int err = MPI_Win_free(&w->window);

    *at = w->next;
    free(w);
    *memory = NULL;
    return err;
}

static unsigned char *window_reach(const void *memory, int local)
{
    const shared_window *const w = *find_window(memory);

    return w->first + (size_t)local * w->part;
}

/* ---- a device ------------------------------------------------------------ */

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
    {.name = "local", .alloc = local_alloc, .free = local_free},
    {.name = "window",
     .alloc = window_alloc,
     .free = window_free,
     .reach = window_reach},
    {.name = "cuda",
     .unavailable = cuda_unavailable,
     .alloc = cuda_alloc,
     .free = cuda_free,
     .copy = cuda_copy,
     .alloc_host = cuda_alloc_host,
     .free_host = cuda_free_host},
    {.name = NULL},
};
