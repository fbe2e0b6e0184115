/* schedule.c - writing, folding, counting and printing schedules. */
#include "schedule/schedule.h"
#include "base/crossing.h"

#include <stdlib.h>
#include <string.h>

/* Make room for entry n, doubling the array if it is full. */
static int grow(void *array, uint32_t n, uint32_t *room, size_t size)
{
    void **const p = array;

    if (n < *room)
        return MPI_SUCCESS;
    const uint32_t wanted = *room ? 2 * *room : 16;
    void *const bigger = wanted > *room ? realloc(*p, wanted * size) : NULL;
    if (!bigger)
        return rota_fail_mem("a schedule");
    *p = bigger;
    *room = wanted;
    return MPI_SUCCESS;
}

/* Write the closing entries: where the next message and phase would begin. */
static void close_lists(rota_sched *s)
{
    rota_phase *const end = &s->phase[s->n_phases];

    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        rota_msgs *const l = &s->msgs[dir];
        l->msg[l->n].first = l->n_items;
        end->msg[dir] = l->n;
    }
    end->copy = s->n_copies;
}

int rota_sched_init(rota_sched *s, int P, int me)
{
    return rota_sched_init_among(s, P, me, NULL);
}

int rota_sched_init_among(rota_sched *s, int P, int me,
                          const rota_neighbors *neighbors)
{
    *s = (rota_sched){.P = P,
                      .me = me,
                      .n_send = neighbors ? neighbors->n_send : P,
                      .n_recv = neighbors ? neighbors->n_recv : P,
                      .neighbors = neighbors};
    s->n_blocks = rota_first_tmp(s);
    int err = grow(&s->phase, 0, &s->phase_room, sizeof *s->phase);
    for (int dir = 0; dir < ROTA_N_DIRS && err == MPI_SUCCESS; dir++)
        err = grow(&s->msgs[dir].msg, 0, &s->msgs[dir].msg_room,
                   sizeof *s->msgs[dir].msg);
    s->status = err;
    if (err == MPI_SUCCESS)
        close_lists(s);
    else
        rota_sched_free(s);
    return err;
}

void rota_sched_free(rota_sched *s)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        free(s->msgs[dir].msg);
        free(s->msgs[dir].item);
    }
    free(s->slot);
    free(s->copy);
    free(s->phase);
    free(s->pad);
    *s = (rota_sched){0};
}

void rota_sched_set_crossing(rota_sched *s, const rota_crossing *crossing,
                             rota_metadata metadata)
{
    s->crossing = crossing;
    s->same_as =
        crossing && metadata == ROTA_META_ONCE ? crossing->same_as : NULL;
}

/* ---- emitters: each latches the first error in s->status ----------------- */

static bool latch(rota_sched *s, int err)
{
    if (s->status == MPI_SUCCESS)
        s->status = err;
    return s->status == MPI_SUCCESS;
}

rota_block rota_tmp_marked(rota_sched *s, uint32_t slot, uint32_t marks)
{
    const uint32_t tmp = s->n_blocks - rota_first_tmp(s);

    if (!latch(s, grow(&s->slot, tmp, &s->slot_room, sizeof *s->slot)))
        return 0;
    s->slot[tmp] = slot | marks;
    if (!(marks & ROTA_TMP_IN_DST) && slot >= s->n_slots)
        s->n_slots = slot + 1;
    return s->n_blocks++;
}

rota_block *rota_sched_scratchpad(rota_sched *s, size_t n)
{
    if (s->status != MPI_SUCCESS)
        return NULL;
    if (n > s->pad_room) {
        rota_block *const pad = realloc(s->pad, n * sizeof *pad);
        if (!pad) {
            latch(s, rota_fail_mem("a schedule"));
            return NULL;
        }
        s->pad = pad;
        s->pad_room = n;
    }
    return s->pad;
}

int rota_sched_end(rota_sched *s)
{
    free(s->pad);
    s->pad = NULL;
    s->pad_room = 0;
    return s->status;
}

