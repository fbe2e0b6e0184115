/* device_cost.c - see device_cost.h. */
#include "choose/device_cost.h"

/* Count n blocks of a side, copied as one. */
static void count_side(const double bytes[], rota_block first, int n,
                       rota_terms *terms)
{
    double sum = 0;

    for (rota_block b = first; b < first + (rota_block)n; b++)
        sum += bytes[b];
    terms->n[ROTA_TERM_STAGED_SIDE] += sum > 0;
    terms->n[ROTA_TERM_STAGED_BYTE] += sum;
}

/* Receivers copy. For a block, the host moves only an entry of a line. */
static void count_ipc(const rota_sched *s, double bytes[], rota_terms *terms)
{
    enum { ENTRY = 128 };

    for (int q = 0; q < s->n_recv; q++) {
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
    count_side(bytes, rota_src(s, 0), s->n_send, terms);
    count_side(bytes, rota_dst(s, 0), s->n_recv, terms);
}

int rota_choice_count(const rota_choice *choice, bool on_device,
                      const rota_sched *s, double bytes[],
                      const rota_run_kind *how, rota_terms step[ROTA_STEPS])
{
    rota_terms copies = {{0}};

    if (on_device)
        rota_device_count(s, bytes, choice->device, &copies);
    ROTA_TRY(rota_cost_count(s, bytes, how, step));
    for (int t = 0; t < ROTA_N_TERMS; t++)
        step[0].n[t] += copies.n[t];
    return MPI_SUCCESS;
}
