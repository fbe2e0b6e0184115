/* local.c - memory of rota_malloc and its kin, and plans on it: what the functions
 * promise, which messages are read where they lie, forks, threads, and random steps
 * of allocating, resizing, freeing, forking and exchanging, after which nothing may
 * be left.
 *
 *   local 1     with a heap; 0: without one, all of it is ordinary memory
 */
#define _GNU_SOURCE
#include "exec/memory/local.h"
#include "exec/memory/arena.h"
#include "exec/memory/pool.h"
#include "harness.h"
#include "held.h"
#include "quick.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONG = 300000 };

static unsigned char value(int src, int dst, size_t i, unsigned start)
{
    return (unsigned char)((unsigned)(37 * src + 101 * dst) + 7 * start +
                           i % 251);
}

/* Is there a heap here, in this build and with these limits? */
static bool has_heap(void)
{
    const char *why;

    return rota_local_open(&why) != NULL;
}

/* ---- what the functions promise ------------------------------------------ */

static bool is_in_heap(const void *p)
{
    const rota_heap *const heap = rota_local_find();

    return heap && rota_heap_holds(heap, p);
}

static bool holds(const unsigned char *p, size_t n, int what)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != what)
            return false;
    return true;
}

static void alone(void)
{
    const size_t sizes[] = {0, 1, 100, 4096, 70000, LONG, 10000000};

    test_case = "alone";
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *p = rota_malloc(sizes[i]);
        CHECK(p && (uintptr_t)p % 16 == 0 && is_in_heap(p) == has_heap());
        memset(p, 5, sizes[i]);
        p = rota_realloc(p, 3 * sizes[i] + 1);
        CHECK(p && holds(p, sizes[i], 5));
        p = rota_realloc(p, sizes[i] / 2);
        CHECK(p && holds(p, sizes[i] / 2, 5));
        rota_free(p);
        p = rota_calloc(sizes[i], 3);
        CHECK(p && holds(p, 3 * sizes[i], 0));
        rota_free(p);
    }
    for (size_t alignment = 1; alignment <= 1 << 22; alignment *= 2) {
        void *const p = rota_aligned_alloc(alignment, 10);
        CHECK(p && (uintptr_t)p % alignment == 0);
        rota_free(p);
    }
    rota_free(NULL);
    rota_free(rota_realloc(NULL, 8));
}

/* Memory that nobody touches may exist, but not much. */
static void untouched(void)
{
    enum { BLOCKS = 40, BYTES = 8 << 20, PAGES = BYTES / 4096 };
    static unsigned char there[PAGES];
    void *block[BLOCKS];
    size_t n = 0;

    test_case = "untouched";
    for (int i = 0; i < BLOCKS; i++)
        block[i] = rota_aligned_alloc(4096, BYTES);
    for (int i = 0; i < BLOCKS && has_heap(); i++) {
        CHECK(mincore(block[i], BYTES, there) == 0);
        for (int k = 0; k < PAGES; k++)
            n += there[k] & 1;
    }
    CHECK(n * 4096 <= 72 << 20);
    for (int i = 0; i < BLOCKS; i++)
        rota_free(block[i]);
}

static void mistakes(void)
{
    unsigned char *const p = rota_malloc(8);
    /* volatile: the compiler knows that no object is as large. */
    volatile size_t most = SIZE_MAX;

    test_case = "mistakes";
    errno = 0;
    CHECK(!rota_malloc(most) && errno == ENOMEM);
    errno = 0;
    CHECK(!rota_calloc(most / 2, 3) && errno == ENOMEM);
    errno = 0;
    CHECK(!rota_aligned_alloc(24, 8) && errno == EINVAL);
    CHECK(!rota_aligned_alloc(0, 8) && errno == EINVAL);
    p[7] = 3;
    CHECK(!rota_realloc(p, most) && p[7] == 3);
    rota_free(p);
}

/* ---- plans --------------------------------------------------------------- */

/* Pieces of the pool that plans have taken. What lies in the heap goes without. */
static int taken;

bool __real_rota_pool_take(rota_piece *piece, size_t bytes,
                           const rota_peer *peer);
bool __wrap_rota_pool_take(rota_piece *piece, size_t bytes,
                           const rota_peer *peer);

bool __wrap_rota_pool_take(rota_piece *piece, size_t bytes,
                           const rota_peer *peer)
{
    taken++;
    return __real_rota_pool_take(piece, bytes, peer);
}

