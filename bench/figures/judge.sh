#!/bin/sh
# judge.sh - is the choice of a plan right in cases that nobody has seen?
#
#   sh bench/figures/judge.sh [--seed N] [--cases N] [--most P] [--wrong PERCENT] [--list]
#   sh bench/figures/judge.sh --left-out [--seed N] [--cases N] [--most P] [--csv FILE]
#   sh bench/figures/judge.sh --table [--check] [--csv FILE]
#   sh bench/figures/judge.sh --remake [--seed N] [--cases N] [--csv FILE]
#
# Draws cases (default 60) from the seed (default 1): machine of bench/machines, ranks
# of a node and number of nodes (up to P ranks, default 256), kind of plan,
# distribution, largest block of 32 bytes to 64 KiB. Simulates everything that a plan
# chooses from, and some that it does not, and compares what it chooses with the
# best. With --wrong each price of the machine that the choice is given is
# multiplied or divided by up to 1 + PERCENT / 100, drawn from the seed too; what is
# simulated has the right prices. Prints a line for each case, with the seed of its
# sizes, and then how many choices are within 10 % of the best.
#
# With --left-out the machines of bench/machines take turns, and the choice is made
# with prices that are not of the case's machine: those of each other file (but for
# files of the same network under another name), the usual ones, and those that a plan
# has without a tuning file, which are the usual ones with what it finds when it tries
# the network; and, beside, with the right ones and with all wrong by up to 50 %. What
# the choice is compared with has more algorithms that plans do not choose from. Adds a
# line for each to FILE (default docs/choice.csv) unless it has the case, and prints the
# table of --table. With --check that prints the lines that docs/choice.md does not have.
# --remake draws cases from FILE (the seed is by default today's date)
# and says which lines are not what they would be today.
#
# The same seed draws the same cases. Whoever fits a price or a handicap uses one
# seed, and gives the figures of others. --list only prints the cases.
# Exit status: 0, 2 for a wrong command line, else 1.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

seed='' cases=60 most=256 wrong=0 list='' check='' what=draw csv=docs/choice.csv
wrong_usage()
{
    sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case $1 in
    --list)
        list=yes
        shift
        continue ;;
    --check)
        check=yes
        shift
        continue ;;
    --left-out | --table | --remake)
        what=${1#--}
        shift
        continue ;;
    --csv) [ -n "${2:-}" ] || wrong_usage ;;
    --seed | --cases | --most | --wrong)
        case ${2:-} in
        '' | *[!0-9]*) wrong_usage ;;
        esac ;;
    *) wrong_usage ;;
    esac
    case $1 in
    --csv) csv=$2 ;;
    --seed) seed=$2 ;;
    --cases) cases=$2 ;;
    --most) most=$2 ;;
    --wrong) wrong=$2 ;;
    esac
    shift 2
done
[ "$most" -ge 32 ] || wrong_usage
price=${ROTA_PRICE:-build/bench/rota-price}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

