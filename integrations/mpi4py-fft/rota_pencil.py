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

    def _run(self, direction, source, types, target, target_types):
        plan = self._plans.get(direction)
        if plan is None:
            plan = self._plans[direction] = rota.alltoallw_init(
                [source, self._counts_displs, types],
                [target, self._counts_displs, target_types], self.comm)
        else:
            plan.set_buffers(source, target)
        plan.start()
        plan.wait()

    def _check(self, a, b):
        for array, shape in (a, self.subshapeA), (b, self.subshapeB):
            if array.shape != shape or array.dtype != self.dtype:
                raise ValueError(f"an array of shape {array.shape} and type "
                                 f"{array.dtype}, not {shape} and {self.dtype}")

    def forward(self, arrayA, arrayB):
        self._check(arrayA, arrayB)
        self._run("forward", arrayA, self._subtypesA, arrayB, self._subtypesB)

    def backward(self, arrayB, arrayA):
        self._check(arrayA, arrayB)
        self._run("backward", arrayB, self._subtypesB, arrayA, self._subtypesA)

    def destroy(self):
        for plan in self._plans.values():
            plan.free()
        self._plans.clear()
        super().destroy()


def use():
    """From now on, transforms that are made have plans."""
    pencil.Transfer = Transfer
