/* fakempi.c - see fakempi.h.
 *
 * A request is an entry of requests[]; its handle is the index plus a base. A
 * message is an entry of messages[], made when a send is posted and gone when
 * its data have been transferred; a buffered send is complete before that.
 * Messages with something left to do (to be read from the send buffer, or to
 * be transferred) are listed in todo[], of which progress() takes any.
 */
#include "fakempi.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS = 16, CHANNELS = 16, NONE = -1 };

enum {
    COMM_BASE = 0x100000,
    TYPE_BASE = 0x200000,
    REQUEST_BASE = 0x300000,
    MESSAGE_BASE = 0x500000
};

enum kind { FREE, SEND, RECV, COLLECTIVE };

/* Pieces of one size at one distance or, if lengths is set, each of its own at
 * its own place. */
typedef struct datatype {
    int pieces, piece_bytes;
    ptrdiff_t stride, extent;
    int *lengths;     /* [pieces], or NULL */
    MPI_Aint *places; /* [pieces] */
    int uses;         /* its handle, and requests */
    bool committed, freed;
} datatype;

typedef struct request {
    enum kind kind;
    bool persistent, active, complete, orphan; /* orphan: freed while active */
    char *data;
    size_t count;
    MPI_Datatype type;
    int group, me, peer, tag;
    int message;         /* sends, until the message is read */
    int next;            /* receives waiting for a message; free list */
    unsigned char junk;  /* what a posted receive's buffer is filled with */
    unsigned collective; /* its number on the communicator */
    bool synchronous;
    size_t got; /* bytes received */
} request;

typedef struct message {
    unsigned char *image; /* the data when the send was posted */
    size_t bytes;
    int src, dst;
    int sender, receiver; /* requests, or NONE */
    bool buffered, listed;
    int group, tag; /* once it has been probed */
    unsigned age;
    int next; /* messages waiting for a receive; free list */
} message;

/* Arguments of one rank of an all-to-all; kept by the caller until complete. */
typedef struct side {
    const char *base;
    const void *counts, *displs; /* NULL: each blocks end to end */
    bool large; /* counts are MPI_Count, displs MPI_Aint; else int */
    MPI_Datatype type;
    int each;
} side;

typedef struct collective {
    int n_posted, n_seen;
    bool moved;
    side *send, *recv; /* [P] */
} collective;

/* What waits in a channel from one rank to another: sends or receives. */
typedef struct queue {
    int first, last;
    enum kind kind;
} queue;

static int P;
static uint64_t random_state;
static char fault_text[300];
static bool manual;
static int fail_in, fail_code;
static fakempi_listener *listener;

static request *requests;
static int n_requests, free_request_entry;
static message *messages;
static int n_messages, free_message_entry;
static size_t live_requests, live_messages;
static unsigned clock_now;

static int *todo;
static int n_todo, todo_room;

static datatype *types;
static int n_types;
static size_t live_types;
static int channel_id[CHANNELS], n_channels; /* group and tag of each */
static bool channel_short[CHANNELS];         /* see fakempi_let_fall_short */
static fakempi_counts channel_counts[CHANNELS];
static queue *queues[CHANNELS]; /* [P*P] each */

static collective *collectives[GROUPS];
static unsigned n_collectives[GROUPS];
static unsigned *collective_next[GROUPS]; /* [P] number of the next one */

static int *in_flight[2], *most_in_flight[2]; /* [P] */
static unsigned *asleep_until;                /* [P] */
static unsigned eager, prompt, sleepy;        /* tempers, of 8 */

/* ---- chance and faults --------------------------------------------------- */

static uint32_t draw(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 32);
}

static bool chance(unsigned of_8)
{
    return (draw() & 7) < of_8;
}

__attribute__((format(printf, 1, 2))) static void fault(const char *format, ...)
{
    va_list args;

    if (fault_text[0])
        return;
    va_start(args, format);
    vsnprintf(fault_text, sizeof fault_text, format, args);
    va_end(args);
}

static void *must(void *p)
{
    if (!p) {
        fputs("fakempi: no memory\n", stderr);
        abort();
    }
    return p;
}

/* Is this the call that fakempi_fail_after named? */
static bool fails_now(void)
{
    return fail_in >= 0 && fail_in-- == 0;
}

/* ---- datatypes ----------------------------------------------------------- */

static MPI_Datatype new_type(datatype d)
{
    int at = 0;

    while (at < n_types && types[at].uses > 0)
        at++;
    if (at == n_types) {
        types = must(realloc(types, (size_t)(n_types + 1) * sizeof *types));
        n_types++;
    }
    types[at] = d;
    types[at].uses = 1;
    live_types++;
    return (MPI_Datatype)(intptr_t)(TYPE_BASE + at);
}

MPI_Datatype fakempi_vector(int pieces, int piece_bytes, ptrdiff_t stride,
                            ptrdiff_t extent)
{
    return new_type((datatype){.pieces = pieces,
                               .piece_bytes = piece_bytes,
                               .stride = stride,
                               .extent = extent,
                               .committed = true});
}

