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

# build MODULE [OPTION]
build()
{
    "$compiler" -cpp -fallow-argument-mismatch "-DMODULE=$1" "-DREQUEST_OF_$1" \
        ${2:+"$2"} -o "$work/$1" "$source" -J "$work" \
        >"$work/out" 2>"$work/err" || wrong "$1: not compiled"
}

for module in mpi mpi_f08 mpif; do
    [ "$module" != "${ROTA_LEFT_OUT:-}" ] || {
        echo "skipped: $module, whose calls this MPI makes by PMPI names"
        continue
    }
    build $module
    # The MPI_Neighbor_alltoallv of MPICH 5.0.2 aborts in mpi_f08 on a grid.
    with "$module, MPI alone" "$@" "$ranks" "$work/$module" || {
        echo "skipped: $module on a grid: MPI alone fails"
        build $module -DGRAPH_ONLY
    }
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
