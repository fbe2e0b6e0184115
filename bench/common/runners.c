#include "common/runners.h"

#include "common/leaders.h"
#include "common/read_once.h"
#include "common/sparse.h"
#include "common/sync.h"
#include "common/util.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* -- by way of the host ---------------------------------------------------- */

/* Microseconds since it was last asked for. */
static double lap(runner *r)
{
    const double now = sync_now_us(), took = now - r->lap_us;

    r->lap_us = now;
    return took;
}

/* Where the host may touch the buffers all that is timed is the whole. */
static int go_down(runner *r, const exchange *x)
{
    if (x->mem->copy == NULL)
        return MPI_SUCCESS;
    lap(r);
    const int err = exchange_to_host(x);
    r->part_us[PART_DOWN] = lap(r);
    return err;
}

static int go_up(runner *r, const exchange *x)
{
    if (x->mem->copy == NULL)
        return MPI_SUCCESS;
    r->part_us[PART_EXCHANGE] = lap(r);
    const int err = exchange_from_host(x);
    r->part_us[PART_UP] = lap(r);
    return err;
}

/* ---- MPI ----------------------------------------------------------------- */

static int mpi_run(runner *r, const exchange *x)
{
    int err = go_down(r, x);

    if (err == MPI_SUCCESS)
        err = MPI_Alltoallv(x->send_image, x->sendcounts, x->sdispls, MPI_BYTE,
                            x->recv_image, x->recvcounts, x->rdispls, MPI_BYTE,
                            x->comm);
    return err != MPI_SUCCESS ? err : go_up(r, x);
}

/* Between buffers of the host that are allocated for this run. The time of that
 * counts as of going down, of giving them back as of coming up. */
static int naive_run(runner *r, const exchange *x)
{
    exchange own = *x;
    void *send, *recv;

    lap(r);
    bench_must(x->mem->alloc_host(x->send_extent, &send), "buffers");
    bench_must(x->mem->alloc_host(x->recv_extent, &recv), "buffers");
    const double alloc_us = lap(r);
    own.send_image = send;
    own.recv_image = recv;
    exchange_guard(x, own.recv_image);
    const int err = mpi_run(r, &own);
    bench_must(x->mem->free_host(&send), "buffers");
    bench_must(x->mem->free_host(&recv), "buffers");
    r->part_us[PART_DOWN] += alloc_us;
    r->part_us[PART_UP] += lap(r);
    return err;
}

/* What a program does whose receivers know nothing. */
static int mpi_exchange_run(runner *r, const exchange *x)
{
    int err = go_down(r, x);

    if (err == MPI_SUCCESS)
        err = MPI_Alltoall(x->sendcounts, 1, MPI_INT, x->found_counts, 1,
                           MPI_INT, x->comm);
    if (err != MPI_SUCCESS)
        return err;
    x->found_displs[0] = 0;
    for (int i = 1; i < x->P; i++)
        x->found_displs[i] = x->found_displs[i - 1] + x->found_counts[i - 1];
    err = MPI_Alltoallv(x->send_image, x->sendcounts, x->sdispls, MPI_BYTE,
                        exchange_packed(x->recv_image), x->found_counts,
                        x->found_displs, MPI_BYTE, x->comm);
    return err != MPI_SUCCESS ? err : go_up(r, x);
}

#if MPI_VERSION >= 4
#define PERSISTENT_UNAVAILABLE NULL

static int persistent_init(runner *r, const exchange *x)
{
    return MPI_Alltoallv_init(x->send_image, x->sendcounts, x->sdispls,
                              MPI_BYTE, x->recv_image, x->recvcounts,
                              x->rdispls, MPI_BYTE, x->comm, MPI_INFO_NULL,
                              &r->request);
}
#else
#define PERSISTENT_UNAVAILABLE "its MPI library is older than MPI 4"

