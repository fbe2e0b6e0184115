/* describe.c - describes a plan, as text or JSON. */
#include "plan/kinds/describe.h"
#include "choose/device_cost.h"
#include "device/staging.h"
#include "exec/memory/lending.h"
#include "exec/move/accumulate.h"
#include "exec/move/contest.h"
#include "exec/move/copy.h"
#include "exec/payload/sized.h"
#include "exec/run/typed.h"
#include "plan/kinds/memory.h"
#include "plan/kinds/scaled.h"
#include "plan/ranks/topo_detect.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add_text(cJSON *o, const char *key, const char *value)
{
    return cJSON_AddStringToObject(o, key, value) != NULL;
}

static bool add_number(cJSON *o, const char *key, double value)
{
    return cJSON_AddNumberToObject(o, key, value) != NULL;
}

static bool add_params(cJSON *o, const rota_choice *choice)
{
    bool ok = true;

    for (int i = 0; i < ROTA_N_PARAMS; i++)
        if (choice->algo->params & rota_param_table[i].bit)
            ok = ok && add_number(o, rota_param_table[i].name,
                                  rota_param_value(&choice->params,
                                                   &rota_param_table[i]));
    if (choice->algo->params & ROTA_P_PACKING)
        ok = ok && add_text(o, "packing",
                            choice->params.by_datatype ? "datatype" : "pack");
    return ok;
}

static bool add_choice(cJSON *o, const rota_plan *p)
{
    return add_text(o, "kind", rota_kind_name(p->task.kind->kind)) &&
           add_text(o, "algorithm", p->built.choice.algo->name) &&
           add_text(o, "summary", p->built.choice.algo->summary) &&
           add_text(o, "source", p->built.choice.algo->source) &&
           add_text(o, "chosen", p->decision.why) &&
           (!p->task.partitioned ||
            cJSON_AddBoolToObject(o, "partitioned", true)) &&
           (!p->task.packer.pack ||
            cJSON_AddBoolToObject(o, "packed_by_function", true)) &&
           (!p->task.packer.unpack ||
            cJSON_AddBoolToObject(o, "unpacked_by_function", true)) &&
           add_params(o, &p->built.choice) &&
           add_text(o, "metadata",
                    rota_metadata_words.word[p->built.choice.metadata]);
}

/* Neighbours: where blocks go to and come from. */
static bool add_neighbors(cJSON *o, const rota_plan *p)
{
    const rota_neighbors *const n = p->task.problem.neighbors;

    return !n || (add_number(o, "destinations", n->n_sent) &&
                  add_number(o, "sources", n->n_received));
}

static int smallest_node(const rota_topo *t)
{
    int least = t->P;

    for (int n = 0; n < t->n_nodes; n++)
        if (rota_topo_node_size(t, n) < least)
            least = rota_topo_node_size(t, n);
    return least;
}

/* Nodes as the algorithm sees them; domain -1: the rank is not bound to one. */
static bool add_place(cJSON *o, const rota_plan *p)
{
    const rota_topo *const t = p->task.topo;
    const int me = p->comm->me;

    return add_number(o, "ranks", p->comm->P) && add_number(o, "rank", me) &&
           add_number(o, "nodes", t->n_nodes) &&
           cJSON_AddBoolToObject(o, "nodes_pretended", t != &p->comm->topo) &&
           add_number(o, "node", t->node[me]) &&
           add_number(o, "ranks_on_node",
                      rota_topo_node_size(t, t->node[me])) &&
           add_number(o, "ranks_per_node_min", smallest_node(t)) &&
           add_number(o, "ranks_per_node_max", rota_topo_largest_node(t)) &&
           add_number(o, "domains_per_node", t->n_domains) &&
           add_number(o, "domain", t->domain[me]) &&
           add_number(o, "cores_on_node", rota_topo_cores());
}

/* The number of ranks of the node that share no memory with this one. */
static int count_apart(const rota_plan *p)
{
    const rota_node *const node = p->comm->node;
    int n = 0;

    for (int i = 0; i < node->n; i++)
        n += i != node->me && !node->near[i].peer;
    return n;
}

