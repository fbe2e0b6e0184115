/* called.c - one block that functions of the program write and read, part by part
 * as the message goes: see payload.h.
 *
 * Parts end anywhere, and functions want whole elements. So an element that two
 * parts share is made or put together in memory of its own. Functions write through
 * the caches. What must not is written to memory that stays in them first: where
 * cores are far apart, lines that the peer has read are twice as dear to write as a
 * copy more.
 */
#include "exec/move/copy.h"
#include "exec/move/packer.h"
#include "exec/move/trace.h"
#include "exec/payload/payload.h"

/* Parts begin at multiples of 16 bytes (line.h), and must be aligned to 8 behind an
 * element that is shared; each holds more than one. */
enum { STEP = 16, ALIGNED = 8, LONGEST = 48 };

/* What is written at once to memory that stays in the caches. */
enum { STAGED = 1 << 13 };

static bool takes(const rota_exec *x, const rota_makeup *k)
{
    const rota_type *const t = rota_block_type(&x->blocks, k->item[0]);

    return t->packer && k->n == 1 && !k->shares && !k->handed &&
           !k->via->needs_mpi && t->size <= LONGEST &&
           (t->size % ALIGNED == 0 || STEP % t->size == 0);
}

static int bind(rota_exec *x, rota_dir dir, uint32_t m)
{
    rota_op *const op = &x->program.op[dir][m];

    return rota_grow(&op->memory, &op->room, LONGEST, "a shared element");
}

static int begin(rota_exec *x, rota_dir dir, uint32_t m, rota_data *d)
{
    d->bytes = rota_message_bytes(&x->blocks, dir, m);
    d->body = NULL;
    return MPI_SUCCESS;
}

/* A message and its block. */
typedef struct call {
    const rota_packer *packer;
    size_t size; /* of an element */
    int n;       /* number of the block */
    char *shared;
} call;

static call call_of(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_block b = rota_payload_first(x, dir, m);
    const rota_type *const t = rota_block_type(&x->blocks, b);

    return (call){.packer = t->packer,
                  .size = t->size,
                  .n = (int)rota_block_slot(x->blocks.s, b),
                  .shared = x->program.op[dir][m].memory};
}

static int peer_of(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return x->blocks.s->msgs[dir].msg[m].peer;
}

static void write_part(rota_exec *x, uint32_t m, size_t begin, size_t end,
                       char *to)
{
    const call c = call_of(x, ROTA_SEND, m);
    const size_t before = begin % c.size, behind = end % c.size;

    if (before > 0) {
        memcpy(to, c.shared + before, c.size - before);
        to += c.size - before;
        begin += c.size - before;
    }
    rota_packer_pack(c.packer, c.n, begin, end - behind, to);
    if (behind > 0) {
        const size_t first = end - behind;
        rota_packer_pack(c.packer, c.n, first, first + c.size, c.shared);
        memcpy(to + (first - begin), c.shared, behind);
    }
}

static int put(rota_exec *x, uint32_t m, const rota_data *d, size_t begin,
               size_t end, bool streams, char *to)
{
    char *const stage = x->blocks.stage;
    const size_t bytes = end - begin;
    const int64_t began = rota_trace_now(x->trace);

    (void)d;
    if (!streams)
        write_part(x, m, begin, end, to);
    for (size_t at = begin, n; streams && at < end; at += n) {
        n = rota_smaller(STAGED, end - at);
        write_part(x, m, at, at + n, stage);
        rota_copy_stream(to + (at - begin), stage, n);
    }
    rota_trace_note(x->trace, ROTA_TRACE_PACK, began, peer_of(x, ROTA_SEND, m),
                    bytes);
    return MPI_SUCCESS;
}

static int take(rota_exec *x, uint32_t m, const rota_data *d, size_t begin,
                size_t end, const char *from)
{
    const call c = call_of(x, ROTA_RECV, m);
    const size_t before = begin % c.size, behind = end % c.size;
    const size_t bytes = end - begin;
    const int64_t began = rota_trace_now(x->trace);

    (void)d;
    if (before > 0) {
        memcpy(c.shared + before, from, c.size - before);
        from += c.size - before;
        begin += c.size - before;
        rota_packer_unpack(c.packer, c.n, begin - c.size, begin, c.shared);
    }
    rota_packer_unpack(c.packer, c.n, begin, end - behind, from);
    memcpy(c.shared, from + (end - behind - begin), behind);
    rota_trace_note(x->trace, ROTA_TRACE_UNPACK, began,
                    peer_of(x, ROTA_RECV, m), bytes);
    return MPI_SUCCESS;
}

const rota_payload rota_payload_called = {.stage = STAGED,
                                          .takes = takes,
                                          .bind = bind,
                                          .unbind = rota_payload_unbind,
                                          .begin = begin,
                                          .put = put,
                                          .take = take};