static int persistent_init(runner *r, const exchange *x)
{
    (void)r;
    (void)x;
    return MPI_ERR_OTHER;
}
#endif

static int persistent_run(runner *r, const exchange *x)
{
    int err = go_down(r, x);

    if (err == MPI_SUCCESS)
        err = MPI_Start(&r->request);
    if (err == MPI_SUCCESS)
        err = MPI_Wait(&r->request, MPI_STATUS_IGNORE);
    return err != MPI_SUCCESS ? err : go_up(r, x);
}

static int persistent_free(runner *r)
{
    return MPI_Request_free(&r->request);
}

/* ---- one-sided messages of MPI ------------------------------------------- */

static int rma_init(runner *r, const exchange *x)
{
    const MPI_Aint bytes = (MPI_Aint)x->recv_capacity;
    int err;

    r->there = bench_calloc((size_t)x->P, sizeof *r->there);
    err = MPI_Alltoall(x->rdispls, 1, MPI_INT, r->there, 1, MPI_INT, x->comm);
    return err != MPI_SUCCESS
               ? err
               : MPI_Win_create(x->recv_image, bytes, 1, MPI_INFO_NULL, x->comm,
                                &r->window);
}

static int rma_run(runner *r, const exchange *x)
{
    int err = go_down(r, x);

    if (err == MPI_SUCCESS)
        err = MPI_Win_fence(MPI_MODE_NOPRECEDE, r->window);
    for (int i = 0; i < x->P && err == MPI_SUCCESS; i++)
        err = MPI_Put(x->send_image + x->sdispls[i], x->sendcounts[i], MPI_BYTE,
                      i, r->there[i], x->sendcounts[i], MPI_BYTE, r->window);
    if (err == MPI_SUCCESS)
        err = MPI_Win_fence(MPI_MODE_NOSUCCEED, r->window);
    return err != MPI_SUCCESS ? err : go_up(r, x);
}

static int rma_free(runner *r)
{
    free(r->there);
    r->there = NULL;
    return MPI_Win_free(&r->window);
}

/* ---- bare copies --------------------------------------------------------- */

static int copy_init(runner *r, const exchange *x)
{
    r->source = bench_calloc(x->recv_capacity, 1);
    return MPI_SUCCESS;
}

static int copy_run(runner *r, const exchange *x)
{
    for (int i = 0; i < x->P; i++)
        memcpy(x->recv_image + x->rdispls[i], r->source + x->rdispls[i],
               (size_t)x->recvcounts[i]);
    return exchange_from_host(x);
}

static int copy_exchange_run(runner *r, const exchange *x)
{
    for (int i = 0; i < x->P; i++) {
        x->found_counts[i] = x->recvcounts[i];
        x->found_displs[i] = x->rdispls[i] - x->rdispls[0];
    }
    return copy_run(r, x);
}

static int copy_free(runner *r)
{
    free(r->source);
    r->source = NULL;
    return MPI_SUCCESS;
}

static void copy_refresh(runner *r, const exchange *x, uint64_t stamp)
{
    exchange_fill_expected(x, stamp, r->source);
}

static int once_init(runner *r, const exchange *x)
{
    r->once = read_once_create(x);
    return r->once ? MPI_SUCCESS : MPI_ERR_COMM;
}

static int once_run(runner *r, const exchange *x)
{
    read_once_run(r->once, x);
    return MPI_SUCCESS;
}

static int once_free(runner *r)
{
    read_once_free(r->once);
    r->once = NULL;
    return MPI_SUCCESS;
}

/* Down what is sent, up what would be received. */
static int stage_init(runner *r, const exchange *x)
{
    void *source = NULL;
    const int err = x->mem->alloc_host(x->recv_capacity, &source);

    r->source = source;
    return err;
}

static int stage_run(runner *r, const exchange *x)
{
    exchange own = *x;
    const int err = go_down(r, x);

    own.recv_image = r->source;
    return err != MPI_SUCCESS ? err : go_up(r, &own);
}

