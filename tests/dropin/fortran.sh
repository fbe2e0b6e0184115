#!/bin/sh
# fortran.sh RUN COMPILER MPIEXEC... - fortran.f90 under librota_mpi, with the
# modules mpi and mpi_f08 and with mpif.h. Arguments as for dropin.sh.
set -u
run=${1:?}
compiler=${2:?}
shift 2
source=$(cd "$(dirname "$0")" && pwd)/fortran.f90
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export ROTA_MPI_AFTER=0 ROTA_STATS=1

command -v "$compiler" >/dev/null || {
    echo "no Fortran compiler of MPI: $compiler"
    exit 77
}
cd "$work" || exit 1
for module in mpi mpi_f08 mpif; do
    [ "$module" != "${ROTA_LEFT_OUT:-}" ] || {
        echo "skipped: $module, whose calls this MPI makes by PMPI names"
        continue
    }
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
    for line in MPI_Alltoall:9:9 MPI_Ialltoall:9:0 MPI_Alltoall_init:1:1 \
        MPI_Alltoallv:9:9 MPI_Ialltoallv:9:0 MPI_Alltoallv_init:1:1 \
        MPI_Alltoallw_init:1:1 \
        MPI_Neighbor_alltoall:9:9 MPI_Neighbor_alltoall_init:1:1 \
        MPI_Neighbor_alltoallv:9:9 MPI_Neighbor_alltoallv_init:1:1 \
        MPI_Neighbor_alltoallw:9:9 MPI_Neighbor_alltoallw_init:1:1 \
        MPI_Ineighbor_alltoallv:9:0; do
        calls=${line#*:}
        grep -q "${line%%:*} calls=${calls%:*} by_rota=${calls#*:} " out &&
            continue
        echo "module $module: not by Rota: $line"
        cat out
        exit 1
    done
done
