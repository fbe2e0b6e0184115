/* device.c - buffers on a device: what the grids of grid.c and types.c do not
 * reach.
 *
 * usage: device [aware | refused]
 *
 * aware: there is an MPI that takes memory of a device; only what needs one
 * refused: no process can open memory of another
 */
#include "algos/algo.h"
#include "device/layout.h"
#include "harness.h"
#include "pattern.h"
#include "plan/args/pieces.h"
#include "testdev.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 300000, STARTS = 4 };

/* Blocks of about BLOCK bytes, end to end in both buffers. */
typedef struct job {
    int counts[2][64], displs[2][64]; /* what is sent, what is received */
    size_t bytes[2];
    unsigned char *host[2]; /* as the test sees them */
    void *there[2];         /* on the device */
} job;

static void *(*allocate)(size_t bytes) = testdev_alloc;

static int bytes_of(int src, int dst)
{
    return BLOCK + 1000 * src + 7 * dst;
}

static job make_job(void)
{
    job j = {0};

    for (int side = 0; side < 2; side++) {
        for (int q = 0; q < test_P; q++) {
            j.counts[side][q] =
                side == 0 ? bytes_of(test_me, q) : bytes_of(q, test_me);
            j.displs[side][q] = (int)j.bytes[side];
            j.bytes[side] += (size_t)j.counts[side][q];
        }
        j.host[side] = malloc(j.bytes[side]);
        j.there[side] = allocate(j.bytes[side]);
    }
    return j;
}

/* Others may have it open until they have freed their plans. */
static void free_job(job *j)
{
    test_barrier();
    for (int side = 0; side < 2; side++) {
        testdev_free(j->there[side]);
        free(j->host[side]);
    }
}

static void fill(job *j, int iteration)
{
    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < j->counts[0][q]; i++)
            j->host[0][j->displs[0][q] + i] =
                payload(test_me, q, (size_t)i, iteration);
}

static void check(const job *j, int iteration)
{
    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < j->counts[1][q]; i++)
            if (j->host[1][j->displs[1][q] + i] !=
                payload(q, test_me, (size_t)i, iteration)) {
                test_fail(__FILE__, __LINE__,
                          "start %d: byte %d of the block from rank %d",
                          iteration, i, q);
                return;
            }
}

static rota_plan *plan_for(const job *j, const void *send, void *recv,
                           MPI_Info info)
{
    rota_plan *plan = NULL;

    MUST(rota_alltoallv_init(send, j->counts[0], j->displs[0], MPI_BYTE, recv,
                             j->counts[1], j->displs[1], MPI_BYTE,
                             MPI_COMM_WORLD, info, &plan));
    return plan;
}

static rota_plan *plan_on_device(const job *j, MPI_Info info)
{
    return plan_for(j, j->there[0], j->there[1], info);
}

static bool describes(const rota_plan *plan, const char *words)
{
    char text[8192];
    size_t length = sizeof text;

    MUST(rota_plan_describe(plan, ROTA_DESCRIBE_JSON, text, &length));
    return strstr(text, words) != NULL;
}

/* ---- without a stream ---------------------------------------------------- */

static void run_starts(rota_plan *plan, job *j)
{
    for (int i = 0; i < STARTS; i++) {
        fill(j, i);
        testdev_put(j->there[0], j->host[0], j->bytes[0]);
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        testdev_get(j->host[1], j->there[1], j->bytes[1]);
        check(j, i);
    }
}

/* Blocks larger than pieces: messages leave before all of the line is here. */
static void large_blocks(MPI_Info info)
{
    job j = make_job();
    rota_plan *plan = plan_for(&j, j.there[0], j.there[1], info);

    if (plan) {
        run_starts(plan, &j);
        CHECK(describes(plan, "\"device_buffers\":\"send and receive\""));
        CHECK(describes(plan, "\"staging_bytes\""));
    }
    MUST(rota_plan_free(&plan));
    free_job(&j);
}

/* ---- behind a stream ----------------------------------------------------- */

/* The send buffer is filled, and the receive buffer is read, by what stands in a
 * stream: nothing here waits for the device but the end. */
