/* attack.c - each error that rota.h promises, of each function, made by one rank,
 * by some, or by all, with rota_check on and off.
 *
 * usage: attack [--table]
 *
 * A collective function must return the class on all ranks if one of them is
 * wrong, a local one on those that are; and then a plan on the same communicator
 * must move right data, and a plan that the attack was on go on. With --table rank
 * 0 prints what was tried, how often, and what came of it (docs/attacks.md).
 */
#include "attack.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- making plans -------------------------------------------------------- */

static int init(const fixture *f, const making *m)
{
    return rota_alltoallv_init(
        m->sendbuf, m->sendcounts, m->sdispls, m->sendtype, m->recvbuf,
        m->recvcounts, m->rdispls, m->recvtype, f->comm, f->info, m->plan);
}

#define ALL(name, spoil) MAKING(name, sound, init, spoil)

ALL(null_sendcounts, m.sendcounts = NULL)
ALL(null_sdispls, m.sdispls = NULL)
ALL(null_recvcounts, m.recvcounts = NULL)
ALL(null_rdispls, m.rdispls = NULL)
ALL(null_plan, m.plan = NULL)
ALL(null_sendbuf, m.sendbuf = NULL)
ALL(null_recvbuf, m.recvbuf = NULL)
ALL(recvbuf_in_place, m.recvbuf = MPI_IN_PLACE)
ALL(in_place_apart, m.sendbuf = MPI_IN_PLACE)
ALL(null_sendtype, m.sendtype = MPI_DATATYPE_NULL)
ALL(null_recvtype, m.recvtype = MPI_DATATYPE_NULL)
ALL(uncommitted, m.recvtype = f->raw)
ALL(negative_sendcount, f->count[test_P - 1] = -1)
ALL(negative_recvcount, f->rcount[0] = -1)
ALL(one_less, f->count[0]--)
ALL(blocks_overlap, f->rdispl[test_P - 1] = f->rdispl[0] + N - 1)
ALL(buffers_overlap, m.recvbuf = f->send + 1)
ALL(unknown_hint, MPI_Info_set(f->info, "rota_nonsense", "1"))
ALL(bad_value, MPI_Info_set(f->info, "rota_batch", "none"))
ALL(other_hint, MPI_Info_set(f->info, "rota_batch", "3"))
ALL(null_comm, f->comm = MPI_COMM_NULL)

static int beyond_memory(fixture *f, bool wrong)
{
    MPI_Datatype type = MPI_INT;

    for (int q = 0; wrong && q < test_P; q++)
        f->count_c[q] = LLONG_MAX / 2;
    return rota_alltoallv_init_c(f->send, f->count_c, f->displ_c, type, f->recv,
                                 f->count_c, f->displ_c, type, f->comm, f->info,
                                 &f->made);
}

static int uniform_negative(fixture *f, bool wrong)
{
    return rota_alltoall_init(f->send, wrong ? -1 : N, MPI_INT, f->recv, N,
                              MPI_INT, f->comm, f->info, &f->made);
}

static int uniform_null(fixture *f, bool wrong)
{
    return rota_alltoall_init_c(wrong ? NULL : f->send, N, MPI_INT, f->recv, N,
                                MPI_INT, f->comm, f->info, &f->made);
}

static int uniform_less(fixture *f, bool wrong)
{
    return rota_alltoall_init(f->send, wrong ? N - 1 : N, MPI_INT, f->recv, N,
                              MPI_INT, f->comm, f->info, &f->made);
}

static int varying_type(fixture *f, bool wrong)
{
    return rota_alltoallv_varying_init(64, wrong ? MPI_DATATYPE_NULL : MPI_INT,
                                       f->comm, f->info, &f->made);
}

static int varying_raw(fixture *f, bool wrong)
{
    return rota_alltoallv_varying_init(64, wrong ? f->raw : MPI_INT, f->comm,
                                       f->info, &f->made);
}

static int varying_bound(fixture *f, bool wrong)
{
    return rota_alltoallv_varying_init(wrong ? 65 : 64, MPI_INT, f->comm,
                                       f->info, &f->made);
}

static int varying_size(fixture *f, bool wrong)
{
    return rota_alltoallv_varying_init(64, wrong ? MPI_DOUBLE : MPI_INT,
                                       f->comm, f->info, &f->made);
}

