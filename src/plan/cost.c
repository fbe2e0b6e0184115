/* cost.c - counting the terms of a schedule, and their prices. */
#include "plan/cost.h"

#include <math.h>

/* In the order of rota_link and rota_per_link, and then of the other terms. */
static const char *const names[ROTA_N_TERMS] = {
#define LINK(link)                                                             \
    link "_per_phase", link "_per_message", link "_per_byte",                  \
        link "_per_long_message", link "_per_long_byte"
    LINK("domain"),
    LINK("node"),
    LINK("p2p"),
    LINK("net"),
    LINK("native_node"),
    LINK("native_net"),
#undef LINK
    "start",
    "posted",
    "copied_block",
    "copied_byte",
    "switch",
    "switch_mpi",
    "switch_native",
    "device_copy",
    "device_byte",
    "staged_side",
    "staged_byte",
};

const char *rota_term_name(int term)
{
    return names[term];
}

/* Estimates, for where nobody has measured: within a node near what plans took
 * on a machine with 2 cores, between nodes a network of 100 Gbit/s; devices
 * 200 GB/s apart, and 25 GB/s from the host. */
#define AT(link, what) [ROTA_LINK_##link * ROTA_N_PER_LINK + ROTA_PER_##what]
const rota_machine rota_machine_usual = {
    .ns = {
        AT(DOMAIN, PHASE) = 100,
        AT(DOMAIN, MESSAGE) = 30,
        AT(DOMAIN, BYTE) = 0.15,
        AT(DOMAIN, LONG_MESSAGE) = 300,
        AT(DOMAIN, LONG_BYTE) = 0.12,
        AT(NODE, PHASE) = 150,
        AT(NODE, MESSAGE) = 45,
        AT(NODE, BYTE) = 0.2,
        AT(NODE, LONG_MESSAGE) = 400,
        AT(NODE, LONG_BYTE) = 0.16,
        AT(P2P, PHASE) = 250,
        AT(P2P, MESSAGE) = 50,
        AT(P2P, BYTE) = 0.2,
        AT(P2P, LONG_MESSAGE) = 3000,
        AT(P2P, LONG_BYTE) = 0.2,
        AT(NET, PHASE) = 1500,
        AT(NET, MESSAGE) = 200,
        AT(NET, BYTE) = 0.1,
        AT(NET, LONG_MESSAGE) = 1500,
        AT(NET, LONG_BYTE) = 0.1,
        AT(NATIVE_NODE, PHASE) = 300,
        AT(NATIVE_NODE, MESSAGE) = 120,
        AT(NATIVE_NODE, BYTE) = 0.2,
        AT(NATIVE_NODE, LONG_MESSAGE) = 3000,
        AT(NATIVE_NODE, LONG_BYTE) = 0.2,
        AT(NATIVE_NET, PHASE) = 1700,
        AT(NATIVE_NET, MESSAGE) = 350,
        AT(NATIVE_NET, BYTE) = 0.1,
        AT(NATIVE_NET, LONG_MESSAGE) = 1500,
        AT(NATIVE_NET, LONG_BYTE) = 0.1,
        [ROTA_TERM_START] = 60,
        [ROTA_TERM_POSTED] = 50,
        [ROTA_TERM_COPIED_BLOCK] = 8,
        [ROTA_TERM_COPIED_BYTE] = 0.08,
        [ROTA_TERM_SWITCH] = 15000,
        [ROTA_TERM_SWITCH_MPI] = 15000,
        [ROTA_TERM_SWITCH_NATIVE] = 5e6,
        [ROTA_TERM_DEVICE_COPY] = 4000,
        [ROTA_TERM_DEVICE_BYTE] = 0.005,
        [ROTA_TERM_STAGED_SIDE] = 10000,
        [ROTA_TERM_STAGED_BYTE] = 0.04,
    }};
#undef AT

/* ---- counting --------------------------------------------------------------- */

typedef struct counter {
    const rota_sched *s;
    const double *bytes;
    const rota_run_kind *how;
    rota_terms *terms;
} counter;

static rota_link link_to(const counter *k, int peer, bool native)
{
    const rota_topo *const t = k->how->topo;
    const int me = k->s->me;
    const bool near = t->node[peer] == t->node[me];

    if (native)
        return near ? ROTA_LINK_NATIVE_NODE : ROTA_LINK_NATIVE_NET;
    if (!near)
        return ROTA_LINK_NET;
    if (!k->how->shared)
        return ROTA_LINK_P2P;
    return t->domain[peer] == t->domain[me] ? ROTA_LINK_DOMAIN : ROTA_LINK_NODE;
}

/* Beside their data, messages may tell sizes, of 8 bytes each. */
enum { CELL = 8 };

static bool sizes_go_before(const counter *k)
{
    return k->how->metadata == ROTA_META_TWO_PHASE ||
           k->how->metadata == ROTA_META_COMBINED;
}

static void count_message(double n[], rota_link link, double how_often,
                          double bytes)
{
    const bool is_long = bytes > ROTA_LONG * how_often;

    if (link == ROTA_LINK_P2P || link == ROTA_LINK_NET)
        n[ROTA_TERM_POSTED] += how_often;
    n[rota_term(link, is_long ? ROTA_PER_LONG_MESSAGE : ROTA_PER_MESSAGE)] +=
        how_often;
    n[rota_term(link, is_long ? ROTA_PER_LONG_BYTE : ROTA_PER_BYTE)] += bytes;
}

/* The bytes of a message, and how likely it is that it has any. */
static double expect_message(const counter *k, const rota_msg *m,
                             const rota_block item[], double *how_often)
{
    const rota_block stays = 2 * (rota_block)k->s->P;
    double bytes = 0, none = 1;

    for (uint32_t i = m[0].first; i < m[1].first; i++) {
        bytes += k->bytes[item[i]];
        if (k->bytes[item[i]] > 0)
            none *= item[i] < stays || rota_block_is_padded(k->s, item[i])
                        ? 0
                        : 1 - k->how->density;
    }
    *how_often = 1 - none;
    return bytes;
}