/* NULL for MPI_BYTE and what is not a datatype. */
static datatype *find_type(MPI_Datatype type)
{
    if (type == MPI_BYTE)
        return NULL;
    const intptr_t at = (intptr_t)type - TYPE_BASE;
    if (at >= 0 && at < n_types && types[at].uses > 0)
        return &types[at];
    fault("unknown datatype");
    return NULL;
}

static void use_type(MPI_Datatype type)
{
    datatype *const d = find_type(type);

    if (d && (d->freed || !d->committed))
        fault("a datatype that is not committed is used");
    if (d)
        d->uses++;
}

static void drop_type(MPI_Datatype type)
{
    datatype *const d = find_type(type);

    if (!d || --d->uses > 0)
        return;
    free(d->lengths);
    free(d->places);
    d->lengths = NULL;
    d->places = NULL;
    live_types--;
}

static size_t element_bytes(const datatype *d)
{
    size_t bytes = 0;

    for (int k = 0; k < d->pieces; k++)
        bytes += (size_t)(d->lengths ? d->lengths[k] : d->piece_bytes);
    return bytes;
}

static size_t bytes_of(MPI_Datatype type, size_t count)
{
    const datatype *const d = find_type(type);

    return d ? count * element_bytes(d) : count;
}

static ptrdiff_t extent_of(MPI_Datatype type)
{
    const datatype *const d = find_type(type);

    return d ? d->extent : 1;
}

static void move_bytes(char *data, char *flat, size_t n, bool pack)
{
    if (n > 0)
        memcpy(pack ? flat : data, pack ? data : flat, n);
}

/* Between count elements at data and bytes end to end. Places may be counted
 * from MPI_BOTTOM. */
static void move(char *data, MPI_Datatype type, size_t count, char *flat,
                 bool pack)
{
    const datatype *const d = find_type(type);

    if (!d)
        move_bytes(data, flat, count, pack);
    for (size_t i = 0; d && i < count; i++)
        for (int k = 0; k < d->pieces; k++) {
            const int n = d->lengths ? d->lengths[k] : d->piece_bytes;
            const ptrdiff_t at = (ptrdiff_t)i * d->extent +
                                 (d->lengths ? d->places[k] : k * d->stride);
            move_bytes((char *)((intptr_t)data + at), flat, (size_t)n, pack);
            flat += n;
        }
}

/* The data of a request, end to end; the caller frees it. */
static unsigned char *image_of(const request *r, size_t *bytes)
{
    *bytes = bytes_of(r->type, r->count);
    unsigned char *const image = must(malloc(*bytes + 1));
    move(r->data, r->type, r->count, (char *)image, true);
    return image;
}

/* ---- tables -------------------------------------------------------------- */

static int new_request(void)
{
    int at = free_request_entry;

    if (at != NONE) {
        free_request_entry = requests[at].next;
    } else {
        at = n_requests++;
        if ((at & (at + 1)) == 0 || at == 0)
            requests = must(
                realloc(requests, (size_t)(2 * at + 2) * sizeof *requests));
    }
    live_requests++;
    return at;
}

static void drop_request(int at)
{
    drop_type(requests[at].type);
    requests[at] = (request){.kind = FREE, .next = free_request_entry};
    free_request_entry = at;
    live_requests--;
}

static int new_message(void)
{
    int at = free_message_entry;

    if (at != NONE) {
        free_message_entry = messages[at].next;
    } else {
        at = n_messages++;
        if ((at & (at + 1)) == 0 || at == 0)
            messages = must(
                realloc(messages, (size_t)(2 * at + 2) * sizeof *messages));
    }
    live_messages++;
    return at;
}

static void drop_message(int at)
{
    free(messages[at].image);
    messages[at] = (message){.next = free_message_entry};
    free_message_entry = at;
    live_messages--;
}

static void list_todo(int m)
{
    if (messages[m].listed)
        return;
    messages[m].listed = true;
    if (n_todo == todo_room) {
        todo_room = todo_room ? 2 * todo_room : 64;
        todo = must(realloc(todo, (size_t)todo_room * sizeof *todo));
    }
    todo[n_todo++] = m;
}

static int channel_of(int group, int tag)
{
    const int id = tag * GROUPS + group;

    for (int i = 0; i < n_channels; i++)
        if (channel_id[i] == id)
            return i;
    if (n_channels == CHANNELS)
        abort();
    channel_id[n_channels] = id;
    channel_counts[n_channels] = (fakempi_counts){0};
    channel_short[n_channels] = false;
    queue *const q = must(malloc((size_t)(P * P) * sizeof *q));
    for (int i = 0; i < P * P; i++)
        q[i] = (queue){NONE, NONE, FREE};
    queues[n_channels] = q;
    return n_channels++;
}

static fakempi_counts *counts_of(const request *r)
{
    return &channel_counts[channel_of(r->group, r->tag)];
}

