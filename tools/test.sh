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
#                             under mpiexec, of bench, of the examples and of
#                             integrations; left out where mpicc.openmpi is not
#                             installed. Among these, with --full, are Debian's
#                             PETSc, CombBLAS and mpi4py-fft with the adapters
#                             of integrations/, where they are installed.
#                             Without --full in build-openmpi-debug/: little
#                             optimized and, where there is clang, by clang,
#                             with the tests of one process
#   clang     build-clang/    the tests of one process and a few others, with
#                             MPICH, by clang, optimized
#   debug     build-debug/    the same by the usual compiler, not optimized
#   trixie-mpich, trixie-openmpi, forky-mpich, forky-openmpi
#                             the stage default on Debian 13 and on the Debian
#                             that is to be 14, with the MPICH and the Open MPI
#                             that these have, in folders made by chroot.sh;
#                             left out where that cannot make one
# and one only if it is named:
#   default   build-default/  what the commands of README build, with MPICH or,
#                             in build-default-MPICC/, with MPICC; the tests of
#                             one process and those of the drop-in
#
# A stage that takes longer than its limit (stage_limit below) fails.
#
# --full runs what is before a release, for an hour or more: tests in
# their long form, those with the labels long and again (cmake/RotaTest.cmake),
# and MPICH as it is, which does not give way while it waits. Without it every
# test that has a short form takes that: fewer cases, of every kind.
#
# Installs what is missing (see setup.sh). Prints what fails, what is left out
# and why, and a summary; the exit code is 0 if nothing failed. MPICC in the
# environment names another MPI compiler for all but those that name an MPI.
set -u

cd "$(dirname "$0")/.." || exit 1
. tools/setup.sh
rota_setup tests ${1:+$([ "$1" != --full ] || echo full)} || exit 1

test_jobs=$(nproc 2>/dev/null || echo 2)
test_failed=
test_summary=
test_log=
test_debian=
trap 'rm -rf "$test_log" "$test_debian"' EXIT
test_log=$(mktemp "${TMPDIR:-/tmp}/rota-test.XXXXXX") || exit 1

# stage_limit NAME: minutes, far more than it takes on two cores.
stage_limit()
{
    case $1 in
    mpich) echo 90 ;;
    default) echo 30 ;;
    *) echo 60 ;;
    esac
}

# Seconds that the stage has left: at least one.
left()
{
    [ "$stage_end" -gt "$(date +%s)" ] && echo $((stage_end - $(date +%s))) ||
        echo 1
}

# run_quietly COMMAND...: prints its output only if it fails.
run_quietly()
{
    timeout -k 30 "$(left)" "$@" >"$test_log" 2>&1 && return 0
    tail -n 60 "$test_log"
    return 1
}

# run_tests FOLDER LABELS: those with one of the labels (a regular expression),
# and none of $test_without.
run_tests()
{
    set -- --test-dir "$1" -j "$test_at_once" -L "$2" -LE "$test_without" \
        --output-on-failure --no-tests=error \
        --stop-time "$(date -d "@$stage_end" +%H:%M:%S)"
    if [ -n "$test_full" ]; then
        ctest "$@"
    else
        ROTA_TEST_QUICK=1 ctest "$@"
    fi >"$test_log" 2>&1
}

# begin_stage NAME
begin_stage()
{
    stage_name=$1
    stage_begin=$(date +%s)
    stage_end=$((stage_begin + 60 * $(stage_limit "$1")))
}

# end_stage TESTS VERDICT: into the summary.
end_stage()
{
    stage_verdict=$2
    [ "$(date +%s)" -lt "$stage_end" ] ||
        stage_verdict="FAILED beyond its limit ($stage_verdict)"
    case $stage_verdict in FAILED*) test_failed=yes ;; esac
    test_summary="$test_summary
$stage_name: $1 tests, $stage_verdict, $(($(date +%s) - stage_begin)) s in all\
 of $((stage_end - stage_begin))"
}

