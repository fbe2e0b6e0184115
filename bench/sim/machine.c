#include "sim/machine.h"

#include <cjson/cJSON.h>
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

static double number_of(const cJSON *network, const char *key, double usual)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(network, key);

    if (!item)
        return usual;
    if (!cJSON_IsNumber(item) || item->valuedouble < 0)
        inside_die("--prices: network: %s is not a number from 0", key);
    return item->valuedouble;
}

static sim_shape shape_of(const cJSON *network)
{
    static const char *const name[] = {"flat", "dragonfly", "fattree", "torus"};
    const cJSON *const item =
        cJSON_GetObjectItemCaseSensitive(network, "shape");

    for (int i = 0; i < 4; i++)
        if (cJSON_IsString(item) && strcmp(item->valuestring, name[i]) == 0)
            return (sim_shape)i;
    inside_die("--prices: network: shape is none of flat, dragonfly, fattree, "
               "torus");
}

static void check_keys(const cJSON *network)
{
    static const char *const known[] = {
        "shape", "group",      "dims",           "far",   "taper",
        "hop",   "link_byte",  "posted_receive", "ports", "domains",
        "short", "past_short", "past_short_gap", NULL};

    for (const cJSON *item = network->child; item; item = item->next) {
        int i = 0;
        while (known[i] && strcmp(known[i], item->string) != 0)
            i++;
        if (!known[i])
            inside_die("--prices: network: no key is called %s", item->string);
    }
}

static void read_network(const cJSON *network, sim_machine *m)
{
    check_keys(network);
    m->shape = shape_of(network);
    m->group = (int)number_of(network, "group", 1 << 20);
    m->dims = (int)number_of(network, "dims", m->dims);
    m->ports = (int)number_of(network, "ports", 1);
    m->domains = (int)number_of(network, "domains", 1);
    m->far = number_of(network, "far", 0);
    m->taper = number_of(network, "taper", m->taper);
    m->hop = number_of(network, "hop", 0);
    m->link_byte = number_of(network, "link_byte", 0);
    m->posted_receive = number_of(network, "posted_receive", m->posted_receive);
    m->short_bytes = number_of(network, "short", 0);
    m->past_short = number_of(network, "past_short", 0);
    m->past_short_gap = number_of(network, "past_short_gap", 0);
    if (m->ports < 1 || m->domains < 1)
        inside_die("--prices: network: ports and domains are from 1");
    if (m->group < 1 || m->dims < 1 || m->dims > SIM_MOST_DIMS || m->taper <= 0)
        inside_die("--prices: network: group and dims are from 1, dims to %d, "
                   "and taper is above 0",
                   SIM_MOST_DIMS);
}

/* The network is no matter of the library's, and taken out before. */
sim_machine sim_machine_read(const char *path)
{
    sim_machine m = {.prices = rota_machine_usual,
                     .taper = 0.5,
                     .dims = 3,
                     .ports = 1,
                     .domains = 1};
    rota_tuning t = {0};

    m.posted_receive = m.prices.ns[ROTA_TERM_POSTED];
    if (strcmp(path, "usual") == 0)
        return m;
    char *const text = read_text(path);
    cJSON *const root = cJSON_Parse(text);
    cJSON *const network = cJSON_DetachItemFromObjectCaseSensitive(
        cJSON_GetObjectItemCaseSensitive(root, "machine"), "network");
    char *const rest = root ? cJSON_PrintUnformatted(root) : NULL;
    if (rota_tuning_parse(rest ? rest : text, &t) != MPI_SUCCESS)
        inside_die("--prices: %s: %s", path, rota_fail_text());
    if (!t.has_machine)
        inside_die("--prices: %s has no prices", path);
    m.prices = t.machine;
    m.posted_receive = m.prices.ns[ROTA_TERM_POSTED];
    if (network)
        read_network(network, &m);
    rota_tuning_free(&t);
    cJSON_Delete(network);
    cJSON_Delete(root);
    cJSON_free(rest);
    free(text);
    return m;
}

/* ---- queues -------------------------------------------------------------- */

