/* move.c - see move.h. */
#include "exec/move/move.h"
#include "exec/move/strided.h"
#include "exec/payload/varlen.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* How many elements to give to one MPI_Pack, whose position is an int. */
static size_t pack_chunk(const rota_type *t)
{
    const size_t chunk = ((size_t)1 << 30) / t->size;

    return chunk > 0 ? chunk : 1;
}

int rota_type_pack(const rota_type *t, const char *data, size_t bytes,
                   char *packed, MPI_Comm comm)
{
    if (rota_type_is_bytes(t)) {
        rota_copy_fast(packed, data, bytes);
        return MPI_SUCCESS;
    }
    if (t->layout) {
        rota_strided_pack(t, data, 0, bytes, false, packed);
        return MPI_SUCCESS;
    }
    const size_t chunk = pack_chunk(t);
    for (size_t left = bytes / t->size; left > 0;) {
        const int n = (int)(left < chunk ? left : chunk);
        int position = 0;
        ROTA_TRY(MPI_Pack(data, n, t->mpi, packed, INT_MAX, &position, comm));
        data += (ptrdiff_t)n * t->extent;
        packed += (size_t)n * t->size;
        left -= (size_t)n;
    }
    return MPI_SUCCESS;
}

int rota_type_unpack(const rota_type *t, const char *packed, size_t bytes,
                     char *data, MPI_Comm comm)
{
    if (rota_type_is_bytes(t)) {
        rota_copy_fast(data, packed, bytes);
        return MPI_SUCCESS;
    }
    if (t->layout) {
        rota_strided_unpack(t, packed, 0, bytes, false, data);
        return MPI_SUCCESS;
    }
    const size_t chunk = pack_chunk(t);
    for (size_t left = bytes / t->size; left > 0;) {
        const int n = (int)(left < chunk ? left : chunk);
        int position = 0;
        ROTA_TRY(MPI_Unpack(packed, (int)((size_t)n * t->size), &position, data,
                            n, t->mpi, comm));
        data += (ptrdiff_t)n * t->extent;
        packed += (size_t)n * t->size;
        left -= (size_t)n;
    }
    return MPI_SUCCESS;
}

int rota_block_pack(const rota_exec *x, rota_block b, char *packed)
{
    return rota_type_pack(rota_block_type(x, b), rota_block_at(x, b),
                          x->bytes[b], packed, x->comm);
}

int rota_block_unpack(const rota_exec *x, const char *packed, rota_block b)
{
    return rota_type_unpack(rota_block_type(x, b), packed, x->bytes[b],
                            rota_block_at(x, b), x->comm);
}

size_t rota_message_bytes(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &x->s->msgs[dir];
    size_t bytes = 0;

    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
        bytes += rota_varlen_bytes(x->bytes[l->item[i]]);
    return bytes;
}

int rota_message_pack(const rota_exec *x, uint32_t m, char *packed)
{
    const rota_msgs *const l = &x->s->msgs[ROTA_SEND];

    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++) {
        const size_t bytes = rota_varlen_bytes(x->bytes[l->item[i]]);
        if (bytes > 0)
            ROTA_TRY(rota_block_pack(x, l->item[i], packed));
        packed += bytes;
    }
    return MPI_SUCCESS;
}

int rota_message_unpack(const rota_exec *x, uint32_t m, const char *packed)
{
    const rota_msgs *const l = &x->s->msgs[ROTA_RECV];

    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++) {
        ROTA_TRY(rota_block_unpack(x, packed, l->item[i]));
        packed += x->bytes[l->item[i]];
    }
    return MPI_SUCCESS;
}

/* Pack part of a block of plain bytes, or of elements with a known layout. */
static void pack_part(const rota_type *t, const char *data, size_t begin,
                      size_t end, bool streams, char *packed)
{
    if (!rota_type_is_bytes(t))
        rota_strided_pack(t, data, begin, end, streams, packed);
    else if (streams)
        rota_copy_stream(packed, data + begin, end - begin);
    else
        rota_copy_fast(packed, data + begin, end - begin);
}

static void unpack_part(const rota_type *t, char *data, size_t begin,
                        size_t end, bool streams, const char *packed)
{
    if (!rota_type_is_bytes(t))
        rota_strided_unpack(t, packed, begin, end, streams, data);
    else if (streams)
        rota_copy_stream(data + begin, packed, end - begin);
    else
        rota_copy_fast(data + begin, packed, end - begin);
}

void rota_message_pack_part(const rota_exec *x, uint32_t m, size_t begin,
                            size_t end, bool streams, char *packed)
{
    const rota_msgs *const l = &x->s->msgs[ROTA_SEND];
    size_t at = 0;

    for (const rota_block *i = l->item + l->msg[m].first; begin < end; i++) {
        const size_t stop = rota_smaller(end, at + x->bytes[*i]);
        if (begin < stop) {
            pack_part(rota_block_type(x, *i), rota_block_at(x, *i), begin - at,
                      stop - at, streams, packed);
            packed += stop - begin;
            begin = stop;
        }
        at += x->bytes[*i];
    }
}

