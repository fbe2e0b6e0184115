"""test_rota.py - everything in the Python package, on any number of ranks.

    mpiexec -n P python3 test_rota.py

Exits with 77 where the package cannot be loaded for want of another.
"""

import ast
import gc
import os
import re
import sys
import tempfile
import threading
import traceback
import weakref

try:
    import numpy as np
    from mpi4py import MPI
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
import rota

comm = MPI.COMM_WORLD
P, me = comm.size, comm.rank


def amounts():
    """Rank r sends r + d + 1 numbers to rank d, which are as many as come."""
    counts = np.arange(P) + me + 1
    return counts, np.cumsum(counts) - counts


def number(src, dst, i):
    return (src * 31 + dst) * 31 + i


def filled(dtype="i4"):
    counts, _ = amounts()
    return np.array([number(me, q, i) for q in range(P)
                     for i in range(counts[q])], dtype)


def arrived(got):
    counts, _ = amounts()
    return np.array_equal(got, np.array(
        [number(q, me, i) for q in range(P) for i in range(counts[q])],
        got.dtype))


def raises(kind, error_class, call, *args, **kwargs):
    """The exception; an assertion if there is another or none."""
    try:
        call(*args, **kwargs)
    except kind as error:
        if error_class is not None:
            assert error.Get_error_class() == error_class, (error, error_class)
        return error
    raise AssertionError(f"{kind} expected")


# ---- fixed plans ------------------------------------------------------------

def test_specifications():
    counts, displs = amounts()
    a, b = filled(), np.empty(counts.sum(), "i4")
    for send, recv in [
            ([a, counts, displs, MPI.INT], [b, counts, displs, MPI.INT]),
            ([a, (counts, displs), "i4"], [b, (counts, displs), "<i4"]),
            ([a, counts], [b, list(counts)]),
            ([a, (list(counts), None), MPI.INT32_T],
             [b, (tuple(counts), tuple(displs))]),
            ([a, counts.astype("i4"), np.dtype("i4")], [b, counts, MPI.INT]),
            ([memoryview(a), counts], [memoryview(b), counts])]:
        b[:] = -1
        plan = rota.alltoallv_init(send, recv, comm)
        plan.start()
        plan.wait()
        assert arrived(b), (send, recv)
        plan.free()


def test_dtypes():
    counts, _ = amounts()
    for dtype in ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8",
                  "g", "c8", "c16"):
        a, b = filled("i4").astype(dtype), np.zeros(counts.sum(), dtype)
        with rota.alltoallv_init([a, counts], [b, counts], comm) as plan:
            plan.start()
        assert np.array_equal(
            b, np.array([number(q, me, i) for q in range(P)
                         for i in range(counts[q])]).astype(dtype)), dtype
    raises(TypeError, None, rota.exchange_init, None, "datetime64[s]", comm)


def test_life():
    counts, _ = amounts()
    a, b, c = filled(), np.empty(counts.sum(), "i4"), np.empty(counts.sum(), "i4")
    with rota.alltoallv_init([a, counts], [b, counts], comm) as plan:
        assert plan
        plan.start()
        raises(rota.Error, MPI.ERR_REQUEST, plan.start)
        raises(rota.Error, MPI.ERR_REQUEST, plan.free)
        while not plan.test():
            pass
        assert arrived(b)
        plan.set_buffers(a, c)
        raises(ValueError, None, plan.set_buffers, a, c[:0])
        plan.set_stream(None)
        c[:] = -1
        raises(rota.Error, MPI.ERR_REQUEST, plan.get_request)
        plan.start()
        request = plan.get_request()
        raises(rota.Error, MPI.ERR_REQUEST, plan.get_request)
        request.Wait()
        assert arrived(c)
        plan.start()
        plan.wait()
        raises(rota.Error, MPI.ERR_REQUEST, plan.pready, 0)
        plan.set_partitioned()
        c[:] = -1
        plan.start()
        plan.pready(0)
        plan.pready(range(1, comm.size))
        raises(rota.Error, MPI.ERR_ARG, plan.pready, [0])
        came = list(plan.arrivals())
        assert sorted(came) == [q for q in range(comm.size) if counts[q] > 0]
        assert all(plan.parrived(q) for q in came)
        plan.wait()
        plan.start()
        plan.pready(list(range(comm.size)))
        plan.pready([])
    assert arrived(c)
    assert not plan
    raises(rota.Error, MPI.ERR_REQUEST, plan.start)
    plan.free()
    # Buffers live as long as the plan.
    source = bytearray(filled().tobytes())
    plan = rota.alltoallv_init([source, counts, "i4"], [b, counts], comm)
    raises(BufferError, None, source.append, 0)
    plan.free()
    source.append(0)


