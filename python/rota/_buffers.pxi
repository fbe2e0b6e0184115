# _buffers.pxi - what programs give as buffers, counts and datatypes, as C needs
# it. Included by _rota.pyx.

# Datatypes by kind and size of an element, with the letters of numpy's dtypes.
cdef dict DATATYPES = {
    ("b", 1): MPI.C_BOOL,
    ("S", 1): MPI.CHAR,
    ("V", 1): MPI.BYTE,
    ("i", 1): MPI.INT8_T, ("u", 1): MPI.UINT8_T,
    ("i", 2): MPI.INT16_T, ("u", 2): MPI.UINT16_T,
    ("i", 4): MPI.INT32_T, ("u", 4): MPI.UINT32_T,
    ("i", 8): MPI.INT64_T, ("u", 8): MPI.UINT64_T,
    ("f", 4): MPI.FLOAT, ("f", 8): MPI.DOUBLE, ("f", 16): MPI.LONG_DOUBLE,
    ("c", 8): MPI.C_FLOAT_COMPLEX, ("c", 16): MPI.C_DOUBLE_COMPLEX,
    ("c", 32): MPI.C_LONG_DOUBLE_COMPLEX,
}

# The dtypes of MPI's datatypes, for arrays of what came.
cdef list DTYPES = [(datatype, kind + str(size))
                    for (kind, size), datatype in DATATYPES.items()] + [
    (MPI.SIGNED_CHAR, "i1"), (MPI.UNSIGNED_CHAR, "u1"),
    (MPI.SHORT, "i2"), (MPI.UNSIGNED_SHORT, "u2"),
    (MPI.INT, "i4"), (MPI.UNSIGNED, "u4"),
    (MPI.LONG, "i8"), (MPI.UNSIGNED_LONG, "u8"),
    (MPI.LONG_LONG, "i8"), (MPI.UNSIGNED_LONG_LONG, "u8"),
    (MPI.COMPLEX, "c8"), (MPI.DOUBLE_COMPLEX, "c16"),
]

# Kinds by the letter of a format of the struct module.
cdef dict KINDS = {
    **dict.fromkeys("bhilqn", "i"), **dict.fromkeys("BHILQN", "u"),
    **dict.fromkeys("efdg", "f"), "Zf": "c", "Zd": "c", "Zg": "c", "?": "b",
    "c": "S",
}


cdef object datatype_by_kind(kind, itemsize):
    """The datatype of elements, or None."""
    return DATATYPES.get((kind, itemsize))


cdef object datatype_by_format(format, itemsize):
    """The datatype of elements of a buffer, or None."""
    if format[:1] in "@=<^" and sys.byteorder == "little":
        format = format[1:]
    return datatype_by_kind(KINDS.get(format), itemsize)


cdef object datatype_by_typestr(typestr):
    """The datatype that a typestr such as "<f8" or "f8" names, or None."""
    if typestr[:1] in "<|=":
        typestr = typestr[1:]
    if not typestr[1:].isdigit():
        return None
    return datatype_by_kind(typestr[0], int(typestr[1:]))


cdef MPI.Datatype as_datatype(given):
    """An MPI.Datatype from one, from the name of a dtype, or from a dtype."""
    if isinstance(given, MPI.Datatype):
        return given
    name = given if isinstance(given, str) else numpy.dtype(given).str
    found = datatype_by_typestr(name)
    if found is None:
        found = datatype_by_typestr(numpy.dtype(name).str)
    if found is None:
        raise TypeError(f"no MPI datatype for {given!r}")
    return found


cdef object dtype_of(MPI.Datatype datatype):
    """The dtype of arrays of a datatype: void where numpy has none."""
    for known, name in DTYPES:
        if known == datatype:
            return numpy.dtype(name)
    return numpy.dtype((numpy.void, datatype.Get_extent()[1]))


cdef struct DLDevice:
    int device_type
    int device_id

cdef struct DLDataType:
    unsigned char code
    unsigned char bits
    unsigned short lanes