static void run_stream(rota_plan *plan, job *j, void *stream)
{
    unsigned char *const seen = malloc(j->bytes[1] * STARTS);
    unsigned char *const sent = malloc(j->bytes[0] * STARTS);

    MUST(rota_plan_set_stream(plan, stream));
    for (int i = 0; i < STARTS; i++) {
        fill(j, i);
        memcpy(sent + (size_t)i * j->bytes[0], j->host[0], j->bytes[0]);
        testdev_put_later(j->there[0], sent + (size_t)i * j->bytes[0],
                          j->bytes[0], stream);
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        testdev_put_later(seen + (size_t)i * j->bytes[1], j->there[1],
                          j->bytes[1], stream);
    }
    testdev_stream_wait(stream);
    for (int i = 0; i < STARTS; i++) {
        memcpy(j->host[1], seen + (size_t)i * j->bytes[1], j->bytes[1]);
        check(j, i);
    }
    free(seen);
    free(sent);
}

static void streams(MPI_Info info)
{
    void *const stream = testdev_stream_make();
    job j = make_job();
    rota_plan *plan = plan_for(&j, j.there[0], j.there[1], info);

    if (plan) {
        run_stream(plan, &j, stream);
        MUST(rota_plan_set_stream(plan, ROTA_NO_STREAM));
        run_starts(plan, &j);
    }
    MUST(rota_plan_free(&plan));
    testdev_stream_free(stream);
    free_job(&j);
}

/* The first n algorithms. */
static void all_ways(const char *path, int n)
{
    static const char *const names[] = {"multi_pair", "scattered", "pairwise",
                                        "spread_out", "mpi",       "parlogna"};

    for (int a = 0; a < n; a++) {
        MPI_Info info = test_info("rota_algorithm", names[a], "rota_batch",
                                  a % 2 ? "2" : "1");
        if (path)
            MPI_Info_set(info, "rota_device", path);
        test_case = names[a];
        large_blocks(info);
        streams(info);
        MPI_Info_free(&info);
    }
}

/* ---- other buffers, errors ----------------------------------------------- */

static void other_buffers(void)
{
    MPI_Info info = test_info("rota_device", "copy_to_cpu", NULL, NULL);
    job j = make_job();
    rota_plan *plan;

    test_case = "other buffers";
    plan = plan_for(&j, j.host[0], j.host[1], MPI_INFO_NULL);
    CHECK(describes(plan, "\"device_buffers\":\"none\""));
    MUST_FAIL(rota_plan_set_buffers(plan, j.there[0], j.host[1]),
              MPI_ERR_BUFFER, "sendbuf is memory of a device");
    MUST_FAIL(rota_plan_set_buffers(plan, j.host[0], j.there[1]),
              MPI_ERR_BUFFER, "recvbuf is memory of a device");
    MUST(rota_plan_free(&plan));
    plan = plan_on_device(&j, info);
    MUST(rota_plan_set_buffers(plan, j.host[0], j.host[1]));
    fill(&j, 9);
    MUST(rota_start(plan));
    MUST_FAIL(rota_plan_set_stream(plan, NULL), MPI_ERR_REQUEST, "active");
    MUST(rota_wait(plan));
    check(&j, 9);
    MUST(rota_plan_free(&plan));
    MUST_FAIL(rota_plan_set_stream(NULL, NULL), MPI_ERR_REQUEST, "NULL");
    MPI_Info_free(&info);
    free_job(&j);
}

/* A varying plan whose starts are on a device or not, in turn. */
static void changing_sides(void)
{
    job j = make_job();
    rota_plan *plan = NULL;

    test_case = "changing sides";
    MUST(rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_BYTE, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &plan));
    for (int i = 0; i < 8; i++) {
        const bool down = i & 1, up = i & 2;
        fill(&j, i);
        testdev_put(j.there[0], j.host[0], j.bytes[0]);
        memset(j.host[1], 0, j.bytes[1]);
        MUST(rota_alltoallv_start(
            plan, down ? j.there[0] : j.host[0], j.counts[0], j.displs[0],
            up ? j.there[1] : (void *)j.host[1], j.counts[1], j.displs[1]));
        MUST(rota_wait(plan));
        if (up)
            testdev_get(j.host[1], j.there[1], j.bytes[1]);
        check(&j, i);
    }
    MUST(rota_plan_free(&plan));
    free_job(&j);
}

static void refuse(const char *algorithm, const char *words)
{
    int counts[64] = {0};
    rota_plan *plan = NULL;
    MPI_Info info =
        test_info("rota_algorithm", algorithm, "rota_device", "cuda_aware");

    MUST_FAIL(rota_alltoallv_init(NULL, counts, counts, MPI_BYTE, NULL, counts,
                                  counts, MPI_BYTE, MPI_COMM_WORLD, info,
                                  &plan),
              MPI_ERR_ARG, words);
    MPI_Info_free(&info);
}

