/* blocks.c - see blocks.h.
 *
 * A table has an entry for each page of the range. What there is to know of a block
 * stands at its first page, its length also at its last one: so its neighbours are
 * found.
 */
#define _GNU_SOURCE
#include "heap/blocks.h"

#include "base/huge.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct entry {
    uint32_t pages; /* of a block; at its first and its last page */
    bool used;      /* the same */

    /* Of a free block, at its first page. */
    uint32_t kept;       /* at most so many of its pages exist */
    uint32_t next, prev; /* first pages, in its bin; NONE: none */
} entry;

/* Free blocks of fewer pages than 2 FINE have a bin for each length. Of longer ones a
 * bin has those that differ by up to a FINEth. */
enum { FINE = 32, LG_FINE = 5, BINS = FINE * (31 - LG_FINE), BITS = 64 };

static const uint32_t NONE = UINT32_MAX;

static struct {
    char *base;
    size_t page;
    int lg_page;
    bool (*remove)(char *from, size_t bytes);
    entry *table;         /* [pages of the range] */
    uint32_t all, front;  /* pages of the range, and of its front */
    _Atomic uint32_t end; /* page where its end begins */
    uint32_t used, most;  /* pages */
    uint32_t kept;        /* of all free blocks */
    uint32_t bin[BINS];   /* first pages; valid if its bit is set */
    uint64_t filled[BINS / BITS + 1];
    pthread_mutex_t lock;
} range = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t pages_of(size_t bytes)
{
    return (uint32_t)((bytes + range.page - 1) >> range.lg_page);
}

static char *address(uint32_t page)
{
    return range.base + ((size_t)page << range.lg_page);
}

static uint32_t page_at(const void *memory)
{
    return (uint32_t)((size_t)((const char *)memory - range.base) >>
                      range.lg_page);
}

/* ---- bins ---------------------------------------------------------------- */

static unsigned bin_of(uint32_t pages)
{
    const unsigned lg = 31 - (unsigned)__builtin_clz(pages | FINE) - LG_FINE;

    return lg * FINE + (pages >> lg);
}

/* The first bin from b on that is not empty; BINS: none. */
static unsigned filled_from(unsigned b)
{
    for (unsigned i = b / BITS; i <= BINS / BITS; i++) {
        const uint64_t set =
            range.filled[i] &
            (i == b / BITS ? ~UINT64_C(0) << b % BITS : ~UINT64_C(0));
        if (set)
            return i * BITS + (unsigned)__builtin_ctzll(set);
    }
    return BINS;
}

static bool is_filled(unsigned b)
{
    return range.filled[b / BITS] >> b % BITS & 1;
}

static void insert(uint32_t first)
{
    entry *const t = range.table;
    const unsigned b = bin_of(t[first].pages);

    t[first].prev = NONE;
    t[first].next = is_filled(b) ? range.bin[b] : NONE;
    if (is_filled(b))
        t[range.bin[b]].prev = first;
    range.bin[b] = first;
    range.filled[b / BITS] |= UINT64_C(1) << b % BITS;
    range.kept += t[first].kept;
}

static void withdraw(uint32_t first)
{
    entry *const t = range.table;
    const uint32_t next = t[first].next, prev = t[first].prev;
    const unsigned b = bin_of(t[first].pages);

    if (next != NONE)
        t[next].prev = prev;
    if (prev != NONE)
        t[prev].next = next;
    else if (next != NONE)
        range.bin[b] = next;
    else
        range.filled[b / BITS] &= ~(UINT64_C(1) << b % BITS);
    range.kept -= t[first].kept;
}

/* The shortest block of a bin with n pages or more, among the first ones; NONE. */
static uint32_t shortest(unsigned b, uint32_t n)
{
    enum { LOOKS = 32 };
    const entry *const t = range.table;
    uint32_t best = NONE, first = is_filled(b) ? range.bin[b] : NONE;

    for (int i = 0; i < LOOKS && first != NONE; i++, first = t[first].next)
        if (t[first].pages >= n &&
            (best == NONE || t[first].pages < t[best].pages))
            best = first;
    return best;
}

