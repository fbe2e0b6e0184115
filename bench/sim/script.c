#include "sim/script.h"

#include <stdlib.h>

static void add(sim_script *k, uint32_t *room, sim_step step)
{
    if (k->n_steps == *room) {
        *room = *room ? 2 * *room : 64;
        k->step = inside_must(realloc(k->step, *room * sizeof *k->step));
    }
    k->step[k->n_steps++] = step;
}

/* ---- what is told -------------------------------------------------------- */

/* Sizes that go with receive m of representative r. */
static uint32_t cells_of(const sim_case *c, const sim_traffic *t,
                         const rota_choice *choice, int r, uint32_t m)
{
    const sim_rep *const rep = &t->rep[r];
    const rota_msgs *const l = &rep->s.msgs[ROTA_RECV];
    const bool near = t->topo->node[l->msg[m].peer] == t->topo->node[r];
    const bool counted = c->kind != ROTA_EXCHANGE;
    uint32_t n = l->msg[m + 1].first - l->msg[m].first;

    if (choice->metadata == ROTA_META_ONCE || (c->form.within_told && !near) ||
        (c->shared && near && l->msg[m].handed))
        return 0;
    if (c->form.all_told)
        return n;
    if (counted && rota_msg_is_direct(&rep->s, ROTA_RECV, m))
        return 0;
    uint32_t land = 0;
    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
        land += c->known && c->kind == ROTA_VARYING && rep->mark[i] & SIM_LANDS;
    return land > 1 ? n - land + 1 : n;
}

/* ---- what copies do instead ---------------------------------------------- */

/* Members hand nothing over: leaders read their memory. */
static void drop_within(const sim_traffic *t, int r, sim_script *k)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const rota_msgs *const l = &t->rep[r].s.msgs[dir];
        k->dropped[dir] = inside_must(malloc(l->n + 1ul));
        for (uint32_t m = 0; m < l->n; m++)
            k->dropped[dir][m] =
                t->topo->node[l->msg[m].peer] == t->topo->node[r];
    }
}

static bool is_empty(const rota_phase *p, const sim_script *k)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = p->msg[dir]; m < p[1].msg[dir]; m++)
            if (!k->dropped[dir] || !k->dropped[dir][m])
                return false;
    return k->dropped[0] || p->copy == p[1].copy;
}

/* ---- steps --------------------------------------------------------------- */

/* Log P rounds of one cell each: a reduction, or a barrier. */
static void add_rounds(const sim_traffic *t, sim_script *k, uint32_t *room)
{
    for (uint32_t d = 1; d < (uint32_t)t->P; d *= 2)
        add(k, room, (sim_step){.kind = SIM_REDUCE, .phase = d});
}

static void add_phase(const sim_case *c, const rota_choice *choice,
                      const rota_phase *p, uint32_t number, sim_script *k,
                      uint32_t *room)
{
    const bool told = choice->metadata != ROTA_META_ONCE;

    if (p->native)
        inside_die("%s is up to the MPI library: name what it does, such as "
                   "mpich_scattered",
                   choice->algo->name);
    if (is_empty(p, k))
        return;
    if (p->flow)
        add(k, room, (sim_step){.kind = SIM_FLOW, .phase = number});
    else if (p->window > 0)
        add(k, room, (sim_step){.kind = SIM_WINDOW, .phase = number});
    else if (!told || !c->form.heads_apart)
        add(k, room, (sim_step){.kind = SIM_WHOLE, .phase = number});
    else {
        add(k, room, (sim_step){.kind = SIM_HEADS, .phase = number});
        add(k, room, (sim_step){.kind = SIM_BLOCKS, .phase = number});
    }
}

/* Leaders read what they send, transpose it, exchange, and write what comes:
 * in steps, or each matrix by itself as it is sent and received. */
static void add_pulled(const sim_case *c, const sim_step *matrices,
                       sim_script *k, uint32_t *room)
{
    const int times = c->form.overlapped ? 0 : 2;

    add(k, room, (sim_step){.kind = SIM_NODE});
    add(k, room,
        (sim_step){.kind = SIM_COPY, .copied = SIM_OUTBOUND, .times = times});
    if (matrices)
        add(k, room, *matrices);
    add(k, room,
        (sim_step){.kind = SIM_COPY, .copied = SIM_INBOUND, .times = times});
    add(k, room, (sim_step){.kind = SIM_NODE});
}

static void number_receives(const sim_traffic *t, int r, sim_script *k)
{
    const rota_sched *const s = &t->rep[r].s;

    for (uint32_t i = 0; i < k->n_steps; i++) {
        const uint32_t p = k->step[i].phase;
        if (k->step[i].kind >= SIM_REDUCE)
            continue;
        for (uint32_t m = s->phase[p].msg[ROTA_RECV];
             m < s->phase[p + 1].msg[ROTA_RECV]; m++)
            k->step_of[m] = i; /* blocks come in the later one */
    }
}

static void add_steps(const sim_case *c, const sim_traffic *t,
                      const rota_choice *choice, int r, sim_script *k)
{
    const rota_sched *const s = &t->rep[r].s;
    uint32_t room = 0;

    if (c->form.reduced)
        add_rounds(t, k, &room);
    for (uint32_t p = 0; p < s->n_phases; p++)
        add_phase(c, choice, &s->phase[p], p, k, &room);
    if (c->form.pulled) {
        const sim_step matrices = k->n_steps ? k->step[0] : (sim_step){0};
        const bool any = k->n_steps > 0;
        k->n_steps = 0;
        add_pulled(c, any ? &matrices : NULL, k, &room);
    }
    if (c->form.scanned || c->kind == ROTA_EXCHANGE)
        add(k, &room,
            (sim_step){.kind = SIM_COPY, .copied = SIM_RECEIVED, .times = 1});
}

sim_script sim_script_make(const sim_case *c, const sim_traffic *t,
                           const rota_choice *choice, int r)
{
    const uint32_t n = t->rep[r].s.msgs[ROTA_RECV].n;
    sim_script k = {0};

    k.step_of = inside_must(calloc(n + 1ul, sizeof *k.step_of));
    k.cells = inside_must(calloc(n + 1ul, sizeof *k.cells));
    for (uint32_t m = 0; m < n; m++)
        k.cells[m] = cells_of(c, t, choice, r, m);
    if (c->form.pulled)
        drop_within(t, r, &k);
    add_steps(c, t, choice, r, &k);
    number_receives(t, r, &k);
    return k;
}

void sim_script_free(sim_script *k)
{
    free(k->step);
    free(k->step_of);
    free(k->cells);
    free(k->dropped[0]);
    free(k->dropped[1]);
}
