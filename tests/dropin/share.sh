#!/bin/sh
# share.sh RUN PROGRAM RANKS MPIEXEC... - share.c by rota-run, whose memory ranks
# share, and which is left alone where it should be.
set -u
run=${1:?}
program=${2:?}
ranks=${3:?}
shift 3
limit=250
. "$(dirname "$0")/common.sh"
export ROTA_MPI_AFTER=0
steps=100000
[ -z "${ROTA_TEST_QUICK:-}" ] || steps=6000

# The last run has shared memory, or has not.
shared()
{
    grep -q '^ok, ' "$work/out" || wrong "$what"
    grep -q '^ok, shared$' "$work/out" &&
        grep -q '^rota_mpi: rank 0: bytes_shared=[1-9]' "$work/err"
}

with "on" env ROTA_SHARE=on "$run" "$@" "$ranks" "$program" "$steps" ||
    wrong "$what"
shared || wrong "$what: nothing shared"
with "off" env ROTA_SHARE=off "$run" "$@" "$ranks" "$program" 100 ||
    wrong "$what"
shared && wrong "$what: shared all the same"
with "limited" sh -c 'ulimit -v 100000000 && exec "$@"' sh env ROTA_SHARE=on \
    "$run" "$@" "$ranks" "$program" 100 || wrong "$what"
shared && wrong "$what: shared all the same"
[ "$ranks" -eq 2 ] || exit 0
with "short files" sh -c 'ulimit -f 100000 && exec "$@"' sh env ROTA_SHARE=on \
    "$run" "$@" "$ranks" "$program" 100 || wrong "$what"
shared && wrong "$what: shared all the same"
exit 0
