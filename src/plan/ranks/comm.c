/* comm.c - what all plans on a user communicator share.
 *
 * Nothing here blocks in MPI: other ranks may wait for active plans of this one,
 * or for its core.
 */
#include "plan/ranks/comm.h"
#include "exec/exec.h"
#include "exec/move/blocks.h"
#include "exec/move/lock.h"
#include "exec/move/trace.h"
#include "exec/run/progress.h"
#include "exec/run/stall.h"
#include "exec/run/waiting.h"
#include "plan/inside.h"
#include "plan/ranks/agree.h"
#include "plan/ranks/fellows.h"
#include "plan/ranks/node.h"
#include "plan/ranks/topo_detect.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static int keyval = MPI_KEYVAL_INVALID;

/* Threads may make and free plans of one communicator at the same time. Never
 * held while waiting. */
static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- ids ----------------------------------------------------------------- */

/* With the lock. The place of an id; n_ids: nowhere. */
static int find_id(const rota_comm *c, int id)
{
    int i = 0;

    while (i < c->n_ids && c->ids[i] != id)
        i++;
    return i;
}

bool rota_comm_id_taken(rota_comm *c, int id)
{
    pthread_mutex_lock(&state_lock);
    const bool taken = find_id(c, id) < c->n_ids;
    pthread_mutex_unlock(&state_lock);
    return taken;
}

int rota_comm_id_take(rota_comm *c, int id)
{
    c->next_id = rota_comm_id_after(c, id);
    pthread_mutex_lock(&state_lock);
    const int err =
        rota_grow(&c->ids, &c->ids_room,
                  ((size_t)c->n_ids + 1) * sizeof *c->ids, "a plan's tag");
    if (err == MPI_SUCCESS)
        c->ids[c->n_ids++] = id;
    pthread_mutex_unlock(&state_lock);
    return err;
}

void rota_comm_id_drop(rota_comm *c, int id)
{
    pthread_mutex_lock(&state_lock);
    c->ids[find_id(c, id)] = c->ids[c->n_ids - 1];
    c->n_ids--;
    pthread_mutex_unlock(&state_lock);
}

/* ---- life ---------------------------------------------------------------- */

void rota_comm_retain(rota_comm *c)
{
    pthread_mutex_lock(&state_lock);
    c->refs++;
    pthread_mutex_unlock(&state_lock);
}

static void destroy(rota_comm *c)
{
    for (int i = 0; i < ROTA_MAX_NATIVE; i++)
        if (c->native[i] != MPI_COMM_NULL)
            MPI_Comm_free(&c->native[i]);
    if (c->dup != MPI_COMM_NULL && !c->adopted)
        MPI_Comm_free(&c->dup);
    if (c->has_thread)
        rota_progress_let_go();
    rota_node_free(c->node);
    free(c->roster);
    free(c->ids);
    rota_topo_free(&c->topo);
    rota_neighbors_free(&c->neighbors);
    rota_learnt_forget(&c->learnt);
}

void rota_comm_release(rota_comm *c)
{
    pthread_mutex_lock(&state_lock);
    const int left = --c->refs;
    pthread_mutex_unlock(&state_lock);
    if (left > 0)
        return;
    destroy(c);
    free(c);
}

/* The user frees the communicator; its plans live on. */
static int on_user_free(MPI_Comm comm, int key, void *value, void *extra)
{
    rota_comm *const c = value;

    (void)comm;
    (void)key;
    (void)extra;
    c->user_alive = false;
    rota_comm_release(c);
    return MPI_SUCCESS;
}

static int make_keyval(void)
{
    int err = MPI_SUCCESS;

    pthread_mutex_lock(&state_lock);
    if (keyval == MPI_KEYVAL_INVALID)
        err = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_user_free,
                                     &keyval, NULL);
    pthread_mutex_unlock(&state_lock);
    return err;
}

static int largest_tag(MPI_Comm comm)
{
    int *upper = NULL, found = 0;

    MPI_Comm_get_attr(comm, MPI_TAG_UB, &upper, &found);
    return found ? *upper : 32767; /* the least that MPI promises */
}

