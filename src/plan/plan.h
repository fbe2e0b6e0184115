/* plan.h - a plan, and what all plans on one communicator share. */
#ifndef ROTA_PLAN_H
#define ROTA_PLAN_H

#include "algos/algo.h"
#include "base/problem.h"
#include "base/topo.h"
#include "choose/tuning.h"
#include "device/layout.h"
#include "exec/exec.h"
#include "rota.h"

enum { ROTA_MAX_PRICES = 40 }; /* candidates that are compared */

/* ---- hints.c ------------------------------------------------------------- */

enum { ROTA_PATH = 512 }; /* bytes of a path, with terminator */

typedef struct rota_hints {
    const rota_algo *algo; /* NULL: no wish */
    int batch;             /* 0: no wish, as for radix and leaders */
    int radix;
    int leaders;
    int node_size; /* 0: nodes as they are */
    int metadata;  /* rota_metadata, or -1: no wish */
    bool by_datatype;
    bool check;
    rota_intranode intranode;
    int copied_once_from; /* bytes; 0: no wish */
    bool by_thread;       /* the progress thread is to move the plan on, too */
    rota_device_path device;
    bool measure;                /* candidates, not only price them */
    int measure_ms;              /* for about that long */
    char tuning_file[ROTA_PATH]; /* "": the usual ones */
} rota_hints;

typedef struct rota_hint {
    const char *key, *variable; /* of MPI_Info and of the environment */
    const char *values;         /* that are valid, as errors list them */
    const char *usual;
    int (*read)(const char *key, const char *value, rota_hints *hints);
} rota_hint;

extern const rota_hint rota_hint_table[]; /* the last entry's key is NULL */

/* Variables of the environment that are no hints. */
typedef struct rota_variable {
    const char *name, *meaning;
} rota_variable;

extern const rota_variable rota_variable_table[]; /* the last name is NULL */

/* Have rank 0 of the program print, once, which variables of its environment
 * look like Rota's and are not. Local. */
void rota_variables_check(void);

int rota_hints_read(MPI_Info info, rota_hints *hints);

/* A hash with a value in it. */
static inline uint64_t rota_mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * 0x100000001b3u + 0x9e3779b97f4a7c15u;
}

