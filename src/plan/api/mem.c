/* mem.c - memory for the caller's buffers. */
#include "plan/api/mem.h"
#include "plan/ranks/agree.h"
#include "plan/ranks/node.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <utlist.h>

/* Without shared memory, buffers are the process's own. */
typedef struct private_buffer {
    void *memory;
    struct private_buffer *next;
} private_buffer;

static private_buffer *private_buffers; /* guarded by the lock */
static pthread_mutex_t private_lock = PTHREAD_MUTEX_INITIALIZER;

static void *allocate_private(size_t bytes)
{
    enum { PAGE = 4096 };
    private_buffer *const b = malloc(sizeof *b);
    void *const memory =
        bytes > SIZE_MAX - PAGE
            ? NULL
            : aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);

    if (!b || !memory) {
        free(b);
        free(memory);
        return NULL;
    }
    b->memory = memory;
    pthread_mutex_lock(&private_lock);
    LL_PREPEND(private_buffers, b);
    pthread_mutex_unlock(&private_lock);
    return memory;
}

static bool free_private(void *memory)
{
    private_buffer *b;

    pthread_mutex_lock(&private_lock);
    LL_SEARCH_SCALAR(private_buffers, b, memory, memory);
    if (b)
        LL_DELETE(private_buffers, b);
    pthread_mutex_unlock(&private_lock);
    if (!b)
        return false;
    free(b->memory);
    free(b);
    return true;
}

/* Open the node. Either all ranks share memory with their nodes, or none
 * does. */
static int open_node(rota_comm *c, MPI_Info info, int status)
{
    rota_hints hints = {0};
    rota_alike alike = {0};
    rota_vote vote = {.alike = &alike};

    if (status == MPI_SUCCESS)
        status = rota_hints_read(info, &hints);
    rota_alike_add(&alike, "rota_intranode", hints.intranode);
    ROTA_TRY(rota_agree(c, status, &vote));
    return hints.intranode == ROTA_INTRANODE_P2P ? MPI_SUCCESS
                                                 : rota_comm_open_node(c);
}

int rota_mem_make(rota_comm *c, size_t bytes, MPI_Info info, int status,
                  void **memory)
{
    *memory = NULL;
    ROTA_TRY(open_node(c, info, status));
    bytes += bytes == 0;
    if (c->node)
        *memory = rota_arena_alloc(bytes);
    if (!*memory)
        *memory = allocate_private(bytes);
    status = *memory ? MPI_SUCCESS : rota_fail_mem("a buffer");
    status = rota_agree(c, status, NULL);
    if (status == MPI_SUCCESS)
        rota_comm_update_node(c); /* ranks that cannot map it get copies */
    else if (*memory)
        rota_mem_destroy(*memory);
    return status;
}

int rota_mem_destroy(void *memory)
{
    if (!memory || rota_arena_free(memory) || free_private(memory))
        return MPI_SUCCESS;
    return rota_fail(MPI_ERR_ARG, "%p is not of rota_mem_alloc", memory);
}
