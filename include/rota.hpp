/* rota.hpp - Rota in C++17: rota.h with plans that free themselves, buffers
 * that know their datatypes, and errors that are thrown.
 *
 * Every function does what its namesake in rota.h does. Only the differences
 * are described here.
 *
 *   Errors. The last argument of every function, int *code, is optional. If it
 *   is left out, an error is thrown as rota::error. Otherwise *code is set to
 *   the error code or to MPI_SUCCESS, and nothing is thrown. In both cases the
 *   communicator's error handler is called first; it ends the program unless it
 *   is MPI_ERRORS_RETURN or the program's own.
 *
 *   Buffers. A buffer is a contiguous range (std::vector, std::array,
 *   std::span) or a pointer, whose elements have a datatype (rota::datatype).
 *   For other datatypes, pass rota::buffer{pointer, type}. Buffers are not
 *   copied and must outlive the plan.
 *
 *   Counts and displacements. These are contiguous ranges of int. If counts are
 *   MPI_Count and displacements MPI_Aint, the large-count function is called.
 *   rota::packed returns the displacements of blocks that lie end to end.
 *
 *   Lifetime. Plans can be moved, not copied. A default-constructed plan is
 *   empty; assign another to it. The destructor of an active plan waits for the
 *   plan, because its buffers are in use until then. After MPI_Finalize the
 *   destructor does nothing.
 */
#ifndef ROTA_HPP
#define ROTA_HPP

#include <rota.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstddef>
#include <iterator>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace rota
{

/* -------------------------------------------------------------------------
 * Errors
 * ---------------------------------------------------------------------- */

/* The MPI error class of a code. */
inline int error_class(int code)
{
    int found = MPI_ERR_UNKNOWN;
    rota_error_class(code, &found);
    return found;
}

/* The text that MPI_Error_string has for a code. */
inline std::string error_text(int code)
{
    std::array<char, MPI_MAX_ERROR_STRING> text;
    int length = 0;
    if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS)
        return "unknown error";
    return std::string(text.data(), static_cast<std::size_t>(length));
}

class error : public std::runtime_error
{
  public:
    explicit error(int code)
        : std::runtime_error(rota::error_text(code)), code_(code),
          class_(rota::error_class(code))
    {
    }

    int code() const noexcept
    {
        return code_;
    }

    /* MPI_ERR_COUNT and so on. */
    int error_class() const noexcept
    {
        return class_;
    }

  private:
    int code_, class_;
};

namespace detail
{

/* Returns whether a call succeeded; throws if nobody wants its code. */
inline bool succeeded(int result, int *code)
{
    if (code)
        *code = result;
    else if (result != MPI_SUCCESS)
        throw error(result);
    return result == MPI_SUCCESS;
}

template <class Range>
using element =
    std::remove_pointer_t<decltype(std::data(std::declval<Range &>()))>;

/* Whether counts and displacements are those of the large-count functions. */
template <class Counts, class Displs> constexpr bool large()
{
    using count = std::remove_cv_t<element<const Counts>>;
    using displ = std::remove_cv_t<element<const Displs>>;
    constexpr bool wide =
        std::is_same_v<count, MPI_Count> && std::is_same_v<displ, MPI_Aint>;
    static_assert(
        wide || (std::is_same_v<count, int> && std::is_same_v<displ, int>),
        "counts and displacements are ranges of int, or of MPI_Count "
        "and MPI_Aint");
    return wide;
}
template <class SendCounts, class SDispls, class RecvCounts, class RDispls>
constexpr bool large()
{
    constexpr bool wide = large<SendCounts, SDispls>();
    static_assert(wide == large<RecvCounts, RDispls>(),
                  "counts are of one kind on both sides");
    return wide;
}

/* Returns the function of the two that takes counts of this size. */
template <bool large, class Small, class Large>
constexpr auto pick([[maybe_unused]] Small small, [[maybe_unused]] Large wide)
{
    if constexpr (large)
        return wide;
    else
        return small;
}

/* The plan of a rota_..._init function, whose arguments these are but for the
 * last; nullptr where it fails and the code is wanted. */
template <class Init, class... Arguments>
rota_plan *make(int *code, Init init, Arguments... arguments)
{
    rota_plan *made = nullptr;
    succeeded(init(arguments..., &made), code);
    return made;
}

/* The text of a function that must be asked for its length first. */
template <class Write> std::string text(Write write, int *code)
{
    std::size_t length = 0;
    if (!succeeded(write(nullptr, &length), code))
        return {};
    std::string made(length, '\0');
    if (!succeeded(write(made.data(), &length), code))
        return {};
    made.resize(length - 1); /* without the terminator */
    return made;
}

} // namespace detail

/* -------------------------------------------------------------------------
 * Buffers
 * ---------------------------------------------------------------------- */

/* The datatype of T. Programs may specialise it: a struct with a static
 * function get, which returns a type that lives as long as it is used. */
template <class T, class = void> struct datatype;

#define ROTA_DATATYPE(T, type)                                                 \
    template <> struct datatype<T> {                                           \
        static MPI_Datatype get()                                              \
        {                                                                      \
            return type;                                                       \
        }                                                                      \
    };
ROTA_DATATYPE(char, MPI_CHAR)
ROTA_DATATYPE(signed char, MPI_SIGNED_CHAR)
ROTA_DATATYPE(unsigned char, MPI_UNSIGNED_CHAR)
ROTA_DATATYPE(std::byte, MPI_BYTE)
ROTA_DATATYPE(bool, MPI_C_BOOL)
ROTA_DATATYPE(short, MPI_SHORT)
ROTA_DATATYPE(unsigned short, MPI_UNSIGNED_SHORT)
ROTA_DATATYPE(int, MPI_INT)
ROTA_DATATYPE(unsigned, MPI_UNSIGNED)
ROTA_DATATYPE(long, MPI_LONG)
ROTA_DATATYPE(unsigned long, MPI_UNSIGNED_LONG)
ROTA_DATATYPE(long long, MPI_LONG_LONG)
ROTA_DATATYPE(unsigned long long, MPI_UNSIGNED_LONG_LONG)
ROTA_DATATYPE(float, MPI_FLOAT)
ROTA_DATATYPE(double, MPI_DOUBLE)
ROTA_DATATYPE(long double, MPI_LONG_DOUBLE)
ROTA_DATATYPE(std::complex<float>, MPI_C_FLOAT_COMPLEX)
ROTA_DATATYPE(std::complex<double>, MPI_C_DOUBLE_COMPLEX)
#undef ROTA_DATATYPE

