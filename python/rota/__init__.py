"""Rota: plan an all-to-all once, run it thousands of times.

For programs that use mpi4py. A plan holds everything about a non-uniform all-to-all
that does not change from one execution to the next::

    plan = rota.alltoallv_init([a, counts, displs, MPI.DOUBLE],
                               [b, counts, displs, MPI.DOUBLE], comm)
    for step in range(steps):
        plan.start()
        plan.wait()
    plan.free()

Functions do what their namesakes in C do, which rota(3) describes. Errors are
raised as `Error`, an ``MPI.Exception``.
"""

from rota._rota import (  # noqa: F401
    UNBOUNDED,
    ArraysExchange,
    Blocks,
    BorrowedBlocks,
    BorrowingExchange,
    Error,
    Exchange,
    Graph,
    Memory,
    Plan,
    SparseBlocks,
    SparseExchange,
    VaryingPlan,
    alltoall_init,
    alltoallv_init,
    alltoallv_varying_init,
    alltoallw_init,
    empty,
    error_class,
    exchange_init,
    exchange_init_arrays,
    exchange_init_borrow,
    exchange_init_sparse,
    mem_alloc,
    neighbor_alltoall_init,
    neighbor_alltoallv_init,
    neighbor_alltoallv_varying_init,
    neighbor_alltoallw_init,
    neighbor_exchange_init,
    shared,
    startall,
    tuning_export,
    tuning_export_string,
    tuning_forget,
    tuning_import,
    tuning_import_string,
    version,
    waitall,
)

__all__ = [name for name in dir() if not name.startswith("_")]
