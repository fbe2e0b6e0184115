/* drawing.c - an exchange from the schedules of all its ranks.
 *
 * Blocks are followed through the schedules by label, from which rank to which
 * rank; schedules that are no all-to-all are refused. A message is drawn in the
 * step in which it can first happen, if every step takes the same time: no
 * rank begins a phase before it is through with the one before, a message needs
 * both its ends, and it goes neither in the step in which a block of it arrives
 * nor before those ahead of it to the same rank. Where all ranks have the same
 * phases, through which no data flow, these are the steps. Copies are drawn where
 * their phase begins or, if data flow through it, in the step after that in which
 * their block arrives.
 */
#include "draw/drawing.h"

#include "check/check.h"
#include "common/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- following blocks ---------------------------------------------------- */

static uint32_t phase_of(const rota_sched *s, rota_dir dir, uint32_t m)
{
    uint32_t p = 0;

    while (s->phase[p + 1].msg[dir] <= m)
        p++;
    return p;
}

/* The k-th message that rank dst receives from rank src. */
static uint32_t find_receive(const drawing *d, int src, int dst, uint32_t k)
{
    const rota_msgs *const l = &d->sched[dst].msgs[ROTA_RECV];

    for (uint32_t m = 0; m < l->n; m++)
        if (l->msg[m].peer == src && k-- == 0)
            return m;
    inside_die("rank %d does not receive what rank %d sends", dst, src);
}

static void pair_messages(drawing *d)
{
    uint32_t seen[DRAWING_MAX_RANKS];
    const message *last[DRAWING_MAX_RANKS];

    for (int q = 0; q < d->P; q++)
        d->n_messages += d->sched[q].msgs[ROTA_SEND].n;
    d->message = inside_must(calloc(d->n_messages + 1, sizeof *d->message));
    message *k = d->message;
    for (int q = 0; q < d->P; q++) {
        const rota_sched *const s = &d->sched[q];
        memset(seen, 0, sizeof seen);
        memset(last, 0, sizeof last);
        for (uint32_t m = 0; m < s->msgs[ROTA_SEND].n; m++, k++) {
            const int dst = s->msgs[ROTA_SEND].msg[m].peer;
            k->src = q;
            k->dst = dst;
            k->before = last[dst];
            last[dst] = k;
            k->sent = m;
            k->received = find_receive(d, q, dst, seen[dst]++);
            k->phase[ROTA_SEND] = phase_of(s, ROTA_SEND, m);
            k->phase[ROTA_RECV] =
                phase_of(&d->sched[dst], ROTA_RECV, k->received);
            k->native = s->phase[k->phase[ROTA_SEND]].native;
            d->n_native += k->native;
        }
    }
}

/* Pass a label on; true if it was not there yet. */
static bool pass(const int *from, int *to)
{
    const bool is_new = *from >= 0 && *to < 0;

    if (is_new)
        *to = *from;
    return is_new;
}

/* Numbers are written once, so passing labels on until nothing changes finds
 * them all, in whatever order. */
static void follow_blocks(drawing *d)
{
    for (int q = 0; q < d->P; q++) {
        const rota_block n = d->sched[q].n_blocks;
        d->label[q] = inside_must(malloc(n * sizeof *d->label[q]));
        for (rota_block b = 0; b < n; b++)
            d->label[q][b] = b < (rota_block)d->P ? q * d->P + (int)b : -1;
    }
    for (bool again = true; again;) {
        again = false;
        for (int q = 0; q < d->P; q++)
            for (uint32_t c = 0; c < d->sched[q].n_copies; c++) {
                const rota_copy k = d->sched[q].copy[c];
                again |= pass(&d->label[q][k.from], &d->label[q][k.to]);
            }
        for (size_t i = 0; i < d->n_messages; i++) {
            const message *const k = &d->message[i];
            const rota_msgs *const out = &d->sched[k->src].msgs[ROTA_SEND];
            const rota_msgs *const in = &d->sched[k->dst].msgs[ROTA_RECV];
            const uint32_t a = out->msg[k->sent].first;
            const uint32_t b = in->msg[k->received].first;
            for (uint32_t j = 0; j < out->msg[k->sent + 1].first - a; j++)
                again |= pass(&d->label[k->src][out->item[a + j]],
                              &d->label[k->dst][in->item[b + j]]);
        }
    }
}