void rota_phase_begin(rota_sched *s, int window)
{
    if (!latch(s, grow(&s->phase, s->n_phases + 1, &s->phase_room,
                       sizeof *s->phase)))
        return;
    s->phase[s->n_phases].window = window;
    s->phase[s->n_phases].native = ROTA_NOT_NATIVE;
    s->phase[s->n_phases].sparse = false;
    s->phase[s->n_phases].flow = false;
    s->n_phases++;
    close_lists(s);
}

void rota_native_begin(rota_sched *s, rota_native_kind kind)
{
    rota_phase_begin(s, 0);
    if (s->status == MPI_SUCCESS)
        s->phase[s->n_phases - 1].native = kind;
}

void rota_sparse_begin(rota_sched *s)
{
    rota_phase_begin(s, 0);
    if (s->status == MPI_SUCCESS)
        s->phase[s->n_phases - 1].sparse = true;
}

void rota_flow_begin(rota_sched *s)
{
    rota_phase_begin(s, 0);
    if (s->status == MPI_SUCCESS)
        s->phase[s->n_phases - 1].flow = true;
}

void rota_emit_copy(rota_sched *s, rota_block from, rota_block to)
{
    if (!latch(s, grow(&s->copy, s->n_copies, &s->copy_room, sizeof *s->copy)))
        return;
    s->copy[s->n_copies++] = (rota_copy){.from = from, .to = to};
    close_lists(s);
}

void rota_emit_msg(rota_sched *s, rota_dir dir, int peer)
{
    rota_msgs *const l = &s->msgs[dir];

    if (!latch(s, grow(&l->msg, l->n + 1, &l->msg_room, sizeof *l->msg)))
        return;
    l->msg[l->n].peer = peer;
    l->msg[l->n++].handed = false;
    close_lists(s);
}

void rota_emit_handed(rota_sched *s, rota_dir dir, int peer)
{
    rota_msgs *const l = &s->msgs[dir];

    rota_emit_msg(s, dir, peer);
    if (s->status == MPI_SUCCESS)
        l->msg[l->n - 1].handed = true;
}

void rota_emit_block(rota_sched *s, rota_dir dir, rota_block block)
{
    rota_msgs *const l = &s->msgs[dir];

    if (!latch(s, grow(&l->item, l->n_items, &l->item_room, sizeof *l->item)))
        return;
    l->item[l->n_items++] = block;
    l->msg[l->n].first = l->n_items;
}

void rota_emit_recv(rota_sched *s, int src, rota_block block)
{
    rota_emit_msg(s, ROTA_RECV, src);
    rota_emit_block(s, ROTA_RECV, block);
}

void rota_emit_send(rota_sched *s, int dst, rota_block block)
{
    rota_emit_msg(s, ROTA_SEND, dst);
    rota_emit_block(s, ROTA_SEND, block);
}

/* ---- folding: each list is compacted in place ---------------------------- */

/* Keep the messages in [begin, end) that have bytes, with their blocks that
 * have. */
static void fold_msgs(rota_msgs *l, uint32_t begin, uint32_t end, uint32_t *n,
                      uint32_t *n_items, const size_t bytes[])
{
    for (uint32_t m = begin; m < end; m++) {
        const uint32_t first = l->msg[m].first, last = l->msg[m + 1].first;
        const uint32_t kept = *n_items;
        for (uint32_t i = first; i < last; i++)
            if (bytes[l->item[i]] > 0)
                l->item[(*n_items)++] = l->item[i];
        if (*n_items > kept)
            l->msg[(*n)++] = (rota_msg){.peer = l->msg[m].peer,
                                        .first = kept,
                                        .handed = l->msg[m].handed};
    }
}

static void fold_copies(rota_sched *s, uint32_t begin, uint32_t end,
                        uint32_t *n, const size_t bytes[])
{
    for (uint32_t c = begin; c < end; c++)
        if (bytes[s->copy[c].to] > 0)
            s->copy[(*n)++] = s->copy[c];
}

