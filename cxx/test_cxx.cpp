// test_cxx.cpp - everything in rota.hpp, on any number of ranks.
#include <rota.hpp>

#include <array>
#include <cstdio>
#include <cstring>
#include <numeric>
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
    same = std::move(again); // frees the one, keeps the other
    same.start();            // and is waited for by its destructor
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

    for (int step = 0; step < 2; step++) {
        std::vector<int> b(a.size());
        plan.start(a, counts, displs, b, counts, displs);
        plan.wait();
        check(arrived(b), "varying");
    }
}

template <class Count> void test_exchange()
{
    const auto counts = amounts<Count>();
    const auto displs = rota::packed(counts);
    const auto a = filled();
    std::vector<int> mine(a.size());
    rota::exchange<int> exchange(comm);

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
    check(P == 1 || rota::error_class(code) == MPI_ERR_COUNT, "bound");
    check(cut.size() == (me == 0 ? 1u : 0u), "all else came");
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
    const char *const file = "test_cxx.json";

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
    test_types();
    test_varying<int>();
    test_varying<MPI_Count>();
    test_exchange<int>();
    test_exchange<MPI_Count>();
    test_memory();
    test_tuning();
    test_errors();

    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, comm);
    if (me == 0)
        std::printf("ranks %d, wrong %d\n", P, wrong);
    MPI_Finalize();
    return wrong != 0;
}
