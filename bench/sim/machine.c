#include "sim/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ------------------------------------------------------------- */

static char *read_text(const char *path)
{
    enum { MOST = 1 << 24 };
    FILE *const file = fopen(path, "r");

    if (!file)
        inside_die("--prices: cannot read %s", path);
    char *const text = inside_must(malloc(MOST));
    text[fread(text, 1, MOST - 1, file)] = '\0';
    fclose(file);
    return text;
}

sim_machine sim_machine_read(const char *path)
{
    sim_machine m = {.prices = rota_machine_usual};

    if (strcmp(path, "usual") != 0) {
        char *const text = read_text(path);
        rota_tuning t = {0};
        if (rota_tuning_parse(text, &t) != MPI_SUCCESS)
            inside_die("--prices: %s: %s", path, rota_fail_text());
        if (!t.has_machine)
            inside_die("--prices: %s has no prices", path);
        m.prices = t.machine;
        rota_tuning_free(&t);
        free(text);
    }
    m.net = m.prices.network;
    if (m.net.posted_receive < 0)
        m.net.posted_receive = m.prices.ns[ROTA_TERM_POSTED];
    return m;
}

static int term_named(const char *name, size_t length)
{
    for (int i = 0; i < ROTA_N_TERMS; i++)
        if (strlen(rota_term_name(i)) == length &&
            strncmp(rota_term_name(i), name, length) == 0)
            return i;
    inside_die("--price: no price is called %.*s", (int)length, name);
}

void sim_machine_change(sim_machine *m, const char *changes)
{
    for (const char *at = changes; *at;) {
        const size_t length = strcspn(at, "=,");
        char *end = NULL;
        const int term = term_named(at, length);
        const double ns =
            at[length] == '=' ? strtod(at + length + 1, &end) : -1;
        if (!(ns >= 0) || end == at + length + 1 || (*end && *end != ','))
            inside_die("--price: '%s' is not NAME=NANOSECONDS,...", at);
        m->prices.ns[term] = ns;
        at = *end ? end + 1 : end;
    }
}

/* ---- queues -------------------------------------------------------------- */

void sim_wires_init(sim_wires *w, const sim_machine *m, int n_nodes)
{
    const rota_network *const net = &m->net;
    const size_t n = (size_t)n_nodes;

    *w = (sim_wires){
        .m = m, .n_nodes = n_nodes, .torus = rota_torus_of(net, n_nodes)};
    if (net->shape == ROTA_SHAPE_DRAGONFLY || net->shape == ROTA_SHAPE_FATTREE)
        w->n_groups = rota_network_groups(net, n_nodes);
    const size_t groups = (size_t)w->n_groups;
    const size_t links = net->shape == ROTA_SHAPE_TORUS
                             ? 2 * (size_t)net->dims * n
                         : net->shape == ROTA_SHAPE_FATTREE ? 2 * groups
                                                            : groups * groups;
    const size_t ports = n * (size_t)net->ports;
    w->out = inside_must(calloc(ports, sizeof *w->out));
    w->in = inside_must(calloc(ports, sizeof *w->in));
    w->n_memories = n * (size_t)net->domains + 1;
    w->memory = inside_must(calloc(w->n_memories, sizeof *w->memory));
    w->link = inside_must(calloc(links + 1, sizeof *w->link));
}

void sim_wires_free(sim_wires *w)
{
    free(w->out);
    free(w->in);
    for (size_t i = 0; i < w->n_memories; i++)
        free(w->memory[i].busy);
    free(w->memory);
    free(w->link);
    *w = (sim_wires){0};
}

typedef struct message {
    double now, bytes;
    double latency, slowest;
} message;

static void pass(message *m, double *busy, double work)
{
    *busy = rota_larger(*busy, m->now) + work;
    m->slowest = rota_larger(m->slowest, *busy - m->now);
}

static double per_byte(const sim_machine *m, rota_link link, double bytes)
{
    return m->prices.ns[rota_term(link, bytes > ROTA_LONG ? ROTA_PER_LONG_BYTE
                                                          : ROTA_PER_BYTE)];
}

static double work_of(const sim_machine *m, rota_link link, double bytes)
{
    return m->prices
               .ns[rota_term(link, bytes > ROTA_LONG ? ROTA_PER_LONG_MESSAGE
                                                     : ROTA_PER_MESSAGE)] +
           bytes * per_byte(m, link, bytes);
}

/* The shorter way round in each dimension, one after the other. */
static void cross_torus(sim_wires *w, int at, int to, message *m)
{
    const rota_network *const k = &w->m->net;
    int stride = 1;

    for (int d = 0; d < k->dims; stride *= w->torus.size[d++]) {
        const int n = w->torus.size[d], target = to / stride % n;
        int x = at / stride % n;
        const bool forth = (target - x + n) % n * 2 <= n;
        while (x != target) {
            m->latency += k->hop;
            pass(m, &w->link[2 * (k->dims * at + d) + forth],
                 m->bytes * k->link_byte);
            const int next = (x + (forth ? 1 : n - 1)) % n;
            at += (next - x) * stride;
            x = next;
        }
    }
}

