"""loop.py - see loop.c."""

import sys

import numpy as np
from mpi4py import MPI

import rota

starts = int(sys.argv[1]) if len(sys.argv) > 1 else 20000
comm = MPI.COMM_WORLD
a, b = np.zeros(comm.size, "i4"), np.zeros(comm.size, "i4")
plan = rota.alltoall_init(a, b, comm)


def loop():
    for _ in range(starts):
        plan.start()
        plan.wait()


taken = np.empty(21)
for k in range(21):
    comm.Barrier()
    begin = MPI.Wtime()
    loop()
    taken[k] = (MPI.Wtime() - begin) / starts * 1e9
comm.Allreduce(MPI.IN_PLACE, taken, MPI.MAX)
if comm.rank == 0:
    print(f"Python   {np.median(taken):8.1f}")
