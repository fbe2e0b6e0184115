/* forests.c - star forests by PETSc and by plans: the same results, and the times.
 *
 * usage: forests            compare results on random star forests
 *        forests LEAVES N   time N exchanges with so many leaves of other ranks
 */
#include "rota_sf.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static PetscMPIInt P, me;
static PetscInt wrong;

/* ---- star forests -------------------------------------------------------- */

static unsigned long long state;

static PetscInt draw(PetscInt n)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (PetscInt)((state >> 33) % (unsigned long long)n);
}

/* Roots of any ranks, some of them several times; leaves have gaps. */
static PetscErrorCode MakeRandom(PetscInt roots, PetscInt leaves, PetscSF *sf)
{
    PetscSFNode *remote;
    PetscInt *local;

    PetscFunctionBegin;
    PetscCall(PetscMalloc1(leaves, &remote));
    PetscCall(PetscMalloc1(leaves, &local));
    for (PetscInt i = 0; i < leaves; i++) {
        local[i] = 2 * i + 1;
        remote[i].rank = draw(P);
        remote[i].index = draw(roots);
    }
    PetscCall(PetscSFCreate(PETSC_COMM_WORLD, sf));
    PetscCall(PetscSFSetGraph(*sf, roots, leaves, local, PETSC_OWN_POINTER,
                              remote, PETSC_OWN_POINTER));
    PetscCall(PetscSFSetUp(*sf));
    PetscFunctionReturn(0);
}

/* Leaves are the roots of the next rank: every third one, as in a halo. */
static PetscErrorCode MakeHalo(PetscInt leaves, PetscSF *sf)
{
    PetscSFNode *remote;

    PetscFunctionBegin;
    PetscCall(PetscMalloc1(leaves, &remote));
    for (PetscInt i = 0; i < leaves; i++) {
        remote[i].rank = (me + 1) % P;
        remote[i].index = 3 * i;
    }
    PetscCall(PetscSFCreate(PETSC_COMM_WORLD, sf));
    PetscCall(PetscSFSetGraph(*sf, 3 * leaves, leaves, NULL, PETSC_OWN_POINTER,
                              remote, PETSC_OWN_POINTER));
    PetscCall(PetscSFSetUp(*sf));
    PetscFunctionReturn(0);
}

/* ---- the same results ---------------------------------------------------- */

enum { ROOTS = 50, LEAVES = 80, MOST = 3 };

static void check(const char *what, const double *a, const double *b, int n)
{
    if (memcmp(a, b, (size_t)n * sizeof *a) == 0)
        return;
    wrong++;
    (void)PetscFPrintf(PETSC_COMM_SELF, stderr, "rank %d: %s differs\n", me,
                       what);
}

/* Sums of whole numbers do not depend on their order. */
static PetscErrorCode Compare(PetscSF sf, RotaSF r, MPI_Datatype unit, int each,
                              MPI_Op op)
{
    double root[2][ROOTS * MOST], leaf[2][2 * LEAVES * MOST];

    PetscFunctionBegin;
    for (int i = 0; i < ROOTS * each; i++)
        root[0][i] = root[1][i] = 1000 * me + i;
    for (int i = 0; i < 2 * LEAVES * each; i++)
        leaf[0][i] = leaf[1][i] = -i;
    PetscCall(PetscSFBcastBegin(sf, unit, root[0], leaf[0], MPI_REPLACE));
    PetscCall(RotaSFBegin(r, unit, root[1], leaf[1], MPI_OP_NULL));
    PetscCall(PetscSFBcastEnd(sf, unit, root[0], leaf[0], MPI_REPLACE));
    PetscCall(RotaSFEnd(r, unit, root[1], leaf[1], MPI_OP_NULL));
    check("a broadcast", leaf[0], leaf[1], 2 * LEAVES * each);
    PetscCall(PetscSFReduceBegin(sf, unit, leaf[0], root[0], op));
    PetscCall(PetscSFReduceEnd(sf, unit, leaf[0], root[0], op));
    PetscCall(RotaSFBegin(r, unit, leaf[1], root[1], op));
    PetscCall(RotaSFEnd(r, unit, leaf[1], root[1], op));
    check("a reduction", root[0], root[1], ROOTS * each);
    PetscFunctionReturn(0);
}