static void cross(sim_wires *w, int from, int to, message *m)
{
    const rota_network *const k = &w->m->net;
    const double byte = per_byte(w->m, ROTA_LINK_NET, m->bytes);
    const int a = rota_network_group(k, from), b = rota_network_group(k, to);

    if (k->shape == ROTA_SHAPE_FLAT) {
        m->slowest = rota_larger(
            m->slowest, m->bytes * w->m->prices.ns[ROTA_TERM_PATH_BYTE]);
    } else if (k->shape == ROTA_SHAPE_TORUS) {
        cross_torus(w, from, to, m);
    } else if (a != b) {
        const double work = m->bytes * byte / (k->taper * k->group);
        m->latency += k->far;
        if (k->shape == ROTA_SHAPE_DRAGONFLY) {
            pass(m, &w->link[a * w->n_groups + b], work * (w->n_groups - 1));
        } else {
            pass(m, &w->link[2 * a], work);
            pass(m, &w->link[2 * b + 1], work);
        }
    }
}

sim_place sim_place_of(const sim_machine *m, const rota_topo *t, int r)
{
    const int node = t->node[r], Q = rota_topo_node_size(t, node);

    return (sim_place){.node = node,
                       .port = ((t->local[r] + 1) * m->net.ports - 1) / Q %
                               m->net.ports,
                       .domain = t->domain[r]};
}

static size_t port_of(const sim_wires *w, sim_place at)
{
    return (size_t)(at.node * w->m->net.ports + at.port);
}

/* ---- memory of nodes ----------------------------------------------------- */

/* What is over cannot be asked for any more. */
static void forget(sim_memory *k, double clock)
{
    for (; k->first < k->end && k->busy[k->first].until < clock; k->first++)
        k->closed = k->busy[k->first].until;
    if (k->end < k->room)
        return;
    if (k->first > k->room / 2) {
        k->end -= k->first;
        memmove(k->busy, k->busy + k->first, k->end * sizeof *k->busy);
        k->first = 0;
        return;
    }
    k->room = k->room ? 2 * k->room : 16;
    k->busy = inside_must(realloc(k->busy, k->room * sizeof *k->busy));
}

/* The first stretch that is not over at that time. */
static size_t stretch_at(const sim_memory *k, double at)
{
    size_t low = k->first, high = k->end;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (k->busy[middle].until < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* When so much work is done that comes now: a rank's own time runs ahead of that of
 * others, so work takes what is free, in pieces if need be. */
static double serve(sim_memory *k, double clock, double now, double work)
{
    forget(k, clock);
    double at = rota_larger(now, k->closed);
    const size_t first = stretch_at(k, at);
    sim_stretch all = {.from = at};
    size_t i = first;

    for (; i < k->end && k->busy[i].from < at + work; i++) {
        if (k->busy[i].from > at)
            work -= k->busy[i].from - at;
        else
            all.from = k->busy[i].from;
        at = k->busy[i].until;
    }
    all.until = at + work;
    memmove(k->busy + first + 1, k->busy + i, (k->end - i) * sizeof *k->busy);
    k->end += first + 1 - i;
    k->busy[first] = all;
    return all.until;
}

/* When so much of a rank's own time has passed. */
static double compute(sim_wires *w, double now, double ns)
{
    sim_memory *const cores = &w->memory[w->n_memories - 1];
    const int n = w->m->cores;

    if (n == 0 || ns <= 0)
        return now + ns;
    return rota_larger(now + ns, serve(cores, w->clock, now, ns / n));
}

double sim_wires_work(sim_wires *w, sim_place at, double now, sim_work work)
{
    const double done = compute(w, now, work.ns);
    sim_memory *const memory =
        &w->memory[at.node * w->m->net.domains + at.domain];
    const double ns =
        work.message ? work_of(w->m, ROTA_LINK_P2P, work.bytes)
                     : work.bytes * per_byte(w->m, ROTA_LINK_P2P, work.bytes);

    if (ns <= 0)
        return done;
    return rota_larger(done, serve(memory, w->clock, now, ns));
}

/* ---- messages ------------------------------------------------------------ */

double sim_wires_send(sim_wires *w, sim_place from, sim_place to, double now,
                      double bytes)
{
    const rota_machine *const p = &w->m->prices;
    message m = {.now = now, .bytes = bytes};

    if (from.node == to.node) {
        const sim_work copy = {.ns = bytes * p->ns[ROTA_TERM_COPIED_BYTE],
                               .bytes = bytes,
                               .message = true};
        m.latency = p->ns[rota_term(ROTA_LINK_P2P, ROTA_PER_PHASE)];
        m.slowest = sim_wires_work(w, to, now, copy) - now;
    } else {
        const double gap =
            bytes > w->m->net.short_bytes ? w->m->net.past_short_gap : 0;
        const double work = work_of(w->m, ROTA_LINK_NET, bytes) + gap;
        m.latency = p->ns[rota_term(ROTA_LINK_NET, ROTA_PER_PHASE)];
        pass(&m, &w->out[port_of(w, from)], work);
        pass(&m, &w->in[port_of(w, to)], work);
        cross(w, from.node, to.node, &m);
    }
    return now + m.latency + m.slowest;
}