/* Does this MPI say that it takes memory of a device? */
static bool mpi_is_aware(void)
{
    int counts[64] = {0};
    char text[MPI_MAX_ERROR_STRING];
    int length;
    rota_plan *plan = NULL;
    MPI_Info info = test_info("rota_device", "cuda_aware", NULL, NULL);
    const int code =
        rota_alltoallv_init(NULL, counts, counts, MPI_BYTE, NULL, counts,
                            counts, MPI_BYTE, MPI_COMM_WORLD, info, &plan);

    MPI_Info_free(&info);
    if (code == MPI_SUCCESS) {
        MUST(rota_plan_free(&plan));
        return true;
    }
    MPI_Error_string(code, text, &length);
    CHECK(strstr(text, "does not say that it takes"));
    return false;
}

static void wrong_hints(void)
{
    MPI_Info info = test_info("rota_device", "gpu", NULL, NULL);
    rota_plan *plan = NULL;

    test_case = "hints";
    MUST_FAIL(rota_exchange_init(8, MPI_BYTE, MPI_COMM_WORLD, info, &plan),
              MPI_ERR_ARG, "valid: auto, copy_to_cpu, cuda_aware, cuda_ipc");
    MPI_Info_free(&info);
}

/* A plan for memory of the host that is given buffers on a device. */
static void aware_takes_other_buffers(void)
{
    MPI_Info info = test_info("rota_device", "cuda_aware", NULL, NULL);
    job j = make_job();
    rota_plan *plan = plan_for(&j, j.host[0], j.host[1], info);

    test_case = "cuda_aware, other buffers";
    if (plan) {
        fill(&j, 5);
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        check(&j, 5);
        MUST(rota_plan_set_buffers(plan, j.there[0], j.there[1]));
        run_starts(plan, &j);
    }
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    free_job(&j);
}

static void aware_refuses(void)
{
    MPI_Info info = test_info("rota_device", "cuda_aware", NULL, NULL);
    rota_plan *plan = NULL;

    test_case = "cuda_aware refuses";
    refuse("parlogna", "through memory of the host");
    refuse("padded_bruck", "through memory of the host");
    MUST_FAIL(rota_exchange_init(8, MPI_BYTE, MPI_COMM_WORLD, info, &plan),
              MPI_ERR_ARG, "an exchange collects");
    MPI_Info_free(&info);
}

/* ---- from device to device ----------------------------------------------- */

static MPI_Info ask_for_ipc(const char *key, const char *value)
{
    return test_info("rota_device", "cuda_ipc", key, value);
}

/* Send buffers in more allocations than stay open, in turn. */
static void moving_about(void)
{
    enum { JOBS = 4 };
    MPI_Info info = ask_for_ipc("rota_algorithm", "multi_pair");
    job j[JOBS];
    rota_plan *plan;

    test_case = "cuda_ipc, other buffers";
    for (int k = 0; k < JOBS; k++)
        j[k] = make_job();
    plan = plan_on_device(&j[0], info);
    for (int i = 0; plan && i < 3 * JOBS; i++) {
        const int k = i < JOBS ? i % 2 : (i + test_me) % JOBS;
        MUST(rota_plan_set_buffers(plan, j[k].there[0], j[k].there[1]));
        run_starts(plan, &j[k]);
    }
    MUST_FAIL(rota_plan_set_buffers(plan, j[0].host[0], j[0].there[1]),
              MPI_ERR_BUFFER, "other ranks are to copy from there");
    MUST(rota_plan_set_buffers(plan, j[0].there[0], j[0].host[1]));
    fill(&j[0], 7);
    testdev_put(j[0].there[0], j[0].host[0], j[0].bytes[0]);
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    check(&j[0], 7);
    MUST(rota_plan_free(&plan));
    for (int k = 0; k < JOBS; k++)
        free_job(&j[k]);
    MPI_Info_free(&info);
}

/* Two plans on the same memory, under way at once; the second one outlives the
 * other and its marks. */
