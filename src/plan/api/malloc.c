/* malloc.c - memory that a rank allocates by itself. Where there is no heap, or it
 * is full, it is ordinary memory; where it lies says which.
 */
#include "base/heap.h"
#include "exec/memory/local.h"
#include "plan/inside.h"

#include <errno.h>
#include <rota.h>
#include <stdlib.h>
#include <string.h>

static const rota_heap *open_heap(void)
{
    const char *why;

    return rota_local_open(&why);
}

/* The heap that p lies in; NULL: none. */
static const rota_heap *heap_of(const void *p)
{
    const rota_heap *const heap = rota_local_find();

    return heap && rota_heap_holds(heap, p) ? heap : NULL;
}

static void *from_heap(size_t bytes, size_t alignment, bool zeroed)
{
    const rota_heap *const heap = open_heap();

    return heap ? heap->alloc(bytes, alignment, zeroed) : NULL;
}

/* What C's malloc promises. */
enum { USUAL = _Alignof(max_align_t) };

void *rota_malloc(size_t bytes)
{
    void *const memory = from_heap(bytes, USUAL, false);

    return memory ? memory : malloc(bytes > 0 ? bytes : 1);
}

void *rota_calloc(size_t n, size_t bytes)
{
    if (bytes > 0 && n > SIZE_MAX / bytes) {
        errno = ENOMEM;
        return NULL;
    }
    const size_t all = n * bytes;
    void *const memory = from_heap(all, USUAL, true);
    return memory ? memory : calloc(all > 0 ? all : 1, 1);
}

void *rota_aligned_alloc(size_t alignment, size_t bytes)
{
    void *memory = NULL;

    if (alignment == 0 || (alignment & (alignment - 1)) != 0) {
        errno = EINVAL;
        return NULL;
    }
    alignment = alignment < USUAL ? USUAL : alignment;
    memory = from_heap(bytes, alignment, false);
    if (!memory)
        errno = posix_memalign(&memory, alignment, bytes > 0 ? bytes : 1);
    return memory;
}

/* The heap is full: go on in ordinary memory. */
static void *leave_heap(const rota_heap *heap, void *memory, size_t bytes)
{
    void *const now = malloc(bytes);

    if (!now)
        return NULL;
    const size_t before = heap->room(memory);
    memcpy(now, memory, before < bytes ? before : bytes);
    heap->release(memory);
    return now;
}

void *rota_realloc(void *ptr, size_t bytes)
{
    const rota_heap *const heap = ptr ? heap_of(ptr) : NULL;

    if (!ptr)
        return rota_malloc(bytes);
    bytes += bytes == 0;
    if (!heap)
        return realloc(ptr, bytes);
    void *const memory = heap->resize(ptr, bytes);
    return memory ? memory : leave_heap(heap, ptr, bytes);
}

void *rota_malloc_shared(size_t bytes)
{
    const rota_heap *const heap = rota_local_find();

    return heap ? heap->alloc(bytes, USUAL, false) : NULL;
}

bool rota_malloc_release(void *memory)
{
    const rota_heap *const heap = memory ? heap_of(memory) : NULL;

    if (heap)
        heap->release(memory);
    return heap != NULL;
}

void rota_free(void *ptr)
{
    if (!rota_malloc_release(ptr))
        free(ptr);
}

size_t rota_malloc_most(void)
{
    const rota_heap *const heap = rota_local_find();
    rota_heap_use use = {0};

    if (heap)
        heap->count(&use);
    return use.most;
}