/* A buffer that is read (Void = const void) or written (void). */
template <class Void> struct basic_buffer {
    Void *data = nullptr;
    MPI_Datatype type = MPI_DATATYPE_NULL;

    basic_buffer(Void *where, MPI_Datatype of) : data(where), type(of)
    {
    }

    template <class Range, class T = std::remove_cv_t<detail::element<Range>>,
              class = decltype(datatype<T>::get())>
    basic_buffer(Range &&range)
        : data(std::data(range)), type(datatype<T>::get())
    {
    }

    template <class T, class = decltype(datatype<std::remove_cv_t<T>>::get())>
    basic_buffer(T *where)
        : data(where), type(datatype<std::remove_cv_t<T>>::get())
    {
    }
};
using buffer = basic_buffer<void>;
using const_buffer = basic_buffer<const void>;

/* Takes the place of a send buffer. Its counts and displacements are ignored;
 * pass any, such as those of the receive buffer. */
inline const_buffer in_place()
{
    return {MPI_IN_PLACE, MPI_DATATYPE_NULL};
}

/* The displacements of blocks that lie end to end. */
template <class Counts> auto packed(const Counts &counts)
{
    using count = std::remove_cv_t<detail::element<const Counts>>;
    using displ = std::conditional_t<std::is_same_v<count, int>, int, MPI_Aint>;
    std::vector<displ> displs;
    displ at = 0;
    for (const count n : counts) {
        displs.push_back(at);
        at += static_cast<displ>(n);
    }
    return displs;
}

/* A view of memory owned by another object; converts to std::span. */
template <class T> class view
{
  public:
    view() = default;
    view(T *data, std::size_t size) : data_(data), size_(size)
    {
    }

    T *data() const noexcept
    {
        return data_;
    }
    std::size_t size() const noexcept
    {
        return size_;
    }
    bool empty() const noexcept
    {
        return size_ == 0;
    }
    T *begin() const noexcept
    {
        return data_;
    }
    T *end() const noexcept
    {
        return data_ + size_;
    }
    T &operator[](std::size_t i) const
    {
        return data_[i];
    }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

/* -------------------------------------------------------------------------
 * Graphs of partners
 * ---------------------------------------------------------------------- */

namespace detail
{

/* How many sources a rank has in comm's process topology. */
inline int count_sources(MPI_Comm comm)
{
    int kind = MPI_UNDEFINED, sources = 0, destinations = 0, weighted = 0;
    MPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        MPI_Cartdim_get(comm, &sources);
        sources *= 2;
    } else if (kind == MPI_GRAPH) {
        int me = 0;
        MPI_Comm_rank(comm, &me);
        MPI_Graph_neighbors_count(comm, me, &sources);
    } else if (kind == MPI_DIST_GRAPH) {
        MPI_Dist_graph_neighbors_count(comm, &sources, &destinations,
                                       &weighted);
    }
    return sources;
}

} // namespace detail

/* Whom each rank sends to and receives from. Copies are handles of the same
 * graph. Functions for neighbours take a graph in place of a communicator. */
class graph
{
  public:
    graph() = default;

    /* sources and destinations are ranges of int. Collective over comm. */
    template <class Sources, class Destinations>
    graph(MPI_Comm comm, const Sources &sources,
          const Destinations &destinations, MPI_Info info = MPI_INFO_NULL,
          int *code = nullptr)
        : n_sources_(static_cast<int>(std::size(sources)))
    {
        detail::succeeded(rota_graph_create_adjacent(
                              comm, n_sources_, std::data(sources),
                              static_cast<int>(std::size(destinations)),
                              std::data(destinations), info, &handle_),
                          code);
    }

    /* Of comm's process topology. Collective over comm. */
    explicit graph(MPI_Comm comm, int *code = nullptr)
    {
        if (detail::succeeded(rota_graph_of(comm, &handle_), code))
            n_sources_ = detail::count_sources(comm);
    }

    graph(const graph &other) : n_sources_(other.n_sources_)
    {
        if (other.handle_)
            rota_graph_dup(other.handle_, &handle_);
    }
    graph(graph &&other) noexcept
        : handle_(std::exchange(other.handle_, nullptr)),
          n_sources_(other.n_sources_)
    {
    }
    graph &operator=(graph other) noexcept
    {
        std::swap(handle_, other.handle_);
        std::swap(n_sources_, other.n_sources_);
        return *this;
    }
    ~graph()
    {
        rota_graph_free(&handle_);
    }

    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }

    /* For functions of rota.h. The object keeps ownership. */
    rota_graph *handle() const noexcept
    {
        return handle_;
    }

    int n_sources() const noexcept
    {
        return n_sources_;
    }

  private:
    rota_graph *handle_ = nullptr;
    int n_sources_ = 0;
};

/* -------------------------------------------------------------------------
 * Plans
 * ---------------------------------------------------------------------- */

/* Base of all plans: owns a rota_plan *. */
class basic_plan
{
  public:
    basic_plan() = default;
    explicit basic_plan(rota_plan *handle) noexcept : handle_(handle)
    {
    }
    basic_plan(basic_plan &&other) noexcept
        : handle_(std::exchange(other.handle_, nullptr))
    {
    }
    basic_plan &operator=(basic_plan &&other) noexcept
    {
        if (this != &other) {
            discard();
            handle_ = std::exchange(other.handle_, nullptr);
        }
        return *this;
    }
    ~basic_plan()
    {
        discard();
    }

    explicit operator bool() const noexcept
    {
        return handle_ != nullptr;
    }