/* ---- when ---------------------------------------------------------------- */

static int later(int a, int b)
{
    return a > b ? a : b;
}

bool draw_waits(const rota_sched *s, uint32_t p)
{
    return s->phase[p].native ||
           s->phase[p + 1].msg[ROTA_SEND] > s->phase[p].msg[ROTA_SEND] ||
           s->phase[p + 1].msg[ROTA_RECV] > s->phase[p].msg[ROTA_RECV];
}

/* Steps at which phases begin, from the steps of their messages. */
static void begin_phases(drawing *d, int *const end[])
{
    for (int q = 0; q < d->P; q++)
        for (uint32_t p = 0; p < d->sched[q].n_phases; p++) {
            const int before =
                p == 0 ? 1 : end[q][p - 1] + draw_waits(&d->sched[q], p - 1);
            d->begin[q][p] = later(d->begin[q][p], before);
            end[q][p] = later(end[q][p], d->begin[q][p]);
            d->end = later(d->end, end[q][p]);
        }
}

/* The first step in which all blocks of the message are at its source. */
static int blocks_are_there(const message *k, const rota_sched *s,
                            const int came[])
{
    const rota_msgs *const l = &s->msgs[ROTA_SEND];
    int step = 0;

    for (uint32_t i = l->msg[k->sent].first; i < l->msg[k->sent + 1].first; i++)
        step = later(step, came[l->item[i]] + 1);
    return step;
}

static void arrive(const message *k, const rota_sched *s, int came[])
{
    const rota_msgs *const l = &s->msgs[ROTA_RECV];

    for (uint32_t i = l->msg[k->received].first;
         i < l->msg[k->received + 1].first; i++)
        came[l->item[i]] = k->step;
}

/* end: [P][n_phases] step in which each phase ends; came: [P][n_blocks] step in
 * which each block arrives. True if some message is later than before. */
static bool move_messages(drawing *d, int *const end[], int *const came[])
{
    bool moved = false;

    for (size_t i = 0; i < d->n_messages; i++) {
        message *const k = &d->message[i];
        int *const a = &end[k->src][k->phase[ROTA_SEND]];
        int *const b = &end[k->dst][k->phase[ROTA_RECV]];
        int step = later(d->begin[k->src][k->phase[ROTA_SEND]],
                         d->begin[k->dst][k->phase[ROTA_RECV]]);
        step =
            later(step, blocks_are_there(k, &d->sched[k->src], came[k->src]));
        step = later(step, k->before ? k->before->step : 0);
        moved |= step != k->step;
        k->step = step;
        arrive(k, &d->sched[k->dst], came[k->dst]);
        *a = later(*a, step);
        *b = later(*b, step);
        d->n_steps = later(d->n_steps, step);
    }
    return moved;
}

/* came: [n_blocks] step in which each block arrives; 0: it does not. */
static void time_copies(drawing *d, int rank, const int came[])
{
    const rota_sched *const s = &d->sched[rank];

    d->copied[rank] =
        inside_must(calloc(s->n_copies + 1ul, sizeof *d->copied[rank]));
    for (uint32_t p = 0; p < s->n_phases; p++)
        for (uint32_t c = s->phase[p].copy; c < s->phase[p + 1].copy; c++) {
            const int there = s->phase[p].flow ? came[s->copy[c].from] + 1 : 0;
            d->copied[rank][c] = later(d->begin[rank][p], there);
            d->end = later(d->end, d->copied[rank][c]);
        }
}

