/* sessions.c - a program that has a session and no MPI_Init is told what Rota
 * lacks, by the error handler of its communicator.
 */
#include <mpi.h>
#include <rota.h>
#include <stdio.h>
#include <string.h>

#if MPI_VERSION < 4
int main(void)
{
    printf("skipped: this MPI has no sessions\n");
    return 77;
}
#else
static MPI_Comm make_comm(MPI_Session *session)
{
    MPI_Group group;
    MPI_Comm comm;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, session);
    MPI_Group_from_session_pset(*session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "sessions", MPI_INFO_NULL,
                               MPI_ERRORS_RETURN, &comm);
    MPI_Group_free(&group);
    return comm;
}

static int is_told(int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, errorclass = MPI_SUCCESS;

    MPI_Error_string(code, text, &length);
    rota_error_class(code, &errorclass);
    if (errorclass == MPI_ERR_OTHER && strstr(text, "MPI_Init has not been"))
        return 1;
    fprintf(stderr, "class %d: %s\n", errorclass, text);
    return 0;
}

int main(void)
{
    MPI_Session session;
    const MPI_Comm comm = make_comm(&session);
    MPI_Comm mine = comm;
    rota_plan *plan = NULL;
    void *memory = NULL;
    size_t length = 0;

    const int good =
        is_told(rota_exchange_init(8, MPI_BYTE, comm, MPI_INFO_NULL, &plan)) &&
        is_told(rota_mem_alloc(8, comm, MPI_INFO_NULL, &memory)) &&
        is_told(rota_tuning_export_string(comm, NULL, &length)) &&
        rota_exchange_init(8, MPI_BYTE, MPI_COMM_NULL, MPI_INFO_NULL, &plan) ==
            MPI_ERR_OTHER;
    MPI_Comm_free(&mine);
    MPI_Session_finalize(&session);
    return good && !plan && !memory ? 0 : 1;
}
#endif