static PetscErrorCode CompareAll(void)
{
    MPI_Datatype three;
    PetscSF sf;
    RotaSF r;

    PetscFunctionBegin;
    PetscCallMPI(MPI_Type_contiguous(3, MPI_DOUBLE, &three));
    PetscCallMPI(MPI_Type_commit(&three));
    for (int turn = 0; turn < 8; turn++) {
        state = (unsigned long long)(100 * turn + me);
        PetscCall(MakeRandom(ROOTS, turn ? LEAVES - turn : 0, &sf));
        PetscCall(RotaSFCreate(sf, &r));
        for (int again = 0; again < 3; again++) {
            PetscCall(Compare(sf, r, MPI_DOUBLE, 1, MPI_SUM));
            PetscCall(Compare(sf, r, three, 3, MPI_SUM));
            PetscCall(Compare(sf, r, MPI_DOUBLE, 1, MPI_MAX));
        }
        PetscCall(RotaSFDestroy(&r));
        PetscCall(PetscSFDestroy(&sf));
    }
    PetscCallMPI(MPI_Type_free(&three));
    PetscFunctionReturn(0);
}

/* ---- times --------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The slowest rank's median, in microseconds. */
static double median(double *us, int n)
{
    double all;

    qsort(us, (size_t)n, sizeof *us, compare);
    MPI_Allreduce(&us[n / 2], &all, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD);
    return all;
}

static PetscErrorCode Exchange(PetscSF sf, RotaSF r, int way, double *root,
                               double *leaf)
{
    PetscFunctionBegin;
    if (way == 0) {
        PetscCall(PetscSFBcastBegin(sf, MPI_DOUBLE, root, leaf, MPI_REPLACE));
        PetscCall(PetscSFBcastEnd(sf, MPI_DOUBLE, root, leaf, MPI_REPLACE));
    } else if (way == 1) {
        PetscCall(RotaSFBegin(r, MPI_DOUBLE, root, leaf, MPI_OP_NULL));
        PetscCall(RotaSFEnd(r, MPI_DOUBLE, root, leaf, MPI_OP_NULL));
    } else if (way == 2) {
        PetscCall(PetscSFReduceBegin(sf, MPI_DOUBLE, leaf, root, MPI_SUM));
        PetscCall(PetscSFReduceEnd(sf, MPI_DOUBLE, leaf, root, MPI_SUM));
    } else {
        PetscCall(RotaSFBegin(r, MPI_DOUBLE, leaf, root, MPI_SUM));
        PetscCall(RotaSFEnd(r, MPI_DOUBLE, leaf, root, MPI_SUM));
    }
    PetscFunctionReturn(0);
}

/* All ways take turns, in rounds of ten exchanges. */
static PetscErrorCode Time(PetscInt leaves, int n)
{
    enum { WAYS = 4, ROUND = 10 };
    double *root, *leaf, *us[WAYS], result[WAYS];
    const size_t n_leaves = (size_t)leaves;
    PetscSF sf;
    RotaSF r;

    PetscFunctionBegin;
    PetscCall(MakeHalo(leaves, &sf));
    PetscCall(RotaSFCreate(sf, &r));
    PetscCall(PetscCalloc2(3 * n_leaves, &root, n_leaves, &leaf));
    for (int way = 0; way < WAYS; way++)
        PetscCall(PetscMalloc1(n, &us[way]));
    for (int i = -2; i < n; i++)
        for (int way = 0; way < WAYS; way++) {
            PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
            const double begin = MPI_Wtime();
            for (int k = 0; k < ROUND; k++)
                PetscCall(Exchange(sf, r, way, root, leaf));
            if (i >= 0)
                us[way][i] = (MPI_Wtime() - begin) * 1e6 / ROUND;
        }
    for (int way = 0; way < WAYS; way++) {
        result[way] = median(us[way], n);
        PetscCall(PetscFree(us[way]));
    }
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%d leaves: broadcast %.2f %.2f, gain %.2f; "
                          "reduction %.2f %.2f, gain %.2f\n",
                          (int)leaves, result[0], result[1],
                          result[0] / result[1], result[2], result[3],
                          result[2] / result[3]));
    PetscCall(PetscFree2(root, leaf));
    PetscCall(RotaSFDestroy(&r));
    PetscCall(PetscSFDestroy(&sf));
    PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
    PetscInt all;

    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &P));
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &me));
    if (argc > 2)
        PetscCall(Time(atoi(argv[1]), atoi(argv[2])));
    else
        PetscCall(CompareAll());
    PetscCallMPI(
        MPI_Allreduce(&wrong, &all, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    PetscCall(PetscFinalize());
    return all ? EXIT_FAILURE : EXIT_SUCCESS;
}
