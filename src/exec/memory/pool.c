/* pool.c - see pool.h.
 *
 * The pool consists of slabs of 64 KiB, each cut into grains of 1 KiB. A piece
 * is a power of two of grains, aligned to its length, so that the grains of a
 * slab are bits of one word.
 */
#include "exec/memory/pool.h"
#include "exec/move/blocks.h"

#include <pthread.h>

enum {
    GRAIN = 1 << 10,
    MOST_SLABS = 64,      /* 4 MiB */
    NODE_POOL = 1 << 27,  /* bytes of all pools of a node */
    LEAST_POOL = 1 << 18, /* least bytes of one pool */
};

typedef struct slab {
    char *memory;
    rota_place at;
    uint64_t used;                         /* a bit per grain */
    rota_piece *owner[ROTA_PIECE / GRAIN]; /* by the first grain of a piece */
} slab;

/* Guarded by pool_lock. */
static struct {
    slab slab[MOST_SLABS];
    int n, most;
    int next;  /* slab where the next search begins */
    int sweep; /* slab where the next sweep begins */
} pool;

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

void rota_pool_allow(int processes)
{
    size_t bytes = (size_t)NODE_POOL / (size_t)(processes > 0 ? processes : 1);

    bytes = bytes < LEAST_POOL ? LEAST_POOL : bytes;
    pthread_mutex_lock(&pool_lock);
    int most = (int)(bytes / ROTA_PIECE);
    most = most < MOST_SLABS ? most : MOST_SLABS;
    if (pool.most == 0 || most < pool.most)
        pool.most = most;
    pthread_mutex_unlock(&pool_lock);
}

/* Pieces begin in the middle of a page. User buffers tend to begin at a page,
 * or 16 bytes behind, and copies between addresses that are nearly equal modulo
 * the page size are slow (copy.h). */
static bool add_slab(void)
{
    slab *const s = &pool.slab[pool.n];
    char *const memory = rota_arena_alloc(ROTA_PIECE + ROTA_COPY_PAGE);

    if (!memory)
        return false;
    s->memory = memory + ROTA_COPY_PAGE / 2;
    rota_arena_find(s->memory, ROTA_PIECE, &s->at);
    pool.n++;
    return true;
}

void rota_pool_reserve(size_t bytes)
{
    pthread_mutex_lock(&pool_lock);
    while (pool.n < pool.most && (size_t)pool.n * ROTA_PIECE < bytes)
        if (!add_slab())
            break;
    pthread_mutex_unlock(&pool_lock);
}

/* The first n grains, as bits. */
static uint64_t bits(int n)
{
    return n == 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1;
}

static bool take_from(slab *s, int n, rota_piece *piece)
{
    if (s->used == ~(uint64_t)0)
        return false;
    for (int first = 0; first < ROTA_PIECE / GRAIN; first += n)
        if (!(s->used & bits(n) << first)) {
            s->used |= bits(n) << first;
            s->owner[first] = piece;
            piece->memory = s->memory + first * GRAIN;
            piece->at = s->at + (rota_place)first * GRAIN;
            piece->bytes = (size_t)n * GRAIN;
            piece->entry = 0;
            return true;
        }
    return false;
}

static bool take(rota_piece *piece, int n, const rota_peer *peer)
{
    for (int i = 0; i < pool.n; i++) {
        const int k = (pool.next + i) % pool.n;
        if (rota_peer_has(peer, pool.slab[k].at) &&
            take_from(&pool.slab[k], n, piece)) {
            pool.next = k;
            return true;
        }
    }
    return false;
}

static void put(rota_piece *piece)
{
    for (int k = 0; k < pool.n; k++) {
        slab *const s = &pool.slab[k];
        const size_t from = (size_t)(piece->memory - s->memory);
        if ((uintptr_t)piece->memory - (uintptr_t)s->memory < ROTA_PIECE) {
            s->used &= ~(bits((int)(piece->bytes / GRAIN)) << from / GRAIN);
            s->owner[from / GRAIN] = NULL;
        }
    }
    piece->memory = NULL;
}

/* Take pieces of a slab back from their owners, if they have been read. */
static bool sweep(slab *s)
{
    bool any = false;

    for (int i = 0; i < ROTA_PIECE / GRAIN; i++) {
        rota_piece *const p = s->owner[i];
        if (p && p->is_taken(p->owner, p->entry)) {
            put(p);
            any = true;
        }
    }
    return any;
}

static bool sweep_some(void)
{
    for (int i = 0; i < pool.n; i++) {
        pool.sweep = (pool.sweep + 1) % pool.n;
        if (sweep(&pool.slab[pool.sweep]))
            return true;
    }
    return false;
}

bool rota_pool_take(rota_piece *piece, size_t bytes, const rota_peer *peer)
{
    int n = 1;

    while (n < ROTA_PIECE / GRAIN && (size_t)n * GRAIN < bytes)
        n *= 2;
    pthread_mutex_lock(&pool_lock);
    bool found = take(piece, n, peer);
    while (!found && sweep_some())
        found = take(piece, n, peer);
    for (n /= 2; !found && n > 0; n /= 2)
        found = take(piece, n, peer);
    pthread_mutex_unlock(&pool_lock);
    return found;
}

void rota_pool_put(rota_piece *piece)
{
    pthread_mutex_lock(&pool_lock);
    if (piece->memory)
        put(piece);
    pthread_mutex_unlock(&pool_lock);
}

size_t rota_pool_bytes(size_t *most)
{
    pthread_mutex_lock(&pool_lock);
    const size_t bytes = (size_t)pool.n * ROTA_PIECE;
    *most = (size_t)pool.most * ROTA_PIECE;
    pthread_mutex_unlock(&pool_lock);
    return bytes;
}
