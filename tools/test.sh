#!/bin/sh
# test.sh - build Rota and run its tests.
#
#   sh tools/test.sh [--full] [STAGE...]
#
# Stages; without any named, the first three in turn, with --full all:
#   mpich     build/          everything, with MPICH; slow tools on small grids;
#                             some on hosts of cluster.sh, where it makes any
#   sanitize  build-sanitize/ the same but for the slow ones, on one number of
#                             ranks, with the address and undefined-behaviour
#                             sanitizers and assertions
#   openmpi   build-openmpi/  everything again, with Open MPI, and its tests
#                             under mpiexec, of bench and of the examples; left
#                             out where mpicc.openmpi is not installed.
#                             Without --full in build-openmpi-debug/: not
#                             optimized and, where there is clang, by clang,
#                             with the tests of one process
#   clang     build-clang/    the tests of one process and a few others, with
#                             MPICH, by clang, optimized
#   debug     build-debug/    the same by the usual compiler, not optimized
#
# --full runs what is before a release, for half an hour or more: tests in
# their long form, those with the labels long and again (cmake/RotaTest.cmake),
# and MPICH as it is, which does not give way while it waits. Without it every
# test that has a short form takes that: fewer cases, of every kind.
#
# Installs what is missing (see setup.sh). Prints what fails, what is left out
# and why, and a summary; the exit code is 0 if nothing failed. MPICC in the
# environment names another MPI compiler for all but openmpi.
set -u

cd "$(dirname "$0")/.." || exit 1
. tools/setup.sh
rota_setup tests ${1:+$([ "$1" != --full ] || echo full)} || exit 1

test_jobs=$(nproc 2>/dev/null || echo 2)
test_failed=
test_summary=
test_log=
trap 'rm -f "$test_log"' EXIT
test_log=$(mktemp "${TMPDIR:-/tmp}/rota-test.XXXXXX") || exit 1

# run_quietly COMMAND...: prints its output only if it fails.
run_quietly()
{
    "$@" >"$test_log" 2>&1 && return 0
    tail -n 60 "$test_log"
    return 1
}

# run_tests FOLDER LABELS: those with one of the labels (a regular expression),
# and none of $test_without.
run_tests()
{
    # One more than there are cores: some sleep, some start processes.
    set -- --test-dir "$1" -j $((test_jobs + 1)) -L "$2" -LE "$test_without" \
        --output-on-failure --no-tests=error
    if [ -n "$test_full" ]; then
        ROTA_TEST_SPIN=1 ctest "$@"
    else
        ROTA_TEST_QUICK=1 ctest "$@"
    fi >"$test_log" 2>&1
}

# stage NAME FOLDER LABELS CMAKE-ARGUMENT...: configure, build and test.
stage()
{
    stage_name=$1
    stage_folder=$2
    stage_labels=$3
    shift 3
    stage_begin=$(date +%s)
    echo "== $stage_name: building in $stage_folder/"
    # A warning is an error where we choose the compiler, not where users do.
    [ "${CI:-}" != true ] || set -- "$@" -DROTA_WERROR=ON
    if run_quietly cmake -S . -B "$stage_folder" -DROTA_BUILD_TESTS=ON "$@" &&
        run_quietly cmake --build "$stage_folder" --parallel "$test_jobs"; then
        echo "== $stage_name: testing"
        stage_built=$(date +%s)
        if run_tests "$stage_folder" "$stage_labels"; then
            stage_verdict=passed
        else
            stage_verdict=FAILED
            grep -v -E '^ +Start +[0-9]+:| +Passed +[0-9.]+ sec$' "$test_log"
        fi
        stage_count=$(sed -n 's/.*tests passed, .* out of \([0-9]*\)$/\1/p' \
            "$test_log")
        stage_verdict="$stage_verdict, $((stage_built - stage_begin)) s to build"
        grep -E '\*\*\*(Skipped|Not Run)' "$test_log" |
            sed 's/^.*Test *#[0-9]*: \([^ ]*\).*/   skipped: \1/'
    else
        stage_verdict="FAILED to build"
        stage_count=0
    fi
    case $stage_verdict in FAILED*) test_failed=yes ;; esac
    test_summary="$test_summary
$stage_name: $stage_count tests, $stage_verdict,\
 $(($(date +%s) - stage_begin)) s in all"
}

# left_out NAME WHY
left_out()
{
    test_summary="$test_summary
$1: left out, $2"
}

has()
{
    command -v "$1" >/dev/null 2>&1
}

sanitized()
{
    [ -n "$test_full" ] || test_without='^(long|again)$'
    stage sanitize build-sanitize '^(unit|sim|fuzz|mpi)$' "$@" \
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG='-g -O1' \
        -DROTA_SANITIZE=address,undefined -DROTA_BUILD_EXAMPLES=OFF \
        -DROTA_BUILD_BENCH=OFF
}

with_openmpi()
{
    set -- -DMPI_C_COMPILER=mpicc.openmpi -DROTA_BUILD_EXAMPLES=ON \
        -DROTA_BUILD_BENCH=ON
    if [ -n "$test_full" ]; then
        test_without='^alike$'
        stage openmpi build-openmpi '^(mpi|bench|examples)$' "$@"
        return
    fi
    if has clang; then
        set -- "$@" -DCMAKE_C_COMPILER=clang
    else
        echo "   openmpi: clang is not installed, built by the usual compiler"
    fi
    test_without='^(long|again|alike)$'
    stage openmpi build-openmpi-debug '^(unit|mpi|bench|examples)$' "$@" \
        -DCMAKE_BUILD_TYPE=Debug
}

# few NAME FOLDER CMAKE-ARGUMENT...: builds all, and tests what takes little.
few()
{
    few_name=$1
    few_folder=$2
    shift 2
    few_full=$test_full
    test_full=
    test_without='^long$'
    stage "$few_name" "$few_folder" '^(unit|sim|fuzz|examples)$' "$@"
    test_full=$few_full
}

test_full=
if [ "${1:-}" = --full ]; then
    test_full=yes
    shift
    [ "$#" -gt 0 ] || set -- mpich sanitize openmpi clang debug
fi
[ "$#" -gt 0 ] || set -- mpich sanitize openmpi
for test_stage in "$@"; do
    test_without='^long$'
    [ -z "$test_full" ] || test_without='^$' # none
    set -- -DROTA_BUILD_EXAMPLES=ON -DROTA_BUILD_BENCH=ON
    [ -z "${MPICC:-}" ] || set -- "$@" "-DMPI_C_COMPILER=$MPICC"
    case $test_stage in
    mpich)
        stage mpich build '.' "$@" ;;
    sanitize)
        sanitized "$@" ;;
    openmpi)
        if has mpicc.openmpi; then
            with_openmpi
        else
            left_out openmpi "mpicc.openmpi is not installed"
        fi ;;
    clang)
        if has clang; then
            few clang build-clang "$@" -DCMAKE_C_COMPILER=clang
        else
            left_out clang "clang is not installed"
        fi ;;
    debug)
        few debug build-debug "$@" -DCMAKE_BUILD_TYPE=Debug ;;
    *)
        echo "test.sh: no such stage: $test_stage" >&2
        exit 2 ;;
    esac
done
echo "== summary$test_summary"
[ -z "$test_failed" ]
