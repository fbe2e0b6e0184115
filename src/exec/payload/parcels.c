/* parcels.c - see parcels.h. */
#include "exec/payload/parcels.h"
#include "exec/payload/carried.h"
#include "exec/payload/payload.h"

#include <string.h>

/* Areas begin on cache lines of their own. */
enum { CACHE_LINE = 64 };

typedef struct parcel {
    uint32_t first, n; /* blocks of the message */
    uint64_t cell[];   /* [n], and then the blocks */
} parcel;

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

bool rota_msg_is_parcels(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return rota_has_parcels(x) && !x->blocks.s->msgs[dir].msg[m].handed &&
           rota_msg_lends(x->blocks.s, dir, m);
}

/* ---- areas --------------------------------------------------------------- */

/* Bytes that parcels of n blocks take, at most: each block may be one. */
static size_t parcels_room(size_t n, size_t max_block)
{
    const size_t head = sizeof(parcel) + sizeof(uint64_t);

    return n * (head + round_up(max_block, sizeof(uint64_t)));
}

static size_t area_bytes(size_t n, size_t room)
{
    return round_up(sizeof(rota_area) + n * sizeof(rota_slot) + room,
                    CACHE_LINE);
}

static size_t room_of(const rota_exec *x, rota_dir dir, uint32_t m)
{
    return rota_carried_bytes(x, dir, m) +
           parcels_room(rota_msg_blocks(&x->blocks.s->msgs[dir].msg[m]),
                        x->max_block);
}

int rota_parcels_place(rota_exec *x, size_t *bytes)
{
    size_t at = 0;

    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const rota_msgs *const l = &x->blocks.s->msgs[dir];
        for (uint32_t m = 0; m < l->n; m++) {
            const uint32_t n = rota_msg_blocks(&l->msg[m]);
            if (!rota_msg_is_parcels(x, (rota_dir)dir, m))
                continue;
            const size_t more = area_bytes(n, room_of(x, (rota_dir)dir, m));
            if (more > SIZE_MAX / 2 - at)
                return rota_fail_mem("messages that ranks of a node share");
            for (uint32_t i = 0; i < n; i++)
                x->blocks.offset[l->item[l->msg[m].first + i]] =
                    (ptrdiff_t)(at + sizeof(rota_area) + i * sizeof(rota_slot));
            at += more;
        }
    }
    *bytes = at;
    return MPI_SUCCESS;
}

rota_area *rota_parcels_area(const rota_exec *x, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &x->blocks.s->msgs[dir];
    char *const first = (char *)rota_slot_of(x, l->item[l->msg[m].first]);

    return (rota_area *)(void *)(first - sizeof(rota_area));
}

void rota_parcels_make(const rota_exec *x)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        for (uint32_t m = 0; m < x->blocks.s->msgs[dir].n; m++) {
            const uint32_t n = rota_msg_blocks(&x->blocks.s->msgs[dir].msg[m]);
            if (!rota_msg_is_parcels(x, (rota_dir)dir, m))
                continue;
            rota_area *const a = rota_parcels_area(x, (rota_dir)dir, m);
            a->n = n;
            a->room = room_of(x, (rota_dir)dir, m);
            a->used = a->values = rota_carried_bytes(x, (rota_dir)dir, m);
            for (uint32_t i = 0; i < n; i++)
                a->slot[i] = (rota_slot){.at = i};
        }
}

void rota_parcels_empty(const rota_exec *x)
{
    for (uint32_t m = 0; m < x->blocks.s->msgs[ROTA_SEND].n; m++)
        if (rota_msg_is_parcels(x, ROTA_SEND, m)) {
            rota_area *const a = rota_parcels_area(x, ROTA_SEND, m);
            a->used = a->values;
        }
}

/* ---- putting ------------------------------------------------------------- */

/* A parcel of n blocks, bytes in all, from the slot's on. */
static parcel *begin_parcel(rota_slot *slot, uint32_t n, size_t bytes)
{
    rota_area *const a =
        (rota_area *)(void *)((char *)(slot - slot->at) - sizeof(rota_area));
    const size_t more = round_up(sizeof(parcel) + n * sizeof(uint64_t) + bytes,
                                 sizeof(uint64_t));
    const uint64_t at =
        atomic_fetch_add_explicit(&a->used, more, memory_order_relaxed);
    parcel *const p = (parcel *)(void *)(rota_area_data(a) + at);

    ROTA_ASSERT(at + more <= a->room);
    p->first = (uint32_t)slot->at;
    p->n = n;
    return p;
}

/* Slots stand in a row, which is in one area. */
static int put_row(const rota_exec *x, rota_slot *slot, const rota_block item[],
                   uint32_t n)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < n; i++)
        bytes += rota_cell_bytes(x->blocks.bytes[item[i]]);
    parcel *const p = begin_parcel(slot, n, bytes);
    char *to = (char *)&p->cell[n];
    for (uint32_t i = 0; i < n; i++) {
        const size_t size = rota_cell_bytes(x->blocks.bytes[item[i]]);
        p->cell[i] = x->blocks.bytes[item[i]];
        if (size > 0)
            ROTA_TRY(rota_block_pack(&x->blocks, item[i], to));
        to += size;
    }
    return MPI_SUCCESS;
}

static bool is_next(const char *slot, const char *before)
{
    return slot == before + sizeof(rota_slot);
}

int rota_parcels_put(const rota_exec *x, char *const slot[],
                     const rota_block item[], uint32_t n)
{
    for (uint32_t i = 0, row; i < n; i += row) {
        row = 1;
        while (i + row < n && is_next(slot[i + row], slot[i + row - 1]))
            row++;
        ROTA_TRY(put_row(x, (rota_slot *)(void *)slot[i], item + i, row));
    }
    return MPI_SUCCESS;
}

