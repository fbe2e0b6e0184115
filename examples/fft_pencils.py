"""fft_pencils.py - a three-dimensional FFT by numpy, whose transposes are plans
of Rota, beside the same by MPI.Comm.Alltoallw.

ByAlltoallw is what mpi4py-fft does; ByTypes is that with a plan in the place of
the call, and ByRota packs.

    mpiexec -n P python3 fft_pencils.py [N [steps]]

The field is N by N by N, in pencils on a grid of ranks: one axis is whole, two
are divided. Three one-dimensional FFTs with two transfers in between make one
of three dimensions.
"""

import sys
import time

import numpy as np
from mpi4py import MPI

import rota


def share(n, parts, part):
    """The slice of n that belongs to a part."""
    begin = [n * p // parts for p in range(parts + 1)]
    return slice(begin[part], begin[part + 1])


class Transfer:
    """From arrays in which axis `whole` is whole to arrays in which axis
    `divided` is, among the ranks of comm. shape: of both axes undivided."""

    def __init__(self, comm, shape, whole, divided):
        P, me = comm.size, comm.rank
        before, after = list(shape), list(shape)
        mine = share(shape[divided], P, me)
        before[divided] = mine.stop - mine.start
        mine = share(shape[whole], P, me)
        after[whole] = mine.stop - mine.start
        self.before, self.after = tuple(before), tuple(after)
        # What goes to rank q, and what comes from it.
        self.out = [self.part(whole, share(shape[whole], P, q))
                    for q in range(P)]
        self.into = [self.part(divided, share(shape[divided], P, q))
                     for q in range(P)]

    @staticmethod
    def part(axis, piece):
        return tuple(piece if a == axis else slice(None) for a in range(3))


class ByRota(Transfer):
    """Blocks are packed end to end, in memory that other ranks copy from, but
    for the rank's own."""

    def __init__(self, comm, *args):
        super().__init__(comm, *args)
        me = comm.rank
        self.own = self.into.pop(me), self.out.pop(me)
        self.sends, packed, sent = self.blocks(comm, self.before, self.out)
        self.recvs, came, received = self.blocks(comm, self.after, self.into)
        self.plan = rota.alltoallv_init([packed, sent], [came, received], comm)

    @staticmethod
    def blocks(comm, shape, parts):
        """Arrays of the shapes of parts, end to end in memory, that memory,
        and their sizes with 0 for this rank's own."""
        whole = np.empty(shape, "i1")
        shapes = [whole[part].shape for part in parts]
        counts = [int(np.prod(shape)) for shape in shapes]
        memory = rota.empty(sum(counts), complex, comm)
        arrays = [memory[end - count:end].reshape(shape) for count, end, shape
                  in zip(counts, np.cumsum(counts), shapes)]
        return arrays, memory, counts[:comm.rank] + [0] + counts[comm.rank:]

    def __call__(self, a, b):
        for block, part in zip(self.sends, self.out):
            block[...] = a[part]
        self.plan.start()
        b[self.own[0]] = a[self.own[1]]  # while blocks are under way
        self.plan.wait()
        for block, part in zip(self.recvs, self.into):
            b[part] = block

    def free(self):
        self.plan.free()


class ByAlltoallw(Transfer):
    """MPI packs, by subarray types, as in mpi4py-fft."""

    def __init__(self, comm, *args):
        super().__init__(comm, *args)
        self.comm = comm
        self.types = [
            [MPI.C_DOUBLE_COMPLEX.Create_subarray(
                shape, np.empty(shape, "i1")[part].shape,
                [piece.start or 0 for piece in part]).Commit()
             for part in parts]
            for shape, parts in ((self.before, self.out),
                                 (self.after, self.into))]

    def __call__(self, a, b):
        self.comm.Alltoallw([a, self.types[0]], [b, self.types[1]])

    def free(self):
        for datatype in self.types[0] + self.types[1]:
            datatype.Free()


class ByTypes(ByAlltoallw):
    """The same types, planned once, and whatever arrays."""

    plan = None

    def __call__(self, a, b):
        if self.plan is None:
            self.plan = rota.alltoallw_init([a, self.types[0]],
                                            [b, self.types[1]], self.comm)
        else:
            self.plan.set_buffers(a, b)
        self.plan.start()
        self.plan.wait()

    def free(self):
        super().free()
        if self.plan is not None:
            self.plan.free()


def fft(field, transfers):
    """The transform of a pencil along axis 0, as one along axis 2, and the
    seconds spent in transfers."""
    a, spent = field, 0.0
    for axis in range(3):
        a = np.ascontiguousarray(np.fft.fft(a, axis=axis))
        if axis < 2:
            b = np.empty(transfers[axis].after, complex)
            begin = time.perf_counter()
            transfers[axis](a, b)
            spent += time.perf_counter() - begin
            a = b
    return a, spent


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 48
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    world = MPI.COMM_WORLD
    grid = world.Create_cart(MPI.Compute_dims(world.size, 2))
    first, second = grid.Sub([True, False]), grid.Sub([False, True])
    # Axis 1 is divided by the first communicator, axis 2 by the second.
    piece = (slice(None), share(n, first.size, first.rank),
             share(n, second.size, second.rank))
    whole = np.random.default_rng(1).random((n, n, n)) + 0j
    field = whole[piece].copy()
    ways = {}
    for kind in (ByAlltoallw, ByTypes, ByRota):
        ways[kind.__name__] = [
            kind(first, (n, n, field.shape[2]), 0, 1),
            kind(second, (share(n, first.size, first.rank).stop -
                          share(n, first.size, first.rank).start, n, n), 1, 2)]
    expected = np.fft.fftn(whole)[
        share(n, first.size, first.rank), share(n, second.size, second.rank)]
    times = {name: [] for name in ways}
    close = True
    for step in range(steps + 1):  # the first is not counted
        for name, transfers in ways.items():
            world.Barrier()
            begin = time.perf_counter()
            result, spent = fft(field, transfers)
            taken = np.array([time.perf_counter() - begin, spent])
            world.Allreduce(MPI.IN_PLACE, taken, MPI.MAX)
            close = close and np.allclose(result, expected)
            if step > 0:
                times[name].append(taken)
    close = world.allreduce(close, MPI.LAND)
    for transfers in ways.values():
        for transfer in transfers:
            transfer.free()
    if world.rank == 0:
        for name, taken in times.items():
            whole, spent = 1e3 * np.median(taken, axis=0)
            print(f"{name:12} {whole:9.3f} ms an FFT of {n}^3 on {world.size} "
                  f"ranks, of which transfers {spent:9.3f} ms")
        print("verified" if close else "WRONG")
    return not close


if __name__ == "__main__":
    sys.exit(main())