static int other_kind(fixture *f, bool wrong)
{
    return wrong ? rota_exchange_init(64, MPI_INT, f->comm, f->info, &f->made)
                 : rota_alltoallv_varying_init(64, MPI_INT, f->comm, f->info,
                                               &f->made);
}

static int exchange_type(fixture *f, bool wrong)
{
    return rota_exchange_init(64, wrong ? MPI_DATATYPE_NULL : MPI_INT, f->comm,
                              f->info, &f->made);
}

static int exchange_null(fixture *f, bool wrong)
{
    return rota_exchange_init(64, MPI_INT, f->comm, f->info,
                              wrong ? NULL : &f->made);
}

/* ---- running them -------------------------------------------------------- */

static void *found;
static int flag;
static size_t length;
static char text[20000];

static int describe(const rota_plan *p, int format, char *to, bool with_length)
{
    length = sizeof text;
    return rota_plan_describe(p, format, to, with_length ? &length : NULL);
}

static int start_v(const fixture *f, rota_plan *p, const int *counts,
                   const int *displs, const void *send, void *recv)
{
    return rota_alltoallv_start(p, send, counts, displs, recv, f->rcount,
                                f->rdispl);
}

static int negative_start(fixture *f, bool wrong)
{
    if (wrong)
        f->count[0] = -5;
    return wrong ? start_v(f, f->varying, f->count, f->displ, f->send, f->recv)
                 : MPI_SUCCESS;
}

static int own_start(fixture *f, bool wrong)
{
    if (wrong)
        f->count[test_me]--;
    return wrong ? start_v(f, f->varying, f->count, f->displ, f->send, f->recv)
                 : MPI_SUCCESS;
}

static int negative_exchange(fixture *f, bool wrong)
{
    if (wrong)
        f->count[0] = INT_MIN;
    return wrong ? rota_exchange_start(f->exchange, f->send, f->count, f->displ)
                 : MPI_SUCCESS;
}

static int beyond_start_c(fixture *f, bool wrong)
{
    if (wrong)
        f->count_c[0] = LLONG_MAX / 2;
    return wrong ? rota_exchange_start_c(f->exchange, f->send, f->count_c,
                                         f->displ_c)
                 : MPI_SUCCESS;
}

/* The plan keeps its blocks, for the buffer that it had before. */
static int no_room(fixture *f, bool wrong)
{
    if (!wrong)
        return MPI_SUCCESS;
    MUST(rota_exchange_set_buffer(f->exchange, f->recv, 1));
    const int err = rota_exchange_wait(f->exchange, &found, NULL, NULL);
    MUST(rota_exchange_set_buffer(f->exchange, NULL, 0));
    return err;
}

LOCAL(start_null, rota_start(NULL))
LOCAL(start_active, rota_start(f->fixed))
LOCAL(start_varying, rota_start(f->varying))
LOCAL(startall_negative, rota_startall(-1, &f->fixed))
LOCAL(startall_null, rota_startall(1, NULL))
LOCAL(startall_active, rota_startall(1, &f->fixed))
LOCAL(v_null, start_v(f, NULL, f->count, f->displ, f->send, f->recv))
LOCAL(v_fixed, start_v(f, f->fixed, f->count, f->displ, f->send, f->recv))
LOCAL(v_arrays, start_v(f, f->varying, NULL, f->displ, f->send, f->recv))
LOCAL(v_displs, start_v(f, f->varying, f->count, NULL, f->send, f->recv))
LOCAL(v_buffer, start_v(f, f->varying, f->count, f->displ, NULL, f->recv))
LOCAL(v_to_null, start_v(f, f->varying, f->count, f->displ, f->send, NULL))
LOCAL(v_in_place,
      start_v(f, f->varying, f->count, f->displ, f->send, MPI_IN_PLACE))
LOCAL(v_overlap, start_v(f, f->varying, f->count, f->displ, f->send, f->send))
LOCAL(x_null, rota_exchange_start(NULL, f->send, f->count, f->displ))
LOCAL(x_fixed, rota_exchange_start(f->fixed, f->send, f->count, f->displ))
LOCAL(x_arrays, rota_exchange_start(f->exchange, f->send, NULL, f->displ))
LOCAL(x_buffer, rota_exchange_start(f->exchange, NULL, f->count, f->displ))
LOCAL(x_in_place,
      rota_exchange_start(f->exchange, MPI_IN_PLACE, f->count, f->displ))
