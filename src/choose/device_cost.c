/* device_cost.c - see device_cost.h. */
#include "choose/device_cost.h"

/* P blocks, all as one. */
static void count_side(const rota_sched *s, const double bytes[],
                       rota_block first, rota_terms *terms)
{
    double sum = 0;

    for (rota_block b = first; b < first + (rota_block)s->P; b++)
        sum += bytes[b];
    terms->n[ROTA_TERM_STAGED_SIDE] += sum > 0;
    terms->n[ROTA_TERM_STAGED_BYTE] += sum;
}

/* Receivers copy. What the host moves for a block is an entry of a line. */
static void count_ipc(const rota_sched *s, double bytes[], rota_terms *terms)
{
    enum { ENTRY = 128 };

    for (int q = 0; q < s->P; q++) {
        double *const here = &bytes[rota_dst(s, q)];
        terms->n[ROTA_TERM_DEVICE_COPY] += *here > 0;
        terms->n[ROTA_TERM_DEVICE_BYTE] += *here;
    }
    for (rota_block b = 0; b < s->n_blocks; b++)
        bytes[b] = bytes[b] > 0 ? ENTRY : 0;
}

void rota_device_count(const rota_sched *s, double bytes[],
                       rota_device_path path, rota_terms *terms)
{
    if (path == ROTA_DEVICE_IPC) {
        count_ipc(s, bytes, terms);
        return;
    }
    count_side(s, bytes, rota_src(s, 0), terms);
    count_side(s, bytes, rota_dst(s, 0), terms);
}
