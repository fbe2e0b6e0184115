/* memory.c - memory of rota_mem_alloc, and plans on it.
 *
 * Send and receive buffers lie in it or in ordinary memory, in every
 * combination, and change places between starts; blocks are of no bytes, of a
 * few, and longer than what passes through a ring at a time. Copies between
 * places that lie alike in their pages go other ways than the rest.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "harness.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SHORT = 40, MIDDLE = 5000, LONG = 3000000 };

static unsigned char value(int src, int dst, size_t i, int start)
{
    const size_t n = (size_t)(37 * src + 101 * dst + 7 * start);

    return (unsigned char)(n + i % 251);
}

/* What rank src sends to dst where blocks have up to `most` bytes. */
static int block(int src, int dst, int most)
{
    return (src + dst) % 3 == 0 ? 0 : most - (src + dst) % 3;
}

typedef struct layout {
    int scounts[64], sdispls[64], rcounts[64], rdispls[64];
    size_t sent, received;
} layout;

static layout lay_out(int most)
{
    layout l = {.sent = 0};

    for (int q = 0; q < test_P; q++) {
        l.scounts[q] = block(test_me, q, most);
        l.rcounts[q] = block(q, test_me, most);
        l.sdispls[q] = (int)l.sent;
        l.rdispls[q] = (int)l.received;
        l.sent += (size_t)l.scounts[q];
        l.received += (size_t)l.rcounts[q];
    }
    return l;
}

static void fill(const layout *l, unsigned char *from, int start)
{
    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < l->scounts[q]; i++)
            from[l->sdispls[q] + i] = value(test_me, q, (size_t)i, start);
}

static void check(const layout *l, const unsigned char *to, const int at[],
                  int start)
{
    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < l->rcounts[q]; i++)
            if (to[at[q] + i] != value(q, test_me, (size_t)i, start)) {
                test_fail(__FILE__, __LINE__, "start %d: byte %d from %d",
                          start, i, q);
                return;
            }
}

/* Ranks take shared and ordinary memory in turns of their own. */
static void fixed(const layout *l, unsigned char *from[2], unsigned char *to[2])
{
    rota_plan *plan = NULL;

    MUST(rota_alltoallv_init(from[0], l->scounts, l->sdispls, MPI_BYTE, to[0],
                             l->rcounts, l->rdispls, MPI_BYTE, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &plan));
    for (int i = 0; i < 8; i++) {
        unsigned char *const here = from[(i + test_me) % 2];
        unsigned char *const there = to[(i / 2 + test_me) % 2];
        MUST(rota_plan_set_buffers(plan, here, there));
        fill(l, here, i);
        memset(there, 0, l->received);
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        check(l, there, l->rdispls, i);
    }
    MUST(rota_plan_free(&plan));
}

static void varying(const layout *l, unsigned char *from[2],
                    unsigned char *to[2])
{
    rota_plan *plan = NULL;

    MUST(rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &plan));
    for (int i = 0; i < 4; i++) {
        fill(l, from[i % 2], i);
        memset(to[i / 2], 0, l->received);
        MUST(rota_alltoallv_start(plan, from[i % 2], l->scounts, l->sdispls,
                                  to[i / 2], l->rcounts, l->rdispls));
        MUST(rota_wait(plan));
        check(l, to[i / 2], l->rdispls, i);
    }
    MUST(rota_plan_free(&plan));
}

static void exchanges(const layout *l, unsigned char *from[2])
{
    rota_plan *plan = NULL;
    int counts[64], displs[64];
    void *found;

    MUST(rota_exchange_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD,
                            MPI_INFO_NULL, &plan));
    for (int i = 0; i < 4; i++) {
        fill(l, from[i % 2], i);
        MUST(rota_exchange_start(plan, from[i % 2], l->scounts, l->sdispls));
        MUST(rota_exchange_wait(plan, &found, counts, displs));
        CHECK(memcmp(counts, l->rcounts, (size_t)test_P * sizeof(int)) == 0);
        check(l, found, displs, i);
    }
    MUST(rota_plan_free(&plan));
}

/* The plan's own buffer grows, has room, and is left for one of the caller's
 * when blocks have already come to it. Ranks test, to see each block when it
 * comes. */
