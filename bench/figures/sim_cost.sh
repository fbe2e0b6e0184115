#!/bin/sh
# sim_cost.sh - what rota-price --simulate itself takes at many ranks.
#
#   sh bench/figures/sim_cost.sh [--out FILE] [--price PROGRAM] [--ranks N,...]
#                                [--table]
#
# Simulates each kind of exchange on the Dragonfly, 32 ranks a node, 16 bytes, with
# 16,384 and 32,768 ranks, and prints processor time, memory and what came out. What
# was run before is taken from FILE (default build/sim_cost); with --table nothing
# else is. Needs GNU time.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

price=build/bench/rota-price out=build/sim_cost ranks=16384,32768 table=
while [ $# -gt 0 ]; do
    case $1 in
    --price) price=${2:?} ;;
    --out) out=${2:?} ;;
    --ranks) ranks=${2:?} ;;
    --table)
        table=yes
        shift
        continue ;;
    *)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    esac
    shift 2
done
touch "$out" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# one KIND RANKS ALGO: kind, ranks, algorithm, us, messages, seconds, kB
one()
{
    grep -q "^$1 $2 $3 " "$out" && return
    /usr/bin/time -f '%U %S %M' -o "$work/time" "$price" --simulate --kind "$1" \
        --node 32 --ranks "$2" --size 16 --dist uniform --algos "$3" \
        --prices bench/machines/dragonfly.json </dev/null >"$work/row" || exit 1
    awk -v key="$1 $2 $3" '
        FNR == NR { seconds = $1 + $2; memory = $3; next }
        !/^#/ && $1 != "algorithm" { print key, $4, $5, seconds, memory }' \
        "$work/time" "$work/row" >>"$out"
}

more='parlogna:radix=16 parlinna_coalesced:radix=32 parlinna_logarithmic:radix=8
nmpml:leaders=32 shared_leaders:leaders=32'
published='parlogna_published:radix=2 onmpml_published:leaders=4'
for P in $([ -n "$table" ] || echo "$ranks" | tr , ' '); do
    if [ "$P" -gt 16384 ]; then more='' published=''; fi
    for algo in parlogna:radix=2 $more; do
        for kind in fixed varying exchange; do
            one $kind "$P" "$algo"
        done
    done
    for algo in $published; do
        one fixed "$P" "$algo"
    done
done

awk '
    BEGIN {
        print "| ranks | kind | algorithm | messages, 1,000 | simulated, us | s | GB |"
        print "| ---: | --- | --- | ---: | ---: | ---: | ---: |"
    }
    {
        printf "| %d | %s | `%s` | %.0f | %.0f | %.0f | %.2f |\n", $2, $1, $3,
            $5 / 1e3, $4, $6, $7 / 1e6
    }' "$out"
