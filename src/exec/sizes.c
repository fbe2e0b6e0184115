/* sizes.c - see sizes.h. */
#include "exec/sizes.h"

#include <stdlib.h>

int rota_sizes_init(rota_sizes *z, const rota_sched *s, MPI_Comm comm, int tag,
                    const size_t send_bytes[])
{
    const size_t n = s->n_blocks;

    *z = (rota_sizes){.x = {.s = s, .comm = comm, .tag = tag}};
    z->cell = calloc(n, sizeof *z->cell);
    z->width = malloc(n * sizeof *z->width);
    z->offset = malloc(n * sizeof *z->offset);
    if (!z->cell || !z->width || !z->offset) {
        rota_sizes_free(z);
        return rota_fail_mem("the sizes of blocks");
    }
    for (size_t b = 0; b < n; b++) {
        z->width[b] = sizeof *z->cell;
        z->offset[b] = (ptrdiff_t)(b * sizeof *z->cell);
    }
    for (int d = 0; d < s->P; d++)
        z->cell[rota_src(s, d)] = send_bytes[d];
    z->x.bytes = z->width;
    z->x.offset = z->offset;
    for (int region = 0; region < ROTA_N_REGIONS; region++) {
        z->x.base[region] = (char *)z->cell;
        z->x.type[region] = (rota_type){MPI_BYTE, 1, 1};
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
    free(z->width);
    free(z->offset);
    z->cell = NULL;
    z->width = NULL;
    z->offset = NULL;
}