/* ---- queues of what waits for its other half ----------------------------- */

static int *link_of(enum kind kind, int at)
{
    return kind == SEND ? &messages[at].next : &requests[at].next;
}

static void append(queue *q, enum kind kind, int at)
{
    *link_of(kind, at) = NONE;
    if (q->first == NONE)
        q->first = at;
    else
        *link_of(kind, q->last) = at;
    q->last = at;
    q->kind = kind;
}

/* The oldest waiting entry of a kind, taken out, or NONE. */
static int take(queue *q, enum kind kind)
{
    if (q->first == NONE || q->kind != kind)
        return NONE;
    const int at = q->first;
    q->first = *link_of(kind, at);
    return at;
}

static void remove_entry(queue *q, enum kind kind, int at)
{
    int previous = NONE;

    for (int i = q->first; i != NONE; previous = i, i = *link_of(kind, i)) {
        if (i != at)
            continue;
        if (previous == NONE)
            q->first = *link_of(kind, at);
        else
            *link_of(kind, previous) = *link_of(kind, at);
        if (q->last == at)
            q->last = previous;
        return;
    }
}

/* ---- data on the move ---------------------------------------------------- */

static void complete(int at)
{
    request *const r = &requests[at];

    r->complete = true;
    if (!r->orphan)
        return;
    in_flight[r->kind == SEND][r->me]--;
    drop_request(at);
}

/* The moment at which a send buffer is read: its contents must still be what
 * they were when the send was posted. */
static void read_send_buffer(message *m)
{
    size_t bytes;

    if (m->sender == NONE)
        return;
    unsigned char *const now = image_of(&requests[m->sender], &bytes);
    if (memcmp(now, m->image, bytes) != 0)
        fault("rank %d changed the send buffer of a message to rank %d before "
              "the send was complete",
              m->src, m->dst);
    free(now);
    requests[m->sender].message = NONE;
    complete(m->sender);
    m->sender = NONE;
}

static bool may_fall_short(const request *r)
{
    return r->type == MPI_BYTE && channel_short[channel_of(r->group, r->tag)];
}

static void transfer(message *m)
{
    request *const r = &requests[m->receiver];
    size_t bytes;
    unsigned char *const now = image_of(r, &bytes);

    read_send_buffer(m);
    r->got = m->bytes;
    if (bytes != m->bytes && (m->bytes > bytes || !may_fall_short(r)))
        fault("rank %d sends %zu bytes, rank %d expects %zu", m->src, m->bytes,
              m->dst, bytes);
    for (size_t i = 0; i < bytes; i++)
        if (now[i] != r->junk) {
            fault("rank %d wrote to the buffer of a posted receive from "
                  "rank %d",
                  m->dst, m->src);
            break;
        }
    free(now);
    if (bytes == m->bytes)
        move(r->data, r->type, r->count, (char *)m->image, false);
    else if (m->bytes < bytes)
        move_bytes(r->data, (char *)m->image, m->bytes, false);
    complete(m->receiver);
}

static void do_entry(int at)
{
    const int id = todo[at];
    message *const m = &messages[id];

    todo[at] = todo[--n_todo];
    m->listed = false;
    if (m->receiver == NONE) {
        read_send_buffer(m);
        return;
    }
    transfer(m);
    drop_message(id);
}

static void progress(void)
{
    clock_now++;
    if (manual)
        return;
    for (int n = 0; n < 4 && n_todo > 0 && chance(prompt); n++)
        do_entry((int)(draw() % (unsigned)n_todo));
}

static void fill_with_junk(request *r)
{
    size_t bytes = bytes_of(r->type, r->count);
    char *const junk = must(malloc(bytes + 1));

    r->junk = (unsigned char)(1 + draw() % 255);
    memset(junk, r->junk, bytes);
    move(r->data, r->type, r->count, junk, false);
    free(junk);
}

static void match(int m, int receiver)
{
    messages[m].receiver = receiver;
    list_todo(m);
}

static void post_send(int at)
{
    const int id = new_message();
    request *const r = &requests[at];
    message *const m = &messages[id];
    queue *const q = &queues[channel_of(r->group, r->tag)][r->me * P + r->peer];

    *m = (message){.src = r->me,
                   .dst = r->peer,
                   .sender = at,
                   .receiver = NONE,
                   .buffered = !manual && !r->synchronous && chance(eager),
                   .age = clock_now};
    m->image = image_of(r, &m->bytes);
    r->message = id;
    counts_of(r)->sent++;
    counts_of(r)->bytes += m->bytes;
    const int receiver = take(q, RECV);
    if (receiver != NONE)
        match(id, receiver);
    else
        append(q, SEND, id);
    if (m->buffered)
        list_todo(id);
}

static void post_recv(int at)
{
    request *const r = &requests[at];
    queue *const q = &queues[channel_of(r->group, r->tag)][r->peer * P + r->me];

    fill_with_junk(r);
    const int m = take(q, SEND);
    if (m != NONE)
        match(m, at);
    else
        append(q, RECV, at);
}

