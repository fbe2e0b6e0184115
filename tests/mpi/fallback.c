/* fallback.c - what the system refuses, plans do without.
 *
 * usage: fallback [memfd | arena | pool | unbounded | attached | private]
 *
 * The program stands between the library and the system (by the linker's
 * --wrap) and refuses what it is told to on one rank. Every plan must work all
 * the same, on all ranks in the same way, and say why; and nothing may be left
 * in the heap, in shared memory, of descriptors or of mappings. memfd and arena
 * are refused when a process first shares memory, so in runs of their own; pool and
 * unbounded look at the first plan of all.
 */
#define _GNU_SOURCE
#include "exec/memory/arena.h"
#include "exec/memory/pool.h"
#include "exec/move/contest.h"
#include "harness.h"
#include "pattern.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- refusing ------------------------------------------------------------ */

typedef enum refusal {
    NOTHING,
    MEMFD,
    FALLOCATE,
    OPEN,
    HEAP,
    READING,
} refusal;

/* What is refused, to this rank, after how many that are not; and how often
 * it was. */
static refusal refused;
static int after, times;

static int live; /* allocations of the library */

static bool refuses(refusal what)
{
    if (refused != what || after-- > 0)
        return false;
    times++;
    return true;
}

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __real_fallocate(int fd, int mode, off_t at, off_t bytes);
int __wrap_fallocate(int fd, int mode, off_t at, off_t bytes);
ssize_t __real_process_vm_readv(pid_t pid, const struct iovec *here,
                                unsigned long n, const struct iovec *there,
                                unsigned long m, unsigned long flags);
ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here,
                                unsigned long n, const struct iovec *there,
                                unsigned long m, unsigned long flags);
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);

int __wrap_memfd_create(const char *name, unsigned flags)
{
    if (!refuses(MEMFD))
        return __real_memfd_create(name, flags);
    errno = ENOSYS;
    return -1;
}

static size_t backed; /* bytes */

/* Room can always be given back. To ask for more than there is would end
 * processes of this host. */
int __wrap_fallocate(int fd, int mode, off_t at, off_t bytes)
{
    const bool gives_back = mode & FALLOC_FL_PUNCH_HOLE;

    backed += gives_back ? 0 : (size_t)bytes;
    if (gives_back || (!refuses(FALLOCATE) && backed < (size_t)1 << 30))
        return __real_fallocate(fd, mode, at, bytes);
    errno = ENOSPC;
    return -1;
}

static int readings; /* of another's private memory */

ssize_t __wrap_process_vm_readv(pid_t pid, const struct iovec *here,
                                unsigned long n, const struct iovec *there,
                                unsigned long m, unsigned long flags)
{
    readings++;
    if (pid == getpid() || !refuses(READING))
        return __real_process_vm_readv(pid, here, n, there, m, flags);
    errno = EPERM;
    return -1;
}

/* What steps seem to take longer that go by the pool, directly. */
static int64_t added_ns[2];

void __real_rota_contest_begin(rota_contest *c, uint32_t run, int64_t now_ns);
void __wrap_rota_contest_begin(rota_contest *c, uint32_t run, int64_t now_ns);

void __wrap_rota_contest_begin(rota_contest *c, uint32_t run, int64_t now_ns)
{
    static int64_t all_ns;

    all_ns += added_ns[c->direct];
    __real_rota_contest_begin(c, run, now_ns + all_ns);
}

int __wrap_open(const char *path, int flags, ...)
{
    if (!refuses(OPEN))
        return __real_open(path, flags);
    errno = EACCES;
    return -1;
}

static void *count_new(void *memory)
{
    live += memory != NULL;
    return memory;
}