    /* For functions of rota.h. The object keeps ownership. */
    rota_plan *handle() const noexcept
    {
        return handle_;
    }

    /* Advances all plans of the process; returns whether this one is
     * complete. */
    bool test(int *code = nullptr)
    {
        int flag = 0;
        detail::succeeded(rota_test(handle_, &flag), code);
        return flag != 0;
    }

    /* From the next start on, blocks leave when they are ready; not of
     * exchanges. */
    void set_partitioned(int *code = nullptr)
    {
        detail::succeeded(rota_plan_set_partitioned(handle_), code);
    }
    void pready(int dest, int *code = nullptr)
    {
        detail::succeeded(rota_pready(handle_, dest), code);
    }
    /* Both included. */
    void pready_range(int low, int high, int *code = nullptr)
    {
        detail::succeeded(rota_pready_range(handle_, low, high), code);
    }
    template <class List>
    void pready_list(const List &dests, int *code = nullptr)
    {
        detail::succeeded(rota_pready_list(handle_,
                                           static_cast<int>(std::size(dests)),
                                           std::data(dests)),
                          code);
    }
    bool parrived(int source, int *code = nullptr)
    {
        int flag = 0;
        detail::succeeded(rota_parrived(handle_, source, &flag), code);
        return flag != 0;
    }
    /* Waits for a block that has arrived; MPI_UNDEFINED: none is left. */
    int wait_arrival(int *code = nullptr)
    {
        int source = MPI_UNDEFINED;
        detail::succeeded(rota_wait_arrival(handle_, &source), code);
        return source;
    }

    /* A request of MPI for the run of an active plan. */
    MPI_Request get_request(int *code = nullptr)
    {
        MPI_Request request = MPI_REQUEST_NULL;
        detail::succeeded(rota_get_request(handle_, &request), code);
        return request;
    }

    void set_stream(void *stream, int *code = nullptr)
    {
        detail::succeeded(rota_plan_set_stream(handle_, stream), code);
    }

    /* Of a plan for varying counts, or an exchange: the ranks' values, which each
     * start reads, are combined by the messages of the plan. Collective. */
    void set_reduction(const void *value, void *result, int count,
                       MPI_Datatype type, MPI_Op op, int *code = nullptr)
    {
        detail::succeeded(
            rota_plan_set_reduction(handle_, value, result, count, type, op),
            code);
    }

    /* Functions of the program that pack and unpack blocks, with context; nullptr:
     * the buffers have them. A lambda without captures will do. Collective. */
    void set_pack(rota_pack_function *pack, rota_unpack_function *unpack,
                  void *context, int *code = nullptr)
    {
        detail::succeeded(rota_plan_set_pack(handle_, pack, unpack, context),
                          code);
    }

    std::string describe(int format = ROTA_DESCRIBE_TEXT,
                         int *code = nullptr) const
    {
        return detail::text(
            [&](char *buf, std::size_t *length) {
                return rota_plan_describe(handle_, format, buf, length);
            },
            code);
    }

    /* Frees the plan early. It must be inactive. */
    void free(int *code = nullptr)
    {
        detail::succeeded(rota_plan_free(&handle_), code);
    }

  protected:
    rota_plan *handle_ = nullptr;

  private:
    void discard() noexcept
    {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (handle_ && !finalized) {
            rota_wait(handle_);
            rota_plan_free(&handle_);
        }
    }
};

/* A plan with fixed counts and buffers, made by alltoallv_init, alltoallw_init
 * or alltoall_init. */
class plan : public basic_plan
{
  public:
    using basic_plan::basic_plan;

    void start(int *code = nullptr)
    {
        detail::succeeded(rota_start(handle_), code);
    }
    /* For MPI_Wait and its kin, which complete the run. */
    MPI_Request start_request(int *code = nullptr)
    {
        MPI_Request request = MPI_REQUEST_NULL;
        detail::succeeded(rota_start_request(handle_, &request), code);
        return request;
    }
    void wait(int *code = nullptr)
    {
        detail::succeeded(rota_wait(handle_), code);
    }

    /* Only the addresses of the buffers change; their types do not. */
    void set_buffers(const_buffer send, buffer recv, int *code = nullptr)
    {
        detail::succeeded(rota_plan_set_buffers(handle_, send.data, recv.data),
                          code);
    }

    /* Counts and displacements are in units of howmany elements from now on. */
    void set_unit(MPI_Datatype type, int howmany, int *code = nullptr)
    {
        detail::succeeded(rota_plan_set_unit(handle_, type, howmany), code);
    }

    /* Plans the same routes backwards: send has the blocks that this plan
     * receives, recv those that it sends, which are overwritten, or combined by
     * op. type: of the elements that op combines. Collective. */
    plan init_reverse(const_buffer send, buffer recv,
                      MPI_Datatype type = MPI_DATATYPE_NULL,
                      MPI_Op op = MPI_OP_NULL, MPI_Info info = MPI_INFO_NULL,
                      int *code = nullptr)
    {
        return plan(detail::make(code, rota_plan_init_reverse, handle_,
                                 send.data, recv.data, type, op, info));
    }
};

template <class SendCounts, class SDispls, class RecvCounts, class RDispls>
plan alltoallv_init(const_buffer send, const SendCounts &sendcounts,
                    const SDispls &sdispls, buffer recv,
                    const RecvCounts &recvcounts, const RDispls &rdispls,
                    MPI_Comm comm, MPI_Info info = MPI_INFO_NULL,
                    int *code = nullptr)
{
    constexpr bool large =
        detail::large<SendCounts, SDispls, RecvCounts, RDispls>();
    return plan(detail::make(
        code, detail::pick<large>(rota_alltoallv_init, rota_alltoallv_init_c),
        send.data, std::data(sendcounts), std::data(sdispls), send.type,
        recv.data, std::data(recvcounts), std::data(rdispls), recv.type, comm,
        info));
}

/* Takes a datatype for each block, in contiguous ranges, and displacements
 * in bytes. The send buffer may be MPI_IN_PLACE; its counts, displacements
 * and types are then ignored. */