static uint32_t best_fit(uint32_t n)
{
    const uint32_t first = shortest(bin_of(n), n);
    const unsigned longer = filled_from(bin_of(n) + 1);

    return first != NONE || longer == BINS ? first : shortest(longer, n);
}

/* ---- blocks -------------------------------------------------------------- */

static void mark(uint32_t first, uint32_t pages, bool used)
{
    entry *const begin = &range.table[first], *const end = begin + pages - 1;

    begin->pages = end->pages = pages;
    begin->used = end->used = used;
}

/* Pages of the free block before or behind a page; 0: it is in use, or none. */
static uint32_t free_before(uint32_t page)
{
    const entry *const before = &range.table[page] - 1;

    return page > 0 && !before->used ? before->pages : 0;
}

static uint32_t free_behind(uint32_t page)
{
    const entry *const behind = &range.table[page];

    return page < range.front && !behind->used ? behind->pages : 0;
}

/* Make pages a free block, with its neighbours. */
static void put(uint32_t first, uint32_t pages, uint32_t kept)
{
    if (pages == 0)
        return;
    const uint32_t before = free_before(first),
                   behind = free_behind(first + pages);
    if (behind > 0) {
        kept += range.table[first + pages].kept;
        withdraw(first + pages);
    }
    if (before > 0) {
        first -= before;
        kept += range.table[first].kept;
        withdraw(first);
    }
    mark(first, before + pages + behind, false);
    range.table[first].kept = kept;
    insert(first);
}

static void use(uint32_t pages)
{
    range.used += pages;
    if (range.used > range.most)
        range.most = range.used;
}

/* Let the front end with n free pages or more. What it gets is in core dumps. */
static bool grow(uint32_t n)
{
    const uint32_t front = range.front, huge = pages_of(ROTA_HUGE);
    const uint32_t from = front - free_before(front);

    if (n > range.end - from)
        return false;
    range.front = least((from + n + huge - 1) / huge * huge, range.end);
    madvise(address(front), (range.front - front) * range.page, MADV_DODUMP);
    put(front, range.front - front, 0);
    return true;
}

/* Free pages that a block can be taken from. */
static uint32_t find(uint32_t n)
{
    const uint32_t first = best_fit(n);

    return first == NONE && grow(n) ? best_fit(n) : first;
}

void *rota_blocks_alloc(size_t bytes, size_t alignment, bool *zero)
{
    const size_t beyond = alignment > range.page ? alignment - range.page : 0;
    const uint32_t n = pages_of(bytes > 0 ? bytes : 1);

    if (bytes > range.all * range.page || beyond > range.all * range.page)
        return NULL;
    pthread_mutex_lock(&range.lock);
    const uint32_t first = find(n + pages_of(beyond));
    char *memory = NULL;
    if (first != NONE) {
        const uint32_t pages = range.table[first].pages,
                       kept = range.table[first].kept;
        const uint32_t skip =
            pages_of(-(uintptr_t)address(first) & (alignment - 1));
        const uint32_t rest = pages - skip - n;
        memory = address(first + skip);
        *zero = kept == 0;
        withdraw(first);
        mark(first + skip, n, true);
        put(first, skip, least(kept, skip));
        put(first + skip + n, rest, least(kept, rest));
        use(n);
    }
    pthread_mutex_unlock(&range.lock);
    return memory;
}

static void shorten(uint32_t first, uint32_t n)
{
    const uint32_t less = range.table[first].pages - n;

    mark(first, n, true);
    put(first + n, less, less);
    range.used -= less;
}

static bool lengthen(uint32_t first, uint32_t n)
{
    const uint32_t pages = range.table[first].pages, more = n - pages;
    const uint32_t behind = first + pages;

    if (free_behind(behind) < more &&
        (behind + free_behind(behind) < range.front || !grow(more)))
        return false;
    const uint32_t kept = range.table[behind].kept;
    const uint32_t rest = free_behind(behind) - more;
    withdraw(behind);
    mark(first, n, true);
    put(first + n, rest, least(kept, rest));
    use(more);
    return true;
}

