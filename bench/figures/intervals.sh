#!/bin/sh
# intervals.sh - what is gained by plans, over the ranges of what is not known.
#
#   sh bench/figures/intervals.sh [--samples N] [--machines M,...] [--sizes S,...]
#       [--ranks P] [--csv FILE] [--price PROGRAM]
#   sh bench/figures/intervals.sh --table [--check] [--csv FILE]
#   sh bench/figures/intervals.sh --remake [--seed N] [--rows N] [--csv FILE]
#
# With P ranks (default 1,024), 32 a node (64 on Theta), at N (default 30) machines for
# each file: their prices
# are a Latin hypercube of ranges.csv, which has each range with its source. A range
# "of ns" is in nanoseconds and drawn evenly; one "of file" is in times the price of
# the machine's file and drawn evenly in its logarithm. Prices of long messages change
# with those of short ones, and those of the farther half of a node with the nearer.
# For each, what a plan chooses that knows these prices, the best of the published
# forms that are the best anywhere in docs/chosen.csv or near to it, and MPICH's own
# algorithm, which takes too long to simulate with more than 1,024 ranks: one line of the
# CSV (default docs/intervals.csv), unless it is there.
# Then a table: the median, and from where to where 5 to 95 % of the gains are.
# --table simulates nothing; with --check it prints the lines that docs/scaling.md does
# not have. --remake draws rows with 1,024 ranks (default 2; the seed is by default today's
# date) and says which are not what they would be today. Exit status: 0, 2 for a wrong
# command line, which also is one with a machine or, with --table, a CSV that is not there,
# else 1.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

samples=30 machines=dragonfly,torus,fattree sizes=16,64,512
csv=docs/intervals.csv price=${ROTA_PRICE:-build/bench/rota-price} table='' check='' remake=''
ranks=1024 seed=$(date -u +%Y%m%d) rows=2
while [ $# -gt 0 ]; do
    case $1,${2:-} in
    --table,*)
        table=yes
        shift
        continue ;;
    --check,*)
        check=yes
        shift
        continue ;;
    --remake,*)
        remake=yes
        shift
        continue ;;
    *, | --samples,*[!0-9]* | --ranks,*[!0-9]* | --seed,*[!0-9]* | --rows,*[!0-9]*)
        set -- --wrong x ;;
    esac
    case $1 in
    --samples) samples=$2 ;;
    --machines) machines=$2 ;;
    --sizes) sizes=$2 ;;
    --ranks) ranks=$2 ;;
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

wrong()
{
    echo "intervals.sh: $*" >&2
    exit 2
}

for machine in $(echo "$machines" | tr , ' '); do
    [ -r "bench/machines/$machine.json" ] ||
        wrong "--machines: there is no bench/machines/$machine.json"
done
[ -z "$table$remake" ] || [ -r "$csv" ] || wrong "--table: there is no $csv"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

published=parlogna_published:radix=32,nmpml_published:leaders=32
for radix in 8 32; do
    published=$published,parlinna_coalesced_published:radix=$radix:batch=32
done
for leaders in 4 8 16 32; do
    published=$published,onmpml_published:leaders=$leaders
done

