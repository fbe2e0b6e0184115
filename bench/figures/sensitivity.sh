#!/bin/sh
# sensitivity.sh - what is said of plans, at other prices of the machine.
#
#   sh bench/figures/sensitivity.sh [--price PROGRAM] [--out FILE] [--ranks N]
#                                   [--sizes S,...] [--table]
#
# With 1,024 ranks (--ranks), 32 a node, and 16, 64 and 512 B (--sizes), for several
# prices of a block that is copied (copied_block) and of a message at a port
# (net_per_message): what a plan chooses and what it takes, the best of all forms as
# published (published.sh) and MPICH's own algorithm. What was simulated before is taken
# from FILE (default build/sensitivity). --table simulates nothing.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

price=build/bench/rota-price out=build/sensitivity table=''
ranks=1024 sizes=16,64,512
while [ $# -gt 0 ]; do
    case $1 in
    --price) price=${2:?} ;;
    --out) out=${2:?} ;;
    --ranks) ranks=${2:?} ;;
    --sizes) sizes=${2:?} ;;
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

# simulate SHARED ALGOS: on $machine, as $at has it
simulate()
{
    "$price" --simulate --shared "$1" --node 32 --ranks "$ranks" --size "$size" \
        --dist uniform --prices "bench/machines/$machine.json" \
        --price "copied_block=$block,net_per_message=$gap" --algos "$2" </dev/null
}

# one MACHINE SIZE BLOCK GAP: chosen, us, best published, us, MPICH's us
one()
{
    machine=$1 size=$2 block=$3 gap=$4
    grep -q "^$1 $2 $3 $4 " "$out" && return
    {
        simulate yes chosen
        simulate no "$(sh bench/figures/published.sh "$ranks" 32),mpich_scattered"
    } | awk -v key="$1 $2 $3 $4" '
        /^#/ || $1 == "algorithm" { chosen = 0; next }
        $1 == "candidate" { chosen = 1; next }
        chosen { sub(/:pieces=1$/, "", $1); plan = $1 " " $5; next }
        $1 == "mpich_scattered" { mpich = $4; next }
        us == "" || $4 + 0 < us { us = $4 + 0; best = $1 }
        END { if (mpich != "") print key, plan, best, us, mpich }' >>"$out"
}

if [ -z "$table" ]; then
    for size in $(echo "$sizes" | tr , ' '); do
        for block in 0 26 100; do
            one dragonfly "$size" "$block" 20 || exit 1
            one dragonfly "$size" "$block" 5 || exit 1
            one torus "$size" "$block" 40 || exit 1
            one fattree "$size" "$block" 20 || exit 1
        done
    done
fi

sort -k 1,1 -k 4,4nr -k 2,2n -k 3,3n "$out" | awk '
    function number(x) { return sprintf(x < 100 ? "%.1f" : "%.0f", x) }
    BEGIN {
        print "| machine | gap of a port, ns | S | a block copied, ns | chosen | us |" \
            " best published | us | over chosen | MPICH over chosen |"
        print "| --- | ---: | ---: | ---: | --- | ---: | --- | ---: | ---: | ---: |"
    }
    {
        printf "| %s | %d | %d | %d | `%s` | %s | `%s` | %s | %.2f | %.1f |\n",
            $1, $4, $2, $3, $5, number($6), $7, number($8), $8 / $6, $9 / $6
    }'