def test_describe():
    a, b = np.zeros(P), np.empty(P)
    with rota.alltoall_init(a, b, comm, {"rota_algorithm": "spread_out"}) as plan:
        assert plan.describe()["algorithm"] == "spread_out"
        assert "spread_out" in str(plan)
    assert rota.version() >= (0, 1, 0)


def test_alltoall():
    a, b = np.arange(2 * P) + 2 * P * me, np.empty(2 * P, int)
    for send, recv in [(a, b), ([a, 2], [b, 2, MPI.LONG]), ([a, MPI.LONG], b)]:
        b[:] = -1
        plan = rota.alltoall_init(send, recv, comm)
        plan.start()
        plan.wait()
        assert np.array_equal(b.reshape(P, 2)[:, 0],
                              2 * P * np.arange(P) + 2 * me)
    raises(rota.Error, MPI.ERR_COUNT, rota.alltoall_init, [a, 1], [b, 2], comm)


def test_in_place():
    counts, _ = amounts()
    a = filled()
    with rota.alltoallv_init(MPI.IN_PLACE, [a, counts], comm) as plan:
        plan.start()
    assert arrived(a)
    plan = rota.alltoall_init(MPI.IN_PLACE, np.zeros(P), comm)
    b = np.arange(P) + P * me + 0.5
    plan.set_buffers(MPI.IN_PLACE, b)
    plan.start()
    plan.wait()
    assert np.array_equal(b, P * np.arange(P) + me + 0.5)


def test_types():
    """Rows of a matrix go, columns of one come."""
    a, b = np.empty((3, P), "i4"), np.empty((P, 3), "i4")
    for q in range(P):
        a[:, q] = [number(me, q, i) for i in range(3)]
    column = MPI.INT.Create_vector(3, 1, P)
    placed = column.Create_resized(0, 4).Commit()
    plan = rota.alltoall_init([a, 1, placed], [b, 3, MPI.INT], comm)
    column.Free()
    placed.Free()
    plan.start()
    plan.wait()
    assert all(b[q, i] == number(q, me, i) for q in range(P) for i in range(3))


def test_own_types():
    """Axis 0 of an array is gathered, axis 1 distributed, as FFTs do it."""
    a = np.empty((2, 3 * P), "i4")
    b, c = np.empty((2 * P, 3), "i4"), np.empty((2 * P, 3), "i4")
    for i in range(2):
        for k in range(3 * P):
            a[i, k] = number(me, k, i)
    send = [MPI.INT.Create_subarray(a.shape, (2, 3), (0, 3 * q)).Commit()
            for q in range(P)]
    recv = [MPI.INT.Create_subarray(b.shape, (2, 3), (2 * q, 0)).Commit()
            for q in range(P)]
    plan = rota.alltoallw_init([a, send], [b, recv], comm)
    other = rota.alltoallw_init([a, ([1] * P, [0] * P), send],
                                [c, [6] * P, [24 * q for q in range(P)],
                                 ["i4"] * P], comm)
    raises(ValueError, None, rota.alltoallw_init,
           [a, send[1:]], [b, recv], comm)
    raises(ValueError, None, rota.alltoallw_init, [a, send], [b[:1], recv],
           comm)
    for datatype in send + recv:
        datatype.Free()
    for each in plan, other:
        each.start()
        each.wait()
    want = [[number(q, 3 * me + k, i) for k in range(3)]
            for q in range(P) for i in range(2)]
    assert np.array_equal(b, want) and np.array_equal(c, want)
    raises(rota.Error, MPI.ERR_TYPE, rota.alltoallw_init,
           [a, [MPI.DATATYPE_NULL] * P], [b, [MPI.INT] * P], comm)
    in_place = rota.alltoallw_init(MPI.IN_PLACE, [c[:P], ([1] * P,
                                   [12 * q for q in range(P)]), ["i4"] * P],
                                   comm)
    c[:, 0] = np.arange(2 * P) + 100 * me
    in_place.start()
    in_place.wait()
    assert np.array_equal(c[:P, 0], 100 * np.arange(P) + me)