static void activate(request *r)
{
    const bool sends = r->kind == SEND;
    int *const now = &in_flight[sends][r->me];

    r->active = true;
    r->complete = false;
    if (++*now > most_in_flight[sends][r->me])
        most_in_flight[sends][r->me] = *now;
}

static void tell(const request *r)
{
    if (listener)
        listener(r->me, r->kind == SEND, r->peer, r->tag,
                 bytes_of(r->type, r->count));
}

static void post(int at)
{
    tell(&requests[at]);
    activate(&requests[at]);
    if (requests[at].kind == SEND)
        post_send(at);
    else
        post_recv(at);
    progress();
}

/* ---- collectives --------------------------------------------------------- */

static size_t count_at(const side *s, int i)
{
    if (!s->counts)
        return (size_t)s->each;
    return s->large ? (size_t)((const MPI_Count *)s->counts)[i]
                    : (size_t)((const int *)s->counts)[i];
}

static char *block_at(const side *s, int i)
{
    const ptrdiff_t displ = !s->displs ? (ptrdiff_t)i * s->each
                            : s->large
                                ? (ptrdiff_t)((const MPI_Aint *)s->displs)[i]
                                : ((const int *)s->displs)[i];

    return (char *)(intptr_t)s->base + displ * extent_of(s->type);
}

static void move_block(const collective *c, int src, int dst)
{
    const side *const s = &c->send[src], *const r = &c->recv[dst];
    const size_t bytes = bytes_of(s->type, count_at(s, dst));

    if (bytes != bytes_of(r->type, count_at(r, src))) {
        fault("all-to-all: rank %d sends %zu bytes, rank %d expects others",
              src, bytes, dst);
        return;
    }
    char *const flat = must(malloc(bytes + 1));
    move(block_at(s, dst), s->type, count_at(s, dst), flat, true);
    move(block_at(r, src), r->type, count_at(r, src), flat, false);
    free(flat);
}

static bool collective_complete(const request *r)
{
    collective *const c = &collectives[r->group][r->collective];

    if (c->n_posted < P || (!c->moved && !manual && !chance(prompt)))
        return false;
    for (int src = 0; src < P && !c->moved; src++)
        for (int dst = 0; dst < P; dst++)
            move_block(c, src, dst);
    c->moved = true;
    if (++c->n_seen == P) {
        free(c->send);
        free(c->recv);
        c->send = c->recv = NULL;
    }
    return true;
}

static void free_collectives(int group)
{
    for (unsigned i = 0; i < n_collectives[group]; i++) {
        free(collectives[group][i].send);
        free(collectives[group][i].recv);
    }
    free(collectives[group]);
    free(collective_next[group]);
    collectives[group] = NULL;
    collective_next[group] = NULL;
    n_collectives[group] = 0;
}

/* The collective that a rank posts next on a communicator. */
static unsigned next_collective(int group, int rank)
{
    if (!collective_next[group])
        collective_next[group] = must(calloc((size_t)P, sizeof(unsigned)));
    const unsigned at = collective_next[group][rank]++;
    if (at == n_collectives[group]) {
        collective **const c = &collectives[group];
        *c = must(realloc(*c, (at + 1) * sizeof **c));
        (*c)[at] = (collective){0};
        (*c)[at].send = must(calloc((size_t)P, sizeof(side)));
        (*c)[at].recv = must(calloc((size_t)P, sizeof(side)));
        n_collectives[group]++;
    }
    return at;
}

/* ---- what the tests call ------------------------------------------------- */

static void free_all(void)
{
    for (int i = 0; i < n_messages; i++)
        free(messages[i].image);
    for (int i = 0; i < n_channels; i++)
        free(queues[i]);
    for (int g = 0; g < GROUPS; g++)
        free_collectives(g);
    for (int i = 0; i < 2; i++) {
        free(in_flight[i]);
        free(most_in_flight[i]);
    }
    for (int i = 0; i < n_types; i++) {
        free(types[i].lengths);
        free(types[i].places);
    }
    free(types);
    types = NULL;
    n_types = 0;
    free(requests);
    free(messages);
    free(todo);
    free(asleep_until);
    requests = NULL;
    messages = NULL;
    todo = NULL;
    n_requests = n_messages = n_todo = todo_room = 0;
}

void fakempi_listen(fakempi_listener *other)
{
    listener = other;
}