void rota_message_unpack_part(const rota_exec *x, uint32_t m, size_t begin,
                              size_t end, bool streams, const char *packed)
{
    const rota_msgs *const l = &x->s->msgs[ROTA_RECV];
    size_t at = 0;

    for (const rota_block *i = l->item + l->msg[m].first; begin < end; i++) {
        const size_t stop = rota_smaller(end, at + x->bytes[*i]);
        if (begin < stop) {
            unpack_part(rota_block_type(x, *i), rota_block_at(x, *i),
                        begin - at, stop - at, streams, packed);
            packed += stop - begin;
            begin = stop;
        }
        at += x->bytes[*i];
    }
}

int rota_grow(char **memory, size_t *room, size_t bytes, const char *what)
{
    const size_t half = *room + *room / 2;
    const size_t more = bytes > half ? bytes : half;

    if (bytes <= *room)
        return MPI_SUCCESS;
    char *const grown = realloc(*memory, more);
    if (!grown)
        return rota_fail_mem(what);
    *memory = grown;
    *room = more;
    return MPI_SUCCESS;
}

size_t rota_copy_step(const rota_type *a, const rota_type *b)
{
    enum { COMFORTABLE = 1 << 16 }; /* fits a second-level cache */
    size_t x = a->size, y = b->size;

    while (y > 0) {
        const size_t rest = x % y;
        x = y;
        y = rest;
    }
    const size_t both = a->size / x * b->size;
    return both < COMFORTABLE ? COMFORTABLE / both * both : both;
}

/* Copy between two datatypes: directly, or piece by piece through the packing
 * area. */
static int copy_typed(const rota_exec *x, rota_block from, rota_block to,
                      size_t bytes)
{
    const rota_type *const a = rota_block_type(x, from);
    const rota_type *const b = rota_block_type(x, to);
    rota_strided straight;
    char *const stage = x->program.area + x->program.copy_stage;
    const char *source = rota_block_at(x, from);
    char *target = rota_block_at(x, to);

    if (rota_strided_match(b, a, bytes, &straight)) {
        rota_strided_copy(&straight, target, source);
        return MPI_SUCCESS;
    }
    for (size_t left = bytes; left > 0;) {
        const size_t n =
            left < x->program.copy_step ? left : x->program.copy_step;
        ROTA_TRY(rota_type_pack(a, source, n, stage, x->comm));
        ROTA_TRY(rota_type_unpack(b, stage, n, target, x->comm));
        source += (ptrdiff_t)(n / a->size) * a->extent;
        target += (ptrdiff_t)(n / b->size) * b->extent;
        left -= n;
    }
    return MPI_SUCCESS;
}

int rota_block_copy(const rota_exec *x, const rota_copy *k)
{
    const rota_type *const a = rota_block_type(x, k->from);
    const rota_type *const b = rota_block_type(x, k->to);
    const size_t bytes = rota_copy_bytes(x->s, k, x->bytes);

    if (bytes == 0)
        return MPI_SUCCESS;
    char *const from = rota_block_at(x, k->from);
    char *const to = rota_block_at(x, k->to);
    if (rota_type_is_bytes(b))
        return rota_type_pack(a, from, bytes, to, x->comm);
    if (rota_type_is_bytes(a))
        return rota_type_unpack(b, from, bytes, to, x->comm);
    return copy_typed(x, k->from, k->to, bytes);
}

static int fill_gather_type(const rota_exec *x, const rota_block item[],
                            uint32_t n, int lengths[], MPI_Aint places[],
                            MPI_Datatype *type)
{
    for (uint32_t i = 0; i < n; i++) {
        lengths[i] = (int)x->bytes[item[i]];
        ROTA_TRY(MPI_Get_address(rota_block_at(x, item[i]), &places[i]));
    }
    ROTA_TRY(MPI_Type_create_hindexed((int)n, lengths, places, MPI_BYTE, type));
    const int err = MPI_Type_commit(type);
    if (err != MPI_SUCCESS)
        MPI_Type_free(type);
    return err;
}

int rota_gather_type(const rota_exec *x, const rota_block item[], uint32_t n,
                     MPI_Datatype *type)
{
    int *const lengths = malloc(n * sizeof *lengths);
    MPI_Aint *const places = malloc(n * sizeof *places);
    const int err = lengths && places
                        ? fill_gather_type(x, item, n, lengths, places, type)
                        : rota_fail_mem("a datatype");

    free(lengths);
    free(places);
    return err;
}

/* ---- messages ------------------------------------------------------------ */

rota_payload rota_payload_of(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &x->s->msgs[dir];
    const rota_op *const w = &x->program.op[dir][m];
    const rota_block first = l->item[l->msg[m].first];
    const rota_type *const t = rota_block_type(x, first);
    const size_t bytes = rota_message_bytes(x, dir, m);

    if (w->gathered)
        return (rota_payload){MPI_BOTTOM, 1, w->type};
    if (w->packed)
        return (rota_payload){x->program.area + w->stage, bytes, MPI_BYTE};
    return (rota_payload){rota_block_at(x, first), bytes / t->size, t->mpi};
}

