#!/bin/sh
# cost.sh RUN PROGRAM VALGRIND MPIEXEC... - instructions that librota_mpi adds to a call
# that MPI takes, by callgrind: of each kind, and of the first call on a duplicate.
# PROGRAM is that of cost.c; MPIEXEC... goes up to and including the option that takes
# the number of ranks. What docs/dropin.md says of calls that go to MPI.
set -u
run=${1:?}
program=${2:?}
valgrind=${3:?}
shift 3
calls=100 # of cost.c
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=no

# WHAT:MOST:FUNCTION,...: none of these takes more instructions on top of MPI's own.
all=Alltoall,Alltoallv,Alltoallw
all=$all,Neighbor_alltoall,Neighbor_alltoallv,Neighbor_alltoallw
for limit in "pass:60:$all" life:300:Alltoallv; do
    what=${limit%%:*} functions=${limit##*:} most=${limit#*:}
    most=${most%:*}
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
    done | tr -d , >"$work/costs"
    for function in $(echo "$functions" | tr , ' '); do
        n=$(awk -v calls=$calls -v mpi=":PMPI_$function\$" -v ours=":MPI_$function\$" '
            function ends(name,    i) {
                for (i = 2; i <= NF; i++)
                    if ($i ~ name) return 1
                return 0
            }
            ends(mpi) { below += $1 }
            ends(ours) { all += $1; ranks++ }
            END { printf "%d", ranks ? (all - below) / ranks / calls : 999999 }' \
            "$work/costs")
        echo "$what: MPI_$function: $n instructions more than MPI"
        [ "$n" -gt 0 ] && [ "$n" -le "$most" ] || failed=yes
    done
done
[ "$failed" = no ]