/* The messages of one direction of a phase, of which *slowest is the slowest
 * link. Those without bytes are not sent, unless they tell sizes. Returns how
 * many there are. */
static double count_direction(const counter *k, uint32_t phase, rota_dir dir,
                              double n[], rota_link *slowest)
{
    const rota_phase *const p = &k->s->phase[phase];
    const rota_msgs *const l = &k->s->msgs[dir];
    const bool tells = k->how->metadata != ROTA_META_ONCE && !p->native;
    double sent = 0;

    for (uint32_t m = p->msg[dir]; m < p[1].msg[dir]; m++) {
        const uint32_t blocks = l->msg[m + 1].first - l->msg[m].first;
        const rota_link link = link_to(k, l->msg[m].peer, p->native != 0);
        double often;
        double bytes = expect_message(k, &l->msg[m], l->item, &often);
        often = tells ? 1 : often;
        if (often <= 0)
            continue;
        if (l->msg[m].peer == k->s->me) { /* in a collective of MPI's */
            n[ROTA_TERM_COPIED_BYTE] += bytes / ROTA_N_DIRS;
            continue;
        }
        if (blocks > 1 || (tells && dir == ROTA_RECV)) {
            n[ROTA_TERM_COPIED_BLOCK] += blocks * k->how->density;
            n[ROTA_TERM_COPIED_BYTE] += bytes;
        }
        if (tells && sizes_go_before(k))
            count_message(n, link, 1, (double)CELL * blocks);
        else if (tells)
            bytes += (double)CELL * blocks;
        count_message(n, link, often, bytes);
        *slowest = link > *slowest ? link : *slowest;
        sent += often;
    }
    return sent;
}

/* MPI's own all-to-all has this many messages in flight. */
enum { NATIVE_WINDOW = 32 };

/* How often the phase waits for messages of which none is under way before. */
static double batches(const counter *k, const rota_phase *p, double messages)
{
    const int window = p->native ? NATIVE_WINDOW : p->window;
    double n = messages < 1 ? messages : 1;

    if (window > 0 && messages > window)
        n = ceil(messages / window);

    return n * (p->flow ? 2 : 1) * (sizes_go_before(k) ? 2 : 1);
}

static void count_phase(const counter *k, uint32_t phase)
{
    const rota_phase *const p = &k->s->phase[phase];
    double n[ROTA_N_DIRS][ROTA_N_TERMS] = {{0}};
    double *const all = k->terms->n;
    rota_link slowest = ROTA_LINK_DOMAIN;
    double most = 0;

    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const double sent =
            count_direction(k, phase, (rota_dir)dir, n[dir], &slowest);
        most = sent > most ? sent : most;
    }
    for (int t = 0; t < ROTA_TERM_START; t++)
        all[t] += k->how->load * (n[0][t] > n[1][t] ? n[0][t] : n[1][t]);
    for (int t = ROTA_TERM_POSTED; t <= ROTA_TERM_COPIED_BYTE; t++)
        all[t] += k->how->load * (n[0][t] + n[1][t]);
    if (most <= 0)
        return;
    const double waits = batches(k, p, most);
    all[rota_term(slowest, ROTA_PER_PHASE)] += waits;
    all[p->native                  ? ROTA_TERM_SWITCH_NATIVE
        : slowest >= ROTA_LINK_P2P ? ROTA_TERM_SWITCH_MPI
                                   : ROTA_TERM_SWITCH] +=
        (k->how->load - 1) * waits;
}

static void count_copies(const counter *k)
{
    double *const n = k->terms->n;

    for (uint32_t i = 0; i < k->s->n_copies; i++) {
        const rota_copy *const copy = &k->s->copy[i];
        const bool padded = rota_block_is_padded(k->s, copy->from);
        n[ROTA_TERM_COPIED_BLOCK] += k->how->load;
        n[ROTA_TERM_COPIED_BYTE] +=
            k->how->load * k->bytes[padded ? copy->to : copy->from];
    }
}

void rota_cost_count(const rota_sched *s, const double bytes[],
                     const rota_run_kind *how, rota_terms *terms)
{
    const counter k = {.s = s, .bytes = bytes, .how = how, .terms = terms};

    *terms = (rota_terms){.n = {[ROTA_TERM_START] = how->load}};
    for (uint32_t p = 0; p < s->n_phases; p++)
        count_phase(&k, p);
    count_copies(&k);
}

bool rota_term_is_shared(int term)
{
    const int link = term / ROTA_N_PER_LINK, what = term % ROTA_N_PER_LINK;

    switch (link) {
    case ROTA_LINK_NET:
    case ROTA_LINK_NATIVE_NET:
        return what != ROTA_PER_PHASE;
    case ROTA_LINK_P2P:
    case ROTA_LINK_NATIVE_NODE:
        return what == ROTA_PER_BYTE || what == ROTA_PER_LONG_BYTE;
    default:
        return false;
    }
}

static double add_up(const rota_machine *machine, const rota_terms *terms,
                     bool shared)
{
    double ns = 0;

    for (int t = 0; t < ROTA_N_TERMS; t++)
        if (rota_term_is_shared(t) == shared)
            ns += machine->ns[t] * terms->n[t];
    return ns;
}

double rota_cost_own(const rota_machine *machine, const rota_terms *terms)
{
    return add_up(machine, terms, false);
}

double rota_cost_shared(const rota_machine *machine, const rota_terms *terms)
{
    return add_up(machine, terms, true);
}