static int stage_free(runner *r)
{
    void *source = r->source;

    return r->mem->free_host(&source);
}

/* Within the device. */
static int device_init(runner *r, const exchange *x)
{
    void *source = NULL;
    const int err = x->mem->alloc(x->recv_capacity, x->comm, &source);

    r->source = source;
    return err;
}

static int device_run(runner *r, const exchange *x)
{
    return x->mem->copy(x->recvbuf, r->source, x->recv_extent);
}

static int device_free(runner *r)
{
    void *source = r->source;

    return r->mem->free(&source);
}

static void device_refresh(runner *r, const exchange *x, uint64_t stamp)
{
    exchange_fill_expected(x, stamp, x->recv_image);
    bench_must(x->mem->copy(r->source, x->recv_image, x->recv_extent),
               "buffers");
}

/* ---- rota ---------------------------------------------------------------- */

static int fixed_init(runner *r, const exchange *x)
{
    return rota_alltoallv_init(x->sendbuf, x->sendcounts, x->sdispls, MPI_BYTE,
                               x->recvbuf, x->recvcounts, x->rdispls, MPI_BYTE,
                               x->comm, r->info, &r->plan);
}

/* In the published form of some algorithms every call finds the largest block of
 * all ranks first. */
static int find_largest(const runner *r, const exchange *x)
{
    int largest = 0;

    if (strcmp(r->spec->name, "parlogna_published") != 0)
        return MPI_SUCCESS;
    for (int i = 0; i < x->P; i++)
        largest = x->sendcounts[i] > largest ? x->sendcounts[i] : largest;
    return MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_INT, MPI_MAX, x->comm);
}

static int fixed_run(runner *r, const exchange *x)
{
    int err = find_largest(r, x);

    if (err == MPI_SUCCESS)
        err = rota_start(r->plan);
    return err != MPI_SUCCESS ? err : rota_wait(r->plan);
}

static int varying_init(runner *r, const exchange *x)
{
    return rota_alltoallv_varying_init(x->max_block, MPI_BYTE, x->comm, r->info,
                                       &r->plan);
}

static int varying_run(runner *r, const exchange *x)
{
    int err = find_largest(r, x);

    if (err == MPI_SUCCESS)
        err =
            rota_alltoallv_start(r->plan, x->sendbuf, x->sendcounts, x->sdispls,
                                 x->recvbuf, x->recvcounts, x->rdispls);
    return err != MPI_SUCCESS ? err : rota_wait(r->plan);
}

/* Blocks go where those of the other rows go, not into a buffer of the plan. */
static int exchange_init(runner *r, const exchange *x)
{
    const int err =
        rota_exchange_init(x->max_block, MPI_BYTE, x->comm, r->info, &r->plan);

    return err != MPI_SUCCESS
               ? err
               : rota_exchange_set_buffer(r->plan, exchange_packed(x->recvbuf),
                                          exchange_packed_room(x));
}

static int exchange_run(runner *r, const exchange *x)
{
    const int err =
        rota_exchange_start(r->plan, x->sendbuf, x->sendcounts, x->sdispls);
    void *recvbuf; /* known */

    return err != MPI_SUCCESS
               ? err
               : rota_exchange_wait(r->plan, &recvbuf, x->found_counts,
                                    x->found_displs);
}

static int plan_free(runner *r)
{
    return rota_plan_free(&r->plan);
}

/* ---- the table ----------------------------------------------------------- */

/* A row of leaders.c; what follows the name are keys. */
#define PUBLISHED(name_, ...)                                                  \
    {                                                                          \
        .name = (name_), .kinds = KIND_FIXED, .window = true,                  \
        .keys = {__VA_ARGS__}, .has_init = true, .init = leaders_init,         \
        .run = leaders_run, .free = leaders_free                               \
    }

