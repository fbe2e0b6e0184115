#!/bin/sh
# applications.sh - exchanges of transitive_closure and kcfa at many ranks, simulated.
#
#   sh bench/figures/applications.sh [--out FOLDER] [--build FOLDER] [--ranks P,...]
#                                    [--machine NAME] [--node N] [--algos ALGO,...]
#                                    [--price NAME=NS,...] [--table]
#                                    [--kcfa PROGRAM --k K | GRAPH]
#
# Runs the loop in one process (closure_traffic for GRAPH, kcfa_traffic for PROGRAM),
# which tells what P ranks would send each other, and simulates 16 of its exchanges,
# spread over all, as rota-price --simulate --kind exchange --replay does, 32 ranks a
# node or N, with prices of the machine changed by --price. Prints the mean time of one
# for each number of ranks. What was simulated before is taken from FOLDER (default
# build/applications), with --table nothing else.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

out=build/applications build=build ranks=1024,4096 machine=dragonfly node=32
kcfa='' k=4 graph='' table='' price=
algos=mpich_scattered,parlogna_published:radix=2,parlogna_published:radix=4
algos=$algos,parlinna_coalesced_published:radix=4,onmpml_published:leaders=4
algos=$algos,parlogna:radix=4:intranode=shm,nmpml:leaders=32:intranode=shm
while [ $# -gt 0 ]; do
    case $1 in
    --table)
        table=yes
        shift
        continue ;;
    --out) out=${2:?} ;;
    --build) build=${2:?} ;;
    --ranks) ranks=${2:?} ;;
    --price) price=${2:?} ;;
    --machine) machine=${2:?} ;;
    --node) node=${2:?} ;;
    --algos) algos=${2:?} ;;
    --kcfa) kcfa=${2:?} ;;
    --k) k=${2:?} ;;
    -*)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    *)
        graph=$1
        shift
        continue ;;
    esac
    shift 2
done
mkdir -p "$out" || exit 1

# traffic NAME RANKS: in $out/NAME/RANKS
traffic()
{
    [ -d "$out/$1/$2" ] && return
    mkdir -p "$out/$1" || exit 1
    if [ -n "$kcfa" ]; then
        "$build/examples/kcfa_traffic" --ranks "$ranks" --out "$out/$1" \
            --program "$kcfa" --k "$k"
    else
        mkdir "$out/$1/$2" && "$build/examples/closure_traffic" --ranks "$2" \
            --out "$out/$1/$2" "$graph"
    fi >>"$out/$1/log" || exit 1
}

name=''
[ -z "$kcfa" ] || name="kcfa-$(echo "$kcfa" | tr : -)-$k"
[ -z "$graph" ] || name="closure-$(basename "$graph" .txt)"
for P in $([ -n "$table" ] || [ -z "$name" ] || echo "$ranks" | tr , ' '); do
    traffic "$name" "$P"
    for algo in $(echo "$algos" | tr , ' '); do
        key="$name $machine${price:+:$price} $P $algo"
        grep -q "^$key " "$out/rows" 2>/dev/null && continue
        "${ROTA_PRICE:-$build/bench/rota-price}" --simulate --kind exchange \
            --replay "$out/$name/$P" --node "$node" --shared no --algos "$algo" \
            --prices "bench/machines/$machine.json" ${price:+--price "$price"} \
            </dev/null |
            awk -v key="$key" '
                !/^#/ && $1 != "algorithm" { print key, $4, $5, $6 }' \
                >>"$out/rows" || exit 1
    done
done

awk '
    { print "| " $1 " | " $2 " | " $3 " | `" $4 "` | " sprintf("%.1f", $5) " | " \
        sprintf("%.0f", $6) " | " sprintf("%.2f", $7 / 1e6) " |" }
    BEGIN {
        print "| loop | machine | ranks | algorithm | us | messages | MB |"
        print "| --- | --- | ---: | --- | ---: | ---: | ---: |"
    }' "$out/rows"
