/* shape.c - see shape.h. */
#include "choose/shape.h"

const char *rota_shape_name(rota_shape shape)
{
    static const char *const name[ROTA_N_SHAPES] = {"flat", "dragonfly",
                                                    "fattree", "torus"};

    return name[shape];
}

/* The largest divisor of n whose power is at most n. */
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

rota_torus rota_torus_of(const rota_network *n, int n_nodes)
{
    rota_torus t = {.dims = n->dims};
    int left = n_nodes;

    for (int d = 0; d < t.dims; d++) {
        t.size[d] = divisor(left, t.dims - d);
        left /= t.size[d];
    }
    return t;
}

void rota_torus_hops(const rota_torus *t, int from, int to, int hops[])
{
    for (int d = 0; d < t->dims; d++) {
        const int n = t->size[d];
        const int ahead = (to % n - from % n + n) % n;
        const bool forth = ahead * 2 <= n;
        hops[2 * d + !forth] = 0;
        hops[2 * d + forth] = forth ? ahead : n - ahead;
        from /= n;
        to /= n;
    }
}