static void fill(unsigned char *from, size_t each, unsigned start)
{
    for (int q = 0; q < test_P; q++)
        for (size_t i = 0; i < each; i++)
            from[(size_t)q * each + i] = value(test_me, q, i, start);
}

static void check(const unsigned char *to, size_t each, unsigned start)
{
    for (int q = 0; q < test_P; q++)
        for (size_t i = 0; i < each; i++)
            if (to[(size_t)q * each + i] != value(q, test_me, i, start)) {
                test_fail(__FILE__, __LINE__, "start %u: byte %zu from %d",
                          start, i, q);
                return;
            }
}

static void run(rota_plan *plan, unsigned char *from, unsigned char *to,
                unsigned start)
{
    fill(from, LONG, start);
    memset(to, 0, LONG * (size_t)test_P);
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    check(to, LONG, start);
}

/* What lies in the heap is read there, and no run finds out whether the pool is
 * faster. */
static MPI_Info in_place(void)
{
    return test_info("rota_copied_once_from", "1", NULL, NULL);
}

static rota_plan *make(const void *from, void *to)
{
    MPI_Info info = in_place();
    rota_plan *plan = NULL;

    MUST(rota_alltoall_init(from, LONG, MPI_BYTE, to, LONG, MPI_BYTE,
                            MPI_COMM_WORLD, info, &plan));
    MPI_Info_free(&info);
    taken = 0;
    return plan;
}

/* Made on memory of the heap, moved to ordinary memory and back. */
static void fixed(void)
{
    const size_t all = LONG * (size_t)test_P;
    unsigned char *const plain = malloc(all), *const to = malloc(all);
    unsigned char *from = rota_malloc(all);
    rota_plan *plan = make(from, to);

    test_case = "fixed";
    run(plan, from, to, 1);
    CHECK(taken == 0 || !has_heap());
    MUST(rota_plan_set_buffers(plan, plain, to));
    run(plan, plain, to, 2);
    CHECK(taken > 0 || test_P == 1);
    rota_free(from);
    MUST(rota_plan_free(&plan));
    plan = make(plain, to);
    for (unsigned i = 0; i < 20; i++) { /* it moves between starts */
        from = rota_malloc(all + i * 400000);
        MUST(rota_plan_set_buffers(plan, from, to));
        run(plan, from, to, i);
        rota_free(from);
    }
    CHECK(taken == 0 || !has_heap());
    MUST(rota_plan_free(&plan));
    free(plain);
    free(to);
}

/* Counts and memory of its own in every start; the result in the heap as well. */
static void varying(void)
{
    MPI_Info info = in_place();
    rota_plan *plan = NULL, *exchange = NULL;
    int n[64], at[64], *counts = n, displs[64];
    void *found;

    test_case = "varying";
    MUST(rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD,
                                     info, &plan));
    MUST(rota_exchange_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD, info,
                            &exchange));
    MPI_Info_free(&info);
    taken = 0;
    for (unsigned i = 0; i < 12; i++) {
        const size_t each = LONG + i * 50000, all = each * (size_t)test_P;
        unsigned char *const from = rota_malloc(all);
        unsigned char *const to = rota_calloc(all, 1);
        for (int q = 0; q < test_P; q++) {
            n[q] = (int)each;
            at[q] = q * (int)each;
        }
        fill(from, each, i);
        MUST(rota_alltoallv_start(plan, from, n, at, to, n, at));
        MUST(rota_wait(plan));
        check(to, each, i);
        MUST(rota_exchange_start(exchange, from, n, at));
        MUST(rota_exchange_wait(exchange, &found, counts, displs));
        rota_free(from);
        check(found, each, i);
        rota_free(to);
    }
    CHECK(taken == 0 || !has_heap());
    MUST(rota_plan_free(&plan));
    MUST(rota_plan_free(&exchange));
}

/* ---- children and threads ------------------------------------------------ */