void rota_sched_fold(rota_sched *s, const size_t bytes[])
{
    uint32_t n[ROTA_N_DIRS] = {0}, n_items[ROTA_N_DIRS] = {0};
    uint32_t n_copies = 0, n_phases = 0;

    for (uint32_t p = 0; p < s->n_phases; p++) {
        const rota_phase old = s->phase[p], next = s->phase[p + 1];
        rota_phase kept = old;
        bool empty = !old.native;
        for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
            kept.msg[dir] = n[dir];
            fold_msgs(&s->msgs[dir], old.msg[dir], next.msg[dir], &n[dir],
                      &n_items[dir], bytes);
            empty = empty && n[dir] == kept.msg[dir];
        }
        kept.copy = n_copies;
        fold_copies(s, old.copy, next.copy, &n_copies, bytes);
        empty = empty && n_copies == kept.copy;
        if (!empty)
            s->phase[n_phases++] = kept;
    }
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        s->msgs[dir].n = n[dir];
        s->msgs[dir].n_items = n_items[dir];
    }
    s->n_copies = n_copies;
    s->n_phases = n_phases;
    close_lists(s);
}

void rota_sched_pad(const rota_sched *s, size_t largest, size_t bytes[])
{
    for (rota_block b = rota_first_tmp(s); b < s->n_blocks; b++)
        if (rota_block_is_padded(s, b))
            bytes[b] = largest;
}

/* ---- reading ------------------------------------------------------------- */

bool rota_msg_is_direct(const rota_sched *s, rota_dir dir, uint32_t m)
{
    const rota_msgs *const l = &s->msgs[dir];
    const rota_msg *const msg = &l->msg[m];

    if (rota_msg_blocks(msg) != 1)
        return false;
    const rota_block b = l->item[msg->first];
    const int i = (int)rota_block_slot(s, b);
    if (dir == ROTA_SEND)
        return b < (rota_block)s->n_send && rota_to(s, i) == msg->peer;
    return rota_block_arrives(s, b) && rota_from(s, i) == msg->peer;
}

void rota_msgs_before(const rota_msg *msg, uint32_t n, int P, uint32_t last[],
                      uint32_t before[])
{
    for (int q = 0; q < P; q++)
        last[q] = ROTA_NO_MSG;
    for (uint32_t m = 0; m < n; m++) {
        before[m] = last[msg[m].peer];
        last[msg[m].peer] = m;
    }
}

void rota_msgs_chain(const rota_msg *msg, uint32_t n, int P, uint32_t last[],
                     uint32_t next[], uint32_t wants[])
{
    /* From the one before each to the one after it, in place: what is before m has
     * been read by then, and comes before it. */
    rota_msgs_before(msg, n, P, last, next);
    for (uint32_t m = 0; m < n; m++) {
        const uint32_t before = next[m];
        next[m] = ROTA_NO_MSG;
        if (before == ROTA_NO_MSG)
            continue;
        next[before] = m;
        wants[m]++;
    }
}

/* A copy belongs to at most one message. */
static rota_group group_of(const rota_copy *k,
                           uint32_t *const message[ROTA_N_DIRS])
{
    const uint32_t taken = message[ROTA_SEND][k->to];
    const uint32_t brought = message[ROTA_RECV][k->from];

    return (rota_group){.dir = brought > 0 ? ROTA_RECV : ROTA_SEND,
                        .m = brought > 0 ? brought - 1
                             : taken > 0 ? taken - 1
                                         : ROTA_NO_MSG};
}

uint32_t rota_flow_groups(const rota_copy copy[], uint32_t n,
                          uint32_t *const message[ROTA_N_DIRS],
                          rota_group group[])
{
    uint32_t n_groups = 0;

    for (uint32_t i = 0; i < n; i++) {
        rota_group next = group_of(&copy[i], message);
        rota_group *const last = n_groups > 0 ? &group[n_groups - 1] : NULL;
        next.first = i;
        next.end = i + 1;
        if (last && last->dir == next.dir && last->m == next.m)
            last->end = next.end;
        else
            group[n_groups++] = next;
    }
    return n_groups;
}

bool rota_sched_shares(const rota_sched *s)
{
    for (rota_block b = rota_first_tmp(s); b < s->n_blocks; b++)
        if (rota_block_is_shared(s, b))
            return true;
    return false;
}

static size_t bytes_of(const rota_msgs *l, uint32_t m, const size_t bytes[])
{
    size_t sum = 0;

    for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
        sum += bytes[l->item[i]];
    return sum;
}

