// test_cxx.cpp - everything in rota.hpp, on any number of ranks.
#include <rota.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

namespace
{

int P, me, wrong;
const MPI_Comm comm = MPI_COMM_WORLD;

void check(bool holds, const char *what)
{
    if (holds)
        return;
    std::printf("rank %d: %s\n", me, what);
    wrong++;
}

template <class Call> void expect(int error_class, const char *what, Call call)
{
    int code = MPI_SUCCESS;

    call(&code);
    check(code != MPI_SUCCESS && rota::error_class(code) == error_class, what);
    try {
        call(nullptr);
        check(false, what);
    } catch (const rota::error &e) {
        check(e.error_class() == error_class, what);
        check(std::strlen(e.what()) > 0, "text of an error");
        check(e.what() == rota::error_text(e.code()), "code of an error");
    }
}

// Rank r sends r + d + 1 numbers to rank d, which are as many as come.
template <class Count> std::vector<Count> amounts()
{
    std::vector<Count> counts;
    for (int q = 0; q < P; q++)
        counts.push_back(me + q + 1);
    return counts;
}

int number(int src, int dst, int i)
{
    return (src * 31 + dst) * 31 + i;
}

std::vector<int> filled()
{
    std::vector<int> made;
    for (int q = 0; q < P; q++)
        for (int i = 0; i < me + q + 1; i++)
            made.push_back(number(me, q, i));
    return made;
}

template <class Range> bool arrived(const Range &got)
{
    auto at = got.begin();
    for (int q = 0; q < P; q++)
        for (int i = 0; i < me + q + 1; i++)
            if (at == got.end() || *at++ != number(q, me, i))
                return false;
    return at == got.end();
}

// A ring: what goes down arrives from above.
MPI_Comm make_ring()
{
    const int periodic = 1;
    MPI_Comm made = MPI_COMM_NULL;

    MPI_Cart_create(comm, 1, &P, &periodic, 0, &made);
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return made;
}

template <class Count> void test_neighbors()
{
    const int down = (me + P - 1) % P, up = (me + 1) % P;
    const std::vector<Count> counts{1, 1};
    const auto displs = rota::packed(counts);
    const std::vector<int> a{number(me, down, 0), number(me, up, 1)};
    const std::vector<int> wanted{number(down, me, 1), number(up, me, 0)};
    std::vector<int> b(2), c(2), d(2);
    MPI_Comm ring = make_ring();

    auto plan = rota::neighbor_alltoallv_init(a, counts, displs, b, counts,
                                              displs, ring);
    auto same = rota::neighbor_alltoall_init(a, Count{1}, c, Count{1}, ring);
    rota::startall(plan, same);
    rota::waitall(plan, same);
    check(b == wanted && c == wanted, "neighbor_alltoallv");
    const std::vector<MPI_Aint> places{0, sizeof(int)};
    const std::vector<MPI_Datatype> types(2, MPI_INT);
    std::vector<int> e(2);
    auto typed = rota::neighbor_alltoallw_init(
        a.data(), counts, places, types, e.data(), counts, places, types, ring);
    typed.start();
    typed.wait();
    check(e == wanted, "neighbor_alltoallw");
    auto varying =
        rota::neighbor_alltoallv_varying_init(sizeof(int), MPI_INT, ring);
    varying.start(a, counts, displs, d, counts, displs);
    varying.wait();
    check(d == wanted, "neighbor_alltoallv_varying");
    rota::neighbor_exchange<int> exchange(ring);
    exchange.start(a, counts, displs);
    const auto got = exchange.wait();
    check(std::equal(got.begin(), got.end(), wanted.begin(), wanted.end()),
          "neighbor_exchange");
    expect(MPI_ERR_TOPOLOGY, "no topology", [&](int *code) {
        rota::neighbor_alltoall_init(a, Count{1}, c, Count{1}, comm,
                                     MPI_INFO_NULL, code);
    });
    plan.free();
    same.free();
    typed.free();
    varying.free();
    MPI_Comm_free(&ring);
}

/* One plan for one and for two components. */
void test_unit()
{
    std::vector<double> a(2 * static_cast<std::size_t>(P)), b(a.size());
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "rota_largest_unit", "16");
    auto plan = rota::alltoall_init(a, 1, b, 1, comm, info);
    MPI_Info_free(&info);
    for (int n = 1; n <= 2; n++) {
        for (int i = 0; i < n * P; i++)
            a[static_cast<std::size_t>(i)] = 100 * me + i;
        plan.set_unit(MPI_DOUBLE, n);
        plan.start();
        plan.wait();
        for (int i = 0; i < n * P; i++)
            check(b[static_cast<std::size_t>(i)] ==
                      100 * (i / n) + n * me + i % n,
                  "set_unit");
    }
    expect(MPI_ERR_COUNT, "rota_largest_unit",
           [&](int *code) { plan.set_unit(MPI_DOUBLE, 3, code); });
}