/* Why MPI carries some messages within the node on this rank; NULL: none. */
static const char *why_apart(const rota_plan *p)
{
    if (p->built.no_room)
        return "no room in shared memory: MPI carries what this rank receives";
    if (count_apart(p) == 0)
        return NULL;
    return p->comm->node_why[0] ? p->comm->node_why
                                : "a rank of the node cannot share memory";
}

/* Do long blocks of such memory go directly? By a hint, or by what runs have found
 * out. */
static const char *goes_directly(const rota_plan *p, bool shared)
{
    const rota_contest *const c = p->built.exec.contest;
    const int hint = shared ? p->task.copied_once_from : p->task.attached_from;

    if (!c || hint > 0)
        return "used";
    if (!c->asked || c->first != shared)
        return shared ? "used"
                      : "not used: no long block of private memory was sent";
    if (!c->judged)
        return shared ? "used: the plan has run too seldom to try without"
                      : "not used: the plan has run too seldom to try it";
    return c->won ? "used: it was faster when last tried"
                  : "not used: it was not faster when last tried";
}

/* What the kernel copies from private memory. */
static bool add_attached(cJSON *o, const rota_plan *p)
{
    const char *why;
    const size_t from = rota_task_attach_from(&p->task, &why);
    const bool is_short = from < SIZE_MAX && p->task.largest < from;

    return add_text(o, "cross_memory",
                    is_short ? "not used: blocks are short"
                    : why    ? why
                             : goes_directly(p, false)) &&
           (from == SIZE_MAX || add_number(o, "attached_from", (double)from));
}

/* How long pieces of the pool are written, and why so. */
static bool add_pieces(cJSON *o, const rota_plan *p)
{
    const rota_contest *const c = p->built.exec.stores;
    const bool past = c && c->asked ? c->won : rota_copy_streams_well;
    const char *const why = !c           ? "ranks share cores"
                            : !c->judged ? "the plan has run too seldom"
                                         : "it was faster when last tried";
    char text[80];

    if (!c && !p->comm->crowded)
        return true; /* none of its messages goes by the pool */
    snprintf(text, sizeof text, "%s: %s",
             past ? "past the caches" : "through the caches", why);
    return add_text(o, "pieces", text);
}

/* How messages travel within the node, and why. */
static bool add_transport(cJSON *o, const rota_plan *p)
{
    const bool shares =
        !p->built.node_why && count_apart(p) + 1 < p->comm->node->n;
    const char *const why =
        p->built.node_why ? p->built.node_why : why_apart(p);
    const rota_path_facts facts = rota_exec_facts(&p->built.exec);

    if (!add_text(o, "intranode", shares ? "shm" : "p2p") ||
        (why && !add_text(o, "intranode_why", why)))
        return false;
    return !shares ||
           (add_number(o, "ranks_apart", count_apart(p)) &&
            add_number(o, "shared_bytes", (double)facts.bytes) &&
            add_pieces(o, p) &&
            (facts.read_from == 0 ||
             (add_number(o, "copied_once_from", (double)facts.read_from) &&
              add_text(o, "copied_once", goes_directly(p, true)) &&
              add_attached(o, p))));
}

/* What advances the plan while the program is not in a call of Rota's. */
static bool add_progress(cJSON *o, const rota_plan *p)
{
    const char *const needed = rota_built_needs_calls(&p->built);
    const rota_progress found = needed ? ROTA_PROGRESS_CALLS : p->task.progress;

    return add_text(o, "progress", rota_progress_words.word[found]) &&
           add_text(o, "progress_why", needed ? needed : "asked for by a hint");
}

static bool add_candidate(cJSON *list, const rota_candidate *candidate)
{
    cJSON *const o = cJSON_CreateObject();
    char name[80];

    rota_choice_name(&candidate->choice, name, sizeof name);
    if (!o || !cJSON_AddItemToArray(list, o)) {
        cJSON_Delete(o);
        return false;
    }
    return add_text(o, "candidate", name) &&
           (candidate->predicted < 0 ||
            add_number(o, "predicted_us", candidate->predicted / 1e3)) &&
           (candidate->measured < 0 ||
            add_number(o, "measured_us", candidate->measured / 1e3));
}