static void side_by_side(void)
{
    job j = make_job(), k = make_job();
    MPI_Info info = ask_for_ipc(NULL, NULL);
    rota_plan *plan[3];

    test_case = "cuda_ipc, two plans";
    plan[0] = plan_on_device(&j, info);
    plan[1] = plan_for(&j, j.there[0], k.there[1], info);
    fill(&j, 3);
    testdev_put(j.there[0], j.host[0], j.bytes[0]);
    MUST(rota_start(plan[test_me % 2]));
    MUST(rota_start(plan[1 - test_me % 2]));
    MUST(rota_waitall(2, plan));
    testdev_get(j.host[1], j.there[1], j.bytes[1]);
    check(&j, 3);
    testdev_get(k.host[1], k.there[1], k.bytes[1]);
    check(&k, 3);
    MUST(rota_plan_free(&plan[0]));
    plan[2] = plan_on_device(&k, info);
    MUST(rota_plan_set_buffers(plan[1], j.there[0], j.there[1]));
    run_starts(plan[1], &j);
    run_starts(plan[2], &k);
    MUST(rota_plan_free(&plan[1]));
    MUST(rota_plan_free(&plan[2]));
    MPI_Info_free(&info);
    free_job(&j);
    free_job(&k);
}

/* A rank with nothing to send, and one with nothing at all. */
static void lopsided(void)
{
    MPI_Info info = ask_for_ipc(NULL, NULL);
    job j = make_job();
    rota_plan *plan;

    test_case = "cuda_ipc, ranks without blocks";
    for (int q = 0; q < test_P; q++) {
        if (test_me < 2)
            j.counts[0][q] = 0;
        if (q < 2)
            j.counts[1][q] = 0;
        if (test_me == 0)
            j.counts[1][q] = 0;
        if (q == 0)
            j.counts[0][q] = 0;
    }
    plan = plan_on_device(&j, info);
    if (plan)
        run_starts(plan, &j);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    free_job(&j);
}

static void must_refuse(const job *j, const void *send, void *recv,
                        const char *key, const char *value, const char *words)
{
    MPI_Info info = ask_for_ipc(key, value);
    rota_plan *plan = NULL;

    MUST_FAIL(rota_alltoallv_init(send, j->counts[0], j->displs[0], MPI_BYTE,
                                  recv, j->counts[1], j->displs[1], MPI_BYTE,
                                  MPI_COMM_WORLD, info, &plan),
              MPI_ERR_ARG, words);
    MPI_Info_free(&info);
}

/* The last rank's memory is none for others; all hear of it. */
static void ipc_refuses(void)
{
    MPI_Info info = ask_for_ipc(NULL, NULL);
    job j = make_job();
    void *const closed = testdev_alloc_private(j.bytes[0]);
    const bool last = test_me == test_P - 1;
    rota_plan *plan = NULL;

    test_case = "cuda_ipc refuses";
    must_refuse(&j, last ? closed : j.there[0], j.there[1], NULL, NULL,
                "cannot open");
    must_refuse(&j, j.there[0], last ? j.host[1] : j.there[1], NULL, NULL,
                "recvbuf is memory of the host");
    must_refuse(&j, j.there[0], j.there[1], "rota_algorithm", "parlogna",
                "through memory of the host");
    must_refuse(&j, j.there[0], j.there[1], "rota_algorithm", "mpi",
                "through memory of the host");
    must_refuse(&j, j.there[0], j.there[1], "rota_intranode", "p2p",
                "rota_intranode");
    MUST_FAIL(rota_exchange_init(8, MPI_BYTE, MPI_COMM_WORLD, info, &plan),
              MPI_ERR_ARG, "counts vary");
    MPI_Info_free(&info);
    testdev_free(closed);
    free_job(&j);
}

static void check_path(const job *j, const char *path)
{
    rota_plan *plan = plan_on_device(j, MPI_INFO_NULL);

    CHECK(describes(plan, path));
    CHECK(describes(plan, "\"chosen\":\"the cheapest by"));
    MUST(rota_plan_free(&plan));
}

/* Blocks of this size do not go by way of the host, unless copies between devices
 * are dear; rows, which are for memory of the host, say nothing. */
static void by_price(void)
{
    job j = make_job();

    test_case = "cuda_ipc by price";
    check_path(&j, "\"device_byte\":");
    MUST(rota_tuning_import_string(
        "{\"rota_tuning\": 1, \"rows\": [{\"kind\": \"fixed\", "
        "\"algorithm\": \"parlogna\", \"radix\": 2, \"metadata\": \"once\"}]}",
        MPI_COMM_WORLD));
    check_path(&j, "\"device_path\":\"cuda_ipc\"");
    MUST(rota_tuning_import_string(
        "{\"rota_tuning\": 1, \"machine\": {\"ns\": {\"device_copy\": 1e9}}}",
        MPI_COMM_WORLD));
    check_path(&j, "\"staged_byte\":");
    MUST(rota_tuning_import_string("{\"rota_tuning\": 1}", MPI_COMM_WORLD));
    free_job(&j);
}

