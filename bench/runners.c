#include "runners.h"

#include "util.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* -- MPI ------------------------------------------------------------------ */

static int mpi_run(runner *r, const exchange *x)
{
    int err = exchange_to_host(x);

    (void)r;
    if (err == MPI_SUCCESS)
        err = MPI_Alltoallv(x->send_image, x->sendcounts, x->sdispls, MPI_BYTE,
                            x->recv_image, x->recvcounts, x->rdispls, MPI_BYTE,
                            x->comm);
    return err != MPI_SUCCESS ? err : exchange_from_host(x);
}

/* What a program does whose receivers know nothing. */
static int mpi_exchange_run(runner *r, const exchange *x)
{
    int err = exchange_to_host(x);

    (void)r;
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
    return err != MPI_SUCCESS ? err : exchange_from_host(x);
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
    int err = exchange_to_host(x);

    if (err == MPI_SUCCESS)
        err = MPI_Start(&r->request);
    if (err == MPI_SUCCESS)
        err = MPI_Wait(&r->request, MPI_STATUS_IGNORE);
    return err != MPI_SUCCESS ? err : exchange_from_host(x);
}

static int persistent_free(runner *r)
{
    return MPI_Request_free(&r->request);
}

/* -- one-sided messages of MPI -------------------------------------------- */

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
    int err = exchange_to_host(x);

    if (err == MPI_SUCCESS)
        err = MPI_Win_fence(MPI_MODE_NOPRECEDE, r->window);
    for (int i = 0; i < x->P && err == MPI_SUCCESS; i++)
        err = MPI_Put(x->send_image + x->sdispls[i], x->sendcounts[i], MPI_BYTE,
                      i, r->there[i], x->sendcounts[i], MPI_BYTE, r->window);
    if (err == MPI_SUCCESS)
        err = MPI_Win_fence(MPI_MODE_NOSUCCEED, r->window);
    return err != MPI_SUCCESS ? err : exchange_from_host(x);
}

static int rma_free(runner *r)
{
    free(r->there);
    r->there = NULL;
    return MPI_Win_free(&r->window);
}

/* -- a bare copy ---------------------------------------------------------- */

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

/* -- rota ----------------------------------------------------------------- */

static int fixed_init(runner *r, const exchange *x)
{
    return rota_alltoallv_init(x->sendbuf, x->sendcounts, x->sdispls, MPI_BYTE,
                               x->recvbuf, x->recvcounts, x->rdispls, MPI_BYTE,
                               x->comm, r->info, &r->plan);
}

static int fixed_run(runner *r, const exchange *x)
{
    const int err = rota_start(r->plan);

    (void)x;
    return err != MPI_SUCCESS ? err : rota_wait(r->plan);
}

static int varying_init(runner *r, const exchange *x)
{
    return rota_alltoallv_varying_init(x->max_block, MPI_BYTE, x->comm, r->info,
                                       &r->plan);
}