/* The candidates, with what they were expected or seen to take. */
static bool add_candidates(cJSON *o, const rota_plan *p)
{
    cJSON *const list = cJSON_AddArrayToObject(o, "candidates");

    for (int i = 0; list && i < p->decision.candidates.n; i++)
        if (!add_candidate(list, &p->decision.candidates.item[i]))
            return false;
    return list && (p->comm->learnt.note[0] == '\0' ||
                    add_text(o, "tuning_ignored", p->comm->learnt.note));
}

/* All blocks, and the library copies them. */
static bool copies_on_device(const rota_plan *p)
{
    return p->task.use.on[ROTA_SRC] && p->task.use.on[ROTA_DST] &&
           p->built.choice.device != ROTA_DEVICE_AWARE;
}

void rota_plan_terms(const rota_plan *p, rota_terms step[ROTA_STEPS])
{
    const rota_sched *const s = &p->built.sched;
    const rota_tuning *const tuning = &p->comm->learnt.tuning;
    const rota_run_kind how = {
        .topo = p->task.topo,
        .network = tuning->has_machine ? &tuning->machine.network : NULL,
        .native = !tuning->has_machine || tuning->machine.native,
        .metadata = p->built.choice.metadata,
        .known = p->task.kind->kind == ROTA_VARYING,
        .exact = true,
        .leaders = rota_choice_leaders(&p->built.choice, p->task.topo),
        .shared = !p->built.node_why,
        .load = rota_comm_load(p->comm),
        .density = 1};
    const size_t *const cell = p->built.exec.blocks.bytes;
    double *const bytes = /* a sparse plan names no block */
        cell ? malloc(((size_t)s->n_blocks + 1) * sizeof *bytes) : NULL;

    for (rota_block b = 0; bytes && b < s->n_blocks; b++)
        bytes[b] = (double)rota_cell_bytes(cell[b]);
    if (!bytes || rota_choice_count(&p->built.choice, copies_on_device(p), s,
                                    bytes, &how, step) != MPI_SUCCESS)
        memset(step, 0, ROTA_STEPS * sizeof *step);
    free(bytes);
}

/* How often each term occurs on this rank. */
static bool add_terms(cJSON *o, const rota_plan *p)
{
    cJSON *const list = cJSON_AddObjectToObject(o, "terms");
    rota_terms step[ROTA_STEPS];

    rota_plan_terms(p, step);
    for (int t = 0; list && t < ROTA_TERM_MEANWHILE; t++) {
        double n = 0;
        for (int i = 0; i < ROTA_STEPS; i++)
            n += rota_terms_priced(&step[i], t);
        if (n > 0 && !add_number(list, rota_term_name(t), n))
            return false;
    }
    return list != NULL;
}

static bool add_staging(cJSON *o, const rota_plan *p)
{
    bool pinned;
    double down, exchange, up;
    const size_t bytes = rota_staging_bytes(&p->built.exec, &pinned);

    rota_staging_times(&p->built.exec, &down, &exchange, &up);
    return add_number(o, "staging_bytes", (double)bytes) &&
           cJSON_AddBoolToObject(o, "staging_pinned", pinned) &&
           add_number(o, "last_down_us", down) &&
           add_number(o, "last_exchange_us", exchange) &&
           add_number(o, "last_up_us", up);
}

static const char *why_this_path(const rota_plan *p)
{
    if (p->task.use.asked)
        return "asked for by a hint";
    if (p->built.choice.device == ROTA_DEVICE_IPC)
        return "ranks can open each other's memory";
    if (p->task.use.ipc_why[0])
        return p->task.use.ipc_why;
    if (!p->task.use.ipc)
        return "another rank's blocks cannot go from device to device";
    if (!rota_algo_is_direct(p->built.choice.algo))
        return "the algorithm moves blocks through memory of the host";
    return p->comm->device_sharers > 1
               ? "ranks share a device by time: copies within it wait for turns"
               : "copies from device to device are expected to take longer";
}

/* Which sides are on a device (of a varying plan: in its last start), and how
 * their blocks travel.
 */
