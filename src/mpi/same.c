/* same.c - see same.h. */
#include "mpi/same.h"
#include "mpi/plans.h"
#include "mpi/stats.h"
#include "mpi/sync.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Plans kept at a time, and calls in a row without one after which MPI takes
 * over. */
enum { PLANS = 8, MOST_MISSES = 16 };

/* A block, as it is compared. */
typedef struct block {
    int64_t count, displ, type;
} block;

typedef struct entry {
    rota_mpi_fixed fixed;
    bool in_place;
    size_t bytes;  /* that it sends */
    block *blocks; /* [2 P] to send and to receive */
} entry;

struct rota_mpi_same {
    int P;
    entry entries[PLANS];
    unsigned made;
    int misses;
    block *now; /* [2 P], and behind it those of entries */
};

/* ---- types --------------------------------------------------------------- */

static int keyval = MPI_KEYVAL_INVALID;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* MPI reuses handles for other types, so each type gets a number, as an attribute.
 * 0: it cannot be told from others. */
static int64_t number(MPI_Datatype type)
{
    static intptr_t last;
    void *known = NULL;
    int found = 0;

    if (keyval == MPI_KEYVAL_INVALID)
        return 0;
    pthread_mutex_lock(&lock);
    if (PMPI_Type_get_attr(type, keyval, &known, &found) != MPI_SUCCESS)
        known = NULL;
    if (!found &&
        PMPI_Type_set_attr(type, keyval, (void *)(last + 1)) == MPI_SUCCESS)
        known = (void *)++last;
    pthread_mutex_unlock(&lock);
    return (intptr_t)known;
}

void rota_mpi_same_begin(void)
{
    PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN,
                            &keyval, NULL);
}

void rota_mpi_same_end(void)
{
    if (keyval != MPI_KEYVAL_INVALID)
        PMPI_Type_free_keyval(&keyval);
}

/* ---- arguments ----------------------------------------------------------- */

/* False where they cannot be compared. */
static bool read_side(const rota_mpi_args *a, const rota_mpi_blocks *b, int P,
                      block *blocks)
{
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int64_t known = 0;
    const bool given = b->counts && b->displs && b->types;
    bool good = given;

    for (int i = 0; i < P && given; i++) {
        const MPI_Count n = rota_mpi_count_at(a, b, i);
        blocks[i] = (block){.count = n};
        if (n == 0)
            continue;
        if (type != b->types[i]) {
            type = b->types[i];
            known = number(type);
        }
        good = good && known;
        blocks[i].type = known;
        blocks[i].displ = rota_mpi_displ_at(a, b, i);
    }
    return good;
}

static int find(rota_mpi_same *s, const rota_mpi_args *a)
{
    const bool in_place = a->send.buffer == MPI_IN_PLACE;
    const size_t P = (size_t)s->P;
    bool good = read_side(a, &a->recv, s->P, s->now + P);

    memset(s->now, 0, P * sizeof *s->now);
    if (!in_place)
        good = read_side(a, &a->send, s->P, s->now) && good;
    for (int i = 0; i < PLANS && good; i++)
        if (s->entries[i].fixed.plan && s->entries[i].in_place == in_place &&
            !memcmp(s->entries[i].blocks, s->now, 2 * P * sizeof *s->now))
            return i;
    return -1;
}

/* ---- plans --------------------------------------------------------------- */

rota_mpi_same *rota_mpi_same_make(int P)
{
    rota_mpi_same *const s = rota_mpi_alloc(1, sizeof *s);
    const size_t n = 2 * (size_t)P;

    s->now = rota_mpi_alloc((PLANS + 1) * n, sizeof *s->now);
    s->P = P;
    for (size_t i = 0; i < PLANS; i++)
        s->entries[i].blocks = s->now + (i + 1) * n;
    return s;
}

void rota_mpi_same_destroy(rota_mpi_same *s)
{
    if (!s)
        return;
    for (int i = 0; i < PLANS; i++)
        rota_plan_free(&s->entries[i].fixed.plan);
    free(s->now);
    free(s);
}

/* The oldest plan makes room. */
static entry *make(rota_mpi_same *s, const rota_mpi_args *args, MPI_Comm ours)
{
    entry *const e = &s->entries[s->made++ % PLANS];
    rota_mpi_args a = *args;

    rota_plan_free(&e->fixed.plan);
    a.comm = ours;
    const int err =
        rota_mpi_make_fixed(&a, false, MPI_INFO_NULL, &e->fixed.plan);
    if (err != MPI_SUCCESS) {
        e->fixed.plan = NULL;
        rota_mpi_explain(args->comm, err);
        return NULL;
    }
    memcpy(e->blocks, s->now, 2 * (size_t)s->P * sizeof *s->now);
    e->in_place = args->send.buffer == MPI_IN_PLACE;
    e->bytes = rota_mpi_args_bytes(args);
    e->fixed.send = a.send.buffer;
    e->fixed.recv = a.recv.buffer;
    return e;
}

static entry *find_or_make(rota_mpi_same *s, const rota_mpi_args *args,
                           MPI_Comm ours)
{
    const int mine = find(s, args);
    const int in[2] = {mine, -mine};
    int out[2] = {-1, 0};

    if (rota_mpi_reduce(in, out, 2, MPI_INT, MPI_MIN, ours) != MPI_SUCCESS)
        return NULL;
    if (out[0] >= 0 && out[0] == -out[1]) {
        s->misses = 0;
        return &s->entries[out[0]];
    }
    if (s->misses == MOST_MISSES)
        return NULL;
    s->misses++;
    return make(s, args, ours);
}

bool rota_mpi_same_exchange(rota_mpi_same *s, const rota_mpi_args *args,
                            MPI_Comm ours, int *err)
{
    entry *const e = find_or_make(s, args, ours);

    if (!e)
        return false;
    *err = rota_mpi_start_on(&e->fixed, args->send.buffer, args->recv.buffer);
    if (*err == MPI_SUCCESS)
        *err = rota_wait(e->fixed.plan);
    rota_mpi_count_start(e->bytes);
    return true;
}
