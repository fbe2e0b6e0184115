#!/bin/sh
# fftw.sh RUN PROGRAM RANKS MPIEXEC... - fftw.c by MPI alone and with
# librota_mpi, for which RUN is rota-run: right, and FFTW's calls were caught.
set -u
run=${1:?}
program=${2:?}
ranks=${3:?}
shift 3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

wrong()
{
    echo "$ranks ranks: $*"
    cat "$work/out" "$work/err"
    exit 1
}

timeout -k 5 60 "$@" "$ranks" "$program" >"$work/out" 2>"$work/err" ||
    wrong "by MPI alone"
echo "by MPI:    $(cat "$work/out")"
ROTA_MPI_AFTER=0 ROTA_STATS=1 timeout -k 5 60 "$run" "$@" "$ranks" "$program" >"$work/out" \
    2>"$work/err" || wrong "with librota_mpi"
echo "by Rota:   $(cat "$work/out")"
grep 'MPI_Alltoallv calls' "$work/err"
# Two exchanges in every transform.
grep -q 'MPI_Alltoallv calls=\([0-9]*\) by_rota=[0-9]*[0-9][0-9][0-9] ' "$work/err" ||
    wrong "they did not go by Rota"