machines='dragonfly torus fattree theta fugaku glex'
# What plans do not choose from; batches of 8 lie between those that they do.
others=spread_out:intranode=shm,pairwise:intranode=shm,scattered:batch=8:intranode=shm
others=$others,onmpml:leaders=1:intranode=shm,onmpml:leaders=4:intranode=shm
if [ "$what" != draw ]; then
    # hosts_* are simulated with options of their own.
    machines=''
    for file in bench/machines/*.json; do
        name=$(basename "$file" .json)
        case $name in
        hosts_*) ;;
        *) machines="$machines $name" ;;
        esac
    done
    for name in linear xor mpich_pairwise scattered:batch=2 onmpml:leaders=16 \
        mpml:leaders=1 mpml:leaders=4 nmpml:leaders=1 nmpml:leaders=4 nmpml:leaders=16 \
        parlinna_staggered:radix=4 parlinna_coalesced:radix=2:batch=4 sloav; do
        others=$others,$name:intranode=shm
    done
fi

# Not awk's rand, which differs from one awk to another: draws below 1.
random='
    function draw() { state = (state * 69069 + 1) % 4294967296; return state / 4294967296 }
    function below(n) { return int(n * draw()) }
    BEGIN { state = (seed * 2654435 + 12345) % 4294967296; for (i = 0; i < 8; i++) draw() }'

# "machine node ranks kind distribution size seed", a line for each case
draw_cases()
{
    awk -v seed="${seed:-1}" -v cases="$cases" -v most="$most" -v machines="$machines" \
        -v turns="$([ "$what" = draw ] || echo yes)" "$random"'
        BEGIN {
            machines = split(machines, machine)
            nodes = split("4 6 8 12 16 20 24 32 40 48", node)
            kinds = split("fixed exchange", kind)
            dists = split("uniform powerlaw:0.99 powerlaw:0.9 sparse:0.1 sparse:0.3", dist)
            for (k = 1; k <= cases; k++) {
                do {
                    Q = node[1 + below(nodes)]
                    N = 2 + below(int(most / Q) - 1)
                } while (Q * 2 > most || Q * N > most)
                print machine[1 + (turns ? (k - 1) % machines : below(machines))], Q, Q * N,
                    kind[1 + below(kinds)], dist[1 + below(dists)],
                    int(exp(log(32) + draw() * (log(65536) - log(32))) + 0.5),
                    1 + below(1000000)
            }
        }'
}

# The prices of a machine, each wrong by a factor of its own: MACHINE SEED PERCENT.
spoil()
{
    awk -v seed="$2" -v wrong="$3" "$random"'
        /"ns"/ { priced = 1 }
        priced && match($0, /: *[0-9.e+-]+/) {
            number = substr($0, RSTART + 1, RLENGTH - 1) + 0
            factor = exp((2 * draw() - 1) * log(1 + wrong / 100))
            $0 = substr($0, 1, RSTART) " " sprintf("%.6g", number * factor) \
                substr($0, RSTART + RLENGTH)
        }
        /}/ { priced = 0 }
        { print }' "bench/machines/$1.json"
}

# What a plan with these prices would take: FILE [CHANGES].
choose()
{
    # shellcheck disable=SC2086 # several words
    "$price" --prices "$1" ${2:+--price "$2"} $how --algos chosen </dev/null | awk '
        NR == 2 {
            print $1 ($3 ? ":radix=" $3 : "") ($4 ? ":batch=" $4 : "") \
                ($5 ? ":leaders=" $5 : "")
        }'
}

# The prices of which a plan without a tuning file takes others than the usual ones, as
# src/plan/ranks/network.c does by the times that messages take on the machine with
# nodes of Q ranks: MACHINE Q.
tried()
{
    awk -v Q="$2" '
        match($0, /"[a-z_]+": *[0-9.e+-]+/) {
            split(substr($0, RSTART + 1, RLENGTH - 1), word, /": */)
            if (!(word[1] in ns)) ns[word[1]] = word[2]
        }
        function larger(a, b) { return a > b ? a : b }
        END {
            n = Q < 4 ? Q : 4
            byte = ns["net_per_byte"]
            one = ns["posted"] + ns["posted_receive"] + ns["net_per_phase"]
            posted = larger((n - 1) * larger(ns["posted"] + ns["posted_receive"],
                                             ns["net_per_message"]) / (2 * n), one / 32)
            more = larger(ns["net_per_long_message"] - ns["net_per_message"], 0)
            printf "posted=%.6g,net_per_message=%.6g,net_per_long_message=%.6g," \
                "native_net_per_message=%.6g,native_net_per_long_message=%.6g",
                posted, 20 + 128 * byte, 200 + 128 * byte + more,
                2 * posted + 128 * byte, 2 * posted + 128 * byte + more
            for (native = 0; native < 2; native++) {
                link = (native ? "," "native_" : ",") "net_per_"
                printf "%sphase=%.6g%sbyte=%.6g%slong_byte=%.6g", link, one, link, byte,
                    link, byte
            }
        }' "bench/machines/$1.json"
}