void *__wrap_malloc(size_t size)
{
    return refuses(HEAP) ? NULL : count_new(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return refuses(HEAP) ? NULL : count_new(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (refuses(HEAP))
        return NULL;
    return old ? __real_realloc(old, size) : count_new(__real_malloc(size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return refuses(HEAP) ? NULL
                         : count_new(__real_aligned_alloc(alignment, size));
}

void __wrap_free(void *memory)
{
    live -= memory != NULL;
    __real_free(memory);
}

/* ---- lines that are taken ------------------------------------------------ */

/* All that a plan could have without asking the system. */
enum { MOST_LINES = 1 << 14 };
static void *line[MOST_LINES];
static int n_lines;

static void take_lines(void)
{
    rota_place at;

    while (n_lines < MOST_LINES && (line[n_lines] = rota_arena_take(
                                        ROTA_ENTRIES, ROTA_CACHE_LINE, &at)))
        n_lines++;
}

static void put_lines(void)
{
    while (n_lines > 0)
        rota_arena_put(ROTA_ENTRIES, line[--n_lines]);
}

/* On one rank, from the next of its kind but n on. */
static void refuse(refusal what, int rank, int n)
{
    refused = rank == test_me ? what : NOTHING;
    after = n;
    times = 0;
}

/* It must have come to that. */
static void permit(int rank)
{
    if (rank == test_me)
        CHECK(times > 0);
    refused = NOTHING;
}

/* ---- plans --------------------------------------------------------------- */

/* Blocks of 300 bytes, and of 200 kB to the next rank: through rings in several
 * ways. */
enum { SHORT = 300, LONG = 200000, MOST_RANKS = 8 };

static size_t longest = LONG;
static bool shares; /* buffers are of rota_mem_alloc */

typedef enum kind {
    FIXED,
    VARYING,
    EXCHANGE,
    IN_PLACE,
    SCALED,
    REVERSE, /* bytes are combined with zeros */
    ARRAYS,  /* the blocks, and their last bytes once more */
    ASKED,   /* fixed, and runs are requests of MPI */
} kind;

typedef struct job {
    kind kind;
    rota_plan *plan;
    int send_count[MOST_RANKS], recv_count[MOST_RANKS];
    int send_at[MOST_RANKS], recv_at[MOST_RANKS];
    unsigned char *send, *recv;
    MPI_Request request; /* of ASKED */
} job;

/* In place, as many both ways. */
static int bytes_between(kind of, int src, int dst)
{
    const bool next = dst == (src + 1) % test_P,
               prev = src == (dst + 1) % test_P;

    if (of == IN_PLACE)
        return next || prev ? (int)longest : SHORT;
    return next ? (int)longest : SHORT + src;
}

/* The routes are those of a plan that is freed at once. */
static int make_reverse(job *j, MPI_Comm comm, MPI_Info info)
{
    rota_plan *forward = NULL;
    int err = rota_alltoallv_init(j->recv, j->recv_count, j->recv_at, MPI_BYTE,
                                  j->send, j->send_count, j->send_at, MPI_BYTE,
                                  comm, info, &forward);

    if (err != MPI_SUCCESS)
        return err;
    err = rota_plan_init_reverse(forward, j->send, j->recv, MPI_BYTE, MPI_BXOR,
                                 info, &j->plan);
    MUST(rota_plan_free(&forward));
    return err;
}

static int make_plan(job *j, MPI_Comm comm, MPI_Info info)
{
    const MPI_Datatype bytes[] = {MPI_BYTE, MPI_BYTE};

    switch (j->kind) {
    case FIXED:
    case ASKED:
        return rota_alltoallv_init(j->send, j->send_count, j->send_at, MPI_BYTE,
                                   j->recv, j->recv_count, j->recv_at, MPI_BYTE,
                                   comm, info, &j->plan);
    case VARYING:
    case IN_PLACE:
        return rota_alltoallv_varying_init(longest, MPI_BYTE, comm, info,
                                           &j->plan);
    case SCALED: {
        MPI_Info scales = test_info("rota_largest_unit", "2", NULL, NULL);
        const int err = rota_alltoallv_init(
            j->send, j->send_count, j->send_at, MPI_BYTE, j->recv,
            j->recv_count, j->recv_at, MPI_BYTE, comm, scales, &j->plan);
        MPI_Info_free(&scales);
        return err;
    }
    case REVERSE:
        return make_reverse(j, comm, info);
    case ARRAYS:
        return rota_exchange_init_arrays(ROTA_UNBOUNDED, 2, bytes, comm, info,
                                         &j->plan);
    default:
        return rota_exchange_init(longest, MPI_BYTE, comm, info, &j->plan);
    }
}

/* Buffers are on the heap as it is, so that live counts only what the library
 * has. */
static unsigned char *take_buffer(size_t bytes)
{
    void *shared = NULL;

    if (!shares)
        return __real_malloc(bytes);
    MUST(rota_mem_alloc(bytes, MPI_COMM_WORLD, MPI_INFO_NULL, &shared));
    return shared;
}

static void put_buffer(unsigned char *buffer)
{
    if (shares)
        MUST(rota_mem_free(&buffer));
    else
        __real_free(buffer);
}

static void lay_out(job *j, kind of, size_t spread)
{
    int sent = 0, received = 0;

    for (int q = 0; q < test_P; q++) {
        j->send_count[q] = bytes_between(of, test_me, q);
        j->recv_count[q] = bytes_between(of, q, test_me);
        j->send_at[q] = sent;
        j->recv_at[q] = received;
        sent += j->send_count[q];
        received += j->recv_count[q];
    }
    j->kind = of;
    j->send = take_buffer(spread * (size_t)sent);
    j->recv = take_buffer(spread * (size_t)received);
    j->plan = NULL;
    j->request = MPI_REQUEST_NULL;
}

static int open_kind(job *j, kind of, MPI_Comm comm, MPI_Info info)
{
    lay_out(j, of, 1);
    return make_plan(j, comm, info);
}

static bool open_job(job *j, MPI_Comm comm, MPI_Info info)
{
    return open_kind(j, FIXED, comm, info) == MPI_SUCCESS;
}

static void close_job(job *j)
{
    if (j->plan)
        MUST(rota_plan_free(&j->plan));
    put_buffer(j->send);
    put_buffer(j->recv);
}

/* A rank without memory for the request has started the plan. */
static int start_asked(job *j)
{
    int errorclass;
    const int refused_before = times;
    const int err = rota_start_request(j->plan, &j->request);

    CHECK((err != MPI_SUCCESS) == (times > refused_before));
    if (err == MPI_SUCCESS)
        return err;
    rota_error_class(err, &errorclass);
    CHECK(errorclass == MPI_ERR_NO_MEM && j->request == MPI_REQUEST_NULL);
    return MPI_SUCCESS;
}

static int start_arrays(job *j)
{
    const void *const send[] = {j->send, j->send};
    int count[2 * MOST_RANKS], at[2 * MOST_RANKS];

    for (int q = 0; q < test_P; q++) {
        count[q] = j->send_count[q];
        at[q] = j->send_at[q];
        count[test_P + q] = 1;
        at[test_P + q] = at[q] + count[q] - 1;
    }
    return rota_exchange_start_arrays(j->plan, send, count, at);
}

static int start(job *j)
{
    switch (j->kind) {
    case REVERSE:
        for (int q = 0; q < test_P; q++)
            memset(j->recv + j->recv_at[q], 0, (size_t)j->recv_count[q]);
        return rota_start(j->plan);
    case ASKED:
        return start_asked(j);
    case ARRAYS:
        return start_arrays(j);
    case FIXED:
    case SCALED:
        return rota_start(j->plan);
    case IN_PLACE:
        return rota_alltoallv_start(j->plan, MPI_IN_PLACE, NULL, NULL, j->recv,
                                    j->recv_count, j->recv_at);
    case VARYING:
        return rota_alltoallv_start(j->plan, j->send, j->send_count, j->send_at,
                                    j->recv, j->recv_count, j->recv_at);
    default:
        return rota_exchange_start(j->plan, j->send, j->send_count, j->send_at);
    }
}

static int wait_arrays(job *j, void **found)
{
    int count[2 * MOST_RANKS], at[2 * MOST_RANKS];
    void *recv[2];
    const int err = rota_exchange_wait_arrays(j->plan, recv, count, at);
    const unsigned char *const last = recv[1];

    for (int q = 0; q < test_P && err == MPI_SUCCESS; q++) {
        const unsigned char *const block = (unsigned char *)recv[0] + at[q];
        CHECK(count[q] == j->recv_count[q] && count[test_P + q] == 1);
        CHECK(last[at[test_P + q]] == block[count[q] - 1]);
    }
    *found = err == MPI_SUCCESS ? recv[0] : NULL;
    return err;
}

static int wait_for(job *j, void **found)
{
    *found = j->recv;
    switch (j->kind) {
    case EXCHANGE:
        return rota_exchange_wait(j->plan, found, NULL, NULL);
    case ARRAYS:
        return wait_arrays(j, found);
    case ASKED:
        MUST(MPI_Wait(&j->request, MPI_STATUS_IGNORE));
        return rota_wait(j->plan);
    default:
        return rota_wait(j->plan);
    }
}

/* Wait; where the blocks are then. */
static unsigned char *finish(job *j)
{
    void *found;
    const int err = wait_for(j, &found);

    if (MUST(err) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return found;
}

/* Elements are bytes that lie so far apart. */
static void fill(job *j, int k, int spread)
{
    unsigned char *const to = j->kind == IN_PLACE ? j->recv : j->send;

    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < j->send_count[q]; i++)
            to[spread * (j->send_at[q] + i)] =
                payload(test_me, q, (size_t)i, k);
}

static void check(const job *j, const unsigned char *found, int k, int spread)
{
    for (int q = 0; q < test_P; q++) {
        int i = 0;
        while (i < j->recv_count[q] && found[spread * (j->recv_at[q] + i)] ==
                                           payload(q, test_me, (size_t)i, k))
            i++;
        CHECK(i == j->recv_count[q]);
    }
}

static void run(job *j)
{
    for (int k = 1; k <= 3; k++) {
        fill(j, k, 1);
        MUST(start(j));
        check(j, finish(j), k, 1);
    }
}

/* Does the description of the plan have a line of key and words? */
static bool states(const job *j, const char *key, const char *words)
{
    char text[4000], begin[40];
    size_t length = sizeof text;

    MUST(rota_plan_describe(j->plan, ROTA_DESCRIBE_TEXT, text, &length));
    snprintf(begin, sizeof begin, "\n%-16s ", key);
    const char *const at = strstr(text, begin);
    const char *const found = at ? strstr(at + 1, words) : NULL;
    return found && found < strchr(at + 1, '\n');
}

#define STATES(j, key, words)                                                  \
    do {                                                                       \
        if (!states(j, key, words))                                            \
            test_fail(__FILE__, __LINE__, "%s: no \"%s\"", key, words);        \
    } while (0)

/* ---- what is left -------------------------------------------------------- */

typedef struct account {
    long heap, descriptors, mappings;
    long blocks; /* of the arena */
} account;

static int count_descriptors(void)
{
    DIR *const d = opendir("/proc/self/fd");
    int n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static int count_mappings(void)
{
    FILE *const f = fopen("/proc/self/maps", "r");
    char line[400];
    int n = 0;

    while (f && fgets(line, sizeof line, f))
        n += strstr(line, "memfd:rota") != NULL;
    if (f)
        fclose(f);
    return n;
}

/* What others had not received yet when it was freed is given back by the next
 * plan. Lines and the pool grow to what is needed at once, and stay. */
static account take_stock(void)
{
    enum { N = 4 };
    account a = {0};
    rota_arena_address address;
    struct stat state;
    MPI_Comm comm;
    job j[N];

    backed = 0;
    test_barrier();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < N; i++)
        if (!open_job(&j[i], comm, MPI_INFO_NULL))
            test_fail(__FILE__, __LINE__, "no plan");
    for (int i = 0; i < N; i++)
        close_job(&j[i]);
    test_barrier();
    if (open_job(&j[0], comm, MPI_INFO_NULL))
        close_job(&j[0]);
    MPI_Comm_free(&comm);
    test_barrier();
    a.heap = live;
    a.descriptors = count_descriptors();
    a.mappings = count_mappings();
    if (rota_arena_open(&address) == MPI_SUCCESS &&
        fstat((int)address.fd, &state) == 0)
        a.blocks = (long)state.st_blocks;
    return a;
}

static account before;

static void check_stock(void)
{
    const account now = take_stock();

    if (memcmp(&now, &before, sizeof now) != 0)
        test_fail(__FILE__, __LINE__,
                  "left: %ld allocations, %ld descriptors, %ld mappings, %ld "
                  "blocks of shared memory",
                  now.heap - before.heap, now.descriptors - before.descriptors,
                  now.mappings - before.mappings, now.blocks - before.blocks);
}

/* ---- parts --------------------------------------------------------------- */

/* While the communicator's ranks find each other: why, here and there. The rank
 * shares memory with nobody then, and the others do with each other. */
static void refuse_sharing(refusal what, const char *why, const char *there)
{
    for (int rank = 0; rank < test_P; rank += test_P - 1) {
        const bool alone = rank == test_me || test_P == 2;
        MPI_Comm comm;
        job j;
        take_stock(); /* no plan before holds memory of others */
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        refuse(what, rank, 0);
        CHECK(open_job(&j, comm, MPI_INFO_NULL));
        permit(rank);
        STATES(&j, "intranode", alone ? "p2p" : "shm");
        STATES(&j, "intranode_why", rank == test_me ? why : there);
        if (!alone)
            STATES(&j, "ranks_apart", "1");
        run(&j);
        close_job(&j);
        MPI_Comm_free(&comm);
    }
    check_stock();
}

/* Lines of one plan among others that have theirs: MPI carries what comes to that
 * rank, and nothing else. */
static void refuse_lines(void)
{
    test_case = "no room for lines";
    for (int rank = 0; rank < test_P; rank += test_P - 1) {
        MPI_Comm comm;
        job j[3];
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        CHECK(open_job(&j[0], comm, MPI_INFO_NULL));
        refuse(FALLOCATE, rank, 0);
        if (rank == test_me)
            take_lines();
        CHECK(open_job(&j[1], comm, MPI_INFO_NULL));
        permit(rank);
        put_lines();
        CHECK(open_job(&j[2], comm, MPI_INFO_NULL));
        for (int i = 0; i < 3; i++)
            STATES(&j[i], "intranode", "shm");
        if (rank == test_me)
            STATES(&j[1], "intranode_why", "no room in shared memory");
        for (int i = 0; i < 3; i++)
            run(&j[i]);
        for (int i = 0; i < 3; i++)
            close_job(&j[i]);
        MPI_Comm_free(&comm);
    }
    check_stock();
}

/* What a rank has added to its memory cannot be mapped by another one: those two
 * share none from then on. */
static void refuse_growth(void)
{
    enum { BYTES = 8 << 20 };

    test_case = "no room for more mappings";
    for (int rank = 0; rank < test_P; rank += test_P - 1) {
        const bool alone = rank == test_me || test_P == 2;
        MPI_Comm comm;
        void *memory;
        job j[2];
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        CHECK(open_job(&j[0], comm, MPI_INFO_NULL));
        /* More than what the first one left idle. */
        memory = rota_arena_alloc(rank == 0 ? BYTES : (size_t)8 * BYTES);
        refuse(OPEN, rank, 0);
        CHECK(open_job(&j[1], comm, MPI_INFO_NULL));
        permit(rank);
        STATES(&j[1], "intranode", alone ? "p2p" : "shm");
        for (int i = 0; i < 2; i++)
            run(&j[i]);
        for (int i = 0; i < 2; i++)
            close_job(&j[i]);
        rota_arena_free(memory);
        MPI_Comm_free(&comm);
    }
}

/* ---- refused while plans run --------------------------------------------- */

/* Pieces of the pool, all that a rank may have. */
enum { MOST_PIECES = 1 << 12 };
static rota_piece piece[MOST_PIECES];
static int n_pieces;

static bool is_never_taken(void *owner, uint64_t entry)
{
    (void)owner;
    (void)entry;
    return false;
}

static void take_pieces(void)
{
    for (; n_pieces < MOST_PIECES; n_pieces++) {
        piece[n_pieces] = (rota_piece){.is_taken = is_never_taken};
        if (!rota_pool_take(&piece[n_pieces], ROTA_PIECE, rota_arena_self()))
            break;
    }
}

static void put_pieces(void)
{
    while (n_pieces > 0)
        rota_pool_put(&piece[--n_pieces]);
}

/* On each rank in turn, for every kind of plan: messages go through entries. */
static void take_pool(void)
{
    static const kind kinds[] = {FIXED,   VARYING, EXCHANGE, SCALED,
                                 REVERSE, ARRAYS,  ASKED};
    const int n = (int)(sizeof kinds / sizeof *kinds);
    MPI_Info info = test_info("rota_algorithm", "spread_out", NULL, NULL);

    test_case = "no pieces";
    for (int i = 0; i < n * test_P; i++) {
        MPI_Comm comm;
        job j;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MUST(open_kind(&j, kinds[i % n], comm, info));
        if (i / n == test_me) {
            take_pieces();
            CHECK(n_pieces > 0);
        }
        run(&j);
        put_pieces();
        run(&j);
        close_job(&j);
        MPI_Comm_free(&comm);
    }
    check_stock();
    MPI_Info_free(&info);
}

typedef struct hungry {
    kind kind;
    const char *algorithm, *metadata;
    bool by_mpi, typed;
} hungry;

static MPI_Datatype hungry_type(const hungry *f)
{
    MPI_Datatype type = MPI_BYTE;

    if (f->typed) {
        MPI_Type_create_resized(MPI_BYTE, 0, 2, &type);
        MPI_Type_commit(&type);
    }
    return type;
}

/* One wait; false: memory has run out, and the plan is as active as before. */
static bool finish_once(job *j, void **found)
{
    int errorclass, flag = 0;
    const int err = wait_for(j, found);

    if (err == MPI_SUCCESS)
        return true;
    rota_error_class(err, &errorclass);
    CHECK(errorclass == MPI_ERR_NO_MEM);
    if (errorclass != MPI_ERR_NO_MEM)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MUST_FAIL(rota_plan_free(&j->plan), MPI_ERR_REQUEST, "active");
    rota_test(j->plan, &flag);
    return false;
}

/* Start, and once more if there is no memory for that. Returns how often there was
 * none. */
static int start_hungry(job *j)
{
    int errorclass;
    const int err = start(j);

    if (j->kind == ASKED && times > 0)
        refused = NOTHING;
    if (err == MPI_SUCCESS)
        return j->kind == ASKED && times > 0;
    rota_error_class(err, &errorclass);
    CHECK(j->kind == ARRAYS && errorclass == MPI_ERR_NO_MEM);
    refused = NOTHING;
    MUST(start(j));
    return 1;
}

/* From the n-th allocation of a run on there is no memory, on one rank, until a
 * wait has said so. Returns whether it came to that. */
static bool starve_one(const hungry *f, MPI_Comm comm, MPI_Info info, int n)
{
    const int rank = n % test_P, spread = f->typed ? 2 : 1;
    MPI_Datatype type = hungry_type(f);
    void *found = NULL;
    int said = 0;
    job j;

    lay_out(&j, f->kind, (size_t)spread);
    if (f->kind == ARRAYS || f->kind == ASKED)
        MUST(make_plan(&j, comm, info));
    else if (f->kind == EXCHANGE)
        MUST(rota_exchange_init(ROTA_UNBOUNDED, type, comm, info, &j.plan));
    else
        MUST(rota_alltoallv_varying_init(ROTA_UNBOUNDED, type, comm, info,
                                         &j.plan));
    fill(&j, n, spread);
    refuse(HEAP, rank, n);
    said += start_hungry(&j);
    while (!finish_once(&j, &found)) {
        said++;
        refused = NOTHING;
    }
    refused = NOTHING;
    check(&j, found, n, spread);
    CHECK(said <= 1);
    close_job(&j);
    if (f->typed)
        MPI_Type_free(&type);
    return test_max(said);
}

/* Runs that need memory: what they have begun is finished when there is some. */
static void starve_all(bool warm)
{
    static const hungry form[] = {
        {EXCHANGE, "spread_out", "fused", false, false},
        {EXCHANGE, "spread_out", "fused", true, false},
        {EXCHANGE, "spread_out", "two_phase", true, true},
        {EXCHANGE, "spread_out", "combined", true, false},
        {EXCHANGE, "spread_out", "two_phase", false, true},
        {EXCHANGE, "scattered", "fused", true, false},
        {EXCHANGE, "consensus", NULL, false, false},
        {EXCHANGE, "parlogna", "fused", false, false},
        {EXCHANGE, "parlogna", "combined", true, false},
        {EXCHANGE, "onmpml", NULL, false, false},
        {EXCHANGE, "onmpml", NULL, true, false},
        {VARYING, "parlogna", "fused", true, false},
        {VARYING, "two_phase_bruck", NULL, false, true},
        {ARRAYS, "spread_out", "fused", false, false},
        {ARRAYS, "spread_out", "two_phase", true, false},
        {ARRAYS, "parlogna", "fused", false, false},
        {ASKED, "spread_out", NULL, false, false},
    };

    for (size_t i = 0; i < sizeof form / sizeof form[0]; i++) {
        int n = 0;
        MPI_Comm comm;
        MPI_Info info = test_info("rota_algorithm", form[i].algorithm,
                                  form[i].metadata ? "rota_metadata" : NULL,
                                  form[i].metadata);
        MPI_Info_set(info, "rota_radix", "2");
        if (form[i].by_mpi)
            MPI_Info_set(info, "rota_intranode", "p2p");
        test_case = form[i].algorithm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (warm) /* nothing is refused: lines and the pool grow */
            starve_one(&form[i], comm, info, INT_MAX);
        while (!warm && starve_one(&form[i], comm, info, n))
            n++;
        if (!warm && n == 0 && (form[i].kind != VARYING || test_P > 3))
            test_fail(__FILE__, __LINE__, "form %zu needs no memory", i);
        MPI_Comm_free(&comm);
        MPI_Info_free(&info);
    }
}

static void starve(void)
{
    starve_all(true);
    before = take_stock();
    starve_all(false);
    test_case = "starved";
    check_stock();
}

/* ---- refused while plans are made ---------------------------------------- */

/* The n-th allocation on the way to a plan fails, on one rank. Returns whether
 * there was one. All ranks have the plan then or none has, for lack of memory;
 * and the next one on the communicator is made. */
static bool refuse_one(kind of, MPI_Info info, int n)
{
    const int rank = n % test_P;
    int errorclass = MPI_SUCCESS;
    MPI_Comm comm;
    job j, next;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    refuse(HEAP, rank, n);
    const int err = open_kind(&j, of, comm, info);
    const bool refused_here = times > 0;
    refused = NOTHING;
    if (err == MPI_SUCCESS)
        run(&j);
    else
        rota_error_class(err, &errorclass);
    close_job(&j);
    CHECK(errorclass == MPI_SUCCESS || errorclass == MPI_ERR_NO_MEM);
    CHECK(test_max(errorclass) == errorclass);
    CHECK(-test_max(-errorclass) == errorclass);
    if (MUST(open_kind(&next, of, comm, info)) == MPI_SUCCESS)
        run(&next);
    close_job(&next);
    MPI_Comm_free(&comm);
    return test_max(refused_here);
}

/* Every one in turn, for every kind of plan in several forms. */
static void refuse_heap(void)
{
    static const struct {
        kind kind;
        const char *algorithm, *metadata;
    } form[] = {
        {FIXED, NULL, NULL},
        {FIXED, "parlogna", NULL},
        {FIXED, "mpi", NULL},
        {VARYING, NULL, NULL},
        {VARYING, "mpi", NULL},
        {VARYING, "scattered", "two_phase"},
        {VARYING, "parlogna", "fused"},
        {VARYING, "padded_bruck", NULL},
        {EXCHANGE, NULL, NULL},
        {EXCHANGE, "consensus", NULL},
        {EXCHANGE, "parlogna", "combined"},
        {SCALED, NULL, NULL},
        {REVERSE, NULL, NULL},
        {REVERSE, "parlogna", NULL},
        {ARRAYS, NULL, NULL},
        {ARRAYS, "parlogna", "combined"},
        {ASKED, NULL, NULL},
    };

    test_case = "no room on the heap";
    for (size_t i = 0; i < sizeof form / sizeof form[0]; i++) {
        int n = 0;
        MPI_Info info =
            form[i].algorithm
                ? test_info("rota_algorithm", form[i].algorithm,
                            form[i].metadata ? "rota_metadata" : NULL,
                            form[i].metadata)
                : MPI_INFO_NULL;
        while (refuse_one(form[i].kind, info, n))
            n++;
        CHECK(n > 10);
        if (info != MPI_INFO_NULL)
            MPI_Info_free(&info);
        check_stock();
    }
}

/* The first time that the process shares memory is the only one. */
static void refuse_arena(refusal what, const char *why)
{
    const int rank = test_P - 1;

    test_case = why;
    refuse(what, rank, 0);
    take_stock();
    permit(rank);
    before = take_stock();
    for (int i = 0; i < 2; i++) {
        MPI_Comm comm;
        job j;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        CHECK(open_job(&j, comm, MPI_INFO_NULL));
        STATES(&j, "intranode", rank == test_me || test_P == 2 ? "p2p" : "shm");
        STATES(&j, "intranode_why",
               rank == test_me ? why : "no memory to share");
        run(&j);
        close_job(&j);
        MPI_Comm_free(&comm);
    }
    check_stock();
}

/* More memory than the host has. */
static void ask_for_much(void)
{
    void *memory = NULL;
    MPI_Comm comm;

    test_case = "more than there is";
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    backed = 0;
    MUST_FAIL(rota_mem_alloc((size_t)1 << 45, comm, MPI_INFO_NULL, &memory),
              MPI_ERR_NO_MEM, "");
    MPI_Comm_free(&comm);
    CHECK(memory == NULL && backed < (size_t)1 << 30);
}

/* Long messages pass through the pool, also where nobody knows how long they are:
 * it must be there before they are. */
static void need_pool(bool unbounded)
{
    rota_plan *plan = NULL;
    MPI_Info info = test_info("rota_algorithm", "spread_out", NULL, NULL);
    size_t most;
    job j;

    test_case = unbounded ? "pool, no bound" : "pool";
    CHECK(rota_pool_bytes(&most) == 0);
    if (unbounded) {
        MUST(rota_exchange_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD, info,
                                &plan));
        MUST(rota_plan_free(&plan));
    } else {
        CHECK(open_job(&j, MPI_COMM_WORLD, info));
        run(&j);
        close_job(&j);
    }
    CHECK(rota_pool_bytes(&most) >= 2 * ROTA_PIECE);
    MPI_Info_free(&info);
}

/* So long that copies by the kernel may pay, however many ranks there are. */
enum { CONTESTED = 600000 };

/* Nobody reads private memory if one rank cannot. */
static void keep_private(void)
{
    MPI_Info info = test_info("rota_attached_from", "1", NULL, NULL);
    job j;

    test_case = "private memory";
    refuse(READING, 0, 0);
    CHECK(open_job(&j, MPI_COMM_WORLD, info));
    permit(0);
    STATES(&j, "cross_memory", "not used: it is not allowed");
    readings = 0;
    run(&j);
    CHECK(readings == 0);
    close_job(&j);
    MPI_Info_free(&info);
    longest = CONTESTED;
    CHECK(open_job(&j, MPI_COMM_WORLD, MPI_INFO_NULL));
    STATES(&j, "cross_memory", "not used: it is not allowed");
    run(&j);
    CHECK(readings == 0);
    close_job(&j);
    longest = LONG;
}

/* Runs find out whether long blocks go faster directly, by the kernel or, in shared
 * memory, from where they lie. Then all go that way. */
static void contest(kind of, bool shared, bool direct_is_faster)
{
    const char *const key = shared ? "copied_once" : "cross_memory";
    job j;

    test_case = direct_is_faster ? "direct is faster" : "the pool is faster";
    longest = CONTESTED;
    shares = shared;
    added_ns[0] = direct_is_faster ? 1000000000 : 0;
    added_ns[1] = direct_is_faster ? 0 : 1000000000;
    MUST(open_kind(&j, of, MPI_COMM_WORLD, MPI_INFO_NULL));
    STATES(&j, "cross_memory", "not used: no long block of private memory");
    STATES(&j, "copied_once", "  used");
    run(&j);
    STATES(&j, key,
           shared ? "used: the plan has run too seldom"
                  : "not used: the plan has run too seldom");
    readings = 0;
    for (int n = 0; n < ROTA_CONTEST_BEFORE + 2 * ROTA_CONTEST_TIMES + 3;
         n += 3)
        run(&j);
    CHECK((readings > 0) == !shared); /* both ways were tried */
    STATES(&j, key,
           direct_is_faster ? "used: it was faster when last tried"
                            : "not used: it was not faster when last tried");
    readings = 0;
    run(&j);
    CHECK((readings > 0) == (direct_is_faster && !shared));
    close_job(&j);
    longest = LONG;
    shares = false;
}

/* Runs find out how to write pieces of the pool, apart from the other contest. */
static void write_pieces(kind of, bool past_is_faster)
{
    const int runs =
        ROTA_CONTEST_APART + ROTA_CONTEST_BEFORE + 2 * ROTA_CONTEST_TIMES + 1;
    MPI_Info info = test_info("rota_attached_from", "1048576", "rota_algorithm",
                              "spread_out");
    job j;

    test_case = past_is_faster ? "past the caches is faster"
                               : "through the caches is faster";
    added_ns[0] = past_is_faster ? 1000000000 : 0;
    added_ns[1] = past_is_faster ? 0 : 1000000000;
    MUST(open_kind(&j, of, MPI_COMM_WORLD, info));
    if (!states(&j, "pieces", "through the caches: ranks share cores")) {
        STATES(&j, "pieces", "the plan has run too seldom");
        for (int n = 0; n < runs; n += 3)
            run(&j);
        STATES(&j, "pieces",
               past_is_faster
                   ? "past the caches: it was faster when last tried"
                   : "through the caches: it was faster when last tried");
    }
    run(&j);
    close_job(&j);
    MPI_Info_free(&info);
}

/* The kernel copies; and what it refuses later is an error of the rank that would
 * have read, for which nobody waits. */
static void attach(kind of)
{
    MPI_Info info =
        test_info("rota_attached_from", "1", "rota_algorithm", "linear");
    MPI_Info never = test_info("rota_attached_from", "1048576", NULL, NULL);
    job j, other;

    test_case = "copied by the kernel";
    MUST(open_kind(&j, of, MPI_COMM_WORLD, info));
    if (states(&j, "cross_memory", "not used: it is not allowed")) {
        printf("skipped: ranks may not read each other's memory here\n");
        MPI_Finalize();
        exit(77);
    }
    CHECK(open_job(&other, MPI_COMM_WORLD, never));
    STATES(&j, "cross_memory", "  used");
    STATES(&other, "cross_memory", "not used: a hint forbids it");
    readings = 0;
    run(&j);
    CHECK(readings > 0);
    readings = 0;
    run(&other);
    CHECK(readings == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (of == FIXED) {
        refuse(READING, 0, 0);
        MUST(rota_start(j.plan));
        if (test_me == 0)
            MUST_FAIL(rota_wait(j.plan), MPI_ERR_OTHER,
                      "cannot be read any more");
        else
            MUST(rota_wait(j.plan));
        permit(0);
        run(&j);
    }
    close_job(&j);
    close_job(&other);
    MPI_Info_free(&info);
    MPI_Info_free(&never);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    const char *const first = argc > 1 ? argv[1] : "";

    if (strcmp(first, "memfd") == 0) {
        refuse_arena(MEMFD, "memfd_create: Function not implemented");
    } else if (strcmp(first, "arena") == 0) {
        refuse_arena(FALLOCATE, "No space left on device");
    } else if (strcmp(first, "pool") == 0) {
        need_pool(false);
    } else if (strcmp(first, "unbounded") == 0) {
        need_pool(true);
    } else if (strcmp(first, "private") == 0) {
        keep_private();
    } else if (strcmp(first, "attached") == 0) {
        attach(FIXED);
        attach(VARYING);
        attach(EXCHANGE);
        for (int of = 0; of <= SCALED; of++)
            for (int past = 0; past < 2; past++)
                write_pieces((kind)of, past);
        for (int of = 0; of <= SCALED; of++) {
            for (int way = 0; way < 4; way++)
                if (of != IN_PLACE || way < 2) /* sends from private memory */
                    contest((kind)of, way / 2, way % 2);
        }
    } else {
        take_stock(); /* segments as they come */
        before = take_stock();
        ask_for_much();
        check_stock();
        test_case = "another's memory is not opened";
        refuse_sharing(OPEN, "Permission denied",
                       "cannot map this one's memory");
        test_case = "no room for the endpoints";
        refuse_sharing(FALLOCATE, "no room in shared memory",
                       "no memory to share");
        refuse_lines();
        starve();
        take_pool();
        if (test_P == 2) /* so many communicators take more ranks long */
            refuse_heap();
        refuse_growth();
    }
    return test_end();
}
