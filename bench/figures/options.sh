#!/bin/sh
# options.sh - what is gained by plans, where small messages cost more than on a quiet
# machine whose MPI has no queues.
#
#   sh bench/figures/options.sh [--ranks N,...] [--machines M,...] [--sizes S,...]
#       [--csv FILE] [--price PROGRAM]
#   sh bench/figures/options.sh --table [--check] [--csv FILE]
#   sh bench/figures/options.sh --remake [--seed N] [--cases N] [--csv FILE]
#
# With N ranks (default 256 and 1,024), 32 a node, on the Dragonfly, the torus and the
# fat tree, blocks of 16, 64 and 512 bytes: simulates forms of plans (what a plan chooses
# among them), published forms with their best numbers of leaders, and MPICH's own
# algorithm, without options of rota-price and with each of those named in the script,
# and adds a line for each to FILE (default docs/options.csv) unless it is there. Then
# the table of --table. With --check that prints the lines that docs/scaling.md does not
# have. --remake draws cases of FILE (the seed is by default today's date) and says which
# lines are not what they would be today. Exit status: 0, 2 for a wrong command line, else 1.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

ranks=256,1024 machines=dragonfly,torus,fattree sizes=16,64,512 csv=docs/options.csv
price=${ROTA_PRICE:-build/bench/rota-price} what=make check='' seed=$(date -u +%Y%m%d) cases=3
while [ $# -gt 0 ]; do
    case $1,${2:-} in
    --table,* | --remake,*)
        what=${1#--}
        shift
        continue ;;
    --check,*)
        check=yes
        shift
        continue ;;
    *, | --seed,*[!0-9]* | --cases,*[!0-9]*) set -- --wrong x ;;
    esac
    case $1 in
    --ranks) ranks=$2 ;;
    --machines) machines=$2 ;;
    --sizes) sizes=$2 ;;
    --csv) csv=$2 ;;
    --price) price=$2 ;;
    --seed) seed=$2 ;;
    --cases) cases=$2 ;;
    *)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    esac
    shift 2
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# Names of options, as in the CSV, and what they are. 8 KiB is where MPICH and Open MPI
# change by default on most networks. 10 ns is a cache miss or a few hits.
cat >"$work/options" <<'END'
none
eager --eager 8192
match --match 10
noise --noise 500
late --late 10000
all --eager 8192 --match 10 --noise 500 --late 10000
END

plans=chosen,shared_leaders:leaders=8,shared_leaders:leaders=32
plans=$plans,shared_leaders_overlapped:leaders=8,shared_leaders_overlapped:leaders=32
plans=$plans,multi_pair:batch=32,parlogna:radix=2,parlogna:radix=16
plans=$plans,parlinna_coalesced:radix=32:batch=32,nmpml:leaders=8,onmpml:leaders=8
published=parlogna_published:radix=2,parlogna_published:radix=32
published=$published,parlinna_coalesced_published:radix=32:batch=32
for leaders in 4 8 16 32; do
    published=$published,onmpml_published:leaders=$leaders
done

# one MACHINE RANKS SIZE OPTION: lines of the CSV, with whether it is a plan's form
one()
{
    arguments=$(sed -n "s/^$4 \{0,1\}//p" "$work/options")
    for shared in yes no; do
        algos=$plans
        [ "$shared" = yes ] || algos=$published,mpich_scattered
        # shellcheck disable=SC2086 # several words
        "$price" --simulate --shared "$shared" --node 32 --ranks "$2" --size "$3" \
            --dist uniform --prices "bench/machines/$1.json" $arguments \
            --algos "$algos" </dev/null | awk -v key="$1,$2,$3,$4" '
            /^#/ || $1 == "algorithm" { next }
            $1 == "candidate" { chosen = 1; next }
            { sub(/:pieces=1$/, "", $1) }
            chosen { printf "%s,chosen %s,%.3f\n", key, $1, $5; next }
            { printf "%s,%s,%.3f\n", key, $1, $4 }'
    done
}

