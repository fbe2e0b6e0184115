/* arguments.c - arguments drawn at random, good and bad ones.
 *
 * usage: arguments [--seed S] [--cases N]
 *
 * Case S + i draws a plan of random_plan.h and, in half the cases, one or two
 * mistakes, each on one rank or on all. Without a mistake the plan must be made
 * and work; with one, all ranks must get an error of the same class, of those
 * that the mistakes have, and the communicator must do for the next case. Plans
 * that work are also started, freed and given buffers when they must not be.
 */
#include "common/quick.h"
#include "random_plan.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 1500, QUICK_CASES = 300, CASE_SECONDS = 60, MOST_CLASSES = 4 };

static uint64_t seed; /* of the case */

/* Error classes that a case may end in; no order. */
typedef struct classes {
    int at[MOST_CLASSES];
    int n;
} classes;

static void allow(classes *c, int errorclass)
{
    c->at[c->n++] = errorclass;
}

/* ---- mistakes ------------------------------------------------------------ */

/* Each spoils the arguments if here, and tells the class that this must end in
 * on all ranks, or MPI_SUCCESS where it is no mistake. What it tells may depend
 * on the victim's counts, which all ranks know. */
typedef int mistake(random_plan *r, int victim, bool here);

static bool is_fixed(const random_plan *r)
{
    return r->kind == RANDOM_FIXED;
}

static bool takes_buffers(const random_plan *r)
{
    return r->kind == RANDOM_FIXED || r->kind == RANDOM_UNIFORM;
}

/* victim sends or receives something. */
static bool has_data(const random_plan *r, int victim, bool sends)
{
    MPI_Count n = 0;

    for (int q = 0; q < test_P; q++)
        n += sends ? random_plan_count(r, victim, q)
                   : random_plan_count(r, q, victim);
    return n > 0;
}

static int null_array(random_plan *r, int victim, bool here)
{
    random_args *const a = &r->args;
    const uint64_t which = mix(seed, 30) % (r->in_place ? 2 : 4);

    (void)victim;
    if (!is_fixed(r))
        return MPI_SUCCESS;
    if (here && which == 0)
        a->recvcounts = NULL;
    if (here && which == 1)
        a->rdispls = NULL;
    if (here && which == 2)
        a->sendcounts = NULL;
    if (here && which == 3)
        a->sdispls = NULL;
    return MPI_ERR_ARG;
}

static void set_count(random_plan *r, MPI_Count n)
{
    const int q =
        r->kind == RANDOM_UNIFORM ? 0 : (int)(mix(seed, 31) % (uint64_t)test_P);
    const bool sends = !r->in_place && mix(seed, 32) % 2;
    MPI_Count *const counts = sends ? r->args.sendcounts : r->args.recvcounts;

    if (counts)
        counts[q] = n;
}

static int negative_count(random_plan *r, int victim, bool here)
{
    (void)victim;
    if (!takes_buffers(r))
        return MPI_SUCCESS;
    if (here)
        set_count(r, -1 - (MPI_Count)(mix(seed, 33) % 1000));
    return MPI_ERR_COUNT;
}

static int huge_count(random_plan *r, int victim, bool here)
{
    (void)victim;
    if (!takes_buffers(r) || !r->large)
        return MPI_SUCCESS;
    if (here)
        set_count(r, (MPI_Count)1 << 62);
    return MPI_ERR_COUNT;
}

static int other_count(random_plan *r, int victim, bool here)
{
    const int q = (int)(mix(seed, 34) % (uint64_t)test_P);
    MPI_Count *const counts = r->args.recvcounts;

    (void)victim;
    if (!is_fixed(r) || r->in_place)
        return MPI_SUCCESS;
    if (here && counts && counts[q] > 0)
        counts[q]--;
    return random_plan_count(r, q, victim) > 0 ? MPI_ERR_COUNT : MPI_SUCCESS;
}

static int null_buffer(random_plan *r, int victim, bool here)
{
    const bool sends = !r->in_place && mix(seed, 35) % 2;

    if (!takes_buffers(r) || !has_data(r, victim, sends))
        return MPI_SUCCESS;
    if (here && sends)
        r->args.sendbuf = NULL;
    if (here && !sends)
        r->args.recvbuf = NULL;
    return MPI_ERR_BUFFER;
}

static int misplaced(random_plan *r, int victim, bool here)
{
    (void)victim;
    if (!takes_buffers(r))
        return MPI_SUCCESS;
    if (here)
        r->args.recvbuf = MPI_IN_PLACE;
    return MPI_ERR_BUFFER;
}