static void look_for_crowd(void)
{
    if (rota_ranks_per_core() > 1)
        rota_wait_set_crowded();
}

/* Duplicate a communicator, whatever other ranks do meanwhile. MPI_Comm_dup
 * would wait without giving up the processor. */
static int duplicate(const rota_comm *c, MPI_Comm comm, MPI_Comm *dup)
{
    static _Thread_local MPI_Comm made; /* outlives a wait that fails */
    const rota_meeting m = rota_comm_meeting(c, "meet", -1);
    MPI_Request request;

    ROTA_TRY(MPI_Comm_idup(comm, &made, &request));
    ROTA_TRY(rota_wait_requests(&m, 0, 1, &request));
    *dup = made;
    return MPI_Comm_set_errhandler(*dup, MPI_ERRORS_RETURN);
}

/* Find or make Rota's own communicator, on which ranks can agree. */
static int open_dup(rota_comm *draft)
{
    int level;

    ROTA_TRY(MPI_Query_thread(&level));
    if (level == MPI_THREAD_MULTIPLE) {
        rota_lock_need(ROTA_LOCK_THREADS);
        rota_lock_set_multiple(true);
    }
    ROTA_TRY(MPI_Comm_size(draft->user, &draft->P));
    ROTA_TRY(MPI_Comm_rank(draft->user, &draft->me));
    draft->roster = rota_fellows_recall(draft->user);
    if (draft->adopted)
        draft->dup = draft->user;
    else
        ROTA_TRY(duplicate(draft, draft->user, &draft->dup));
    draft->max_id = (largest_tag(draft->dup) - ROTA_TAGS + 1) / ROTA_TAGS;
    return MPI_SUCCESS;
}

/* Ranks on this node: of the program or, if the launcher does not tell, of c. */
static int ranks_here(const rota_comm *c)
{
    const int launched = rota_ranks_launched();
    const int here = rota_topo_node_size(&c->topo, c->topo.node[c->me]);

    return launched > here ? launched : here;
}

/* Once the topology is known. Local. */
static void look_around(rota_comm *c)
{
    int rank = 0;

    c->crowded = ranks_here(c) > rota_topo_cores();
    if (c->crowded)
        rota_wait_set_crowded();
    rota_variables_check();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    rota_trace_open(rank, c->topo.node[c->me]);
}

/* Make the rest. All that may fail on one rank is done before ranks tell each other
 * of their processes, and whether they have failed. All ranks get the attribute, or
 * none: it says whether a communicator's state exists, and a rank without it would
 * later make the state alone. draft is used up. */
static int complete(rota_comm *draft, rota_comm **c)
{
    rota_comm *const made = malloc(sizeof *made);
    int err = made ? MPI_Comm_set_attr(draft->user, keyval, made)
                   : rota_fail_mem("a communicator's state");
    const bool attached = err == MPI_SUCCESS;

    err = rota_topo_detect(draft, err);
    if (made)
        *made = *draft;
    if (err == MPI_SUCCESS) {
        look_around(made);
        *c = made;
    } else if (attached) {
        MPI_Comm_delete_attr(draft->user, keyval); /* releases it, too */
    } else {
        destroy(draft);
        free(made);
    }
    return err;
}

/* ---- the end of MPI ------------------------------------------------------ */

static atomic_bool ending;

/* MPI is about to be finalized, whatever plans are left. From now on each start
 * takes the long way, as after an error. */
static int on_finalize(MPI_Comm self, int key, void *value, void *extra)
{
    (void)self;
    (void)key;
    (void)value;
    (void)extra;
    rota_lock_set_multiple(false);
    ending = true;
    rota_fail(MPI_ERR_OTHER, "MPI is being finalized");
    rota_fail_clear();
    return MPI_SUCCESS;
}

/* Once per process. */
static int watch_finalize(void)
{
    static bool watched;
    int key = MPI_KEYVAL_INVALID, err = MPI_SUCCESS;

    pthread_mutex_lock(&state_lock);
    if (!watched)
        err = MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &key,
                                     NULL);
    if (!watched && err == MPI_SUCCESS)
        err = MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    watched = err == MPI_SUCCESS;
    if (key != MPI_KEYVAL_INVALID)
        MPI_Comm_free_keyval(&key);
    pthread_mutex_unlock(&state_lock);
    return err;
}