/* What has come goes back, and is added; or it overwrites. */
void test_reverse()
{
    std::vector<double> roots(static_cast<std::size_t>(P)),
        leaves(roots.size());
    auto plan = rota::alltoall_init(roots, 1, leaves, 1, comm);
    auto sum = plan.init_reverse(leaves, roots, MPI_DOUBLE, MPI_SUM);
    auto back = plan.init_reverse(leaves, roots);
    plan.free();
    for (int q = 0; q < P; q++) {
        roots[static_cast<std::size_t>(q)] = 0.5;
        leaves[static_cast<std::size_t>(q)] = 10 * me + q;
    }
    for (const double there : {0.5, 0.0}) {
        auto &run = there > 0 ? sum : back;
        run.start();
        run.wait();
        for (int q = 0; q < P; q++)
            check(roots[static_cast<std::size_t>(q)] == 10 * q + me + there,
                  "init_reverse");
    }
    expect(MPI_ERR_TYPE, "type is MPI_DATATYPE_NULL", [&](int *code) {
        back.init_reverse(roots, leaves, MPI_DATATYPE_NULL, MPI_SUM,
                          MPI_INFO_NULL, code);
    });
}

/* A ring by lists; copies of a graph, and plans, outlive it. */
template <class Count> void test_graphs()
{
    const int down = (me + P - 1) % P, up = (me + 1) % P;
    const std::vector<Count> counts{1};
    const auto displs = rota::packed(counts);
    const std::vector<int> a{number(me, up, 7)}, wanted{number(down, me, 7)};
    std::vector<int> b(1), c(1), d(1), e(1);
    rota::graph made(comm, std::vector<int>{down}, std::vector<int>{up});
    const rota::graph ring = made;
    made = rota::graph();

    auto plan = rota::neighbor_alltoallv_init(a, counts, displs, b, counts,
                                              displs, ring);
    auto same = rota::neighbor_alltoall_init(a, Count{1}, c, Count{1}, ring);
    const std::vector<MPI_Aint> places{0};
    const std::vector<MPI_Datatype> types(1, MPI_INT);
    auto typed = rota::neighbor_alltoallw_init(
        a.data(), counts, places, types, e.data(), counts, places, types, ring);
    rota::startall(plan, same, typed);
    rota::waitall(plan, same, typed);
    check(b == wanted && c == wanted && e == wanted, "graph");
    auto varying =
        rota::neighbor_alltoallv_varying_init(sizeof(int), MPI_INT, ring);
    varying.start(a, counts, displs, d, counts, displs);
    varying.wait();
    check(d == wanted, "graph, varying");
    rota::neighbor_exchange<int> exchange(ring);
    exchange.start(a, counts, displs);
    const auto got = exchange.wait();
    check(std::equal(got.begin(), got.end(), wanted.begin(), wanted.end()),
          "graph, exchange");
    MPI_Comm cart = make_ring();
    const rota::graph of(cart);
    MPI_Comm_free(&cart);
    check(of && of.n_sources() == 2, "graph of a topology");
    expect(MPI_ERR_ARG, "no rank", [&](int *code) {
        rota::graph(comm, std::vector<int>{P}, std::vector<int>{},
                    MPI_INFO_NULL, code);
    });
}

