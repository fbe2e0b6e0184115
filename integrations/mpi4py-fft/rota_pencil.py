"""rota_pencil.py - the redistributions of mpi4py-fft as plans of Rota.

    import rota_pencil
    rota_pencil.use()  # before transforms are made

A Transfer of mpi4py-fft exchanges the same subarrays in each call, by MPI_Alltoallw.
Here it has one plan for each direction, made at the first call and started on the
arrays of each. Results are the same.
"""

import rota
from mpi4py_fft import pencil


class Transfer(pencil.Transfer):
    """As mpi4py_fft.pencil.Transfer. All ranks of its communicator make the first
    call in a direction together, as they do with MPI_Alltoallw."""

    def __init__(self, comm, shape, dtype, subshapeA, axisA, subshapeB, axisB):
        super().__init__(comm, shape, dtype, subshapeA, axisA, subshapeB, axisB)
        self._plans = {}
        self._arrays = {}  # source and target of each plan's last run

    def _check(self, *sides):
        for array, shape in sides:
            if array.shape != shape or array.dtype != self.dtype:
                raise ValueError(f"an array of shape {array.shape} and type "
                                 f"{array.dtype}, not {shape} and {self.dtype}")

    def _take(self, direction, source, types, target, target_types):
        plan = self._plans.get(direction)
        if plan is None:
            self._plans[direction] = rota.alltoallw_init(
                [source, self._counts_displs, types],
                [target, self._counts_displs, target_types], self.comm)
        else:
            plan.set_buffers(source, target)
        self._arrays[direction] = source, target

    def _run(self, direction):
        plan = self._plans[direction]
        plan.start()
        plan.wait()

    def _has(self, direction, source, target):
        last = self._arrays.get(direction, (None, None))
        return last[0] is source and last[1] is target

    def forward(self, arrayA, arrayB):
        if not self._has("forward", arrayA, arrayB):
            self._check((arrayA, self.subshapeA), (arrayB, self.subshapeB))
            self._take("forward", arrayA, self._subtypesA, arrayB, self._subtypesB)
        self._run("forward")

    def backward(self, arrayB, arrayA):
        if not self._has("backward", arrayB, arrayA):
            self._check((arrayA, self.subshapeA), (arrayB, self.subshapeB))
            self._take("backward", arrayB, self._subtypesB, arrayA, self._subtypesA)
        self._run("backward")

    def destroy(self):
        for plan in self._plans.values():
            plan.free()
        self._plans.clear()
        self._arrays.clear()
        super().destroy()


def use():
    """From now on, transforms that are made have plans."""
    pencil.Transfer = Transfer