LOCAL(x_active, rota_exchange_start(f->exchange, f->send, f->count, f->displ))
LOCAL(x_wait_null, rota_exchange_wait(NULL, &found, NULL, NULL))
LOCAL(x_wait_inactive, rota_exchange_wait(f->exchange, &found, NULL, NULL))
LOCAL(x_wait_fixed, rota_exchange_wait(f->fixed, &found, NULL, NULL))
LOCAL(x_wait_to_null, rota_exchange_wait(f->exchange, NULL, NULL, NULL))
LOCAL(x_pready, rota_pready(f->fixed, 0))
LOCAL(x_pready_range, rota_pready_range(NULL, 0, 0))
LOCAL(x_pready_list, rota_pready_list(f->fixed, 1, NULL))
LOCAL(x_parrived, rota_parrived(f->fixed, 0, &flag))
LOCAL(x_wait_arrival, rota_wait_arrival(NULL, NULL))
LOCAL(x_partitioned, rota_plan_set_partitioned(f->exchange))
static int pack_nothing(void *context, int dest, MPI_Count begin, MPI_Count end,
                        void *to)
{
    (void)context;
    (void)dest;
    (void)begin;
    (void)end;
    (void)to;
    return 0;
}
LOCAL(x_pack, rota_plan_set_pack(f->exchange, pack_nothing, NULL, NULL))
LOCAL(x_pack_null, rota_plan_set_pack(NULL, pack_nothing, NULL, NULL))
LOCAL(x_borrow_wait, rota_exchange_wait_borrow(f->exchange, NULL, NULL))
LOCAL(x_borrow_wait_c, rota_exchange_wait_borrow_c(NULL, NULL, NULL))
LOCAL(x_borrow_sendbuf, rota_exchange_get_sendbuf(f->exchange, 1, &found))
LOCAL(x_wait_c_null, rota_exchange_wait_c(f->exchange, NULL, NULL, NULL))
LOCAL(v_c_arrays, rota_alltoallv_start_c(f->varying, f->send, NULL, f->displ_c,
                                         f->recv, f->count_c, f->displ_c))
LOCAL(x_c_arrays, rota_exchange_start_c(f->exchange, f->send, f->count_c, NULL))
LOCAL(x_set_null, rota_exchange_set_buffer(NULL, f->recv, 4))
LOCAL(x_set_fixed, rota_exchange_set_buffer(f->fixed, f->recv, 4))
LOCAL(test_null, rota_test(NULL, &flag))
LOCAL(test_no_flag, rota_test(f->fixed, NULL))
LOCAL(wait_null, rota_wait(NULL))
LOCAL(wait_exchange, rota_wait(f->exchange))
LOCAL(waitall_negative, rota_waitall(-1, &f->fixed))
LOCAL(waitall_null, rota_waitall(1, NULL))
LOCAL(set_null, rota_plan_set_buffers(NULL, f->send, f->recv))
LOCAL(set_active, rota_plan_set_buffers(f->fixed, f->send, f->recv))
LOCAL(set_varying, rota_plan_set_buffers(f->varying, f->send, f->recv))
LOCAL(set_to_null, rota_plan_set_buffers(f->fixed, NULL, f->recv))
LOCAL(set_in_place, rota_plan_set_buffers(f->fixed, MPI_IN_PLACE, f->recv))
LOCAL(set_overlap, rota_plan_set_buffers(f->fixed, f->send, f->send + 1))
LOCAL(stream_null, rota_plan_set_stream(NULL, NULL))
LOCAL(stream_active, rota_plan_set_stream(f->fixed, NULL))
LOCAL(free_null, rota_plan_free(NULL))
LOCAL(free_active, rota_plan_free(&f->fixed))
LOCAL(describe_null, describe(NULL, 0, text, true))
LOCAL(describe_no_length, describe(f->fixed, 0, text, false))
LOCAL(describe_no_buffer, describe(f->fixed, 0, NULL, true))
LOCAL(describe_format, describe(f->fixed, 7, text, true))
LOCAL(class_to_null, rota_error_class(MPI_SUCCESS, NULL))

/* ---- memory and tuning --------------------------------------------------- */

static int alloc_to_null(fixture *f, bool wrong)
{
    void *memory = NULL;
    const int err =
        rota_mem_alloc(100, f->comm, f->info, wrong ? NULL : &memory);

    if (memory)
        rota_mem_free(&memory);
    return err;
}

