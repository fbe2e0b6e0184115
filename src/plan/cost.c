/* cost.c - counting the terms of a schedule, and their prices. */
#include "plan/cost.h"

/* In the order of rota_link and rota_per_link, and then of the other terms. */
static const char *const names[ROTA_N_TERMS] = {
#define LINK(link)                                                             \
    link "_per_phase", link "_per_message", link "_per_byte",                  \
        link "_per_long_message", link "_per_long_byte"
    LINK("domain"), LINK("node"),        LINK("p2p"),
    LINK("net"),    LINK("native_node"), LINK("native_net"),
#undef LINK
    "start",        "copied_block",      "copied_byte",
    "switch",       "switch_mpi",        "switch_native",
};

const char *rota_term_name(int term)
{
    return names[term];
}

const rota_machine rota_machine_usual = {{0}};
