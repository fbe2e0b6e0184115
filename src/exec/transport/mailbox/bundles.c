/* bundles.c - short blocks of a sparse exchange travel together from node
 * to node.
 *
 * A bundle is a sequence of mail, each followed by its block, sorted by
 * destination. So the part for one rank is itself a bundle, and an agent without
 * room in its area sends that part on as it is.
 *
 * At both ends, members take turns as agents by the distance of the nodes.
 */
#include "exec/move/blocks.h"
#include "exec/transport/mailbox/state.h"

#include <stdlib.h>
#include <string.h>

/* The distance from node a to node b. */
static int distance(const rota_topo *t, int a, int b)
{
    return (b - a + t->n_nodes) % t->n_nodes;
}

/* ---- sending ------------------------------------------------------------- */

bool rota_bundles_entrust(rota_exec *x, const rota_sparse_block *b)
{
    const struct rota_sparse *const c = rota_sparse_of(x);
    const rota_topo *const t = c->groups.nodes;
    const int here = t->node[x->blocks.s->me];
    const int to = rota_node_turn(t, here, distance(t, here, t->node[b->rank]));
    const mail m = {
        .bytes = b->bytes, .source = x->blocks.s->me, .dest = b->rank};

    return b->bytes <= c->groups.bundled &&
           rota_sparse_put(x, &m, b->data, c->node->of[to]);
}

/* Ranks of a node need not be consecutive, so letters are sorted by node. */
typedef struct letter {
    int node;
    const mail *m;
} letter;

static int compare(const void *a, const void *b)
{
    const letter *const x = a, *const y = b;

    if (x->node != y->node)
        return x->node < y->node ? -1 : 1;
    return (x->m->dest > y->m->dest) - (x->m->dest < y->m->dest);
}

/* Sort what was entrusted to this rank, and count the messages and bytes that it
 * makes. */
static int sort(rota_exec *x, size_t *messages, size_t *bytes)
{
    struct rota_sparse *const c = rota_sparse_of(x);
    const int *const node = c->groups.nodes->node;
    size_t n = 0;

    ROTA_TRY(rota_grow(&c->sorted, &c->sorted_room,
                       c->n_entrusted * sizeof *c->sorted,
                       "the bundles of a sparse exchange"));
    *messages = *bytes = 0;
    for (uint64_t at = c->entrusted; at != 0; at = mail_at(c, at)->next) {
        const mail *const m = mail_at(c, at);
        c->sorted[n++] = (letter){node[m->dest], m};
        *bytes += mail_step(m);
    }
    qsort(c->sorted, n, sizeof *c->sorted, compare);
    for (size_t i = 0; i < n; i++)
        *messages += i == 0 || c->sorted[i].node != c->sorted[i - 1].node;
    return MPI_SUCCESS;
}

/* Copy the letters for one node, from letter i on, to a bundle. Returns the
 * first letter for another node. */
static size_t fill(const letter sorted[], size_t n, size_t i, char *to,
                   size_t *bytes)
{
    const int node = sorted[i].node;

    *bytes = 0;
    for (; i < n && sorted[i].node == node; i++) {
        const mail *const m = sorted[i].m;
        const size_t used = sizeof *m + (size_t)m->bytes;
        memcpy(to + *bytes, m, used);
        memset(to + *bytes + used, 0, mail_step(m) - used);
        *bytes += mail_step(m);
    }
    return i;
}

int rota_bundles_post(rota_exec *x)
{
    struct rota_sparse *const c = rota_sparse_of(x);
    const rota_topo *const t = c->groups.nodes;
    const int here = t->node[x->blocks.s->me];
    size_t messages, all;

    if (c->n_entrusted > 0) {
        ROTA_TRY(sort(x, &messages, &all));
        ROTA_TRY(rota_grow(&c->bundles, &c->bundles_room, all,
                           "the bundles of a sparse exchange"));
        ROTA_TRY(rota_sparse_make_room(c, c->n_out + messages));
    }
    c->bundled = x->moved = true;
    char *to = c->bundles;
    for (size_t i = 0; i < c->n_entrusted;) {
        size_t bytes;
        const size_t end = fill(c->sorted, c->n_entrusted, i, to, &bytes);
        const int first = c->sorted[i].m->dest,
                  last = c->sorted[end - 1].m->dest;
        const int there = c->sorted[i].node;
        ROTA_TRY(rota_sparse_post(
            x, BUNDLE, to, bytes,
            first == last
                ? first
                : rota_node_turn(t, there, distance(t, here, there))));
        to += bytes;
        i = end;
    }
    return MPI_SUCCESS;
}

/* ---- receiving ----------------------------------------------------------- */

static mail *mail_in(const incoming *in, size_t at)
{
    return (mail *)(void *)(in->block.data + at);
}

/* The end of the mail for one rank that begins at a place. */
static size_t end_of_run(const incoming *in, size_t at)
{
    const int dest = mail_in(in, at)->dest;

    while (at < in->block.bytes && mail_in(in, at)->dest == dest)
        at += mail_step(mail_in(in, at));
    return at;
}

/* Pass mail on to its receiver: through memory while there is room, then by
 * MPI. */
static int pass_on(rota_exec *x, const incoming *in, size_t at, size_t end)
{
    const int dest = mail_in(in, at)->dest;
    const int i = rota_sparse_of(x)->node->of[dest];

    while (at < end) {
        const mail *const m = mail_in(in, at);
        if (!rota_sparse_put(x, m, m + 1, i))
            return rota_sparse_post(x, BUNDLE, in->block.data + at, end - at,
                                    dest);
        at += mail_step(m);
    }
    return MPI_SUCCESS;
}

/* A bundle is sorted, so that there is at most one message to each member. */
int rota_bundles_split(rota_exec *x, const incoming *in)
{
    struct rota_sparse *const c = rota_sparse_of(x);

    ROTA_TRY(rota_sparse_make_room(c, c->n_out + (size_t)c->groups.size));
    for (size_t at = 0; at < in->block.bytes;) {
        const size_t end = end_of_run(in, at);
        if (mail_in(in, at)->dest != x->blocks.s->me)
            ROTA_TRY(pass_on(x, in, at, end));
        at = end;
    }
    return MPI_SUCCESS;
}

size_t rota_bundles_own(const rota_exec *x, const incoming *in,
                        rota_sparse_block block[])
{
    size_t n = 0;

    for (size_t at = 0; at < in->block.bytes;) {
        mail *const m = mail_in(in, at);
        if (m->dest == x->blocks.s->me)
            block[n++] = (rota_sparse_block){m->source, (size_t)m->bytes,
                                             (char *)(m + 1)};
        at += mail_step(m);
    }
    return n;
}