def test_many():
    a = np.array([number(me, q, 0) for q in range(P)])
    results = [np.empty(P, int) for _ in range(3)]
    plans = [rota.alltoall_init(a, b, comm) for b in results]
    rota.startall(plans)
    raises(rota.Error, MPI.ERR_REQUEST, rota.startall, plans)
    rota.waitall(plans)
    for b in results:
        assert np.array_equal(b, [number(q, me, 0) for q in range(P)])
    raises(TypeError, None, rota.waitall, [1])


# ---- kinds of buffers -------------------------------------------------------

class Cuda:
    """An array that says of host memory what a device's would say of its."""

    def __init__(self, array, **more):
        self.array = array
        self.__cuda_array_interface__ = {
            "data": (array.ctypes.data, False), "shape": array.shape,
            "typestr": array.dtype.str, "version": 3, "strides": None, **more}


class DLPack:
    """An array that gives itself by DLPack only."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


def test_interfaces():
    counts, _ = amounts()
    a, b = filled(), np.empty(counts.sum(), "i4")
    for kind in (Cuda, DLPack):
        b[:] = -1
        with rota.alltoallv_init([kind(a), counts], [kind(b), counts],
                                 comm) as plan:
            plan.start()
        assert arrived(b), kind
    matrix = np.zeros((2 * P, 2 * P))
    for wrong in (matrix[:, ::2], Cuda(matrix, strides=(16, 16)),
                  DLPack(matrix[:, ::2])):
        raises((BufferError, ValueError), None, rota.alltoall_init, wrong,
               np.zeros(4 * P * P), comm)
    plan = rota.alltoall_init(matrix.T, np.empty((P, 4 * P)), comm)
    plan.free()
    raises(TypeError, None, rota.alltoall_init, 3, np.zeros(P), comm)
    read_only = np.zeros(P)
    read_only.flags.writeable = False
    raises((BufferError, ValueError), None, rota.alltoall_init, np.zeros(P),
           read_only, comm)
    raises(BufferError, None, rota.alltoall_init, np.zeros(P),
           Cuda(read_only, data=(read_only.ctypes.data, True)), comm)


# ---- varying plans and exchanges --------------------------------------------

def test_varying():
    counts, displs = amounts()
    a, b = filled(), np.empty(counts.sum(), "i4")
    with rota.alltoallv_varying_init(None, MPI.INT, comm) as plan:
        for step in range(3):
            b[:] = -1
            plan.start([a, counts], [b, (counts, displs)])
            raises(rota.Error, MPI.ERR_REQUEST, plan.start, [a, counts],
                   [b, counts])
            plan.wait()
            assert arrived(b)
        plan.start(MPI.IN_PLACE, [a, counts])
        plan.wait()
        assert arrived(a)
        raises(rota.Error, MPI.ERR_REQUEST, plan.set_buffers, a, b)
        raises(ValueError, None, plan.start, [a, counts[1:]], [b, counts])
        raises(ValueError, None, plan.start, [a, counts + 1], [b, counts])


def test_exchange():
    counts, displs = amounts()
    a = filled()
    kept = []
    with rota.exchange_init(None, "i4", comm) as plan:
        for step in range(4):
            plan.start([a + step, counts])
            blocks = plan.wait()
            assert np.array_equal(blocks.counts, counts)
            assert np.array_equal(blocks.displs, displs)
            assert arrived(blocks.array - step) and len(blocks) == P
            for q, block in enumerate(blocks):
                assert block[0] == number(q, me, 0) + step
            kept.append(blocks)
        plan.start([a, (counts, displs)])
        while not plan.test():
            pass
        assert arrived(np.asarray(plan.wait()))
        raises(rota.Error, MPI.ERR_REQUEST, plan.wait)
    # Arrays stay as they were, and keep what they view.
    gc.collect()
    for step, blocks in enumerate(kept):
        assert arrived(blocks.array - step)


def test_neighbors():
    """A ring: what goes down arrives from above."""
    ring = comm.Create_cart([P], periods=[True])
    down, up = (me - 1) % P, (me + 1) % P
    a = np.array([number(me, down, 0), number(me, up, 1)], "i4")
    wanted = [number(down, me, 1), number(up, me, 0)]
    b, c, d, e = (np.zeros(2, "i4") for _ in range(4))
    plans = [rota.neighbor_alltoallv_init([a, [1, 1]], [b, [1, 1]], ring),
             rota.neighbor_alltoall_init(a, c, ring),
             rota.neighbor_alltoallw_init(
                 [a, [1, 1], [0, 4], [MPI.INT] * 2],
                 [e, [1, 1], [0, 4], [MPI.INT] * 2], ring)]
    rota.startall(plans)
    rota.waitall(plans)
    assert list(b) == list(c) == list(e) == wanted
    varying = rota.neighbor_alltoallv_varying_init(None, "i4", ring)
    varying.start([a, [1, 1]], [d, [1, 1]])
    varying.wait()
    assert list(d) == wanted
    exchange = rota.neighbor_exchange_init(None, "i4", ring)
    exchange.start([a, [1, 1]])
    assert list(np.array(exchange.wait())) == wanted
    raises(rota.Error, MPI.ERR_TOPOLOGY, rota.neighbor_alltoall_init, a, c,
           comm)
    # Nobody has neighbours.
    empty = comm.Create_dist_graph_adjacent([], [])
    exchange = rota.neighbor_exchange_init(None, "i4", empty)
    exchange.start([a, []])
    assert len(exchange.wait()) == 0
    empty.Free()
    ring.Free()


def test_graphs():
    """A ring by lists; plans outlive the graph."""
    down, up = (me - 1) % P, (me + 1) % P
    made = rota.Graph(comm, [down], [up])
    ring = made.copy()
    made.free()
    assert ring and not made
    assert (ring.n_sources, ring.n_destinations) == (1, 1)
    a = np.array([number(me, up, 7)], "i4")
    wanted = [number(down, me, 7)]
    b, c, d, e = (np.zeros(1, "i4") for _ in range(4))
    plans = [rota.neighbor_alltoallv_init([a, [1]], [b, [1]], ring),
             rota.neighbor_alltoall_init(a, c, ring),
             rota.neighbor_alltoallw_init([a, [1], [0], [MPI.INT]],
                                          [e, [1], [0], [MPI.INT]], ring)]
    varying = rota.neighbor_alltoallv_varying_init(None, "i4", ring)
    exchange = rota.neighbor_exchange_init(None, "i4", ring)
    ring.free()
    rota.startall(plans)
    rota.waitall(plans)
    assert list(b) == list(c) == list(e) == wanted
    varying.start([a, [1]], [d, [1]])
    varying.wait()
    assert list(d) == wanted
    exchange.start([a, [1]])
    assert list(np.array(exchange.wait())) == wanted
    cart = comm.Create_cart([P], periods=[True])
    of = rota.Graph(cart)
    cart.Free()
    assert of.n_sources == 2
    raises(rota.Error, MPI.ERR_ARG, rota.Graph, comm, [P], [])
    raises(*(rota.Error, MPI.ERR_ARG) if me else (TypeError, None),
           rota.Graph, comm, [] if me else ["none"], [])
    raises(rota.Error, MPI.ERR_TOPOLOGY, rota.Graph, comm)


def test_unit():
    """One plan for one and for two components."""
    a, b = np.arange(2 * P, dtype="f8") + 100 * me, np.zeros(2 * P)
    plan = rota.alltoall_init([a, 1, MPI.DOUBLE], [b, 1, MPI.DOUBLE], comm,
                              {"rota_largest_unit": "16"})
    plan.start()
    plan.wait()
    assert list(b[:P]) == [100 * q + me for q in range(P)]
    plan.set_unit("f8", 2)
    plan.start()
    plan.wait()
    assert list(b) == [100 * (i // 2) + 2 * me + i % 2 for i in range(2 * P)]
    raises(ValueError, None, plan.set_unit, "f8", 3)
    raises(ValueError, None, plan.set_buffers, a, b[:P])
    plan.set_unit("f4")
    raises(rota.Error, MPI.ERR_COUNT, plan.set_unit, "f4", 0)


def test_reverse():
    """What has come goes back, and is added; or it overwrites."""
    roots, leaves = np.full(P, 0.5), 10.0 * me + np.arange(P)
    plan = rota.alltoall_init([roots, 1, MPI.DOUBLE], [leaves, 1, MPI.DOUBLE],
                              comm)
    add = plan.init_reverse(leaves, roots, op=MPI.SUM)
    back = plan.init_reverse(leaves, roots)
    plan.free()
    for run, there in (add, 0.5), (back, 0):
        run.start()
        run.wait()
        assert list(roots) == [10 * q + me + there for q in range(P)]
    raises(*(rota.Error, MPI.ERR_TYPE) if me else (ValueError, None),
           back.init_reverse, roots, leaves if me else leaves[:0], op=MPI.SUM)
    raises(rota.Error, MPI.ERR_OP, back.init_reverse, roots, leaves,
           op=MPI.BAND)


def test_exchange_sparse():
    """Each rank sends its number to the next one, and to itself but for one."""
    dests = [(me + 1) % P] + ([me] if P > 1 and me != 1 else [])
    a = np.full(2, me, "i4")
    kept = []
    with rota.exchange_init_sparse("i4", comm) as plan:
        for step in range(4):
            plan.start([a + 100 * step, (np.ones(len(dests), int),
                                         range(len(dests)))], dests)
            while step == 2 and not plan.test():
                pass
            kept.append(plan.wait())
        mine = np.zeros(2, "i4")
        plan.set_buffer(mine)
        plan.start([a[:1], [1]], dests[:1])
        blocks = plan.wait()
        assert np.shares_memory(blocks.array, mine)
        assert blocks[0][0] == (me - 1) % P and mine[0] == (me - 1) % P
        plan.set_buffer(None)
        plan.start(None, [])
        assert len(plan.wait()) == 0
        error = raises(rota.Error, MPI.ERR_ARG, plan.start, [a, [1]], [P])
        assert f"dests[0] = {P}" in str(error)
        # Longer than what there is memory for.
        plan.start([np.full(10000, me, "i4"), [10000]], dests[:1])
        blocks = plan.wait()
        assert (blocks.array == (me - 1) % P).all() and len(blocks.array) == 10000
    expected = sorted({(me - 1) % P} | ({me} if P > 1 and me != 1 else set()))
    gc.collect()
    for step, blocks in enumerate(kept):
        assert blocks.sources.tolist() == expected
        for source, array in blocks:
            assert array.tolist() == [source + 100 * step]


def test_exchange_arrays():
    """Integers in the usual counts, and a number for each rank."""
    counts, _ = amounts()
    halves = np.full(P, me + 0.5)
    with rota.exchange_init_arrays(None, ["i4", MPI.DOUBLE], comm) as plan:
        kept = []
        for step in range(3):
            a = filled()
            plan.start([[a, counts], [halves, np.ones(P, int)]])
            del a  # the plan keeps it
            while step == 2 and not plan.test():
                pass
            kept.append(plan.wait())
        for ints, numbers in kept:
            assert arrived(ints.array)
            assert numbers.array.tolist() == [q + 0.5 for q in range(P)]
            assert list(numbers[P - 1]) == [P - 0.5]
        a, none = filled(), [0] * P
        plan.start([[a, none], [halves, none]])
        ints, numbers = plan.wait()
        assert ints.array.dtype == "i4" and len(ints.array) == 0
        raises(ValueError, None, plan.start, [[a, counts]])
        raises(rota.Error, MPI.ERR_REQUEST, plan.wait)
        raises(rota.Error, MPI.ERR_REQUEST, plan.set_buffer, a)
        raises(rota.Error, MPI.ERR_REQUEST, plan.wait_borrow)
        # Read where they lie, until the next start.
        own = halves.copy()
        sent = weakref.ref(own)
        plan.start([[filled(), counts], [own, np.ones(P, int)]])
        del own
        ints, numbers = plan.wait_borrow()
        assert sent() is not None  # this rank's own part lies in it
        assert arrived(np.concatenate(list(ints)))
        assert [part.tolist() for part in numbers] == \
            [[q + 0.5] for q in range(P)]
        last = numbers[P - 1]
        raises(ValueError, None, last.__setitem__, 0, 1)
        raises(BufferError, None, plan.start, [[a, none], [halves, none]])
        raises(BufferError, None, plan.free)
        del last
        gc.collect()
        plan.start([[a, none], [halves, none]])
        raises(BufferError, None, numbers.__getitem__, 0)
        assert [part.counts.tolist() for part in plan.wait_borrow()] == \
            [none, none]
    with rota.exchange_init_arrays(32, ["u1", "u1"], comm) as plan:
        plan.start([[np.full(P, me, "u1"), [1] * P],
                    [np.full(9 * P, me, "u1"), [9 if me == 0 else 7] * P]])
        if P == 1:  # there is no bound on what a rank has for itself
            plan.wait()
        else:
            error = raises(rota.Error, MPI.ERR_TRUNCATE, plan.wait)
            assert error.blocks[0].array.tolist() == list(range(me > 0, P))
    raises(rota.Error, MPI.ERR_COUNT, rota.exchange_init_arrays, None, [], comm)


def test_exchange_borrow():
    """Blocks, short and long, are read where their senders have them."""
    def lent(plan, step, n):
        """Send n numbers to each rank, from the plan's buffer."""
        array = plan.get_sendbuf(n * P)
        array[:] = np.repeat(np.arange(P) + 100 * me + 10000 * step, n)
        plan.start([array, [n] * P])

    with rota.exchange_init_borrow(None, "i8", comm) as plan:
        for step, n in enumerate((0, 1, 9, 5000, 60000, 5, 60000, 60000)):
            lent(plan, step, n)
            while step == 2 and not plan.test():
                pass
            blocks = plan.wait()
            assert blocks.counts.tolist() == [n] * P and len(blocks) == P
            for q in range(P):
                assert (blocks[q] == me + 100 * q + 10000 * step).all()
                assert len(blocks[q]) == n
        last = blocks[P - 1]
        raises(ValueError, None, last.__setitem__, 0, 1)
        raises(BufferError, None, lent, plan, 9, 1)
        raises(BufferError, None, plan.free)
        del last
        lent(plan, 9, 1)
        raises(BufferError, None, blocks.__getitem__, 0)
        raises(rota.Error, MPI.ERR_REQUEST, plan.get_sendbuf, 1)
        plan.wait()
        array = plan.get_sendbuf(10)
        again = plan.get_sendbuf(5)
        assert again.ctypes.data == array.ctypes.data
        raises(BufferError, None, plan.get_sendbuf, 10**7)
        left, total = np.full(1, me), np.zeros(1, int)
        raises(BufferError, None, plan.set_reduction, left, total)
        del array, again
        gc.collect()  # what errors keep
        plan.set_reduction(left, total)
        lent(plan, 10, 3)
        assert plan.wait()[0].tolist() == [me + 100000] * 3
        assert total[0] == P * (P - 1) / 2
        plan.start([np.full(1000 * P, me), [1000] * P])
        blocks = plan.wait()
        elsewhere = np.full(1000 * P, -1)  # not where the last array was
        assert [block[0] for block in blocks] == list(range(P))
        raises(ValueError, None, blocks.counts.__setitem__, 0, 10**6)
        raises(rota.Error, MPI.ERR_COUNT, plan.start, [elsewhere, [-1] * P])
        assert blocks[me][999] == me
        plan.start([elsewhere, [1] * P])
        raises(rota.Error, MPI.ERR_REQUEST, plan.free)
        assert plan.wait()[0][0] == -1
        raises(rota.Error, MPI.ERR_REQUEST, plan.set_buffer, elsewhere)
        # One rank's array: all are told.
        array = plan.get_sendbuf(1) if me == 0 else None
        raises(BufferError if me == 0 else rota.Error, None,
               plan.set_reduction, left, total)
        del array
        gc.collect()
    # Arrays keep the memory of a plan that nobody has.
    plan = rota.exchange_init_borrow(None, "i8", comm)
    lent(plan, 0, 5000)
    kept = plan.wait()[P - 1]
    last = weakref.ref(plan)
    del plan
    assert last() is not None and (kept == me + 100 * (P - 1)).all()
    del kept
    gc.collect()
    assert last() is None


