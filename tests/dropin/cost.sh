#!/bin/sh
# cost.sh RUN PROGRAM VALGRIND MPIEXEC... - instructions that librota_mpi adds to a call
# that MPI takes, by callgrind. PROGRAM is that of cost.c; MPIEXEC... goes up to and
# including the option that takes the number of ranks.
set -u
run=${1:?}
program=${2:?}
valgrind=${3:?}
shift 3
calls=100 # of cost.c
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=no

# WHAT:MOST: no call of WHAT takes more instructions on top of MPI's own.
for limit in pass:80 life:350; do
    what=${limit%:*}
    rm -f "$work"/out.*
    ROTA_MPI_AFTER=1000000 LD_BIND_NOW=1 timeout -k 5 100 "$run" "$@" 2 \
        "$valgrind" -q --tool=callgrind --callgrind-out-file="$work/out.%p" \
        --collect-atstart=no --toggle-collect=counted "$program" "$what" \
        >"$work/log" 2>&1 || {
        cat "$work/log"
        exit 1
    }
    for out in "$work"/out.*; do
        callgrind_annotate --auto=no --threshold=100 --inclusive=yes "$out"
    done >"$work/costs"
    n=$(tr -d , <"$work/costs" | awk -v calls=$calls '
        /:PMPI_Alltoallv / { mpi += $1 }
        /:MPI_Alltoallv / { all += $1; ranks++ }
        END { printf "%d", ranks ? (all - mpi) / ranks / calls : 999999 }')
    echo "$what: $n instructions more than MPI"
    [ "$n" -gt 0 ] && [ "$n" -le "${limit#*:}" ] || failed=yes
done
[ "$failed" = no ]