static int alloc_too_much(fixture *f, bool wrong)
{
    void *memory = NULL;
    const int err =
        rota_mem_alloc(wrong ? (size_t)-1 / 4 : 100, f->comm, f->info, &memory);

    if (memory)
        rota_mem_free(&memory);
    return err;
}

static int alloc_hint(fixture *f, bool wrong)
{
    if (wrong)
        MPI_Info_set(f->info, "rota_intranode", "air");
    return alloc_to_null(f, false);
}

static int free_foreign(fixture *f, bool wrong)
{
    void *memory = f->send;

    return wrong ? rota_mem_free(&memory) : MPI_SUCCESS;
}

LOCAL(mem_free_null, rota_mem_free(NULL))

static int import_nothing(fixture *f, bool wrong)
{
    return wrong ? rota_tuning_import("/nowhere/at/all", f->comm)
                 : rota_tuning_import_string("{}", f->comm);
}

static int import_null(fixture *f, bool wrong)
{
    (void)wrong;
    return rota_tuning_import_string(NULL, f->comm);
}

static int import_words(fixture *f, bool wrong)
{
    (void)wrong;
    return rota_tuning_import_string("[1,2", f->comm);
}

static int export_nowhere(fixture *f, bool wrong)
{
    (void)wrong;
    return rota_tuning_export("/nowhere/at/all", f->comm);
}

LOCAL(import_no_comm, rota_tuning_import(NULL, MPI_COMM_NULL))
LOCAL(export_no_comm, rota_tuning_export(NULL, MPI_COMM_NULL))
LOCAL(export_string_no_comm,
      rota_tuning_export_string(MPI_COMM_NULL, text, &length))
LOCAL(export_to_null, rota_tuning_export_string(f->comm, NULL, NULL))
LOCAL(forget_null, rota_tuning_forget(MPI_COMM_NULL))

/* ---- the table ----------------------------------------------------------- */

