/* f08.c - calls of Fortran's module mpi_f08.
 *
 * In MPICH's mpi_f08, functions with buffers call C functions by their MPI_ names,
 * but those without, such as MPI_Start and MPI_Wait, call PMPI_ names directly.
 * Programs import both from MPI's Fortran library. This file replaces those of
 * the second kind that see requests of ours, or that the drop-in must know of.
 * mpif.h and the module mpi need none of this.
 *
 * In MPICH, handles and statuses of mpi_f08 have the layout of C.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "mpi/request.h"

#include "plan/inside.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- MPI's Fortran library ----------------------------------------------- */

static void *original(const char *name)
{
    void *const found = dlsym(RTLD_NEXT, name);

    if (!found) {
        fprintf(stderr, "rota_mpi: no %s in MPI's Fortran library\n", name);
        PMPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
    }
    return found;
}

/* In Fortran, MPI_STATUS_IGNORE and MPI_STATUSES_IGNORE are objects, recognised by
 * their addresses. */
static MPI_Status *given(MPI_Status *status)
{
    static void *one, *many;

    if (!one)
        one = dlsym(RTLD_DEFAULT, "MPIR_F08_MPI_STATUS_IGNORE_OBJ");
    if (!many)
        many = dlsym(RTLD_DEFAULT, "MPIR_F08_MPI_STATUSES_IGNORE_OBJ");
    return (void *)status == one || (void *)status == many ? MPI_STATUS_IGNORE
                                                           : status;
}

/* ---- indices ------------------------------------------------------------- */

/* The index of the first request of an array is 1 in Fortran, but 0 in the mpi_f08
 * of MPICH 4.0. Programs see what they would see without us. */
static int find_first(void)
{
    union {
        void *data; /* POSIX lets a data pointer of dlsym be a function's */
        void (*function)(const int *, MPI_Request *, int *, MPI_Status *,
                         int *);
    } const waitany = {.data = original("mpi_waitany_f08_")};
    const int n = 1;
    int index = 1, err;
    MPI_Request request;
    MPI_Status status;

    PMPI_Irecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request);
    waitany.function(&n, &request, &index, &status, &err);
    return index;
}

/* After a call with err. *n is negative where it is MPI_UNDEFINED. */
static int renumbered(int err, const int *n, int indices[])
{
    static int first = -1;

    if (first < 0)
        first = find_first();
    for (int i = 0; i < *n; i++)
        indices[i] += indices[i] == MPI_UNDEFINED ? 0 : first;
    return err;
}

/* ---- the names that programs call ---------------------------------------- */

/* If no request of ours exists, pass the call to the original. name_c: the name in
 * error texts. */