template <class Count> void test_fixed()
{
    const auto counts = amounts<Count>();
    const auto displs = rota::packed(counts);
    const auto a = filled();
    std::vector<int> b(a.size()), c(a.size());
    auto plan =
        rota::alltoallv_init(a, counts, displs, b, counts, displs, comm);

    plan.start();
    plan.wait();
    check(arrived(b), "alltoallv");
    rota::plan moved = std::move(plan);
    check(!plan && moved && moved.handle() != nullptr, "move");
    moved.set_buffers(a, c);
    moved.set_stream(ROTA_NO_STREAM);
    moved.start();
    while (!moved.test())
        ;
    check(arrived(c), "set_buffers and test");
    std::fill(c.begin(), c.end(), -1);
    MPI_Request request = moved.start_request();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(arrived(c), "start_request");
    moved.start();
    request = moved.get_request();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(moved.describe().find("algorithm") != std::string::npos, "describe");
    const std::string json = moved.describe(ROTA_DESCRIBE_JSON);
    check(json.front() == '{' && json.back() == '}', "describe, JSON");
    moved.free();
    check(!moved, "free");

    c = a;
    auto in_place = rota::alltoallv_init(rota::in_place(), counts, displs, c,
                                         counts, displs, comm);
    in_place.start();
    in_place.wait();
    check(arrived(c), "in place");

    std::vector<int> d(static_cast<std::size_t>(P)), e(d.size()), f(d.size());
    std::iota(d.begin(), d.end(), me * P);
    auto same = rota::alltoall_init(d, Count{1}, e, Count{1}, comm);
    auto again = rota::alltoall_init(d, Count{1}, f, Count{1}, comm);
    rota::startall(same, again);
    rota::waitall(same, again);
    for (int q = 0; q < P; q++)
        check(e[static_cast<std::size_t>(q)] == q * P + me &&
                  f[static_cast<std::size_t>(q)] == q * P + me,
              "alltoall");
    const auto wanted = e;
    std::fill(e.begin(), e.end(), -1);
    std::fill(f.begin(), f.end(), -1);
    std::vector<rota::plan> all(2);
    all[0] = std::move(same);
    all[1] = std::move(again);
    all[0].set_buffers(d.data(), f.data());
    all[1].set_buffers(rota::const_buffer(d), e.data());
    rota::startall(all);
    int code = MPI_SUCCESS;
    rota::startall(all, &code);
    check(rota::error_class(code) == MPI_ERR_REQUEST, "startall, active");
    rota::waitall(all, &code);
    check(code == MPI_SUCCESS && e == wanted && f == wanted, "range of plans");
    same = std::move(all[0]);
    again = std::move(all[1]);
    same = std::move(again); // frees the one, keeps the other
    same.start();            // and is waited for by its destructor
}