template <class SendCounts, class SDispls, class SendTypes, class RecvCounts,
          class RDispls, class RecvTypes>
plan alltoallw_init(const void *send, const SendCounts &sendcounts,
                    const SDispls &sdispls, const SendTypes &sendtypes,
                    void *recv, const RecvCounts &recvcounts,
                    const RDispls &rdispls, const RecvTypes &recvtypes,
                    MPI_Comm comm, MPI_Info info = MPI_INFO_NULL,
                    int *code = nullptr)
{
    constexpr bool large =
        detail::large<SendCounts, SDispls, RecvCounts, RDispls>();
    return plan(detail::make(
        code, detail::pick<large>(rota_alltoallw_init, rota_alltoallw_init_c),
        send, std::data(sendcounts), std::data(sdispls), std::data(sendtypes),
        recv, std::data(recvcounts), std::data(rdispls), std::data(recvtypes),
        comm, info));
}

/* Counts of type int or MPI_Count. */
template <class Count>
plan alltoall_init(const_buffer send, Count sendcount, buffer recv,
                   Count recvcount, MPI_Comm comm,
                   MPI_Info info = MPI_INFO_NULL, int *code = nullptr)
{
    constexpr bool large = sizeof(Count) > sizeof(int);
    return plan(detail::make(
        code, detail::pick<large>(rota_alltoall_init, rota_alltoall_init_c),
        send.data, sendcount, send.type, recv.data, recvcount, recv.type, comm,
        info));
}

/* Among the neighbours of comm's process topology. */
template <class SendCounts, class SDispls, class RecvCounts, class RDispls>
plan neighbor_alltoallv_init(const_buffer send, const SendCounts &sendcounts,
                             const SDispls &sdispls, buffer recv,
                             const RecvCounts &recvcounts,
                             const RDispls &rdispls, MPI_Comm comm,
                             MPI_Info info = MPI_INFO_NULL, int *code = nullptr)
{
    constexpr bool large =
        detail::large<SendCounts, SDispls, RecvCounts, RDispls>();
    return plan(
        detail::make(code,
                     detail::pick<large>(rota_neighbor_alltoallv_init,
                                         rota_neighbor_alltoallv_init_c),
                     send.data, std::data(sendcounts), std::data(sdispls),
                     send.type, recv.data, std::data(recvcounts),
                     std::data(rdispls), recv.type, comm, info));
}

template <class Count>
plan neighbor_alltoall_init(const_buffer send, Count sendcount, buffer recv,
                            Count recvcount, MPI_Comm comm,
                            MPI_Info info = MPI_INFO_NULL, int *code = nullptr)
{
    constexpr bool large = sizeof(Count) > sizeof(int);
    return plan(detail::make(code,
                             detail::pick<large>(rota_neighbor_alltoall_init,
                                                 rota_neighbor_alltoall_init_c),
                             send.data, sendcount, send.type, recv.data,
                             recvcount, recv.type, comm, info));
}

/* Likewise with a datatype for each block, and displacements in bytes
 * (MPI_Aint). */
template <class SendCounts, class SDispls, class SendTypes, class RecvCounts,
          class RDispls, class RecvTypes>
plan neighbor_alltoallw_init(const void *send, const SendCounts &sendcounts,
                             const SDispls &sdispls, const SendTypes &sendtypes,
                             void *recv, const RecvCounts &recvcounts,
                             const RDispls &rdispls, const RecvTypes &recvtypes,
                             MPI_Comm comm, MPI_Info info = MPI_INFO_NULL,
                             int *code = nullptr)
{
    constexpr bool large =
        sizeof(detail::element<const SendCounts>) > sizeof(int);
    return plan(
        detail::make(code,
                     detail::pick<large>(rota_neighbor_alltoallw_init,
                                         rota_neighbor_alltoallw_init_c),
                     send, std::data(sendcounts), std::data(sdispls),
                     std::data(sendtypes), recv, std::data(recvcounts),
                     std::data(rdispls), std::data(recvtypes), comm, info));
}

/* Among the partners of a graph. */
template <class SendCounts, class SDispls, class RecvCounts, class RDispls>
plan neighbor_alltoallv_init(const_buffer send, const SendCounts &sendcounts,
                             const SDispls &sdispls, buffer recv,
                             const RecvCounts &recvcounts,
                             const RDispls &rdispls, const graph &among,
                             MPI_Info info = MPI_INFO_NULL, int *code = nullptr)
{
    constexpr bool large =
        detail::large<SendCounts, SDispls, RecvCounts, RDispls>();
    return plan(
        detail::make(code,
                     detail::pick<large>(rota_neighbor_alltoallv_init_graph,
                                         rota_neighbor_alltoallv_init_graph_c),
                     send.data, std::data(sendcounts), std::data(sdispls),
                     send.type, recv.data, std::data(recvcounts),
                     std::data(rdispls), recv.type, among.handle(), info));
}

template <class Count>
plan neighbor_alltoall_init(const_buffer send, Count sendcount, buffer recv,
                            Count recvcount, const graph &among,
                            MPI_Info info = MPI_INFO_NULL, int *code = nullptr)
{
    constexpr bool large = sizeof(Count) > sizeof(int);
    return plan(
        detail::make(code,
                     detail::pick<large>(rota_neighbor_alltoall_init_graph,
                                         rota_neighbor_alltoall_init_graph_c),
                     send.data, sendcount, send.type, recv.data, recvcount,
                     recv.type, among.handle(), info));
}

template <class SendCounts, class SDispls, class SendTypes, class RecvCounts,
          class RDispls, class RecvTypes>
plan neighbor_alltoallw_init(const void *send, const SendCounts &sendcounts,
                             const SDispls &sdispls, const SendTypes &sendtypes,
                             void *recv, const RecvCounts &recvcounts,
                             const RDispls &rdispls, const RecvTypes &recvtypes,
                             const graph &among, MPI_Info info = MPI_INFO_NULL,
                             int *code = nullptr)
{
    constexpr bool large =
        sizeof(detail::element<const SendCounts>) > sizeof(int);
    return plan(detail::make(
        code,
        detail::pick<large>(rota_neighbor_alltoallw_init_graph,
                            rota_neighbor_alltoallw_init_graph_c),
        send, std::data(sendcounts), std::data(sdispls), std::data(sendtypes),
        recv, std::data(recvcounts), std::data(rdispls), std::data(recvtypes),
        among.handle(), info));
}

