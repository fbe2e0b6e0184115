/* types.c - derived datatypes, against one MPI message per pair.
 *
 * Send and receive maps differ: vectors, structs, resized types, negative
 * lower bounds, permuted and interleaved pieces. The whole receive buffer is
 * compared, holes included.
 */
#include "algos/algo.h"
#include "buffers.h"
#include "common/quick.h"
#include "harness.h"
#include "pattern.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every type here holds six ints. */
enum { INTS = 6, N_TYPES = 9, ROOM = 64 };

static const char *const type_name[N_TYPES] = {
    "contiguous", "vector", "struct",      "resized", "negative lb",
    "permuted",   "spread", "overlapping", "column",
};

static MPI_Datatype resized(MPI_Datatype old, MPI_Aint lb, MPI_Aint extent)
{
    MPI_Datatype type;

    MPI_Type_create_resized(old, lb, extent, &type);
    MPI_Type_free(&old);
    return type;
}

/* Elements of "overlapping" interleave: the next begins within this one. */
static MPI_Datatype make_type(int which)
{
    static const int lengths[3] = {1, 2, 3}, places[3] = {5, 2, 8};
    static const int ones[6] = {1, 1, 1, 1, 1, 1};
    static const int turned[6] = {5, 4, 3, 2, 1, 0};
    static const MPI_Aint bytes[3] = {-8, 4, 20};
    MPI_Datatype type, ints[3] = {MPI_INT, MPI_INT, MPI_INT};

    switch (which) {
    case 0:
        MPI_Type_contiguous(INTS, MPI_INT, &type);
        break;
    case 1:
        MPI_Type_vector(3, 2, 4, MPI_INT, &type);
        break;
    case 2:
        MPI_Type_create_struct(3, lengths, bytes, ints, &type);
        break;
    case 3:
        MPI_Type_contiguous(INTS, MPI_INT, &type);
        type = resized(type, 0, 40);
        break;
    case 4:
        MPI_Type_vector(2, 3, 5, MPI_INT, &type);
        type = resized(type, -12, 48);
        break;
    case 5: /* as long as its extent, but out of order */
        MPI_Type_indexed(6, ones, turned, MPI_INT, &type);
        break;
    case 6:
        MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
        break;
    case 7:
        MPI_Type_vector(6, 1, 2, MPI_INT, &type);
        type = resized(type, 0, 4);
        break;
    default: /* one column of a matrix of 8 columns */
        MPI_Type_vector(6, 1, 8, MPI_INT, &type);
        type = resized(type, 0, 4);
        break;
    }
    MPI_Type_commit(&type);
    return type;
}

typedef struct buffers {
    char *send, *recv, *reference;
    char *send_at, *recv_at, *reference_at;
    char *send_there, *recv_there; /* send and recv, as they are handed over */
    size_t bytes;
} buffers;

static buffers make_buffers(size_t bytes)
{
    static unsigned drawn;
    buffers b = {.bytes = bytes};

    b.send = malloc(bytes);
    b.recv = malloc(bytes);
    b.reference = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        b.send[i] = (char)payload(test_me, 99, i, 1);
    memset(b.recv, 0x5A, bytes);
    memset(b.reference, 0x5A, bytes);
    b.send_at = b.send + bytes / 4;
    b.recv_at = b.recv + bytes / 4;
    b.reference_at = b.reference + bytes / 4;
    b.send_there = test_buffer_make(b.send, bytes, drawn);
    b.recv_there = test_buffer_make(b.recv, bytes, drawn++ / 4);
    test_buffer_put(b.send_there, b.send, bytes);
    return b;
}

/* What is handed over for send_at and recv_at. */
static char *send_arg(const buffers *b)
{
    return b->send_there + (b->send_at - b->send);
}

static char *recv_arg(const buffers *b)
{
    test_buffer_put(b->recv_there, b->recv, b->bytes);
    return b->recv_there + (b->recv_at - b->recv);
}

static void free_buffers(buffers *b)
{
    test_buffer_free(b->send_there, b->send);
    test_buffer_free(b->recv_there, b->recv);
    free(b->send);
    free(b->recv);
    free(b->reference);
}

/* Elements from src to dst; columns allow one at a time only. */
static int count_of(int src, int dst, bool single)
{
    const int n = (src * 3 + dst * 5) % 4;

    return single ? n > 0 : n;
}