/* First match wins. */
static const runner_ops runner_table[] = {
    {.name = "mpi", .kinds = KIND_FIXED | KIND_VARYING, .run = mpi_run},
    {.name = "mpi", .kinds = KIND_EXCHANGE, .run = mpi_exchange_run},
    {.name = "mpi_naive",
     .kinds = KIND_FIXED | KIND_VARYING,
     .device = true,
     .run = naive_run},
    {.name = "mpi_persistent",
     .kinds = KIND_FIXED,
     .unavailable = PERSISTENT_UNAVAILABLE,
     .has_init = true,
     .init = persistent_init,
     .run = persistent_run,
     .free = persistent_free},
    {.name = "mpi_rma",
     .kinds = KIND_FIXED,
     .has_init = true,
     .init = rma_init,
     .run = rma_run,
     .free = rma_free},
    {.name = "mpi_nbx",
     .kinds = KIND_EXCHANGE,
     .init = nbx_init,
     .run = nbx_run,
     .free = nbx_free},
    {.name = "sparse",
     .kinds = KIND_EXCHANGE,
     .has_init = true,
     .init = sparse_init,
     .run = sparse_run,
     .free = sparse_free},
    {.name = "copy_bound",
     .kinds = KIND_FIXED | KIND_VARYING,
     .init = copy_init,
     .run = copy_run,
     .free = copy_free,
     .refresh = copy_refresh},
    {.name = "copy_bound",
     .kinds = KIND_EXCHANGE,
     .init = copy_init,
     .run = copy_exchange_run,
     .free = copy_free,
     .refresh = copy_refresh},
    {.name = "read_bound",
     .kinds = KIND_FIXED,
     .window = true,
     .init = once_init,
     .run = once_run,
     .free = once_free},
    {.name = "stage_bound",
     .kinds = KIND_FIXED | KIND_VARYING,
     .device = true,
     .init = stage_init,
     .run = stage_run,
     .free = stage_free,
     .refresh = copy_refresh},
    {.name = "device_bound",
     .kinds = KIND_FIXED | KIND_VARYING,
     .device = true,
     .init = device_init,
     .run = device_run,
     .free = device_free,
     .refresh = device_refresh},
    PUBLISHED("l_a2a_published", "node_size"),
    PUBLISHED("mpml_published", "node_size", "leaders"),
    PUBLISHED("nmpml_published", "node_size", "leaders"),
    PUBLISHED("onmpml_published", "node_size", "leaders"),
    {.kinds = KIND_FIXED,
     .has_init = true,
     .init = fixed_init,
     .run = fixed_run,
     .free = plan_free},
    {.kinds = KIND_VARYING,
     .has_init = true,
     .init = varying_init,
     .run = varying_run,
     .free = plan_free},
    {.kinds = KIND_EXCHANGE,
     .has_init = true,
     .init = exchange_init,
     .run = exchange_run,
     .free = plan_free},
};

enum { N_RUNNERS = sizeof runner_table / sizeof *runner_table };

/* The row of this kind; where there is none, a row of the name; else NULL. */
static const runner_ops *find_row(const char *name, bench_kind kind)
{
    const runner_ops *named = NULL;

    for (int i = 0; i < N_RUNNERS; i++) {
        const runner_ops *row = &runner_table[i];

        if (row->name == NULL ? named != NULL : strcmp(row->name, name) != 0)
            continue;
        if (row->kinds & (int)kind)
            return row;
        if (row->name != NULL)
            named = row;
    }
    return named;
}

static bool has_key(const runner_ops *row, const char *key)
{
    for (int i = 0; i < RUNNER_KEYS && row->keys[i] != NULL; i++)
        if (strcmp(row->keys[i], key) == 0)
            return true;
    return false;
}