/* The largest whose power is at most n and that divides it. */
static int divisor(int n, int power)
{
    int best = 1;

    for (int d = 1; d <= n; d++) {
        double volume = 1;
        for (int i = 0; i < power; i++)
            volume *= d;
        if (volume > n)
            break;
        best = n % d == 0 ? d : best;
    }
    return best;
}

void sim_wires_init(sim_wires *w, const sim_machine *m, int n_nodes)
{
    const size_t n = (size_t)n_nodes;
    int left = n_nodes;

    *w = (sim_wires){.m = m, .n_nodes = n_nodes};
    if (m->shape == SIM_DRAGONFLY || m->shape == SIM_FATTREE)
        w->n_groups = (n_nodes + m->group - 1) / m->group;
    for (int k = 0; k < m->dims; k++) {
        w->size[k] = divisor(left, m->dims - k);
        left /= w->size[k];
    }
    const size_t groups = (size_t)w->n_groups;
    const size_t links = m->shape == SIM_TORUS     ? 2 * (size_t)m->dims * n
                         : m->shape == SIM_FATTREE ? 2 * groups
                                                   : groups * groups;
    w->out = inside_must(calloc(n * (size_t)m->ports, sizeof *w->out));
    w->in = inside_must(calloc(n * (size_t)m->ports, sizeof *w->in));
    w->memory = inside_must(calloc(n * (size_t)m->domains, sizeof *w->memory));
    w->link = inside_must(calloc(links + 1, sizeof *w->link));
}

void sim_wires_free(sim_wires *w)
{
    free(w->out);
    free(w->in);
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
    const sim_machine *const k = w->m;
    int stride = 1;

    for (int d = 0; d < k->dims; stride *= w->size[d++]) {
        const int n = w->size[d], target = to / stride % n;
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
    const sim_machine *const k = w->m;
    const double byte = per_byte(k, ROTA_LINK_NET, m->bytes);
    const int a = from / k->group, b = to / k->group;

    if (k->shape == SIM_FLAT) {
        m->slowest = rota_larger(m->slowest,
                                 m->bytes * k->prices.ns[ROTA_TERM_PATH_BYTE]);
    } else if (k->shape == SIM_TORUS) {
        cross_torus(w, from, to, m);
    } else if (a != b) {
        const double work = m->bytes * byte / (k->taper * k->group);
        m->latency += k->far;
        if (k->shape == SIM_DRAGONFLY) {
            pass(m, &w->link[a * w->n_groups + b], work * (w->n_groups - 1));
        } else {
            pass(m, &w->link[2 * a], work);
            pass(m, &w->link[2 * b + 1], work);
        }
    }
}

static double *memory_of(sim_wires *w, sim_place at)
{
    return &w->memory[at.node * w->m->domains + at.domain];
}

static size_t port_of(const sim_wires *w, sim_place at)
{
    return (size_t)(at.node * w->m->ports + at.port);
}

double sim_wires_send(sim_wires *w, sim_place from, sim_place to, double now,
                      double bytes)
{
    const rota_machine *const p = &w->m->prices;
    message m = {.now = now, .bytes = bytes};

    if (from.node == to.node) {
        m.latency = p->ns[rota_term(ROTA_LINK_P2P, ROTA_PER_PHASE)];
        m.slowest = bytes * p->ns[ROTA_TERM_COPIED_BYTE];
        pass(&m, memory_of(w, to), work_of(w->m, ROTA_LINK_P2P, bytes));
    } else {
        const double gap = bytes > w->m->short_bytes ? w->m->past_short_gap : 0;
        const double work = work_of(w->m, ROTA_LINK_NET, bytes) + gap;
        m.latency = p->ns[rota_term(ROTA_LINK_NET, ROTA_PER_PHASE)];
        pass(&m, &w->out[port_of(w, from)], work);
        pass(&m, &w->in[port_of(w, to)], work);
        cross(w, from.node, to.node, &m);
    }
    return now + m.latency + m.slowest;
}

double sim_wires_copy(sim_wires *w, sim_place at, double now, double bytes)
{
    message m = {.now = now, .bytes = bytes};

    m.slowest = bytes * w->m->prices.ns[ROTA_TERM_COPIED_BYTE];
    pass(&m, memory_of(w, at), bytes * per_byte(w->m, ROTA_LINK_P2P, bytes));
    return now + m.slowest;
}
