#!/bin/sh
# mpi3.sh RUN PROGRAM RANKS MPIEXEC... - mpi3.c by MPI alone and with librota_mpi,
# which takes what it is to take. RUN, with MPIEXEC, starts ranks with it.
set -u
run=${1:?}
program=${2:?}
ranks=${3:?}
shift 3
limit=60
. "$(dirname "$0")/common.sh"
unset ROTA_MPI_AFTER

with "MPI alone" "$@" "$ranks" "$program" || wrong "$what"
[ -s "$work/err" ] && grep -q rota_mpi: "$work/err" && wrong "Rota without rota-run"

export ROTA_MPI_AFTER=2
with "with Rota" "$run" "$@" "$ranks" "$program" || wrong "$what"
least=1
[ "$ranks" -gt 1 ] || least=0 # a single rank's calls are MPI's
for call in Alltoall Alltoallv Alltoallw Neighbor_alltoall Neighbor_alltoallv \
    Neighbor_alltoallw; do
    taken=$(sed -n "s/^rota_mpi: rank 0: MPI_$call calls=.* by_rota=\([0-9]*\) .*/\1/p" \
        "$work/err")
    [ "${taken:-0}" -ge "$least" ] || wrong "$what: MPI_$call was not taken"
done
# Those for large counts count as the others.
if "$program" large; then
    for call in Alltoall:1 Alltoallv:2 Alltoallw:1 Neighbor_alltoall:1 \
        Neighbor_alltoallv:1 Neighbor_alltoallw:1; do
        n=${call#*:}
        grep -q "^rota_mpi: rank 0: MPI_${call%:*}_init calls=$n by_rota=$n " \
            "$work/err" || wrong "$what: MPI_${call%:*}_init was not taken"
        passed=$(sed -n "s/^rota_mpi: rank 0: MPI_${call%:*} .*passed_on=\([0-9]*\)$/\1/p" \
            "$work/err")
        [ "$least" -eq 0 ] || [ "${passed:-99}" -lt 20 ] ||
            wrong "$what: MPI_${call%:*} or MPI_${call%:*}_c was not taken"
    done
else
    echo "left out: calls for large counts, this MPI has none"
fi

with "off" env ROTA_MPI=off "$run" "$@" "$ranks" "$program" || wrong "$what"
! grep -q 'by_rota=[1-9]' "$work/err" || wrong "$what: not off"
