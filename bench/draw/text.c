#include "draw/forms.h"

#include <stdio.h>
#include <string.h>

static void print_block(const drawing *d, int rank, rota_block from,
                        int to_rank, rota_block to)
{
    const int label = d->label[rank][from];
    char a[16], b[16];

    printf("  %d>%d %s-%s", label / d->P, label % d->P,
           draw_place(&d->sched[rank], from, a),
           draw_place(&d->sched[to_rank], to, b));
}

static void print_message(const drawing *d, const message *k)
{
    const rota_msgs *const out = &d->sched[k->src].msgs[ROTA_SEND];
    const rota_msgs *const in = &d->sched[k->dst].msgs[ROTA_RECV];
    const uint32_t a = out->msg[k->sent].first, b = in->msg[k->received].first;

    printf("  %2d -> %-2d ", k->src, k->dst);
    for (uint32_t i = 0; i < out->msg[k->sent + 1].first - a; i++)
        print_block(d, k->src, out->item[a + i], k->dst, in->item[b + i]);
    putchar('\n');
}

/* A rank's copies in a step, of phases with messages or of those without. */
static void print_copies(const drawing *d, int rank, int step, bool waits)
{
    const rota_sched *const s = &d->sched[rank];

    for (uint32_t p = 0; p < s->n_phases; p++) {
        bool any = false;
        for (uint32_t c = s->phase[p].copy; c < s->phase[p + 1].copy; c++) {
            if (!draw_copy(d, rank, p, c, step, waits))
                continue;
            if (!any)
                printf("  %2d copies", rank);
            any = true;
            print_block(d, rank, s->copy[c].from, rank, s->copy[c].to);
        }
        if (any)
            putchar('\n');
    }
}

static void print_step(const drawing *d, int step)
{
    if (step <= d->n_steps)
        printf("step %d\n", step);
    else
        puts("at the end");
    for (int q = 0; q < d->P; q++)
        if (draw_wanted(d, q))
            print_copies(d, q, step, false);
    if (draw_native(d, step))
        puts("  all ranks call the MPI library's all-to-all");
    for (size_t i = 0; i < d->n_messages; i++)
        if (draw_message(d, &d->message[i], step))
            print_message(d, &d->message[i]);
    for (int q = 0; q < d->P; q++)
        if (draw_wanted(d, q))
            print_copies(d, q, step, true);
}

void draw_text(const drawing *d)
{
    char title[160];

    draw_title(d, title, sizeof title);
    puts(title);
    for (int step = 1; step <= d->end; step++)
        print_step(d, step);
}