/* Send blocks of a rank have numbers in a row only where ranks of a node do. */
int rota_parcels_copy(const rota_exec *x, const rota_copy copy[], uint32_t n,
                      uint32_t *copied)
{
    enum { AT_ONCE = 64 };
    rota_block item[AT_ONCE];
    uint32_t k = 0;

    do {
        item[k] = copy[k].from;
        k++;
    } while (k < n && k < AT_ONCE &&
             rota_block_is_shared(x->blocks.s, copy[k].to) &&
             is_next((char *)rota_slot_of(x, copy[k].to),
                     (char *)rota_slot_of(x, copy[k - 1].to)));
    *copied = k;
    return put_row(x, rota_slot_of(x, copy[0].to), item, k);
}

static void forward_row(rota_slot *slot, const size_t cell[], uint32_t n,
                        const char **data)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < n; i++)
        bytes += rota_cell_bytes(cell[i]);
    parcel *const p = begin_parcel(slot, n, bytes);
    for (uint32_t i = 0; i < n; i++)
        p->cell[i] = cell[i];
    memcpy(&p->cell[n], *data, bytes);
    *data += bytes;
}

void rota_parcels_forward(const rota_exec *x, const rota_block item[],
                          const size_t cell[], uint32_t n, const char *data)
{
    for (uint32_t i = 0, row; i < n; i += row) {
        row = 1;
        while (i + row < n &&
               is_next((char *)rota_slot_of(x, item[i + row]),
                       (char *)rota_slot_of(x, item[i + row - 1])))
            row++;
        forward_row(rota_slot_of(x, item[i]), cell + i, row, &data);
    }
}

/* ---- what has come ------------------------------------------------------- */

/* The blocks of a parcel, of message m. Returns where the next one begins. */
static char *open_parcel(rota_exec *x, uint32_t m, rota_area *a, parcel *p)
{
    const rota_msgs *const l = &x->blocks.s->msgs[ROTA_RECV];
    char *at = (char *)&p->cell[p->n];

    for (uint32_t i = 0; i < p->n; i++) {
        rota_slot *const slot = &a->slot[p->first + i];
        const rota_block b = l->item[l->msg[m].first + p->first + i];
        slot->at = (uint64_t)(at - (char *)slot);
        slot->cell = p->cell[i];
        x->blocks.bytes[b] = p->cell[i];
        x->blocks.place[b] = at;
        at += rota_cell_bytes(p->cell[i]);
    }
    return (char *)p + round_up((size_t)(at - (char *)p), sizeof(uint64_t));
}

void rota_parcels_open(rota_exec *x, uint32_t m)
{
    rota_area *const a = rota_parcels_area(x, ROTA_RECV, m);
    char *at = rota_area_data(a) + a->values;

    if (a->values > 0)
        rota_carried_get(x, m, rota_area_data(a));
    for (uint64_t found = 0; found < a->n;) {
        parcel *const p = (parcel *)(void *)at;
        found += p->n;
        at = open_parcel(x, m, a, p);
    }
}

/* ---- the payload --------------------------------------------------------- */

/* A message is sent from its area, or received into it. */
static bool takes(const rota_exec *x, const rota_makeup *k)
{
    return rota_msg_is_parcels(x, k->dir, k->m);
}

static int bind(rota_exec *x, rota_dir dir, uint32_t m)
{
    rota_op *const op = &x->program.op[dir][m];
    rota_area *const a = rota_parcels_area(x, dir, m);

    op->memory = rota_area_data(a);
    op->room = (size_t)a->room;
    return MPI_SUCCESS;
}

static int pack(rota_exec *x, uint32_t m, char **data, size_t *bytes)
{
    const rota_area *const a = rota_parcels_area(x, ROTA_SEND, m);

    *data = x->program.op[ROTA_SEND][m].memory;
    *bytes = (size_t)a->used;
    if (a->values > 0)
        rota_carried_put(x, m, *data);
    return MPI_SUCCESS;
}

/* At least something comes. */
static int begin(rota_exec *x, rota_dir dir, uint32_t m, rota_data *d)
{
    d->bytes = 1;
    return dir == ROTA_SEND ? pack(x, m, &d->body, &d->bytes) : MPI_SUCCESS;
}

static int expect(rota_exec *x, uint32_t m, rota_data *d, rota_coming how)
{
    (void)x;
    (void)m;
    (void)d;
    (void)how;
    ROTA_ASSERT(d->bytes <= x->program.op[ROTA_RECV][m].room);
    return MPI_SUCCESS;
}

/* All of it lies in one place. */
static int rest(rota_exec *x, uint32_t m, const rota_data *d, char **to)
{
    (void)d;
    *to = x->program.op[ROTA_RECV][m].memory;
    return MPI_SUCCESS;
}

static int finish(rota_exec *x, uint32_t m, rota_data *d)
{
    (void)d;
    rota_parcels_open(x, m);
    return MPI_SUCCESS;
}

static size_t told(const rota_exec *x, uint32_t m)
{
    return rota_msg_blocks(&x->blocks.s->msgs[ROTA_SEND].msg[m]) *
           sizeof(size_t);
}

const rota_payload rota_payload_parcels = {.tells = true,
                                           .takes = takes,
                                           .bind = bind,
                                           .begin = begin,
                                           .put = rota_payload_put,
                                           .expect = expect,
                                           .take = rota_payload_take,
                                           .header = rota_payload_no_header,
                                           .rest = rest,
                                           .finish = finish,
                                           .pack = pack,
                                           .told = told};
