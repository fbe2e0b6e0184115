#!/bin/sh
# test.sh - build Rota and run all its tests.
#
#   sh tools/test.sh [mpich] [sanitize] [openmpi]
#
# Without arguments, all of these in turn:
#   mpich     build/          everything, with MPICH; slow tools on small grids;
#                             some on hosts of cluster.sh, where it makes any
#   sanitize  build-sanitize/ the same but for the slow ones, with the address
#                             and undefined-behaviour sanitizers and assertions
#   openmpi   build-openmpi/  the tests under mpiexec again, with Open MPI;
#                             left out where mpicc.openmpi is not installed
#
# Installs what is missing (see setup.sh). Prints what fails and a summary; the
# exit code is 0 if nothing failed. MPICC in the environment names another MPI
# compiler for the first two.
set -u

cd "$(dirname "$0")/.." || exit 1
. tools/setup.sh
rota_setup tests || exit 1

test_jobs=$(nproc 2>/dev/null || echo 2)
test_failed=
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

# stage NAME FOLDER LABELS CMAKE-ARGUMENT...: configure, build, and run the
# tests with one of the labels (a regular expression).
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
        if ctest --test-dir "$stage_folder" -j "$test_jobs" -L "$stage_labels" \
            --output-on-failure --no-tests=error >"$test_log" 2>&1; then
            stage_verdict=passed
        else
            stage_verdict=FAILED
            grep -v -E '^ +Start +[0-9]+:| +Passed +[0-9.]+ sec$' "$test_log"
        fi
        stage_count=$(sed -n 's/.*tests passed, .* out of \([0-9]*\)$/\1/p' \
            "$test_log")
        grep -E '\*\*\*(Skipped|Not Run)' "$test_log" |
            sed 's/^.*Test *#[0-9]*: \([^ ]*\).*/   skipped: \1/'
    else
        stage_verdict="FAILED to build"
        stage_count=0
    fi
    [ "$stage_verdict" = passed ] || test_failed=yes
    test_summary="$test_summary
$stage_name: $stage_count tests, $stage_verdict,\
 $(($(date +%s) - stage_begin)) s"
}

test_summary=
[ "$#" -gt 0 ] || set -- mpich sanitize openmpi
for test_stage in "$@"; do
    set -- -DROTA_BUILD_EXAMPLES=ON -DROTA_BUILD_BENCH=ON
    [ -z "${MPICC:-}" ] || set -- "$@" "-DMPI_C_COMPILER=$MPICC"
    case $test_stage in
    mpich)
        stage mpich build '.' "$@" ;;
    sanitize)
        stage sanitize build-sanitize '^(unit|sim|fuzz|mpi)$' "$@" \
            -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG='-g -O1' \
            -DROTA_SANITIZE=address,undefined -DROTA_BUILD_EXAMPLES=OFF \
            -DROTA_BUILD_BENCH=OFF ;;
    openmpi)
        if command -v mpicc.openmpi >/dev/null 2>&1; then
            stage openmpi build-openmpi '^mpi$' \
                -DMPI_C_COMPILER=mpicc.openmpi -DROTA_BUILD_EXAMPLES=OFF \
                -DROTA_BUILD_BENCH=OFF
        else
            test_summary="$test_summary
openmpi: mpicc.openmpi is not installed, left out"
        fi ;;
    *)
        echo "test.sh: no such stage: $test_stage" >&2
        exit 2 ;;
    esac
done
echo "== summary$test_summary"
[ -z "$test_failed" ]
