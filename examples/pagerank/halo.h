/* halo.h - give other ranks the numbers that they need of this rank's, the same
 * ones again and again, in one of several ways.
 *
 * To add a way: write its functions in halo.c and add a line to forms there. */
#ifndef HALO_H
#define HALO_H

#include <mpi.h>
#include <rota.h>
#include <stdint.h>

typedef struct halo halo;

typedef struct {
    const char *name;
    const char *calls; /* what it consists of, for people */
    void (*open)(halo *h);
    void (*start)(halo *h);
    void (*test)(halo *h); /* advance what was started, without waiting */
    void (*wait)(halo *h);
    void (*close)(halo *h);
} halo_form;

/* MPI before version 4 has no persistent collectives. */
enum { HALO_FORMS = MPI_VERSION >= 4 ? 7 : 6 };

/* The forms that which names, one of those of HALO_HELP: how many, and which; 0
 * for any other word. */
int halo_choose(const char *which, const halo_form *form[HALO_FORMS]);

#define HALO_HELP                                                              \
    "  --exchange WHICH  how numbers travel:\n"                                \
    "                      mpi          MPI_Alltoallv, before the product\n"   \
    "                      counts       MPI_Alltoall of the counts first, as " \
    "if\n"                                                                     \
    "                                   nobody knew them\n"                    \
    "                      nonblocking  MPI_Ialltoallv, during its local "     \
    "part\n"                                                                   \
    "                      persistent   MPI_Alltoallv_init, the same (MPI "    \
    "4)\n"                                                                     \
    "                      rota         a Rota plan, the same\n"               \
    "                      varying      a Rota plan that is told the counts "  \
    "each\n"                                                                   \
    "                                   time, the same\n"                      \
    "                      exchange     a Rota exchange, which finds the "     \
    "counts,\n"                                                                \
    "                                   the same\n"                            \
    "                      all          one after the other (default)\n"

/* What goes where: fixed, and the caller's. What comes lies end to end, in the
 * order of ranks. */
typedef struct {
    int *sendcounts, *sdispls; /* [P] in doubles */
    int *recvcounts, *rdispls;
    double *send, *recv;
} halo_layout;

struct halo {
    const halo_form *form;
    halo_layout at;
    MPI_Comm comm;
    MPI_Request request;
    rota_plan *plan;
    int *counts;     /* [P] that came; of forms that ask */
    double setup_s;  /* making plans or requests */
    double seconds;  /* in start, test and wait since halo_open */
    uint64_t starts; /* since then */
};

/* The layout and its arrays must outlive the halo. Collective. */
void halo_open(halo *h, const halo_form *form, const halo_layout *at,
               MPI_Comm comm);
void halo_start(halo *h);
void halo_test(halo *h);
void halo_wait(halo *h);
void halo_close(halo *h);

/* Seconds that a rank takes to copy as much as comes within its own memory; what
 * came last is written over. Local. */
double halo_copy(const halo_layout *at, int P);

#endif