def test_reduction():
    """A value of each rank travels with the blocks."""
    counts, _ = amounts()
    left, total = np.zeros(1), np.zeros(1)
    with rota.exchange_init(None, "i4", comm) as plan:
        plan.set_reduction(left, total)
        for step in range(3):
            left[0] = me + step
            plan.start([filled(), counts])
            assert arrived(plan.wait().array)
            assert total[0] == P * (P - 1) / 2 + P * step
        most = np.zeros(2, "i8")
        plan.set_reduction(MPI.IN_PLACE, most, MPI.MAX)
        most[:] = me, -me
        plan.start([filled(), counts])
        plan.wait()
        assert most.tolist() == [P - 1, 0]
        plan.set_reduction(None, None)
        raises(ValueError, None, plan.set_reduction, left, np.zeros(2))
        raises(rota.Error, MPI.ERR_COUNT, plan.set_reduction, np.zeros(9),
               np.zeros(9))


def test_exchange_memory():
    """Memory is used again when nobody looks at it, and only then."""
    counts, _ = amounts()
    plan = rota.exchange_init(None, "i4", comm)
    places = set()
    for step in range(20):
        plan.start([filled(), counts])
        places.add(plan.wait().array.ctypes.data)
    assert len(places) <= 2, places
    last = weakref.ref(plan)
    plan = None
    gc.collect()
    assert last() is None
    # Blocks that grow, from a rank that sends to itself as well.
    plan = rota.exchange_init(None, "u1", comm)
    for size in (0, 10, 100000, 10):
        plan.start([np.full(size * P, me, "u1"), [size] * P])
        blocks = plan.wait()
        assert blocks.counts.tolist() == [size] * P
        assert all((blocks[q] == q).all() for q in range(P))


