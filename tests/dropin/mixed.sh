#!/bin/sh
# mixed.sh RUN PROGRAM RANKS MPIEXEC... - mixed.c with librota_mpi, which takes calls
# from the first on, from the sixth, and when plans pay. RUN, with MPIEXEC, starts
# ranks with it. Calls that are counted go another way: only one run counts them.
set -u
run=${1:?}
program=${2:?}
ranks=${3:?}
shift 3
limit=280
. "$(dirname "$0")/common.sh"
steps=150
[ -z "${ROTA_TEST_QUICK:-}" ] || steps=50

export ROTA_MPI_AFTER=0
with "counted" "$run" "$@" "$ranks" "$program" "$ranks" "$steps" || wrong "$what"
grep -q 'by_rota=[1-9]' "$work/err" || wrong "$what: nothing was taken"

unset ROTA_STATS
for after in 0 5 ''; do
    export ROTA_MPI_AFTER=$after
    with "after '$after'" "$run" "$@" "$ranks" "$program" 1 "$steps" ||
        wrong "$what"
done
