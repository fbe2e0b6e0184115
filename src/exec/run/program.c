/* program.c - see program.h. */
#include "exec/run/program.h"
#include "exec/move/accumulate.h"
#include "exec/move/blocks.h"
#include "exec/move/clock.h"
#include "exec/move/contest.h"
#include "exec/payload/carried.h"
#include "exec/payload/parcels.h"
#include "exec/step/steps.h"

#include <stdalign.h>
#include <stdlib.h>

#define ROTA_PATH(name, source) extern const rota_path rota_path_##name;
#include "exec/paths.h"

const rota_path *const rota_paths[ROTA_N_PATHS] = {
#define ROTA_PATH(name, source) &rota_path_##name,
#include "exec/paths.h"
};

#define ROTA_PAYLOAD(name, source)                                             \
    extern const rota_payload rota_payload_##name;
#include "exec/payloads.h"

const rota_payload *const rota_payloads[ROTA_N_PAYLOADS] = {
#define ROTA_PAYLOAD(name, source) &rota_payload_##name,
#include "exec/payloads.h"
};

/* Where the next entry of each array is written. */
typedef struct writer {
    rota_program *p;
    uint32_t batch, message, copy;
} writer;

/* ---- batches ------------------------------------------------------------- */

/* Write batches for the messages of one path and direction, in list order. A new
 * batch begins where the payload changes, which keeps the order of each pair. */
static void write_group(const rota_exec *x, const rota_phase *phase,
                        const rota_path *via, rota_dir dir, writer *w,
                        rota_step *step)
{
    rota_batch *b = NULL;

    for (uint32_t m = phase->msg[dir]; m < phase[1].msg[dir]; m++) {
        const rota_op *const op = &x->program.op[dir][m];
        if (op->via != via)
            continue;
        if (!b || b->payload != op->payload) {
            b = &w->p->batch[w->batch++];
            *b = (rota_batch){.via = op->via,
                              .payload = op->payload,
                              .dir = dir,
                              .message = &w->p->message[w->message],
                              .open = &w->p->open[w->message]};
            step->n_batches++;
        }
        w->p->message[w->message++] = m;
        b->n++;
    }
}

/* ---- copies -------------------------------------------------------------- */

/* Is the copy made in the run? An exchange collects its receive blocks later,
 * from where they are; a copy out of parcels notes where that is. A rank's own block
 * may be combined from where it is. */
static bool is_made(const rota_exec *x, const rota_copy *k)
{
    if (x->accumulation &&
        rota_accumulation_spares(x->accumulation, x->blocks.s, k))
        return false;
    return !x->counts_unknown ||
           rota_block_region(x->blocks.s, k->to) != ROTA_DST ||
           rota_block_is_shared(x->blocks.s, k->from);
}

/* Is it a copy of plain bytes, known before a run begins? */
static bool is_plain(const rota_exec *x, const rota_copy *k)
{
    const bool known =
        x->fixed || (rota_block_region(x->blocks.s, k->from) == ROTA_SRC &&
                     rota_block_region(x->blocks.s, k->to) == ROTA_DST);

    return known && rota_type_is_bytes(rota_block_type(&x->blocks, k->from)) &&
           rota_type_is_bytes(rota_block_type(&x->blocks, k->to));
}

static void write_moves(const rota_exec *x, rota_step *step)
{
    for (uint32_t i = 0; i < step->n_copies; i++) {
        const rota_copy *const k = &step->copy[i];
        step->move[i] = (rota_move){
            .to = rota_block_at(&x->blocks, k->to),
            .from = rota_block_at(&x->blocks, k->from),
            .bytes = rota_copy_bytes(x->blocks.s, k, x->blocks.bytes)};
    }
}

static void write_copies(const rota_exec *x, const rota_phase *phase, writer *w,
                         rota_step *step)
{
    bool plain = true;

    step->copy = &w->p->copy[w->copy];
    for (uint32_t c = phase->copy; c < phase[1].copy; c++) {
        if (!is_made(x, &x->blocks.s->copy[c]))
            continue;
        plain = plain && is_plain(x, &x->blocks.s->copy[c]);
        w->p->copy[w->copy++] = x->blocks.s->copy[c];
        step->n_copies++;
    }
    step->copying = (uint8_t)(!plain     ? ROTA_COPIES_ANY
                              : x->fixed ? ROTA_COPIES_BOUND
                                         : ROTA_COPIES_PLAIN);
    step->move = &w->p->move[w->copy - step->n_copies];
    if (step->copying == ROTA_COPIES_BOUND)
        write_moves(x, step);
}

/* In place: move the send blocks out of the way of arriving data. */
static int move_out(rota_exec *x)
{
    for (int d = 0; d < x->blocks.s->n_send; d++) {
        const rota_block to = rota_src(x->blocks.s, d),
                         from = rota_dst(x->blocks.s, d);
        if (x->blocks.bytes[to] > 0)
            ROTA_TRY(rota_block_pack(&x->blocks, from,
                                     rota_block_at(&x->blocks, to)));
    }
    return MPI_SUCCESS;
}