def test_exchange_buffer():
    """Blocks come in an array of the program's."""
    counts, _ = amounts()
    mine = np.zeros(counts.sum() + 3, "i4")
    plan = rota.exchange_init(None, "i4", comm, stream=None)
    plan.set_buffer(mine)
    plan.start([filled(), counts])
    blocks = plan.wait()
    assert arrived(blocks.array) and np.shares_memory(blocks.array, mine)
    plan.set_buffer(mine[:0])
    plan.start([filled(), counts])
    raises(rota.Error, MPI.ERR_BUFFER, plan.wait)
    plan.set_buffer(None)
    other = plan.wait()
    assert arrived(other.array)
    assert not np.shares_memory(other.array, mine)
    raises(ValueError, None, plan.set_buffer, np.zeros((2, 2), "i4"))


def test_bound():
    counts, _ = amounts()
    plan = rota.exchange_init(8, MPI.INT, comm)
    plan.start([filled(), counts])
    above = any(n > 2 for n in counts)
    if above:
        error = raises(rota.Error, MPI.ERR_TRUNCATE, plan.wait)
        assert error.blocks[me].size == (counts[me] if counts[me] <= 2 else 0)
    else:
        plan.wait()
    plan.start([filled(), [0] * P])
    assert plan.wait().array.size == 0
    pair = MPI.INT.Create_contiguous(2).Commit()
    pairs = rota.exchange_init(None, pair, comm)
    pairs.start([np.arange(2 * P, dtype="i4"), [1] * P])
    pair.Free()
    assert pairs.wait().array.tobytes() == \
        np.array([[2 * me, 2 * me + 1]] * P, "i4").tobytes()