bool rota_comm_is_over(void)
{
    int finalized = 0;

    if (ending)
        MPI_Finalized(&finalized);
    return finalized;
}

static int make_comm(MPI_Comm user, bool adopted, rota_comm **c)
{
    rota_comm draft = {.user = user,
                       .adopted = adopted,
                       .user_alive = true,
                       .dup = MPI_COMM_NULL,
                       .refs = 1,
                       .next_id = 1};

    for (int i = 0; i < ROTA_MAX_NATIVE; i++)
        draft.native[i] = MPI_COMM_NULL;
    rota_stall_set(rota_hints_stall_seconds(false));
    look_for_crowd();
    watch_finalize();
    const int err = open_dup(&draft);
    if (err == MPI_SUCCESS)
        return complete(&draft, c);
    destroy(&draft);
    return err;
}

int rota_comm_find(MPI_Comm user, rota_comm **c)
{
    int inter = 0, found = 0;

    if (user == MPI_COMM_NULL)
        return rota_fail(MPI_ERR_COMM, "comm is MPI_COMM_NULL");
    ROTA_TRY(MPI_Comm_test_inter(user, &inter));
    if (inter)
        return rota_fail(MPI_ERR_COMM, "comm is an inter-communicator");
    ROTA_TRY(make_keyval());
    ROTA_TRY(MPI_Comm_get_attr(user, keyval, c, &found));
    if (!found)
        *c = NULL;
    return MPI_SUCCESS;
}

int rota_comm_get(MPI_Comm user, rota_comm **c)
{
    ROTA_TRY(rota_comm_find(user, c));
    return *c ? MPI_SUCCESS : make_comm(user, false, c);
}

int rota_comm_adopt(MPI_Comm comm)
{
    rota_comm *c;

    ROTA_TRY(rota_comm_find(comm, &c));
    return c ? MPI_SUCCESS : make_comm(comm, true, &c);
}

/* Nothing is known of the communicator's ranks. */
int rota_wait_request(MPI_Comm comm, MPI_Request *request)
{
    rota_meeting m = {.step = "meet", .rank = -1};

    ROTA_TRY(MPI_Comm_size(comm, &m.P));
    ROTA_TRY(MPI_Comm_rank(comm, &m.me));
    look_for_crowd();
    return rota_wait_requests(&m, 0, 1, request);
}

/* ---- the progress thread ------------------------------------------------- */

bool rota_comm_hold_thread(rota_comm *c)
{
    if (!c->has_thread && rota_lock_is_multiple() &&
        watch_finalize() != MPI_SUCCESS)
        return false;
    c->has_thread = c->has_thread || rota_progress_hold();
    return c->has_thread;
}

/* ---- native communicators ------------------------------------------------ */

/* Every rank duplicates, whatever failed elsewhere; only if all have succeeded is
 * it kept, so that native[i] exists on all ranks or on none. */
static int make_native(rota_comm *c, int i)
{
    MPI_Comm made = MPI_COMM_NULL;

    const int err = rota_agree(c, duplicate(c, c->dup, &made), NULL);
    if (err == MPI_SUCCESS)
        c->native[i] = made;
    else if (made != MPI_COMM_NULL)
        MPI_Comm_free(&made);
    return err;
}

int rota_comm_native(rota_comm *c, int i, MPI_Comm *native)
{
    if (c->native[i] == MPI_COMM_NULL)
        ROTA_TRY(make_native(c, i));
    pthread_mutex_lock(&state_lock);
    c->native_used |= (uint64_t)1 << i;
    pthread_mutex_unlock(&state_lock);
    *native = c->native[i];
    return MPI_SUCCESS;
}

void rota_comm_native_drop(rota_comm *c, int i)
{
    pthread_mutex_lock(&state_lock);
    c->native_used &= ~((uint64_t)1 << i);
    pthread_mutex_unlock(&state_lock);
}