# stage NAME FOLDER LABELS CMAKE-ARGUMENT...: configure, build and test.
stage()
{
    begin_stage "$1"
    stage_folder=$2
    stage_labels=$3
    shift 3
    echo "== $stage_name: building in $stage_folder/"
    # With --full MPICH is as it is.
    if [ -n "$test_full" ]; then
        set -- "$@" -DROTA_TEST_SPIN=ON
    else
        set -- "$@" -DROTA_TEST_SPIN=OFF
    fi
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
    end_stage "$stage_count" "$stage_verdict"
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

# fftw MPICC: builds FFTW's transposes from Debian's source, for the test of a program
# that others wrote (tests/dropin/build_fftw.sh), or says why not.
fftw()
{
    if sh tests/dropin/build_fftw.sh "build-fftw/${1##*/}" "$1" >"$test_log" 2>&1; then
        test_fftw=-DROTA_FFTW_MPI=$PWD/build-fftw/${1##*/}
    else
        test_fftw=
        echo "   FFTW's transposes: not built: $(tail -n 1 "$test_log")"
    fi
}

sanitized()
{
    [ -n "$test_full" ] || test_without='^(long|again)$'
    stage sanitize build-sanitize '^(unit|sim|fuzz|mpi)$' "$@" \
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG='-g1 -O1' \
        -DROTA_SANITIZE=address,undefined -DROTA_BUILD_EXAMPLES=OFF \
        -DROTA_BUILD_BENCH=OFF
}

with_openmpi()
{
    set -- -DMPI_C_COMPILER=mpicc.openmpi -DROTA_BUILD_EXAMPLES=ON \
        -DROTA_BUILD_BENCH=ON
    if [ -n "$test_full" ]; then
        test_without='^alike$'
        fftw mpicc.openmpi
        stage openmpi build-openmpi '^(mpi|bench|examples|integrations)$' "$@" \
            $test_fftw
        return
    fi
    if has clang; then
        set -- "$@" -DCMAKE_C_COMPILER=clang
    else
        echo "   openmpi: clang is not installed, built by the usual compiler"
    fi
    test_without='^(long|again|alike)$'
    stage openmpi build-openmpi-debug '^(unit|mpi|bench|examples)$' "$@" \
        -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG='-g1 -O1'
}

# few NAME FOLDER LABELS CMAKE-ARGUMENT...: builds all, and tests these in their
# short form.
few()
{
    few_name=$1
    few_folder=$2
    few_labels=$3
    shift 3
    few_full=$test_full
    test_full=
    test_without='^long$'
    stage "$few_name" "$few_folder" "^($few_labels)\$" "$@"
    test_full=$few_full
}

# on_debian SUITE MPICC NAME: the stage default there, with that MPI.
on_debian()
{
    begin_stage "$3"
    echo "== $3: on Debian $1"
    [ -n "$test_debian" ] ||
        test_debian=$(mktemp -d "${TMPDIR:-/tmp}/rota-debian.XXXXXX") || exit 1
    MPICC=$2 timeout -k 30 "$(left)" sh tools/chroot.sh "$1" "$test_debian/$1" \
        sh tools/test.sh default >"$test_log" 2>&1
    on_debian_result=$?
    if [ "$on_debian_result" -eq 77 ]; then
        left_out "$3" "$(sed -n 's/^skipped: //p' "$test_log" | tail -n 1)"
        return
    fi
    on_debian_line=$(sed -n 's/^default: //p' "$test_log" | tail -n 1)
    case $on_debian_result,$on_debian_line in
    0,*' tests, passed'*)
        grep '^   skipped: ' "$test_log"
        end_stage "${on_debian_line%% *}" passed ;;
    *)
        tail -n 60 "$test_log"
        on_debian_line=${on_debian_line%% *}
        end_stage "${on_debian_line:-0}" FAILED ;;
    esac
}

test_full=
if [ "${1:-}" = --full ]; then
    test_full=yes
    shift
    [ "$#" -gt 0 ] || set -- mpich sanitize openmpi clang debug \
        trixie-mpich trixie-openmpi forky-mpich forky-openmpi
fi
[ "$#" -gt 0 ] || set -- mpich sanitize openmpi
for test_stage in "$@"; do
    test_without='^long$'
    [ -z "$test_full" ] || test_without='^$' # none
    # More than there are cores: what takes longest is begun first, and sleeps, and
    # mpiexec sleeps for most of what it takes to start and to end ranks.
    test_at_once=$((2 * test_jobs + 1))
    # With --full MPICH does not give way, and they would be in each other's time.
    [ -z "$test_full" ] || [ "$test_stage" = openmpi ] ||
        test_at_once=$((test_jobs + 1))
    set -- -DROTA_BUILD_EXAMPLES=ON -DROTA_BUILD_BENCH=ON
    [ -z "${MPICC:-}" ] || set -- "$@" "-DMPI_C_COMPILER=$MPICC"
    case $test_stage in
    mpich)
        test_fftw=
        [ -z "$test_full" ] || fftw "${MPICC:-$(command -v mpicc.mpich || echo mpicc)}"
        stage mpich build '.' "$@" $test_fftw ;;
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
            few clang build-clang 'unit|sim|fuzz|examples' "$@" \
                -DCMAKE_C_COMPILER=clang
        else
            left_out clang "clang is not installed"
        fi ;;
    debug)
        few debug build-debug 'unit|sim|fuzz|examples' "$@" \
            -DCMAKE_BUILD_TYPE=Debug ;;
    trixie-mpich | trixie-openmpi | forky-mpich | forky-openmpi)
        on_debian "${test_stage%-*}" "mpicc.${test_stage#*-}" "$test_stage" ;;
    default)
        few default "build-default${MPICC:+-${MPICC##*/}}" 'unit|dropin' \
            ${MPICC:+"-DMPI_C_COMPILER=$MPICC"} ;;
    *)
        echo "test.sh: no such stage: $test_stage" >&2
        exit 2 ;;
    esac
done
echo "== summary$test_summary"
[ -z "$test_failed" ]