/* Of a plan on comm. */
static void check_way(const job *j, MPI_Comm comm, int sharers, bool by_host)
{
    MPI_Info info = test_info("rota_algorithm", "multi_pair", NULL, NULL);
    rota_plan *plan = NULL;
    char words[64];

    MUST(rota_alltoallv_init(j->there[0], j->counts[0], j->displs[0], MPI_BYTE,
                             j->there[1], j->counts[1], j->displs[1], MPI_BYTE,
                             comm, info, &plan));
    snprintf(words, sizeof words, "\"device_sharers\":%d,", sharers);
    CHECK(describes(plan, words));
    CHECK(describes(plan, by_host ? "\"device_path\":\"copy_to_cpu\""
                                  : "\"device_path\":\"cuda_ipc\""));
    CHECK(describes(plan, "share a device by time") == by_host);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
}

/* On a device that ranks share by time, nothing is copied from device to device,
 * unless such copies were measured. Each communicator finds out anew. */
static void shared_by_time(int device, bool by_time, int sharers)
{
    job j = make_job();
    MPI_Comm comm;

    test_case = "a device shared by time";
    if (testdev_pretend(device, by_time)) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        check_way(&j, comm, sharers, sharers > 1);
        MUST(rota_tuning_import_string(
            "{\"rota_tuning\": 1, \"machine\": {\"ns\": {\"device_copy\": "
            "5000}}}",
            comm));
        check_way(&j, comm, sharers, false);
        MPI_Comm_free(&comm);
        testdev_pretend(0, false);
    }
    free_job(&j);
}

/* What a plan does by itself. */
static void by_itself(void)
{
    MPI_Info info = test_info("rota_algorithm", "multi_pair", NULL, NULL);
    job j = make_job();
    rota_plan *plan = plan_on_device(&j, info);

    test_case = "cuda_ipc by itself";
    CHECK(describes(plan, "\"device_path\":\"cuda_ipc\""));
    CHECK(describes(plan, "\"staging_bytes\":0"));
    MUST(rota_plan_free(&plan));
    if (test_me == 0)
        plan = plan_for(&j, j.host[0], j.there[1], info);
    else
        plan = plan_on_device(&j, info);
    CHECK(describes(plan, "\"device_path\":\"copy_to_cpu\""));
    CHECK(describes(plan, test_me == 0 ? "sendbuf is memory of the host"
                                       : "another rank's blocks") ||
          test_P == 1);
    fill(&j, 2);
    testdev_put(j.there[0], j.host[0], j.bytes[0]);
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    testdev_get(j.host[1], j.there[1], j.bytes[1]);
    check(&j, 2);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    free_job(&j);
}

static void from_device_to_device(void)
{
    const char *const way = getenv("ROTA_INTRANODE");

    if (way && strcmp(way, "p2p") == 0)
        return; /* none of these */
    allocate = testdev_alloc_shared;
    all_ways("cuda_ipc", 4);
    moving_about();
    side_by_side();
    lopsided();
    ipc_refuses();
    by_itself();
    by_price();
    shared_by_time(0, false, 1);
    shared_by_time(0, true, test_P);
    shared_by_time(test_me % 2, true, (test_P + 1) / 2);
    allocate = testdev_alloc;
}

/* Whom nobody asks for IPC goes by the host then. */
static void refused(void)
{
    MPI_Info info = ask_for_ipc(NULL, NULL);
    job j = make_job();
    rota_plan *plan = NULL;

    test_case = "cuda_ipc refused";
    MUST_FAIL(rota_alltoallv_init(j.there[0], j.counts[0], j.displs[0],
                                  MPI_BYTE, j.there[1], j.counts[1],
                                  j.displs[1], MPI_BYTE, MPI_COMM_WORLD, info,
                                  &plan),
              MPI_ERR_OTHER, "the stand-in refuses");
    MPI_Info_set(info, "rota_device", "auto");
    plan = plan_on_device(&j, info);
    CHECK(describes(plan, "\"device_path\":\"copy_to_cpu\""));
    CHECK(describes(plan, "the stand-in refuses"));
    run_starts(plan, &j);
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    free_job(&j);
}

