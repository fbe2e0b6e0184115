/* events.c - see events.h. */
#include "events.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct entry {
    events_stream stream;
    uint64_t hash, n; /* of the events so far */
    uint64_t ended;   /* sum of streams that were here before */
    uint64_t total;   /* events of all; 0: the slot is free */
} entry;

static struct {
    entry *slot;
    size_t n, room; /* room: 0 or a power of two */
} streams;

bool events_verbose;

uint64_t events_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93u;
    return hash ^ hash >> 29;
}

static bool is_same(const events_stream *a, const events_stream *b)
{
    return a->kind == b->kind && a->rank == b->rank && a->tag == b->tag &&
           a->peer == b->peer;
}

static uint64_t hash_of(const events_stream *s)
{
    const uint64_t h = events_mix((uint64_t)s->kind, (uint64_t)s->rank);

    return events_mix(events_mix(h, (uint64_t)s->tag), s->peer);
}

static entry *find(const events_stream *s)
{
    size_t i = hash_of(s) & (streams.room - 1);

    while (streams.slot[i].total > 0 && !is_same(&streams.slot[i].stream, s))
        i = (i + 1) & (streams.room - 1);
    return &streams.slot[i];
}

static void grow(void)
{
    const size_t n = streams.room;
    entry *const old = streams.slot;

    streams.room = n ? 2 * n : 256;
    streams.slot = calloc(streams.room, sizeof *streams.slot);
    if (!streams.slot)
        abort();
    for (size_t i = 0; i < n; i++)
        if (old[i].total > 0)
            *find(&old[i].stream) = old[i];
    free(old);
}

void events_add(events_stream stream, uint64_t event)
{
    if (2 * streams.n >= streams.room)
        grow();
    entry *const e = find(&stream);
    if (e->total == 0) {
        *e = (entry){.stream = stream};
        streams.n++;
    }
    e->hash = events_mix(e->hash, event);
    e->n++;
    e->total++;
}

/* ---- sums ---------------------------------------------------------------- */

static bool is_queue(const events_stream *s)
{
    return s->kind >= EVENTS_OPENED;
}

static int compare(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* All tags that occur, ascending, each once. */
static int *list_tags(size_t *n)
{
    int *const tag = malloc((streams.n + 1) * sizeof *tag);
    size_t found = 0;

    if (!tag)
        abort();
    for (size_t i = 0; i < streams.room; i++)
        if (streams.slot[i].total > 0)
            tag[found++] = streams.slot[i].stream.tag;
    qsort(tag, found, sizeof *tag, compare);
    *n = 0;
    for (size_t i = 0; i < found; i++)
        if (i == 0 || tag[i] != tag[i - 1])
            tag[(*n)++] = tag[i];
    return tag;
}

static int number_of(int tag, const int tags[], size_t n)
{
    const int *const at = bsearch(&tag, tags, n, sizeof *tags, compare);

    return (int)(at - tags);
}

/* What the stream adds to the sum; its tag is a number of a list. */
static uint64_t sum_of(const entry *e, int tag)
{
    events_stream s = e->stream;

    s.tag = is_queue(&s) ? 0 : tag;
    if (is_queue(&s))
        s.peer = 0;
    return events_mix(events_mix(hash_of(&s), e->hash), e->n);
}

static void print(const entry *e, int tag)
{
    static const char *const name[] = {"sent",    "received", "found",
                                       "matched", "called",   "opened",
                                       "put",     "taken",    "returned"};

    fprintf(stderr, "%s rank %d tag %d peer %llu: %llu events %016llx\n",
            name[e->stream.kind], e->stream.rank, tag,
            is_queue(&e->stream) ? 0 : (unsigned long long)e->stream.peer,
            (unsigned long long)e->n, (unsigned long long)e->hash);
}

static void end_stream(entry *e)
{
    e->ended += sum_of(e, 0);
    e->hash = e->n = 0;
}

uint64_t events_take(uint64_t *n)
{
    uint64_t sum = 0;
    size_t n_tags;
    int *const tags = list_tags(&n_tags);

    *n = 0;
    for (size_t i = 0; i < streams.room; i++) {
        entry *const e = &streams.slot[i];
        if (e->total == 0)
            continue;
        const int tag = number_of(e->stream.tag, tags, n_tags);
        sum += e->ended + (e->n > 0 ? sum_of(e, tag) : 0);
        *n += e->total;
        if (events_verbose)
            print(e, tag);
        e->total = 0;
    }
    free(tags);
    streams.n = 0;
    return sum;
}

/* ---- queues of a node ---------------------------------------------------- */

/* Defined here for the library: src/exec, line.h. */
void rota_line_event(const void *entries, char what, uint64_t kind,
                     uint64_t bytes);

static bool heard;

bool events_have_queues(void)
{
    return heard;
}

/* Queues lie where others were before: that ends their streams. */
static void open_queue(uint64_t at, uint64_t stride)
{
    for (events_kind k = EVENTS_OPENED; k <= EVENTS_RETURNED; k++) {
        const events_stream s = {.kind = k, .peer = at};
        entry *const e = streams.room > 0 ? find(&s) : NULL;
        if (e && e->n > 0)
            end_stream(e);
    }
    events_add((events_stream){.kind = EVENTS_OPENED, .peer = at}, stride);
}

void rota_line_event(const void *entries, char what, uint64_t kind,
                     uint64_t bytes)
{
    const uint64_t at = (uint64_t)(uintptr_t)entries;
    const events_kind stream = what == 'p'   ? EVENTS_PUT
                               : what == 't' ? EVENTS_TAKEN
                                             : EVENTS_RETURNED;

    heard = true;
    if (what == 'o')
        open_queue(at, bytes);
    else
        events_add((events_stream){.kind = stream, .peer = at},
                   events_mix(kind, bytes));
}
