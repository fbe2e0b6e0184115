/* unload.c LIBRARY - a program that loads Rota and closes it before MPI frees
 * what Rota keeps with a communicator.
 */
#include <dlfcn.h>
#include <rota.h>
#include <stdio.h>
#include <string.h>

typedef int init(size_t, MPI_Datatype, MPI_Comm, MPI_Info, rota_plan **);
typedef int end(rota_plan **);

static void *lookup(void *library, const char *name, void *function)
{
    void *const found = dlsym(library, name);

    if (!found)
        fprintf(stderr, "%s\n", dlerror());
    /* POSIX lets a data pointer of dlsym be a function's. */
    memcpy(function, &found, sizeof found);
    return found;
}

int main(int argc, char **argv)
{
    rota_plan *plan = NULL;
    init *make = NULL;
    end *done = NULL;

    MPI_Init(&argc, &argv);
    void *const library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library || !lookup(library, "rota_exchange_init", &make) ||
        !lookup(library, "rota_plan_free", &done))
        MPI_Abort(MPI_COMM_WORLD, 1);
    make(8, MPI_BYTE, MPI_COMM_WORLD, MPI_INFO_NULL, &plan);
    done(&plan);
    dlclose(library);
    MPI_Finalize();
    return 0;
}