/* Another number for each, in which every bit depends on all (splitmix64). */
static inline uint64_t rota_scramble(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Append to a list of names, in size bytes, as long as there is room. */
void rota_append_name(char *list, size_t size, const char *name);

uint64_t rota_hints_hash(const rota_hints *hints);

/* What all ranks must have alike: as many values of the same names. */
enum { ROTA_MOST_ALIKE = 24 };

typedef struct rota_alike {
    int n;
    const char *what[ROTA_MOST_ALIKE]; /* borrowed */
    uint64_t value[ROTA_MOST_ALIKE];
} rota_alike;

static inline void rota_alike_add(rota_alike *a, const char *what,
                                  uint64_t value)
{
    ROTA_ASSERT(a->n < ROTA_MOST_ALIKE);
    a->what[a->n] = what;
    a->value[a->n++] = value;
}

static inline uint64_t rota_alike_hash(const rota_alike *a)
{
    uint64_t h = 0;

    for (int i = 0; i < a->n; i++)
        h = rota_mix(h, a->value[i]);
    return h;
}

/* Add each hint, by its key. */
void rota_hints_alike(const rota_hints *hints, rota_alike *alike);
const char *rota_metadata_name(rota_metadata metadata);
const char *rota_intranode_name(rota_intranode intranode);
const char *rota_device_path_name(rota_device_path path);

/* ---- choose.c ------------------------------------------------------------ */

/* Messages in flight in each direction when nobody asks otherwise: what MPICH
 * allows itself in its scattered exchange. */
enum { ROTA_USUAL_BATCH = 32 };

int rota_usual_radix(int P); /* about sqrt(P): two phases */

/* The largest radix that makes a difference: how many ranks there are, members
 * of a node, or nodes. */
int rota_largest_radix(const rota_algo *algo, const rota_topo *topo);

/* What a plan is to be made for, the same on all ranks. */
typedef struct rota_plan_kind {
    const rota_topo *topo;
    rota_kind kind;
    size_t max_block;
    bool native_free; /* a collective of MPI's can be had */
    bool ipc;         /* blocks can go from device to device */
} rota_plan_kind;

/* All that hints say of an algorithm, hints->algo, and what is usual for the
 * rest. Fails if it is not for this kind of plan. */
int rota_choose(const rota_hints *hints, const rota_plan_kind *what,
                rota_choice *choice);

/* ---- candidates.c -------------------------------------------------------- */

typedef struct rota_candidate {
    rota_choice choice;
    double predicted, measured; /* nanoseconds; negative: not known */
} rota_candidate;

typedef struct rota_candidates {
    rota_candidate item[ROTA_MAX_PRICES];
    int n; /* at least 1 */
} rota_candidates;

/* Choices that hints leave open. Local; the same on all ranks. */
int rota_candidates_find(const rota_hints *hints, const rota_plan_kind *what,
                         rota_candidates *list);

/* Which it is to be: what was measured counts more than what was priced. */
const rota_candidate *rota_candidates_best(const rota_candidates *list);

/* ---- decide.c ------------------------------------------------------------ */

/* All that a decision on a communicator depends on, sizes to a quarter of an
 * octave. Compared as bytes: there is no padding in it. */
typedef struct rota_decision_key {
    uint64_t hints;
    int kind, how, largest, mean, density, imbalance;
} rota_decision_key;

enum { ROTA_DECISIONS = 16 };

typedef struct rota_decision {
    rota_decision_key key;
    rota_choice choice;
    const char *why;
    rota_candidates candidates;
} rota_decision;

/* Choose for p, whose stats and topo are known, what hints leave open: as the
 * tuning says, as was chosen before for the like, by measurement if asked for
 * (whatever the tuning says), or by price. native_free: a collective of MPI's
 * can be had. Collective; every failure is agreed on. */
int rota_decide(struct rota_plan *p, const rota_hints *hints, bool native_free);

/* The terms of a run of p on this rank. */
void rota_plan_terms(const struct rota_plan *p, rota_terms step[ROTA_STEPS]);

/* ---- comm.c: one per user communicator, cached as its attribute ---------- */

/* Plans with a native phase need a communicator each while they live, because
 * two collectives started in different orders on one would be mixed up. MPICH
 * has about 2,000 communicators in all. */
enum { ROTA_MAX_NATIVE = 64 };

typedef struct rota_comm {
    MPI_Comm user;   /* for its error handler only */
    bool user_alive; /* not freed by the user yet */
    MPI_Comm dup;    /* carries all messages; errors are returned */
    int refs;        /* the attribute and every plan; under a lock, with ids
                        and native_used */
    int P, me;
    int cores;       /* of the node that has fewest */
    bool crowded;    /* more ranks than cores on this rank's node */
    rota_topo topo;  /* as it is: what ranks of a node can do is up to it */
    rota_node *node; /* NULL: there is no shared memory; node_why says why */
    bool node_tried;
    char node_why[ROTA_ERR_TEXT];
    bool has_thread; /* the progress thread is held for its plans */
    int next_id;     /* of a plan */
    int max_id;
    struct rota_id *live_ids; /* uthash, of plans that live on this rank */
    rota_decision decision[ROTA_DECISIONS]; /* the last ones */
    unsigned n_decisions;                   /* made so far */
    MPI_Comm native[ROTA_MAX_NATIVE];       /* made when first needed */
    uint64_t native_used; /* bit i: a plan of this rank has native[i] */
    rota_tuning tuning;   /* the same on all ranks, as all about it */
    bool tuning_tried;    /* plans need not look for a file any more */
    char *tuning_path;    /* of the file it is from; NULL: of none */
    char tuning_note[ROTA_ERR_TEXT]; /* a file found was ignored, and why */
} rota_comm;

/* Find or make the state of a communicator. Collective when it is made; active
 * plans advance meanwhile. */
int rota_comm_get(MPI_Comm user, rota_comm **c);
/* Find it; NULL if it has not been made. Local. */
int rota_comm_find(MPI_Comm user, rota_comm **c);
void rota_comm_retain(rota_comm *c);
void rota_comm_release(rota_comm *c);

/* The plan's id: proposed by all ranks alike, refused by those on which a
 * plan that has not been freed yet holds it. Its messages have the tags 4 id
 * to 4 id + 3. Local. */
bool rota_comm_id_taken(rota_comm *c, int id);
int rota_comm_id_take(rota_comm *c, int id);
void rota_comm_id_drop(rota_comm *c, int id);
static inline int rota_comm_id_after(const rota_comm *c, int id)
{
    return id == c->max_id ? 1 : id + 1; /* 0 is for agreement */
}

/* See that there is a progress thread while c is there. False: the system gives
 * none. Local. */
bool rota_comm_hold_thread(rota_comm *c);

void rota_comm_native_drop(rota_comm *c, int i);

/* Take native communicator i. Collective if it has not been made yet; then a
 * failure is agreed on. */
int rota_comm_native(rota_comm *c, int i, MPI_Comm *native);

/* ---- node.c -------------------------------------------------------------- */

/* Map the memory of the ranks of the node, unless it has been tried. That it
 * cannot be done is no failure. Collective. */
int rota_comm_open_node(rota_comm *c);

/* Some ranks could not map what others have since added to their memory: from now
 * on those pairs share none. Collective. */
int rota_comm_part_node(rota_comm *c);

/* Map what others have added. Returns whether all could be. Local. */
bool rota_comm_update_node(const rota_comm *c);
void rota_node_free(rota_node *node); /* node may be NULL */

/* Give mine to n ranks, this one among them, and put theirs into cards, in
 * their order; bytes each. If the status is an error on one rank, all fail.
 * Collective over c, whose ranks may do so in groups. */
int rota_swap_cards(const rota_comm *c, const int rank[], int n, int status,
                    const void *mine, void *cards, size_t bytes);

/* ---- tuning_file.c ------------------------------------------------------- */

/* See that the communicator has the tuning of a file. path: the same on all
 * ranks, or NULL for ROTA_TUNING_FILE of rank 0's environment or, without it,
 * the user's file or the system's. Nothing is done if the file named has been
 * read before or, without a name, if any has been looked for. A file that was
 * asked for and cannot be used is an error; another one is ignored, with a
 * note. Only rank 0 touches files. Collective. */
int rota_comm_load_tuning(rota_comm *c, const char *path);

/* The tuning of a file or text in the place of what there is. path, as above,
 * and text are rank 0's. Collective; every failure is agreed on. */
int rota_comm_read_tuning(rota_comm *c, const char *path);
int rota_comm_take_tuning(rota_comm *c, const char *text);

/* Rank 0 writes, all at once, to its path or, if that is NULL, to the user's
 * file. Collective; the verdict is agreed on. */
int rota_comm_write_tuning(rota_comm *c, const char *path);

/* Have none, and look for none. Local. */
void rota_comm_forget_tuning(rota_comm *c);

/* ---- topo_detect.c ------------------------------------------------------- */

/* Of this process's node; it is another machine than this where hwloc is told
 * so. */
int rota_topo_cores(void);
int rota_topo_domains(void);
bool rota_topo_is_elsewhere(void);
/* Fill what rota_topo_alloc gave. n_domains: the most of any node; spread: over
 * them, whatever ranks are bound to. Collective, and both the same on all
 * ranks; each call of MPI's here costs much where ranks share cores. */
int rota_topo_detect(MPI_Comm comm, int me, int n_domains, bool spread,
                     rota_topo *topo);
/* Have its pages, from now on, in the domain that this rank is bound to. */
void rota_topo_bind_memory(void *memory, size_t bytes);

/* ---- agree.c ------------------------------------------------------------- */

/* What ranks find out together when they agree. */
typedef struct rota_vote {
    const rota_alike *alike; /* in: what must be; NULL on all ranks: nothing */
    bool clash;              /* in, out: some rank refuses the proposed id */
    uint64_t used; /* in, out: native communicators in use on some rank */
    uint64_t smallest, largest; /* in, out: bytes of a block */
    uint64_t busiest;   /* in: bytes that the rank sends or receives, whichever
                         is more; out: of the rank that has most */
    uint64_t total;     /* in: bytes that the rank sends; out: all ranks */
    uint64_t filled;    /* likewise blocks that have any */
    uint64_t unmatched; /* in: what the rank sends less what it expects, in
                           digests of counts; out: 0 if that is the same */
    bool no_ipc;        /* in, out: some rank's blocks cannot go from device to
                    device */
} rota_vote;

/* All ranks return MPI_SUCCESS if all brought it, otherwise all return the
 * error of one of them, with its text. vote may be NULL on all ranks.
 * Collective; O(log P) messages. */
int rota_agree(const rota_comm *c, int status, rota_vote *vote);

/* Pass bytes, at most INT_MAX and the same number everywhere, on from root to
 * all. Collective; fails only if MPI does. */
int rota_spread(const rota_comm *c, int root, void *data, size_t bytes);

/* Of each of n <= ROTA_MAX_PRICES times, in nanoseconds and not negative, the
 * largest over ranks. Collective. */
int rota_agree_times(const rota_comm *c, int n, double ns[]);

/* Of each of n <= ROTA_MAX_PRICES costs, all ranks' added up. Collective. */
int rota_agree_costs(const rota_comm *c, int n, rota_cost cost[]);

/* ---- error_code.c -------------------------------------------------------- */

/* An MPI error code for a status, with a text that begins with function. */
int rota_error_code(const char *function, int status);

/* Raise a code through the error handler of comm, or for MPI_COMM_NULL of the
 * communicator that nobody's errors go to, and return it. */
int rota_raise(MPI_Comm comm, int code);

/* ---- measure.c ----------------------------------------------------------- */

/* Have the most promising candidates run for a while. Collective; every failure
 * is agreed on. */
int rota_measure(struct rota_plan *p, const rota_hints *hints,
                 rota_candidates *list);

/* ---- types.c ------------------------------------------------------------- */

/* How blocks given in elements of a type become bytes. */
typedef struct rota_unit {
    size_t element;    /* bytes of data in one element of the caller's type */
    ptrdiff_t spacing; /* bytes from one element to the next */
    ptrdiff_t true_lb; /* added to every offset: 0 unless plain bytes */
    bool null_ok;      /* as in rota_side */
} rota_unit;

/* A datatype as the rest of the library sees it, and as the caller counts in
 * it. One whose elements are plain bytes end to end becomes MPI_BYTE. name is
 * the argument's, for errors. */
int rota_type_from_mpi(MPI_Datatype mpi, const char *name, MPI_Comm comm,
                       rota_type *type, rota_unit *unit);
void rota_type_free(rota_type *type);

/* ---- pieces.c: where the bytes of a datatype lie ------------------------- */

/* Owned; zero: none. */
typedef struct rota_pieces {
    rota_strip *strip; /* [n] */
    size_t n, room;
    bool unknown;  /* too many, or of a kind that is not looked at */
    bool overlaps; /* some bytes come twice */
} rota_pieces;

/* Add those of one element. comm as for MPI_Pack. */
int rota_pieces_of(MPI_Datatype type, MPI_Comm comm, rota_pieces *l);
/* n of all, step bytes apart. */
int rota_pieces_repeat(rota_pieces *l, size_t n, ptrdiff_t step);
int rota_pieces_add(rota_pieces *l, const rota_pieces *more, ptrdiff_t shift);
void rota_pieces_free(rota_pieces *l);

/* ---- overlap.c ----------------------------------------------------------- */

/* No byte of a receive block may be of a send block (MPI_ERR_BUFFER), unless
 * send is NULL, nor if received of another receive block (MPI_ERR_ARG). Local. */
int rota_check_overlap(int P, const rota_side *send, const rota_side *recv,
                       bool received, MPI_Comm comm);

/* ---- validate.c ---------------------------------------------------------- */

/* An array argument in one of the forms that callers have. */
typedef struct rota_vector {
    enum { ROTA_INTS, ROTA_COUNTS, ROTA_AINTS, ROTA_SAME, ROTA_MULTIPLES } form;
    const void *array; /* of the form's element type; NULL for the last two */
    MPI_Count each;    /* ROTA_SAME: every entry; ROTA_MULTIPLES: entry 1 */
} rota_vector;

typedef struct rota_args {
    const void *sendbuf;
    rota_vector sendcounts, sdispls;
    MPI_Datatype sendtype;
    void *recvbuf;
    rota_vector recvcounts, rdispls;
    MPI_Datatype recvtype;
} rota_args;

/* Check arguments and turn them into a problem, which is to be freed also
 * after a failure. check: look for overlapping receive blocks. Local. */
int rota_problem_make(const rota_args *args, const rota_comm *c, bool check,
                      rota_problem *problem);
void rota_problem_free(rota_problem *problem);

/* Fill bytes and offset, [P], from one side's arguments. name is "send" or
 * "recv". Local. */
int rota_side_fill(const char *name, int P, const void *base,
                   const rota_vector *counts, const rota_vector *displs,
                   const rota_unit *unit, size_t bytes[], ptrdiff_t offset[]);

/* ---- plan.c -------------------------------------------------------------- */

struct rota_plan {
    rota_comm *comm;
    rota_kind kind;
    rota_stats stats;
    bool uniform; /* all blocks of all ranks have one size */
    rota_choice choice;
    const char *why;            /* it was chosen */
    rota_candidates candidates; /* from which */
    bool checked;         /* counts across ranks and overlaps were looked at */
    bool unmatched;       /* and some rank expects what another does not send */
    bool wants_thread;    /* exec.by_thread was asked for */
    int copied_once_from; /* bytes, as a hint says; 0: no wish */
    bool active;          /* started, and not waited for */
    bool has_id;
    int id;                /* on its communicator */
    int native;            /* index of the native communicator, or -1 */
    size_t largest;        /* bytes of the largest block of all, or max_block */
    const rota_topo *topo; /* what builders see: the communicator's or */
    rota_topo pretended;   /* what rota_node_size asks for; else zero */
    rota_problem problem;  /* fixed: as given; varying: types only */
    rota_sched sched;
    rota_exec exec;
    size_t *bytes;        /* [n_blocks] */
    ptrdiff_t *offset;    /* [n_blocks] */
    char *scratch;        /* region ROTA_TMP */
    rota_scratch room;    /* what it needs */
    const char *node_why; /* MPI carries messages within the node; else NULL */
    bool no_room;         /* for what this rank receives within the node */
    bool apart;  /* memory of another rank that it needs cannot be mapped */
    char *stage; /* in place: what is sent, moved out of the way */
    size_t stage_bytes;

    /* Plans whose counts vary. */
    size_t max_block;
    rota_unit unit;

    /* Exchanges: where blocks are collected, unless it is the executor's. */
    char *user_out; /* the caller's, or NULL */
    size_t user_room;

    /* Buffers on a device: nothing of this is used without one. */
    const rota_device *device; /* in use when the plan was made, or NULL */
    rota_layout layout[2]; /* of the types, by ROTA_SRC and ROTA_DST; made when
                              first needed, else all zero */
    ptrdiff_t first_byte[2]; /* of a block, from its offset, likewise */
    bool follow;             /* stream is the user's */
    void *stream;
    bool on_device[2]; /* what the last start has on a device, likewise */
    bool device_asked; /* for the way that blocks take: by a hint */
    bool ipc; /* they can go from device to device, where the algorithm lets
                 them; the same on all ranks */
    char ipc_why[ROTA_ERR_TEXT]; /* why not; "": another rank knows */
};

/* Collective; every failure is agreed on. */
int rota_plan_make_fixed(rota_comm *c, const rota_args *args,
                         const rota_hints *hints, int status, rota_plan **plan);
int rota_plan_make_varying(rota_comm *c, rota_kind kind, size_t max_block,
                           MPI_Datatype type, const rota_hints *hints,
                           int status, rota_plan **plan);
void rota_plan_destroy(rota_plan *plan); /* plan may be NULL */

/* The error for a pair of ranks whose counts differ. */
int rota_fail_mismatch(int src, int dst, size_t sent, size_t expected);

/* Does the rank send itself what it expects? A longer block would be written
 * beyond its place. */
int rota_check_own(const rota_plan *plan);

/* ---- varying.c ----------------------------------------------------------- */

int rota_varying_start(rota_plan *plan, const rota_args *args);
int rota_exchange_begin(rota_plan *plan, const rota_args *args);

/* The exchange is complete: collect the blocks in rank order. Each pair of
 * arrays may be NULL. Fails if the buffer is too small or a count does not fit
 * its array; then it can be called again. */
typedef struct rota_found {
    void *buffer;
    int *counts, *displs; /* [P] */
    MPI_Count *counts_c;  /* [P] */
    MPI_Aint *displs_c;   /* [P] */
} rota_found;

int rota_exchange_collect(rota_plan *plan, rota_found *found);

/* ---- device.c ------------------------------------------------------------ */

/* Can the plan, whose algorithm and types are known, do what the hint on devices
 * asks for? Local. */
int rota_plan_check_device(const rota_plan *plan);

/* Find where elements begin, if the process uses a device. Local. */
int rota_plan_find_first_bytes(rota_plan *plan);
void rota_plan_forget_device(rota_plan *plan);

/* Let what lies on a device be exchanged by way of the host: plan->exec, set for
 * these buffers, is changed. send is not used in place. Local. */
int rota_plan_stage(rota_plan *plan, char *send, char *recv, bool in_place);

/* Give the plan, which has none, a queue near that memory and staging with it,
 * behind the stream that it follows. straight: as of rota_staging_make. */
int rota_plan_make_staging(rota_plan *plan, const char *near, bool straight,
                           rota_queue **queue);

int rota_plan_stage_fixed(rota_plan *plan);

/* From the next start on, heed a stream of the user's or none. */
void rota_plan_follow(rota_plan *plan, bool follow, void *stream);

/* rota_plan_set_buffers. */
int rota_plan_rebase(rota_plan *plan, const void *sendbuf, void *recvbuf);

/* Let the blocks of an exchange go to buffer, or to a mirror of it if it is on a
 * device: then rota_staging_deliver is to follow. Their sizes and offsets from
 * buffer are set. */
int rota_plan_stage_found(rota_plan *plan, char *buffer);

/* ---- ipc.c --------------------------------------------------------------- */

/* Why this rank's blocks cannot go from its device to those of others, or
 * theirs to its own; NULL: for all it knows they can. The algorithm is not known
 * yet. Local. */
const char *rota_plan_why_no_ipc(const rota_plan *plan,
                                 const rota_hints *hints);

/* Set plan->ipc. why: as above; not_all: it is not NULL on some rank. After
 * rota_comm_open_node. */
void rota_plan_settle_ipc(rota_plan *plan, const char *why, bool not_all);

/* Have ranks open each other's memory, which is chosen. Before memory of the
 * node is reserved for plan->exec, which is set. Collective; every failure is
 * agreed on. */
int rota_plan_use_ipc(rota_plan *plan);

/* Stage blocks instead; an error if a hint asks for IPC. All ranks do, before
 * plan->exec is bound. Local. */
int rota_plan_give_up_ipc(rota_plan *plan, const char *why);

/* ---- mem.c --------------------------------------------------------------- */

/* Memory for the caller, in the arena if the ranks of each node share it.
 * Collective; a failure is agreed on. */
int rota_memory_make(rota_comm *c, size_t bytes, MPI_Info info, int status,
                     void **memory);
int rota_memory_free(void *memory); /* local; memory may be NULL */

/* ---- describe.c ---------------------------------------------------------- */

/* Give a text, which is freed, to a caller as rota_plan_describe says; fails
 * if it is NULL, for want of memory for what. */
int rota_text_give(char *text, const char *what, char *buf, size_t *len);
const char *rota_kind_name(rota_kind kind); /* "fixed", ... */
int rota_describe(const rota_plan *plan, int format, char *buf, size_t *len);

/* Describe it on rank 0's standard error, if ROTA_EXPLAIN is 1. */
void rota_explain(const rota_plan *plan);

#endif /* ROTA_PLAN_H */
