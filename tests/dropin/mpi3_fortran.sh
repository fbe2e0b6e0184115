#!/bin/sh
# mpi3_fortran.sh RUN COMPILER MPIEXEC... - mpi3.f90 under librota_mpi, with the
# modules mpi and mpi_f08 and with mpif.h. RUN, with MPIEXEC, starts ranks with it.
set -u
run=${1:?}
compiler=${2:?}
shift 2
source=$(cd "$(dirname "$0")" && pwd)/mpi3.f90
ranks=3
limit=60
. "$(dirname "$0")/common.sh"
command -v "$compiler" >/dev/null || {
    echo "no Fortran compiler of MPI: $compiler"
    exit 77
}
export ROTA_MPI_AFTER=0
for module in mpi mpi_f08 mpif; do
    "$compiler" -cpp -fallow-argument-mismatch -DMODULE=$module \
        "-DREQUEST_OF_$module" -o "$work/$module" "$source" -J "$work" \
        >"$work/out" 2>"$work/err" || wrong "$module: not compiled"
    with "$module" "$run" "$@" "$ranks" "$work/$module" || wrong "$what"
    [ "$(grep -c 'wrong  *0$' "$work/out")" -eq "$ranks" ] || wrong "$what"
    for calls in Alltoall:9 Alltoallv:18 Alltoallw:18 Neighbor_alltoall:9 \
        Neighbor_alltoallv:9 Neighbor_alltoallw:9; do
        n=${calls#*:}
        grep -q "^rota_mpi: rank 0: MPI_${calls%:*} calls=$n by_rota=[1-9]" \
            "$work/err" || wrong "$what: MPI_${calls%:*} was not taken"
    done
    for call in Ialltoallw Ineighbor_alltoallw; do
        grep -q "^rota_mpi: rank 0: MPI_$call calls=9 by_rota=0" "$work/err" ||
            wrong "$what: MPI_$call was not counted"
    done
done