namespace detail
{

template <class Range> std::vector<rota_plan *> handles(Range &plans)
{
    std::vector<rota_plan *> all;
    for (const auto &one : plans)
        all.push_back(one.handle());
    return all;
}

} // namespace detail

/* Starts all of the plans given. */
template <class... Plans> void startall(int *code, plan &first, Plans &...rest)
{
    rota_plan *const all[] = {first.handle(), rest.handle()...};
    detail::succeeded(rota_startall(1 + int{sizeof...(rest)}, all), code);
}
template <class... Plans> void startall(plan &first, Plans &...rest)
{
    startall(nullptr, first, rest...);
}

/* Starts all plans of a contiguous range, such as std::vector<rota::plan>. */
template <class Range, class = detail::element<Range>>
void startall(Range &plans, int *code = nullptr)
{
    const auto all = detail::handles(plans);
    detail::succeeded(rota_startall(static_cast<int>(all.size()), all.data()),
                      code);
}

/* Waits for all of the plans given. */
template <class... Plans>
void waitall(int *code, basic_plan &first, Plans &...rest)
{
    rota_plan *const all[] = {first.handle(), rest.handle()...};
    detail::succeeded(rota_waitall(1 + int{sizeof...(rest)}, all), code);
}
template <class... Plans> void waitall(basic_plan &first, Plans &...rest)
{
    waitall(nullptr, first, rest...);
}

/* Waits for all plans of a contiguous range. */
template <class Range, class = detail::element<Range>>
void waitall(Range &plans, int *code = nullptr)
{
    const auto all = detail::handles(plans);
    detail::succeeded(rota_waitall(static_cast<int>(all.size()), all.data()),
                      code);
}

/* -------------------------------------------------------------------------
 * Varying counts, and exchanges
 * ---------------------------------------------------------------------- */

/* A plan whose counts and buffers are given at each start. All blocks have the
 * type that the plan was made with; types of the buffers are ignored. */
class varying_plan : public basic_plan
{
  public:
    using basic_plan::basic_plan;

    template <class SendCounts, class SDispls, class RecvCounts, class RDispls>
    void start(const_buffer send, const SendCounts &sendcounts,
               const SDispls &sdispls, buffer recv,
               const RecvCounts &recvcounts, const RDispls &rdispls,
               int *code = nullptr)
    {
        constexpr bool large =
            detail::large<SendCounts, SDispls, RecvCounts, RDispls>();
        detail::succeeded(
            detail::pick<large>(rota_alltoallv_start, rota_alltoallv_start_c)(
                handle_, send.data, std::data(sendcounts), std::data(sdispls),
                recv.data, std::data(recvcounts), std::data(rdispls)),
            code);
    }
    void wait(int *code = nullptr)
    {
        detail::succeeded(rota_wait(handle_), code);
    }
};

/* max_block in bytes, or ROTA_UNBOUNDED. */
inline varying_plan alltoallv_varying_init(std::size_t max_block,
                                           MPI_Datatype type, MPI_Comm comm,
                                           MPI_Info info = MPI_INFO_NULL,
                                           int *code = nullptr)
{
    return varying_plan(detail::make(code, rota_alltoallv_varying_init,
                                     max_block, type, comm, info));
}

/* Among the neighbours of comm's process topology. */
inline varying_plan
neighbor_alltoallv_varying_init(std::size_t max_block, MPI_Datatype type,
                                MPI_Comm comm, MPI_Info info = MPI_INFO_NULL,
                                int *code = nullptr)
{
    return varying_plan(detail::make(code, rota_neighbor_alltoallv_varying_init,
                                     max_block, type, comm, info));
}

inline varying_plan neighbor_alltoallv_varying_init(
    std::size_t max_block, MPI_Datatype type, const graph &among,
    MPI_Info info = MPI_INFO_NULL, int *code = nullptr)
{
    return varying_plan(detail::make(code,
                                     rota_neighbor_alltoallv_varying_init_graph,
                                     max_block, type, among.handle(), info));
}

/* The blocks received in an exchange: all of them as one range, and the
 * block of each rank. Valid until the exchange is started again, moved from
 * or destroyed. */
template <class T> class received : public view<T>
{
  public:
    received() = default;
    received(T *data, const MPI_Count *counts, const MPI_Aint *displs,
             std::size_t n)
        : view<T>(data, n == 0 ? 0
                               : static_cast<std::size_t>(displs[n - 1] +
                                                          counts[n - 1])),
          counts_(counts, n), displs_(displs, n)
    {
    }

    view<T> from(int rank) const
    {
        const auto r = static_cast<std::size_t>(rank);
        return {this->data() + displs_[r],
                static_cast<std::size_t>(counts_[r])};
    }
    view<const MPI_Count> counts() const noexcept
    {
        return counts_;
    }
    view<const MPI_Aint> displs() const noexcept
    {
        return displs_;
    }

  private:
    view<const MPI_Count> counts_;
    view<const MPI_Aint> displs_;
};

namespace detail
{

/* Base of all exchanges. An active exchange cannot be freed, so the destructor
 * lets Finish collect its blocks. */
template <class T, int (*Finish)(rota_plan *)>
class basic_exchange : public basic_plan
{
  public:
    basic_exchange() = default;
    basic_exchange(basic_exchange &&other) noexcept
        : basic_plan(std::move(other)),
          active_(std::exchange(other.active_, false))
    {
    }
    basic_exchange &operator=(basic_exchange &&other) noexcept
    {
        if (this != &other) {
            settle();
            basic_plan::operator=(std::move(other));
            active_ = std::exchange(other.active_, false);
        }
        return *this;
    }
    ~basic_exchange()
    {
        settle();
    }