static void naive(const buffers *b, const int *scounts, const int *sdispls,
                  MPI_Datatype sendtype, const int *rcounts, const int *rdispls,
                  MPI_Datatype recvtype)
{
    MPI_Request request[2 * ROOM];
    MPI_Status status[2 * ROOM];
    MPI_Aint lb, sextent, rextent;

    MPI_Type_get_extent(sendtype, &lb, &sextent);
    MPI_Type_get_extent(recvtype, &lb, &rextent);
    for (int q = 0; q < test_P; q++) {
        MPI_Irecv(b->reference_at + rdispls[q] * rextent, rcounts[q], recvtype,
                  q, 7, MPI_COMM_WORLD, &request[2 * q]);
        MPI_Isend(b->send_at + sdispls[q] * sextent, scounts[q], sendtype, q, 7,
                  MPI_COMM_WORLD, &request[2 * q + 1]);
    }
    for (int done = 0; !done; sched_yield())
        MPI_Testall(2 * test_P, request, &done, status);
}

static void compare(const buffers *b, const char *what)
{
    test_buffer_get(b->recv, b->recv_there, b->bytes);
    if (memcmp(b->recv, b->reference, b->bytes) != 0)
        test_fail(__FILE__, __LINE__, "%s: receive buffer differs", what);
}

static void run(const rota_algo *algo, int from, int to)
{
    static char name[100];
    const bool single = to >= 7;
    MPI_Datatype sendtype = make_type(from), recvtype = make_type(to);
    MPI_Info info = test_info("rota_algorithm", algo->name, "rota_radix", "2");
    int scounts[ROOM], sdispls[ROOM], rcounts[ROOM], rdispls[ROOM];
    buffers b = make_buffers(1 << 14);
    rota_plan *plan = NULL;

    snprintf(name, sizeof name, "%s, %s to %s", algo->name, type_name[from],
             type_name[to]);
    test_case = name;
    for (int q = 0; q < test_P; q++) {
        scounts[q] = count_of(test_me, q, single);
        rcounts[q] = count_of(q, test_me, single);
        sdispls[q] = (test_P - 1 - q) * 4;
        /* columns lie next to each other, within each other's bounds */
        rdispls[q] = to == 8 ? q : to == 7 ? 12 * q : 4 * q + 1;
    }
    MUST(rota_alltoallv_init(send_arg(&b), scounts, sdispls, sendtype,
                             recv_arg(&b), rcounts, rdispls, recvtype,
                             MPI_COMM_WORLD, info, &plan));
    naive(&b, scounts, sdispls, sendtype, rcounts, rdispls, recvtype);
    MPI_Type_free(&sendtype);
    MPI_Type_free(&recvtype);
    for (int i = 0; plan && i < 2; i++) {
        memset(b.recv, 0x5A, b.bytes);
        test_buffer_put(b.recv_there, b.recv, b.bytes);
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        compare(&b, "fixed");
    }
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    free_buffers(&b);
}

/* In place with a type: what goes out is what was there. */
static void run_in_place(const rota_algo *algo, int which)
{
    MPI_Datatype type = make_type(which);
    int counts[ROOM], displs[ROOM];
    MPI_Info info = test_info("rota_algorithm", algo->name, NULL, NULL);
    buffers b = make_buffers(1 << 14);
    rota_plan *plan = NULL;

    test_case = algo->name;
    for (int q = 0; q < test_P; q++) {
        counts[q] = 2;
        displs[q] = 4 * q;
    }
    memcpy(b.recv, b.send, b.bytes);
    memcpy(b.reference, b.send, b.bytes);
    naive(&b, counts, displs, type, counts, displs, type);
    MUST(rota_alltoallv_init(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL,
                             recv_arg(&b), counts, displs, type, MPI_COMM_WORLD,
                             info, &plan));
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    compare(&b, "in place");
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    MPI_Type_free(&type);
    free_buffers(&b);
}

static void run_varying(const rota_algo *algo, int which)
{
    MPI_Datatype type = make_type(which);
    int scounts[ROOM], rcounts[ROOM], displs[ROOM];
    MPI_Info info = test_info("rota_algorithm", algo->name, NULL, NULL);
    rota_plan *plan = NULL;

    test_case = algo->name;
    MUST(rota_alltoallv_varying_init(100, type, MPI_COMM_WORLD, info, &plan));
    for (int i = 0; plan && i < 3; i++) {
        buffers b = make_buffers(1 << 14);
        for (int q = 0; q < test_P; q++) {
            scounts[q] = count_of(test_me + i, q, false);
            rcounts[q] = count_of(q + i, test_me, false);
            displs[q] = 4 * q;
        }
        naive(&b, scounts, displs, type, rcounts, displs, type);
        MUST(rota_alltoallv_start(plan, send_arg(&b), scounts, displs,
                                  recv_arg(&b), rcounts, displs));
        MUST(rota_wait(plan));
        compare(&b, "varying");
        free_buffers(&b);
    }
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    MPI_Type_free(&type);
}

