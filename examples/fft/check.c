/* check.c - see check.h. */
#include "check.h"

#include "must.h"
#include "options.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

/* Two rounds of multiplying and shifting, after which any two seeds differ in
 * about half of their bits. */
static double scatter(uint64_t seed)
{
    seed = (seed ^ (seed >> 31)) * 0x9e3779b97f4a7c15u;
    seed = (seed ^ (seed >> 29)) * 0xd1342543de82ef95u;
    seed ^= seed >> 32;
    return (double)(seed >> 11) * 0x1p-52 - 1;
}

double complex check_input(uint64_t i)
{
    return scatter(2 * i + 1) + scatter(2 * i + 2) * I;
}

/* Errors grow with the logarithm of the size; measured, they are a tenth of
 * this and less. */
double check_tolerance(double points)
{
    return 8 * DBL_EPSILON * (1 + log2(points));
}

double check_worse(double error, double complex difference)
{
    const double d = cabs(difference);

    return isnan(d) ? INFINITY : fmax(error, d);
}

int check_verdict(const char *what, const entrant *e, double error,
                  double allowed)
{
    int rank;

    MUST(MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX,
                       MPI_COMM_WORLD));
    MUST(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    if (rank == 0)
        printf("%s, %s%s: greatest error %.2g, allowed %.2g\n", what,
               e->way->name, e->overlapped ? ", overlap" : "", error, allowed);
    if (error <= allowed)
        return 0;
    complain("wrong result: %s by %s", what, e->way->name);
    return EXIT_WRONG;
}
