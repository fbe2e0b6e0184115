#!/bin/sh
# chosen.sh - what a plan chooses by itself, beside published forms and MPICH's own.
#
#   sh bench/figures/chosen.sh [--csv FILE] [--price PROGRAM]
#   sh bench/figures/chosen.sh --table [--check] [--csv FILE]
#   sh bench/figures/chosen.sh --remake [--seed N] [--rows N] [--csv FILE]
#   sh bench/figures/chosen.sh --list
#
# With fixed counts, sizes uniform and 32 ranks a node, in two tables: for each machine,
# 1,024 and 4,096 ranks and three sizes by the prices of the machine's file, beside what
# no algorithm can go below (rota-price --algos bound); and with 1,024 ranks by several
# prices of a block that is copied (copied_block) and of a message at a port
# (net_per_message). What a plan chooses and what it takes, the best of all forms as
# published with all their parameters (published.sh), and MPICH's own algorithm, which in
# the first table are docs/simulated.csv's: they are simulated where it lacks them.
#
# Adds lines to FILE (default docs/chosen.csv) where it lacks them, and prints the tables.
# --table simulates nothing; with --check it prints the lines that docs/scaling.md does
# not have. --remake draws rows of FILE with 1,024 ranks (default 2; 0: all rows; the seed
# is by default today's date) and says which are not what they would be today. --list says
# which lines of docs/simulated.csv are used, as simulate.sh does. Exit status: 0, 2 for a
# wrong command line or a CSV that is not there, else 1.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

csv=docs/chosen.csv price=${ROTA_PRICE:-build/bench/rota-price} what=make check=''
seed=$(date -u +%Y%m%d) rows=2
while [ $# -gt 0 ]; do
    case $1,${2:-} in
    --table,* | --remake,* | --list,*)
        what=${1#--}
        shift
        continue ;;
    --check,*)
        check=yes
        shift
        continue ;;
    *, | --seed,*[!0-9]* | --rows,*[!0-9]*) set -- --wrong x ;;
    esac
    case $1 in
    --csv) csv=$2 ;;
    --price) price=$2 ;;
    --seed) seed=$2 ;;
    --rows) rows=$2 ;;
    *)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    esac
    shift 2
done
case $what in
table | remake)
    [ -r "$csv" ] || { echo "chosen.sh: there is no $csv" >&2; exit 2; } ;;
esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# simulate SHARED ALGO,... MACHINE RANKS SIZE BLOCK GAP
simulate()
{
    "$price" --simulate --shared "$1" --node 32 --ranks "$4" --size "$5" \
        --dist uniform --prices "bench/machines/$3.json" \
        ${6:+--price "copied_block=$6,net_per_message=$7"} --algos "$2" </dev/null
}

# one MACHINE RANKS SIZE [BLOCK GAP]: a line of the CSV. Published forms have no shared
# memory; without BLOCK they are those of docs/simulated.csv.
one()
{
    {
        simulate yes bound,chosen "$@"
        [ -z "${4:-}" ] ||
            simulate no "$(sh bench/figures/published.sh "$2" 32),mpich_scattered" "$@"
    } | awk -v key="$1,$2,$3,${4:-},${5:-}" '
        /^#/ || $1 == "algorithm" { chosen = 0; next }
        $1 == "candidate" { chosen = 1; next }
        chosen { sub(/:pieces=1$/, "", $1); plan = $1 "," $5; next }
        $1 == "bound" { bound = $4; next }
        $1 == "mpich_scattered" { mpich = $4; next }
        us == "" || $4 + 0 < us + 0 { us = $4; best = $1 }
        END {
            if (plan == "") exit 1
            print key "," bound "," plan "," best "," us "," mpich
        }'
}

# The rows of both tables: arguments of one.
list()
{
    for ranks in 1024 4096; do
        for machine in dragonfly torus fattree; do
            for size in 16 64 512; do
                echo "$machine $ranks $size"
            done
        done
    done
    for machine_gap in "dragonfly 20" "dragonfly 5" "fattree 20" "torus 40"; do
        for size in 16 64 512; do
            for block in 0 26 100; do
                echo "${machine_gap% *} 1024 $size $block ${machine_gap#* }"
            done
        done
    done
}

