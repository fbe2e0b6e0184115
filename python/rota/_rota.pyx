# cython: language_level=3
# _rota.pyx - Rota for programs of mpi4py.
#
# Only large-count functions are called: Python's integers have no bound, and
# counts are converted in any case.
cimport cython
from cpython.buffer cimport (
    PyBUF_ANY_CONTIGUOUS, PyBUF_FORMAT, PyBUF_WRITABLE, PyBuffer_FillInfo,
    PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer)
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_INCREF
from libc.stdlib cimport free, malloc
from mpi4py cimport MPI
from mpi4py.libmpi cimport (
    MPI_COMM_NULL, MPI_DATATYPE_NULL, MPI_ERR_BUFFER, MPI_ERR_TRUNCATE,
    MPI_ERR_NO_MEM, MPI_IN_PLACE, MPI_INFO_NULL, MPI_SUCCESS, MPI_Comm_size,
    MPI_Finalized, MPI_Type_get_extent, MPI_Type_get_true_extent)
from rota.librota cimport *

import json
import os
import sys
from operator import index as operator_index

import numpy
from mpi4py import MPI

cdef extern from *:
    """
    #ifdef OPEN_MPI
    #define ROTA_MPI_NAME "Open MPI"
    #elif defined(MPICH_VERSION)
    #define ROTA_MPI_NAME "MPICH"
    #else
    #define ROTA_MPI_NAME ""
    #endif
    """
    const char *ROTA_MPI_NAME

if ROTA_MPI_NAME.decode() not in MPI.Get_library_version():
    raise ImportError(
        f"rota was built with {ROTA_MPI_NAME.decode()}, mpi4py with "
        f"{MPI.Get_library_version().splitlines()[0]}")

UNBOUNDED = ROTA_UNBOUNDED


# ---- errors -----------------------------------------------------------------

def error_class(int code):
    """Return the MPI error class of a code that Rota or MPI returned.

    Parameters
    ----------
    code : int
        An error code.

    Returns
    -------
    int
        Such as ``MPI.ERR_COUNT``. ``MPI.Get_error_class`` may return another
        class for Rota's codes.
    """
    cdef int found = 0
    check(rota_error_class(code, &found))
    return found


class Error(MPI.Exception):
    """An error from Rota, with the library's text.

    Attributes
    ----------
    blocks : Blocks or None
        The blocks that arrived, if `Exchange.wait` reports one above the bound.
    """

    blocks = None

    def __init__(self, ierr=0):
        super().__init__(ierr)
        # MPI forgets texts of Rota's when there are many.
        self._text = MPI.Get_error_string(ierr)
        self._class = error_class(ierr)

    def __str__(self):
        return self._text

    def Get_error_class(self):
        return self._class

    def Get_error_string(self):
        return self._text

    error_class = property(Get_error_class)
    error_string = property(Get_error_string)


cdef int check(int code) except -1:
    if code != MPI_SUCCESS:
        raise Error(code)
    return 0


cdef delivered(int code, blocks):
    """The blocks of a wait; if one above the bound was left out, with an error."""
    if code != MPI_SUCCESS:
        error = Error(code)
        error.blocks = blocks
        raise error
    return blocks


include "_buffers.pxi"


# ---- arguments --------------------------------------------------------------

cdef MPI.Info as_info(info):
    """An MPI.Info, to be freed if the argument was none."""
    if isinstance(info, MPI.Info):
        return info
    if info is None:
        return MPI.INFO_NULL
    made = MPI.Info.Create()
    for key, value in dict(info).items():
        made.Set(key, str(value))
    return made


cdef int done_with(MPI.Info used, given) except -1:
    if used is not given and given is not None:
        used.Free()
    return 0


cdef int size_of(MPI.Comm comm) except -1:
    """The ranks of a communicator; 0 where it is none, which Rota reports."""
    cdef int P = 0
    if comm is None:
        raise TypeError("comm is None")
    if comm.ob_mpi != MPI_COMM_NULL:
        check(MPI_Comm_size(comm.ob_mpi, &P))
    return P


cdef (int, int) degrees_of(MPI.Comm comm):
    """Its destinations and sources; none where there is no topology, which Rota
    reports."""
    if not isinstance(comm, MPI.Topocomm):
        return 0, 0
    return comm.outdegree, comm.indegree


cdef void *as_stream(stream) except? NULL:
    """The address of a CUDA stream: an integer or what has one as cupy's
    (ptr), torch's (cuda_stream) or CUDA's own (__cuda_stream__) have it."""
    if hasattr(stream, "__cuda_stream__"):
        stream = stream.__cuda_stream__()[1]
    elif hasattr(stream, "cuda_stream"):
        stream = stream.cuda_stream
    elif hasattr(stream, "ptr"):
        stream = stream.ptr
    return <void *><size_t>operator_index(stream)


cdef str text_of_plan(const rota_plan *plan, int format):
    cdef size_t length = 0
    check(rota_plan_describe(plan, format, NULL, &length))
    cdef bytearray text = bytearray(length)
    check(rota_plan_describe(plan, format, text, &length))
    return text[:length - 1].decode()


# ---- plans ------------------------------------------------------------------

