/* deal.c - see deal.h. */
#include "deal.h"

#include "must.h"
#include "options.h"

#include <stdlib.h>
#include <string.h>

/* Edges in one broadcast: 8 MiB. */
#define CHUNK_EDGES ((size_t)1 << 20)

int deal_check(const deal_source *from)
{
    if (from->file == NULL && from->generate == NULL)
        return usage_error("no graph given");
    if (from->file != NULL && from->generate != NULL)
        return usage_error("both a file and --generate given");
    return 0;
}

const char *deal_name(const deal_source *from)
{
    return from->file != NULL ? from->file : from->generate;
}

int deal_load(const deal_source *from, MPI_Comm comm, graph *g)
{
    char error[GRAPH_ERROR_BYTES] = "";
    int me, err = 0;

    *g = (graph){0};
    MUST(MPI_Comm_rank(comm, &me));
    if (me == 0) {
        err = from->file != NULL ? graph_read(from->file, g, error)
                                 : graph_generate(from->generate, g, error);
        if (err != 0)
            complain("%s", error);
    }
    MUST(MPI_Bcast(&err, 1, MPI_INT, 0, comm));
    return err != 0 ? EXIT_WRONG : 0;
}

void deal_sizes(const graph *g, MPI_Comm comm, uint64_t size[2])
{
    int me;

    MUST(MPI_Comm_rank(comm, &me));
    size[0] = me == 0 ? g->n_vertices : 0;
    size[1] = me == 0 ? g->edges.n : 0;
    MUST(MPI_Bcast(size, 2, MPI_UINT64_T, 0, comm));
}

void deal_edges(const graph *g, MPI_Comm comm,
                void (*take)(void *to, const uint64_t *edges, size_t n),
                void *to)
{
    uint64_t *chunk = must_realloc(NULL, CHUNK_EDGES, sizeof chunk[0]);
    uint64_t size[2];
    int me;

    MUST(MPI_Comm_rank(comm, &me));
    deal_sizes(g, comm, size);
    for (size_t done = 0; done < size[1]; done += CHUNK_EDGES) {
        const size_t left = (size_t)size[1] - done;
        const size_t n = left < CHUNK_EDGES ? left : CHUNK_EDGES;

        if (me == 0)
            memcpy(chunk, g->edges.at + done, n * sizeof chunk[0]);
        MUST(MPI_Bcast(chunk, (int)n, MPI_UINT64_T, 0, comm));
        take(to, chunk, n);
    }
    free(chunk);
}
