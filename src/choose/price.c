/* price.c - the price of each term, and of a counted schedule. */
#include "choose/cost.h"

/* In the order of rota_link and rota_per_link, then the other terms. */
static const char *const names[ROTA_TERM_MEANWHILE] = {
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
    "path_byte",
    "switch",
    "switch_mpi",
    "switch_native",
    "device_copy",
    "device_byte",
    "staged_side",
    "staged_byte",
    "network_wait",
    "network_busy",
    "network_port",
    "network_first",
};

const char *rota_term_name(int term)
{
    return names[rota_term_priced_as(term)];
}

/* Estimates. Within a node: about what plans took on a machine with 2 cores.
 * Between nodes: a network of 100 Gbit/s. Devices: 200 GB/s between them, 25
 * GB/s to and from the host. */
#define AT(link, what) [ROTA_LINK_##link * ROTA_N_PER_LINK + ROTA_PER_##what]
const rota_machine rota_machine_usual = {
    .native = true,
    .network = {.group = 1 << 20,
                .dims = 3,
                .ports = 1,
                .domains = 1,
                .taper = 0.5,
                .posted_receive = -1},
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
        AT(P2P, MESSAGE) = 5,
        AT(P2P, BYTE) = 0.1,
        AT(P2P, LONG_MESSAGE) = 1500,
        AT(P2P, LONG_BYTE) = 0.1,
        AT(NET, PHASE) = 1500,
        AT(NET, MESSAGE) = 20,
        AT(NET, BYTE) = 0.08,
        AT(NET, LONG_MESSAGE) = 200,
        AT(NET, LONG_BYTE) = 0.08,
        AT(NATIVE_NODE, PHASE) = 300,
        AT(NATIVE_NODE, MESSAGE) = 120,
        AT(NATIVE_NODE, BYTE) = 0.2,
        AT(NATIVE_NODE, LONG_MESSAGE) = 3000,
        AT(NATIVE_NODE, LONG_BYTE) = 0.2,
        AT(NATIVE_NET, PHASE) = 1700,
        AT(NATIVE_NET, MESSAGE) = 40,
        AT(NATIVE_NET, BYTE) = 0.08,
        AT(NATIVE_NET, LONG_MESSAGE) = 200,
        AT(NATIVE_NET, LONG_BYTE) = 0.08,
        [ROTA_TERM_START] = 60,
        [ROTA_TERM_POSTED] = 80,
        [ROTA_TERM_COPIED_BLOCK] = 8,
        [ROTA_TERM_COPIED_BYTE] = 0.08,
        [ROTA_TERM_PATH_BYTE] = 0,
        [ROTA_TERM_SWITCH] = 15000,
        [ROTA_TERM_SWITCH_MPI] = 15000,
        [ROTA_TERM_SWITCH_NATIVE] = 5e6,
        [ROTA_TERM_DEVICE_COPY] = 4000,
        [ROTA_TERM_DEVICE_BYTE] = 0.005,
        [ROTA_TERM_STAGED_SIDE] = 10000,
        [ROTA_TERM_STAGED_BYTE] = 0.04,
        [ROTA_TERM_NETWORK_WAIT] = 1,
        [ROTA_TERM_NETWORK_BUSY] = 1,
        [ROTA_TERM_NETWORK_PORT] = 1,
        [ROTA_TERM_NETWORK_FIRST] = 1,
    }};
#undef AT

/* ---- prices -------------------------------------------------------------- */

static rota_part part_of_link(int term)
{
    const bool latency = term % ROTA_N_PER_LINK == ROTA_PER_PHASE;

    switch (term / ROTA_N_PER_LINK) {
    case ROTA_LINK_NET:
    case ROTA_LINK_NATIVE_NET:
        return latency ? ROTA_PART_FAR : ROTA_PART_PORT;
    case ROTA_LINK_P2P:
    case ROTA_LINK_NATIVE_NODE:
        return latency ? ROTA_PART_WAIT : ROTA_PART_MEMORY;
    default:
        return latency ? ROTA_PART_WAIT : ROTA_PART_BUSY;
    }
}

