# transforms.py - transforms by mpi4py-fft, whose transposes are its own calls of MPI:
# MPI_Alltoallw with subarrays.
#
#   mpiexec -n 2 python3 transforms.py [TRANSFORMS [N]]
#
# Arrays of N^3 go there and back. Rank 0 prints how many transforms there were, how
# many ranks had wrong entries in the end, and how long one transform took.
import sys

import numpy
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray

transforms = int(sys.argv[1]) if len(sys.argv) > 1 else 100
n = int(sys.argv[2]) if len(sys.argv) > 2 else 32
comm = MPI.COMM_WORLD
fft = PFFT(comm, (n, n, n), axes=(0, 1, 2), dtype=numpy.float64)
array = newDistArray(fft, False)
array[:] = numpy.random.default_rng(comm.rank).random(array.shape)
before = array.copy()

begin = MPI.Wtime()
for _ in range(transforms // 2):
    array = fft.backward(fft.forward(array, normalize=True), array)
us = (MPI.Wtime() - begin) * 1e6 / max(1, transforms)
wrong = comm.allreduce(int(abs(array - before).max() > 1e-10))
if comm.rank == 0:
    print(f"{transforms} transforms, {wrong} wrong, {us:.1f} us each")