bool rota_blocks_resize(void *memory, size_t bytes)
{
    const uint32_t first = page_at(memory), n = pages_of(bytes > 0 ? bytes : 1);

    if (bytes > range.all * range.page)
        return false;
    pthread_mutex_lock(&range.lock);
    const bool shorter = n <= range.table[first].pages;
    const bool done = shorter || lengthen(first, n);
    if (shorter)
        shorten(first, n);
    pthread_mutex_unlock(&range.lock);
    return done;
}

/* ---- pages that are kept ------------------------------------------------- */

/* The longest free block that may have pages. */
static uint32_t longest_kept(void)
{
    const entry *const t = range.table;

    for (unsigned b = BINS; b-- > 0;)
        for (uint32_t i = is_filled(b) ? range.bin[b] : NONE; i != NONE;
             i = t[i].next)
            if (t[i].kept > 0)
                return i;
    return NONE;
}

/* Give back a free block's pages, all but its first ones. false: they stay. */
static bool remove_but(uint32_t first, uint32_t n)
{
    entry *const e = &range.table[first];

    if (!range.remove(address(first + n), (e->pages - n) * range.page))
        return false;
    range.kept -= e->kept - least(e->kept, n);
    e->kept = least(e->kept, n);
    return true;
}

/* No more memory shall be resident than with the C library. That one keeps what lies
 * between blocks in use, without a bound, and gives back what is behind the last. */
static void give_back(void)
{
    const uint32_t MUCH = pages_of(1 << 23);
    const uint32_t last = range.front - free_before(range.front);

    if (last < range.front && range.table[last].kept > MUCH)
        remove_but(last, MUCH / 2);
    while (range.kept > MUCH + range.used && remove_but(longest_kept(), 0))
        continue;
}

void rota_blocks_release(void *memory)
{
    const uint32_t first = page_at(memory);

    pthread_mutex_lock(&range.lock);
    const uint32_t pages = range.table[first].pages;
    const bool removed = pages > pages_of(ROTA_BLOCKS_ALONE) &&
                         range.remove(memory, pages * range.page);
    range.used -= pages;
    put(first, pages, removed ? 0 : pages);
    give_back();
    pthread_mutex_unlock(&range.lock);
}

/* ---- the range ----------------------------------------------------------- */

bool rota_blocks_begin(char *base, size_t bytes,
                       bool (*remove)(char *from, size_t bytes))
{
    range.page = (size_t)sysconf(_SC_PAGESIZE);
    range.lg_page = __builtin_ctzl(range.page);
    range.base = base;
    range.remove = remove;
    range.all = (uint32_t)(bytes / range.page);
    range.end = range.all;
    range.table = mmap(NULL, range.all * sizeof(entry), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return range.table != MAP_FAILED;
}

/* Others do not change the entry of a block that is in use. */
size_t rota_blocks_room(const void *memory)
{
    return range.table[page_at(memory)].pages * range.page;
}

bool rota_blocks_holds(const void *memory)
{
    return page_at(memory) <
           atomic_load_explicit(&range.end, memory_order_relaxed);
}

void *rota_blocks_carve(size_t bytes, size_t alignment)
{
    const uint32_t n = pages_of(bytes);
    char *memory = NULL;

    pthread_mutex_lock(&range.lock);
    const uint32_t left = range.end - range.front;
    const uintptr_t last = (uintptr_t)address(range.end) - n * range.page;
    const uint32_t skip = pages_of(last & (alignment - 1));
    if (n <= left && skip <= left - n) {
        const uint32_t first = range.end - n - skip;
        memory = address(first);
        range.end = first;
        madvise(memory, (n + skip) * range.page, MADV_DODUMP);
        use(n + skip);
    }
    pthread_mutex_unlock(&range.lock);
    return memory;
}

void rota_blocks_count(size_t *now, size_t *most)
{
    pthread_mutex_lock(&range.lock);
    *now = range.used * range.page;
    *most = range.most * range.page;
    pthread_mutex_unlock(&range.lock);
}

void rota_blocks_lock(void)
{
    pthread_mutex_lock(&range.lock);
}

void rota_blocks_unlock(void)
{
    pthread_mutex_unlock(&range.lock);
}

void rota_blocks_parts(size_t *front, size_t *end)
{
    *front = range.front * range.page;
    *end = range.end * range.page;
}
