#!/bin/sh
# chosen.sh - what a plan chooses by itself, beside published forms and MPICH's own.
#
#   sh bench/figures/chosen.sh [--csv FILE] [--price PROGRAM] [--out FILE]
#
# For each machine, number of ranks and size: what a plan with fixed counts, sizes
# uniform, 32 ranks a node, would choose by the prices of the machine, and what it
# takes; the best form as published of those in the CSV (docs/simulated.csv), by
# simulate.sh; MPICH's own; and what no algorithm can go below (rota-price --algos
# bound). What was simulated before is taken from FILE (default build/chosen).
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

csv=docs/simulated.csv price=build/bench/rota-price out=build/chosen
while [ $# -gt 0 ]; do
    case $1 in
    --csv) csv=${2:?} ;;
    --price) price=${2:?} ;;
    --out) out=${2:?} ;;
    *)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    esac
    shift 2
done
touch "$out" || exit 1

for machine in dragonfly torus fattree; do
    for ranks in 1024 4096 16384; do
        for size in 16 64 512; do
            [ "$ranks" -lt 16384 ] || [ "$size" -eq 16 ] || continue # hours
            key="$machine $ranks $size"
            grep -q "^$key " "$out" && continue
            "$price" --simulate --node 32 --ranks "$ranks" --size "$size" \
                --dist uniform --algos bound,chosen \
                --prices "bench/machines/$machine.json" </dev/null |
                awk -v key="$key" '
                    $1 == "bound" { bound = $4 }
                    chosen { sub(/:pieces=1$/, "", $1); print key, bound, $1, $5 }
                    $1 == "candidate" { chosen = 1 }' >>"$out" || exit 1
        done
    done
done

awk -F, -v out="$out" '
    $4 == "fixed" && $5 == "uniform" && $3 == 32 {
        k = $1 " " $2 " " $6
        if ($7 ~ /_published/ && (!(k in least) || $8 + 0 < least[k])) {
            least[k] = $8 + 0
            best[k] = $7
        }
        if ($7 == "mpich_scattered") mpich[k] = $8
    }
    function number(x) { return sprintf(x < 100 ? "%.1f" : "%.0f", x) }
    END {
        print "| machine | ranks | S | bound | chosen | us | over bound |" \
            " best published | us | over chosen | MPICH over chosen |"
        print "| --- | ---: | ---: | ---: | --- | ---: | ---: | --- | ---: |" \
            " ---: | ---: |"
        while ((getline line < out) > 0) {
            split(line, c, " ")
            k = c[1] " " c[2] " " c[3]
            printf "| %s | %d | %d | %s | `%s` | %s | %.2f | ", c[1], c[2],
                c[3], number(c[4]), c[5], number(c[6]), c[6] / c[4]
            if (k in best)
                printf "`%s` | %s | %.2f | ", best[k], number(least[k]),
                    least[k] / c[6]
            else
                printf "- | - | - | "
            print (k in mpich ? sprintf("%.1f", mpich[k] / c[6]) : "-") " |"
        }
    }' "$csv"