table()
{
    [ -r "$csv" ] || { echo "options.sh: there is no $csv" >&2; exit 2; }
    sed 1d "$csv" | awk -F, '
        function low(a, b) { return a == 0 || b < a ? b : a }
        function high(a, b) { return b > a ? b : a }
        {
            case_of = $1 "," $2 "," $3
            if (!(case_of in is)) { is[case_of] = 1; order[++cases] = case_of }
            if (!($4 in known)) { known[$4] = 1; option[++options] = $4 }
            k = case_of SUBSEP $4
            if ($5 ~ /^chosen /) { chosen[k] = $6; next }
            us[k, $5] = $6
            if (!($5 in named)) { named[$5] = 1; algo[++algos] = $5 }
            if ($5 == "mpich_scattered") mpich[k] = $6
            else if ($5 ~ /published/) published[k] = low(published[k], $6)
            if (best[k] == 0 || $6 < best[k]) { best[k] = $6; which[k] = $5 }
        }
        END {
            print "| option | takes longer, plans | MPICH | tau | the fastest is another |" \
                " best published over chosen | MPICH over chosen |"
            print "| --- | ---: | ---: | ---: | ---: | --- | --- |"
            for (o = 1; o <= options; o++) {
                same = pairs = other = least = most = mleast = mmost = longer = mlonger = 0
                for (c = 1; c <= cases; c++) {
                    k = order[c] SUBSEP option[o]
                    k0 = order[c] SUBSEP option[1]
                    for (i = 1; i <= algos; i++)
                        for (j = 1; j < i; j++) {
                            a = us[k0, algo[i]] - us[k0, algo[j]]
                            b = us[k, algo[i]] - us[k, algo[j]]
                            if (a == 0) continue
                            pairs++
                            same += a * b > 0 ? 1 : a * b < 0 ? -1 : 0
                        }
                    other += us[k, which[k0]] > 1.02 * best[k]
                    least = low(least, published[k] / chosen[k])
                    most = high(most, published[k] / chosen[k])
                    mleast = low(mleast, mpich[k] / chosen[k])
                    mmost = high(mmost, mpich[k] / chosen[k])
                    longer += log(chosen[k] / chosen[k0])
                    mlonger += log(mpich[k] / mpich[k0])
                }
                printf "| %s | %.2f | %.2f | %.2f | %d of %d | %.2f to %.2f |" \
                    " %.1f to %.1f |\n", option[o], exp(longer / cases),
                    exp(mlonger / cases), same / pairs, other, cases, least, most, mleast,
                    mmost
            }
        }'
}

case $what in
table)
    table >"$work/table" || exit
    if [ -n "$check" ]; then
        ! grep -vxFf docs/scaling.md "$work/table"
    else
        cat "$work/table"
    fi
    exit ;;
remake)
    sed 1d "$csv" | cut -d, -f 1-4 | uniq |
        awk -v seed="$seed" -f bench/figures/drawn.awk | sort -n | cut -f 2 |
        awk -F, '$2 <= 256' | head -n "$cases" >"$work/cases"
    while IFS=, read -r machine P size option; do
        grep "^$machine,$P,$size,$option," "$csv" >"$work/had"
        one "$machine" "$P" "$size" "$option" >"$work/now" || exit 1
        diff "$work/had" "$work/now" >>"$work/differ"
    done <"$work/cases"
    cat "$work/differ"
    echo "seed $seed: $(($(wc -l <"$work/cases"))) cases remade"
    [ ! -s "$work/differ" ]
    exit ;;
esac
[ -s "$csv" ] || (echo machine,P,max_bytes,option,name,us >"$csv") 2>/dev/null ||
    { echo "options.sh: cannot write $csv" >&2; exit 2; }
for machine in $(echo "$machines" | tr , ' '); do
    for P in $(echo "$ranks" | tr , ' '); do
        for size in $(echo "$sizes" | tr , ' '); do
            while read -r option arguments; do
                grep -q "^$machine,$P,$size,$option," "$csv" ||
                    one "$machine" "$P" "$size" "$option" >>"$csv" || exit 1
            done <"$work/options"
        done
    done
done
table
