#!/bin/sh
# neighbors.sh RUN PROGRAM RANKS MPIEXEC... - neighbors.c without librota_mpi and
# with it. Arguments as for dropin.sh.
set -u
run=${1:?}
program=${2:?}
ranks=${3:?}
shift 3
limit=120
. "$(dirname "$0")/common.sh"
export ROTA_MPI_AFTER=0

with "common, MPI alone" "$@" "$ranks" "$program" common plain || wrong "$what"

with "common" "$run" "$@" "$ranks" "$program" common || wrong "$what"
check_calls neighbor

with "errors" "$run" "$@" "$ranks" "$program" errors || wrong "$what"
[ "$ranks" -gt 1 ] || exit 0

# 18 topologies, of which the first two make room for the last two.
with "again" "$run" "$@" "$ranks" "$program" again || wrong "$what"
plans=$(count_plans)
[ "$plans" -eq 18 ] || wrong "$what: $plans plans"
[ "$ranks" -eq 2 ] || exit 0

# Whether a plan pays or not.
with "loop" env -u ROTA_MPI_AFTER "$run" "$@" "$ranks" "$program" loop ||
    wrong "$what"
with "off" env ROTA_MPI_NEIGHBOR_ALLTOALLV=off "$run" "$@" "$ranks" "$program" \
    common || wrong "$what"
grep -q '^rota_mpi: .*MPI_Neighbor_alltoallv calls=.* by_rota=0 ' "$work/err" ||
    wrong "$what: not off"