static bool add_device(cJSON *o, const rota_plan *p)
{
    static const char *const sides[] = {"none", "send", "receive",
                                        "send and receive"};
    const int on = p->task.use.on[ROTA_SRC] + 2 * p->task.use.on[ROTA_DST];
    const rota_device_path path = p->built.choice.device == ROTA_DEVICE_AUTO
                                      ? ROTA_DEVICE_COPY
                                      : p->built.choice.device;

    if (!p->task.use.device)
        return add_text(o, "device", "none") &&
               add_text(o, "device_why", rota_device_why_none());
    return add_text(o, "device", p->task.use.device->name) &&
           add_text(o, "device_buffers", sides[on]) &&
           add_text(o, "device_path", rota_device_words.word[path]) &&
           add_text(o, "device_why", why_this_path(p)) &&
           (p->comm->device_sharers == 0 ||
            add_number(o, "device_sharers", p->comm->device_sharers)) &&
           (!rota_staging_is_on(&p->built.exec) || add_staging(o, p));
}

static size_t add_up(const rota_side *side)
{
    size_t bytes = 0;

    for (int i = 0; i < side->n; i++)
        bytes += side->bytes[i];
    return bytes;
}

/* Sizes of a varying plan are those of its last start. */
static bool add_work(cJSON *o, const rota_plan *p)
{
    const rota_built *const b = &p->built;
    const rota_exec *const x = &b->exec;
    const bool fixed = p->task.kind->fixed;
    const size_t packing = x->program.area_bytes;
    const size_t landing = x->accumulation ? x->accumulation->landing_bytes : 0;
    const size_t scratch = b->room.bytes + b->stage_bytes + landing + packing;
    rota_counts n;

    rota_sched_count(&b->sched, fixed ? x->blocks.bytes : NULL, &n);
    return add_number(o, "rounds", (double)n.rounds) &&
           add_number(o, "messages", (double)n.messages) &&
           (!fixed || (add_number(o, "bytes_sent", (double)n.bytes) &&
                       add_number(o, "bytes_copied", (double)n.copied))) &&
           (!x->sizing ||
            add_number(o, "told_bytes", (double)rota_sized_told(x))) &&
           (!x->carried ||
            add_number(o, "reduced_bytes", (double)p->task.reduction.bytes)) &&
           (!x->accumulation ||
            (add_number(o, "combined_bytes",
                        (double)add_up(&p->task.problem.recv)) &&
             add_number(o, "combined_uncopied",
                        (double)rota_accumulation_straight(x->accumulation,
                                                           &x->blocks)))) &&
           (!x->lending ||
            add_number(o, "lent_bytes", (double)x->lending->bytes)) &&
           add_number(o, "scratch_bytes", (double)scratch) &&
           add_number(o, "scratch_slots", (double)b->room.slots) &&
           add_number(o, "packing_bytes", (double)packing) &&
           add_number(o, "schedule_bytes",
                      (double)rota_sched_memory(&b->sched));
}

static int count_types(const rota_types *t, bool unknown)
{
    int n = 0;

    for (size_t i = 0; i < t->n; i++)
        n +=
            !rota_type_is_bytes(&t->type[i]) && !(unknown && t->type[i].layout);
    return n;
}

/* Datatypes that are not plain bytes, and how their elements travel. */
static bool add_types(cJSON *o, const rota_plan *p)
{
    const rota_types *const sent = rota_problem_sent_types(&p->task.problem);
    const rota_types *const received = &p->task.problem.recv.types;
    const int n = count_types(sent, false) + count_types(received, false);

    if (n == 0)
        return true;
    if (!add_number(o, "types_sent", count_types(sent, false)) ||
        !add_number(o, "types_received", count_types(received, false)) ||
        !add_number(o, "types_unknown",
                    count_types(sent, true) + count_types(received, true)))
        return false;
    if (!p->task.kind->fixed || rota_staging_is_on(&p->built.exec) ||
        rota_packer_is_on(&p->task.packer))
        return true;
    const rota_typed_bytes by = rota_typed_count(&p->built.exec);
    return add_number(o, "bytes_straight", (double)by.straight) &&
           add_number(o, "bytes_by_layout", (double)by.by_layout) &&
           add_number(o, "bytes_by_mpi", (double)by.by_mpi);
}

static bool add_bound(cJSON *o, const rota_plan *p)
{
    if (p->task.kind->fixed)
        return cJSON_AddBoolToObject(o, "in_place", p->task.problem.in_place) &&
               cJSON_AddBoolToObject(o, "counts_checked", p->task.checked) &&
               (p->task.largest_unit == 0 ||
                (add_number(o, "unit_bytes",
                            (double)rota_scaled_unit(&p->task)) &&
                 add_number(o, "largest_unit", (double)p->task.largest_unit)));
    if (p->task.max_block == ROTA_UNBOUNDED)
        return add_text(o, "max_block", "unbounded");
    return add_number(o, "max_block", (double)p->task.max_block);
}