/* A child has a copy: neither sees what the other writes. */
static void forked(void)
{
    unsigned char *const p = rota_malloc(LONG), *const z = rota_calloc(LONG, 1);
    int status = -1;
    char c;
    int wait_for[2];

    test_case = "forked";
    memset(p, 1, LONG);
    CHECK(pipe(wait_for) == 0);
    const pid_t child = fork();
    if (child == 0) {
        const bool good = read(wait_for[0], &c, 1) == 1 && holds(p, LONG, 1) &&
                          holds(z, LONG, 0);
        unsigned char *const more = rota_realloc(p, 3 * LONG);
        memset(more, 3, 3 * LONG);
        rota_free(more);
        rota_free(z);
        unsigned char *const zero = rota_calloc(3, LONG);
        _exit(good && holds(zero, 3 * LONG, 0) ? 0 : 1);
    }
    memset(p, 2, LONG);
    memset(z, 2, LONG);
    CHECK(write(wait_for[1], "", 1) == 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(holds(p, LONG, 2) && holds(z, LONG, 2));
    close(wait_for[0]);
    close(wait_for[1]);
    rota_free(p);
    rota_free(z);
}

enum { THREADS = 4, KEPT = 20 };

static void *allocate_much(void *seed)
{
    unsigned state = *(const unsigned *)seed;
    unsigned char *kept[KEPT] = {NULL};
    size_t n[KEPT] = {0};

    for (int i = 0; i < 2000; i++) {
        state = state * 1664525 + 1013904223;
        const int k = (int)(state >> 8) % KEPT;
        CHECK(holds(kept[k], n[k], k));
        rota_free(kept[k]);
        n[k] = state % 3 ? state % 3000 : state % 600000;
        kept[k] = rota_malloc(n[k]);
        memset(kept[k], k, n[k]);
    }
    for (int k = 0; k < KEPT; k++)
        rota_free(kept[k]);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    unsigned seed[THREADS];

    test_case = "threads";
    for (unsigned i = 0; i < THREADS; i++) {
        seed[i] = i;
        CHECK(!pthread_create(&thread[i], NULL, allocate_much, &seed[i]));
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

/* A thread that ends still allocates, after what it keeps is gone. The main thread
 * frees that. */
enum { LATE = 3 }; /* rounds of destructors, of PTHREAD_DESTRUCTOR_ITERATIONS */

static pthread_key_t at_end;
static void *late[LATE];

static void allocate_late(void *left)
{
    const int n = *(const int *)left - 1;

    late[n] = rota_malloc(100);
    CHECK(late[n] && is_in_heap(late[n]) == has_heap());
    memset(late[n], n, 100);
    rota_free(left);
    if (n > 0) {
        int *const next = rota_malloc(sizeof *next);
        *next = n;
        pthread_setspecific(at_end, next);
    }
}

static void *end_late(void *unused)
{
    int *const n = rota_malloc(sizeof *n);

    *n = LATE;
    pthread_setspecific(at_end, n);
    return unused;
}

static void ends(void)
{
    pthread_t thread;

    test_case = "ends";
    CHECK(!pthread_key_create(&at_end, allocate_late));
    CHECK(!pthread_create(&thread, NULL, end_late, NULL));
    pthread_join(thread, NULL);
    for (int n = 0; n < LATE; n++) {
        CHECK(late[n] && holds(late[n], 100, n));
        rota_free(late[n]);
    }
    pthread_key_delete(at_end);
}

/* ---- random steps -------------------------------------------------------- */

enum { HELD = 200 };

static unsigned draw(unsigned *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* Mostly small, some long. */
static size_t draw_bytes(unsigned *state)
{
    const unsigned kind = draw(state) % 100;

    return draw(state) % (kind < 70 ? 300 : kind < 95 ? 30000 : 700000);
}

/* Of all bytes, where held.h looks at three. */
static void write_all(held *h)
{
    if (h->bytes > 0)
        memset(h->p, (int)(h->bytes % 251), h->bytes);
}

static bool is_as_written(const held *h, size_t bytes)
{
    const int what = (int)(h->bytes % 251);

    return bytes == 0 ||
           (h->p[0] == what && memcmp(h->p, h->p + 1, bytes - 1) == 0);
}

static void change(held *h, unsigned *state)
{
    const size_t bytes = draw_bytes(state);

    CHECK(is_as_written(h, h->bytes));
    switch (draw(state) % 4) {
    case 0:
        h->p = rota_realloc(h->p, bytes);
        CHECK(is_as_written(h, h->bytes < bytes ? h->bytes : bytes));
        break;
    case 1:
        rota_free(h->p);
        h->p = rota_calloc(bytes, 1);
        CHECK(holds(h->p, bytes, 0));
        break;
    default:
        rota_free(h->p);
        h->p = rota_malloc(bytes);
    }
    h->bytes = bytes;
    write_all(h);
}

/* All ranks exchange, each from where its memory has just come to lie. */
static void exchange(rota_plan *plan, unsigned step)
{
    const size_t each = 2000 + step % 7 * 30000, all = each * (size_t)test_P;
    unsigned char *const from = rota_malloc(all), *const to = malloc(all);
    int n[64], at[64];

    for (int q = 0; q < test_P; q++) {
        n[q] = (int)each;
        at[q] = q * (int)each;
    }
    fill(from, each, step);
    MUST(rota_alltoallv_start(plan, from, n, at, to, n, at));
    MUST(rota_wait(plan));
    check(to, each, step);
    rota_free(from);
    free(to);
}

static void fork_once(const held all[])
{
    int status = -1;
    const pid_t child = fork();

    if (child == 0) {
        bool good = true;
        for (int i = 0; i < HELD; i++) {
            good = good && is_as_written(&all[i], all[i].bytes);
            rota_free(all[i].p);
        }
        _exit(!good);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Each rank forks when it likes; all exchange in the same steps. */
static void steps(int n)
{
    enum {
        EXCHANGE = 700,
        FORK = 9000
    }; /* steps from one to the next, on average */
    held all[HELD] = {{NULL, 0}};
    unsigned state = (unsigned)test_me + 1, of_all = 1;
    rota_plan *plan = NULL;

    test_case = "steps";
    MUST(rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &plan));
    for (int i = 0; i < n; i++) {
        change(&all[draw(&state) % HELD], &state);
        if (draw(&of_all) % EXCHANGE == 0)
            exchange(plan, (unsigned)i);
        if (draw(&state) % FORK == 0)
            fork_once(all);
    }
    MUST(rota_plan_free(&plan));
    for (int i = 0; i < HELD; i++)
        rota_free(all[i].p);
}

/* Bytes of the heap that are in use, and what short blocks have been given. */
static size_t in_use(void)
{
    rota_heap_use use = {0};

    if (has_heap())
        rota_local_find()->count(&use);
    return use.now;
}

/* What steps must leave as they found it. */
typedef struct sample {
    long descriptors, mappings, kib; /* of memory that is shared */
} sample;

static long count_entries(const char *path)
{
    DIR *const folder = opendir(path);
    long n = 0;

    while (folder && readdir(folder))
        n++;
    if (folder)
        closedir(folder);
    return n;
}

/* The arena is made if there is none: its descriptor is in both samples. */
static sample take_sample(void)
{
    rota_arena_address address;
    const bool has_arena = rota_arena_open(&address) == MPI_SUCCESS;
    sample now = {.descriptors = count_entries("/proc/self/fd")};
    FILE *const f = fopen("/proc/self/maps", "r");
    struct stat file;
    char line[400];

    while (f && fgets(line, sizeof line, f))
        now.mappings += strstr(line, "memfd:rota") != NULL;
    if (f)
        fclose(f);
    if (has_heap() && fstat(rota_local_find()->fd, &file) == 0)
        now.kib += (long)file.st_blocks / 2;
    if (has_arena && fstat((int)address.fd, &file) == 0)
        now.kib += (long)file.st_blocks / 2;
    return now;
}

/* Free pages are kept, 8 MiB at most where nothing is in use, and huge pages of
 * which a part is. An arena's segments are few, and stay. */
static void check_left(const sample *before)
{
    enum { KEPT_KIB = 24 << 10, SEGMENTS = 12 };
    const sample now = take_sample();

    CHECK(now.descriptors == before->descriptors);
    CHECK(now.mappings <= before->mappings + SEGMENTS * test_P);
    CHECK(now.kib <= before->kib + KEPT_KIB);
}

int main(int argc, char *argv[])
{
    enum { FOR_SHORT = 8 << 20 }; /* more than in the first steps, at times */
    unsigned char *const early = rota_malloc(LONG);

    memset(early, 1, LONG);
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(argc == 2 && has_heap() == (argv[1][0] == '1'));
    alone();
    untouched();
    mistakes();
    fixed();
    varying();
    forked();
    threads();
    ends();
    steps(1000); /* MPI and the library take what they keep */
    const sample first = take_sample();
    const size_t before = in_use();
    steps(test_is_quick() || test_is_slow() ? 40000 : 1000000);
    check_left(&first);
    CHECK(in_use() <= before + FOR_SHORT);
    CHECK(holds(early, LONG, 1));
    const int status = test_end();
    rota_free(early); /* after MPI_Finalize */
    return status;
}