# ---- memory, tuning, errors -------------------------------------------------

def test_memory():
    a = rota.empty((P, 2), "f8", comm)
    a[:] = me * P + np.arange(P)[:, None]
    b = rota.empty(2 * P, "f8", comm)
    with rota.alltoall_init(a, b, comm) as plan:
        plan.start()
    assert np.array_equal(b, np.repeat(np.arange(P) * P + me, 2))
    memory = rota.mem_alloc(64, comm)
    assert len(memory) == 64
    view = np.frombuffer(memory, "u1")
    raises(BufferError, None, memory.free)
    del view
    memory.free()
    raises(BufferError, None, memoryview, memory)
    assert rota.empty(0, "f8", comm).size == 0


def test_shared():
    with rota.shared():
        a = np.empty((P, 200), "f8")
        zero = np.zeros(100000)
    b = np.empty((P, 200))
    handler = np.core.multiarray.get_handler_name
    assert handler(a) == "rota" and handler(b) != "rota"
    assert not zero.any()
    a[:] = me * P + np.arange(P)[:, None]
    with rota.alltoall_init(a, b, comm) as plan:
        plan.start()
    assert np.array_equal(b[:, 0], np.arange(P) * P + me)
    zero.resize(200000, refcheck=False)
    assert handler(zero) == "rota" and not zero.any()


