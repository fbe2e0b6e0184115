#!/bin/sh
# faces.sh BUILD MPIEXEC... - what a start and a wait cost from each language,
# in nanoseconds: bench/faces/loop.*, one after the other, three times.
#
# BUILD is the folder of a build with examples; MPIEXEC... a command line up to
# and including the number of ranks, as in
#
#   sh bench/faces/faces.sh build-openmpi mpiexec.openmpi -n 2
set -u
[ "$#" -ge 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
build=$(cd "$1" && pwd) || exit 1
shift
here=$(cd "$(dirname "$0")" && pwd)
python=$(sed -n 's/^ROTA_PYTHON:[A-Z]*=//p' "$build/CMakeCache.txt")
export LD_LIBRARY_PATH="$build/src${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export PYTHONPATH="$build/python/site${PYTHONPATH:+:$PYTHONPATH}"

for round in 1 2 3; do
    echo "round $round"
    for face in c cxx fortran; do
        [ ! -x "$build/bench/faces/loop_$face" ] ||
            timeout 60 "$@" "$build/bench/faces/loop_$face"
    done
    [ ! -d "$build/python/site/rota" ] ||
        timeout 60 "$@" "$python" "$here/loop.py"
done