// A type for each block: columns of a matrix go, its width by turns in one
// element or three, and rows of another come.
template <class Count> void test_own_types()
{
    using Displ = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>;
    const auto size = static_cast<std::size_t>(P);
    std::vector<int> a(3 * size), b(a.size());
    std::vector<MPI_Datatype> sendtypes, recvtypes;
    std::vector<Count> sendcounts(size, 1), recvcounts;
    std::vector<Displ> sdispls, rdispls;
    MPI_Datatype column, three;
    MPI_Type_vector(3, 1, P, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_commit(&three);
    for (int q = 0; q < P; q++) {
        for (int i = 0; i < 3; i++)
            a[static_cast<std::size_t>(i * P + q)] = number(me, q, i);
        sendtypes.push_back(column);
        sdispls.push_back(static_cast<Displ>(sizeof(int)) * q);
        recvtypes.push_back(q % 2 ? three : MPI_INT);
        recvcounts.push_back(q % 2 ? 1 : 3);
        rdispls.push_back(static_cast<Displ>(3 * sizeof(int)) * q);
    }
    auto plan =
        rota::alltoallw_init(a.data(), sendcounts, sdispls, sendtypes, b.data(),
                             recvcounts, rdispls, recvtypes, comm);
    MPI_Type_free(&column);
    MPI_Type_free(&three);
    plan.start();
    plan.wait();
    for (int q = 0; q < P; q++)
        for (int i = 0; i < 3; i++)
            check(b[static_cast<std::size_t>(3 * q + i)] == number(q, me, i),
                  "alltoallw");
}

// Rows of a matrix go, columns of one come.
void test_types()
{
    std::vector<int> a(static_cast<std::size_t>(3 * P)), b(a.size());
    for (int i = 0; i < 3; i++)
        for (int q = 0; q < P; q++)
            a[static_cast<std::size_t>(i * P + q)] = number(me, q, i);
    MPI_Datatype column, placed;
    MPI_Type_vector(3, 1, P, MPI_INT, &column);
    MPI_Type_create_resized(column, 0, sizeof(int), &placed);
    MPI_Type_commit(&placed);
    auto plan = rota::alltoall_init(rota::const_buffer{a.data(), placed}, 1,
                                    rota::buffer{b.data(), MPI_INT}, 3, comm);
    MPI_Type_free(&column);
    MPI_Type_free(&placed);
    plan.start();
    plan.wait();
    for (int q = 0; q < P; q++)
        for (int i = 0; i < 3; i++)
            check(b[static_cast<std::size_t>(3 * q + i)] == number(q, me, i),
                  "types");
}

template <class Count> void test_varying()
{
    const auto counts = amounts<Count>();
    const auto displs = rota::packed(counts);
    const auto a = filled();
    auto plan = rota::alltoallv_varying_init(ROTA_UNBOUNDED, MPI_INT, comm);

    int left = 0, all = 0;
    plan.set_reduction(&left, &all, 1, MPI_INT, MPI_SUM);
    for (int step = 0; step < 2; step++) {
        std::vector<int> b(a.size());
        left = me + step;
        plan.start(a, counts, displs, b, counts, displs);
        plan.wait();
        check(arrived(b), "varying");
        check(all == P * (P - 1) / 2 + P * step, "set_reduction");
    }
    expect(MPI_ERR_COUNT, "a long value", [&](int *code) {
        plan.set_reduction(&left, &all, 17, MPI_INT, MPI_SUM, code);
    });
}

void test_pack()
{
    const std::vector<int> counts(P, 1);
    std::vector<int> displs(P), a(P), b(P), got(P);
    std::iota(displs.begin(), displs.end(), 0);
    auto plan =
        rota::alltoallv_init(a, counts, displs, b, counts, displs, comm);

    plan.set_pack(
        [](void *, int dest, MPI_Count, MPI_Count, void *to) {
            *static_cast<int *>(to) = 100 * me + dest;
            return 0;
        },
        [](void *context, int source, MPI_Count, MPI_Count, const void *from) {
            static_cast<int *>(context)[source] =
                *static_cast<const int *>(from);
            return 0;
        },
        got.data());
    plan.start();
    plan.wait();
    for (int q = 0; q < P; q++)
        check(got[q] == 100 * q + me, "set_pack");
}

void test_parts()
{
    const std::vector<int> counts(P, 1);
    std::vector<int> displs(P), a(P), b(P), rest;
    std::iota(displs.begin(), displs.end(), 0);
    auto plan =
        rota::alltoallv_init(a, counts, displs, b, counts, displs, comm);
    int seen = 0;

    plan.set_partitioned();
    plan.start();
    a[0] = me;
    plan.pready(0);
    for (int q = 1; q < P; q++) {
        a[q] = me + q;
        rest.push_back(q);
    }
    if (P > 2)
        plan.pready_range(1, 1);
    plan.pready_list(P > 2 ? std::vector<int>(rest.begin() + 1, rest.end())
                           : rest);
    for (int q = plan.wait_arrival(); q != MPI_UNDEFINED;
         q = plan.wait_arrival()) {
        check(b[q] == q + me && plan.parrived(q), "parts");
        seen++;
    }
    plan.wait();
    check(seen == P, "all parts");
}

void test_borrowing()
{
    rota::borrowing_exchange<int> exchange(comm);

    for (int step = 0; step < 3; step++) {
        std::vector<int> counts(P), displs(P);
        int total = 0;
        for (int q = 0; q < P; q++) {
            counts[q] = 1000 * (me + q) + step;
            displs[q] = total;
            total += counts[q];
        }
        const auto send = exchange.sendbuf(total);
        for (int q = 0; q < P; q++)
            std::fill(send.begin() + displs[q],
                      send.begin() + displs[q] + counts[q], 10 * me + q + step);
        exchange.start(send.data(), counts, displs);
        const auto &blocks = exchange.wait();
        for (int q = 0; q < P; q++) {
            const auto &block = blocks[q];
            check(block.size() ==
                      static_cast<std::size_t>(1000 * (me + q) + step),
                  "borrowing_exchange, sizes");
            check(std::all_of(block.begin(), block.end(),
                              [&](int x) { return x == 10 * q + me + step; }),
                  "borrowing_exchange, blocks");
        }
    }
    const std::vector<int> none(P);
    rota::borrowing_exchange<int> left(comm);
    left.start(none, none, none); /* its destructor waits */
}

/* Two arrays: as many ints as usual, and one double for each rank. */
template <class Count> void test_arrays()
{
    std::vector<Count> counts = amounts<Count>();
    auto displs = rota::packed(counts);
    const auto a = filled();
    const std::vector<double> halves(static_cast<std::size_t>(P), me + 0.5);
    rota::arrays_exchange<int, double> exchange;

    counts.resize(2 * static_cast<std::size_t>(P), 1);
    for (int q = 0; q < P; q++)
        displs.push_back(q);
    exchange = rota::arrays_exchange<int, double>(comm);
    for (int step = 0; step < 3; step++) {
        exchange.start(counts, displs, a.data(), halves.data());
        const auto [ints, doubles] = exchange.wait();
        check(arrived(ints), "arrays_exchange, ints");
        check(doubles.size() == static_cast<std::size_t>(P),
              "arrays_exchange, sizes");
        for (int q = 0; q < P; q++)
            check(doubles.from(q).size() == 1 && doubles.from(q)[0] == q + 0.5,
                  "arrays_exchange, doubles");
    }
    for (int step = 0; step < 2; step++) {
        std::vector<int> all;
        exchange.start(counts, displs, a.data(), halves.data());
        const auto &[ints, doubles] = exchange.wait_borrow();
        check(ints.size() == static_cast<std::size_t>(P) &&
                  doubles.size() == ints.size(),
              "borrowed arrays, sizes");
        for (int q = 0; q < P; q++) {
            all.insert(all.end(), ints[q].begin(), ints[q].end());
            check(doubles[q].size() == 1 && doubles[q][0] == q + 0.5,
                  "borrowed arrays, doubles");
        }
        check(arrived(all), "borrowed arrays, ints");
    }
    int code = MPI_SUCCESS;
    check(std::get<0>(exchange.wait_borrow(&code)).size() ==
                  static_cast<std::size_t>(P) &&
              rota::error_class(code) == MPI_ERR_REQUEST,
          "borrowed arrays, not started");
    exchange.start(counts, displs, a.data(), halves.data());
    /* its destructor waits */
}

template <class Count> void test_exchange()
{
    const auto counts = amounts<Count>();
    const auto displs = rota::packed(counts);
    const auto a = filled();
    std::vector<int> mine(a.size());
    rota::exchange<int> exchange;

    check(!exchange, "no exchange yet");
    exchange = rota::exchange<int>(comm);
    for (int step = 0; step < 3; step++) {
        if (step == 1)
            exchange.set_buffer(mine.data(), mine.size());
        if (step == 2)
            exchange.set_buffer(nullptr, 0);
        exchange.start(a, counts, displs);
        const auto got = exchange.wait();
        check(arrived(got), "exchange");
        check((got.data() == mine.data()) == (step == 1), "set_buffer");
        for (int q = 0; q < P; q++) {
            const auto block = got.from(q);
            check(block.size() == static_cast<std::size_t>(me + q + 1) &&
                      block[0] == number(q, me, 0),
                  "block of a rank");
        }
    }
    exchange.set_buffer(mine.data(), 1);
    exchange.start(a, counts, displs);
    int code;
    exchange.wait(&code);
    check(P == 1 || rota::error_class(code) == MPI_ERR_BUFFER, "no room");
    // Active, with its blocks: what follows waits for it.
    rota::exchange<int> other = std::move(exchange);
    other = rota::exchange<int>(comm, 4);
    other.start(a, counts, displs);
    const auto cut = other.wait(&code); // blocks of one number only
    check(P == 1 || rota::error_class(code) == MPI_ERR_TRUNCATE, "bound");
    check(cut.size() == (me == 0 ? 1u : 0u), "all else came");
}

// Each rank sends to the next one and, but for the last, to itself.
template <class Count> void test_sparse()
{
    using displ = std::conditional_t<std::is_same_v<Count, int>, int, MPI_Aint>;
    const bool both = P > 1 && me != P - 1;
    std::vector<int> dests{(me + 1) % P}, a{7, 10 * me, 10 * me + 1, me};
    std::vector<Count> counts{2};
    std::vector<displ> displs{1};
    if (both) {
        dests.push_back(me);
        counts.push_back(1);
        displs.push_back(3);
    }
    rota::sparse_exchange<int> exchange(comm);
    for (int step = 0; step < 3; step++) {
        exchange.start(a, dests, counts, displs);
        while (step == 1 && !exchange.test())
            continue;
        const auto got = exchange.wait();
        const int from = (me + P - 1) % P;
        check(got.sources().size() == (both ? 2u : 1u) &&
                  got.size() == (both ? 3u : 2u),
              "sources");
        for (std::size_t i = 0; i < got.sources().size(); i++) {
            const auto block = got.block(i);
            const bool own = both && got.sources()[i] == me;
            check(own ? block.size() == 1 && block[0] == me
                      : got.sources()[i] == from && block.size() == 2 &&
                            block[1] == 10 * from + 1,
                  "block of a source");
        }
    }
    int one = 0, code;
    exchange.set_buffer(&one, 1);
    exchange.start(a, dests, counts, displs);
    exchange.wait(&code);
    check(rota::error_class(code) == MPI_ERR_BUFFER, "no room");
    rota::sparse_exchange<int> other = std::move(exchange);
    other = rota::sparse_exchange<int>(comm); // after waiting for the other
}

void test_allocator()
{
    struct alignas(128) wide {
        int value;
    };
    const auto n = static_cast<std::size_t>(P);
    std::vector<int, rota::allocator<int>> a(n), c(n);
    std::vector<wide, rota::allocator<wide>> b(n);

    for (int q = 0; q < P; q++)
        a[static_cast<std::size_t>(q)] = me * P + q;
    auto plan = rota::alltoall_init({a.data(), MPI_INT}, 1, {c.data(), MPI_INT},
                                    1, comm);
    plan.start();
    plan.wait();
    for (int q = 0; q < P; q++)
        check(c[static_cast<std::size_t>(q)] == q * P + me, "allocator");
    check(reinterpret_cast<std::uintptr_t>(b.data()) % 128 == 0, "aligned");
    check(a.get_allocator() == rota::allocator<wide>(), "equal");
    a.resize(1000000); /* moves */
    check(a[0] == me * P, "resized");
}

void test_memory()
{
    rota::memory<int> a(static_cast<std::size_t>(P), comm), b;
    std::vector<int> c(a.size());
    for (int q = 0; q < P; q++)
        a[static_cast<std::size_t>(q)] = me * P + q;
    b = std::move(a);
    rota::memory<int> kept(std::move(b));
    auto plan = rota::alltoall_init(kept, 1, c, 1, comm);
    plan.start();
    plan.wait();
    for (int q = 0; q < P; q++)
        check(c[static_cast<std::size_t>(q)] == q * P + me, "memory");
}

void test_tuning()
{
    const std::string name = "test_cxx_" + std::to_string(P) + ".json";
    const char *const file = name.c_str();

    rota::tuning_forget(comm);
    const auto text = rota::tuning_export_string(comm);
    check(text.size() > 2, "tuning_export_string");
    rota::tuning_import_string(text, comm);
    rota::tuning_export(file, comm);
    rota::tuning_import(file, comm);
    expect(MPI_ERR_ARG, "no tuning file",
           [](int *code) { rota::tuning_import("no such file", comm, code); });
    rota::tuning_forget(comm);
    MPI_Barrier(comm);
    if (me == 0)
        std::remove(file);
    check(rota::version() == ROTA_VERSION_NUMBER, "version");
}

void test_errors()
{
    const std::vector<int> counts(static_cast<std::size_t>(P), -1);
    const auto displs = rota::packed(counts);
    std::vector<int> a(4 * counts.size());

    static_assert(!std::is_copy_constructible_v<rota::plan>);
    static_assert(std::is_nothrow_move_constructible_v<rota::plan>);
    expect(MPI_ERR_COUNT, "negative count", [&](int *code) {
        const auto none = rota::alltoallv_init(
            a, counts, displs, a, counts, displs, comm, MPI_INFO_NULL, code);
        check(!none, "no plan on errors");
    });
    // Beyond 2^31: the error has it whole. What is received lies before what is
    // sent, which has no end.
    try {
        rota::alltoall_init({a.data() + counts.size(), MPI_BYTE},
                            MPI_Count{1} << 33, {a.data(), MPI_BYTE},
                            MPI_Count{1}, comm);
        check(false, "large count");
    } catch (const rota::error &e) {
        check(std::strstr(e.what(), " 8589934592 ") != nullptr, "large count");
    }
    expect(MPI_ERR_REQUEST, "no plan", [](int *code) {
        rota::plan none;
        none.start(code);
    });
    expect(MPI_ERR_COMM, "no communicator", [](int *code) {
        rota::exchange<int> none(MPI_COMM_NULL, 8, MPI_INFO_NULL, code);
    });
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_size(comm, &P);
    MPI_Comm_rank(comm, &me);

    test_fixed<int>();
    test_fixed<MPI_Count>();
    test_neighbors<int>();
    test_neighbors<MPI_Count>();
    test_unit();
    test_reverse();
    test_graphs<int>();
    test_graphs<MPI_Count>();
    test_own_types<int>();
    test_own_types<MPI_Count>();
    test_types();
    test_varying<int>();
    test_varying<MPI_Count>();
    test_exchange<int>();
    test_exchange<MPI_Count>();
    test_borrowing();
    test_arrays<int>();
    test_arrays<MPI_Count>();
    test_pack();
    test_parts();
    test_sparse<int>();
    test_sparse<MPI_Count>();
    test_memory();
    test_allocator();
    test_tuning();
    test_errors();

    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, comm);
    if (me == 0)
        std::printf("ranks %d, wrong %d\n", P, wrong);
    MPI_Finalize();
    return wrong != 0;
}
