# librota.pxd - rota.h for Cython.
from mpi4py.libmpi cimport MPI_Aint, MPI_Comm, MPI_Count, MPI_Datatype, MPI_Info, MPI_Op, MPI_Request

cdef extern from "rota.h" nogil:
    ctypedef struct rota_plan:
        pass
    ctypedef struct rota_graph:
        pass

    const size_t ROTA_UNBOUNDED
    void *ROTA_NO_STREAM
    enum:
        ROTA_DESCRIBE_TEXT
        ROTA_DESCRIBE_JSON

    int rota_alltoallv_init_c(
        const void *sendbuf, const MPI_Count *sendcounts,
        const MPI_Aint *sdispls, MPI_Datatype sendtype, void *recvbuf,
        const MPI_Count *recvcounts, const MPI_Aint *rdispls,
        MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, rota_plan **plan)
    int rota_alltoallw_init_c(
        const void *sendbuf, const MPI_Count *sendcounts,
        const MPI_Aint *sdispls, const MPI_Datatype *sendtypes, void *recvbuf,
        const MPI_Count *recvcounts, const MPI_Aint *rdispls,
        const MPI_Datatype *recvtypes, MPI_Comm comm, MPI_Info info,
        rota_plan **plan)
    int rota_alltoall_init_c(
        const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
        void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
        MPI_Comm comm, MPI_Info info, rota_plan **plan)
    int rota_alltoallv_varying_init(
        size_t max_block, MPI_Datatype type, MPI_Comm comm, MPI_Info info,
        rota_plan **plan)
    int rota_neighbor_alltoallv_init_c(
        const void *sendbuf, const MPI_Count *sendcounts,
        const MPI_Aint *sdispls, MPI_Datatype sendtype, void *recvbuf,
        const MPI_Count *recvcounts, const MPI_Aint *rdispls,
        MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, rota_plan **plan)
    int rota_neighbor_alltoallw_init_c(
        const void *sendbuf, const MPI_Count *sendcounts,
        const MPI_Aint *sdispls, const MPI_Datatype *sendtypes, void *recvbuf,
        const MPI_Count *recvcounts, const MPI_Aint *rdispls,
        const MPI_Datatype *recvtypes, MPI_Comm comm, MPI_Info info,
        rota_plan **plan)
    int rota_neighbor_alltoall_init_c(
        const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
        void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
        MPI_Comm comm, MPI_Info info, rota_plan **plan)
    int rota_neighbor_alltoallv_varying_init(
        size_t max_block, MPI_Datatype type, MPI_Comm comm, MPI_Info info,
        rota_plan **plan)
    int rota_neighbor_exchange_init(
        size_t max_block, MPI_Datatype type, MPI_Comm comm, MPI_Info info,
        rota_plan **plan)
    int rota_alltoallv_start_c(
        rota_plan *plan, const void *sendbuf, const MPI_Count *sendcounts,
        const MPI_Aint *sdispls, void *recvbuf, const MPI_Count *recvcounts,
        const MPI_Aint *rdispls)
    int rota_exchange_init(
        size_t max_block, MPI_Datatype type, MPI_Comm comm, MPI_Info info,
        rota_plan **plan)
    int rota_exchange_start_c(
        rota_plan *plan, const void *sendbuf, const MPI_Count *sendcounts,
        const MPI_Aint *sdispls)
    int rota_exchange_wait_c(
        rota_plan *plan, void **recvbuf, MPI_Count *recvcounts,
        MPI_Aint *rdispls)
    int rota_exchange_init_borrow(
        size_t max_block, MPI_Datatype type, MPI_Comm comm, MPI_Info info,
        rota_plan **plan)
    int rota_exchange_get_sendbuf(rota_plan *plan, size_t bytes, void *ptr)
    int rota_exchange_wait_borrow_c(
        rota_plan *plan, const void **blocks, MPI_Count *recvcounts)
    int rota_exchange_init_arrays(
        size_t max_block, int n, const MPI_Datatype *types, MPI_Comm comm,
        MPI_Info info, rota_plan **plan)
    int rota_exchange_start_arrays_c(
        rota_plan *plan, const void *const *sendbufs,
        const MPI_Count *sendcounts, const MPI_Aint *sdispls)
    int rota_exchange_wait_arrays_c(
        rota_plan *plan, void **recvbufs, MPI_Count *recvcounts,
        MPI_Aint *rdispls)
    int rota_exchange_init_sparse(
        MPI_Datatype type, MPI_Comm comm, MPI_Info info, rota_plan **plan)
    int rota_exchange_start_sparse_c(
        rota_plan *plan, const void *sendbuf, int n, const int *dests,
        const MPI_Count *sendcounts, const MPI_Aint *sdispls)
    int rota_exchange_wait_sparse_c(
        rota_plan *plan, void **recvbuf, int *n_sources, const int **sources,
        const MPI_Count **recvcounts, const MPI_Aint **rdispls)
    int rota_exchange_set_buffer(
        rota_plan *plan, void *buffer, size_t capacity)

    int rota_graph_create_adjacent(
        MPI_Comm comm, int indegree, const int *sources, int outdegree,
        const int *destinations, MPI_Info info, rota_graph **graph)
    int rota_graph_of(MPI_Comm comm, rota_graph **graph)
    int rota_graph_dup(rota_graph *graph, rota_graph **copy)
    int rota_graph_free(rota_graph **graph)
    int rota_neighbor_alltoallv_init_graph_c(
        const void *sendbuf, const MPI_Count *sendcounts,
        const MPI_Aint *sdispls, MPI_Datatype sendtype, void *recvbuf,
        const MPI_Count *recvcounts, const MPI_Aint *rdispls,
        MPI_Datatype recvtype, rota_graph *graph, MPI_Info info,
        rota_plan **plan)
    int rota_neighbor_alltoallw_init_graph_c(
        const void *sendbuf, const MPI_Count *sendcounts,
        const MPI_Aint *sdispls, const MPI_Datatype *sendtypes, void *recvbuf,
        const MPI_Count *recvcounts, const MPI_Aint *rdispls,
        const MPI_Datatype *recvtypes, rota_graph *graph, MPI_Info info,
        rota_plan **plan)
    int rota_neighbor_alltoall_init_graph_c(
        const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype,
        void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype,
        rota_graph *graph, MPI_Info info, rota_plan **plan)
    int rota_neighbor_alltoallv_varying_init_graph(
        size_t max_block, MPI_Datatype type, rota_graph *graph, MPI_Info info,
        rota_plan **plan)
    int rota_neighbor_exchange_init_graph(
        size_t max_block, MPI_Datatype type, rota_graph *graph, MPI_Info info,
        rota_plan **plan)

    int rota_start(rota_plan *plan)
    int rota_startall(int n, rota_plan **plans)
    int rota_test(rota_plan *plan, int *flag)
    int rota_wait(rota_plan *plan)
    int rota_get_request(rota_plan *plan, MPI_Request *request)
    int rota_plan_set_partitioned(rota_plan *plan)
    int rota_pready(rota_plan *plan, int dest)
    int rota_pready_range(rota_plan *plan, int low, int high)
    int rota_pready_list(rota_plan *plan, int n, const int *dests)
    int rota_parrived(rota_plan *plan, int source, int *flag)
    int rota_wait_arrival(rota_plan *plan, int *source) nogil
    int rota_waitall(int n, rota_plan **plans)
    int rota_plan_set_buffers(
        rota_plan *plan, const void *sendbuf, void *recvbuf)
    int rota_plan_set_unit(rota_plan *plan, MPI_Datatype type, int howmany)
    int rota_plan_init_reverse(
        rota_plan *plan, const void *sendbuf, void *recvbuf, MPI_Datatype type,
        MPI_Op op, MPI_Info info, rota_plan **reverse)
    int rota_plan_set_reduction(
        rota_plan *plan, const void *value, void *result, int count,
        MPI_Datatype type, MPI_Op op)
    int rota_plan_set_stream(rota_plan *plan, void *stream)
    int rota_plan_free(rota_plan **plan)

    int rota_mem_alloc(size_t bytes, MPI_Comm comm, MPI_Info info, void *ptr)
    int rota_mem_free(void *ptr)
    void *rota_malloc(size_t bytes) nogil
    void *rota_calloc(size_t n, size_t bytes) nogil
    void *rota_realloc(void *ptr, size_t bytes) nogil
    void rota_free(void *ptr) nogil

    int rota_tuning_import(const char *path, MPI_Comm comm)
    int rota_tuning_import_string(const char *text, MPI_Comm comm)
    int rota_tuning_export(const char *path, MPI_Comm comm)
    int rota_tuning_export_string(MPI_Comm comm, char *buf, size_t *len)
    int rota_tuning_forget(MPI_Comm comm)

    int rota_plan_describe(
        const rota_plan *plan, int format, char *buf, size_t *len)
    int rota_error_class(int code, int *errorclass)
    int rota_version()
