/* record.c - see record.h. */
#include "plan/kinds/record.h"

#include "base/alike.h"
#include "exec/payload/sized.h"
#include "plan/inside.h"
#include "plan/ranks/fellows.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

enum { ROOM = 4096 }; /* entries that wait to be written */

#define RECORD_MAGIC UINT32_C(0x524f5441)
#define RECORD_PLAN UINT32_C(0xffffffff)
#define RECORD_START UINT32_C(0xfffffffe)
#define RECORD_AGAIN UINT32_C(0xfffffffd)
#define RECORD_LOST UINT32_C(0xfffffffc)

typedef struct entry {
    uint32_t a, b;
    uint64_t c;
} entry;
_Static_assert(sizeof(entry) == 16, "an entry has no padding");

struct rota_record {
    int P;
    uint32_t plan;
    size_t *last; /* [P] bytes of the last start */
    size_t *now;  /* [P] bytes of a start told block by block, behind last */
    bool any;
    uint64_t again;           /* equal starts that are not written yet */
    rota_record *next, *prev; /* in out.live */
};

/* A set of ranks. */
typedef struct rank_set {
    uint64_t hash;
    uint64_t plans;
    rota_record *calls; /* the calls that went to MPI */
    UT_hash_handle hh;
} rank_set;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static struct {
    int fd;      /* -1: nothing is recorded */
    size_t room; /* entries that the file may still get */
    uint64_t lost;
    uint32_t plans;
    size_t n;
    entry waiting[ROOM];
    rank_set *of;
    rota_record *live;
} out = {.fd = -1};

/* ---- the file ------------------------------------------------------------ */

static void give_up(const char *what)
{
    fprintf(stderr, "rota: ROTA_RECORD: %s: %s\n", what, strerror(errno));
    if (out.fd >= 0)
        close(out.fd);
    out.fd = -1;
}

static void flush(void)
{
    const char *at = (const char *)out.waiting;
    size_t left = out.n * sizeof(entry);

    while (left > 0 && out.fd >= 0) {
        const ssize_t n = write(out.fd, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            give_up("a file");
            return;
        }
        at += n;
        left -= (size_t)n;
    }
    out.n = 0;
}

static void put(uint32_t a, uint32_t b, uint64_t c)
{
    if (out.n == ROOM)
        flush();
    if (out.fd >= 0)
        out.waiting[out.n++] = (entry){a, b, c};
}

/* Make room for n entries; the last one tells how many starts were lost. */
static bool reserve(size_t n)
{
    if (out.fd < 0 || out.lost > 0 || n > out.room)
        return false;
    out.room -= n;
    return true;
}

static void put_again(rota_record *r)
{
    if (r->again > 0 && reserve(1))
        put(RECORD_AGAIN, r->plan, r->again);
    else
        out.lost += r->again;
    r->again = 0;
}

static void at_end(void)
{
    pthread_mutex_lock(&lock);
    for (rota_record *r = out.live; r; r = r->next)
        put_again(r);
    if (out.lost > 0)
        put(RECORD_LOST, 0, out.lost);
    flush();
    if (out.fd >= 0)
        close(out.fd);
    out.fd = -1;
    pthread_mutex_unlock(&lock);
}

/* Most bytes of this process's file. */
static size_t limit(int P)
{
    const size_t all = (size_t)1 << 30, least = 1 << 16, most = 1 << 26;
    const size_t mine = all / (size_t)P;

    return mine < least ? least : mine > most ? most : mine;
}

static void open_file(void)
{
    const char *const folder = getenv("ROTA_RECORD");
    char path[4096];
    int P, rank;

    if (!folder || !*folder || MPI_Comm_size(MPI_COMM_WORLD, &P) ||
        MPI_Comm_rank(MPI_COMM_WORLD, &rank))
        return;
    if (snprintf(path, sizeof path, "%s/%d.rota", folder, rank) >=
        (int)sizeof path)
        errno = ENAMETOOLONG;
    else if (mkdir(folder, 0777) == 0 || errno == EEXIST)
        out.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (out.fd < 0) {
        give_up(folder);
        return;
    }
    out.room = limit(P) / sizeof(entry) - 2;
    put(RECORD_MAGIC, 1, (uint64_t)P);
    atexit(at_end);
}

/* ---- plans --------------------------------------------------------------- */

/* Hash the ranks in MPI_COMM_WORLD, in order. */
static bool hash_ranks(MPI_Comm comm, int P, uint64_t *hash)
{
    int *const rank = calloc(2 * (size_t)P, sizeof *rank);

    if (!rank)
        return false;
    for (int q = 0; q < P; q++)
        rank[q] = q;
    const bool ok =
        rota_fellows_translate(comm, P, rank, MPI_COMM_WORLD, rank + P);
    *hash = (uint64_t)P;
    for (int q = 0; q < P && ok; q++)
        *hash = rota_mix(*hash, (uint64_t)rank[P + q]);
    free(rank);
    return ok;
}

