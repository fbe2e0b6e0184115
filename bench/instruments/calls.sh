#!/bin/sh
# calls.sh - instructions of exchanges that the drop-in catches.
#
#   sh bench/instruments/calls.sh [--kinds K,...] [--bytes N] [--functions] [--taken]
#                                 [BUILD [RANKS...]]
#
# Counts by callgrind what a repeated call takes, on the last rank, whose messages are
# all there when it calls (rota-taken), and prints a table: ranks, instructions of a
# start and wait of a fixed plan, and for each kind (alltoall, alltoallv and so on) those
# of a call that a plan takes, and those that a call has on top of MPI's own when it is
# passed on. What wakes the ranks that wait is not counted. RANKS: 2 8 by default.
# --bytes: of a block, 8 by default. --functions: also those of each function, of a call
# that is taken. --taken: nothing of calls that are passed on. MPIEXEC names another
# mpiexec of MPICH's.
set -eu

kinds=alltoall,alltoallv,alltoallw,neighbor_alltoall,neighbor_alltoallv
kinds=$kinds,neighbor_alltoallw bytes=8 functions=no passed=yes
while [ $# -gt 0 ]; do
    case $1 in
    --kinds) kinds=${2:?} && shift 2 ;;
    --bytes) bytes=${2:?} && shift 2 ;;
    --functions) functions=yes && shift ;;
    --taken) passed=no && shift ;;
    -*) sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    *) break ;;
    esac
done
kinds=$(echo "$kinds" | tr , ' ')
build=${1:-build}
[ "$#" -eq 0 ] || shift
[ "$#" -gt 0 ] || set -- 2 8
mpiexec=${MPIEXEC:-$(command -v mpiexec.mpich || command -v mpiexec)}
folder=$(mktemp -d "${TMPDIR:-/tmp}/rota-calls.XXXXXX")
trap 'rm -rf "$folder"' EXIT
calls=10

# count RANKS AFTER [--plan] KIND: the instructions of each function of the drop-in and of
# what it calls of Rota, in $folder/costs: a call of $calls that are not the first. With
# --plan those of a fixed plan's start and wait, without the drop-in.
count()
{
    ranks=$1 after=$2 run=$build/src/mpi/rota-run library=librota_mpi
    shift 2
    [ "$1" != --plan ] || run=env library=librota.so
    rm -f "$folder"/out.*
    # The naps are long enough for all ranks to have called.
    ROTA_MPI_AFTER=$after LD_BIND_NOW=1 timeout 900 \
        "$run" "$mpiexec" -n "$ranks" valgrind -q --tool=callgrind \
        --callgrind-out-file="$folder/out.%q{PMI_RANK}" --collect-atstart=no \
        --toggle-collect=repeated "$build/bench/rota-taken" "$@" "$bytes" \
        $((2 * calls)) $((60 * (1 + ranks / 4))) >"$folder/log" 2>&1 || {
        cat "$folder/log" >&2
        exit 1
    }
    callgrind_annotate --auto=no --threshold=100 "$folder/out.$((ranks - 1))" |
        tr -d , | sed 's/(.*%)//' | awk -v calls=$calls -v library="$library" '$0 ~ library {
            sub(".*:", "", $2)
            if ($2 != "ring" && $2 != "rota_wake_word_wake")
                print $1 / calls, $2 }' >"$folder/costs"
}

sum()
{
    awk '{ n += $1 } END { printf "%d", n }' "$folder/costs"
}

printf '%6s %6s' ranks plan
for kind in $kinds; do
    printf ' %20s' "$kind"
done
echo
for ranks in "$@"; do
    count "$ranks" 0 --plan alltoallv
    printf '%6d %6s' "$ranks" "$(sum)"
    for kind in $kinds; do
        count "$ranks" 0 "$kind"
        sort -rn "$folder/costs" >"$folder/taken.$kind"
        taken=$(sum)
        if [ $passed = yes ]; then
            count "$ranks" 1000000 "$kind"
            taken="$taken $(sum)"
        fi
        printf ' %20s' "$taken"
    done
    echo
    for kind in $kinds; do
        [ $functions = no ] || sed "s/^/$kind: /" "$folder/taken.$kind"
    done
done