#define V "rota_alltoallv_init"
static const attack attacks[] = {
    {V, "NULL sendcounts", MPI_ERR_ARG, COLLECTIVE, null_sendcounts},
    {V, "NULL sdispls", MPI_ERR_ARG, COLLECTIVE, null_sdispls},
    {V, "NULL recvcounts", MPI_ERR_ARG, COLLECTIVE, null_recvcounts},
    {V, "NULL rdispls", MPI_ERR_ARG, COLLECTIVE, null_rdispls},
    {V, "NULL plan", MPI_ERR_ARG, COLLECTIVE, null_plan},
    {V, "NULL sendbuf", MPI_ERR_BUFFER, COLLECTIVE, null_sendbuf},
    {V, "NULL recvbuf", MPI_ERR_BUFFER, COLLECTIVE, null_recvbuf},
    {V, "recvbuf in place", MPI_ERR_BUFFER, COLLECTIVE, recvbuf_in_place},
    {V, "in place on some ranks", MPI_ERR_ARG, COLLECTIVE | NOT_BY_ALL,
     in_place_apart},
    {V, "null sendtype", MPI_ERR_TYPE, COLLECTIVE, null_sendtype},
    {V, "null recvtype", MPI_ERR_TYPE, COLLECTIVE, null_recvtype},
    {V, "uncommitted type", MPI_ERR_TYPE, COLLECTIVE, uncommitted},
    {V, "negative sendcount", MPI_ERR_COUNT, COLLECTIVE, negative_sendcount},
    {V, "negative recvcount", MPI_ERR_COUNT, COLLECTIVE, negative_recvcount},
    {V, "counts that do not match", MPI_ERR_COUNT, COLLECTIVE | IF_CHECKED,
     one_less},
    {V, "receive blocks that overlap", MPI_ERR_ARG,
     COLLECTIVE | IF_CHECKED | TOGETHER, blocks_overlap},
    {V, "buffers that overlap", MPI_ERR_BUFFER, COLLECTIVE | IF_CHECKED,
     buffers_overlap},
    {V, "unknown hint", MPI_ERR_ARG, COLLECTIVE, unknown_hint},
    {V, "bad value of a hint", MPI_ERR_ARG, COLLECTIVE, bad_value},
    {V, "hints that differ", MPI_ERR_ARG, COLLECTIVE | NOT_BY_ALL, other_hint},
    {V, "null communicator", MPI_ERR_COMM, COLLECTIVE | BY_ALL, null_comm},
    {V "_c", "sizes beyond the address space", MPI_ERR_COUNT, COLLECTIVE,
     beyond_memory},
    {"rota_alltoall_init", "negative count", MPI_ERR_COUNT, COLLECTIVE,
     uniform_negative},
    {"rota_alltoall_init", "counts that do not match", MPI_ERR_COUNT,
     COLLECTIVE | IF_CHECKED, uniform_less},
    {"rota_alltoall_init_c", "NULL sendbuf", MPI_ERR_BUFFER, COLLECTIVE,
     uniform_null},
    {"rota_alltoallv_varying_init", "null type", MPI_ERR_TYPE, COLLECTIVE,
     varying_type},
    {"rota_alltoallv_varying_init", "uncommitted type", MPI_ERR_TYPE,
     COLLECTIVE, varying_raw},
    {"rota_alltoallv_varying_init", "bounds that differ", MPI_ERR_ARG,
     COLLECTIVE | NOT_BY_ALL, varying_bound},
    {"rota_alltoallv_varying_init", "sizes of type that differ", MPI_ERR_ARG,
     COLLECTIVE | NOT_BY_ALL, varying_size},
    {"rota_alltoallv_varying_init", "another function", MPI_ERR_ARG,
     COLLECTIVE | NOT_BY_ALL, other_kind},
    {"rota_exchange_init", "null type", MPI_ERR_TYPE, COLLECTIVE,
     exchange_type},
    {"rota_exchange_init", "NULL plan", MPI_ERR_ARG, COLLECTIVE, exchange_null},
    {"rota_start", "NULL", MPI_ERR_REQUEST, 0, start_null},
    {"rota_start", "active", MPI_ERR_REQUEST, ACTIVE, start_active},
    {"rota_start", "varying", MPI_ERR_REQUEST, 0, start_varying},
    {"rota_startall", "negative n", MPI_ERR_COUNT, 0, startall_negative},
    {"rota_startall", "NULL array", MPI_ERR_ARG, 0, startall_null},
    {"rota_startall", "active", MPI_ERR_REQUEST, ACTIVE, startall_active},
    {"rota_alltoallv_start", "NULL", MPI_ERR_REQUEST, 0, v_null},
    {"rota_alltoallv_start", "fixed", MPI_ERR_REQUEST, 0, v_fixed},
    {"rota_alltoallv_start", "NULL counts", MPI_ERR_ARG, 0, v_arrays},
    {"rota_alltoallv_start", "NULL displacements", MPI_ERR_ARG, 0, v_displs},
    {"rota_alltoallv_start", "NULL sendbuf", MPI_ERR_BUFFER, 0, v_buffer},
    {"rota_alltoallv_start", "NULL recvbuf", MPI_ERR_BUFFER, 0, v_to_null},
    {"rota_alltoallv_start", "recvbuf in place", MPI_ERR_BUFFER, 0, v_in_place},
    {"rota_alltoallv_start", "one buffer", MPI_ERR_BUFFER, IF_CHECKED,
     v_overlap},
    {"rota_alltoallv_start", "negative count", MPI_ERR_COUNT, 0,
     negative_start},
    {"rota_alltoallv_start", "own counts that differ", MPI_ERR_COUNT, 0,
     own_start},
    {"rota_alltoallv_start_c", "NULL counts", MPI_ERR_ARG, 0, v_c_arrays},
    {"rota_exchange_start", "NULL", MPI_ERR_REQUEST, 0, x_null},
    {"rota_exchange_start", "fixed", MPI_ERR_REQUEST, 0, x_fixed},
    {"rota_exchange_start", "active", MPI_ERR_REQUEST, ACTIVE, x_active},
    {"rota_exchange_start", "NULL counts", MPI_ERR_ARG, 0, x_arrays},
    {"rota_exchange_start", "NULL sendbuf", MPI_ERR_BUFFER, 0, x_buffer},
    {"rota_exchange_start", "in place", MPI_ERR_BUFFER, 0, x_in_place},
    {"rota_exchange_start", "negative count", MPI_ERR_COUNT, 0,
     negative_exchange},
    {"rota_exchange_start_c", "NULL displacements", MPI_ERR_ARG, 0, x_c_arrays},
    {"rota_exchange_start_c", "beyond the address space", MPI_ERR_COUNT, 0,
     beyond_start_c},
    {"rota_exchange_wait", "NULL", MPI_ERR_REQUEST, 0, x_wait_null},
    {"rota_exchange_wait", "not active", MPI_ERR_REQUEST, 0, x_wait_inactive},
    {"rota_exchange_wait", "fixed", MPI_ERR_REQUEST, ACTIVE, x_wait_fixed},
    {"rota_exchange_wait", "NULL recvbuf", MPI_ERR_ARG, ACTIVE, x_wait_to_null},
    {"rota_exchange_wait", "too small a buffer", MPI_ERR_BUFFER, ACTIVE,
     no_room},
    {"rota_exchange_wait_c", "NULL recvbuf", MPI_ERR_ARG, ACTIVE,
     x_wait_c_null},
    {"rota_plan_set_partitioned", "active", MPI_ERR_REQUEST, ACTIVE,
     x_partitioned},
    {"rota_plan_set_pack", "exchange", MPI_ERR_REQUEST, 0, x_pack},
    {"rota_plan_set_pack", "NULL", MPI_ERR_REQUEST, 0, x_pack_null},
    {"rota_pready", "not partitioned", MPI_ERR_REQUEST, ACTIVE, x_pready},
    {"rota_pready_range", "NULL", MPI_ERR_REQUEST, 0, x_pready_range},
    {"rota_pready_list", "NULL list", MPI_ERR_ARG, 0, x_pready_list},
    {"rota_parrived", "not partitioned", MPI_ERR_REQUEST, 0, x_parrived},
    {"rota_wait_arrival", "NULL", MPI_ERR_REQUEST, 0, x_wait_arrival},
    {"rota_exchange_get_sendbuf", "exchange", MPI_ERR_REQUEST, 0,
     x_borrow_sendbuf},
    {"rota_exchange_wait_borrow", "exchange", MPI_ERR_REQUEST, ACTIVE,
     x_borrow_wait},
    {"rota_exchange_wait_borrow_c", "NULL", MPI_ERR_REQUEST, 0,
     x_borrow_wait_c},
    {"rota_exchange_set_buffer", "NULL", MPI_ERR_REQUEST, 0, x_set_null},
    {"rota_exchange_set_buffer", "fixed", MPI_ERR_REQUEST, 0, x_set_fixed},
    {"rota_test", "NULL", MPI_ERR_REQUEST, 0, test_null},
    {"rota_test", "NULL flag", MPI_ERR_ARG, ACTIVE, test_no_flag},
    {"rota_wait", "NULL", MPI_ERR_REQUEST, 0, wait_null},
    {"rota_wait", "active exchange", MPI_ERR_REQUEST, ACTIVE, wait_exchange},
    {"rota_waitall", "negative n", MPI_ERR_COUNT, 0, waitall_negative},
    {"rota_waitall", "NULL array", MPI_ERR_ARG, 0, waitall_null},
    {"rota_plan_set_buffers", "NULL", MPI_ERR_REQUEST, 0, set_null},
    {"rota_plan_set_buffers", "active", MPI_ERR_REQUEST, ACTIVE, set_active},
    {"rota_plan_set_buffers", "varying", MPI_ERR_REQUEST, 0, set_varying},
    {"rota_plan_set_buffers", "NULL sendbuf", MPI_ERR_BUFFER, 0, set_to_null},
    {"rota_plan_set_buffers", "in place", MPI_ERR_BUFFER, 0, set_in_place},
    {"rota_plan_set_buffers", "buffers that overlap", MPI_ERR_BUFFER,
     IF_CHECKED, set_overlap},
    {"rota_plan_set_stream", "NULL", MPI_ERR_REQUEST, 0, stream_null},
    {"rota_plan_set_stream", "active", MPI_ERR_REQUEST, ACTIVE, stream_active},
    {"rota_plan_free", "NULL", MPI_ERR_ARG, 0, free_null},
    {"rota_plan_free", "active", MPI_ERR_REQUEST, ACTIVE, free_active},
    {"rota_plan_describe", "NULL", MPI_ERR_REQUEST, 0, describe_null},
    {"rota_plan_describe", "NULL len", MPI_ERR_ARG, 0, describe_no_length},
    {"rota_plan_describe", "NULL buf", MPI_ERR_ARG, ACTIVE, describe_no_buffer},
    {"rota_plan_describe", "unknown format", MPI_ERR_ARG, 0, describe_format},
    {"rota_mem_alloc", "NULL ptr", MPI_ERR_ARG, COLLECTIVE, alloc_to_null},
    {"rota_mem_alloc", "more than there is", MPI_ERR_NO_MEM, COLLECTIVE,
     alloc_too_much},
    {"rota_mem_alloc", "bad value of a hint", MPI_ERR_ARG, COLLECTIVE,
     alloc_hint},
    {"rota_mem_free", "NULL", MPI_ERR_ARG, 0, mem_free_null},
    {"rota_mem_free", "other memory", MPI_ERR_ARG, 0, free_foreign},
    {"rota_tuning_import", "no such file", MPI_ERR_ARG, COLLECTIVE | BY_ROOT,
     import_nothing},
    {"rota_tuning_import", "null communicator", MPI_ERR_COMM, BY_ALL,
     import_no_comm},
    {"rota_tuning_import_string", "NULL", MPI_ERR_ARG, COLLECTIVE | BY_ALL,
     import_null},
    {"rota_tuning_import_string", "no tuning", MPI_ERR_ARG, COLLECTIVE | BY_ALL,
     import_words},
    {"rota_tuning_export", "no such folder", MPI_ERR_ARG, COLLECTIVE | BY_ALL,
     export_nowhere},
    {"rota_tuning_export", "null communicator", MPI_ERR_COMM, BY_ALL,
     export_no_comm},
    {"rota_tuning_export_string", "null communicator", MPI_ERR_COMM, 0,
     export_string_no_comm},
    {"rota_tuning_export_string", "NULL len", MPI_ERR_ARG, 0, export_to_null},
    {"rota_tuning_forget", "null communicator", MPI_ERR_COMM, BY_ALL,
     forget_null},
    {"rota_error_class", "NULL", MPI_ERR_ARG, 0, class_to_null},
};
#undef V