@cython.no_gc_clear
cdef class Plan:
    """An all-to-all with fixed counts and buffers, planned once and run often.

    Made by `alltoallv_init`, `alltoallw_init` and `alltoall_init`. It keeps its
    buffers alive.
    In a ``with`` statement it is freed at the end, after it is complete.
    """
    cdef rota_plan *handle
    cdef bint active
    cdef Buffer send, recv   # in use, or None
    cdef object reduced      # keeps what set_reduction was given
    cdef Py_ssize_t needs_send, needs_recv  # bytes
    cdef object __weakref__

    def __cinit__(self):
        self.handle = NULL
        self.active = False

    def __dealloc__(self):
        cdef int finalized = 0
        MPI_Finalized(&finalized)
        if self.handle == NULL or finalized:
            return
        if self.active:
            # Other ranks may be using the buffers: they stay.
            for buffer in (self.send, self.recv):
                Py_INCREF(buffer)
        else:
            rota_plan_free(&self.handle)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None and self.active:
            self.wait()
        if not self.active:
            self.free()

    def __bool__(self):
        return self.handle != NULL

    def start(self):
        """Start the plan on its current buffers.

        Local; does not block. Do not write the send buffer and do not touch the
        receive buffer until `wait`, or until `test` returns True.

        Raises
        ------
        rota.Error
            ERR_REQUEST for a plan that is active or freed.
        """
        cdef int code
        with nogil:
            code = rota_start(self.handle)
        check(code)
        self.active = True

    def test(self):
        """Advance all active plans of the process.

        Returns
        -------
        bool
            Whether this plan is complete; it is then inactive.
        """
        cdef int flag = 0
        cdef int code = rota_test(self.handle, &flag)
        if code != MPI_SUCCESS or flag:
            self.end()
        check(code)
        return flag != 0

    def wait(self):
        """Wait until the plan is complete.

        Other Python threads run meanwhile. Returns at once for an inactive
        plan.
        """
        cdef int code
        with nogil:
            code = rota_wait(self.handle)
        self.end()
        check(code)

    def set_partitioned(self):
        """Let blocks leave when they are ready, and be used when they have arrived.

        Local, from the next start on, for good. Not of exchanges or plans in place.
        See rota_plan_set_partitioned(3).
        """
        check(rota_plan_set_partitioned(self.handle))

    def pready(self, dests):
        """Say that blocks are ready to leave.

        Parameters
        ----------
        dests : int, range or sequence of int
            Destinations, or their places in the list of neighbours. A range of step
            1 is one call of the library.
        """
        cdef int[::1] list_of
        if isinstance(dests, int):
            check(rota_pready(self.handle, dests))
        elif isinstance(dests, range) and dests.step == 1 and len(dests) > 0:
            check(rota_pready_range(self.handle, dests.start, dests.stop - 1))
        else:
            list_of = numpy.ascontiguousarray(dests, numpy.intc)
            if len(list_of) > 0:
                check(rota_pready_list(self.handle, <int>len(list_of),
                                       &list_of[0]))

    def parrived(self, source):
        """Whether the block of a source has arrived; True for an inactive plan.

        Parameters
        ----------
        source : int
            A rank, or its place in the list of neighbours.
        """
        cdef int flag = 0
        check(rota_parrived(self.handle, source, &flag))
        return flag != 0

    def arrivals(self):
        """The sources of blocks, as they arrive. Wait for the plan afterwards.

        Other Python threads run meanwhile.

        Yields
        ------
        int
            A rank, or its place in the list of neighbours.
        """
        cdef int source = 0, code
        while True:
            with nogil:
                code = rota_wait_arrival(self.handle, &source)
            check(code)
            if source == MPI.UNDEFINED:
                return
            yield source

    def get_request(self):
        """Return a request of MPI for the run of a plan that is active.

        For ``Wait``, ``Test``, ``Waitall`` and their kin, beside requests of other
        kinds. They complete the run; until then the plan refuses `test` and `wait`.
        An exchange then still has to be waited for, which returns at once.

        Returns
        -------
        mpi4py.MPI.Request

        Raises
        ------
        rota.Error
            ERR_REQUEST for a plan that is not active, or whose run has a request;
            ERR_OTHER for an MPI that cannot advance plans while it waits.
        """
        cdef MPI.Request request = MPI.Request()
        check(rota_get_request(self.handle, &request.ob_mpi))
        return request

    cdef int end(self) except -1:
        """What is to be done when the plan is complete."""
        self.active = False
        return 0

    def free(self):
        """Free the plan and release its buffers.

        Local. Freeing a plan again does nothing.

        Raises
        ------
        rota.Error
            ERR_REQUEST for an active plan.
        """
        check(rota_plan_free(&self.handle))
        self.send = self.recv = None

    def set_buffers(self, sendbuf, recvbuf):
        """Use other buffers from the next start on.

        Local. Counts, displacements and datatypes stay the same.

        Parameters
        ----------
        sendbuf : buffer or MPI.IN_PLACE
            ``MPI.IN_PLACE`` if the plan was made with it, and only then.
        recvbuf : buffer
            Long enough for the blocks of the plan.
        """
        cdef Buffer send = as_buffer(sendbuf, False)
        cdef Buffer recv = as_buffer(recvbuf, True)
        if not send.in_place and send.nbytes < self.needs_send or \
                recv.nbytes < self.needs_recv:
            raise ValueError(
                f"buffers of {send.nbytes} and {recv.nbytes} bytes, where "
                f"{self.needs_send} and {self.needs_recv} are needed")
        check(rota_plan_set_buffers(self.handle, send.address, recv.address))
        self.send, self.recv = send, recv

    def set_unit(self, datatype, howmany=1):
        """Let counts and displacements be in units of other elements.

        Local; from the next start on. The plan must have been made with the hint
        rota_largest_unit. See rota_plan_set_unit(3).

        Parameters
        ----------
        datatype : MPI.Datatype, dtype or str
            Bytes end to end.
        howmany : int, optional
            Elements of a unit.

        Raises
        ------
        ValueError
            If the buffers are too short: set others first.
        """
        cdef MPI.Datatype element = as_datatype(datatype)
        cdef int n = howmany
        cdef Py_ssize_t was = self.describe().get("unit_bytes", 1)
        cdef Py_ssize_t unit = element.Get_size() * n
        cdef Py_ssize_t sent = self.needs_send // was * unit
        cdef Py_ssize_t received = self.needs_recv // was * unit
        if not self.send.in_place and self.send.nbytes < sent or \
                self.recv.nbytes < received:
            raise ValueError(
                f"buffers of {self.send.nbytes} and {self.recv.nbytes} bytes, "
                f"where {sent} and {received} are needed")
        check(rota_plan_set_unit(self.handle, element.ob_mpi, n))
        self.needs_send, self.needs_recv = sent, received

    def init_reverse(self, sendbuf, recvbuf, datatype=None, op=None, info=None):
        """Plan the same routes backwards.

        What this plan receives is sent to where it came from. It overwrites what
        is there or, with `op`, is combined with it. Collective; blocks. See
        rota_plan_init_reverse(3).

        Parameters
        ----------
        sendbuf : buffer
            With the blocks that this plan receives.
        recvbuf : buffer
            With the blocks that this plan sends.
        datatype : MPI.Datatype, dtype or str, optional
            Of the elements that `op` combines. Default: those of `recvbuf`.
        op : MPI.Op, optional
            Such as ``MPI.SUM``. Default: what comes overwrites what is there.
        info : MPI.Info or dict, optional
            Hints, see rota_hints(7).

        Returns
        -------
        Plan
            Inactive.
        """
        cdef Buffer send = Buffer(), recv = Buffer()
        cdef Plan made = Plan()
        cdef MPI.Info hints = as_info(info)
        cdef MPI.Datatype element = MPI.DATATYPE_NULL
        cdef MPI.Op combined = MPI.OP_NULL if op is None else op
        cdef int code
        wrong = None
        try:
            send = as_buffer(sendbuf, False)
            recv = as_buffer(recvbuf, True)
            if send.nbytes < self.needs_recv or recv.nbytes < self.needs_send:
                raise ValueError(
                    f"buffers of {send.nbytes} and {recv.nbytes} bytes, where "
                    f"{self.needs_recv} and {self.needs_send} are needed")
            if datatype is not None:
                element = as_datatype(datatype)
            elif op is not None and recv.datatype is not None:
                element = recv.datatype
        except Exception as error:  # the other ranks are told as well
            wrong, element, combined = error, MPI.DATATYPE_NULL, MPI.SUM
        with nogil:
            code = rota_plan_init_reverse(
                self.handle, send.address, recv.address, element.ob_mpi,
                combined.ob_mpi, hints.ob_mpi, &made.handle)
        done_with(hints, info)
        if wrong is not None:
            raise wrong
        check(code)
        made.send, made.recv = send, recv
        made.needs_send, made.needs_recv = self.needs_recv, self.needs_send
        made.reduced = element, combined
        return made

    def set_stream(self, stream):
        """Order a plan whose buffers are on a device within a stream.

        Local. See rota_plan_set_stream(3).

        Parameters
        ----------
        stream : int, stream object or None
            The address of a CUDA stream, or a stream of cupy or torch; None
            for no stream.
        """
        check(rota_plan_set_stream(
            self.handle,
            ROTA_NO_STREAM if stream is None else as_stream(stream)))

    def set_reduction(self, value, result, op=MPI.SUM):
        """Combine a value of each rank by the messages of the plan.

        Collective. For plans with varying counts, exchanges and sparse exchanges.
        See rota_plan_set_reduction(3).

        Parameters
        ----------
        value : buffer or MPI.IN_PLACE
            Elements that each `start` reads, at most 64 bytes;
            ``MPI.IN_PLACE``: those of `result`.
        result : buffer or None
            As many elements, which `wait` writes. None: no reduction any more.
        op : MPI.Op
            Such as ``MPI.MAX``.

        Raises
        ------
        rota.Error
            ERR_COUNT for more than 64 bytes, ERR_REQUEST for another kind of plan,
            ERR_ARG if ranks differ.
        """
        cdef Buffer taken = Buffer(), given = Buffer()
        cdef MPI.Datatype datatype = MPI.DATATYPE_NULL
        cdef MPI.Op combined = MPI.OP_NULL if result is None else op
        cdef int count = 0, code
        wrong = None
        try:
            if result is not None:
                taken = as_buffer(value, False)
                given = as_buffer(result, True)
                datatype = given.datatype
                if datatype is None:
                    raise TypeError(
                        "the elements of result have no MPI datatype")
                if not taken.in_place and (taken.nbytes != given.nbytes or
                                           taken.datatype != datatype):
                    raise ValueError("value and result differ")
                count = min(given.nbytes // datatype.Get_size(), 1 << 20)
        except Exception as error:  # the other ranks are told as well
            wrong, count, datatype = error, 0, MPI.DATATYPE_NULL
        with nogil:
            code = rota_plan_set_reduction(
                self.handle, taken.address, given.address, count,
                datatype.ob_mpi, combined.ob_mpi)
        if wrong is not None:
            raise wrong
        check(code)
        self.reduced = taken, given, combined

    def describe(self):
        """Return what was chosen and why, rounds, messages, bytes and memory.

        Returns
        -------
        dict
            The keys are those of the text, which ``str(plan)`` gives.
        """
        return json.loads(text_of_plan(self.handle, ROTA_DESCRIBE_JSON))

    def __str__(self):
        if self.handle == NULL:
            return "no plan"
        return text_of_plan(self.handle, ROTA_DESCRIBE_TEXT)


cdef class VaryingPlan(Plan):
    """A plan whose counts and buffers are given at each start.

    Made by `alltoallv_varying_init`.
    """
    cdef MPI.Datatype datatype
    cdef int n_send, n_recv  # blocks
    cdef Side out, into  # hold the arrays of counts

    def start(self, sendbuf, recvbuf):
        """Start with these counts and buffers.

        Local; does not block.

        Parameters
        ----------
        sendbuf, recvbuf : buffer specification
            As for `alltoallv_init`, but without a datatype, since the plan has
            one. `sendbuf` may be ``MPI.IN_PLACE``, on all ranks.

        Raises
        ------
        rota.Error
            ERR_REQUEST for an active plan, ERR_COUNT for a negative count. A
            block above the bound is reported by `wait`.
        """
        cdef int code
        if not self.active:
            self.out.take(sendbuf, self.n_send, False, self.datatype)
            self.into.take(recvbuf, self.n_recv, True, self.datatype)
        with nogil:
            code = rota_alltoallv_start_c(
                self.handle, self.out.buffer.address,
                <const MPI_Count *>self.out.counts,
                <const MPI_Aint *>self.out.displs, self.into.buffer.address,
                <const MPI_Count *>self.into.counts,
                <const MPI_Aint *>self.into.displs)
        check(code)
        self.send, self.recv = self.out.buffer, self.into.buffer
        self.active = True

    cdef int end(self) except -1:
        self.active = False
        self.send = self.recv = None
        return 0

    def set_buffers(self, sendbuf, recvbuf):
        """Not for this kind of plan: `start` takes buffers."""
        check(rota_plan_set_buffers(self.handle, NULL, NULL))


# ---- memory -----------------------------------------------------------------

@cython.no_gc_clear
cdef class Lender:
    """Memory with the buffer protocol, which counts what views it."""
    cdef void *address
    cdef readonly Py_ssize_t nbytes
    """Size in bytes."""
    cdef int exports
    cdef bint constant  # not to be written to

    def __getbuffer__(self, Py_buffer *view, int flags):
        if self.address == NULL:
            raise BufferError("the memory is freed")
        PyBuffer_FillInfo(view, self, self.address, self.nbytes, self.constant,
                          flags)
        self.count(1)

    def __releasebuffer__(self, Py_buffer *view):
        self.count(-1)

    cdef int count(self, int views) except -1:
        self.exports += views
        return 0


cdef class Memory(Lender):
    """Memory with the buffer protocol, kept as long as it is used.

    Made by `mem_alloc`; ``numpy.frombuffer`` makes arrays of it.
    """
    cdef bint shared  # made by rota_mem_alloc, not by malloc

    def __dealloc__(self):
        if self.shared:
            rota_mem_free(&self.address)
        else:
            free(self.address)

    def __len__(self):
        return self.nbytes

    def free(self):
        """Free the memory now.

        Raises
        ------
        BufferError
            If an array or a plan still uses it.
        """
        if self.exports > 0:
            raise BufferError("the memory is in use")
        check(rota_mem_free(&self.address))


cdef Memory plain_memory(Py_ssize_t nbytes):
    cdef Memory made = Memory()
    made.address = malloc(nbytes)
    if made.address == NULL:
        raise MemoryError()
    made.nbytes = nbytes
    return made


def mem_alloc(nbytes, MPI.Comm comm, info=None):
    """Allocate memory that the other ranks of the node can access directly.

    Collective over `comm`; blocks. See rota_mem_alloc(3).

    Parameters
    ----------
    nbytes : int
        Size of this rank's own allocation, which may differ among ranks.
    comm : MPI.Comm
        Intra-communicator.
    info : MPI.Info or dict, optional
        Hints.

    Returns
    -------
    Memory
        For ``numpy.frombuffer``, or as a buffer itself.
    """
    cdef Memory made = Memory()
    cdef MPI.Info hints = as_info(info)
    cdef size_t wanted = max(1, nbytes)
    size_of(comm)
    try:
        check(rota_mem_alloc(wanted, comm.ob_mpi, hints.ob_mpi, &made.address))
    finally:
        done_with(hints, info)
    made.nbytes = nbytes
    made.shared = True
    return made


def empty(shape, dtype, MPI.Comm comm, info=None):
    """Return an uninitialised array in memory of `mem_alloc`.

    Collective over `comm`; blocks.

    Parameters
    ----------
    shape : int or tuple of int
        May differ among ranks.
    dtype : dtype
        The type of the elements.
    comm : MPI.Comm
        Intra-communicator.
    info : MPI.Info or dict, optional
        Hints.

    Returns
    -------
    numpy.ndarray
        It keeps the memory alive.
    """
    dtype = numpy.dtype(dtype)
    count = int(numpy.prod(shape, dtype=numpy.int64))
    # One byte at least: numpy makes no array of an empty buffer.
    memory = mem_alloc(max(1, count) * dtype.itemsize, comm, info)
    return numpy.frombuffer(memory, dtype, count).reshape(shape)


# How numpy asks for memory (NEP 49).
cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyDataMemAllocator:
        void *ctx
        void *(*malloc)(void *ctx, size_t size) noexcept nogil
        void *(*calloc)(void *ctx, size_t nelem, size_t elsize) noexcept nogil
        void *(*realloc)(void *ctx, void *ptr, size_t new_size) noexcept nogil
        void (*free)(void *ctx, void *ptr, size_t size) noexcept nogil
    ctypedef struct PyDataMem_Handler:
        char name[127]
        unsigned char version
        PyDataMemAllocator allocator
    object PyDataMem_SetHandler(object handler)
    int _import_array() except -1


cdef void *shared_malloc(void *ctx, size_t size) noexcept nogil:
    return rota_malloc(size)


cdef void *shared_calloc(void *ctx, size_t nelem, size_t elsize) noexcept nogil:
    return rota_calloc(nelem, elsize)


cdef void *shared_realloc(void *ctx, void *ptr, size_t size) noexcept nogil:
    return rota_realloc(ptr, size)


cdef void shared_free(void *ctx, void *ptr, size_t size) noexcept nogil:
    rota_free(ptr)


cdef PyDataMem_Handler shared_handler
shared_handler.name[:5] = b"rota"
shared_handler.version = 1
shared_handler.allocator.malloc = shared_malloc
shared_handler.allocator.calloc = shared_calloc
shared_handler.allocator.realloc = shared_realloc
shared_handler.allocator.free = shared_free
_import_array()
shared_capsule = PyCapsule_New(&shared_handler, "mem_handler", NULL)


class shared:
    """A context in which numpy takes the memory of new arrays from rota_malloc.

    Plans copy from such arrays in one step. See rota_malloc(3): Python must have
    librota_heap from its beginning, by ``LD_PRELOAD`` or ``rota-run``; else arrays
    lie in ordinary memory. Local.

    Examples
    --------
    >>> with rota.shared():
    ...     a = numpy.empty(1000)
    """

    __slots__ = ("_before",)

    def __enter__(self):
        self._before = PyDataMem_SetHandler(shared_capsule)
        return self

    def __exit__(self, *error):
        PyDataMem_SetHandler(self._before)


# ---- exchanges --------------------------------------------------------------

class Blocks:
    """The blocks received in an exchange: a sequence of one array per rank.

    The arrays are views of the memory that received the blocks, and keep it:
    their contents stay when the exchange is started again or freed.

    Attributes
    ----------
    array : numpy.ndarray
        All elements received, in rank order.
    counts, displs : numpy.ndarray of int64
        [P] How many elements each rank sent, and where they begin.
    """

    __slots__ = ("array", "counts", "displs")

    def __init__(self, array, counts, displs):
        self.array, self.counts, self.displs = array, counts, displs

    def __len__(self):
        return len(self.counts)

    def __getitem__(self, rank):
        """The array that a rank sent."""
        begin = self.displs[rank]
        return self.array[begin:begin + self.counts[rank]]

    def __array__(self, dtype=None, copy=None):
        return numpy.array(self.array, dtype) if copy else \
            numpy.asarray(self.array, dtype)


cdef class Exchange(Plan):
    """An all-to-all whose receivers know nothing beforehand.

    Made by `exchange_init`.
    """
    cdef MPI.Datatype datatype
    cdef object dtype
    cdef MPI_Aint extent
    cdef int n_send, n_recv  # blocks
    cdef Side out
    cdef object given     # the array to receive in, or None: memories
    cdef Buffer given_buffer
    cdef list memories    # to receive in
    cdef Py_ssize_t room  # that the last blocks took, in bytes

    def start(self, sendbuf):
        """Start the exchange.

        Local; does not block.

        Parameters
        ----------
        sendbuf : buffer specification
            ``[buf, counts]`` or ``[buf, (counts, displs)]``, with the plan's
            datatype. `buf` stays in use until `wait`.

        Raises
        ------
        rota.Error
            ERR_REQUEST for an active plan, ERR_COUNT for a negative count,
            ERR_BUFFER for ``MPI.IN_PLACE``.
        """
        cdef int code
        if not self.active:
            self.out.take(sendbuf, self.n_send, False, self.datatype)
        with nogil:
            code = rota_exchange_start_c(
                self.handle, self.out.buffer.address,
                <const MPI_Count *>self.out.counts,
                <const MPI_Aint *>self.out.displs)
        check(code)
        self.send = self.out.buffer
        self.active = True

    def test(self):
        """Advance all active plans of the process.

        Returns
        -------
        bool
            Whether `wait` would not block. The exchange stays active.
        """
        cdef int flag = 0
        check(rota_test(self.handle, &flag))
        return flag != 0

    def wait(self):
        """Wait for the exchange and collect its blocks.

        Other Python threads run meanwhile.

        Returns
        -------
        Blocks
            What came.

        Raises
        ------
        rota.Error
            ERR_REQUEST for a plan that is not active; ERR_TRUNCATE for a block
            above the bound (`Error.blocks` has the others); ERR_BUFFER if the
            array of `set_buffer` is too short (the exchange stays active; set
            another).
        """
        cdef void *where = NULL
        cdef int code, found
        cdef Memory memory = None
        cdef Py_ssize_t total
        # One entry more: where nobody sends, the last one is still there.
        counts = numpy.zeros(self.n_recv + 1, numpy.int64)
        displs = numpy.zeros(self.n_recv + 1, numpy.int64)
        cdef long[::1] c = counts, d = displs
        cdef MPI_Count *came = <MPI_Count *>&c[0]
        cdef MPI_Aint *places = <MPI_Aint *>&d[0]
        cdef int last = max(self.n_recv - 1, 0)
        if self.given is None:
            memory = self.free_memory()
        while True:
            if memory is not None:
                check(rota_exchange_set_buffer(self.handle, memory.address,
                                               memory.nbytes))
            with nogil:
                code = rota_exchange_wait_c(self.handle, &where, came, places)
            if code == MPI_SUCCESS:
                break
            found = error_class(code)
            if found != MPI_ERR_BUFFER or memory is None:
                break
            # Longer than ever; counts say how long.
            memory = self.more_memory((d[last] + c[last]) * self.extent)
        if code != MPI_SUCCESS and found != MPI_ERR_TRUNCATE:
            # After these two its blocks still wait for room.
            if found != MPI_ERR_NO_MEM and found != MPI_ERR_BUFFER:
                self.end()
            check(code)
        self.end()
        total = d[last] + c[last]
        array = self.given[:total] if memory is None else \
            numpy.frombuffer(memory, self.dtype, total)
        blocks = Blocks(array, counts[:self.n_recv], displs[:self.n_recv])
        return delivered(code, blocks)

    cdef int end(self) except -1:
        self.active = False
        self.send = None
        return 0

    cdef Memory free_memory(self):
        """Memory that no array views any more."""
        cdef Memory memory
        for memory in self.memories:
            if memory.exports == 0 and memory.nbytes >= self.room:
                return memory
        return self.more_memory(self.room)

    cdef Memory more_memory(self, Py_ssize_t room):
        """Somewhat more than that, in the place of what is of no use."""
        cdef Memory memory
        self.room = room
        self.memories = [memory for memory in self.memories
                         if memory.exports == 0 and memory.nbytes >= room][:2]
        memory = plain_memory(max(4096, room + room // 4))
        self.memories.append(memory)
        return memory

    def set_buffer(self, array):
        """Receive into an array of the program, from the next `wait` on.

        Local.

        Parameters
        ----------
        array : numpy.ndarray, array of a device, or None
            An array of one axis, with elements of the plan's datatype. `wait`
            then returns slices of it, which the next exchange overwrites. None:
            use the exchange's own memory.
        """
        cdef Buffer buffer = as_buffer(array, True)
        if array is not None and len(array) * self.extent != buffer.nbytes:
            raise ValueError("not an array of one axis with elements of the "
                             "plan's datatype")
        check(rota_exchange_set_buffer(self.handle, buffer.address,
                                       buffer.nbytes))
        self.given, self.given_buffer = array, buffer

    def set_buffers(self, sendbuf, recvbuf):
        """Not for this kind of plan: `start` takes a buffer."""
        check(rota_plan_set_buffers(self.handle, NULL, NULL))

    def free(self):
        super().free()
        self.memories = []
        self.given = self.given_buffer = None


class SparseBlocks:
    """The blocks received in a sparse exchange: a sequence of pairs of a source
    and the array that it sent, in rank order.

    The arrays are views of the memory that received the blocks, and keep it:
    their contents stay when the exchange is started again or freed.

    Attributes
    ----------
    array : numpy.ndarray
        All elements received, in rank order.
    sources, counts, displs : numpy.ndarray
        For each block, the rank that sent it, how many elements it has, and
        where it begins.
    """

    __slots__ = ("array", "sources", "counts", "displs")

    def __init__(self, array, sources, counts, displs):
        self.array, self.sources = array, sources
        self.counts, self.displs = counts, displs

    def __len__(self):
        return len(self.sources)

    def __getitem__(self, i):
        """The source of block i, and its array."""
        begin = self.displs[i]
        return int(self.sources[i]), self.array[begin:begin + self.counts[i]]


cdef class SparseExchange(Exchange):
    """An exchange in which each start lists the ranks that it sends to.

    Made by `exchange_init_sparse`.
    """

    def start(self, sendbuf, dests):
        """Start the exchange. All ranks must, even those that send nothing.

        Local; does not block.

        Parameters
        ----------
        sendbuf : buffer specification
            ``[buf, counts]`` or ``[buf, (counts, displs)]``, with the plan's
            datatype and a count for each of `dests`. `buf` stays in use until
            `wait`. None if `dests` is empty.
        dests : sequence of int
            Ranks, each once, in any order. A rank whose count is 0 receives an
            empty block.

        Raises
        ------
        rota.Error
            ERR_REQUEST for an active plan, ERR_ARG for a rank that does not
            exist or is listed twice, ERR_COUNT for a negative count, ERR_BUFFER
            for ``MPI.IN_PLACE``.
        """
        cdef int code, n = len(dests)
        cdef Side out = Side()
        ranks = numpy.array([operator_index(d) for d in dests] + [0],
                            numpy.intc)
        cdef int[::1] to = ranks
        out.take(sendbuf if n > 0 else [None, []], n, False, self.datatype)
        with nogil:
            code = rota_exchange_start_sparse_c(
                self.handle, out.buffer.address, n, &to[0],
                <const MPI_Count *>out.counts, <const MPI_Aint *>out.displs)
        check(code)
        self.send = out.buffer
        self.active = True

    def wait(self):
        """Wait for the exchange and collect its blocks.

        Other Python threads run meanwhile.

        Returns
        -------
        SparseBlocks
            The blocks and their sources.

        Raises
        ------
        rota.Error
            ERR_REQUEST for a plan that is not active; ERR_BUFFER if the array of
            `set_buffer` is too short (the exchange stays active; set another).
        """
        cdef void *where = NULL
        cdef int code, found, n = 0
        cdef const int *from_whom = NULL
        cdef const MPI_Count *came = NULL
        cdef const MPI_Aint *places = NULL
        cdef Memory memory = None
        cdef Py_ssize_t total
        if self.given is None:
            memory = self.free_memory()
        while True:
            if memory is not None:
                check(rota_exchange_set_buffer(self.handle, memory.address,
                                               memory.nbytes))
            with nogil:
                code = rota_exchange_wait_sparse_c(
                    self.handle, &where, &n, &from_whom, &came, &places)
            if code == MPI_SUCCESS:
                break
            found = error_class(code)
            if found != MPI_ERR_BUFFER or memory is None:
                # After these two its blocks still wait for room.
                if found != MPI_ERR_NO_MEM and found != MPI_ERR_BUFFER:
                    self.end()
                check(code)
            # Longer than ever; counts say how long.
            memory = self.more_memory((places[n - 1] + came[n - 1])
                                      * self.extent)
        self.end()
        sources = numpy.array([from_whom[i] for i in range(n)], numpy.intc)
        counts = numpy.array([came[i] for i in range(n)], numpy.int64)
        displs = numpy.array([places[i] for i in range(n)], numpy.int64)
        total = displs[n - 1] + counts[n - 1] if n > 0 else 0
        array = self.given[:total] if memory is None else \
            numpy.frombuffer(memory, self.dtype, total)
        return SparseBlocks(array, sources, counts, displs)


cdef class Loan:
    """How many arrays view what a plan lends for a while."""
    cdef int arrays
    cdef bint over    # it is lent no more
    cdef object kept  # a buffer of the program's, which one of them may view

    cdef int ask(self, what) except -1:
        """Arrays of it must not outlive it."""
        if self.arrays > 0:
            raise BufferError(f"arrays of {what} still exist: delete them, or "
                              "copy what is needed later")
        return 0


cdef class Lent(Lender):
    """A piece of the memory that a loan is of."""
    cdef Loan loan
    cdef Plan plan  # keeps the memory

    cdef int count(self, int views) except -1:
        self.loan.arrays += views
        return 0


cdef lend(Plan plan, Loan loan, dtype, size_t address, Py_ssize_t nbytes,
          bint constant):
    """An array of memory of the plan, counted in the loan."""
    cdef Lent made = Lent()
    if nbytes == 0:
        return numpy.empty(0, dtype)
    made.address, made.nbytes = <void *>address, nbytes
    made.constant = constant
    made.loan, made.plan = loan, plan
    return numpy.frombuffer(made, dtype)


cdef class BorrowedBlocks:
    """The blocks of an exchange where their senders have them, or of one of its
    arrays: a sequence of one array per rank, which cannot be written to.

    An array is made when it is asked for. None may exist when the exchange is
    started again or freed.

    Attributes
    ----------
    counts : numpy.ndarray of int64
        [P] How many elements each rank sent.
    """
    cdef readonly object counts
    cdef object addresses, dtype
    cdef Exchange plan
    cdef Loan loan

    def __len__(self):
        return len(self.counts)

    def __getitem__(self, rank):
        """The array that a rank sent."""
        if self.loan.over:
            raise BufferError("the exchange was started again or freed")
        return lend(self.plan, self.loan, self.dtype, self.addresses[rank],
                    self.counts[rank] * self.dtype.itemsize, True)


cdef class LendingExchange(Exchange):
    """An exchange whose blocks may be read in the plan's memory."""
    cdef Loan blocks  # those of the last wait

    def __cinit__(self):
        self.blocks = Loan()

    cdef BorrowedBlocks borrowed(self, dtype, addresses, counts):
        cdef BorrowedBlocks found = BorrowedBlocks()
        counts.flags.writeable = False
        found.dtype, found.addresses, found.counts = dtype, addresses, counts
        found.plan, found.loan = self, self.blocks
        return found

    cdef int wait_lent(self, size_t[::1] where, long[::1] came) except -1:
        """Wait for blocks that are read where they lie. Returns an error only of
        one above the bound."""
        cdef int code
        with nogil:
            code = rota_exchange_wait_borrow_c(
                self.handle, <const void **>&where[0], <MPI_Count *>&came[0])
        self.settle(code)
        return code

    cdef int settle(self, int code) except -1:
        """A wait has returned this; blocks are there even if one is above the
        bound."""
        cdef int found = MPI_SUCCESS if code == MPI_SUCCESS else error_class(code)
        if found != MPI_ERR_NO_MEM:
            self.end()
        if found != MPI_ERR_TRUNCATE:
            check(code)
        return 0

    cdef int lend_next(self) except -1:
        """An exchange is started: what the last one lent is over."""
        self.blocks.over = True
        self.blocks = Loan()
        return 0

    cdef int ask_all(self) except -1:
        """May the plan's memory be freed?"""
        return self.blocks.ask("the last blocks")

    cdef int give_up(self) except -1:
        """It is freed."""
        self.blocks.over = True
        return 0

    def set_buffer(self, array):
        """Not for this kind of plan: blocks come in memory of the plan."""
        check(rota_exchange_set_buffer(self.handle, NULL, 0))

    def set_reduction(self, value, result, op=MPI.SUM):
        """As `Plan.set_reduction`.

        Raises
        ------
        BufferError
            If an array of the plan's memory still exists; the other ranks raise
            `Error`.
        """
        if not self.active:
            try:
                self.ask_all()
            except BufferError:
                # The other ranks are told as well.
                rota_plan_set_reduction(self.handle, NULL, NULL, 0,
                                        MPI_DATATYPE_NULL,
                                        (<MPI.Op>MPI.SUM).ob_mpi)
                raise
        Exchange.set_reduction(self, value, result, op)
        self.give_up()

    def __exit__(self, kind, value, trace):
        try:
            Exchange.__exit__(self, kind, value, trace)
        except BufferError:
            # Arrays in the frame of an error: the last of them frees the plan.
            if kind is None:
                raise

    def free(self):
        """As `Plan.free`.

        Raises
        ------
        BufferError
            If an array of the plan's memory still exists.
        """
        if not self.active:
            self.ask_all()
        Exchange.free(self)
        self.give_up()


cdef class ArraysExchange(LendingExchange):
    """An exchange of several arrays, each with counts and a datatype of its own.

    Made by `exchange_init_arrays`.
    """
    cdef list datatypes, dtypes  # of each array
    cdef list sent               # what the run uses, or None

    def start(self, sendbufs):
        """Start the exchange.

        Local; does not block. The arrays stay in use until `wait`.

        Parameters
        ----------
        sendbufs : sequence of buffer specifications
            For each array ``[buf, counts]`` or ``[buf, (counts, displs)]``, with
            its datatype.

        Raises
        ------
        BufferError
            If an array of the last borrowed blocks still exists.
        rota.Error
            ERR_REQUEST for an active plan, ERR_COUNT for a negative count,
            ERR_BUFFER for ``MPI.IN_PLACE``.
        """
        cdef int code, i, q, P = self.n_send, n = len(self.datatypes)
        cdef Side out = Side()
        if len(sendbufs) != n:
            raise ValueError(f"{len(sendbufs)} arrays for {n} datatypes")
        if not self.active:
            self.blocks.ask("the last blocks")
        addresses = numpy.zeros(n, numpy.uintp)
        numbers = numpy.zeros((2, n * P), numpy.int64)
        cdef size_t[::1] where = addresses
        cdef long[:, ::1] to = numbers
        buffers = []
        for i in range(n):
            out.take(sendbufs[i], P, False, self.datatypes[i])
            buffers.append(out.buffer)
            where[i] = <size_t>out.buffer.address
            for q in range(P):
                to[0, i * P + q] = out.counts[q]
                to[1, i * P + q] = out.displs[q]
        with nogil:
            code = rota_exchange_start_arrays_c(
                self.handle, <const void *const *>&where[0],
                <const MPI_Count *>&to[0, 0], <const MPI_Aint *>&to[1, 0])
        check(code)
        self.sent = buffers
        self.active = True
        self.lend_next()

    def wait(self):
        """Wait for the exchange and collect the arrays.

        Other Python threads run meanwhile.

        Returns
        -------
        list of Blocks
            What came of each array, in memory of its own.

        Raises
        ------
        rota.Error
            ERR_REQUEST for a plan that is not active; ERR_TRUNCATE for a block
            above the bound (`Error.blocks` has the others).
        """
        cdef int code, i, P = self.n_recv, n = len(self.datatypes)
        addresses = numpy.zeros(n, numpy.uintp)
        numbers = numpy.zeros((2, n * P), numpy.int64)
        cdef size_t[::1] where = addresses
        cdef long[:, ::1] came = numbers
        with nogil:
            code = rota_exchange_wait_arrays_c(
                self.handle, <void **>&where[0], <MPI_Count *>&came[0, 0],
                <MPI_Aint *>&came[1, 0])
        self.settle(code)
        found = []
        for i in range(n):
            counts, displs = numbers[:, i * P:(i + 1) * P]
            array = numpy.empty(counts.sum(), self.dtypes[i])
            if array.nbytes > 0:
                array.view("u1")[:] = <const unsigned char[:array.nbytes]> \
                    <const unsigned char *>where[i]
            found.append(Blocks(array, counts, displs))
        return delivered(code, found)

    def wait_borrow(self):
        """Wait for the exchange and read its arrays where they lie, in place of
        `wait`.

        Other Python threads run meanwhile.

        Returns
        -------
        list of BorrowedBlocks
            What came of each array, until the next start. What this rank has for
            itself lies in what it sent from.

        Raises
        ------
        rota.Error
            As `wait`.
        """
        cdef int code, i, P = self.n_recv, n = len(self.datatypes)
        addresses = numpy.zeros(n * P, numpy.uintp)
        counts = numpy.zeros(n * P, numpy.int64)
        sent = self.sent
        code = self.wait_lent(addresses, counts)
        self.blocks.kept = sent
        found = [self.borrowed(self.dtypes[i], addresses[i * P:(i + 1) * P],
                               counts[i * P:(i + 1) * P]) for i in range(n)]
        return delivered(code, found)

    cdef int end(self) except -1:
        self.active = False
        self.sent = None
        return 0


cdef class BorrowingExchange(LendingExchange):
    """An exchange whose receivers read blocks where they lie.

    Made by `exchange_init_borrow`.
    """
    cdef list sends            # loans of the send buffers
    cdef size_t places[2]      # where they are
    cdef Py_ssize_t rooms[2]   # what they hold, in bytes
    cdef int turn              # which of them is the next start's

    def __cinit__(self):
        self.sends = [Loan(), Loan()]

    def get_sendbuf(self, n):
        """Get the array to send from in the next start.

        Local. Two are used in turn, since blocks of the last start may still be
        read.

        Parameters
        ----------
        n : int
            How many elements it has at least room for.

        Returns
        -------
        numpy.ndarray
            [n] Valid until the start after the next one. What was in it is lost
            if it has to grow.

        Raises
        ------
        BufferError
            If it has to grow, and an array of it still exists.
        """
        cdef Py_ssize_t nbytes = operator_index(n) * self.extent
        cdef void *where = NULL
        if nbytes > self.rooms[self.turn]:
            (<Loan>self.sends[self.turn]).ask("the send buffer")
            self.rooms[self.turn] = 0  # until it has grown
        check(rota_exchange_get_sendbuf(self.handle, max(nbytes, 1), &where))
        self.rooms[self.turn] = max(nbytes, self.rooms[self.turn])
        self.places[self.turn] = <size_t>where
        return lend(self, self.sends[self.turn], self.dtype, <size_t>where,
                    nbytes, False)

    def start(self, sendbuf):
        """Start the exchange.

        Local; does not block.

        Parameters
        ----------
        sendbuf : buffer specification
            ``[buf, counts]`` or ``[buf, (counts, displs)]``, with the plan's
            datatype. `buf` is the array of `get_sendbuf`; what lies elsewhere is
            copied, but for this rank's own block.

        Raises
        ------
        BufferError
            If an array of the last blocks still exists.
        rota.Error
            ERR_REQUEST for an active plan, ERR_COUNT for a negative count,
            ERR_BUFFER for ``MPI.IN_PLACE`` and for the send buffer of the last
            start.
        """
        cdef size_t begin
        if not self.active:
            self.blocks.ask("the last blocks")
        try:
            Exchange.start(self, sendbuf)
        finally:
            if not self.active:
                self.out.buffer = None
        self.lend_next()
        begin = <size_t>self.out.buffer.address
        if not (self.places[self.turn] <= begin
                < self.places[self.turn] + self.rooms[self.turn]):
            self.blocks.kept = self.out.buffer
        self.turn = 1 - self.turn

    def wait(self):
        """Wait for the exchange.

        Other Python threads run meanwhile.

        Returns
        -------
        BorrowedBlocks
            What came, until the next start.

        Raises
        ------
        rota.Error
            ERR_REQUEST for a plan that is not active; ERR_TRUNCATE for a block
            above the bound (`Error.blocks` has the others).
        """
        cdef int code
        addresses = numpy.zeros(self.n_recv, numpy.uintp)
        counts = numpy.zeros(self.n_recv, numpy.int64)
        code = self.wait_lent(addresses, counts)
        found = self.borrowed(self.dtype, addresses, counts)
        return delivered(code, found)

    cdef int end(self) except -1:
        # The array of the send buffer is looked at no more.
        self.out.buffer = None
        return Exchange.end(self)

    cdef int ask_all(self) except -1:
        cdef Loan loan
        LendingExchange.ask_all(self)
        for loan in self.sends:
            loan.ask("a send buffer")
        return 0

    cdef int give_up(self) except -1:
        self.rooms[0] = self.rooms[1] = 0
        return LendingExchange.give_up(self)


# ---- making plans -----------------------------------------------------------

def alltoallv_init(sendbuf, recvbuf, MPI.Comm comm, info=None, stream=None):
    """Plan an all-to-all with fixed counts and buffers.

    Collective over `comm`; blocks. See rota_alltoallv_init(3).

    Parameters
    ----------
    sendbuf : buffer specification or MPI.IN_PLACE
        As for ``MPI.Comm.Alltoallv``: ``buf``, ``[buf, counts]``,
        ``[buf, (counts, displs)]``, ``[buf, counts, displs, datatype]`` and so
        on, where `buf` has the buffer protocol (as numpy arrays do), the CUDA
        array interface or DLPack, and `datatype` is an ``MPI.Datatype``, a
        dtype or the name of one. [P] counts and displacements in elements.
    recvbuf : buffer specification
        Likewise.
    comm : MPI.Comm
        Intra-communicator of P ranks.
    info : MPI.Info or dict, optional
        Hints, see rota_hints(7).
    stream : optional
        As for `Plan.set_stream`.

    Returns
    -------
    Plan
        Inactive.

    Raises
    ------
    rota.Error
        On all ranks; ERR_COUNT for counts that do not match, ERR_ARG
        for blocks that overlap and for hints, and so on.
    TypeError, ValueError
        For an invalid specification; the other ranks raise `Error`.
    """
    cdef Side out = Side(), into = Side()
    cdef Plan made = Plan()
    cdef MPI.Info hints = as_info(info)
    cdef int P = size_of(comm), code
    failed = None
    try:
        out.take(sendbuf, P, False, None)
        into.take(recvbuf, P, True, None)
    except Exception as error:
        failed = error
    # Where this rank has no arguments, all are to fail: NULL is an error.
    cdef long long *counts = NULL if failed is not None else into.counts
    cdef MPI_Datatype sent = out.type(), received = into.type()
    cdef void *source = out.address()
    cdef void *target = into.address()
    with nogil:
        code = rota_alltoallv_init_c(
            source, <const MPI_Count *>out.counts,
            <const MPI_Aint *>out.displs, sent, target,
            <const MPI_Count *>counts, <const MPI_Aint *>into.displs, received,
            comm.ob_mpi, hints.ob_mpi, &made.handle)
    done_with(hints, info)
    return finish(made, code, failed, out, into, stream)


def alltoallw_init(sendbuf, recvbuf, MPI.Comm comm, info=None, stream=None):
    """Plan an all-to-all in which each block has its own datatype.

    Collective over `comm`; blocks. See rota_alltoallw_init(3).

    Parameters
    ----------
    sendbuf : buffer specification or MPI.IN_PLACE
        As for ``MPI.Comm.Alltoallw``: ``[buf, types]``,
        ``[buf, (counts, displs), types]`` or ``[buf, counts, displs, types]``.
        [P] counts in elements, 1 if not given; [P] displacements in bytes, 0 if
        not given; [P] datatypes.
    recvbuf : buffer specification
        Likewise.
    comm : MPI.Comm
        Intra-communicator of P ranks.
    info : MPI.Info or dict, optional
        Hints, see rota_hints(7).
    stream : optional
        As for `Plan.set_stream`.

    Returns
    -------
    Plan
        Inactive.
    """
    cdef TypesSide out = TypesSide(), into = TypesSide()
    cdef Plan made = Plan()
    cdef MPI.Info hints = as_info(info)
    cdef int P = size_of(comm), code
    failed = None
    try:
        out.take_types(sendbuf, P, False)
        into.take_types(recvbuf, P, True)
    except Exception as error:
        failed = error
    # Where this rank has no arguments, all are to fail: NULL is an error.
    cdef long long *counts = NULL if failed is not None else into.counts
    cdef void *source = out.address()
    cdef void *target = into.address()
    with nogil:
        code = rota_alltoallw_init_c(
            source, <const MPI_Count *>out.counts,
            <const MPI_Aint *>out.displs, out.types, target,
            <const MPI_Count *>counts, <const MPI_Aint *>into.displs,
            into.types, comm.ob_mpi, hints.ob_mpi, &made.handle)
    done_with(hints, info)
    return finish(made, code, failed, out, into, stream)


cdef Plan finish(Plan made, int code, failed, Side out, Side into, stream):
    """The plan, or the error."""
    if failed is not None:
        raise failed
    check(code)
    made.send, made.recv = out.buffer, into.buffer
    made.needs_send, made.needs_recv = out.needed, into.needed
    if stream is not None:
        made.set_stream(stream)
    return made


def alltoall_init(sendbuf, recvbuf, MPI.Comm comm, info=None, stream=None):
    """Plan an all-to-all with the same count for all pairs of ranks.

    Collective over `comm`; blocks. See rota_alltoall_init(3).

    Parameters
    ----------
    sendbuf : buffer specification or MPI.IN_PLACE
        As for ``MPI.Comm.Alltoall``: ``buf``, ``[buf, datatype]``,
        ``[buf, count]`` or ``[buf, count, datatype]``, where the count is that
        of one block.
    recvbuf : buffer specification
        Likewise.
    comm : MPI.Comm
        Intra-communicator of P ranks.
    info : MPI.Info or dict, optional
        Hints, see rota_hints(7).
    stream : optional
        As for `Plan.set_stream`.

    Returns
    -------
    Plan
        Inactive.
    """
    cdef Side out = Side(), into = Side()
    cdef Plan made = Plan()
    cdef MPI.Info hints = as_info(info)
    cdef int P = size_of(comm), code
    cdef long long sent = 0, received = -1
    failed = None
    try:
        sent = take_one_count(out, sendbuf, P, False)
        received = take_one_count(into, recvbuf, P, True)
    except Exception as error:
        failed = error
        received = -1  # an error on all ranks
    cdef MPI_Datatype sendtype = out.type(), recvtype = into.type()
    cdef void *source = out.address()
    cdef void *target = into.address()
    with nogil:
        code = rota_alltoall_init_c(
            source, sent, sendtype, target, received, recvtype, comm.ob_mpi,
            hints.ob_mpi, &made.handle)
    done_with(hints, info)
    return finish(made, code, failed, out, into, stream)


cdef long long take_one_count(Side side, spec, int P, bint writable) except? -2:
    data, count, displs, datatype = split(spec)
    if displs is not None:
        raise ValueError("displacements are for alltoallv_init")
    counts = None if count is None else [operator_index(count)] * P
    side.take([data, counts, None, datatype], P, writable, None)
    if P > 0 and side.counts[P - 1] != side.counts[0]:
        raise ValueError("the buffer does not have as many elements for each "
                         "rank")
    return side.counts[0] if P > 0 else 0


def alltoallv_varying_init(max_block, datatype, MPI.Comm comm, info=None,
                           stream=None):
    """Plan all-to-alls whose counts and buffers are given at each start.

    Collective over `comm`; blocks. See rota_alltoallv_varying_init(3).

    Parameters
    ----------
    max_block : int or None
        No block has more than this many bytes. None: no bound.
    datatype : MPI.Datatype, dtype or str
        The datatype of all blocks.
    comm : MPI.Comm
        Intra-communicator of P ranks.
    info : MPI.Info or dict, optional
        Hints, see rota_hints(7).
    stream : optional
        As for `Plan.set_stream`.

    Returns
    -------
    VaryingPlan
        Inactive.
    """
    cdef VaryingPlan made = VaryingPlan()
    cdef MPI.Info hints = as_info(info)
    cdef size_t bound = ROTA_UNBOUNDED if max_block is None else max_block
    cdef int code
    set_up_varying(made, datatype, size_of(comm), size_of(comm))
    with nogil:
        code = rota_alltoallv_varying_init(
            bound, made.datatype.ob_mpi, comm.ob_mpi, hints.ob_mpi,
            &made.handle)
    done_with(hints, info)
    check(code)
    if stream is not None:
        made.set_stream(stream)
    return made


def exchange_init(max_block, datatype, MPI.Comm comm, info=None, stream=None):
    """Plan all-to-alls whose receivers know nothing beforehand.

    It replaces an Alltoall of the counts and an Alltoallv.
    Collective over `comm`; blocks. See rota_exchange_init(3).

    Parameters
    ----------
    max_block : int or None
        No block has more than this many bytes. None: no bound.
    datatype : MPI.Datatype, dtype or str
        The datatype of all blocks.
    comm : MPI.Comm
        Intra-communicator of P ranks.
    info : MPI.Info or dict, optional
        Hints, see rota_hints(7).
    stream : optional
        As for `Plan.set_stream`.

    Returns
    -------
    Exchange
        Inactive.
    """
    cdef Exchange made = Exchange()
    make_exchange(made, rota_exchange_init, max_block, datatype, comm, info)
    if stream is not None:
        made.set_stream(stream)
    return made


def exchange_init_borrow(max_block, datatype, MPI.Comm comm, info=None):
    """Plan all-to-alls whose receivers read blocks where their senders have them.

    Collective over `comm`; blocks. See rota_exchange_init_borrow(3).

    Parameters
    ----------
    max_block : int or None
        No block has more than this many bytes. None: no bound.
    datatype : MPI.Datatype, dtype or str
        The datatype of all blocks, without gaps.
    comm : MPI.Comm
        Intra-communicator of P ranks.
    info : MPI.Info or dict, optional
        Hints, see rota_hints(7).

    Returns
    -------
    BorrowingExchange
        Inactive.
    """
    cdef BorrowingExchange made = BorrowingExchange()
    make_exchange(made, rota_exchange_init_borrow, max_block, datatype, comm,
                  info)
    return made


cdef int set_up_varying(VaryingPlan made, datatype, int n_send, int n_recv) \
        except -1:
    made.n_send, made.n_recv = n_send, n_recv
    made.datatype = as_datatype(datatype)
    made.out, made.into = Side(), Side()
    made.out.reserve(n_send)
    made.into.reserve(n_recv)
    return 0


cdef int set_up_exchange(Exchange made, datatype, int n_send, int n_recv) \
        except -1:
    cdef MPI_Aint lower
    made.n_send, made.n_recv = n_send, n_recv
    made.datatype = as_datatype(datatype)
    made.dtype = dtype_of(made.datatype)
    check(MPI_Type_get_extent(made.datatype.ob_mpi, &lower, &made.extent))
    made.memories = []
    made.out = Side()
    made.out.reserve(n_send)
    return 0


ctypedef int (*exchange_init_c)(size_t, MPI_Datatype, MPI_Comm, MPI_Info,
                                rota_plan **) nogil


cdef int make_exchange(Exchange made, exchange_init_c init, max_block, datatype,
                       MPI.Comm comm, info) except -1:
    cdef MPI.Info hints = as_info(info)
    cdef size_t bound = ROTA_UNBOUNDED if max_block is None else max_block
    cdef int code
    set_up_exchange(made, datatype, size_of(comm), size_of(comm))
    with nogil:
        code = init(bound, made.datatype.ob_mpi, comm.ob_mpi, hints.ob_mpi,
                    &made.handle)
    done_with(hints, info)
    check(code)
    return 0


# ---- neighbours -------------------------------------------------------------

cdef as_ranks(ranks):
    """An array of them, and of one number more, so that it has an address."""
    listed = () if ranks is None else ranks
    return numpy.array([operator_index(q) for q in listed] + [0], numpy.intc)


cdef class Graph:
    """Whom each rank sends to and receives from: partners by list.

    Functions for neighbours take it in place of a communicator. Collective over
    `comm`; blocks. See rota_graph_create_adjacent(3).

    Parameters
    ----------
    comm : MPI.Comm
        Intra-communicator.
    sources, destinations : sequences of int, optional
        Ranks that this one receives from, and that it sends to. Without both,
        those of comm's process topology.
    info : MPI.Info or dict, optional
        Hints, see rota_hints(7).

    Attributes
    ----------
    n_sources, n_destinations : int
    """
    cdef rota_graph *handle
    cdef readonly int n_sources, n_destinations

    def __init__(self, MPI.Comm comm, sources=None, destinations=None,
                 info=None):
        cdef MPI.Info hints
        cdef int[::1] a, b
        cdef int code, R = 0, S = 0
        cdef rota_graph **where = &self.handle
        if comm is None:
            raise TypeError("comm is None")
        if sources is None and destinations is None:
            S, R = degrees_of(comm)
            with nogil:
                code = rota_graph_of(comm.ob_mpi, &self.handle)
            check(code)
            self.n_sources, self.n_destinations = R, S
            return
        hints = as_info(info)
        came = goes = as_ranks(None)
        failed = None
        try:
            came, goes = as_ranks(sources), as_ranks(destinations)
        except Exception as error:
            failed = error
            where = NULL  # an error on all ranks
        R, S = len(came) - 1, len(goes) - 1
        a, b = came, goes
        with nogil:
            code = rota_graph_create_adjacent(
                comm.ob_mpi, R, &a[0], S, &b[0], hints.ob_mpi, where)
        done_with(hints, info)
        if failed is not None:
            raise failed
        check(code)
        self.n_sources, self.n_destinations = R, S

    def copy(self):
        """Another handle of the same graph. Local."""
        cdef Graph made = Graph.__new__(Graph)
        check(rota_graph_dup(self.handle, &made.handle))
        made.n_sources = self.n_sources
        made.n_destinations = self.n_destinations
        return made

    def free(self):
        """Free the handle early. Plans keep the graph."""
        check(rota_graph_free(&self.handle))

    def __bool__(self):
        return self.handle != NULL

    def __dealloc__(self):
        rota_graph_free(&self.handle)


cdef class Whom:
    """Neighbours: of a communicator, or of a graph."""
    cdef MPI_Comm comm
    cdef rota_graph *graph
    cdef int n_to, n_from


cdef Whom whom_of(ranks):
    cdef Whom made = Whom()
    cdef MPI.Comm comm
    cdef Graph graph
    if isinstance(ranks, Graph):
        graph = ranks
        if graph.handle == NULL:
            raise ValueError("the graph is free")
        made.graph = graph.handle
        made.n_to, made.n_from = graph.n_destinations, graph.n_sources
        return made
    if not isinstance(ranks, MPI.Comm):
        raise TypeError("comm is neither a communicator nor a Graph")
    comm = ranks
    made.comm = comm.ob_mpi
    made.n_to, made.n_from = degrees_of(comm)
    return made


def neighbor_alltoallv_init(sendbuf, recvbuf, comm, info=None,
                            stream=None):
    """Plan an exchange among neighbours with fixed counts and buffers.

    Collective over `comm`; blocks. See rota_neighbor_alltoallv_init(3).

    Parameters
    ----------
    sendbuf : buffer specification
        As for `alltoallv_init`, with counts and displacements of each
        destination.
    recvbuf : buffer specification
        Likewise, of each source.
    comm : MPI.Comm or Graph
        Intra-communicator with a process topology, or partners by list.
    info : MPI.Info or dict, optional
        Hints, see rota_hints(7).
    stream : optional
        As for `Plan.set_stream`.

    Returns
    -------
    Plan
        Inactive.

    Raises
    ------
    rota.Error
        As `alltoallv_init`; ERR_TOPOLOGY without a topology.
    """
    cdef Side out = Side(), into = Side()
    cdef Plan made = Plan()
    cdef MPI.Info hints = as_info(info)
    cdef Whom among = whom_of(comm)
    cdef int code
    cdef rota_plan **where = &made.handle
    failed = None
    try:
        out.take(sendbuf, among.n_to, False, None)
        into.take(recvbuf, among.n_from, True, None)
    except Exception as error:
        failed = error
        where = NULL  # an error on all ranks
    cdef MPI_Datatype sent = out.type(), received = into.type()
    cdef void *source = out.address()
    cdef void *target = into.address()
    with nogil:
        if among.graph != NULL:
            code = rota_neighbor_alltoallv_init_graph_c(
                source, <const MPI_Count *>out.counts,
                <const MPI_Aint *>out.displs, sent, target,
                <const MPI_Count *>into.counts, <const MPI_Aint *>into.displs,
                received, among.graph, hints.ob_mpi, where)
        else:
            code = rota_neighbor_alltoallv_init_c(
                source, <const MPI_Count *>out.counts,
                <const MPI_Aint *>out.displs, sent, target,
                <const MPI_Count *>into.counts, <const MPI_Aint *>into.displs,
                received, among.comm, hints.ob_mpi, where)
    done_with(hints, info)
    return finish(made, code, failed, out, into, stream)


def neighbor_alltoallw_init(sendbuf, recvbuf, comm, info=None,
                            stream=None):
    """Plan an exchange among neighbours in which each block has its own datatype.

    Collective over `comm`; blocks. See rota_neighbor_alltoallw_init(3).

    Parameters
    ----------
    sendbuf : buffer specification
        As for `alltoallw_init`, of each destination.
    recvbuf : buffer specification
        Likewise, of each source.
    comm : MPI.Comm or Graph
        Intra-communicator with a process topology, or partners by list.
    info : MPI.Info or dict, optional
        Hints, see rota_hints(7).
    stream : optional
        As for `Plan.set_stream`.

    Returns
    -------
    Plan
        Inactive.
    """
    cdef TypesSide out = TypesSide(), into = TypesSide()
    cdef Plan made = Plan()
    cdef MPI.Info hints = as_info(info)
    cdef Whom among = whom_of(comm)
    cdef int code
    cdef rota_plan **where = &made.handle
    failed = None
    try:
        out.take_types(sendbuf, among.n_to, False)
        into.take_types(recvbuf, among.n_from, True)
    except Exception as error:
        failed = error
        where = NULL  # an error on all ranks
    cdef void *source = out.address()
    cdef void *target = into.address()
    with nogil:
        if among.graph != NULL:
            code = rota_neighbor_alltoallw_init_graph_c(
                source, <const MPI_Count *>out.counts,
                <const MPI_Aint *>out.displs, out.types, target,
                <const MPI_Count *>into.counts, <const MPI_Aint *>into.displs,
                into.types, among.graph, hints.ob_mpi, where)
        else:
            code = rota_neighbor_alltoallw_init_c(
                source, <const MPI_Count *>out.counts,
                <const MPI_Aint *>out.displs, out.types, target,
                <const MPI_Count *>into.counts, <const MPI_Aint *>into.displs,
                into.types, among.comm, hints.ob_mpi, where)
    done_with(hints, info)
    return finish(made, code, failed, out, into, stream)


def neighbor_alltoall_init(sendbuf, recvbuf, comm, info=None,
                           stream=None):
    """Plan an exchange among neighbours with one count for all.

    Collective over `comm`; blocks. See rota_neighbor_alltoall_init(3).

    Parameters
    ----------
    sendbuf : buffer specification
        As for `alltoall_init`, of each destination.
    recvbuf : buffer specification
        Likewise, of each source.
    comm : MPI.Comm or Graph
        Intra-communicator with a process topology, or partners by list.
    info : MPI.Info or dict, optional
        Hints, see rota_hints(7).
    stream : optional
        As for `Plan.set_stream`.

    Returns
    -------
    Plan
        Inactive.
    """
    cdef Side out = Side(), into = Side()
    cdef Plan made = Plan()
    cdef MPI.Info hints = as_info(info)
    cdef Whom among = whom_of(comm)
    cdef int code
    cdef long long sent = 0, received = 0
    cdef rota_plan **where = &made.handle
    failed = None
    try:
        sent = take_one_count(out, sendbuf, among.n_to, False)
        received = take_one_count(into, recvbuf, among.n_from, True)
    except Exception as error:
        failed = error
        where = NULL  # an error on all ranks
    cdef MPI_Datatype sendtype = out.type(), recvtype = into.type()
    cdef void *source = out.address()
    cdef void *target = into.address()
    with nogil:
        if among.graph != NULL:
            code = rota_neighbor_alltoall_init_graph_c(
                source, sent, sendtype, target, received, recvtype,
                among.graph, hints.ob_mpi, where)
        else:
            code = rota_neighbor_alltoall_init_c(
                source, sent, sendtype, target, received, recvtype, among.comm,
                hints.ob_mpi, where)
    done_with(hints, info)
    return finish(made, code, failed, out, into, stream)


def neighbor_alltoallv_varying_init(max_block, datatype, comm,
                                    info=None, stream=None):
    """Plan exchanges among neighbours whose counts and buffers are given at
    each start.

    Collective over `comm`; blocks. See rota_neighbor_alltoallv_varying_init(3).

    Parameters
    ----------
    max_block, datatype, info, stream : optional
        As for `alltoallv_varying_init`.
    comm : MPI.Comm or Graph
        Intra-communicator with a process topology, or partners by list.

    Returns
    -------
    VaryingPlan
        Inactive.
    """
    cdef VaryingPlan made = VaryingPlan()
    cdef MPI.Info hints = as_info(info)
    cdef size_t bound = ROTA_UNBOUNDED if max_block is None else max_block
    cdef Whom among = whom_of(comm)
    cdef int code
    set_up_varying(made, datatype, among.n_to, among.n_from)
    with nogil:
        if among.graph != NULL:
            code = rota_neighbor_alltoallv_varying_init_graph(
                bound, made.datatype.ob_mpi, among.graph, hints.ob_mpi,
                &made.handle)
        else:
            code = rota_neighbor_alltoallv_varying_init(
                bound, made.datatype.ob_mpi, among.comm, hints.ob_mpi,
                &made.handle)
    done_with(hints, info)
    check(code)
    if stream is not None:
        made.set_stream(stream)
    return made


def neighbor_exchange_init(max_block, datatype, comm, info=None,
                           stream=None):
    """Plan exchanges among neighbours whose receivers know nothing beforehand.

    Collective over `comm`; blocks. See rota_neighbor_exchange_init(3).

    Parameters
    ----------
    max_block, datatype, info, stream : optional
        As for `exchange_init`.
    comm : MPI.Comm or Graph
        Intra-communicator with a process topology, or partners by list.

    Returns
    -------
    Exchange
        Inactive.
    """
    cdef Exchange made = Exchange()
    cdef MPI.Info hints = as_info(info)
    cdef size_t bound = ROTA_UNBOUNDED if max_block is None else max_block
    cdef Whom among = whom_of(comm)
    cdef int code
    set_up_exchange(made, datatype, among.n_to, among.n_from)
    with nogil:
        if among.graph != NULL:
            code = rota_neighbor_exchange_init_graph(
                bound, made.datatype.ob_mpi, among.graph, hints.ob_mpi,
                &made.handle)
        else:
            code = rota_neighbor_exchange_init(
                bound, made.datatype.ob_mpi, among.comm, hints.ob_mpi,
                &made.handle)
    done_with(hints, info)
    check(code)
    if stream is not None:
        made.set_stream(stream)
    return made


def exchange_init_arrays(max_block, datatypes, MPI.Comm comm, info=None):
    """Plan exchanges of several arrays, each with counts and a datatype of its own.

    Collective over `comm`; blocks. See rota_exchange_init_arrays(3).

    Parameters
    ----------
    max_block : int or None
        No rank sends another more bytes than this, all arrays together and 15 for
        each of them. None: no bound.
    datatypes : sequence of MPI.Datatype, dtype or str
        Of the elements of each array.
    comm : MPI.Comm
        Intra-communicator of P ranks.
    info : MPI.Info or dict, optional
        Hints, see rota_hints(7).

    Returns
    -------
    ArraysExchange
        Inactive.
    """
    cdef ArraysExchange made = ArraysExchange()
    cdef MPI.Info hints = as_info(info)
    cdef MPI.Datatype datatype
    cdef size_t bound = ROTA_UNBOUNDED if max_block is None else max_block
    cdef int code, i, n = len(datatypes)
    cdef MPI_Datatype *types = <MPI_Datatype *>malloc(
        (n + 1) * sizeof(MPI_Datatype))
    if types == NULL:
        raise MemoryError()
    try:
        made.datatypes = [as_datatype(given) for given in datatypes]
        made.dtypes = [dtype_of(datatype) for datatype in made.datatypes]
        for i in range(n):
            datatype = made.datatypes[i]
            types[i] = datatype.ob_mpi
        made.n_send = made.n_recv = size_of(comm)
        with nogil:
            code = rota_exchange_init_arrays(bound, n, types, comm.ob_mpi,
                                             hints.ob_mpi, &made.handle)
    finally:
        free(types)
    done_with(hints, info)
    check(code)
    return made


def exchange_init_sparse(datatype, MPI.Comm comm, info=None):
    """Plan exchanges between few partners, which change and do not know each
    other.

    Collective over `comm`; blocks. See rota_exchange_init_sparse(3).

    Parameters
    ----------
    datatype : MPI.Datatype, dtype or str
        The datatype of all blocks.
    comm : MPI.Comm
        Intra-communicator.
    info : MPI.Info or dict, optional
        Hints, see rota_hints(7).

    Returns
    -------
    SparseExchange
        Inactive.
    """
    cdef SparseExchange made = SparseExchange()
    cdef MPI.Info hints = as_info(info)
    cdef MPI_Aint lower
    cdef int code
    made.datatype = as_datatype(datatype)
    made.dtype = dtype_of(made.datatype)
    check(MPI_Type_get_extent(made.datatype.ob_mpi, &lower, &made.extent))
    made.memories = []
    with nogil:
        code = rota_exchange_init_sparse(made.datatype.ob_mpi, comm.ob_mpi,
                                         hints.ob_mpi, &made.handle)
    done_with(hints, info)
    check(code)
    return made


# ---- many plans -------------------------------------------------------------

cdef rota_plan **handles(list plans) except NULL:
    cdef rota_plan **made = <rota_plan **>malloc(
        (len(plans) + 1) * sizeof(rota_plan *))
    cdef Plan plan
    if made == NULL:
        raise MemoryError()
    try:
        for i, plan in enumerate(plans):
            made[i] = plan.handle
    except TypeError:
        free(made)
        raise
    return made


def startall(plans):
    """Start fixed plans, in this order.

    Local; does not block. Stops at the first error; the plans before it stay
    active.

    Parameters
    ----------
    plans : sequence of Plan
    """
    cdef list listed = list(plans)
    cdef Plan plan
    cdef int n = len(listed), code
    cdef rota_plan **all = handles(listed)
    code = rota_startall(n, all)
    free(all)
    for plan in listed:
        # After an error some may not be, for which to wait is harmless.
        plan.active = True
    check(code)


def waitall(plans):
    """Wait for plans, in any order of completion.

    Parameters
    ----------
    plans : sequence of Plan
        No exchanges, which have a `wait` of their own.
    """
    cdef list listed = list(plans)
    cdef Plan plan
    cdef int n = len(listed), code
    cdef rota_plan **all = handles(listed)
    with nogil:
        code = rota_waitall(n, all)
    free(all)
    for plan in listed:
        if not isinstance(plan, Exchange):
            plan.end()
    check(code)


# ---- tuning -----------------------------------------------------------------

cdef bytes as_path(path):
    return None if path is None else os.fsencode(path)


def tuning_import(path, MPI.Comm comm):
    """Take a file's tuning in the place of what the communicator has.

    Collective over `comm`; blocks. See rota_tuning_import(3).

    Parameters
    ----------
    path : path or None
        On rank 0; None: look for one as the first plan does.
    comm : MPI.Comm
        Intra-communicator.
    """
    cdef bytes name = as_path(path)
    size_of(comm)
    check(rota_tuning_import(NULL if name is None else <const char *>name,
                             comm.ob_mpi))


def tuning_import_string(text, MPI.Comm comm):
    """As `tuning_import`, from a text, which rank 0 gives.

    Parameters
    ----------
    text : str or None
        Of JSON; elsewhere ignored.
    comm : MPI.Comm
        Intra-communicator.
    """
    cdef bytes given = None if text is None else text.encode()
    size_of(comm)
    check(rota_tuning_import_string(
        NULL if given is None else <const char *>given, comm.ob_mpi))


def tuning_export(path, MPI.Comm comm):
    """Write the tuning of the communicator to a file.

    Collective over `comm`; blocks.

    Parameters
    ----------
    path : path or None
        On rank 0; None: the user's file.
    comm : MPI.Comm
        Intra-communicator.
    """
    cdef bytes name = as_path(path)
    size_of(comm)
    check(rota_tuning_export(NULL if name is None else <const char *>name,
                             comm.ob_mpi))


def tuning_export_string(MPI.Comm comm):
    """The tuning of the communicator. Local.

    Parameters
    ----------
    comm : MPI.Comm
        Intra-communicator.

    Returns
    -------
    str
        One object of JSON.
    """
    cdef size_t length = 0
    size_of(comm)
    check(rota_tuning_export_string(comm.ob_mpi, NULL, &length))
    cdef bytearray text = bytearray(length)
    check(rota_tuning_export_string(comm.ob_mpi, text, &length))
    return text[:length - 1].decode()


def tuning_forget(MPI.Comm comm):
    """Have no tuning on the communicator, and look for no file any more.

    Collective over `comm`.

    Parameters
    ----------
    comm : MPI.Comm
        Intra-communicator.
    """
    size_of(comm)
    check(rota_tuning_forget(comm.ob_mpi))


def version():
    """The version of the library in use.

    Returns
    -------
    tuple of int
        Such as ``(1, 2, 3)``.
    """
    cdef int number = rota_version()
    return number >> 16, number >> 8 & 255, number & 255
