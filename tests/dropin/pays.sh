#!/bin/sh
# pays.sh RUN PROGRAM RANKS MPIEXEC... - pays.c by rota-run: which arrays ranks share.
set -u
run=${1:?}
program=${2:?}
ranks=${3:?}
shift 3
limit=100
. "$(dirname "$0")/common.sh"
export ROTA_MPI_AFTER=0

# Where shared memory would lose huge pages, none is shared.
thp=/sys/kernel/mm/transparent_hugepage
if grep -q '\[always\]' $thp/enabled 2>/dev/null &&
    grep -Eq '\[(never|deny)\]' $thp/shmem_enabled 2>/dev/null; then
    echo "no memory is shared here"
    exit 77
fi
with "arrays" env -u ROTA_SHARE "$run" "$@" "$ranks" "$program" || wrong "$what"