/* ---- attacking ----------------------------------------------------------- */

typedef enum who { FIRST, LAST, EVERY_OTHER, ALL, N_WHO } who;

static bool is_wrong(who w, int rank)
{
    switch (w) {
    case FIRST:
        return rank == 0;
    case LAST:
        return rank == test_P - 1;
    case EVERY_OTHER:
        return rank % 2 == 1;
    default:
        return true;
    }
}

/* Is the attack of any use with these, of whom nobody or everybody may be wrong? */
static bool applies(const attack *a, who w, bool checked)
{
    int n = 0;

    for (int q = 0; q < test_P; q++)
        n += is_wrong(w, q);
    if (n == 0 || (a->flags & TOGETHER && test_P == 1) ||
        (a->flags & IF_CHECKED && !checked) ||
        (a->flags & BY_ROOT && !is_wrong(w, 0)))
        return false;
    return a->flags & BY_ALL ? n == test_P
                             : !(a->flags & NOT_BY_ALL) || n < test_P;
}

/* The arguments of calls, good again. */
static void fill(fixture *f, bool checked)
{
    f->comm = MPI_COMM_WORLD;
    f->ring = f->good_ring;
    f->to = (test_me + 1) % test_P;
    f->info = test_info("rota_check", checked ? "on" : "off", NULL, NULL);
    for (int q = 0; q < test_P || q < RING; q++) {
        f->count[q] = f->rcount[q] = N;
        f->displ[q] = f->rdispl[q] = q * N;
        f->at[q] = f->rat[q] = q * N * (int)sizeof(int);
        f->count_c[q] = f->rcount_c[q] = N;
        f->displ_c[q] = q * N;
        f->at_c[q] = f->rat_c[q] = f->at[q];
        f->type[q] = f->rtype[q] = MPI_INT;
    }
}