void fakempi_reset(int ranks, uint64_t seed)
{
    static bool freed_at_exit;

    if (!freed_at_exit)
        freed_at_exit = atexit(free_all) == 0;
    free_all();
    P = ranks;
    random_state = seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
    random_state |= random_state == 0;
    free_request_entry = free_message_entry = NONE;
    live_requests = live_messages = live_types = 0;
    n_channels = 0;
    fault_text[0] = '\0';
    manual = false;
    fail_in = -1;
    for (int i = 0; i < 2; i++) {
        in_flight[i] = must(calloc((size_t)P, sizeof *in_flight[i]));
        most_in_flight[i] = must(calloc((size_t)P, sizeof *in_flight[i]));
    }
    asleep_until = must(calloc((size_t)P, sizeof *asleep_until));
    clock_now = 1;
    draw();
    static const unsigned choice[] = {0, 4, 8, 1, 7};
    eager = choice[draw() % 5];
    prompt = 2 + draw() % 6;
    sleepy = draw() % 3;
}

MPI_Comm fakempi_comm(int group, int rank)
{
    return (MPI_Comm)(intptr_t)(COMM_BASE + group * 0x10000 + rank);
}

const char *fakempi_fault(void)
{
    return fault_text[0] ? fault_text : NULL;
}

size_t fakempi_pending(void)
{
    return live_messages;
}

size_t fakempi_requests(void)
{
    return live_requests;
}

size_t fakempi_types(void)
{
    return live_types;
}

void fakempi_let_fall_short(int group, int tag)
{
    channel_short[channel_of(group, tag)] = true;
}

fakempi_counts fakempi_counts_of(int tag)
{
    fakempi_counts sum = {0};

    for (int i = 0; i < n_channels; i++) {
        const fakempi_counts *const c = &channel_counts[i];
        if (channel_id[i] / GROUPS != tag)
            continue;
        sum.inits += c->inits;
        sum.posts += c->posts;
        sum.starts += c->starts;
        sum.sent += c->sent;
        sum.bytes += c->bytes;
    }
    return sum;
}

void fakempi_manual(void)
{
    manual = true;
}

bool fakempi_transfer(int src, int dst)
{
    int oldest = NONE;

    for (int i = 0; i < n_todo; i++) {
        const message *const m = &messages[todo[i]];
        if (m->src == src && m->dst == dst && m->receiver != NONE &&
            (oldest == NONE || m->age < messages[todo[oldest]].age))
            oldest = i;
    }
    if (oldest == NONE)
        return false;
    do_entry(oldest);
    return true;
}

int fakempi_in_flight(int rank, bool sends)
{
    return in_flight[sends][rank];
}

int fakempi_most_in_flight(int rank, bool sends)
{
    return most_in_flight[sends][rank];
}

size_t fakempi_waiting(void)
{
    size_t n = 0;

    for (int i = 0; i < n_requests; i++)
        n += requests[i].kind == RECV && requests[i].active &&
             !requests[i].complete;
    for (int i = 0; i < n_todo; i++)
        n -= messages[todo[i]].receiver != NONE;
    return n;
}

void fakempi_fail_after(int n, int code)
{
    fail_in = n;
    fail_code = code;
}

/* ---- MPI: requests ------------------------------------------------------- */

static request *request_at(MPI_Request handle, int *at)
{
    *at = (int)((intptr_t)handle - REQUEST_BASE);
    if (*at >= 0 && *at < n_requests && requests[*at].kind != FREE)
        return &requests[*at];
    fault("a request that does not exist is used");
    return NULL;
}

static int add_request(enum kind kind, const void *data, size_t count,
                       MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                       MPI_Request *handle)
{
    const int id = (int)((intptr_t)comm - COMM_BASE);
    const int at = new_request();

    if (id < 0 || id / 0x10000 >= GROUPS || id % 0x10000 >= P)
        abort();
    if (kind != COLLECTIVE && (peer < 0 || peer >= P))
        abort();
    requests[at] = (request){.kind = kind,
                             .data = (char *)(intptr_t)data,
                             .count = count,
                             .type = type,
                             .group = id / 0x10000,
                             .me = id % 0x10000,
                             .peer = peer,
                             .tag = tag,
                             .message = NONE};
    use_type(type);
    *handle = (MPI_Request)(intptr_t)(REQUEST_BASE + at);
    return at;
}

static int init(enum kind kind, const void *data, size_t count,
                MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                MPI_Request *handle)
{
    if (fails_now())
        return fail_code;
    const int at =
        add_request(kind, data, count, type, peer, tag, comm, handle);
    requests[at].persistent = true;
    counts_of(&requests[at])->inits++;
    return MPI_SUCCESS;
}

/* Such a send is complete only when its message has a receiver. */
static int post_synchronous(const void *data, size_t count, MPI_Datatype type,
                            int peer, int tag, MPI_Comm comm,
                            MPI_Request *handle)
{
    if (fails_now())
        return fail_code;
    const int at =
        add_request(SEND, data, count, type, peer, tag, comm, handle);
    counts_of(&requests[at])->posts++;
    requests[at].synchronous = true;
    post(at);
    return MPI_SUCCESS;
}

static int post_now(enum kind kind, const void *data, size_t count,
                    MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                    MPI_Request *handle)
{
    if (fails_now())
        return fail_code;
    const int at =
        add_request(kind, data, count, type, peer, tag, comm, handle);
    counts_of(&requests[at])->posts++;
    post(at);
    return MPI_SUCCESS;
}

