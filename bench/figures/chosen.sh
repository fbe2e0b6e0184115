#!/bin/sh
# chosen.sh - what a plan chooses by itself, beside published forms and MPICH's own.
#
#   sh bench/figures/chosen.sh [--csv FILE] [--price PROGRAM] [--out FILE] [--table | --list]
#
# For each machine, number of ranks and size: what a plan with fixed counts, sizes
# uniform, 32 ranks a node, would choose by the prices of the machine, and what it
# takes; the best of all forms as published with all their parameters (published.sh)
# and MPICH's own, which are simulated where the CSV (docs/simulated.csv) lacks them;
# and what no algorithm can go below (rota-price --algos bound). What plans chose
# before is taken from FILE (default build/chosen). --table simulates nothing, nor does
# --list, which says which lines of the CSV are used, as simulate.sh does.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

csv=docs/simulated.csv price=build/bench/rota-price out=build/chosen table='' list=''
while [ $# -gt 0 ]; do
    case $1 in
    --csv) csv=${2:?} ;;
    --price) price=${2:?} ;;
    --out) out=${2:?} ;;
    --table | --list)
        [ "$1" = --table ] && table=yes || list=--list
        shift
        continue ;;
    *)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    esac
    shift 2
done
[ -n "$list" ] || touch "$out" || exit 1

# choose MACHINE RANKS SIZE
choose()
{
    grep -q "^$1 $2 $3 " "$out" && return
    "$price" --simulate --node 32 --ranks "$2" --size "$3" --dist uniform \
        --algos bound,chosen --prices "bench/machines/$1.json" </dev/null |
        awk -v key="$1 $2 $3" '
            $1 == "bound" { bound = $4 }
            chosen { sub(/:pieces=1$/, "", $1); print key, bound, $1, $5 }
            $1 == "candidate" { chosen = 1 }' >>"$out"
}

for ranks in $([ -n "$table" ] || echo 1024 4096); do
    for machine in dragonfly torus fattree; do
        for size in 16 64 512; do
            algos=published,mpich_scattered
            case $ranks,$size in
            4096,64 | 4096,512) algos=published ;;
            esac
            [ -n "$list" ] || choose "$machine" "$ranks" "$size" || exit 1
            # shellcheck disable=SC2086 # perhaps none
            sh bench/figures/simulate.sh $list --csv "$csv" --price "$price" \
                --machine "$machine" --ranks "$ranks" --sizes "$size" \
                --algos "$algos" || exit 1
        done
    done
done

[ -z "$list" ] || exit 0
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
