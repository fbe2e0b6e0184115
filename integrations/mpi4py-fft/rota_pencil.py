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
        self._last = {}  # of each direction: the plan and its arrays

    def _check(self, a, b):
        for array, shape in (a, self.subshapeA), (b, self.subshapeB):
            if array.shape != shape or array.dtype != self.dtype:
                raise ValueError(f"an array of shape {array.shape} and type "
                                 f"{array.dtype}, not {shape} and {self.dtype}")

    def _run(self, direction, a, b):
        plan, last_a, last_b = self._last.get(direction, (None, None, None))
        if a is not last_a or b is not last_b:
            self._check(a, b)
            plan = self._take(direction, plan, a, b)
            self._last[direction] = plan, a, b
        plan.start()
        plan.wait()

    def _take(self, direction, plan, a, b):
        """The plan, with these arrays."""
        sides = (a, self._subtypesA), (b, self._subtypesB)
        (source, types), (target, target_types) = \
            sides if direction == "forward" else sides[::-1]
        if plan is None:
            return rota.alltoallw_init(
                [source, self._counts_displs, types],
                [target, self._counts_displs, target_types], self.comm)
        plan.set_buffers(source, target)
        return plan

    def forward(self, arrayA, arrayB):
        self._run("forward", arrayA, arrayB)

    def backward(self, arrayB, arrayA):
        self._run("backward", arrayA, arrayB)

    def destroy(self):
        for plan, _, _ in self._last.values():
            plan.free()
        self._last.clear()
        super().destroy()


def use():
    """From now on, transforms that are made have plans."""
    pencil.Transfer = Transfer