static int varying_run(runner *r, const exchange *x)
{
    const int err =
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

/* -- the table ------------------------------------------------------------ */

/* First match wins. */
static const runner_ops runner_table[] = {
    {"mpi", KIND_FIXED | KIND_VARYING, NULL, false, NULL, mpi_run, NULL, NULL},
    {"mpi", KIND_EXCHANGE, NULL, false, NULL, mpi_exchange_run, NULL, NULL},
    {"mpi_persistent", KIND_FIXED, PERSISTENT_UNAVAILABLE, true,
     persistent_init, persistent_run, persistent_free, NULL},
    {"mpi_rma", KIND_FIXED, NULL, true, rma_init, rma_run, rma_free, NULL},
    {"copy_bound", KIND_FIXED | KIND_VARYING, NULL, false, copy_init, copy_run,
     copy_free, copy_refresh},
    {"copy_bound", KIND_EXCHANGE, NULL, false, copy_init, copy_exchange_run,
     copy_free, copy_refresh},
    {NULL, KIND_FIXED, NULL, true, fixed_init, fixed_run, plan_free, NULL},
    {NULL, KIND_VARYING, NULL, true, varying_init, varying_run, plan_free,
     NULL},
    {NULL, KIND_EXCHANGE, NULL, true, exchange_init, exchange_run, plan_free,
     NULL},
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

const runner_ops *runners_find(const algo_spec *spec, bench_kind kind,
                               char *error, size_t errlen)
{
    const runner_ops *row = find_row(spec->name, kind);

    if (row == NULL || !(row->kinds & (int)kind)) {
        snprintf(error, errlen, "algorithm '%s' is not for this --kind",
                 spec->name);
        return NULL;
    }
    if (row->unavailable != NULL) {
        snprintf(error, errlen,
                 "algorithm '%s' is not available in this build: %s",
                 spec->name, row->unavailable);
        return NULL;
    }
    if (row->name != NULL && spec->params[0] != '\0') {
        snprintf(error, errlen, "algorithm '%s' takes no parameters",
                 spec->name);
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
        "  mpi             MPI_Alltoallv; for --kind exchange MPI_Alltoall of "
        "the counts,\n"
        "                  displacements from them, MPI_Alltoallv\n"
        "  mpi_persistent  MPI_Alltoallv_init, timed from start to wait (needs "
        "MPI 4,\n"
        "                  --kind fixed)\n"
        "  mpi_rma         MPI_Put of every block between two MPI_Win_fence "
        "(--kind fixed)\n"
        "  copy_bound      no exchange but a lower bound of one: after the "
        "barrier every\n"
        "                  rank copies as many bytes as it would receive, from "
        "memory of\n"
        "                  its own, with memcpy\n"
        "                  With --mem cuda all of these work in memory of the "
        "host, between\n"
        "                  copies from and to the device\n"
        "  auto            rota, its own choice\n"
        "  rota_mpi        rota, rota_algorithm=mpi: MPI's exchange through a "
        "plan (not for\n"
        "                  --kind exchange)\n"
        "  any other NAME  rota, rota_algorithm=NAME; a key is the hint "
        "rota_<key>, as in\n"
        "                  scattered:batch=8\n");
}

/* -- life of a runner ----------------------------------------------------- */

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

void runner_create(runner *r, const algo_spec *spec, bench_kind kind)
{
    char error[256], copy[sizeof spec->params], *rest = copy, *key, *value;

    *r = (runner){.spec = spec,
                  .ops = runners_find(spec, kind, error, sizeof error),
                  .info = MPI_INFO_NULL,
                  .request = MPI_REQUEST_NULL};
    if (r->ops == NULL)
        bench_die("%s", error);
    if (r->ops->name == NULL && strcmp(spec->name, "auto") != 0)
        set_hint(r, "rota_algorithm", algorithm_name(spec->name));
    strcpy(copy, spec->params);
    while (options_next_param(&rest, &key, &value)) {
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

/* -- facts ---------------------------------------------------------------- */

static double number_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

    return cJSON_IsNumber(item) ? item->valuedouble : -1;
}

cJSON *runner_description(const runner *r)
{
    size_t length = 0;
    char *text;
    cJSON *object;

    bench_must(rota_plan_describe(r->plan, ROTA_DESCRIBE_JSON, NULL, &length),
               "rota_plan_describe");
    text = bench_calloc(length, 1);
    bench_must(rota_plan_describe(r->plan, ROTA_DESCRIBE_JSON, text, &length),
               "rota_plan_describe");
    object = cJSON_Parse(text);
    if (object == NULL)
        bench_die("rota_plan_describe gave no JSON: %s", text);
    free(text);
    return object;
}

void runner_describe(const runner *r, MPI_Comm comm, runner_facts *facts)
{
    static const char *const keys[] = {"rounds",           "messages",
                                       "scratch_bytes",    "last_down_us",
                                       "last_exchange_us", "last_up_us"};
    enum { N = sizeof keys / sizeof *keys };
    double values[N] = {-1, -1, -1, -1, -1, -1};

    if (r->plan != NULL) {
        cJSON *object = runner_description(r);

        for (int i = 0; i < N; i++)
            values[i] = number_of(object, keys[i]);
        cJSON_Delete(object);
    }
    bench_must(
        MPI_Allreduce(MPI_IN_PLACE, values, N, MPI_DOUBLE, MPI_MAX, comm),
        "MPI_Allreduce");
    *facts = (runner_facts){values[0], values[1], values[2],
                            values[3], values[4], values[5]};
}
