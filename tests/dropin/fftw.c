/* fftw.c - transforms by FFTW on several ranks, whose transposes are its own
 * calls of MPI.
 *
 * usage: fftw [transforms]
 *
 * Three dimensions, of which two are no multiples of the number of ranks, so that
 * blocks differ and FFTW exchanges them by MPI_Alltoallv or by many
 * MPI_Sendrecv, whichever it measures to be faster; the latter are slowed down
 * here while it measures. Every transform forward is compared with one by FFTW on
 * this rank alone, and the one backward with what it began from. Rank 0 prints
 * how long the transforms forward took.
 */
#include <complex.h>
#include <fftw3-mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { N0 = 37, N1 = 31, N2 = 10, TRANSFORMS = 200 };

typedef struct part {
    ptrdiff_t n, first; /* planes of this rank */
    fftw_complex *data, *out, *all, *wanted;
} part;

static int failures, planning;

/* The arguments are MPI's. */
int MPI_Sendrecv(const void *send, int n_send, MPI_Datatype send_type, int to,
                 int send_tag, void *recv, int n_recv, MPI_Datatype recv_type,
                 int from, int recv_tag, MPI_Comm comm, MPI_Status *status)
{
    const struct timespec nap = {.tv_sec = 0, .tv_nsec = 20000000};

    if (planning)
        nanosleep(&nap, NULL);
    return PMPI_Sendrecv(send, n_send, send_type, to, send_tag, recv, n_recv,
                         recv_type, from, recv_tag, comm, status);
}

static void fill(part *p, int round)
{
    for (ptrdiff_t i = 0; i < N0 * N1 * N2; i++)
        p->all[i] = sin((double)i * 0.37 + round) + I * cos((double)(i % 101));
    memcpy(p->data, p->all + p->first * N1 * N2,
           (size_t)(p->n * N1 * N2) * sizeof *p->data);
}

static void compare(const part *p, const fftw_complex *found,
                    const fftw_complex *whole, double scale)
{
    double worst = 0;

    for (ptrdiff_t i = 0; i < p->n * N1 * N2; i++)
        worst =
            fmax(worst, cabs(found[i] / scale - whole[p->first * N1 * N2 + i]));
    failures += !(worst < 1e-9);
}

int main(int argc, char **argv)
{
    const int transforms = argc > 1 ? atoi(argv[1]) : TRANSFORMS;
    const unsigned flags = FFTW_MEASURE | FFTW_DESTROY_INPUT;
    double seconds = 0;
    part p;
    int me;

    MPI_Init(&argc, &argv);
    fftw_mpi_init();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    const ptrdiff_t room =
        fftw_mpi_local_size_3d(N0, N1, N2, MPI_COMM_WORLD, &p.n, &p.first);
    p.data = fftw_alloc_complex((size_t)room);
    p.out = fftw_alloc_complex((size_t)room);
    p.all = fftw_alloc_complex(N0 * N1 * N2);
    p.wanted = fftw_alloc_complex(N0 * N1 * N2);
    planning = 1;
    const fftw_plan there = fftw_mpi_plan_dft_3d(
        N0, N1, N2, p.data, p.out, MPI_COMM_WORLD, FFTW_FORWARD, flags);
    const fftw_plan back = fftw_mpi_plan_dft_3d(
        N0, N1, N2, p.out, p.data, MPI_COMM_WORLD, FFTW_BACKWARD, flags);
    planning = 0;
    const fftw_plan alone = fftw_plan_dft_3d(N0, N1, N2, p.all, p.wanted,
                                             FFTW_FORWARD, FFTW_ESTIMATE);
    for (int round = 0; round < transforms; round++) {
        fill(&p, round);
        fftw_execute(alone);
        const double begin = MPI_Wtime();
        fftw_execute(there);
        seconds += MPI_Wtime() - begin;
        compare(&p, p.out, p.wanted, 1);
        fftw_execute(back);
        compare(&p, p.data, p.all, N0 * N1 * N2);
    }
    fftw_destroy_plan(there);
    fftw_destroy_plan(back);
    fftw_destroy_plan(alone);
    fftw_free(p.data);
    fftw_free(p.out);
    fftw_free(p.all);
    fftw_free(p.wanted);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0)
        printf("%d transforms, %d wrong, %.0f us each\n", transforms, failures,
               seconds / transforms * 1e6);
    MPI_Finalize();
    return failures > 0;
}