/* The path by which this rank lends memory; NULL: none. */
static const rota_path *find_lending(const rota_exec *x)
{
    for (int i = 0; i < ROTA_N_PATHS; i++)
        if (x->path[i] && rota_paths[i]->lends && rota_paths[i]->lends(x))
            return rota_paths[i];
    return NULL;
}

static bool is_asked(const rota_contest *c)
{
    return c && c->asked;
}

static void begin_contest(rota_contest *c, uint32_t run)
{
    if (is_asked(c))
        rota_contest_begin(c, run,
                           rota_contest_needs_time(c, run) ? rota_now_ns() : 0);
}

static void begin_contests(rota_exec *x)
{
    const uint32_t run = x->run.number / 2;

    begin_contest(x->contest, run);
    begin_contest(x->stores, run + ROTA_CONTEST_APART);
}

static int prepare(rota_exec *x)
{
    if (x->stage_in)
        ROTA_TRY(move_out(x));
    if (rota_has_parcels(x) && !find_lending(x))
        rota_parcels_empty(x);
    if (x->program.contested)
        begin_contests(x);
    return x->gate && x->gate->begin ? x->gate->begin(x) : MPI_SUCCESS;
}

/* The rank's value is read last: what failed before has not begun. */
static int prepare_carrying(rota_exec *x)
{
    ROTA_TRY(prepare(x));
    return rota_carried_begin(x);
}

static void choose_prepare(rota_exec *x)
{
    x->program.contested = is_asked(x->contest) || is_asked(x->stores);
    const bool prepares =
        x->stage_in || rota_has_parcels(x) || x->program.contested || x->gate;

    if (x->carried)
        x->program.prepare = prepares ? prepare_carrying : rota_carried_begin;
    else
        x->program.prepare = prepares ? prepare : NULL;
}

void rota_exec_stage_in(rota_exec *x, bool stage_in)
{
    x->stage_in = stage_in;
    choose_prepare(x);
}

static void contest(rota_exec *x, rota_contest *c, bool direct)
{
    rota_contest_ask(c, direct);
    choose_prepare(x);
}

/* ---- steps --------------------------------------------------------------- */

/* Does the window bound anything? One that holds all messages of a phase does
 * not. */
static bool is_bounded(const rota_phase *phase)
{
    for (int dir = 0; phase->window > 0 && dir < ROTA_N_DIRS; dir++)
        if (phase[1].msg[dir] - phase->msg[dir] > (uint32_t)phase->window)
            return true;
    return false;
}

static const rota_step_kind *kind_of(const rota_phase *phase)
{
    if (phase->native)
        return &rota_step_collective;
    if (phase->sparse)
        return &rota_step_sparse;
    if (phase->flow)
        return &rota_step_flow;
    return is_bounded(phase) ? &rota_step_window : &rota_step_bulk;
}

static void write_step(const rota_exec *x, const rota_phase *phase, writer *w,
                       rota_step *step)
{
    *step = (rota_step){.kind = kind_of(phase),
                        .phase = phase,
                        .batch = &w->p->batch[w->batch]};
    for (int i = 0; i < ROTA_N_PATHS && !phase->native; i++) {
        const rota_path *const via = rota_paths[i];
        write_group(x, phase, via, via->first, w, step);
        write_group(x, phase, via, (rota_dir)!via->first, w, step);
    }
    write_copies(x, phase, w, step);
}

bool rota_step_is_at_once(const rota_step *step)
{
    return step->kind == &rota_step_bulk || step->kind == &rota_step_collective;
}

/* Does the phase receive messages into shared blocks that are not handed
 * over? */
static bool fills_shared(const rota_exec *x, const rota_phase *phase)
{
    for (uint32_t m = phase->msg[ROTA_RECV]; m < phase[1].msg[ROTA_RECV]; m++)
        if (rota_msg_lends(x->blocks.s, ROTA_RECV, m) &&
            !rota_message_is_handed(x, ROTA_RECV, m))
            return true;
    return false;
}

/* Do messages of the phase, which does not pass on values itself, bring values that
 * go on? */
static bool brings_values(const rota_exec *x, const rota_phase *phase)
{
    if (!x->carried || phase->flow)
        return false;
    for (uint32_t m = phase->msg[ROTA_RECV]; m < phase[1].msg[ROTA_RECV]; m++)
        if (x->carried->from[m])
            return true;
    return false;
}

static void write_steps(rota_exec *x, writer *w)
{
    rota_program *const p = &x->program;
    const rota_path *const lending = find_lending(x);
    bool reclaimed = !lending;

    for (uint32_t i = 0; i < x->blocks.s->n_phases; i++) {
        const rota_phase *const phase = &x->blocks.s->phase[i];
        if (!reclaimed && fills_shared(x, phase)) {
            *p->end++ = (rota_step){.kind = lending->reclaim};
            reclaimed = true;
        }
        write_step(x, phase, w, p->end++);
        if (brings_values(x, phase))
            *p->end++ = (rota_step){.kind = &rota_step_take};
    }
    if (lending)
        *p->end++ = (rota_step){.kind = lending->finish};
    if (x->accumulation)
        *p->end++ = (rota_step){.kind = &rota_step_accumulate};
}

