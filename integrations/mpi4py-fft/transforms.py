"""transforms.py - transforms with and without plans, in turn.

    mpiexec -n 2 python3 transforms.py [N [ROUNDS]]

Arrays of N^3 numbers (default 32) go there and back ROUNDS times (default 50), once by
mpi4py-fft as it is and once with rota_pencil. Rank 0 prints, for each, the medians of the
slowest rank's times of a pair of transforms, and of the redistributions in it, in
microseconds. The buffers of a redistribution are written before it and read after it
by the transforms themselves.
"""

import sys

import numpy
from mpi4py import MPI

try:
    from mpi4py_fft import PFFT, newDistArray, pencil
except ImportError:
    print("skipped: mpi4py-fft is not installed")
    sys.exit(77)
import rota_pencil

n = int(sys.argv[1]) if len(sys.argv) > 1 else 32
rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 50
comm = MPI.COMM_WORLD
spent = 0.0


def timed(kind):
    """A Transfer whose time is added up."""
    class Timed(kind):
        def forward(self, a, b):
            global spent
            begin = MPI.Wtime()
            super().forward(a, b)
            spent += MPI.Wtime() - begin

        def backward(self, b, a):
            global spent
            begin = MPI.Wtime()
            super().backward(b, a)
            spent += MPI.Wtime() - begin
    return Timed


def prepare(kind):
    pencil.Transfer = timed(kind)
    fft = PFFT(comm, (n, n, n), axes=(0, 1, 2), dtype=numpy.float64)
    array = newDistArray(fft, False)
    array[:] = numpy.random.default_rng(comm.rank).random(array.shape)
    return fft, array, array.copy()


def there_and_back(fft, array):
    """Seconds of all and of redistributions, of the slowest rank."""
    global spent
    spent = 0.0
    comm.Barrier()
    begin = MPI.Wtime()
    fft.backward(fft.forward(array, normalize=True), array)
    times = numpy.array([MPI.Wtime() - begin, spent])
    comm.Allreduce(MPI.IN_PLACE, times, MPI.MAX)
    return times


ways = {"MPI_Alltoallw": prepare(pencil.Transfer),
        "plans": prepare(rota_pencil.Transfer)}
times = {name: [] for name in ways}
for turn in range(rounds + 2):
    for name, (fft, array, _) in ways.items():
        taken = there_and_back(fft, array)
        if turn >= 2:
            times[name].append(taken)
wrong = sum(not numpy.allclose(array, before) for _, array, before in ways.values())
wrong = comm.allreduce(wrong)
if comm.rank == 0:
    for name, taken in times.items():
        whole, moved = 1e6 * numpy.median(taken, axis=0)
        print(f"{n}^3, {comm.size} ranks, {name}: {whole:.0f} us, "
              f"{moved:.0f} us of them redistributions")
    print("wrong" if wrong else "right")
sys.exit(bool(wrong))