    /* Sets where blocks go from the next wait on; nullptr: the plan's
     * buffer. */
    void set_buffer(T *where, std::size_t elements, int *code = nullptr)
    {
        succeeded(
            rota_exchange_set_buffer(handle_, where, elements * sizeof(T)),
            code);
    }

  protected:
    explicit basic_exchange(rota_plan *handle) noexcept : basic_plan(handle)
    {
    }

    void started(int result, int *code)
    {
        active_ = succeeded(result, code) || active_;
    }

    /* Whether a wait with this result delivers blocks. */
    bool waited(int result, int *code)
    {
        const int found =
            result == MPI_SUCCESS ? MPI_SUCCESS : rota::error_class(result);
        /* These two leave the plan active; wait again. */
        active_ = found == MPI_ERR_BUFFER || found == MPI_ERR_NO_MEM;
        /* Only a block above the bound is missing; or MPI has raised this class
         * itself, and the wait has set nothing. */
        return succeeded(result, code) || found == MPI_ERR_TRUNCATE;
    }

  private:
    void settle() noexcept
    {
        int finalized = 0;
        MPI_Finalized(&finalized);
        if (handle_ && active_ && !finalized)
            Finish(handle_);
        active_ = false;
    }

    bool active_ = false;
};

inline int finish_exchange(rota_plan *plan)
{
    void *where = nullptr;
    rota_exchange_set_buffer(plan, nullptr, 0);
    return rota_exchange_wait_c(plan, &where, nullptr, nullptr);
}

inline int finish_sparse(rota_plan *plan)
{
    void *where = nullptr;
    int n = 0;
    rota_exchange_set_buffer(plan, nullptr, 0);
    return rota_exchange_wait_sparse_c(plan, &where, &n, nullptr, nullptr,
                                       nullptr);
}

inline int finish_borrowing(rota_plan *plan)
{
    return rota_exchange_wait_borrow_c(plan, nullptr, nullptr);
}

inline int finish_arrays(rota_plan *plan)
{
    return rota_exchange_wait_arrays_c(plan, nullptr, nullptr, nullptr);
}

} // namespace detail

/* An exchange of several arrays, with elements of types Ts. Collective over
 * comm. */
template <class... Ts>
class arrays_exchange
    : public detail::basic_exchange<char, detail::finish_arrays>
{
    using base = detail::basic_exchange<char, detail::finish_arrays>;
    static constexpr std::size_t n = sizeof...(Ts);

  public:
    arrays_exchange() = default;
    explicit arrays_exchange(MPI_Comm comm,
                             std::size_t max_block = ROTA_UNBOUNDED,
                             MPI_Info info = MPI_INFO_NULL, int *code = nullptr)
        : base(detail::make(
              code, rota_exchange_init_arrays, max_block, int{n},
              std::array<MPI_Datatype, n>{datatype<Ts>::get()...}.data(), comm,
              info))
    {
        int P = 0;
        if (*this) {
            MPI_Comm_size(comm, &P);
            counts_.resize(n * static_cast<std::size_t>(P));
            displs_.resize(counts_.size());
            where_.resize(counts_.size());
        }
    }

    /* Arrays arrive in the plan's memory. */
    void set_buffer(char *, std::size_t, int * = nullptr) = delete;

    /* counts, displs: of array i for rank d at i * P + d. */
    template <class Counts, class Displs>
    void start(const Counts &counts, const Displs &displs, const Ts *...arrays,
               int *code = nullptr)
    {
        constexpr bool large = detail::large<Counts, Displs>();
        const void *const all[] = {arrays...};
        this->started(
            detail::pick<large>(rota_exchange_start_arrays,
                                rota_exchange_start_arrays_c)(
                this->handle_, all, std::data(counts), std::data(displs)),
            code);
    }

    /* What has come of each array. */
    std::tuple<received<Ts>...> wait(int *code = nullptr)
    {
        std::array<void *, n> unset;
        unset.fill(this);
        std::array<void *, n> where = unset;
        const int result = rota_exchange_wait_arrays_c(
            this->handle_, where.data(), counts_.data(), displs_.data());
        if (!this->waited(result, code))
            return {};
        if (where == unset) {
            where.fill(nullptr);
            std::fill(counts_.begin(), counts_.end(), 0);
            std::fill(displs_.begin(), displs_.end(), 0);
        }
        return found(where, std::index_sequence_for<Ts...>());
    }

    /* In place of wait, without a copy of what comes: of each array the part of
     * each rank, to be read until the next start. What this rank has for itself
     * lies in what it sent from. */
    const std::tuple<std::vector<view<const Ts>>...> &
    wait_borrow(int *code = nullptr)
    {
        std::fill(where_.begin(), where_.end(), nullptr);
        const int result = rota_exchange_wait_borrow_c(
            this->handle_, where_.data(), counts_.data());
        lend(this->waited(result, code), std::index_sequence_for<Ts...>());
        return parts_;
    }

  private:
    template <std::size_t... I>
    std::tuple<received<Ts>...> found(const std::array<void *, n> &where,
                                      std::index_sequence<I...>) const
    {
        const std::size_t P = counts_.size() / n;
        return {received<Ts>(static_cast<Ts *>(where[I]),
                             counts_.data() + I * P, displs_.data() + I * P,
                             P)...};
    }

    template <std::size_t... I> void lend(bool here, std::index_sequence<I...>)
    {
        (lend(here, I * (counts_.size() / n), std::get<I>(parts_)), ...);
    }

    /* begin: of the array, in where_ and counts_. */
    template <class T>
    void lend(bool here, std::size_t begin, std::vector<view<const T>> &parts)
    {
        parts.assign(counts_.size() / n, {});
        for (std::size_t q = 0; here && q < parts.size(); q++)
            if (where_[begin + q])
                parts[q] = {static_cast<const T *>(where_[begin + q]),
                            static_cast<std::size_t>(counts_[begin + q])};
    }

    std::vector<MPI_Count> counts_;   /* [n * P] */
    std::vector<MPI_Aint> displs_;    /* [n * P] */
    std::vector<const void *> where_; /* [n * P] */
    std::tuple<std::vector<view<const Ts>>...> parts_;
};