static rank_set *find_set(MPI_Comm comm, int P)
{
    rank_set *m = NULL;
    uint64_t hash;

    if (!hash_ranks(comm, P, &hash))
        return NULL;
    HASH_FIND(hh, out.of, &hash, sizeof hash, m);
    if (m)
        return m;
    m = calloc(1, sizeof *m);
    if (m) {
        m->hash = hash;
        HASH_ADD(hh, out.of, hash, sizeof m->hash, m);
    }
    return m;
}

static rota_record *new_record(int P, int rank, rota_kind kind, uint64_t key)
{
    rota_record *const r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->P = P;
    r->last = malloc(2 * (size_t)P * sizeof *r->last);
    if (!r->last || !reserve(2)) {
        free(r->last);
        free(r);
        return NULL;
    }
    r->now = r->last + P;
    r->plan = out.plans++;
    put(RECORD_PLAN, r->plan, key);
    put((uint32_t)P, (uint32_t)rank,
        (uint64_t)(kind == ROTA_SPARSE ? ROTA_EXCHANGE : kind));
    DL_PREPEND(out.live, r);
    return r;
}

bool rota_record_wanted(void)
{
    pthread_once(&once, open_file);
    return out.fd >= 0;
}

/* Begin the record of a plan or, once for these ranks, of calls. */
static rota_record *begin(MPI_Comm comm, rota_kind kind, bool calls)
{
    rota_record *r = NULL;
    int P, rank;

    if (!rota_record_wanted() || MPI_Comm_size(comm, &P) ||
        MPI_Comm_rank(comm, &rank))
        return NULL;
    pthread_mutex_lock(&lock);
    rank_set *const m = find_set(comm, P);
    if (m && !calls)
        r = new_record(P, rank, kind, rota_mix(m->hash, ++m->plans));
    if (m && calls && !m->calls)
        m->calls = new_record(P, rank, kind, rota_mix(m->hash, 0));
    if (m && calls)
        r = m->calls;
    pthread_mutex_unlock(&lock);
    return r;
}

rota_record *rota_record_open(MPI_Comm comm, rota_kind kind)
{
    return begin(comm, kind, false);
}

void rota_record_close(rota_record *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&lock);
    put_again(r);
    DL_DELETE(out.live, r);
    pthread_mutex_unlock(&lock);
    free(r->last);
    free(r);
}

/* ---- starts -------------------------------------------------------------- */

/* The end of the series of ranks, from q on, that get as much as q. */
static int end_of_run(const size_t bytes[], int P, int q)
{
    int end = q + 1;

    while (end < P && bytes[end] == bytes[q])
        end++;
    return end;
}

static void write_start(rota_record *r)
{
    const size_t *const bytes = r->last;
    uint64_t n = 0;

    for (int q = 0; q < r->P; q = end_of_run(bytes, r->P, q))
        n += bytes[q] > 0;
    if (!reserve(n + 1)) {
        out.lost++;
        return;
    }
    put(RECORD_START, r->plan, n);
    for (int q = 0, end; q < r->P; q = end) {
        end = end_of_run(bytes, r->P, q);
        if (bytes[q] > 0)
            put((uint32_t)q, (uint32_t)(end - q), bytes[q]);
    }
}

/* Keep a start. Blocks too large to be recorded count as empty. */
static bool keep(rota_record *r, const size_t bytes[])
{
    bool same = r->any;

    for (int q = 0; q < r->P; q++) {
        const size_t b = rota_cell_bytes(bytes[q]);
        same = same && r->last[q] == b;
        r->last[q] = b;
    }
    r->any = true;
    return same;
}

void rota_record_start(rota_record *r, const size_t bytes[])
{
    if (keep(r, bytes)) {
        r->again++;
        return;
    }
    /* keep has overwritten the last start's counts; put_again does not need
     * them. */
    pthread_mutex_lock(&lock);
    put_again(r);
    write_start(r);
    pthread_mutex_unlock(&lock);
}

void rota_record_blocks(rota_record *r, int n, const int rank[],
                        const size_t bytes[])
{
    memset(r->now, 0, (size_t)r->P * sizeof *r->now);
    for (int i = 0; i < n; i++)
        if (rank[i] >= 0)
            r->now[rank[i]] += rota_cell_bytes(bytes[i]);
    rota_record_start(r, r->now);
}

void rota_record_call(MPI_Comm comm, const size_t bytes[])
{
    rota_record *const r = begin(comm, ROTA_VARYING, true);

    if (r)
        rota_record_start(r, bytes);
}