cdef struct DLTensor:
    void *data
    DLDevice device
    int ndim
    DLDataType dtype
    long long *shape
    long long *strides
    unsigned long long byte_offset

cdef str DL_KINDS = "iufV?cb"  # by DLDataTypeCode; V and ? are not MPI's


cdef bint is_contiguous(shape, strides, Py_ssize_t itemsize):
    """Whether elements lie end to end, in the order of C or of Fortran."""
    for order in (1, -1):
        expected = itemsize
        for extent, stride in list(zip(shape, strides))[::-order]:
            if extent > 1 and stride != expected:
                break
            expected *= extent
        else:
            return True
    return False


@cython.no_gc_clear
cdef class Buffer:
    """A place in memory, and what keeps it there."""
    cdef void *address
    cdef Py_ssize_t nbytes
    cdef bint in_place
    cdef MPI.Datatype datatype  # of its elements, or None
    cdef object owner
    cdef Py_buffer view
    cdef bint viewed

    def __dealloc__(self):
        if self.viewed:
            PyBuffer_Release(&self.view)

    cdef int take_view(self, obj, bint writable) except -1:
        cdef int flags = PyBUF_ANY_CONTIGUOUS | PyBUF_FORMAT
        if writable:
            flags |= PyBUF_WRITABLE
        PyObject_GetBuffer(obj, &self.view, flags)
        self.viewed = True
        self.address = self.view.buf
        self.nbytes = self.view.len
        format = "B" if self.view.format == NULL else \
            self.view.format.decode()
        self.datatype = datatype_by_format(format, self.view.itemsize)
        return 0

    cdef int take_cuda(self, interface, bint writable) except -1:
        """The dict of __cuda_array_interface__."""
        address, readonly = interface["data"]
        itemsize = int(interface["typestr"][2:])
        shape, strides = interface["shape"], interface.get("strides")
        if writable and readonly:
            raise BufferError("the array is read-only")
        if strides is not None and not is_contiguous(shape, strides, itemsize):
            raise BufferError("the array is not contiguous")
        self.address = <void *><size_t>address
        self.nbytes = itemsize
        for extent in shape:
            self.nbytes *= extent
        self.datatype = datatype_by_typestr(interface["typestr"])
        return 0

    cdef int take_dlpack(self, capsule) except -1:
        cdef DLTensor *tensor = <DLTensor *>PyCapsule_GetPointer(
            capsule, "dltensor")
        cdef int i
        if tensor.dtype.lanes != 1 or tensor.dtype.bits % 8 != 0:
            raise BufferError("the tensor's elements are not whole bytes")
        itemsize = tensor.dtype.bits // 8
        shape = [tensor.shape[i] for i in range(tensor.ndim)]
        if tensor.strides != NULL and not is_contiguous(
                shape, [tensor.strides[i] * itemsize
                        for i in range(tensor.ndim)], itemsize):
            raise BufferError("the tensor is not contiguous")
        self.owner = capsule  # whose destructor gives the memory back
        self.address = <char *>tensor.data + tensor.byte_offset
        self.nbytes = itemsize
        for extent in shape:
            self.nbytes *= extent
        kind = DL_KINDS[tensor.dtype.code] if \
            tensor.dtype.code < len(DL_KINDS) else "?"
        self.datatype = datatype_by_kind(kind, itemsize)
        return 0


cdef Buffer as_buffer(obj, bint writable):
    """A Buffer from None, MPI.IN_PLACE, or what has elements end to end: by
    the buffer protocol, the CUDA array interface or DLPack."""
    cdef Buffer made = Buffer()
    if obj is None:
        return made
    if obj is MPI.IN_PLACE:
        made.in_place = True
        made.address = MPI_IN_PLACE
        return made
    made.owner = obj
    if PyObject_CheckBuffer(obj):
        made.take_view(obj, writable)
    elif hasattr(obj, "__cuda_array_interface__"):
        made.take_cuda(obj.__cuda_array_interface__, writable)
    elif hasattr(obj, "__dlpack__"):
        made.take_dlpack(obj.__dlpack__())
    else:
        raise TypeError(f"{type(obj).__name__} is not a buffer: it has neither "
                        "the buffer protocol, __cuda_array_interface__ nor "
                        "__dlpack__")
    return made