# published MACHINE RANKS SIZE: simulates what docs/simulated.csv lacks, or with --list
# only says what it should have.
published()
{
    algos=published,mpich_scattered
    case $2,$3 in
    4096,64 | 4096,512) algos=published ;;
    esac
    # shellcheck disable=SC2086 # perhaps none
    sh bench/figures/simulate.sh $list --price "$price" --machine "$1" --ranks "$2" \
        --sizes "$3" --algos "$algos"
}

table()
{
    awk -F, '
        function number(x) { return sprintf(x < 100 ? "%.1f" : "%.0f", x) }
        function over(a, b, form) { return a == "" ? "-" : sprintf(form, a / b) }
        FNR == 1 { file++; next }
        file == 1 && $4 == "fixed" && $5 == "uniform" && $3 == 32 {
            k = $1 "," $2 "," $6
            if ($7 ~ /_published/ && (!(k in least) || $8 + 0 < least[k])) {
                least[k] = $8 + 0
                best[k] = $7
            }
            if ($7 == "mpich_scattered") mpich[k] = $8
        }
        file == 1 { next }
        FNR == 2 {
            print "| machine | ranks | S | bound | chosen | us | over bound |" \
                " best published | us | over chosen | MPICH over chosen |"
            print "| --- | ---: | ---: | ---: | --- | ---: | ---: | --- | ---: |" \
                " ---: | ---: |"
        }
        $4 == "" {
            k = $1 "," $2 "," $3
            printf "| %s | %d | %d | %s | `%s` | %s | %.2f | ", $1, $2, $3, number($6),
                $7, number($8), $8 / $6
            if (k in best) printf "`%s` | %s | ", best[k], number(least[k])
            else printf "- | - | "
            print over(least[k], $8, "%.2f") " | " over(mpich[k], $8, "%.1f") " |"
            next
        }
        !varied++ {
            print "\n| machine | gap of a port, ns | S | a block copied, ns | chosen | us |" \
                " best published | us | over chosen | MPICH over chosen |"
            print "| --- | ---: | ---: | ---: | --- | ---: | --- | ---: | ---: | ---: |"
        }
        {
            printf "| %s | %d | %d | %d | `%s` | %s | `%s` | %s | %.2f | %.1f |\n",
                $1, $5, $3, $4, $7, number($8), $9, number($10), $10 / $8, $11 / $8
        }' docs/simulated.csv "$csv"
}

list=''
case $what in
list)
    list=--list
    list | while read -r machine ranks size rest; do
        [ -n "$rest" ] || published "$machine" "$ranks" "$size" || exit 1
    done
    exit ;;
remake)
    sed 1d "$csv" | awk -v seed="$seed" -f bench/figures/drawn.awk | sort -n | cut -f 2 |
        awk -F, -v rows="$rows" 'rows == 0 || $2 <= 1024 && n++ < rows' >"$work/had"
    while IFS=, read -r machine ranks size block gap rest; do
        one "$machine" "$ranks" "$size" ${block:+"$block" "$gap"} || exit 1
    done <"$work/had" >"$work/now"
    diff "$work/had" "$work/now" || exit 1
    echo "seed $seed: $(($(wc -l <"$work/had"))) rows remade"
    exit ;;
make)
    columns=machine,P,max_bytes,copied_block,net_per_message,bound_us,chosen,chosen_us
    [ -s "$csv" ] || echo "$columns,published,published_us,mpich_us" >"$csv" || exit 1
    list >"$work/list"
    while read -r machine ranks size block gap; do
        [ -n "$block" ] || published "$machine" "$ranks" "$size" || exit 1
        grep -q "^$machine,$ranks,$size,$block,$gap," "$csv" ||
            one "$machine" "$ranks" "$size" ${block:+"$block" "$gap"} >>"$csv" || exit 1
    done <"$work/list" ;;
esac
table >"$work/table" || exit 1
if [ -n "$check" ]; then
    ! grep -vxFf docs/scaling.md "$work/table"
else
    cat "$work/table"
fi