static MPI_Datatype uncommitted;

static int bad_type(random_plan *r, int victim, bool here)
{
    (void)victim;
    if (here)
        r->args.recvtype = mix(seed, 36) % 2 ? MPI_DATATYPE_NULL : uncommitted;
    return MPI_ERR_TYPE;
}

static int overlap(random_plan *r, int victim, bool here)
{
    random_args *const a = &r->args;
    const int last = test_P - 1;

    if (!is_fixed(r) || test_P == 1 || random_plan_count(r, 0, victim) == 0 ||
        random_plan_count(r, last, victim) == 0)
        return MPI_SUCCESS;
    if (here && a->rdispls)
        a->rdispls[last] = a->rdispls[0];
    return MPI_ERR_ARG;
}

static void set_hint(random_plan *r, const char *key, const char *value)
{
    if (r->args.info == MPI_INFO_NULL)
        MPI_Info_create(&r->args.info);
    MPI_Info_set(r->args.info, key, value);
}

static int bad_hint(random_plan *r, int victim, bool here)
{
    static const char *const hint[][2] = {
        {"rota_algorith", "mpi"}, {"rota_algorithm", "fastest"},
        {"rota_batch", "0"},      {"rota_radix", "two"},
        {"rota_check", "maybe"},  {"rota_metadata", "twice"}};
    const uint64_t i = mix(seed, 37) % 6;

    (void)victim;
    if (here)
        set_hint(r, hint[i][0], hint[i][1]);
    return MPI_ERR_ARG;
}

static int other_hint(random_plan *r, int victim, bool here)
{
    (void)victim;
    if (test_P == 1)
        return MPI_SUCCESS;
    set_hint(r, "rota_algorithm", "scattered");
    set_hint(r, "rota_batch", here ? "3" : "4");
    return MPI_ERR_ARG;
}

static int null_plan(random_plan *r, int victim, bool here)
{
    (void)victim;
    if (here)
        r->args.plan = NULL;
    return MPI_ERR_ARG;
}

static int other_bound(random_plan *r, int victim, bool here)
{
    (void)victim;
    if (takes_buffers(r) || test_P == 1)
        return MPI_SUCCESS;
    if (here)
        r->args.max_block = r->max_block - 1;
    return MPI_ERR_ARG;
}

static int other_kind(random_plan *r, int victim, bool here)
{
    (void)victim;
    if (takes_buffers(r) || test_P == 1)
        return MPI_SUCCESS;
    if (here)
        r->kind = r->kind == RANDOM_VARYING ? RANDOM_EXCHANGE : RANDOM_VARYING;
    return MPI_ERR_ARG;
}

static mistake *const mistakes[] = {
    null_array, negative_count, huge_count, other_count, null_buffer,
    misplaced,  bad_type,       overlap,    bad_hint,    other_hint,
    null_plan,  other_bound,    other_kind};
enum { MISTAKES = sizeof mistakes / sizeof mistakes[0] };

/* On one rank, or on all. */
static void spoil(random_plan *r, mistake *m, uint64_t chance, classes *c)
{
    const int victim = (int)(chance % (uint64_t)(test_P + 1));
    const bool for_one = m == other_hint || m == other_bound || m == other_kind;
    int errorclass = MPI_SUCCESS;

    for (int q = 0; q < test_P; q++)
        if (q == victim || (victim == test_P && (!for_one || q == 0))) {
            const int told = m(r, q, q == test_me);
            errorclass = told == MPI_SUCCESS ? errorclass : told;
        }
    if (errorclass != MPI_SUCCESS)
        allow(c, errorclass);
}

/* ---- one case ------------------------------------------------------------ */

static bool is_allowed(const classes *c, int errorclass)
{
    for (int i = 0; i < c->n; i++)
        if (c->at[i] == errorclass)
            return true;
    return false;
}

static void check_error(int err, const classes *allowed)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int errorclass = MPI_SUCCESS, length;

    if (err != MPI_SUCCESS) {
        rota_error_class(err, &errorclass);
        MPI_Error_string(err, text, &length);
    }
    if (!is_allowed(allowed, errorclass))
        test_fail(__FILE__, __LINE__, "class %d: %s", errorclass, text);
    CHECK(test_max(errorclass) == errorclass);
    CHECK(-test_max(-errorclass) == errorclass);
    CHECK(err == MPI_SUCCESS || strstr(text, "rota_"));
}