/* Whole numbers from 1, of what the row has keys for. */
static bool takes_params(const runner_ops *row, const algo_spec *spec)
{
    char copy[sizeof spec->params], *rest = copy, *key, *value;

    strcpy(copy, spec->params);
    while (spec_next_param(&rest, &key, &value))
        if (!has_key(row, key) || value == NULL ||
            strspn(value, "0123456789") != strlen(value) || atoi(value) < 1)
            return false;
    return true;
}

const runner_ops *runners_find(const algo_spec *spec, bench_kind kind,
                               const bench_mem *mem, char *error, size_t errlen)
{
    const runner_ops *row = find_row(spec->name, kind);

    if (row == NULL || !(row->kinds & (int)kind)) {
        snprintf(error, errlen, "algorithm '%s' is not for this --kind",
                 spec->name);
        return NULL;
    }
    if (row->device && mem->copy == NULL) {
        snprintf(error, errlen, "algorithm '%s' is for memory of a device",
                 spec->name);
        return NULL;
    }
    if (row->window && mem->reach == NULL) {
        snprintf(error, errlen, "algorithm '%s' is for --mem window",
                 spec->name);
        return NULL;
    }
    if (row->unavailable != NULL) {
        snprintf(error, errlen,
                 "algorithm '%s' is not available in this build: %s",
                 spec->name, row->unavailable);
        return NULL;
    }
    if (row->name != NULL && !takes_params(row, spec)) {
        snprintf(error, errlen, "algorithm '%s' does not take '%s'", spec->name,
                 spec->params);
        return NULL;
    }
    return row;
}

const char *runners_default(bench_kind kind)
{
#if MPI_VERSION >= 4
    if (kind == KIND_FIXED)
        return "auto,mpi,mpi_persistent";
#else
    (void)kind;
#endif
    return "auto,mpi";
}

void runners_help(FILE *out)
{
    fprintf(
        out,
        "  mpi             MPI_Alltoallv; with --kind exchange first\n"
        "                  MPI_Alltoall of the counts\n"
        "  mpi_persistent  MPI_Alltoallv_init, timed from start to wait\n"
        "                  (MPI 4, --kind fixed)\n"
        "  mpi_rma         MPI_Put of every block between two MPI_Win_fence\n"
        "                  (--kind fixed)\n"
        "  mpi_nbx         nonblocking consensus by MPI_Issend, MPI_Iprobe "
        "and\n"
        "                  MPI_Ibarrier (--kind exchange)\n"
        "  sparse          Rota: a sparse exchange (--kind exchange)\n"
        "  l_a2a_published, mpml_published, nmpml_published, "
        "onmpml_published\n"
        "                  [Peng21] as published, whose leaders read and "
        "write\n"
        "                  the memory of their nodes (--kind fixed, --mem\n"
        "                  window); leaders=L (default 4), node_size=Q\n"
        "  copy_bound      no exchange, but a lower bound of one: after the\n"
        "                  barrier every rank copies as many bytes as it "
        "would\n"
        "                  receive, within its own memory, with memcpy\n"
        "  read_bound      with --mem window, on one node: a lower bound of\n"
        "                  exchanges that copy once: every rank copies what "
        "it\n"
        "                  receives from where its sender has written it\n"
        "                  With --mem cuda all of these use page-locked "
        "memory\n"
        "                  of the host, which is kept, between copies from "
        "and\n"
        "                  to the device.\n"
        "  mpi_naive       with --mem cuda: as mpi, in memory that is "
        "allocated\n"
        "                  and freed in every run\n"
        "  stage_bound     with --mem cuda: a lower bound of copies through "
        "the\n"
        "                  host, one of everything that is sent and one of\n"
        "                  everything that is received\n"
        "  device_bound    with --mem cuda: one copy on the device of "
        "everything\n"
        "                  that is received\n"
        "  auto            Rota: its own choice\n"
        "  rota_mpi        Rota: rota_algorithm=mpi, MPI's exchange through a\n"
        "                  plan (not --kind exchange)\n"
        "  any other NAME  Rota: rota_algorithm=NAME; a key is the hint\n"
        "                  rota_<key>, as in scattered:batch=8\n");
}