static void find_steps(drawing *d)
{
    int *end[DRAWING_MAX_RANKS] = {NULL}, *came[DRAWING_MAX_RANKS] = {NULL};

    for (int q = 0; q < d->P; q++) {
        const size_t n = d->sched[q].n_phases + 1;
        d->begin[q] = inside_must(calloc(n, sizeof *d->begin[q]));
        end[q] = inside_must(calloc(n, sizeof *end[q]));
        came[q] = inside_must(calloc(d->sched[q].n_blocks, sizeof *came[q]));
    }
    do {
        begin_phases(d, end);
    } while (move_messages(d, end, came));
    for (int q = 0; q < d->P; q++) {
        time_copies(d, q, came[q]);
        free(end[q]);
        free(came[q]);
    }
}

/* ---- a drawing ----------------------------------------------------------- */

static void check(const drawing *d)
{
    const rota_sched *set[DRAWING_MAX_RANKS];

    for (int q = 0; q < d->P; q++)
        set[q] = &d->sched[q];
    if (rota_sched_check(set, d->P, NULL) != MPI_SUCCESS)
        inside_die("%s", rota_fail_text());
}

void drawing_make(drawing *d, const rota_hints *hints, int P, int node_size,
                  int only)
{
    const size_t n = (size_t)P;
    rota_topo topo = inside_topo(P, node_size);

    *d = (drawing){.P = P, .only = only};
    d->sched = inside_must(calloc(n, sizeof *d->sched));
    d->label = inside_must(calloc(n, sizeof *d->label));
    d->begin = inside_must(calloc(n, sizeof *d->begin));
    d->copied = inside_must(calloc(n, sizeof *d->copied));
    for (int q = 0; q < d->P; q++)
        inside_build(hints, &topo, q, &d->sched[q], &d->choice);
    check(d);
    pair_messages(d);
    follow_blocks(d);
    find_steps(d);
    rota_topo_free(&topo);
}

void drawing_free(drawing *d)
{
    for (int q = 0; q < d->P; q++) {
        rota_sched_free(&d->sched[q]);
        free(d->label[q]);
        free(d->begin[q]);
        free(d->copied[q]);
    }
    free(d->sched);
    free(d->label);
    free(d->begin);
    free(d->copied);
    free(d->message);
}

/* ---- facts ----------------------------------------------------------------- */

const char *draw_place(const rota_sched *s, rota_block b, char text[])
{
    const unsigned slot = rota_block_slot(s, b);

    if (b < (rota_block)s->P)
        return "S";
    if (b < 2 * (rota_block)s->P)
        return "R";
    snprintf(text, 16, "%c%u", rota_block_region(s, b) == ROTA_TMP ? 't' : 'r',
             slot);
    return text;
}

static void add_param(char *text, size_t size, const char *name, int value)
{
    const size_t used = strlen(text);

    snprintf(text + used, size - used, ", %s %d", name, value);
}

void draw_title(const drawing *d, char *text, size_t size)
{
    const rota_choice *const c = &d->choice;
    char params[60] = "";
    uint32_t slots = 0;

    for (int i = 0; i < ROTA_N_PARAMS; i++)
        if (c->algo->params & rota_param_table[i].bit)
            add_param(params, sizeof params, rota_param_table[i].name,
                      rota_param_value(&c->params, &rota_param_table[i]));
    for (int q = 0; q < d->P; q++)
        slots = d->sched[q].n_slots > slots ? d->sched[q].n_slots : slots;
    snprintf(text, size, "%s%s, %d ranks: %d steps, %zu messages, %u slots",
             c->algo->name, params, d->P, d->n_steps,
             d->n_messages - d->n_native, (unsigned)slots);
}

bool draw_native(const drawing *d, int step)
{
    for (size_t i = 0; i < d->n_messages; i++)
        if (d->message[i].native && d->message[i].step == step)
            return true;
    return false;
}