def test_tuning():
    rota.tuning_forget(comm)
    text = rota.tuning_export_string(comm)
    rota.tuning_import_string(text if me == 0 else None, comm)
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "tuning.json") if me == 0 else None
    rota.tuning_export(path, comm)
    rota.tuning_import(path, comm)
    if me == 0:
        os.remove(path)
    os.rmdir(folder)
    raises(rota.Error, MPI.ERR_ARG, rota.tuning_import, "no such file", comm)
    rota.tuning_forget(comm)


def test_errors():
    a = np.zeros(P)
    ones = [1] * P
    error = raises(rota.Error, MPI.ERR_COUNT, rota.alltoallv_init,
                   [a, [-1] * P], [a.copy(), ones], comm)
    assert isinstance(error, MPI.Exception)
    assert "rota_alltoallv_init_c" in str(error), str(error)
    assert rota.error_class(error.Get_error_code()) == MPI.ERR_COUNT
    assert rota.error_class(MPI.ERR_TRUNCATE) == MPI.ERR_TRUNCATE
    error = raises(rota.Error, MPI.ERR_ARG, rota.alltoall_init, a, a.copy(),
                   comm, {"rota_algorithm": "none"})
    assert "none" in str(error) and error.error_class == MPI.ERR_ARG
    raises(rota.Error, MPI.ERR_COMM, rota.alltoall_init, a, a.copy(),
           MPI.COMM_NULL)
    raises(TypeError, None, rota.alltoall_init, a, a.copy(), None)
    # What one rank finds before it calls Rota ends the call on all.
    spec = [a, [5 * P] * P] if me == 0 else [a, ones]
    kind = ValueError if me == 0 else rota.Error
    raises(kind, None, rota.alltoallv_init, spec, [a.copy(), ones], comm)
    raises(kind, None, rota.alltoall_init, [a, 5 if me == 0 else 1], a.copy(),
           comm)
    for wrong in ([a, ones, ones, MPI.DOUBLE, 1], [a, [1] * (P + 1)],
                  [a, ["x"] * P], [a, ones, "no dtype"]):
        raises((TypeError, ValueError), None, rota.alltoallv_init, wrong,
               [a.copy(), ones], comm)