/* What must be refused here and leave the plan as it is. */
static void misuse_inactive(random_plan *r)
{
    const random_args good = r->args;

    if (takes_buffers(r)) {
        MUST_FAIL(rota_exchange_set_buffer(r->plan, NULL, 0), MPI_ERR_REQUEST,
                  "rota_exchange_set_buffer");
        MUST_FAIL(rota_plan_set_buffers(r->plan, good.sendbuf, MPI_IN_PLACE),
                  MPI_ERR_BUFFER, "recvbuf");
        return;
    }
    MUST_FAIL(rota_start(r->plan), MPI_ERR_REQUEST, "rota_start");
    r->args.sendcounts = NULL;
    if (!r->in_place)
        MUST_FAIL(random_plan_start(r), MPI_ERR_ARG, "sendcounts is NULL");
    r->args = good;
    r->args.sendbuf = MPI_IN_PLACE;
    r->args.recvbuf = MPI_IN_PLACE;
    MUST_FAIL(random_plan_start(r), MPI_ERR_BUFFER, "MPI_IN_PLACE");
    r->args = good;
}

static void misuse_active(random_plan *r)
{
    rota_plan *same = r->plan;

    MUST_FAIL(random_plan_start(r), MPI_ERR_REQUEST, "active");
    MUST_FAIL(rota_plan_free(&same), MPI_ERR_REQUEST, "active");
    CHECK(same == r->plan);
    if (takes_buffers(r))
        MUST_FAIL(
            rota_plan_set_buffers(r->plan, r->args.sendbuf, r->args.recvbuf),
            MPI_ERR_REQUEST, "active");
}

static void run(random_plan *r)
{
    for (int i = 0; i < 2; i++) {
        random_plan_fill(r);
        misuse_inactive(r);
        MUST(random_plan_start(r));
        misuse_active(r);
        if (mix(seed, 38) % 2)
            random_plan_wait(r);
        else
            while (!random_plan_test(r))
                ;
    }
}

static void restore(random_plan *r, const random_plan *whole)
{
    const MPI_Info info = r->args.info;

    r->kind = whole->kind;
    r->args = whole->args;
    r->args.info = info;
}

static void run_case(MPI_Comm comm)
{
    const uint64_t chance = mix(seed, 39);
    const int n = (int)(chance % 4) - 1; /* mistakes */
    classes allowed = {.n = 0};
    char text[400];
    random_plan r;

    random_plan_draw(&r, mix(seed, 29), comm, NULL);
    random_plan_print(&r, text, sizeof text);
    const random_plan whole = r;
    if (!takes_buffers(&r))
        random_plan_fill(&r);
    /* Not the same twice, which might undo it. */
    for (int i = 0; i < n; i++)
        spoil(&r, mistakes[(chance / 4 + (uint64_t)i) % MISTAKES],
              mix(seed, 40 + (uint64_t)i), &allowed);
    if (r.may_refuse)
        allow(&allowed, MPI_ERR_ARG);
    if (allowed.n == 0 || (allowed.n == 1 && r.may_refuse))
        allow(&allowed, MPI_SUCCESS);
    test_case = text;
    const int err = random_plan_init(&r);
    check_error(err, &allowed);
    restore(&r, &whole);
    if (err == MPI_SUCCESS && test_failures() == 0)
        run(&r);
    random_plan_free(&r);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'},
        {"cases", required_argument, NULL, 'n'},
        {NULL, 0, NULL, 0},
    };
    uint64_t first = 1,
             cases = test_is_quick() || test_is_slow() ? QUICK_CASES : CASES;
    MPI_Comm comm;

    test_begin(&argc, &argv, MPI_THREAD_SINGLE);
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;)
        if (o == '?')
            MPI_Abort(MPI_COMM_WORLD, 2); /* getopt has said why */
        else
            *(o == 's' ? &first : &cases) = strtoull(optarg, NULL, 10);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_vector(2, 1, 2, MPI_BYTE, &uncommitted);
    bool good = true;
    for (seed = first; seed < first + cases && good; seed++) {
        char again[80];
        snprintf(again, sizeof again, "--seed %llu --cases 1",
                 (unsigned long long)seed);
        test_watch(again, CASE_SECONDS);
        run_case(comm);
        good = test_max(test_failures()) == 0;
    }
    test_watch_end();
    MPI_Type_free(&uncommitted);
    MPI_Comm_free(&comm);
    return test_end();
}