/* An exchange whose blocks are read where they lie. Collective over comm. */
template <class T>
class borrowing_exchange
    : public detail::basic_exchange<T, detail::finish_borrowing>
{
    using base = detail::basic_exchange<T, detail::finish_borrowing>;

  public:
    borrowing_exchange() = default;
    explicit borrowing_exchange(MPI_Comm comm,
                                std::size_t max_block = ROTA_UNBOUNDED,
                                MPI_Info info = MPI_INFO_NULL,
                                int *code = nullptr)
        : base(detail::make(code, rota_exchange_init_borrow, max_block,
                            datatype<T>::get(), comm, info))
    {
        int P = 0;
        if (*this) {
            MPI_Comm_size(comm, &P);
            where_.resize(static_cast<std::size_t>(P));
            counts_.resize(where_.size());
            blocks_.resize(where_.size());
        }
    }

    /* There is none of the program's. */
    void set_buffer(T *, std::size_t, int * = nullptr) = delete;

    /* The buffer of the next start, for so many elements. */
    view<T> sendbuf(std::size_t elements, int *code = nullptr)
    {
        T *buffer = nullptr;
        if (!detail::succeeded(rota_exchange_get_sendbuf(this->handle_,
                                                         elements * sizeof(T),
                                                         &buffer),
                               code))
            return {};
        return {buffer, elements};
    }

    template <class Counts, class Displs>
    void start(const_buffer send, const Counts &counts, const Displs &displs,
               int *code = nullptr)
    {
        constexpr bool large = detail::large<Counts, Displs>();
        this->started(
            detail::pick<large>(rota_exchange_start, rota_exchange_start_c)(
                this->handle_, send.data, std::data(counts), std::data(displs)),
            code);
    }

    /* The block of each rank, to be read until the next start. */
    const std::vector<view<const T>> &wait(int *code = nullptr)
    {
        std::fill(where_.begin(), where_.end(), nullptr);
        const int result = rota_exchange_wait_borrow_c(
            this->handle_, where_.data(), counts_.data());
        const bool here = this->waited(result, code);
        for (std::size_t q = 0; q < blocks_.size(); q++)
            blocks_[q] =
                here && where_[q]
                    ? view<const T>(static_cast<const T *>(where_[q]),
                                    static_cast<std::size_t>(counts_[q]))
                    : view<const T>();
        return blocks_;
    }

  private:
    std::vector<const void *> where_; /* [P] */
    std::vector<MPI_Count> counts_;   /* [P] */
    std::vector<view<const T>> blocks_;
};

/* An exchange, whose receivers know nothing beforehand. Collective over
 * comm. */
template <class T>
class exchange : public detail::basic_exchange<T, detail::finish_exchange>
{
    using base = detail::basic_exchange<T, detail::finish_exchange>;

  public:
    exchange() = default;
    explicit exchange(MPI_Comm comm, std::size_t max_block = ROTA_UNBOUNDED,
                      MPI_Info info = MPI_INFO_NULL, int *code = nullptr)
        : base(detail::make(code, rota_exchange_init, max_block,
                            datatype<T>::get(), comm, info))
    {
        int P = 0;
        if (*this) {
            MPI_Comm_size(comm, &P);
            make_room(P);
        }
    }

    template <class Counts, class Displs>
    void start(const_buffer send, const Counts &counts, const Displs &displs,
               int *code = nullptr)
    {
        constexpr bool large = detail::large<Counts, Displs>();
        this->started(
            detail::pick<large>(rota_exchange_start, rota_exchange_start_c)(
                this->handle_, send.data, std::data(counts), std::data(displs)),
            code);
    }

    received<T> wait(int *code = nullptr)
    {
        void *const unset = this;
        void *where = unset;
        const int result = rota_exchange_wait_c(this->handle_, &where,
                                                counts_.data(), displs_.data());
        if (!this->waited(result, code))
            return {};
        if (where == unset) {
            where = nullptr;
            std::fill(counts_.begin(), counts_.end(), 0);
            std::fill(displs_.begin(), displs_.end(), 0);
        }
        return {static_cast<T *>(where), counts_.data(), displs_.data(),
                counts_.size()};
    }

  protected:
    explicit exchange(rota_plan *handle) noexcept : base(handle)
    {
    }

    /* Makes room for the blocks of this many sources. */
    void make_room(int n)
    {
        counts_.resize(static_cast<std::size_t>(n));
        displs_.resize(static_cast<std::size_t>(n));
    }

  private:
    std::vector<MPI_Count> counts_; /* [P], or of each source */
    std::vector<MPI_Aint> displs_;  /* likewise */
};

/* An exchange among the neighbours of comm's process topology, or the partners
 * of a graph. Blocks come from its sources, in the order of the list. */
template <class T> class neighbor_exchange : public exchange<T>
{
  public:
    neighbor_exchange() = default;
    explicit neighbor_exchange(MPI_Comm comm,
                               std::size_t max_block = ROTA_UNBOUNDED,
                               MPI_Info info = MPI_INFO_NULL,
                               int *code = nullptr)
        : exchange<T>(detail::make(code, rota_neighbor_exchange_init, max_block,
                                   datatype<T>::get(), comm, info))
    {
        if (*this)
            this->make_room(detail::count_sources(comm));
    }
    explicit neighbor_exchange(const graph &among,
                               std::size_t max_block = ROTA_UNBOUNDED,
                               MPI_Info info = MPI_INFO_NULL,
                               int *code = nullptr)
        : exchange<T>(detail::make(code, rota_neighbor_exchange_init_graph,
                                   max_block, datatype<T>::get(),
                                   among.handle(), info))
    {
        if (*this)
            this->make_room(among.n_sources());
    }
};

/* -------------------------------------------------------------------------
 * Sparse exchanges
 * ---------------------------------------------------------------------- */

/* The blocks received in a sparse exchange: all of them as one range, and a
 * block for each source. Valid until the exchange is started again, moved
 * from or destroyed. */