int MPI_Start(MPI_Request *handle)
{
    int at;
    request *const r = request_at(*handle, &at);

    if (fails_now())
        return fail_code;
    if (!r || !r->persistent || r->active) {
        fault("MPI_Start of a request that is not persistent and inactive");
        return MPI_ERR_REQUEST;
    }
    counts_of(r)->starts++;
    post(at);
    return MPI_SUCCESS;
}

/* Does the owner of the request stand still, or fail to notice? */
static bool unnoticed(int rank)
{
    if (manual)
        return false;
    if (clock_now < asleep_until[rank])
        return true;
    if (draw() % 256 < sleepy)
        asleep_until[rank] = clock_now + draw() % (64u * (unsigned)P + 64u);
    return chance(1);
}

/* Test one request that is not null; it becomes null if it is gone. */
static bool test_one(MPI_Request *handle)
{
    int at;
    request *const r = request_at(*handle, &at);

    if (!r || !r->active)
        return true;
    if (unnoticed(r->me))
        return false;
    if (r->kind == COLLECTIVE && !r->complete)
        r->complete = collective_complete(r);
    if (!r->complete)
        return false;
    r->active = false;
    if (r->kind != COLLECTIVE)
        in_flight[r->kind == SEND][r->me]--;
    if (!r->persistent) {
        drop_request(at);
        *handle = MPI_REQUEST_NULL;
    }
    return true;
}

int MPI_Test(MPI_Request *handle, int *flag, MPI_Status *status)
{
    int at;

    *flag = 0;
    if (fails_now())
        return fail_code;
    progress();
    if (status != MPI_STATUS_IGNORE && *handle != MPI_REQUEST_NULL) {
        const request *const r = request_at(*handle, &at);
        status->MPI_SOURCE = r ? r->peer : MPI_ANY_SOURCE;
        status->MPI_ERROR = r ? (int)r->got : 0; /* for MPI_Get_elements_x */
    }
    *flag = *handle == MPI_REQUEST_NULL || test_one(handle);
    return MPI_SUCCESS;
}

int MPI_Testsome(int n, MPI_Request handle[], int *n_done, int done[],
                 MPI_Status status[])
{
    int at, n_active = 0;

    *n_done = 0;
    if (fails_now())
        return fail_code;
    progress();
    for (int i = 0; i < n; i++) {
        const request *const r =
            handle[i] == MPI_REQUEST_NULL ? NULL : request_at(handle[i], &at);
        if (!r || !r->active)
            continue;
        n_active++;
        if (!test_one(&handle[i]))
            continue;
        if (status != MPI_STATUSES_IGNORE)
            status[*n_done].MPI_ERROR = MPI_SUCCESS;
        done[(*n_done)++] = i;
    }
    if (n_active == 0)
        *n_done = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int MPI_Request_get_status(MPI_Request handle, int *flag, MPI_Status *status)
{
    int at;
    const request *const r =
        handle == MPI_REQUEST_NULL ? NULL : request_at(handle, &at);

    (void)status;
    *flag = !r || !r->active || r->complete;
    return MPI_SUCCESS;
}

int MPI_Cancel(MPI_Request *handle)
{
    int at;
    request *const r = request_at(*handle, &at);

    if (!r || !r->active || r->kind != RECV) {
        fault("MPI_Cancel of a request that is not an active receive");
        return MPI_ERR_REQUEST;
    }
    if (r->complete)
        return MPI_SUCCESS;
    for (int i = 0; i < n_todo; i++)
        if (messages[todo[i]].receiver == at)
            return MPI_SUCCESS; /* matched: it will complete */
    remove_entry(&queues[channel_of(r->group, r->tag)][r->peer * P + r->me],
                 RECV, at);
    r->complete = true;
    return MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request *handle)
{
    int at;
    request *const r = request_at(*handle, &at);

    *handle = MPI_REQUEST_NULL;
    if (!r)
        return MPI_ERR_REQUEST;
    if (r->active && !r->complete) {
        r->orphan = true;
        return MPI_SUCCESS;
    }
    if (r->active)
        in_flight[r->kind == SEND][r->me]--;
    drop_request(at);
    return MPI_SUCCESS;
}

/* ---- MPI: messages ------------------------------------------------------- */

int MPI_Isend(const void *data, int count, MPI_Datatype type, int peer, int tag,
              MPI_Comm comm, MPI_Request *handle)
{
    return post_now(SEND, data, (size_t)count, type, peer, tag, comm, handle);
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int peer, int tag,
              MPI_Comm comm, MPI_Request *handle)
{
    return post_now(RECV, data, (size_t)count, type, peer, tag, comm, handle);
}

int MPI_Issend(const void *data, int count, MPI_Datatype type, int peer,
               int tag, MPI_Comm comm, MPI_Request *handle)
{
    return post_synchronous(data, (size_t)count, type, peer, tag, comm, handle);
}

int MPI_Send_init(const void *data, int count, MPI_Datatype type, int peer,
                  int tag, MPI_Comm comm, MPI_Request *handle)
{
    return init(SEND, data, (size_t)count, type, peer, tag, comm, handle);
}

int MPI_Recv_init(void *data, int count, MPI_Datatype type, int peer, int tag,
                  MPI_Comm comm, MPI_Request *handle)
{
    return init(RECV, data, (size_t)count, type, peer, tag, comm, handle);
}

static void tell_blocks(const request *r, bool sends, const side *s)
{
    for (int q = 0; listener && q < P; q++)
        listener(r->me, sends, q, -1 - r->group,
                 bytes_of(s->type, count_at(s, q)));
}

static int all_to_all(side send, side recv, MPI_Comm comm, MPI_Request *handle)
{
    if (fails_now())
        return fail_code;
    const int at =
        add_request(COLLECTIVE, NULL, 0, MPI_BYTE, NONE, 0, comm, handle);
    request *const r = &requests[at];
    r->collective = next_collective(r->group, r->me);
    collective *const c = &collectives[r->group][r->collective];
    c->send[r->me] = send;
    c->recv[r->me] = recv;
    tell_blocks(r, true, &send);
    tell_blocks(r, false, &recv);
    c->n_posted++;
    r->active = true;
    return MPI_SUCCESS;
}

int MPI_Ialltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype,
                  void *recvbuf, int recvcount, MPI_Datatype recvtype,
                  MPI_Comm comm, MPI_Request *handle)
{
    return all_to_all((side){sendbuf, NULL, NULL, false, sendtype, sendcount},
                      (side){recvbuf, NULL, NULL, false, recvtype, recvcount},
                      comm, handle);
}

