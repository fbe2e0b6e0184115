/* trace.c - see trace.h. */
#define _GNU_SOURCE /* for secure_getenv */
#include "exec/move/trace.h"
#include "exec/move/clock.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct event {
    int64_t begin, end;
    rota_trace_kind kind;
    int peer, plan;
    uint64_t run;
    size_t bytes;
} event;

/* Events kept at most: some 60 MB. */
enum { MOST_EVENTS = 1 << 20 };

static struct {
    char *path;
    int rank, node;
    int64_t shift; /* from the clock of waits to the time of day */
    event *event;
    size_t n, room, lost;
} all;

static const char *const name_of[] = {
    [ROTA_TRACE_RUN] = "run",         [ROTA_TRACE_STEP] = "step",
    [ROTA_TRACE_COPY] = "copy",       [ROTA_TRACE_GATHER] = "gather",
    [ROTA_TRACE_SCATTER] = "scatter", [ROTA_TRACE_PACK] = "pack",
    [ROTA_TRACE_UNPACK] = "unpack",   [ROTA_TRACE_SEND] = "send",
    [ROTA_TRACE_RECEIVE] = "receive",
};

/* ---- the file ------------------------------------------------------------ */

static double us(int64_t ns)
{
    const int64_t day = INT64_C(86400000000000);

    return (double)((ns + all.shift) % day) / 1000;
}

static void write_args(FILE *out, const event *e)
{
    fprintf(out, ",\"args\":{\"plan\":%d,\"run\":%" PRIu64, e->plan, e->run);
    if (e->peer >= 0)
        fprintf(out, ",\"peer\":%d", e->peer);
    fprintf(out, ",\"bytes\":%zu}}", e->bytes);
}

static void write_span(FILE *out, const event *e)
{
    fprintf(out,
            ",\n{\"name\":\"%s\",\"cat\":\"rota\",\"ph\":\"X\",\"ts\":%.3f,"
            "\"dur\":%.3f,\"pid\":%d,\"tid\":%d",
            name_of[e->kind], us(e->begin), (double)(e->end - e->begin) / 1000,
            all.node, all.rank);
    write_args(out, e);
}

static void write_message(FILE *out, const event *e, size_t number)
{
    for (int end = 0; end < 2; end++) {
        fprintf(out,
                ",\n{\"name\":\"%s\",\"cat\":\"wire\",\"ph\":\"%c\","
                "\"id\":\"%d.%zu\",\"ts\":%.3f,\"pid\":%d,\"tid\":%d",
                name_of[e->kind], end ? 'e' : 'b', all.rank, number,
                us(end ? e->end : e->begin), all.node, all.rank);
        write_args(out, e);
    }
}

static void write_all(FILE *out)
{
    fprintf(out,
            ",\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":"
            "{\"name\":\"node %d\"}},\n{\"name\":\"thread_name\",\"ph\":\"M\","
            "\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"rank %d\"}}",
            all.node, all.node, all.node, all.rank, all.rank);
    for (size_t i = 0; i < all.n; i++)
        if (all.event[i].kind >= ROTA_TRACE_SEND)
            write_message(out, &all.event[i], i);
        else
            write_span(out, &all.event[i]);
    fputc('\n', out);
}

/* Write text in one call, so that the ranks' output does not mix. */
static void append(const char *text, size_t bytes)
{
    static bool told;
    const int fd = open(all.path, O_WRONLY | O_APPEND);
    const ssize_t put = fd >= 0 ? write(fd, text, bytes) : -1;

    if (!told && (put < 0 || (size_t)put < bytes)) {
        told = true;
        fprintf(stderr, "rota: ROTA_TRACE: %s could not be written\n",
                all.path);
    }
    if (fd >= 0)
        close(fd);
}

static void write_file(void)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *const out = open_memstream(&text, &bytes);

    if (out) {
        write_all(out);
        fclose(out);
        append(text, bytes);
    }
    if (all.lost > 0)
        fprintf(stderr,
                "rota: ROTA_TRACE: rank %d did more than is kept, "
                "%zu events are missing\n",
                all.rank, all.lost);
    free(text);
    free(all.event);
    free(all.path);
    all.path = NULL;
}

static int64_t time_of_day_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Rank 0 begins the file; the others append when they end. */
void rota_trace_open(int rank, int node)
{
    const char *const path = secure_getenv("ROTA_TRACE");
    static const char head[] =
        "[{\"name\":\"rota\",\"ph\":\"M\",\"pid\":0,\"args\":{}}";

    if (!path || !*path || all.path || !(all.path = strdup(path)))
        return;
    all.rank = rank;
    all.node = node;
    all.shift = time_of_day_ns() - rota_now_ns();
    if (rank == 0) {
        const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (fd >= 0)
            close(fd);
        append(head, sizeof head - 1);
    }
    atexit(write_file);
}

/* ---- events -------------------------------------------------------------- */

int rota_trace_make(const rota_blocks *b, int plan, rota_trace **trace)
{
    *trace = NULL;
    if (!all.path)
        return MPI_SUCCESS;
    rota_trace *const t = calloc(1, sizeof *t);
    if (!t)
        return rota_fail_mem("a trace");
    t->blocks = b;
    t->plan = plan;
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        t->posted[dir] = calloc((size_t)b->s->msgs[dir].n + 1, sizeof(int64_t));
        if (!t->posted[dir]) {
            rota_trace_free(t);
            return rota_fail_mem("a trace");
        }
    }
    *trace = t;
    return MPI_SUCCESS;
}

void rota_trace_free(rota_trace *t)
{
    for (int dir = 0; t && dir < ROTA_N_DIRS; dir++)
        free(t->posted[dir]);
    free(t);
}

int64_t rota_trace_now(const rota_trace *t)
{
    return t ? rota_now_ns() : 0;
}

static bool make_room(void)
{
    const size_t room = all.room ? 2 * all.room : 1024;

    if (all.n < all.room)
        return true;
    event *const more =
        room <= MOST_EVENTS ? realloc(all.event, room * sizeof *more) : NULL;
    if (!more)
        return false;
    all.event = more;
    all.room = room;
    return true;
}

void rota_trace_note(const rota_trace *t, rota_trace_kind kind, int64_t begin,
                     int peer, size_t bytes)
{
    if (!t || !all.path)
        return;
    if (!make_room()) {
        all.lost++;
        return;
    }
    all.event[all.n++] = (event){.begin = begin,
                                 .end = rota_now_ns(),
                                 .kind = kind,
                                 .peer = peer,
                                 .plan = t->plan,
                                 .run = t->runs,
                                 .bytes = bytes};
}

void rota_trace_message(const rota_trace *t, rota_dir dir, uint32_t m)
{
    if (t)
        rota_trace_note(t,
                        dir == ROTA_SEND ? ROTA_TRACE_SEND : ROTA_TRACE_RECEIVE,
                        t->posted[dir][m], t->blocks->s->msgs[dir].msg[m].peer,
                        rota_message_bytes(t->blocks, dir, m));
}
