#!/bin/sh
# demo.sh - the transitive closure of a graph on 4 ranks, with MPI's all-to-all
# and with Rota's.
#
#   sh tools/demo.sh [GRAPH]
#
# GRAPH is an edge list or a Matrix Market file, plain or compressed by gzip;
# without it a street grid is generated. Installs what is missing (see
# setup.sh), builds into build/, stops after 30 minutes. MPICC in the
# environment names another MPI compiler than MPICH's.
set -u

demo_graph=${1:-}
demo_grid=grid:4x1000
demo_ranks=4

if [ "$#" -gt 1 ]; then
    echo "usage: sh tools/demo.sh [GRAPH]" >&2
    exit 2
fi
if [ "$#" -eq 1 ]; then
    if [ ! -f "$demo_graph" ] || [ ! -r "$demo_graph" ]; then
        echo "demo.sh: no file that can be read: $demo_graph" >&2
        exit 1
    fi
    case $demo_graph in
    /*) ;;
    *) demo_graph=$PWD/$demo_graph ;;
    esac
fi

cd "$(dirname "$0")/.." || exit 1
. tools/setup.sh
# shellcheck disable=SC2119
rota_setup || exit 1

# Without tests in a new build, as they need more than is set up here; one that
# is there stays as it is.
set -- -DROTA_BUILD_EXAMPLES=ON
[ -f build/CMakeCache.txt ] || set -- "$@" -DROTA_BUILD_TESTS=OFF
[ -z "${MPICC:-}" ] || set -- "$@" "-DMPI_C_COMPILER=$MPICC"
mkdir -p build || exit 1
demo_log=build/demo.log
echo "demo.sh: building into build/" >&2
if ! { cmake -S . -B build "$@" &&
    cmake --build build --parallel --target transitive_closure; } \
    >"$demo_log" 2>&1; then
    tail -n 30 "$demo_log" >&2
    echo "demo.sh: cannot build; all of it is in $demo_log" >&2
    exit 1
fi

if [ -n "$demo_graph" ]; then
    set -- "$demo_graph"
else
    set -- --generate "$demo_grid"
fi
# Split on purpose: a command line.
# shellcheck disable=SC2046
timeout --foreground 1800 $(cat build/mpiexec.txt) "$demo_ranks" \
    build/examples/transitive_closure --progress "$@" </dev/null
demo_status=$?
[ "$demo_status" -ne 124 ] || echo "demo.sh: stopped after 30 minutes" >&2
exit "$demo_status"