#define ROTA_F08(name, name_c, parameters, arguments, gate, call)              \
    ROTA_API void name parameters;                                             \
    void name parameters                                                       \
    {                                                                          \
        static _Atomic(void *) found;                                          \
        union {                                                                \
            void *data;                                                        \
            void(*function) parameters;                                        \
        } f;                                                                   \
        if (gate) {                                                            \
            rota_error_name(name_c);                                           \
            const int err = (call);                                            \
            if (ierror)                                                        \
                *ierror = err;                                                 \
            return;                                                            \
        }                                                                      \
        f.data = atomic_load_explicit(&found, memory_order_relaxed);           \
        if (!f.data)                                                           \
            atomic_store_explicit(&found, f.data = original(#name),            \
                                  memory_order_relaxed);                       \
        f.function arguments;                                                  \
    }

#define ANY rota_mpi_any_request()
#define ARRAY const int *n, MPI_Request r[]
#define SOME int *count, int indices[], MPI_Status statuses[]

ROTA_F08(mpi_start_f08_, "MPI_Start", (MPI_Request * r, int *ierror),
         (r, ierror), ANY, rota_mpi_start(r))
ROTA_F08(mpi_startall_f08_, "MPI_Startall", (ARRAY, int *ierror),
         (n, r, ierror), ANY, rota_mpi_startall(*n, r))
ROTA_F08(mpi_wait_f08_, "MPI_Wait",
         (MPI_Request * r, MPI_Status *status, int *ierror),
         (r, status, ierror), ANY, rota_mpi_wait(r, given(status)))
ROTA_F08(mpi_waitall_f08_, "MPI_Waitall",
         (ARRAY, MPI_Status statuses[], int *ierror), (n, r, statuses, ierror),
         ANY, rota_mpi_waitall(*n, r, given(statuses)))
ROTA_F08(mpi_waitany_f08_, "MPI_Waitany",
         (ARRAY, int *index, MPI_Status *status, int *ierror),
         (n, r, index, status, ierror), ANY,
         renumbered(rota_mpi_waitany(*n, r, index, given(status)),
                    &(const int){1}, index))
ROTA_F08(mpi_waitsome_f08_, "MPI_Waitsome", (ARRAY, SOME, int *ierror),
         (n, r, count, indices, statuses, ierror), ANY,
         renumbered(rota_mpi_waitsome(*n, r, count, indices, given(statuses)),
                    count, indices))
ROTA_F08(mpi_test_f08_, "MPI_Test",
         (MPI_Request * r, int *flag, MPI_Status *status, int *ierror),
         (r, flag, status, ierror), ANY, rota_mpi_test(r, flag, given(status)))
ROTA_F08(mpi_testall_f08_, "MPI_Testall",
         (ARRAY, int *flag, MPI_Status statuses[], int *ierror),
         (n, r, flag, statuses, ierror), ANY,
         rota_mpi_testall(*n, r, flag, given(statuses)))
ROTA_F08(mpi_testany_f08_, "MPI_Testany",
         (ARRAY, int *index, int *flag, MPI_Status *status, int *ierror),
         (n, r, index, flag, status, ierror), ANY,
         renumbered(rota_mpi_testany(*n, r, index, flag, given(status)), flag,
                    index))
ROTA_F08(mpi_testsome_f08_, "MPI_Testsome", (ARRAY, SOME, int *ierror),
         (n, r, count, indices, statuses, ierror), ANY,
         renumbered(rota_mpi_testsome(*n, r, count, indices, given(statuses)),
                    count, indices))
ROTA_F08(mpi_request_free_f08_, "MPI_Request_free",
         (MPI_Request * r, int *ierror), (r, ierror), ANY,
         rota_mpi_request_free(r))
ROTA_F08(mpi_request_get_status_f08_, "MPI_Request_get_status",
         (const MPI_Request *r, int *flag, MPI_Status *status, int *ierror),
         (r, flag, status, ierror), ANY,
         rota_mpi_request_get_status(*r, flag, given(status)))
ROTA_F08(mpi_cancel_f08_, "MPI_Cancel", (MPI_Request * r, int *ierror),
         (r, ierror), ANY, rota_mpi_cancel(r))

ROTA_F08(mpi_init_f08_, "MPI_Init", (int *ierror), (ierror), true,
         rota_mpi_init(NULL, NULL))
ROTA_F08(mpi_init_thread_f08_, "MPI_Init_thread",
         (const int *required, int *provided, int *ierror),
         (required, provided, ierror), true,
         rota_mpi_init_thread(NULL, NULL, *required, provided))
ROTA_F08(mpi_finalize_f08_, "MPI_Finalize", (int *ierror), (ierror), true,
         rota_mpi_finalize())
ROTA_F08(mpi_session_finalize_f08_, "MPI_Session_finalize",
         (MPI_Session * session, int *ierror), (session, ierror), true,
         rota_mpi_session_finalize(session))
ROTA_F08(mpi_error_class_f08_, "MPI_Error_class",
         (const int *code, int *errorclass, int *ierror),
         (code, errorclass, ierror), true,
         rota_mpi_error_class(*code, errorclass))
