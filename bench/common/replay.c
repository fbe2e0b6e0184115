#include "common/replay.h"

#include "common/util.h"

enum { AT_ONCE = 1 << 30 }; /* bytes of a broadcast */

/* Bytes of what rank 0 has read, or -1. */
static long long load(const dist *d, void **data, char *error, size_t errlen)
{
    size_t bytes;

    *data = recording_load(d->path, &bytes, error, errlen);
    return *data != NULL ? (long long)bytes : -1;
}

int replay_load(dist *d, MPI_Comm comm, bool one, void **data, char *error,
                size_t errlen)
{
    long long bytes = -1;
    int P, me;

    bench_must(MPI_Comm_size(comm, &P), "MPI_Comm_size");
    bench_must(MPI_Comm_rank(comm, &me), "MPI_Comm_rank");
    if (me == 0)
        bytes = load(d, data, error, errlen);
    bench_must(MPI_Bcast(&bytes, 1, MPI_LONG_LONG, 0, comm), "MPI_Bcast");
    if (bytes < 0) {
        bench_must(MPI_Bcast(error, (int)errlen, MPI_CHAR, 0, comm),
                   "MPI_Bcast");
        return -1;
    }
    if (me != 0)
        *data = bench_calloc((size_t)bytes + 1, 1);
    for (long long i = 0; i < bytes; i += AT_ONCE)
        bench_must(MPI_Bcast((char *)*data + i,
                             (int)(bytes - i < AT_ONCE ? bytes - i : AT_ONCE),
                             MPI_BYTE, 0, comm),
                   "MPI_Bcast");
    d->recorded = recording_open(*data, (size_t)bytes, P, error, errlen);
    if (d->recorded == NULL)
        return -1;
    d->one = one;
    d->first = recording_busiest(d->recorded);
    d->matrix_max = recording_largest(d->recorded);
    return 0;
}