static cJSON *collect(const rota_plan *p)
{
    cJSON *const o = cJSON_CreateObject();

    if (o && add_choice(o, p) && add_neighbors(o, p) && add_place(o, p) &&
        add_transport(o, p) && add_progress(o, p) && add_device(o, p) &&
        add_work(o, p) && add_types(o, p) && add_bound(o, p) &&
        add_candidates(o, p) && add_terms(o, p))
        return o;
    cJSON_Delete(o);
    return NULL;
}

enum { KEY_WIDTH = 18, LINE = 256 };

/* Print the values of an object in a line; numbers with their keys. */
static void print_fields(const cJSON *o, char line[LINE])
{
    const cJSON *item;
    size_t used = 0;

    line[0] = '\0';
    cJSON_ArrayForEach(item, o)
    {
        char *const at = line + used;
        const size_t room = LINE - used;
        const int n =
            cJSON_IsString(item)
                ? snprintf(at, room, "%-*s ", KEY_WIDTH + 14, item->valuestring)
                : snprintf(at, room, "%s %.3g ", item->string,
                           item->valuedouble);
        used += (size_t)n < room ? (size_t)n : room - 1;
    }
}

/* Append a line of text, or as much of it as fits. */
static size_t append(char *text, const cJSON *item, const char *key)
{
    char made[LINE];
    const char *value = made;

    if (cJSON_IsString(item))
        value = item->valuestring;
    else if (cJSON_IsBool(item))
        value = cJSON_IsTrue(item) ? "yes" : "no";
    else if (cJSON_IsObject(item))
        print_fields(item, made);
    else
        snprintf(made, sizeof made, "%.0f", item->valuedouble);
    const int n = snprintf(text, LINE, "%-*s %.*s\n", KEY_WIDTH, key,
                           LINE - KEY_WIDTH - 3, value);
    return n < LINE ? (size_t)n : (size_t)LINE - 1;
}

static size_t count_lines(const cJSON *o)
{
    const cJSON *item;
    size_t n = 0;

    cJSON_ArrayForEach(item, o)
    {
        n += cJSON_IsArray(item) ? (size_t)cJSON_GetArraySize(item) : 1;
    }
    return n;
}

/* One line per key or, for a list, per item. Terms are left out: they are for
 * machines to read. */
static char *as_text(const cJSON *o)
{
    const cJSON *item, *part;
    size_t used = 0;
    char *const text = malloc(count_lines(o) * LINE + 1);

    if (!text)
        return NULL;
    cJSON_ArrayForEach(item, o)
    {
        if (cJSON_IsArray(item)) {
            cJSON_ArrayForEach(part, item)
            {
                used += append(text + used, part, "candidate");
            }
        } else if (!cJSON_IsObject(item)) {
            used += append(text + used, item, item->string);
        }
    }
    return text;
}

int rota_text_give(char *text, const char *what, char *buf, size_t *len)
{
    if (!text)
        return rota_fail_mem(what);
    if (*len > 0)
        snprintf(buf, *len, "%s", text);
    *len = strlen(text) + 1;
    free(text);
    return MPI_SUCCESS;
}

int rota_describe(const rota_plan *plan, int format, char *buf, size_t *len)
{
    cJSON *const o = collect(plan);
    char *text = NULL;

    if (o)
        text = format == ROTA_DESCRIBE_JSON ? cJSON_PrintUnformatted(o)
                                            : as_text(o);
    cJSON_Delete(o);
    return rota_text_give(text, "a description", buf, len);
}

void rota_explain(const rota_plan *plan)
{
    const char *const wanted = getenv("ROTA_EXPLAIN");
    cJSON *const o = plan->comm->me == 0 && wanted && strcmp(wanted, "1") == 0
                         ? collect(plan)
                         : NULL;
    char *const text = o ? as_text(o) : NULL;

    if (text)
        fprintf(stderr, "rota: a plan\n%s", text);
    cJSON_Delete(o);
    free(text);
}