cdef int load(numbers, long long *to, int n, what) except -1:
    """n numbers from any sequence; fast from arrays of int32 and int64."""
    cdef const long long[::1] wide
    cdef const int[::1] narrow
    cdef int i
    if len(numbers) != n:
        raise ValueError(f"{len(numbers)} {what} for {n} ranks")
    if isinstance(numbers, numpy.ndarray) and numbers.flags.c_contiguous:
        if numbers.dtype == numpy.int64:
            wide = numbers.view(numpy.longlong)
            for i in range(n):
                to[i] = wide[i]
            return 0
        if numbers.dtype == numpy.int32:
            narrow = numbers.view(numpy.intc)
            for i in range(n):
                to[i] = narrow[i]
            return 0
    for i in range(n):
        to[i] = operator_index(numbers[i])
    return 0


cdef tuple split(spec):
    """(buffer, counts, displacements, datatype) of a specification in the
    forms of mpi4py; None for what is not said."""
    if not isinstance(spec, (list, tuple)):
        return spec, None, None, None
    if len(spec) == 4:
        return tuple(spec)
    counts = displs = datatype = None
    if len(spec) == 3:
        data, counts, datatype = spec
    elif len(spec) == 2:
        data, counts = spec
        if isinstance(counts, (MPI.Datatype, str, numpy.dtype)):
            counts, datatype = None, counts
    elif len(spec) == 1:
        data = spec[0]
    else:
        raise ValueError(f"a buffer specification of {len(spec)} parts")
    if isinstance(counts, tuple) and len(counts) == 2 and \
            hasattr(counts[0], "__len__"):
        counts, displs = counts
    return data, counts, displs, datatype


cdef tuple split_types(spec):
    """(buffer, counts, displacements, datatypes) where each block has a datatype
    of its own; None for what is not said."""
    if spec is MPI.IN_PLACE or spec is None:
        return spec, None, None, []
    if not isinstance(spec, (list, tuple)) or not 2 <= len(spec) <= 4:
        raise ValueError("not [buf, types], [buf, (counts, displs), types] or "
                         "[buf, counts, displs, types]")
    counts = displs = None
    if len(spec) == 4:
        counts, displs = spec[1:3]
    elif len(spec) == 3 and spec[1] is not None:
        counts, displs = spec[1]
    return spec[0], counts, displs, spec[-1]