static void growing(const char *algorithm)
{
    MPI_Info info = test_info("rota_algorithm", algorithm, NULL, NULL);
    const int most[] = {SHORT, LONG / 5, LONG, LONG / 4, LONG, 2 * LONG};
    rota_plan *plan = NULL;
    int displs[64];
    void *found;

    test_case = algorithm;
    MUST(rota_exchange_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD, info,
                            &plan));
    for (int i = 0; i < 6; i++) {
        const layout l = lay_out(most[i]);
        unsigned char *const from = malloc(l.sent + 1);
        unsigned char *const mine = malloc(l.received + 1);
        fill(&l, from, i);
        MPI_Barrier(MPI_COMM_WORLD);
        if (test_me == 1) /* its block comes behind those of higher ranks */
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        MUST(rota_exchange_start(plan, from, l.scounts, l.sdispls));
        for (int done = 0; !done;)
            MUST(rota_test(plan, &done));
        if (i == 4)
            MUST(rota_exchange_set_buffer(plan, mine, l.received));
        MUST(rota_exchange_wait(plan, &found, NULL, displs));
        CHECK((found == mine) == (i == 4));
        check(&l, found, displs, i);
        MUST(rota_exchange_set_buffer(plan, NULL, 0));
        free(from);
        free(mine);
    }
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
}

/* Blocks lie in messages or in the buffer that grows, and allocations of either
 * may be neighbours. */
static void neighbours(void)
{
    enum { PEER = 200000, PAGE = 4096 };
    MPI_Info info =
        test_info("rota_algorithm", "spread_out", "rota_intranode", "shm");
    unsigned char *const from = malloc(2 * PEER + PAGE);
    rota_plan *plan = NULL;
    void *found;

    test_case = "neighbours";
    mallopt(M_MMAP_THRESHOLD, PEER / 2); /* and not more as time goes on */
    for (int i = 0; i < 2 * PEER + PAGE; i++)
        from[i] = (unsigned char)(test_me + 1);
    for (int own = PEER; own < PEER + PAGE; own += 8) {
        int n[2], at[2], counts[2], displs[2];
        n[!test_me] = PEER;
        at[test_me] = PEER;
        at[!test_me] = 0;
        MUST(rota_exchange_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD, info,
                                &plan));
        for (int run = 0; run < 2; run++) {
            n[test_me] = run == 0 ? 16 : own;
            MUST(rota_exchange_start(plan, from, n, at));
            MUST(rota_exchange_wait(plan, &found, counts, displs));
            for (int q = 0; q < 2; q++) {
                const unsigned char *const block =
                    (const unsigned char *)found + displs[q];
                CHECK(block[0] == q + 1 && block[counts[q] - 1] == q + 1);
            }
        }
        MUST(rota_plan_free(&plan));
    }
    free(from);
    MPI_Info_free(&info);
}

static void buffers(int most)
{
    const layout l = lay_out(most);
    unsigned char *from[2], *to[2];

    MUST(rota_mem_alloc(l.sent, MPI_COMM_WORLD, MPI_INFO_NULL, &from[0]));
    MUST(rota_mem_alloc(l.received, MPI_COMM_WORLD, MPI_INFO_NULL, &to[0]));
    CHECK((uintptr_t)from[0] % 4096 == 0);
    from[1] = malloc(l.sent + 1);
    to[1] = malloc(l.received + 1);
    fixed(&l, from, to);
    varying(&l, from, to);
    exchanges(&l, from);
    for (int i = 0; i < 2; i++) {
        if (i > 0) {
            free(from[i]);
            free(to[i]);
            continue;
        }
        MUST(rota_mem_free(&from[i]));
        MUST(rota_mem_free(&to[i]));
        CHECK(!from[i] && !to[i]);
    }
}

enum { PAGE = 4096, STRIDE = 25 * PAGE, GUARD = 0xA5 };

static void all_guard(const unsigned char *at, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (at[i] != GUARD) {
            test_fail(__FILE__, __LINE__, "byte %zu beside a block", i);
            return;
        }
}

/* All blocks go to places that many bytes behind their own, modulo the page. */
static void behind(size_t bytes)
{
    const size_t all = (size_t)test_P * STRIDE;
    unsigned char *const from = aligned_alloc(PAGE, all);
    unsigned char *const to = aligned_alloc(PAGE, all + PAGE);
    layout l = {.received = all};
    rota_plan *plan = NULL;

    for (int q = 0; q < test_P; q++) {
        l.scounts[q] = l.rcounts[q] = STRIDE - PAGE - 3;
        l.sdispls[q] = l.rdispls[q] = q * STRIDE;
    }
    MUST(rota_alltoallv_init(from, l.scounts, l.sdispls, MPI_BYTE, to + bytes,
                             l.rcounts, l.rdispls, MPI_BYTE, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &plan));
    fill(&l, from, (int)bytes);
    memset(to, GUARD, all + PAGE);
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    check(&l, to + bytes, l.rdispls, (int)bytes);
    all_guard(to, bytes);
    for (int q = 0; q < test_P; q++)
        all_guard(to + bytes + l.rdispls[q] + l.rcounts[q], PAGE + 3);
    MUST(rota_plan_free(&plan));
    free(from);
    free(to);
}