rota_part rota_part_of(int term)
{
    if (term >= ROTA_TERM_MEANWHILE)
        return ROTA_PART_MEANWHILE;
    switch (term) {
    case ROTA_TERM_SWITCH:
    case ROTA_TERM_SWITCH_MPI:
    case ROTA_TERM_SWITCH_NATIVE:
        return ROTA_PART_TURNS;
    case ROTA_TERM_DEVICE_COPY:
    case ROTA_TERM_DEVICE_BYTE:
    case ROTA_TERM_STAGED_SIDE:
    case ROTA_TERM_STAGED_BYTE:
    case ROTA_TERM_NETWORK_FIRST:
        return ROTA_PART_WAIT;
    case ROTA_TERM_NETWORK_WAIT:
        return ROTA_PART_FAR;
    case ROTA_TERM_NETWORK_PORT:
        return ROTA_PART_PORT;
    case ROTA_TERM_PATH_BYTE:
        return ROTA_PART_PATH;
    default:
        return term >= ROTA_TERM_START ? ROTA_PART_BUSY : part_of_link(term);
    }
}

rota_cost rota_cost_of(const rota_machine *machine, double load,
                       const rota_terms step[ROTA_STEPS])
{
    rota_cost cost = {{{0}}};

    for (int i = 0; i < ROTA_STEPS; i++) {
        double *const ns = cost.ns[i];
        for (int t = 0; t < ROTA_N_TERMS; t++)
            ns[rota_part_of(t)] +=
                machine->ns[rota_term_priced_as(t)] * step[i].n[t];
        ns[ROTA_PART_CORES] = load * ns[ROTA_PART_BUSY];
        ns[ROTA_PART_CORES_MEANWHILE] = load * ns[ROTA_PART_MEANWHILE];
    }
    return cost;
}

void rota_cost_add(rota_cost *all, const rota_cost *rank)
{
    for (int i = 0; i < ROTA_STEPS; i++)
        for (int part = 0; part < ROTA_N_PARTS; part++) {
            double *const ns = &all->ns[i][part];
            const double more = rank->ns[i][part];
            *ns = rota_part_is_own((rota_part)part) ? rota_larger(*ns, more)
                                                    : *ns + more;
        }
}

#define BIT(part) (1u << ROTA_PART_##part)

static double sum_of(const double ns[ROTA_N_PARTS], int n, unsigned parts)
{
    double sum = 0;

    for (int part = 0; part < ROTA_N_PARTS; part++)
        if (parts & 1u << part)
            sum += ns[part] / (rota_part_is_own((rota_part)part) ? 1 : n);
    return sum;
}

unsigned rota_cost_longest(const double ns[ROTA_N_PARTS], int n)
{
    static const unsigned chain[] = {
        BIT(BUSY) | BIT(FAR),
        BIT(CORES) | BIT(FAR),
        BIT(PORT) | BIT(FAR),
        BIT(PATH) | BIT(FAR),
        BIT(MEMORY),
        BIT(BUSY) | BIT(MEANWHILE),
        BIT(CORES) | BIT(CORES_MEANWHILE),
    };
    unsigned longest = chain[0];

    for (size_t i = 1; i < sizeof chain / sizeof chain[0]; i++)
        if (sum_of(ns, n, chain[i]) > sum_of(ns, n, longest))
            longest = chain[i];
    return longest;
}

double rota_cost_ns(const rota_cost *all, int n)
{
    double sum = 0;

    for (int i = 0; i < ROTA_STEPS; i++)
        sum +=
            sum_of(all->ns[i], n,
                   BIT(WAIT) | BIT(TURNS) | rota_cost_longest(all->ns[i], n));
    return sum;
}

size_t rota_cost_bundle(const rota_machine *machine)
{
    enum { COPIES = 3, MOST = 1 << 20 };
    const double *const ns = machine->ns;
    const double saved = 2 * ns[ROTA_TERM_POSTED] +
                         ns[rota_term(ROTA_LINK_NET, ROTA_PER_MESSAGE)] -
                         COPIES * ns[ROTA_TERM_COPIED_BLOCK];
    const double byte = COPIES * ns[ROTA_TERM_COPIED_BYTE];

    if (saved <= 0)
        return 0;
    return saved < byte * MOST ? (size_t)(saved / byte) : MOST;
}