/* ---- life of a runner ---------------------------------------------------- */

/* A leading "rota_" reaches algorithms that share a name with a row above. */
static const char *algorithm_name(const char *name)
{
    return strncmp(name, "rota_", 5) == 0 ? name + 5 : name;
}

static void set_hint(runner *r, const char *key, const char *value)
{
    if (r->info == MPI_INFO_NULL)
        bench_must(MPI_Info_create(&r->info), "MPI_Info_create");
    bench_must(MPI_Info_set(r->info, key, value), "MPI_Info_set");
}

void runner_create(runner *r, const algo_spec *spec, bench_kind kind,
                   const bench_mem *mem)
{
    char error[256], copy[sizeof spec->params], *rest = copy, *key, *value;

    *r = (runner){.spec = spec,
                  .mem = mem,
                  .ops = runners_find(spec, kind, mem, error, sizeof error),
                  .info = MPI_INFO_NULL,
                  .request = MPI_REQUEST_NULL,
                  .part_us = {-1, -1, -1}};
    if (r->ops == NULL)
        bench_die("%s", error);
    if (r->ops->name == NULL && strcmp(spec->name, "auto") != 0)
        set_hint(r, "rota_algorithm", algorithm_name(spec->name));
    strcpy(copy, spec->params);
    while (spec_next_param(&rest, &key, &value)) {
        char hint[sizeof spec->params + sizeof "rota_"];

        snprintf(hint, sizeof hint, "rota_%s", key);
        set_hint(r, hint, value);
    }
}

void runner_destroy(runner *r)
{
    if (r->ops->free != NULL)
        bench_must(r->ops->free(r), r->spec->name);
    runner_abandon(r);
}

void runner_abandon(runner *r)
{
    if (r->info != MPI_INFO_NULL)
        bench_must(MPI_Info_free(&r->info), "MPI_Info_free");
}

/* ---- facts --------------------------------------------------------------- */

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

cJSON *plan_description(const rota_plan *plan)
{
    size_t size = 0, length = 1 << 14;
    char *text = NULL;
    cJSON *object;

    while (size < length) {
        size = length;
        free(text);
        text = bench_calloc(size, 1);
        bench_must(rota_plan_describe(plan, ROTA_DESCRIBE_JSON, text, &length),
                   "rota_plan_describe");
    }
    object = cJSON_Parse(text);
    if (object == NULL)
        bench_die("rota_plan_describe gave no JSON: %s", text);
    free(text);
    return object;
}

cJSON *runner_description(const runner *r)
{
    return plan_description(r->plan);
}

void runner_parts(const runner *r, double part_us[N_PARTS])
{
    static const char *const keys[N_PARTS] = {"last_down_us",
                                              "last_exchange_us", "last_up_us"};
    cJSON *object;

    memcpy(part_us, r->part_us, sizeof r->part_us);
    if (r->plan == NULL)
        return;
    object = runner_description(r);
    for (int i = 0; i < N_PARTS; i++)
        part_us[i] = number_of(object, keys[i]);
    cJSON_Delete(object);
}

void runner_describe(const runner *r, MPI_Comm comm, runner_facts *facts)
{
    static const char *const keys[] = {"rounds", "messages", "scratch_bytes"};
    enum { N = sizeof keys / sizeof *keys };
    double values[N] = {-1, -1, -1};

    if (r->plan != NULL) {
        cJSON *object = runner_description(r);

        for (int i = 0; i < N; i++)
            values[i] = number_of(object, keys[i]);
        cJSON_Delete(object);
    }
    bench_must(
        MPI_Allreduce(MPI_IN_PLACE, values, N, MPI_DOUBLE, MPI_MAX, comm),
        "MPI_Allreduce");
    *facts = (runner_facts){values[0], values[1], values[2]};
}