# The network of a machine, whatever the file is called.
family()
{
    echo "$1" | sed 's/^stock_//; s/[0-9]*$//'
}

# The choice by each of the prices, "PRICES NAME".
choose_by_others()
{
    spoil "$machine" "$case_seed" 50 >"$work/prices.json"
    echo "wrong $(choose "$work/prices.json")"
    echo "untuned $(choose usual "$(tried "$machine" "$node")")"
    echo "usual $(choose usual)"
    for other in $machines; do
        [ "$(family "$other")" = "$(family "$machine")" ] ||
            echo "$other $(choose "bench/machines/$other.json")"
    done
}

# judge_case: what is chosen by prices, in $work/chosen as "PRICES NAME" (no NAME: by the
# right ones), as lines "PRICES NAME us BEST us".
judge_case()
{
    # shellcheck disable=SC2086 # several words
    "$price" --simulate $how --algos "candidates,$others" \
        --prices "bench/machines/$machine.json" </dev/null >"$work/times" || exit 1
    awk '
        FNR == 1 { file++ }
        file == 1 && (/^#/ || $1 == "algorithm") { next }
        file == 1 && $1 == "candidate" { candidates = 1; next }
        file == 1 {
            name = $1
            sub(/:pieces=1$/, "", name)
            us = candidates ? $5 : $4
            if (candidates && own == "") own = name
            if (candidates) taken[name] = us
            if (best == "" || us + 0 < least) { best = name; least = us + 0 }
            next
        }
        {
            if ($2 == "") $2 = own
            if (!($2 in taken)) {
                print "not simulated: " $2 > "/dev/stderr"
                exit 1
            }
            print $1, $2, taken[$2], best, least
        }' "$work/times" "$work/chosen"
}

# left_out: the lines of a case, as in the CSV.
left_out()
{
    { echo own; choose_by_others; } >"$work/chosen" || return 1
    judge_case >"$work/judged" || return 1
    awk -v key="$machine,$node,$ranks,$kind,$dist,$size,$case_seed" '
        { printf "%s,%s,%s,%.3f,%s,%.3f\n", key, $1, $2, $3, $4, $5 }' "$work/judged"
}

table()
{
    [ -r "$csv" ] || { echo "judge.sh: there is no $csv" >&2; exit 2; }
    sed 1d "$csv" | awk -F, '
        function group(prices) {
            return prices ~ /^(own|wrong|untuned|usual)$/ ? prices : "other"
        }
        function add(key, over) {
            n[key]++
            near[key] += over <= 1.1
            far[key] += over > 1.5
            sum[key] += log(over)
            if (over > worst[key]) worst[key] = over
        }
        function say(key) {
            return sprintf("%.1f %% | %.1f %% | %.3f | %.2f", 100 * near[key] / n[key],
                           100 * far[key] / n[key], exp(sum[key] / n[key]), worst[key])
        }
        {
            over = $10 / $12
            size = $3 <= 256 ? "up to 256" : "257 to 1,024"
            if (!(($1, $2, $3, $4, $5, $6, $7) in seen)) {
                seen[$1, $2, $3, $4, $5, $6, $7] = 1
                cases[$1]++
                cases[size]++
            }
            if (!($1 in is)) { is[$1] = 1; machine[++machines] = $1 }
            add(size SUBSEP group($8), over)
            add($1 SUBSEP group($8), over)
        }
        END {
            split("own wrong untuned usual other", order, " ")
            words = "its own,its own wrong by up to 50 %,without a tuning file," \
                "the usual ones,another machine" "\047s"
            split(words, word, ",")
            print "| ranks | cases | prices | within 10 % of the best |" \
                " above 1.5 times | geometric mean | worst |"
            print "| --- | ---: | --- | ---: | ---: | ---: | ---: |"
            for (k = 1; k <= 2; k++) {
                size = k == 1 ? "up to 256" : "257 to 1,024"
                for (i = 1; i <= 5 && cases[size]; i++)
                    printf "| %s | %d | %s | %s |\n", size, cases[size], word[i],
                        say(size SUBSEP order[i])
            }
            print ""
            printf "| machine | cases"
            for (i = 1; i <= 5; i++) printf " | %s", word[i]
            print " |"
            print "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
            for (k = 1; k <= machines; k++) {
                printf "| `%s` | %d", machine[k], cases[machine[k]]
                for (i = 1; i <= 5; i++) {
                    key = machine[k] SUBSEP order[i]
                    printf " | %.0f %%, %.2f, %.2f", 100 * near[key] / n[key],
                        exp(sum[key] / n[key]), worst[key]
                }
                print " |"
            }
        }'
}

# Cases of the CSV, drawn.
draw_made()
{
    sed 1d "$csv" | cut -d, -f 1-7 | uniq | tr , ' ' |
        awk -v seed="${seed:-$(date -u +%Y%m%d)}" "$random"'{ print draw(), $0 }' |
        sort -n | cut -d' ' -f 2- | head -n "$cases"
}

case $what in
table)
    table >"$work/table" || exit
    if [ -n "$check" ]; then
        ! grep -vxFf docs/choice.md "$work/table"
    else
        cat "$work/table"
    fi
    exit ;;