int MPI_Ialltoallv(const void *sendbuf, const int sendcounts[],
                   const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
                   const int recvcounts[], const int rdispls[],
                   MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *handle)
{
    return all_to_all((side){sendbuf, sendcounts, sdispls, false, sendtype, 0},
                      (side){recvbuf, recvcounts, rdispls, false, recvtype, 0},
                      comm, handle);
}

/* The oldest message to a rank that waits for a receive, or NONE. From any
 * source: of whichever comes first, beginning anywhere. */
static int find_message(int channel, int peer, int me)
{
    const int first =
        peer == MPI_ANY_SOURCE && !manual ? (int)(draw() % 1024) : peer;
    int m = NONE;

    if (peer != MPI_ANY_SOURCE)
        return take(&queues[channel][peer * P + me], SEND);
    for (int i = 0; i < P && m == NONE; i++)
        m = take(&queues[channel][(abs(first) + i) % P * P + me], SEND);
    return m;
}

int MPI_Improbe(int peer, int tag, MPI_Comm comm, int *flag,
                MPI_Message *handle, MPI_Status *status)
{
    const int id = (int)((intptr_t)comm - COMM_BASE), me = id % 0x10000;

    *flag = 0;
    if (fails_now())
        return fail_code;
    progress();
    if (unnoticed(me) || (!manual && !chance(prompt)))
        return MPI_SUCCESS;
    const int m = find_message(channel_of(id / 0x10000, tag), peer, me);
    if (m == NONE)
        return MPI_SUCCESS;
    *flag = 1;
    *handle = (MPI_Message)(intptr_t)(MESSAGE_BASE + m);
    messages[m].group = id / 0x10000;
    messages[m].tag = tag;
    status->MPI_SOURCE = messages[m].src;
    status->MPI_TAG = tag;
    status->MPI_ERROR = (int)messages[m].bytes; /* for MPI_Get_elements_x */
    return MPI_SUCCESS;
}

/* Called only so that MPI gets on. */
int MPI_Iprobe(int peer, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    (void)peer;
    (void)tag;
    (void)comm;
    (void)status;
    *flag = 0;
    return MPI_SUCCESS;
}

#if MPI_VERSION < 4
#define MPI_Get_elements_c MPI_Get_elements_x
#endif

int MPI_Get_elements_c(const MPI_Status *status, MPI_Datatype type,
                       MPI_Count *count)
{
    if (type != MPI_BYTE)
        fault("elements of another type than MPI_BYTE");
    *count = status->MPI_ERROR;
    return MPI_SUCCESS;
}

static int receive_matched(void *data, size_t count, MPI_Datatype type,
                           MPI_Message *handle, MPI_Request *request_handle)
{
    const int m = (int)((intptr_t)*handle - MESSAGE_BASE);

    if (fails_now())
        return fail_code;
    *handle = MPI_MESSAGE_NULL;
    const MPI_Comm comm = fakempi_comm(messages[m].group, messages[m].dst);
    const int at = add_request(RECV, data, count, type, messages[m].src,
                               messages[m].tag, comm, request_handle);
    counts_of(&requests[at])->posts++;
    tell(&requests[at]);
    activate(&requests[at]);
    fill_with_junk(&requests[at]);
    match(m, at);
    progress();
    return MPI_SUCCESS;
}

