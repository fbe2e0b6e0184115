#!/bin/sh
# neighbors.sh RUN PROGRAM RANKS MPIEXEC... - neighbors.c without librota_mpi and
# with it. Arguments as for dropin.sh.
set -u
run=${1:?}
program=${2:?}
ranks=${3:?}
shift 3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export ROTA_MPI_AFTER=0 ROTA_MPI_INEIGHBOR_ALLTOALL=on
export ROTA_MPI_INEIGHBOR_ALLTOALLV=on ROTA_MPI_INEIGHBOR_ALLTOALLW=on
export ROTA_STATS=1

wrong()
{
    echo "$ranks ranks: $*"
    cat "$work/out" "$work/err"
    exit 1
}

# with WHAT COMMAND...: run it, output in $work/out and $work/err.
with()
{
    what=$1
    shift
    timeout -k 5 120 "$@" >"$work/out" 2>"$work/err"
}

with "common, MPI alone" "$@" "$ranks" "$program" common plain || wrong "$what"

with "common" "$run" "$@" "$ranks" "$program" common || wrong "$what"
sed -n 's/^rota_mpi: \(.*calls=\)/\1/p' "$work/err" >"$work/counted"
grep '^rank 0: ' "$work/out" >"$work/expected"
cmp -s "$work/expected" "$work/counted" || wrong "$what: calls are not as counted"
grep -q '^rota_mpi: rank 0: algorithm neighbor plans=[1-9]' "$work/err" ||
    wrong "$what: no plans"

with "errors" "$run" "$@" "$ranks" "$program" errors || wrong "$what"
[ "$ranks" -gt 1 ] || exit 0

# 18 topologies, of which the first two make room for the last two.
with "again" "$run" "$@" "$ranks" "$program" again || wrong "$what"
plans=$(sed -n 's/^rota_mpi: rank 0: algorithm .* plans=//p' "$work/err" |
    awk '{ n += $1 } END { print n + 0 }')
[ "$plans" -eq 18 ] || wrong "$what: $plans plans"
[ "$ranks" -eq 2 ] || exit 0

# Whether a plan pays or not.
with "loop" env -u ROTA_MPI_AFTER "$run" "$@" "$ranks" "$program" loop ||
    wrong "$what"
with "off" env ROTA_MPI_NEIGHBOR_ALLTOALLV=off "$run" "$@" "$ranks" "$program" \
    common || wrong "$what"
grep -q '^rota_mpi: .*MPI_Neighbor_alltoallv calls=.* by_rota=0 ' "$work/err" ||
    wrong "$what: not off"