/* ---- counts beyond int --------------------------------------------------- */

#if MPI_VERSION >= 4

int rota_payload_init(const rota_payload *p, rota_dir dir, int peer, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    const MPI_Count n = (MPI_Count)p->count;

    return dir == ROTA_SEND
               ? MPI_Send_init_c(p->data, n, p->type, peer, tag, comm, request)
               : MPI_Recv_init_c(p->data, n, p->type, peer, tag, comm, request);
}

int rota_payload_post(const rota_payload *p, rota_dir dir, int peer, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    const MPI_Count n = (MPI_Count)p->count;

    return dir == ROTA_SEND
               ? MPI_Isend_c(p->data, n, p->type, peer, tag, comm, request)
               : MPI_Irecv_c(p->data, n, p->type, peer, tag, comm, request);
}

int rota_synchronous_post(void *data, size_t bytes, int peer, int tag,
                          MPI_Comm comm, MPI_Request *request)
{
    return MPI_Issend_c(data, (MPI_Count)bytes, MPI_BYTE, peer, tag, comm,
                        request);
}

int rota_matched_post(void *data, size_t bytes, MPI_Message *message,
                      MPI_Request *request)
{
    return MPI_Imrecv_c(data, (MPI_Count)bytes, MPI_BYTE, message, request);
}

#else

/* Make a datatype of count elements, more than an int holds: whole chunks of
 * 2^30 elements and the rest. */
static int big_type(size_t count, MPI_Datatype element, MPI_Datatype *type)
{
    const size_t chunk = (size_t)1 << 30;
    MPI_Datatype part[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    MPI_Aint lb, extent;
    int err = MPI_Type_get_extent(element, &lb, &extent);

    if (err == MPI_SUCCESS)
        err = MPI_Type_contiguous((int)chunk, element, &part[0]);
    if (err == MPI_SUCCESS)
        err = MPI_Type_contiguous((int)(count % chunk), element, &part[1]);
    if (err == MPI_SUCCESS) {
        const int n[2] = {(int)(count / chunk), 1};
        const MPI_Aint at[2] = {0, (MPI_Aint)(count - count % chunk) * extent};
        err = MPI_Type_create_struct(2, n, at, part, type);
    }
    if (err == MPI_SUCCESS)
        err = MPI_Type_commit(type);
    for (int i = 0; i < 2; i++)
        if (part[i] != MPI_DATATYPE_NULL)
            MPI_Type_free(&part[i]);
    return err;
}

typedef int init_fn(void *data, int count, MPI_Datatype type, int peer, int tag,
                    MPI_Comm comm, MPI_Request *request);

/* MPI 3 declares the data of a send const, those of a receive not. */
static int send_init(void *data, int count, MPI_Datatype type, int peer,
                     int tag, MPI_Comm comm, MPI_Request *request)
{
    return MPI_Send_init(data, count, type, peer, tag, comm, request);
}

static int isend(void *data, int count, MPI_Datatype type, int peer, int tag,
                 MPI_Comm comm, MPI_Request *request)
{
    return MPI_Isend(data, count, type, peer, tag, comm, request);
}

static int call(init_fn *fn, const rota_payload *p, int peer, int tag,
                MPI_Comm comm, MPI_Request *request)
{
    MPI_Datatype big;

    if (p->count <= INT_MAX)
        return fn(p->data, (int)p->count, p->type, peer, tag, comm, request);
    ROTA_TRY(big_type(p->count, p->type, &big));
    const int err = fn(p->data, 1, big, peer, tag, comm, request);
    MPI_Type_free(&big); /* MPI keeps it while the request lives */
    return err;
}

int rota_payload_init(const rota_payload *p, rota_dir dir, int peer, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    return call(dir == ROTA_SEND ? send_init : MPI_Recv_init, p, peer, tag,
                comm, request);
}

int rota_payload_post(const rota_payload *p, rota_dir dir, int peer, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    return call(dir == ROTA_SEND ? isend : MPI_Irecv, p, peer, tag, comm,
                request);
}

static int issend(void *data, int count, MPI_Datatype type, int peer, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    return MPI_Issend(data, count, type, peer, tag, comm, request);
}

int rota_synchronous_post(void *data, size_t bytes, int peer, int tag,
                          MPI_Comm comm, MPI_Request *request)
{
    const rota_payload p = {data, bytes, MPI_BYTE};

    return call(issend, &p, peer, tag, comm, request);
}

int rota_matched_post(void *data, size_t bytes, MPI_Message *message,
                      MPI_Request *request)
{
    MPI_Datatype big;

    if (bytes <= INT_MAX)
        return MPI_Imrecv(data, (int)bytes, MPI_BYTE, message, request);
    ROTA_TRY(big_type(bytes, MPI_BYTE, &big));
    const int err = MPI_Imrecv(data, 1, big, message, request);
    MPI_Type_free(&big);
    return err;
}

#endif