/* Block 0 goes to the next rank, and block 1 to the one before. */
static MPI_Comm make_ring(void)
{
    const int next = (test_me + 1) % test_P,
              last = (test_me + test_P - 1) % test_P;
    MPI_Comm ring;

    MUST(MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, RING, (int[RING]){last, next}, MPI_UNWEIGHTED, RING,
        (int[RING]){next, last}, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring));
    return ring;
}

static void open_fixture(fixture *f, bool checked)
{
    memset(f, 0, sizeof *f);
    f->good_ring = make_ring();
    for (int i = 0; i < MOST_RANKS * N; i++)
        f->send[i] = 1000 * test_me + i / N * 10 + i % N;
    fill(f, checked);
    MPI_Type_contiguous(1, MPI_INT, &f->raw);
    MUST(rota_alltoallv_init(f->send, f->count, f->displ, MPI_INT, f->to_fixed,
                             f->rcount, f->rdispl, MPI_INT, MPI_COMM_WORLD,
                             f->info, &f->fixed));
    MUST(rota_alltoallv_varying_init(ROTA_UNBOUNDED, MPI_INT, MPI_COMM_WORLD,
                                     f->info, &f->varying));
    MUST(
        rota_exchange_init(64, MPI_INT, MPI_COMM_WORLD, f->info, &f->exchange));
    attack_open_more(f);
    attack_open_arrays(f);
    MPI_Info_free(&f->info);
}

