/* petsc.c - ghosts of a ring of blocks by PETSc, whose scatters are its own calls of
 * MPI.
 *
 * usage: petsc [scatters [entries of a block]] [options of PETSc], for example
 * -sf_type neighbor
 *
 * Every rank has some blocks and gets the one before them and the one behind. Rank 0
 * prints how many scatters there were, how many of them brought wrong entries, and
 * how long one took.
 */
#include <petscvec.h>

#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 4 }; /* of a rank */

typedef struct ring {
    PetscInt size; /* of a block */
    PetscInt all;  /* blocks */
    PetscInt first;
    Vec own, ghosts;
    VecScatter scatter;
} ring;

static PetscErrorCode make(ring *r)
{
    PetscInt low, from[2];
    const PetscInt to[2] = {0, 1};
    IS source, destination;

    PetscFunctionBeginUser;
    PetscCall(VecCreateMPI(PETSC_COMM_WORLD, BLOCKS * r->size, PETSC_DETERMINE,
                           &r->own));
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, 2 * r->size, &r->ghosts));
    PetscCall(VecGetSize(r->own, &r->all));
    PetscCall(VecGetOwnershipRange(r->own, &low, NULL));
    r->all /= r->size;
    r->first = low / r->size;
    from[0] = (r->first + r->all - 1) % r->all;
    from[1] = (r->first + BLOCKS) % r->all;
    PetscCall(ISCreateBlock(PETSC_COMM_SELF, r->size, 2, from,
                            PETSC_COPY_VALUES, &source));
    PetscCall(ISCreateBlock(PETSC_COMM_SELF, r->size, 2, to, PETSC_COPY_VALUES,
                            &destination));
    PetscCall(
        VecScatterCreate(r->own, source, r->ghosts, destination, &r->scatter));
    PetscCall(VecScatterSetUp(r->scatter));
    PetscCall(ISDestroy(&source));
    PetscCall(ISDestroy(&destination));
    PetscFunctionReturn(0);
}

/* Blocks have their number and the round's in all entries: here the first and the
 * last one of each. */
static PetscErrorCode fill(const ring *r, int round)
{
    PetscScalar *own;

    PetscFunctionBeginUser;
    PetscCall(VecGetArray(r->own, &own));
    for (PetscInt i = 0; i < BLOCKS; i++)
        own[i * r->size] = own[(i + 1) * r->size - 1] =
            (PetscScalar)(r->first + i + round);
    PetscCall(VecRestoreArray(r->own, &own));
    PetscFunctionReturn(0);
}

static PetscErrorCode check(const ring *r, int round, int *wrong)
{
    const PetscInt wanted[2] = {(r->first + r->all - 1) % r->all + round,
                                (r->first + BLOCKS) % r->all + round};
    const PetscScalar *ghosts;

    PetscFunctionBeginUser;
    PetscCall(VecGetArrayRead(r->ghosts, &ghosts));
    for (int i = 0; i < 2; i++)
        *wrong += ghosts[i * r->size] != (PetscScalar)wanted[i] ||
                  ghosts[(i + 1) * r->size - 1] != (PetscScalar)wanted[i];
    PetscCall(VecRestoreArrayRead(r->ghosts, &ghosts));
    PetscFunctionReturn(0);
}

static PetscErrorCode run(const ring *r, int scatters)
{
    int wrong = 0, me;
    double seconds = 0;

    PetscFunctionBeginUser;
    for (int round = 0; round < scatters; round++) {
        PetscCall(fill(r, round));
        const double begin = MPI_Wtime();
        PetscCall(VecScatterBegin(r->scatter, r->own, r->ghosts, INSERT_VALUES,
                                  SCATTER_FORWARD));
        PetscCall(VecScatterEnd(r->scatter, r->own, r->ghosts, INSERT_VALUES,
                                SCATTER_FORWARD));
        seconds += MPI_Wtime() - begin;
        PetscCall(check(r, round, &wrong));
    }
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &me));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM,
                               PETSC_COMM_WORLD));
    if (me == 0)
        printf("%d scatters, %d wrong, %.3f us each\n", scatters, wrong,
               seconds / scatters * 1e6);
    PetscFunctionReturn(wrong ? PETSC_ERR_PLIB : 0);
}

static int number(int argc, char **argv, int i, int usual)
{
    return argc > i && argv[i][0] != '-' ? atoi(argv[i]) : usual;
}

int main(int argc, char **argv)
{
    const int scatters = number(argc, argv, 1, 1000);
    ring r = {.size = number(argc, argv, 2, 512)};

    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCall(make(&r));
    PetscCall(run(&r, scatters));
    PetscCall(VecScatterDestroy(&r.scatter));
    PetscCall(VecDestroy(&r.own));
    PetscCall(VecDestroy(&r.ghosts));
    return PetscFinalize();
}
