/* stall.c - see stall.h. */
#include "exec/run/stall.h"
#include "exec/memory/node.h"
#include "exec/memory/roster.h"
#include "exec/run/waiting.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_SECONDS = 60, MOST_NAMED = 16, TEXT = 1000 };

static _Atomic int64_t limit_ns = USUAL_SECONDS * (int64_t)1000000000;

void rota_stall_set(int seconds)
{
    atomic_store(&limit_ns, seconds * (int64_t)1000000000);
}

/* ---- the ranks waited for ------------------------------------------------ */

/* The ranks with which messages of the current step are open; NULL: no
 * memory. */
static bool *find_awaited(const rota_exec *x)
{
    bool *const awaited = calloc((size_t)x->blocks.s->P, sizeof *awaited);

    if (awaited && x->entered && x->step->kind->whom)
        x->step->kind->whom(x, x->step, awaited);
    return awaited;
}

/* The rank's process, if it shares memory with this one, whether or not the
 * plan uses it. */
static const rota_peer *peer_of(const rota_node *mates, int rank)
{
    const int i = mates ? mates->of[rank] : -1;

    return i >= 0 ? mates->near[i].peer : NULL;
}

static int fail_dead(int rank)
{
    return rota_fail(MPI_ERR_OTHER,
                     "the process of rank %d, on this node, has died", rank);
}

/* A process that has ended normally may have sent all that this one waits for,
 * though MPI may not have delivered it yet. So it counts as dead only if this
 * rank waits for it through shared memory. */
int rota_stall_check(const rota_exec *x)
{
    bool *const awaited = x->mates ? find_awaited(x) : NULL;
    const bool by_memory = x->shared != NULL;
    int dead = -1;

    for (int q = 0; awaited && dead < 0 && q < x->blocks.s->P; q++) {
        const rota_peer *const peer =
            q == x->blocks.s->me ? NULL : peer_of(x->mates, q);
        if (peer && rota_process_is_gone(peer->pid) &&
            ((by_memory && awaited[q]) || !atomic_load(&peer->head->ended)))
            dead = q;
    }
    free(awaited);
    return dead < 0 ? MPI_SUCCESS : fail_dead(dead);
}

int rota_stall_recall_meeting(const rota_meeting *m)
{
    const int dead = m->mates    ? atomic_load(&m->mates->dead)
                     : m->roster ? m->roster->dead
                                 : 0;

    return dead > 0 ? fail_dead(dead - 1) : MPI_SUCCESS;
}

static void check_mates(rota_node *mates)
{
    for (int q = 0, left = mates->n; left > 0; q++) {
        const int i = mates->of[q];
        if (i < 0)
            continue;
        left--;
        const rota_peer *const peer =
            i == mates->me ? NULL : mates->near[i].peer;
        if (peer && !atomic_load(&peer->head->ended) &&
            rota_process_is_gone(peer->pid))
            atomic_store(&mates->dead, q + 1);
    }
}

int rota_stall_check_meeting(const rota_meeting *m)
{
    if (m->mates)
        check_mates(m->mates);
    else if (m->roster)
        rota_roster_look(m->roster);
    return rota_stall_recall_meeting(m);
}

/* ---- reporting ----------------------------------------------------------- */

static const char *whereabouts(const rota_node *mates, int rank)
{
    const rota_peer *const peer = peer_of(mates, rank);

    if (!peer)
        return "";
    if (rota_process_is_gone(peer->pid))
        return " (gone)";
    return atomic_load(&peer->head->sleepers) > 0
               ? " (which waits in Rota, too)"
               : " (which waits for nothing in Rota)";
}

static void append(char *text, const char *format, int n, const char *more)
{
    const size_t used = strlen(text);

    snprintf(text + used, TEXT - used, format, n, more);
}

static void name_ranks(const rota_exec *x, char *text)
{
    bool *const awaited = find_awaited(x);
    int n = 0;

    for (int q = 0; awaited && q < x->blocks.s->P; q++) {
        if (!awaited[q])
            continue;
        if (n++ < MOST_NAMED)
            append(text, n > 1 ? ", %d%s" : " for rank %d%s", q,
                   whereabouts(x->mates, q));
    }
    if (n > MOST_NAMED)
        append(text, " and %d more%s", n - MOST_NAMED, "");
    free(awaited);
}

static void describe_meeting(const rota_meeting *m, int seconds, char *text)
{
    snprintf(text, TEXT,
             "rota: rank %d of %d has waited %d s in a collective function of "
             "Rota's, where ranks %s,",
             m->me, m->P, seconds, m->step);
    if (m->rank < 0)
        strcat(text, " for all to call it");
    else
        append(text, " for rank %d%s", m->rank, whereabouts(m->mates, m->rank));
}

/* The phase of the current step, from 1; of a step of the program's own, the next. */
static int phase_of(const rota_exec *x)
{
    int n = 1;

    for (const rota_step *step = x->program.step; step < x->step; step++)
        n += step->phase != NULL;
    return n < (int)x->blocks.s->n_phases ? n : (int)x->blocks.s->n_phases;
}

static void describe(const rota_exec *x, int seconds, char *text)
{
    snprintf(text, TEXT,
             "rota: rank %d of %d has waited %d s in %s, algorithm %s, phase "
             "%d of %d",
             x->blocks.s->me, x->blocks.s->P, seconds,
             x->title ? x->title : "a plan",
             x->algorithm ? x->algorithm : "unknown", phase_of(x),
             (int)x->blocks.s->n_phases);
    name_ranks(x, text);
    if (x->gate && x->gate->held && x->gate->held(x) >= 0)
        append(text, ", for block %d to be ready%s", x->gate->held(x), "");
}

void rota_stall_tell(const rota_exec *x, const rota_meeting *m, int64_t now_ns,
                     int64_t ns)
{
    const int64_t limit = atomic_load(&limit_ns);
    const int seconds = (int)(ns / 1000000000);
    char text[TEXT];

    if ((!x && !m) || limit == 0 || ns < limit ||
        !rota_wait_is_first(now_ns, limit))
        return;
    if (m)
        describe_meeting(m, seconds, text);
    else
        describe(x, seconds, text);
    fprintf(stderr, "%s (ROTA_STALL_S)\n", text);
}