static void start_all(fixture *f, bool varying)
{
    memset(f->to_fixed, 0, sizeof f->to_fixed);
    memset(f->to_varying, 0, sizeof f->to_varying);
    MUST(rota_start(f->fixed));
    MUST(rota_exchange_start(f->exchange, f->send, f->count, f->displ));
    if (varying)
        MUST(
            start_v(f, f->varying, f->count, f->displ, f->send, f->to_varying));
    attack_start_more(f);
    attack_start_arrays(f);
}

static void check(const int *got)
{
    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < N; i++)
            CHECK(got[q * N + i] == 1000 * q + 10 * test_me + i);
}

static void finish_all(fixture *f, bool varying)
{
    void *blocks = NULL;

    attack_finish_more(f);
    attack_finish_arrays(f);
    MUST(rota_exchange_wait(f->exchange, &blocks, NULL, NULL));
    if (blocks)
        check(blocks);
    MUST(rota_wait(f->fixed));
    check(f->to_fixed);
    if (varying) {
        MUST(rota_wait(f->varying));
        check(f->to_varying);
    }
}

static void close_fixture(fixture *f)
{
    MUST(rota_plan_free(&f->fixed));
    MUST(rota_plan_free(&f->varying));
    MUST(rota_plan_free(&f->exchange));
    attack_close_more(f);
    attack_close_arrays(f);
    MPI_Type_free(&f->raw);
    MPI_Comm_free(&f->good_ring);
}

static void carry_out(fixture *f, const attack *a, who w)
{
    const bool wrong = is_wrong(w, test_me);
    const int err = a->call(f, wrong);

    if (wrong || a->flags & COLLECTIVE)
        MUST_FAIL(err, a->errorclass, "");
    else
        MUST(err);
    CHECK(f->made == NULL);
}

/* Then all must be as good as before. */
static void try(const attack *a, fixture *f, who w, bool checked)
{
    const bool active = a->flags & ACTIVE;

    fill(f, checked);
    if (active)
        start_all(f, false);
    carry_out(f, a, w);
    MPI_Info_free(&f->info);
    fill(f, checked);
    if (active)
        finish_all(f, false);
    start_all(f, true);
    finish_all(f, true);
    MPI_Info_free(&f->info);
}

/* Attack in all ways that there are; how many were they? */
static int try_all(const attack *a, fixture f[2])
{
    char name[100];
    int n = 0;

    snprintf(name, sizeof name, "%s: %s", a->function, a->what);
    test_case = name;
    for (int k = 0; k < 2 * N_WHO; k++)
        if (applies(a, (who)(k / 2), k % 2)) {
            try(a, &f[k % 2], (who)(k / 2), k % 2);
            n++;
        }
    test_case = "";
    return n;
}

static int attack_each(const attack *a, int n, fixture f[2], bool table)
{
    int all = 0;

    for (int i = 0; i < n; i++) {
        const int times = try_all(&a[i], f);
        all += times;
        if (table && test_me == 0)
            printf("| `%s` | %s | %d | %s |\n", a[i].function, a[i].what, times,
                   a[i].flags & COLLECTIVE ? "on all ranks" : "there");
    }
    return all;
}

int main(int argc, char **argv)
{
    enum { ATTACKS = sizeof attacks / sizeof attacks[0] };
    const bool table = argc > 1 && strcmp(argv[1], "--table") == 0;
    static fixture f[2]; /* rota_check off, on */

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    for (int k = 0; k < 2; k++)
        open_fixture(&f[k], k);
    int n = attack_each(attacks, ATTACKS, f, table);
    n += attack_each(attacks_on_more, n_attacks_on_more, f, table);
    n += attack_each(attacks_on_arrays, n_attacks_on_arrays, f, table);
    for (int k = 0; k < 2; k++)
        close_fixture(&f[k]);
    if (test_me == 0)
        printf("%d attacks\n", n);
    return test_end();
}