/* ---- a type for each block ----------------------------------------------- */

/* Blocks of up to three elements, each at a place of its own. */
typedef struct blocks {
    int count[ROOM], displ[ROOM];
    MPI_Datatype type[ROOM];
} blocks;

enum { APART = 512 }; /* bytes from one block to the next */

static void make_blocks(blocks *b, bool receives, int first)
{
    for (int q = 0; q < test_P; q++) {
        b->count[q] = receives ? count_of(q, test_me, false)
                               : count_of(test_me, q, false);
        b->displ[q] = (test_P - 1 - q) * APART;
        /* Elements of the last two interleave. */
        const int n = receives && b->count[q] > 1 ? 7 : N_TYPES;
        const int which = (first + q * (receives ? 5 : 3)) % n;
        b->type[q] = MPI_DATATYPE_NULL; /* which is nobody's business */
        if (b->count[q] > 0)
            b->type[q] = make_type(which);
        /* Twice the same handle is one type. */
        if (q > 0 && q % 3 == 0 && b->count[q] > 0 &&
            b->count[q - 1] >= b->count[q]) {
            MPI_Type_free(&b->type[q]);
            b->type[q] = b->type[q - 1];
        }
    }
}

static void free_blocks(blocks *b)
{
    for (int q = 0; q < test_P; q++) {
        const MPI_Datatype mine = b->type[q];
        for (int k = q + 1; k < test_P; k++)
            if (b->type[k] == mine)
                b->type[k] = MPI_DATATYPE_NULL;
        if (mine != MPI_DATATYPE_NULL)
            MPI_Type_free(&b->type[q]);
    }
}

static void naive_each(const buffers *b, const blocks *s, const blocks *r)
{
    MPI_Request request[2 * ROOM];
    MPI_Status status[2 * ROOM];
    int n = 0;

    for (int q = 0; q < test_P; q++) {
        if (r->count[q] > 0)
            MPI_Irecv(b->reference_at + r->displ[q], r->count[q], r->type[q], q,
                      7, MPI_COMM_WORLD, &request[n++]);
        if (s->count[q] > 0)
            MPI_Isend(b->send_at + s->displ[q], s->count[q], s->type[q], q, 7,
                      MPI_COMM_WORLD, &request[n++]);
    }
    for (int done = 0; !done; sched_yield())
        MPI_Testall(n, request, &done, status);
}

static void start_each(rota_plan *plan, const buffers *b, const char *what)
{
    for (int i = 0; plan && i < 3; i++) {
        memset(b->recv, 0x5A, b->bytes);
        test_buffer_put(b->recv_there, b->recv, b->bytes);
        MUST(rota_start(plan));
        MUST(rota_wait(plan));
        compare(b, what);
    }
}

static void run_each(const rota_algo *algo, int first)
{
    static char name[100];
    MPI_Info info = test_info("rota_algorithm", algo->name, "rota_radix", "2");
    blocks s, r;
    buffers b = make_buffers(1 << 14);
    rota_plan *plan = NULL;

    snprintf(name, sizeof name, "%s, a type for each block, from %d on",
             algo->name, first);
    test_case = name;
    make_blocks(&s, false, first);
    make_blocks(&r, true, first + 4);
    MUST(rota_alltoallw_init(send_arg(&b), s.count, s.displ, s.type,
                             recv_arg(&b), r.count, r.displ, r.type,
                             MPI_COMM_WORLD, info, &plan));
    naive_each(&b, &s, &r);
    free_blocks(&s);
    free_blocks(&r);
    start_each(plan, &b, "a type for each block");
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    free_buffers(&b);
}

