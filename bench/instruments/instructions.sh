#!/bin/sh
# instructions.sh - instructions that a start and wait of 8-byte blocks take.
#
#   sh bench/instruments/instructions.sh [BUILD [RANKS...]]
#
# Counts by callgrind, on all ranks of one node, everything inside rota_start and
# rota_wait of build/bench/rota-instructions, and prints a table: ranks, instructions a
# start and wait (the rank's that has most), and those of each peer beyond the
# first. RANKS: 2 8 16 32 64 by default. MPIEXEC names another mpiexec.
set -eu

build=${1:-build}
[ "$#" -eq 0 ] || shift
[ "$#" -gt 0 ] || set -- 2 8 16 32 64
mpiexec=${MPIEXEC:-$(command -v mpiexec.mpich || command -v mpiexec)}
folder=$(mktemp -d "${TMPDIR:-/tmp}/rota-instructions.XXXXXX")
trap 'rm -rf "$folder"' EXIT
starts=10

# of RANKS: instructions a start and wait.
count()
{
    rm -f "$folder"/out.*
    # The sleep is long enough for all ranks to have started.
    LD_BIND_NOW=1 timeout 900 "$mpiexec" -n "$1" \
        valgrind -q --tool=callgrind --callgrind-out-file="$folder/out.%p" \
        --collect-atstart=no --toggle-collect=rota_start \
        --toggle-collect=rota_wait "$build/bench/rota-instructions" $starts \
        $((60 * (1 + $1 / 4))) >"$folder/log" 2>&1 || {
        cat "$folder/log" >&2
        exit 1
    }
    cat "$folder"/out.* | awk -v starts=$starts '/^(totals|summary):/ {
        n = $2 / starts; if (n > most) most = n } END { printf "%d", most }'
}

printf '%6s %14s %18s\n' ranks instructions 'each further peer'
first=
for ranks in "$@"; do
    n=$(count "$ranks")
    [ -n "$first" ] || { first=$n; first_ranks=$ranks; }
    if [ "$ranks" -gt "$first_ranks" ]; then
        each=$(((n - first) / (ranks - first_ranks)))
    else
        each=-
    fi
    printf '%6d %14d %18s\n' "$ranks" "$n" "$each"
done