int MPI_Imrecv(void *data, int count, MPI_Datatype type, MPI_Message *handle,
               MPI_Request *request_handle)
{
    return receive_matched(data, (size_t)count, type, handle, request_handle);
}

/* ---- MPI: datatypes and packing ------------------------------------------ */

int MPI_Get_address(const void *at, MPI_Aint *address)
{
    *address = (MPI_Aint)(intptr_t)at;
    return MPI_SUCCESS;
}

int MPI_Type_create_hindexed(int n, const int lengths[],
                             const MPI_Aint places[], MPI_Datatype element,
                             MPI_Datatype *type)
{
    if (fails_now())
        return fail_code;
    if (element != MPI_BYTE)
        fault("MPI_Type_create_hindexed of other elements than MPI_BYTE");
    datatype d = {.pieces = n,
                  .lengths = must(malloc((size_t)n * sizeof *d.lengths)),
                  .places = must(malloc((size_t)n * sizeof *d.places))};
    memcpy(d.lengths, lengths, (size_t)n * sizeof *d.lengths);
    memcpy(d.places, places, (size_t)n * sizeof *d.places);
    *type = new_type(d);
    return MPI_SUCCESS;
}

int MPI_Type_commit(MPI_Datatype *type)
{
    datatype *const d = find_type(*type);

    if (fails_now())
        return fail_code;
    if (d)
        d->committed = true;
    return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype *type)
{
    datatype *const d = find_type(*type);

    if (!d || d->freed)
        fault("MPI_Type_free of what is not a datatype");
    if (d)
        d->freed = true;
    drop_type(*type);
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

int MPI_Pack(const void *data, int count, MPI_Datatype type, void *packed,
             int size, int *position, MPI_Comm comm)
{
    const size_t bytes = bytes_of(type, (size_t)count);

    (void)comm;
    if (bytes > (size_t)(size - *position))
        fault("MPI_Pack of %zu bytes into %d", bytes, size - *position);
    else
        move((char *)(intptr_t)data, type, (size_t)count,
             (char *)packed + *position, true);
    *position += (int)bytes;
    return MPI_SUCCESS;
}

int MPI_Unpack(const void *packed, int size, int *position, void *data,
               int count, MPI_Datatype type, MPI_Comm comm)
{
    const size_t bytes = bytes_of(type, (size_t)count);

    (void)comm;
    if (bytes > (size_t)(size - *position))
        fault("MPI_Unpack of %zu bytes from %d", bytes, size - *position);
    else
        move(data, type, (size_t)count, (char *)(intptr_t)packed + *position,
             false);
    *position += (int)bytes;
    return MPI_SUCCESS;
}

#if MPI_VERSION >= 4

int MPI_Isend_c(const void *data, MPI_Count count, MPI_Datatype type, int peer,
                int tag, MPI_Comm comm, MPI_Request *handle)
{
    return post_now(SEND, data, (size_t)count, type, peer, tag, comm, handle);
}

int MPI_Irecv_c(void *data, MPI_Count count, MPI_Datatype type, int peer,
                int tag, MPI_Comm comm, MPI_Request *handle)
{
    return post_now(RECV, data, (size_t)count, type, peer, tag, comm, handle);
}

int MPI_Issend_c(const void *data, MPI_Count count, MPI_Datatype type, int peer,
                 int tag, MPI_Comm comm, MPI_Request *handle)
{
    return post_synchronous(data, (size_t)count, type, peer, tag, comm, handle);
}

int MPI_Imrecv_c(void *data, MPI_Count count, MPI_Datatype type,
                 MPI_Message *handle, MPI_Request *request_handle)
{
    return receive_matched(data, (size_t)count, type, handle, request_handle);
}

int MPI_Send_init_c(const void *data, MPI_Count count, MPI_Datatype type,
                    int peer, int tag, MPI_Comm comm, MPI_Request *handle)
{
    return init(SEND, data, (size_t)count, type, peer, tag, comm, handle);
}

int MPI_Recv_init_c(void *data, MPI_Count count, MPI_Datatype type, int peer,
                    int tag, MPI_Comm comm, MPI_Request *handle)
{
    return init(RECV, data, (size_t)count, type, peer, tag, comm, handle);
}

int MPI_Ialltoallv_c(const void *sendbuf, const MPI_Count sendcounts[],
                     const MPI_Aint sdispls[], MPI_Datatype sendtype,
                     void *recvbuf, const MPI_Count recvcounts[],
                     const MPI_Aint rdispls[], MPI_Datatype recvtype,
                     MPI_Comm comm, MPI_Request *handle)
{
    return all_to_all((side){sendbuf, sendcounts, sdispls, true, sendtype, 0},
                      (side){recvbuf, recvcounts, rdispls, true, recvtype, 0},
                      comm, handle);
}

#endif