cdef class Side:
    """One side of an all-to-all with P blocks: buffer, counts, displacements
    and datatype."""
    cdef Buffer buffer
    cdef MPI.Datatype datatype
    cdef long long *counts  # [P], then displs [P]
    cdef long long *displs
    cdef MPI_Aint extent    # of the datatype
    cdef Py_ssize_t needed  # bytes of the buffer, from its start

    def __dealloc__(self):
        free(self.counts)

    cdef void *address(self) noexcept:
        return NULL if self.buffer is None else self.buffer.address

    cdef MPI_Datatype type(self) noexcept:
        return MPI_DATATYPE_NULL if self.datatype is None else \
            self.datatype.ob_mpi

    cdef int reserve(self, int P) except -1:
        if self.counts == NULL:
            self.counts = <long long *>malloc((2 * P + 1) * sizeof(long long))
            if self.counts == NULL:
                raise MemoryError()
            self.displs = self.counts + P
        return 0

    cdef int take(self, spec, int P, bint writable, MPI.Datatype datatype) \
            except -1:
        """datatype: of the plan, or None where each side has its own."""
        data, counts, displs, given = split(spec)
        self.buffer = as_buffer(data, writable)
        if datatype is not None:
            self.datatype = datatype
        elif given is not None:
            self.datatype = as_datatype(given)
        else:
            self.datatype = self.buffer.datatype
        self.reserve(P)
        if self.buffer.in_place:
            for i in range(2 * P):
                self.counts[i] = 0
            return 0
        if self.datatype is None:
            if self.buffer.address == NULL:
                self.datatype = MPI.BYTE
            else:
                raise TypeError("the datatype is not known; give one")
        self.take_counts(counts, displs, P)
        self.check_room(P)
        return 0

    cdef int take_counts(self, counts, displs, int P) except -1:
        cdef MPI_Aint lower
        cdef long long at = 0, items
        cdef int i
        check(MPI_Type_get_extent(self.datatype.ob_mpi, &lower, &self.extent))
        if counts is None:
            if self.extent <= 0 or self.buffer.nbytes % self.extent:
                raise ValueError(f"{self.buffer.nbytes} bytes are no whole "
                                 f"number of elements of {self.extent} bytes")
            items = self.buffer.nbytes // self.extent
            for i in range(P):
                self.counts[i] = items // P + (1 if i < items % P else 0)
        else:
            load(counts, self.counts, P, "counts")
        if displs is not None:
            load(displs, self.displs, P, "displacements")
            return 0
        for i in range(P):
            self.displs[i] = at
            at += self.counts[i]
        return 0

    cdef int check_room(self, int P) except -1:
        """Blocks lie in the buffer; negative counts are for Rota to find."""
        cdef MPI_Aint lower, true_extent
        cdef Py_ssize_t begin, end
        check(MPI_Type_get_true_extent(self.datatype.ob_mpi, &lower,
                                       &true_extent))
        self.needed = 0
        for i in range(P):
            if self.counts[i] <= 0:
                continue
            begin = self.displs[i] * self.extent + lower
            end = begin + (self.counts[i] - 1) * self.extent + true_extent
            if begin < 0 or end > self.buffer.nbytes:
                raise ValueError(f"block {i} is bytes {begin} to {end} of a "
                                 f"buffer of {self.buffer.nbytes}")
            self.needed = max(self.needed, end)
        return 0


cdef class TypesSide(Side):
    """One side whose blocks have a datatype each and lie bytes apart."""
    cdef MPI_Datatype *types  # [P]
    cdef list datatypes       # the same, as long as they are needed

    def __dealloc__(self):
        free(self.types)

    cdef int take_types(self, spec, int P, bint writable) except -1:
        data, counts, displs, types = split_types(spec)
        self.buffer = as_buffer(data, writable)
        self.reserve(P)
        self.types = <MPI_Datatype *>malloc((P + 1) * sizeof(MPI_Datatype))
        if self.types == NULL:
            raise MemoryError()
        nothing = self.buffer.in_place or data is None
        for i in range(P):
            self.counts[i] = 0 if nothing else 1
            self.displs[i] = 0
            self.types[i] = MPI_DATATYPE_NULL
        if nothing:
            return 0
        if counts is not None:
            load(counts, self.counts, P, "counts")
        if displs is not None:
            load(displs, self.displs, P, "displacements")
        return self.take_datatypes(types, P)

    cdef int take_datatypes(self, types, int P) except -1:
        cdef MPI.Datatype datatype
        if len(types) != P:
            raise ValueError(f"{len(types)} datatypes for {P} ranks")
        self.datatypes = [as_datatype(each) for each in types]
        self.needed = 0
        for i in range(P):
            datatype = self.datatypes[i]
            self.types[i] = datatype.ob_mpi
            if self.counts[i] > 0 and datatype != MPI.DATATYPE_NULL:
                self.check_block(i)
        return 0

    cdef int check_block(self, int i) except -1:
        """It lies in the buffer."""
        cdef MPI_Aint lower, extent, true_extent
        cdef Py_ssize_t begin, end
        check(MPI_Type_get_extent(self.types[i], &lower, &extent))
        check(MPI_Type_get_true_extent(self.types[i], &lower, &true_extent))
        begin = self.displs[i] + lower
        end = begin + (self.counts[i] - 1) * extent + true_extent
        if begin < 0 or end > self.buffer.nbytes:
            raise ValueError(f"block {i} is bytes {begin} to {end} of a buffer "
                             f"of {self.buffer.nbytes}")
        self.needed = max(self.needed, end)
        return 0
