/* sizes.c - see sizes.h. */
#include "exec/run/sizes.h"

#include <stdlib.h>

int rota_sizes_init(rota_sizes *z, const rota_sched *s, MPI_Comm comm, int tag,
                    const size_t send_bytes[])
{
    const size_t n = s->n_blocks;

    *z = (rota_sizes){.x = {.blocks = {.s = s}, .comm = comm, .tag = tag}};
    z->cell = calloc(2 * n, sizeof *z->cell);
    z->offset = malloc(n * sizeof *z->offset);
    if (!z->cell || !z->offset) {
        rota_sizes_free(z);
        return rota_fail_mem("the sizes of blocks");
    }
    size_t *const width = z->cell + n;
    for (size_t b = 0; b < n; b++) {
        width[b] = sizeof *z->cell;
        z->offset[b] = (ptrdiff_t)(b * sizeof *z->cell);
    }
    for (int d = 0; d < s->n_send; d++)
        z->cell[rota_src(s, d)] = send_bytes[d];
    z->x.blocks.bytes = width;
    z->x.blocks.offset = z->offset;
    for (int region = 0; region < ROTA_N_REGIONS; region++) {
        z->x.blocks.base[region] = (char *)z->cell;
        z->x.blocks.types[region] = rota_types_bytes;
    }
    const int err = rota_exec_bind(&z->x);
    if (err != MPI_SUCCESS)
        rota_sizes_free(z);
    return err;
}

void rota_sizes_free(rota_sizes *z)
{
    rota_exec_unbind(&z->x);
    free(z->cell);
    free(z->offset);
    z->cell = NULL;
    z->offset = NULL;
}

/* ---- labels -------------------------------------------------------------- */

void rota_sizes_label(int P, int me, size_t send_bytes[])
{
    for (int d = 0; d < P; d++)
        send_bytes[d] = (size_t)me * (size_t)P + (size_t)d;
}

/* Find the blocks of message m whose destination is the receiver. */
static void find_landing(const rota_sizes *z, rota_dir dir, uint32_t m,
                         rota_block landing[])
{
    const rota_sched *const s = z->x.blocks.s;
    const rota_msgs *const l = &s->msgs[dir];
    const size_t P = (size_t)s->P;
    const size_t to = (size_t)(dir == ROTA_SEND ? l->msg[m].peer : s->me);
    const uint32_t begin = l->msg[m].first, end = l->msg[m + 1].first;
    uint32_t n = 0;

    for (uint32_t i = begin; i < end; i++)
        n += z->cell[l->item[i]] % P == to;
    for (uint32_t i = begin; i < end; i++) {
        const size_t label = z->cell[l->item[i]];
        landing[i] =
            n > 1 && label % P == to ? rota_dst(s, (int)(label / P)) : 0;
    }
}

int rota_sizes_landing(const rota_sizes *z, rota_block *landing[ROTA_N_DIRS])
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const rota_msgs *const l = &z->x.blocks.s->msgs[dir];
        landing[dir] = calloc(l->n_items + (size_t)1, sizeof *landing[dir]);
        if (!landing[dir])
            return rota_fail_mem("which blocks land");
        for (uint32_t m = 0; m < l->n; m++)
            find_landing(z, (rota_dir)dir, m, landing[dir]);
    }
    return MPI_SUCCESS;
}