def test_stubs():
    """What the stubs declare is there, with a docstring that has its arguments;
    and the other way round."""
    path = os.path.join(os.path.dirname(rota.__file__), "__init__.pyi")
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    declared = {node.name for node in tree.body
                if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    public = {name for name in rota.__all__
              if callable(getattr(rota, name))}
    assert declared == public, declared ^ public

    def check(node, owner):
        if node.name.startswith("__"):
            return
        there = getattr(owner, node.name)
        assert there.__doc__, node.name
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    check(inner, there)
            return
        for argument in node.args.args:
            assert argument.arg == "self" or \
                re.search(rf"^ +(\w+, )*{argument.arg}(, \w+)* : ",
                          there.__doc__, re.M), (node.name, argument.arg)

    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            check(node, rota)


def test_threads():
    """Other threads run while one waits."""
    if MPI.Query_thread() < MPI.THREAD_MULTIPLE:
        return
    ran = threading.Event()
    a, b = np.zeros(P), np.empty(P)
    plan = rota.alltoall_init(a, b, comm)
    plan.start()
    thread = threading.Thread(target=ran.set)
    thread.start()
    plan.wait()
    thread.join()
    assert ran.is_set()


def main():
    failed = 0
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            try:
                test()
            except Exception:
                failed += 1
                print(f"rank {me}: {name}", flush=True)
                traceback.print_exc()
                sys.stderr.flush()
                comm.Abort(1)  # the others may be waiting
    gc.collect()
    if comm.allreduce(failed) == 0 and me == 0:
        print(f"ranks {P}, wrong 0")
    return failed


if __name__ == "__main__":
    sys.exit(main())
