/* comm.c - what all plans on one user communicator share. */
#include "plan/plan.h"

#include <stdlib.h>
#include <uthash.h>

typedef struct rota_id {
    int id;
    UT_hash_handle hh;
} rota_id;

static int keyval = MPI_KEYVAL_INVALID;

/* ---- ids ------------------------------------------------------------------ */

bool rota_comm_id_taken(const rota_comm *c, int id)
{
    rota_id *found;

    HASH_FIND_INT(c->live_ids, &id, found);
    return found != NULL;
}

int rota_comm_id_take(rota_comm *c, int id)
{
    rota_id *const entry = malloc(sizeof *entry);

    c->next_id = rota_comm_id_after(c, id);
    if (!entry)
        return rota_fail_mem("a plan's tag");
    entry->id = id;
    HASH_ADD_INT(c->live_ids, id, entry);
    return MPI_SUCCESS;
}

void rota_comm_id_drop(rota_comm *c, int id)
{
    rota_id *found;

    HASH_FIND_INT(c->live_ids, &id, found);
    if (!found)
        return;
    HASH_DEL(c->live_ids, found);
    free(found);
}

/* ---- life ----------------------------------------------------------------- */

void rota_comm_release(rota_comm *c)
{
    if (--c->refs > 0)
        return;
    for (int i = 0; i < ROTA_MAX_NATIVE; i++)
        if (c->native[i] != MPI_COMM_NULL)
            MPI_Comm_free(&c->native[i]);
    if (c->dup != MPI_COMM_NULL)
        MPI_Comm_free(&c->dup);
    rota_topo_free(&c->topo);
    free(c);
}

/* The user frees the communicator: plans on it live on. */
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
    if (keyval != MPI_KEYVAL_INVALID)
        return MPI_SUCCESS;
    return MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_user_free, &keyval,
                                  NULL);
}

static int largest_tag(MPI_Comm comm)
{
    int *upper = NULL, found = 0;

    MPI_Comm_get_attr(comm, MPI_TAG_UB, &upper, &found);
    return found ? *upper : 32767; /* what MPI promises at least */
}

static int check_threads(void)
{
    int level;

    ROTA_TRY(MPI_Query_thread(&level));
    rota_exec_set_threaded(level == MPI_THREAD_MULTIPLE);
    return MPI_SUCCESS;
}

static int fill(rota_comm *c)
{
    ROTA_TRY(MPI_Comm_dup(c->user, &c->dup));
    ROTA_TRY(MPI_Comm_set_errhandler(c->dup, MPI_ERRORS_RETURN));
    ROTA_TRY(MPI_Comm_size(c->dup, &c->P));
    ROTA_TRY(MPI_Comm_rank(c->dup, &c->me));
    c->max_id = largest_tag(c->dup);
    ROTA_TRY(rota_topo_detect(c->dup, &c->topo));
    if (c->topo.crowded)
        rota_wait_set_crowded();
    return check_threads();
}

static int make(MPI_Comm user, rota_comm **made)
{
    rota_comm *const c = calloc(1, sizeof *c);

    if (!c)
        return rota_fail_mem("a communicator's state");
    *c = (rota_comm){.user = user,
                     .user_alive = true,
                     .dup = MPI_COMM_NULL,
                     .refs = 1,
                     .next_id = 1};
    for (int i = 0; i < ROTA_MAX_NATIVE; i++)
        c->native[i] = MPI_COMM_NULL;
    int err = fill(c);
    if (err == MPI_SUCCESS)
        err = MPI_Comm_set_attr(user, keyval, c);
    if (err != MPI_SUCCESS)
        rota_comm_release(c);
    else
        *made = c;
    return err;
}

int rota_comm_get(MPI_Comm user, rota_comm **c)
{
    int inter = 0, found = 0;

    if (user == MPI_COMM_NULL)
        return rota_fail(MPI_ERR_COMM, "comm is MPI_COMM_NULL");
    ROTA_TRY(MPI_Comm_test_inter(user, &inter));
    if (inter)
        return rota_fail(MPI_ERR_COMM, "comm is an inter-communicator");
    ROTA_TRY(make_keyval());
    ROTA_TRY(MPI_Comm_get_attr(user, keyval, c, &found));
    return found ? MPI_SUCCESS : make(user, c);
}

int rota_comm_native(rota_comm *c, int i, MPI_Comm *native)
{
    if (c->native[i] == MPI_COMM_NULL) {
        ROTA_TRY(MPI_Comm_dup(c->dup, &c->native[i]));
        ROTA_TRY(MPI_Comm_set_errhandler(c->native[i], MPI_ERRORS_RETURN));
    }
    *native = c->native[i];
    return MPI_SUCCESS;
}