/* A program has at most two steps for each phase and four more, and at most as many
 * batches as messages. */
static int allocate(rota_exec *x)
{
    const size_t n =
        (size_t)x->blocks.s->msgs[ROTA_RECV].n + x->blocks.s->msgs[ROTA_SEND].n;
    rota_program *const p = &x->program;

    p->step = aligned_alloc(alignof(rota_step),
                            (2 * (size_t)x->blocks.s->n_phases + 4) *
                                sizeof *p->step);
    p->end = p->step;
    p->batch = aligned_alloc(alignof(rota_batch), (n + 1) * sizeof *p->batch);
    p->message = malloc((n + 1) * sizeof *p->message);
    p->open = malloc((n + 1) * sizeof *p->open);
    p->copy = malloc(((size_t)x->blocks.s->n_copies + 1) * sizeof *p->copy);
    p->move = malloc(((size_t)x->blocks.s->n_copies + 1) * sizeof *p->move);
    return p->step && p->batch && p->message && p->open && p->copy && p->move
               ? MPI_SUCCESS
               : rota_fail_mem("a program");
}

/* The number of batches is known: give back surplus memory. */
static void shrink(rota_program *p, uint32_t n_batches)
{
    rota_batch *const before = p->batch;
    rota_batch *const fewer = aligned_alloc(
        alignof(rota_batch), (n_batches + (size_t)1) * sizeof *fewer);

    if (!fewer)
        return;
    memcpy(fewer, before, n_batches * sizeof *fewer);
    for (rota_step *step = p->step; step < p->end; step++)
        if (step->batch)
            step->batch = fewer + (step->batch - before);
    p->batch = fewer;
    free(before);
}

/* Is it the last one, or only followed by one that combines, which no other rank
 * waits for? */
static bool is_last(const rota_exec *x, const rota_step *step)
{
    return step + 1 == x->program.end ||
           (step + 2 == x->program.end && x->accumulation);
}

/* Only the last step can wait: any other must move on for the next one to
 * begin. */
static void resolve_all(rota_exec *x)
{
    for (rota_step *step = x->program.step; step < x->program.end; step++) {
        bool all = step->kind == &rota_step_bulk && step->n_batches > 0;
        for (uint32_t k = 0; k < step->n_batches; k++)
            all = step->batch[k].via->resolve(x, &step->batch[k]) && all;
        step->can_wait = all && is_last(x, step);
    }
}

/* The program's own steps need no gate. */
static int put_gate(rota_exec *x)
{
    rota_program *const p = &x->program;

    for (rota_step *step = p->step; step < p->end; step++)
        if (step->phase)
            ROTA_TRY(rota_step_gate(x, step));
    *p->end++ = (rota_step){.kind = &rota_step_gate_end};
    choose_prepare(x);
    return MPI_SUCCESS;
}

int rota_exec_gate(rota_exec *x)
{
    const int err = put_gate(x);

    x->status.broken = x->status.broken || err != MPI_SUCCESS;
    return err;
}

static bool combines_by_mpi(const rota_exec *x)
{
    return (x->carried && rota_reduction_needs_mpi(&x->carried->what)) ||
           (x->accumulation && rota_operator_needs_mpi(&x->accumulation->what));
}

int rota_program_make(rota_exec *x)
{
    writer w = {.p = &x->program};

    ROTA_TRY(allocate(x));
    write_steps(x, &w);
    shrink(&x->program, w.batch);
    for (rota_step *step = x->program.step; step < x->program.end; step++)
        if (step->kind->bind)
            ROTA_TRY(step->kind->bind(x, step));
    resolve_all(x);
    x->program.contest = contest;
    choose_prepare(x);
    if (x->by_thread && combines_by_mpi(x))
        x->program.by_mpi = true;
    return x->gate ? put_gate(x) : MPI_SUCCESS;
}

void rota_program_free(rota_exec *x)
{
    rota_program *const p = &x->program;

    for (rota_step *step = p->step; step < p->end; step++)
        if (step->kind->unbind)
            step->kind->unbind(x, step);
    free(p->step);
    free(p->batch);
    free(p->message);
    free(p->open);
    free(p->copy);
    free(p->move);
    free(p->area);
    for (int dir = 0; dir < ROTA_N_DIRS; dir++)
        free(p->op[dir]);
    *p = (rota_program){0};
}

void rota_program_rebase(rota_exec *x)
{
    for (rota_step *step = x->program.step; step < x->program.end; step++)
        if (step->copying == ROTA_COPIES_BOUND)
            write_moves(x, step);
}