static void count_bytes(const rota_sched *s, const size_t bytes[],
                        rota_counts *counts)
{
    for (int dir = 0; dir < ROTA_N_DIRS; dir++) {
        const rota_msgs *const l = &s->msgs[dir];
        for (uint32_t m = 0; m < l->n; m++)
            if (!l->msg[m].handed)
                counts->bytes += dir == ROTA_SEND ? bytes_of(l, m, bytes) : 0;
            else if (!rota_msg_lends(s, (rota_dir)dir, m))
                counts->copied += bytes_of(l, m, bytes);
    }
    for (uint32_t c = 0; c < s->n_copies; c++)
        counts->copied += rota_copy_bytes(s, &s->copy[c], bytes);
}

void rota_sched_count(const rota_sched *s, const size_t bytes[],
                      rota_counts *counts)
{
    const rota_msgs *const sends = &s->msgs[ROTA_SEND];

    *counts = (rota_counts){0};
    for (uint32_t p = 0; p < s->n_phases; p++) {
        const rota_phase *const phase = &s->phase[p];
        for (uint32_t m = phase->msg[ROTA_SEND];
             m < phase[1].msg[ROTA_SEND] && !phase->native; m++)
            ++*(sends->msg[m].handed ? &counts->handed : &counts->messages);
        counts->rounds += phase->native ||
                          phase[1].msg[ROTA_SEND] > phase->msg[ROTA_SEND] ||
                          phase[1].msg[ROTA_RECV] > phase->msg[ROTA_RECV];
    }
    if (bytes)
        count_bytes(s, bytes, counts);
}

size_t rota_sched_memory(const rota_sched *s)
{
    size_t total = s->slot_room * sizeof *s->slot +
                   s->copy_room * sizeof *s->copy +
                   s->phase_room * sizeof *s->phase;

    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        total += s->msgs[dir].msg_room * sizeof *s->msgs[dir].msg +
                 s->msgs[dir].item_room * sizeof *s->msgs[dir].item;
    return total;
}

/* ---- printing ------------------------------------------------------------ */

static void print_block(const rota_sched *s, rota_block b, const size_t bytes[],
                        FILE *out)
{
    static const char *const name[ROTA_N_REGIONS] = {"src", "dst", "tmp"};

    fprintf(out, " %s[%u]", name[rota_block_region(s, b)],
            (unsigned)rota_block_slot(s, b));
    if (bytes)
        fprintf(out, ":%zu", bytes[b]);
}

static void print_msgs(const rota_sched *s, rota_dir dir,
                       const rota_phase *phase, const size_t bytes[], FILE *out)
{
    const rota_msgs *const l = &s->msgs[dir];

    for (uint32_t m = phase->msg[dir]; m < phase[1].msg[dir]; m++) {
        const char *const what =
            l->msg[m].handed   ? dir == ROTA_RECV ? "take from" : "hand to"
            : dir == ROTA_RECV ? "recv from"
                               : "send to";
        fprintf(out, "  %s %d:", what, l->msg[m].peer);
        for (uint32_t i = l->msg[m].first; i < l->msg[m + 1].first; i++)
            print_block(s, l->item[i], bytes, out);
        fputc('\n', out);
    }
}

void rota_sched_print(const rota_sched *s, const size_t bytes[], FILE *out)
{
    fprintf(out, "rank %d of %d: %u phases, %u slots\n", s->me, s->P,
            (unsigned)s->n_phases, (unsigned)s->n_slots);
    for (uint32_t p = 0; p < s->n_phases; p++) {
        const rota_phase *const phase = &s->phase[p];
        fprintf(out, " phase %u", (unsigned)p);
        if (phase->window > 0)
            fprintf(out, ", window %d", phase->window);
        if (phase->flow)
            fputs(", flow", out);
        fputs(phase->native ? ", MPI's own all-to-all\n" : "\n", out);
        for (int dir = 0; dir < ROTA_N_DIRS; dir++)
            print_msgs(s, (rota_dir)dir, phase, bytes, out);
        for (uint32_t c = phase->copy; c < phase[1].copy; c++) {
            fputs("  copy", out);
            print_block(s, s->copy[c].from, bytes, out);
            fputs(" ->", out);
            print_block(s, s->copy[c].to, bytes, out);
            fputc('\n', out);
        }
    }
}