/* Memory is given back, and shared or not it is free of what was in it. */
static void many(const char *intranode)
{
    MPI_Info info = test_info("rota_intranode", intranode, NULL, NULL);
    char *p, *q;

    test_case = intranode;
    for (int i = 0; i < 200; i++) {
        MUST(rota_mem_alloc((size_t)(1 + i % 7) * 100000, MPI_COMM_WORLD, info,
                            &p));
        MUST(rota_mem_alloc(0, MPI_COMM_WORLD, info, &q));
        memset(p, 1, 100000);
        MUST(rota_mem_free(i % 2 ? &p : &q));
        MUST(rota_mem_free(i % 2 ? &q : &p));
    }
    MPI_Info_free(&info);
}

static void mistakes(void)
{
    MPI_Info bad = test_info("rota_intranode", "pigeon", NULL, NULL);
    char on_stack = 0, *p = NULL, *inside;

    test_case = "mistakes";
    MUST(rota_mem_free(&p));
    p = &on_stack;
    MUST_FAIL(rota_mem_free(&p), MPI_ERR_ARG, "not of rota_mem_alloc");
    CHECK(p == &on_stack);
    MUST_FAIL(rota_mem_free(NULL), MPI_ERR_ARG, "ptr is NULL");
    MUST_FAIL(rota_mem_alloc(8, MPI_COMM_NULL, MPI_INFO_NULL, &p), MPI_ERR_COMM,
              "MPI_COMM_NULL");
    MUST_FAIL(rota_mem_alloc(8, MPI_COMM_WORLD, bad, &p), MPI_ERR_ARG,
              "pigeon; valid: auto, shm, cma, p2p");
    MUST_FAIL(rota_mem_alloc(8, MPI_COMM_WORLD, MPI_INFO_NULL,
                             test_me == 0 ? NULL : &p),
              MPI_ERR_ARG, "rank 0: ptr is NULL");
    MUST_FAIL(rota_mem_alloc(test_me == test_P - 1 ? SIZE_MAX / 2 : 8,
                             MPI_COMM_WORLD, MPI_INFO_NULL, &p),
              MPI_ERR_NO_MEM, "a buffer");
    CHECK(p == &on_stack);
    MUST(rota_mem_alloc(10000, MPI_COMM_WORLD, MPI_INFO_NULL, &p));
    inside = p + 1;
    MUST_FAIL(rota_mem_free(&inside), MPI_ERR_ARG, "not of rota_mem_alloc");
    inside = p;
    MUST(rota_mem_free(&p));
    MUST_FAIL(rota_mem_free(&inside), MPI_ERR_ARG, "not of rota_mem_alloc");
    MPI_Info_free(&bad);
}

/* A child of each rank reads what the plan has delivered, and what it writes is
 * seen: the memory is shared. The plan goes on meanwhile. */
static void forked(void)
{
    char *from = NULL, *to = NULL;
    int status = -1;
    rota_plan *plan = NULL;
    const size_t bytes = 4096 * (size_t)test_P;

    test_case = "forked";
    MUST(rota_mem_alloc(bytes, MPI_COMM_WORLD, MPI_INFO_NULL, &from));
    MUST(rota_mem_alloc(bytes, MPI_COMM_WORLD, MPI_INFO_NULL, &to));
    MUST(rota_alltoall_init(from, 4096, MPI_BYTE, to, 4096, MPI_BYTE,
                            MPI_COMM_WORLD, MPI_INFO_NULL, &plan));
    for (int round = 1; round <= 2; round++) {
        memset(from, 10 * round + test_me, bytes);
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        const pid_t child = fork();
        if (child == 0) {
            for (int q = 0; q < test_P; q++)
                if (to[4096 * q] != 10 * round + q)
                    _exit(1);
            to[1] = 99;
            _exit(0);
        }
        CHECK(child > 0 && waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK(to[0] == 10 * round);
        CHECK(to[1] == 99 || test_P == 1); /* alone, memory is ordinary */
        test_barrier();
    }
    MUST(rota_plan_free(&plan));
    MUST(rota_mem_free(&from));
    MUST(rota_mem_free(&to));
}

int main(int argc, char **argv)
{
    const int sizes[] = {SHORT, MIDDLE, LONG};

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    for (int i = 0; i < 3; i++) {
        test_case = i == 0 ? "short" : i == 1 ? "middle" : "long";
        buffers(sizes[i]);
    }
    growing("spread_out");
    growing("multi_pair");
    if (test_P == 2)
        neighbours();
    test_case = "behind";
    for (size_t bytes = 0; bytes < 34; bytes++)
        behind(bytes);
    many("shm");
    many("p2p");
    mistakes();
    forked();
    return test_end();
}