template <class T> class sparse_received : public view<T>
{
  public:
    sparse_received() = default;
    sparse_received(T *data, std::size_t n, const int *sources,
                    const MPI_Count *counts, const MPI_Aint *displs)
        : view<T>(data, n == 0 ? 0
                               : static_cast<std::size_t>(displs[n - 1] +
                                                          counts[n - 1])),
          sources_(sources, n), counts_(counts, n), displs_(displs, n)
    {
    }

    /* Ranks in ascending order. The other members use the same index. */
    view<const int> sources() const noexcept
    {
        return sources_;
    }
    view<const MPI_Count> counts() const noexcept
    {
        return counts_;
    }
    view<const MPI_Aint> displs() const noexcept
    {
        return displs_;
    }
    view<T> block(std::size_t i) const
    {
        return {this->data() + displs_[i],
                static_cast<std::size_t>(counts_[i])};
    }

  private:
    view<const int> sources_;
    view<const MPI_Count> counts_;
    view<const MPI_Aint> displs_;
};

/* An exchange in which each start lists the ranks that it sends to. Collective
 * over comm. */
template <class T>
class sparse_exchange : public detail::basic_exchange<T, detail::finish_sparse>
{
    using base = detail::basic_exchange<T, detail::finish_sparse>;

  public:
    sparse_exchange() = default;
    explicit sparse_exchange(MPI_Comm comm, MPI_Info info = MPI_INFO_NULL,
                             int *code = nullptr)
        : base(detail::make(code, rota_exchange_init_sparse, datatype<T>::get(),
                            comm, info))
    {
    }

    /* dests is a range of int, of the same length as counts and displs. */
    template <class Dests, class Counts, class Displs>
    void start(const_buffer send, const Dests &dests, const Counts &counts,
               const Displs &displs, int *code = nullptr)
    {
        constexpr bool large = detail::large<Counts, Displs>();
        this->started(detail::pick<large>(rota_exchange_start_sparse,
                                          rota_exchange_start_sparse_c)(
                          this->handle_, send.data,
                          static_cast<int>(std::size(dests)), std::data(dests),
                          std::data(counts), std::data(displs)),
                      code);
    }

    sparse_received<T> wait(int *code = nullptr)
    {
        void *where = nullptr;
        int n = 0;
        const int *sources = nullptr;
        const MPI_Count *counts = nullptr;
        const MPI_Aint *displs = nullptr;
        const int result = rota_exchange_wait_sparse_c(
            this->handle_, &where, &n, &sources, &counts, &displs);
        if (!this->waited(result, code))
            return {};
        return {static_cast<T *>(where), static_cast<std::size_t>(n), sources,
                counts, displs};
    }
};

/* -------------------------------------------------------------------------
 * Memory that the other ranks of a node reach directly
 * ---------------------------------------------------------------------- */

/* An array in memory of rota_mem_alloc: a range of n uninitialised elements.
 * Collective over comm. No active plan may use it when it is destroyed. */
template <class T> class memory : public view<T>
{
    static_assert(std::is_trivially_copyable_v<T>, "T is plain data");

  public:
    memory() = default;
    memory(std::size_t n, MPI_Comm comm, MPI_Info info = MPI_INFO_NULL,
           int *code = nullptr)
    {
        T *where = nullptr;
        if (detail::succeeded(rota_mem_alloc(n * sizeof(T), comm, info, &where),
                              code))
            view<T>::operator=(view<T>(where, n));
    }
    memory(memory &&other) noexcept
        : view<T>(std::exchange(static_cast<view<T> &>(other), view<T>()))
    {
    }
    memory &operator=(memory &&other) noexcept
    {
        std::swap(static_cast<view<T> &>(*this), static_cast<view<T> &>(other));
        return *this;
    }
    ~memory()
    {
        T *where = this->data();
        rota_mem_free(&where);
    }
};

/* For containers: memory of rota_malloc, which plans copy from in one step.
 *
 *     std::vector<double, rota::allocator<double>> blocks(n);
 */
template <class T> struct allocator {
    using value_type = T;

    allocator() = default;
    template <class U> allocator(const allocator<U> &) noexcept
    {
    }

    T *allocate(std::size_t n)
    {
        if (n > static_cast<std::size_t>(-1) / sizeof(T))
            throw std::bad_array_new_length();
        void *const where = alignof(T) > alignof(std::max_align_t)
                                ? rota_aligned_alloc(alignof(T), n * sizeof(T))
                                : rota_malloc(n * sizeof(T));
        if (!where)
            throw std::bad_alloc();
        return static_cast<T *>(where);
    }
    void deallocate(T *where, std::size_t) noexcept
    {
        rota_free(where);
    }
};

template <class T, class U>
bool operator==(const allocator<T> &, const allocator<U> &) noexcept
{
    return true;
}

template <class T, class U>
bool operator!=(const allocator<T> &, const allocator<U> &) noexcept
{
    return false;
}

/* -------------------------------------------------------------------------
 * Tuning, and the version
 * ---------------------------------------------------------------------- */

/* As rota_tuning_import: nullptr looks for a file. */
inline void tuning_import(const char *path, MPI_Comm comm, int *code = nullptr)
{
    detail::succeeded(rota_tuning_import(path, comm), code);
}

inline void tuning_import_string(const std::string &text, MPI_Comm comm,
                                 int *code = nullptr)
{
    detail::succeeded(rota_tuning_import_string(text.c_str(), comm), code);
}

inline void tuning_export(const char *path, MPI_Comm comm, int *code = nullptr)
{
    detail::succeeded(rota_tuning_export(path, comm), code);
}

inline std::string tuning_export_string(MPI_Comm comm, int *code = nullptr)
{
    return detail::text(
        [&](char *buf, std::size_t *length) {
            return rota_tuning_export_string(comm, buf, length);
        },
        code);
}

inline void tuning_forget(MPI_Comm comm, int *code = nullptr)
{
    detail::succeeded(rota_tuning_forget(comm), code);
}

/* The version of the library in use, in the form of ROTA_VERSION_NUMBER. */
inline int version()
{
    return rota_version();
}

} // namespace rota

#endif /* ROTA_HPP */