/* As many elements as of the block that is sent in its place. */
static void run_each_in_place(const rota_algo *algo, int first)
{
    MPI_Info info = test_info("rota_algorithm", algo->name, NULL, NULL);
    blocks r;
    buffers b = make_buffers(1 << 14);
    rota_plan *plan = NULL;

    test_case = algo->name;
    make_blocks(&r, true, first);
    free_blocks(&r);
    for (int q = 0; q < test_P; q++) {
        r.count[q] = algo->uniform ? 2 : (q + test_me) % 3;
        r.type[q] = make_type((first + test_me + q) % 7);
    }
    memcpy(b.recv, b.send, b.bytes);
    memcpy(b.reference, b.send, b.bytes);
    naive_each(&b, &r, &r);
    MUST(rota_alltoallw_init(MPI_IN_PLACE, NULL, NULL, NULL, recv_arg(&b),
                             r.count, r.displ, r.type, MPI_COMM_WORLD, info,
                             &plan));
    free_blocks(&r);
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    compare(&b, "in place, a type for each block");
    MUST(rota_plan_free(&plan));
    MPI_Info_free(&info);
    free_buffers(&b);
}

/* One count for all pairs, and columns of a matrix: a transpose. */
static void run_uniform(const rota_algo *algo)
{
    MPI_Datatype column = make_type(8);
    MPI_Info info = test_info("rota_algorithm", algo->name, NULL, NULL);
    int *const rows = malloc((size_t)test_P * INTS * sizeof(int));
    int matrix[INTS * 8];
    rota_plan *plan = NULL;

    test_case = algo->name;
    for (int i = 0; i < test_P * INTS; i++)
        rows[i] = test_me * 1000 + i;
    memset(matrix, 0, sizeof matrix);
    MUST(rota_alltoall_init(rows, INTS, MPI_INT, matrix, 1, column,
                            MPI_COMM_WORLD, info, &plan));
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < INTS; i++)
            CHECK(matrix[8 * i + q] == q * 1000 + test_me * INTS + i);
    MUST(rota_plan_free(&plan));
    MPI_Type_free(&column);
    MPI_Info_free(&info);
    free(rows);
}

/* So many pieces, none as far from the next as another, that only MPI knows where
 * they lie: packed by MPI, and first data that are far from the origin. */
static void run_unknown(const rota_algo *algo)
{
    enum { PIECES = 200000, APART = 5 * PIECES };
    MPI_Info info = test_info("rota_algorithm", algo->name, NULL, NULL);
    int *const place = malloc(PIECES * sizeof *place);
    int *const to = calloc((size_t)(test_P + 1) * APART, sizeof *to);
    int *const from = malloc((size_t)(test_P + 1) * APART * sizeof *from);
    int counts[ROOM], displs[ROOM];
    MPI_Datatype type, wide;
    rota_plan *plan = NULL;

    test_case = algo->name;
    for (int i = 0, at = 77; i < PIECES;
         i++, at += 2 + (int)(test_hash((uint64_t)i) % 3))
        place[i] = at;
    MPI_Type_create_indexed_block(PIECES, 1, place, MPI_INT, &type);
    MPI_Type_create_resized(type, 0, sizeof(int[APART]), &wide);
    MPI_Type_commit(&wide);
    for (int q = 0; q < test_P; q++) {
        counts[q] = 1;
        displs[q] = q;
        for (int i = 0; i < PIECES; i++)
            from[q * APART + place[i]] = (test_me * test_P + q) * PIECES + i;
    }
    MUST(rota_alltoallv_init(from, counts, displs, wide, to, counts, displs,
                             wide, MPI_COMM_WORLD, info, &plan));
    MUST(rota_start(plan));
    MUST(rota_wait(plan));
    for (int q = 0; q < test_P; q++)
        for (int i = 0; i < PIECES; i++)
            CHECK(to[q * APART + place[i]] ==
                  (q * test_P + test_me) * PIECES + i);
    MUST(rota_plan_free(&plan));
    MPI_Type_free(&type);
    MPI_Type_free(&wide);
    MPI_Info_free(&info);
    free(place);
    free(from);
    free(to);
}

int main(int argc, char **argv)
{
    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    test_buffers_begin();
    for (int a = 0; rota_algo_table[a]; a++) {
        const rota_algo *const algo = rota_algo_table[a];
        for (int from = 0; from < N_TYPES && !algo->uniform; from++)
            for (int to = 0; to < N_TYPES; to++)
                run(algo, from, to);
        for (int which = 0; which < 7; which++) {
            run_in_place(algo, which);
            if (!algo->uniform)
                run_varying(algo, which);
        }
        for (int first = 0; first < N_TYPES; first++) {
            if (!algo->uniform)
                run_each(algo, first);
            run_each_in_place(algo, first);
        }
        if (test_P <= 8)
            run_uniform(algo);
        if (test_P == 2 &&
            (!test_is_quick() || a % 5 == 0 || strcmp(algo->name, "mpi") == 0))
            run_unknown(algo);
    }
    test_buffers_end();
    return test_end();
}