# prices MACHINE: for each sample a line, NAME=NS,... Numbers are drawn by a generator of
# our own: awk's rand differs from one awk to another.
prices()
{
    awk -v n="$samples" '
        function draw(below) {
            state = (state * 69069 + 12345) % 4294967296
            return int(state / 4294967296 * below)
        }
        function add(i, name, ns) {
            line[i] = line[i] (line[i] ? "," : "") name "=" sprintf("%.5g", ns)
        }
        FNR == 1 { file++ }
        file == 1 && match($0, /"[a-z0-9_]+": *[0-9.e+-]+/) {
            split(substr($0, RSTART + 1, RLENGTH - 1), word, /": */)
            ns[word[1]] = word[2]
        }
        file == 1 { next }
        FNR == 1 { FS = ","; state = 34; next }
        {
            split($0, range, ",")
            for (i = 1; i <= n; i++) place[i] = i
            for (i = n; i > 1; i--) {
                j = 1 + draw(i)
                other = place[i]
                place[i] = place[j]
                place[j] = other
            }
            for (i = 1; i <= n; i++) {
                u = (place[i] - 1 + draw(1000) / 1000) / n
                if (range[4] == "ns") {
                    add(i, range[1], range[2] + u * (range[3] - range[2]))
                    continue
                }
                times = range[2] * (range[3] / range[2]) ^ u
                for (k = 0; k < 4; k++) {
                    name = range[1]
                    if (k % 2 && !sub(/_per_/, "_per_long_", name)) continue
                    if (k > 1 && !sub(/^domain_/, "node_", name)) continue
                    if (name in ns) add(i, name, times * ns[name])
                }
            }
        }
        END { for (i = 1; i <= n; i++) print line[i] }' \
        "bench/machines/$1.json" bench/figures/ranges.csv
}

# simulate SHARED ALGOS: on $machine at $changes
simulate()
{
    node=32
    [ "$machine" != theta ] || node=64
    "$price" --simulate --shared "$1" --node "$node" --ranks "$ranks" --size "$size" \
        --dist uniform --prices "bench/machines/$machine.json" \
        --price "$changes" --algos "$2" </dev/null
}

# one: a line of the CSV
one()
{
    mpich=,mpich_scattered
    [ "$ranks" -le 1024 ] || mpich=
    whole=''
    [ "$machine" != theta ] || whole=,onmpml_published:leaders=64
    {
        simulate yes chosen
        simulate no "$published$whole$mpich"
    } | awk -v key="$machine,$ranks,$size,$sample" -v mpich="${mpich:+,}" -v changes="$changes" '
        /^#/ || $1 == "algorithm" { chosen = 0; next }
        $1 == "candidate" { chosen = 1; next }
        chosen { sub(/:pieces=1$/, "", $1); plan = $1 "," $5; next }
        $1 == "mpich_scattered" { mpich = $4; next }
        us == "" || $4 + 0 < us { us = $4 + 0; best = $1 }
        END {
            gsub(/,/, " ", changes)
            if (mpich == "," || plan == "") exit 1
            print key "," plan "," best "," us "," mpich "," changes
        }'
}

if [ -n "$remake" ]; then
    sed 1d "$csv" | awk -v seed="$seed" -f bench/figures/drawn.awk | sort -n | cut -f 2 |
        awk -F, '$2 <= 1024' | head -n "$rows" >"$work/had"
    while IFS=, read -r machine ranks size sample rest; do
        changes=$(echo "${rest##*,}" | tr ' ' ,)
        one || exit 1
    done <"$work/had" >"$work/now"
    diff "$work/had" "$work/now" || exit 1
    echo "seed $seed: $(($(wc -l <"$work/had"))) rows remade"
    exit
fi

if [ -z "$table" ]; then
    columns=machine,P,max_bytes,sample,chosen,chosen_us,published,published_us
    [ -s "$csv" ] || (echo "$columns,mpich_us,prices" >"$csv") 2>/dev/null ||
        wrong "--csv: cannot write $csv"
    for machine in $(echo "$machines" | tr , ' '); do
        sample=0
        prices "$machine" | while read -r changes; do
            sample=$((sample + 1))
            for size in $(echo "$sizes" | tr , ' '); do
                grep -q "^$machine,$ranks,$size,$sample," "$csv" || one >>"$csv" || {
                    echo "intervals.sh: not simulated: $machine, $size bytes" >&2
                    exit 1
                }
            done
        done || exit 1
    done
fi

sed 1d "$csv" | awk -F, '
    # Of the sorted numbers, what so much of them is below.
    function quantile(key, what, part, n, at, low) {
        n = count[key]
        at = 1 + part * (n - 1)
        low = int(at)
        if (low == n) return sorted[key, what, n]
        at -= low
        return (1 - at) * sorted[key, what, low] + at * sorted[key, what, low + 1]
    }
    function insert(key, what, x, i) {
        for (i = count[key]; i > 1 && sorted[key, what, i - 1] > x; i--)
            sorted[key, what, i] = sorted[key, what, i - 1]
        sorted[key, what, i] = x
    }
    function say(key, what, low, high) {
        if (!((key, what, 1) in sorted)) return " | | "
        low = quantile(key, what, 0.05)
        high = quantile(key, what, 0.95)
        return sprintf("%.2f | %.2f to %.2f | %s", quantile(key, what, 0.5), low, high,
                       low > 1 ? "faster" : high < 1 ? "slower" : "open")
    }
    {
        key = $1 " | " $2 " | " $3
        sub(/1024/, "1,024", key)
        sub(/4096/, "4,096", key)
        if (!(key in count)) order[++keys] = key
        count[key]++
        insert(key, "published", $8 / $6)
        if ($9 != "") insert(key, "mpich", $9 / $6)
    }
    END {
        print "| machine | ranks | S | machines | best published over chosen | 5 to 95 % | plan is |" \
            " MPICH over chosen | 5 to 95 % | plan is |"
        print "| --- | ---: | ---: | ---: | ---: | --- | --- | ---: | --- | --- |"
        for (k = 1; k <= keys; k++)
            printf "| %s | %d | %s | %s |\n", order[k], count[order[k]],
                say(order[k], "published"), say(order[k], "mpich")
    }' >"$work/table"
if [ -n "$check" ]; then
    ! grep -vxFf docs/scaling.md "$work/table"
else
    cat "$work/table"
fi