/* ---- layouts ------------------------------------------------------------- */

/* Pack count elements on the device and compare with MPI; then unpack them and
 * compare all of the memory. */
static void check_layout(MPI_Datatype type, int count, const char *what)
{
    enum { ROOM = 1 << 21, BEFORE = 1 << 12 };
    static char memory[2][ROOM], packed[2][ROOM];
    int size, position = 0;
    MPI_Aint lb, extent;
    rota_layout l = {0};
    rota_queue *q;
    const rota_device *const device = rota_device_in_use();
    char *const there = testdev_alloc(ROOM);

    test_case = what;
    MPI_Type_commit(&type);
    MPI_Type_size(type, &size);
    MPI_Type_get_extent(type, &lb, &extent);
    const size_t bytes = (size_t)size * (size_t)count;
    for (size_t i = 0; i < ROOM; i++)
        memory[0][i] = (char)test_hash(i);
    testdev_put(there, memory[0], ROOM);
    MUST(rota_layout_find(type, MPI_COMM_WORLD, &l));
    const rota_type t = {
        .mpi = type, .size = (size_t)size, .extent = extent, .layout = &l};
    MUST(device->queue_make(there, &q));
    MUST(rota_device_pack(&t, device, q, there + BEFORE, bytes, packed[0]));
    MUST(device->queue_drain(q));
    MPI_Pack(memory[0] + BEFORE, count, type, packed[1], ROOM, &position,
             MPI_COMM_WORLD);
    CHECK(memcmp(packed[0], packed[1], bytes) == 0);
    memset(memory[0], 0, ROOM);
    testdev_put(there, memory[0], ROOM);
    MUST(rota_device_unpack(&t, device, q, packed[1], bytes, there + BEFORE));
    MUST(device->queue_drain(q));
    position = 0;
    MPI_Unpack(packed[1], (int)bytes, &position, memory[0] + BEFORE, count,
               type, MPI_COMM_WORLD);
    testdev_get(memory[1], there, ROOM);
    CHECK(memcmp(memory[0], memory[1], ROOM) == 0);
    device->queue_free(q);
    rota_layout_free(&l);
    MPI_Type_free(&type);
    testdev_free(there);
}

static void layouts(void)
{
    static const int lengths[] = {3, 3, 3, 200, 1}, at[] = {0, 9, 18, 70, 60};
    MPI_Datatype vector, type;

    MPI_Type_vector(50, 3, 300, MPI_INT, &type); /* wide: 16 bits of places */
    check_layout(type, 2, "a vector");
    MPI_Type_vector(5, 3, 30000, MPI_INT, &type); /* 24 bits */
    check_layout(type, 3, "a wide vector");
    MPI_Type_vector(4, 1, 100, MPI_INT, &vector);
    MPI_Type_create_resized(vector, 0, 4, &type);
    MPI_Type_free(&vector);
    check_layout(type, 70, "columns");
    MPI_Type_indexed(5, lengths, at, MPI_SHORT, &type);
    check_layout(type, 11, "pieces");
    MPI_Type_create_hvector(6, 5, -40, MPI_INT, &type);
    check_layout(type, 1, "backwards");
    MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &vector);
    MPI_Type_create_hvector(7, 1, 1000, vector, &type);
    MPI_Type_free(&vector);
    check_layout(type, 5, "a vector of vectors");
}

int main(int argc, char **argv)
{
    const char *why;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    const bool only_aware = argc > 1 && strcmp(argv[1], "aware") == 0;
    const bool only_refused = argc > 1 && strcmp(argv[1], "refused") == 0;
    if (!testdev_open(&why)) {
        if (test_me == 0)
            printf("skipped: %s\n", why);
        MPI_Finalize();
        return 77;
    }
    if (only_refused)
        refused();
    const bool aware = !only_refused && mpi_is_aware();
    CHECK(aware || !only_aware);
    if (aware) {
        all_ways("cuda_aware", 5);
        aware_takes_other_buffers();
        aware_refuses();
    }
    if (!only_aware && !only_refused) {
        from_device_to_device();
        all_ways("copy_to_cpu", 6);
        other_buffers();
        changing_sides();
        wrong_hints();
        layouts();
    }
    CHECK(testdev_left() == 0);
    return test_end();
}
