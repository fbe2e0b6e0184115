#!/bin/sh
# instructions.sh - instructions that a start and wait take, of plans of each kind.
#
#   sh bench/instruments/instructions.sh [--lines] [--kinds K,...] [--bytes N]
#                                        [BUILD [RANKS...]]
#
# Counts by callgrind, on all ranks of one node, everything inside the calls that
# start and wait in build/bench/rota-instructions, and prints a table: ranks, and for
# each kind (fixed, varying, exchange: all by default; varying+sum, exchange+sum: a sum
# travels with the messages) instructions a start and wait
# (the rank's that has most), and those of each peer beyond the first. RANKS: 2 8 16
# 32 64 by default. --bytes: of a block, 8 by default. MPIEXEC names another mpiexec.
#
# --lines: count cache lines instead, first of data, then of code, that a start and
# wait touch after other work: misses of a cache of 32 KiB that was emptied before the
# start, and lines of 64 bytes with an instruction that ran.
set -eu

kinds=fixed,varying,exchange bytes=8 lines=
while [ $# -gt 0 ]; do
    case $1 in
    --kinds) kinds=${2:?} && shift 2 ;;
    --bytes) bytes=${2:?} && shift 2 ;;
    --lines) lines=cold && shift ;;
    -*) sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    *) break ;;
    esac
done
kinds=$(echo "$kinds" | tr , ' ')
build=${1:-build}
[ "$#" -eq 0 ] || shift
[ "$#" -gt 0 ] || set -- 2 8 16 32 64
mpiexec=${MPIEXEC:-$(command -v mpiexec.mpich || command -v mpiexec)}
folder=$(mktemp -d "${TMPDIR:-/tmp}/rota-instructions.XXXXXX")
trap 'rm -rf "$folder"' EXIT
starts=10

# run RANKS KIND [OPTION...]: by callgrind, with these options, into $folder/out.*.
run()
{
    case $2 in
    fixed) start=rota_start wait=rota_wait ;;
    varying*) start=rota_alltoallv_start wait=rota_wait ;;
    *) start=rota_exchange_start wait=rota_exchange_wait ;;
    esac
    ranks=$1 kind=$2
    shift 2
    rm -f "$folder"/out.*
    # The sleep is long enough for all ranks to have started.
    LD_BIND_NOW=1 timeout 900 "$mpiexec" -n "$ranks" \
        valgrind -q --tool=callgrind --callgrind-out-file="$folder/out.%p" \
        --collect-atstart=no --toggle-collect=$start --toggle-collect=$wait "$@" \
        "$build/bench/rota-instructions" $starts $((60 * (1 + ranks / 4))) "$kind" \
        "$bytes" $lines >"$folder/log" 2>&1 || {
        cat "$folder/log" >&2
        exit 1
    }
}

# count RANKS KIND: instructions a start and wait.
count()
{
    run "$1" "$2"
    cat "$folder"/out.* | awk -v starts=$starts '/^(totals|summary):/ {
        n = $2 / starts; if (n > most) most = n } END { printf "%d", most }'
}

# count_lines RANKS KIND: of data and of code. The first start is one of many.
count_lines()
{
    run "$1" "$2" --cache-sim=yes --D1=32768,8,64 --dump-instr=yes --compress-pos=no
    for out in "$folder"/out.*; do
        awk -v starts=$starts '
            /^0x/ { line[substr($1, 1, length($1) - 2) \
                int(index("0123456789abcdef", substr($1, length($1) - 1, 1)) / 4.01)] }
            /^events:/ { for (i = 2; i <= NF; i++) at[$i] = i }
            /^(totals|summary):/ { data = ($at["D1mr"] + $at["D1mw"]) / starts }
            END { for (l in line) n++; printf "%d %d\n", data + 0.5, n }' "$out"
    done | sort -n | tail -1
}

if [ "$lines" ]; then
    for ranks in "$@"; do
        for kind in $kinds; do
            printf '%6d %-14s %s\n' "$ranks" "$kind" "$(count_lines "$ranks" "$kind")"
        done
    done
    exit
fi

printf '%6s' ranks
for kind in $kinds; do
    printf ' %9s %18s' "$kind" 'each further peer'
done
echo
for ranks in "$@"; do
    printf '%6d' "$ranks"
    for kind in $kinds; do
        n=$(count "$ranks" "$kind")
        each=-
        if [ "$ranks" = "$1" ]; then
            echo "$n" >"$folder/first-$kind"
        elif [ "$ranks" -gt "$1" ]; then
            each=$(((n - $(cat "$folder/first-$kind")) / (ranks - $1)))
        fi
        printf ' %9d %18s' "$n" "$each"
    done
    echo
done
