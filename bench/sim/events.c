#include "sim/events.h"

#include "common/inside.h"

#include <stdbool.h>
#include <stdlib.h>

enum { WAYS = 4 };

static bool before(const sim_event *a, const sim_event *b)
{
    return a->at < b->at || (!(b->at < a->at) && a->number < b->number);
}

void sim_events_add(sim_events *e, double at, int rank, uint32_t what,
                    uint32_t m)
{
    const sim_event new = {at, e->number++, rank, what, m};

    if (e->n == e->room) {
        e->room = e->room ? 2 * e->room : 1024;
        e->item = inside_must(realloc(e->item, e->room * sizeof *e->item));
    }
    size_t i = e->n++;
    for (; i > 0 && before(&new, &e->item[(i - 1) / WAYS]); i = (i - 1) / WAYS)
        e->item[i] = e->item[(i - 1) / WAYS];
    e->item[i] = new;
}

sim_event sim_events_take(sim_events *e)
{
    const sim_event first = e->item[0], last = e->item[--e->n];
    size_t i = 0;

    for (size_t child = 1; child < e->n; child = WAYS * i + 1) {
        const size_t end = child + WAYS < e->n ? child + WAYS : e->n;
        for (size_t c = child + 1; c < end; c++)
            if (before(&e->item[c], &e->item[child]))
                child = c;
        if (!before(&e->item[child], &last))
            break;
        e->item[i] = e->item[child];
        i = child;
    }
    if (e->n > 0)
        e->item[i] = last;
    return first;
}

void sim_events_free(sim_events *e)
{
    free(e->item);
    *e = (sim_events){0};
}
