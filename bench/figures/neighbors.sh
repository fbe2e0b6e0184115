#!/bin/sh
# neighbors.sh - exchanges among neighbours and sparse ones, simulated.
#
#   sh bench/figures/neighbors.sh [--price PROGRAM] [--out FILE] [--ranks FEW,MANY]
#                                 [--table]
#
# Prints the tables of docs/scaling.md: a halo with 32 and with 8 ranks a node, and
# sparse exchanges. What was simulated before is taken from FILE (default
# build/neighbors). --table simulates nothing.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

price=build/bench/rota-price out=build/neighbors table='' few=1024 many=16384
while [ $# -gt 0 ]; do
    case $1 in
    --price) price=${2:?} ;;
    --out) out=${2:?} ;;
    --ranks) few=${2%,*} many=${2#*,} ;;
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

# one KIND AMONG RANKS NODE SIZE MACHINE ALGOS: a line for each algorithm, with its
# name and microseconds, the chosen one as "chosen=NAME".
one()
{
    grep -q "^$1 $2 $3 $4 $5 $6 " "$out" && return
    "$price" --simulate --kind "$1" --among "$2" --ranks "$3" --node "$4" \
        --size "$5" --prices "bench/machines/$6.json" --algos "$7" </dev/null |
        awk -v key="$1 $2 $3 $4 $5 $6" '
            /^#/ || $1 == "algorithm" { next }
            $1 == "candidate" { chosen = 1; next }
            chosen { print key, "chosen=" $1, $5; next }
            { print key, $1, $4 }' >>"$out"
}

machines='dragonfly torus fattree'
for machine in $([ -n "$table" ] || echo "$machines"); do
    for size in 64 1024 4096 16384; do
        one fixed halo "$few" 32 $size "$machine" mpich_neighbor,neighbor,chosen
    done
    for size in 64 256 1024 4096 16384 65536; do
        one fixed halo "$few" 8 $size "$machine" mpich_neighbor,neighbor,chosen
    done
    for among in halo random:4 random:16; do
        for size in 64 1024; do
            [ "$among $size" != "random:4 1024" ] || continue
            for ranks in "$few" "$many"; do
                one sparse $among "$ranks" 32 $size "$machine" \
                    mpich_counts,by_hand,consensus,chosen
            done
        done
    done
    for size in 64 1024; do
        one fixed halo "$many" 32 $size "$machine" mpich_neighbor,neighbor,chosen
    done
done || exit 1

# Of sparse exchanges the last line is what is chosen.
awk '
    function number(x) { return x < 1000 ? sprintf("%.1f", x) : \
        sprintf("%d,%03d", int(x / 1000), int(x % 1000)) }
    {
        k = $1 " " $2 " " $3 " " $4 " " $5 " " $6
        if (!(k in n)) order[++cases] = k
        n[k]++
        name[k, n[k]] = $7
        us[k, n[k]] = $8 + 0
    }
    END {
        for (part = 1; part <= 2; part++) {
            if (part == 1) {
                print "| ranks | of a node | S | machine | `MPI_Neighbor_alltoallv` | direct |" \
                    " Rota | gain | chosen |"
                print "| ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | --- |"
            } else {
                print "\n| exchange | ranks | S | machine | counts | by hand |" \
                    " `consensus` | chosen | gain |"
                print "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |"
            }
            for (c = 1; c <= cases; c++) {
                k = order[c]
                split(k, at, " ")
                if ((at[1] == "fixed") != (part == 1)) continue
                if (part == 1) {
                    gsub(/^chosen=|:bundle=0$/, "", name[k, 3])
                    printf "| %d | %d | %d | %s | %s | %s | %s | %.2f | `%s` |\n",
                        at[3], at[4], at[5], at[6], number(us[k, 1]),
                        number(us[k, 2]), number(us[k, 3]),
                        us[k, 1] / us[k, 3], name[k, 3]
                } else {
                    printf "| `%s` | %d | %d | %s | %s | %s | %s | %s | %.2f |\n",
                        at[2], at[3], at[5], at[6], number(us[k, 1]),
                        number(us[k, 2]), number(us[k, 3]), number(us[k, 4]),
                        us[k, 2] / us[k, 4]
                }
            }
        }
    }' "$out"
