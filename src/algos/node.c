/* node.c - see node.h. */
#include "algos/node.h"

void rota_emit_members(rota_sched *s, const rota_home *h)
{
    for (int i = 1; i < h->Q; i++) {
        const int src = h->ranks[(h->g + h->Q - i) % h->Q];
        const int dst = h->ranks[(h->g + i) % h->Q];
        rota_emit_recv(s, src, rota_dst(s, src));
        rota_emit_send(s, dst, rota_src(s, dst));
    }
}