remake) draw_made >"$work/cases" ;;
*) draw_cases >"$work/cases" ;;
esac
if [ -n "$list" ]; then
    cat "$work/cases"
    exit
fi
if [ "$what" = left-out ] && [ ! -s "$csv" ]; then
    columns=machine,node,ranks,kind,dist,size,seed,prices,chosen,chosen_us
    (echo "$columns,best,best_us" >"$csv") 2>/dev/null ||
        { echo "judge.sh: cannot write $csv" >&2; exit 2; }
fi
[ "$what" != draw ] ||
    echo "machine node ranks kind distribution size seed: chosen us, best us, ratio"
while read -r machine node ranks kind dist size case_seed; do
    how="--kind $kind --node $node --ranks $ranks --size $size --dist $dist --seed $case_seed"
    key=$machine,$node,$ranks,$kind,$dist,$size,$case_seed,
    case $what in
    left-out)
        grep -q "^$key" "$csv" || left_out >>"$csv" || exit 1
        continue ;;
    remake)
        grep "^$key" "$csv" >"$work/had"
        left_out >"$work/now" || exit 1
        diff "$work/had" "$work/now" >>"$work/differ"
        echo 1 >>"$work/rows"
        continue ;;
    esac
    echo own >"$work/chosen"
    if [ "$wrong" -gt 0 ]; then
        spoil "$machine" "$case_seed" "$wrong" >"$work/prices.json"
        echo "wrong $(choose "$work/prices.json")" >"$work/chosen"
    fi
    judge_case >"$work/judged" || exit 1
    awk -v key="$machine $node $ranks $kind $dist $size $case_seed" '
        { printf "%s: %s %.1f, %s %.1f, %.3f\n", key, $2, $3, $4, $5, $3 / $5 }' \
        "$work/judged" | tee -a "$work/rows"
done <"$work/cases"
case $what in
left-out)
    table
    exit ;;
remake)
    cat "$work/differ"
    echo "$(($(wc -l <"$work/rows"))) cases remade"
    [ ! -s "$work/differ" ]
    exit ;;
esac
awk -v cases="$cases" '
    { over = $NF; n++; near += over <= 1.1; sum += log(over)
      worst = over > worst ? over : worst; far += over > 1.5 }
    END {
        if (n != cases) exit 1
        printf "%d cases: within 10 %% of the best %d (%.1f %%), above 1.5 times %d," \
            " geometric mean %.3f, worst %.2f\n", n, near, 100 * near / n, far,
            exp(sum / n), worst
    }' "$work/rows"
