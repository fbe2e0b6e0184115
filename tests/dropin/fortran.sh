#!/bin/sh
# fortran.sh RUN COMPILER MPIEXEC... - fortran.f90 under librota_mpi, with the
# module mpi, whose requests are Rota's, and with mpi_f08, whose are MPI's.
# Arguments as for dropin.sh.
set -u
run=${1:?}
compiler=${2:?}
shift 2
source=$(cd "$(dirname "$0")" && pwd)/fortran.f90
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export ROTA_MPI_AFTER=0 ROTA_MPI_IALLTOALLV=on ROTA_STATS=1

command -v "$compiler" >/dev/null || {
    echo "no Fortran compiler of MPI: $compiler"
    exit 77
}
cd "$work" || exit 1
for module in mpi mpi_f08; do
    "$compiler" -cpp -fallow-argument-mismatch -DMODULE=$module \
        "-DREQUEST_OF_$module" -o $module "$source" >out 2>&1 || {
        cat out
        exit 1
    }
    timeout -k 5 60 "$run" "$@" 2 ./$module >out 2>&1 &&
        [ "$(grep -c 'wrong  *0$' out)" -eq 2 ] || {
        echo "module $module:"
        cat out
        exit 1
    }
    [ $module = mpi ] || {
        grep -q "^rota_mpi: rank 0: requests of mpi_f08 are MPI's" out && continue
        echo "module $module: no word of why"
        cat out
        exit 1
    }
    grep -q 'MPI_Alltoallv_init calls=1 by_rota=1' out &&
        grep -q 'MPI_Alltoallv calls=3 by_rota=3' out &&
        grep -q 'MPI_Ialltoallv calls=3 by_rota=2' out || {
        echo "module $module: not by Rota"
        cat out
        exit 1
    }
done
