#!/bin/sh
# judge.sh - is the choice of a plan right in cases that nobody has seen?
#
#   sh bench/figures/judge.sh [--seed N] [--cases N] [--most P] [--wrong PERCENT] [--list]
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
# The same seed draws the same cases. Whoever fits a price or a handicap uses one
# seed, and gives the figures of others. --list only prints the cases.
# Exit status: 0, 2 for a wrong command line, else 1.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

seed=1 cases=60 most=256 wrong=0 list=
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
    --seed | --cases | --most | --wrong) ;;
    *) wrong_usage ;;
    esac
    case ${2:-} in
    '' | *[!0-9]*) wrong_usage ;;
    esac
    case $1 in
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

# What plans do not choose from; batches of 8 lie between those that they do.
others=spread_out:intranode=shm,pairwise:intranode=shm,scattered:batch=8:intranode=shm
others=$others,onmpml:leaders=1:intranode=shm,onmpml:leaders=4:intranode=shm

# Not awk's rand, which differs from one awk to another: draws below 1.
random='
    function draw() { state = (state * 69069 + 1) % 4294967296; return state / 4294967296 }
    function below(n) { return int(n * draw()) }
    BEGIN { state = (seed * 2654435 + 12345) % 4294967296; for (i = 0; i < 8; i++) draw() }'

# "machine node ranks kind distribution size seed", a line for each case
draw_cases()
{
    awk -v seed="$seed" -v cases="$cases" -v most="$most" "$random"'
        BEGIN {
            machines = split("dragonfly torus fattree theta fugaku glex", machine)
            nodes = split("4 6 8 12 16 20 24 32 40 48", node)
            kinds = split("fixed exchange", kind)
            dists = split("uniform powerlaw:0.99 powerlaw:0.9 sparse:0.1 sparse:0.3", dist)
            for (k = 1; k <= cases; k++) {
                do {
                    Q = node[1 + below(nodes)]
                    N = 2 + below(int(most / Q) - 1)
                } while (Q * 2 > most || Q * N > most)
                print machine[1 + below(machines)], Q, Q * N, kind[1 + below(kinds)],
                    dist[1 + below(dists)],
                    int(exp(log(32) + draw() * (log(65536) - log(32))) + 0.5),
                    1 + below(1000000)
            }
        }'
}

# The prices of a machine, each wrong by a factor of its own.
spoil()
{
    awk -v seed="$2" -v wrong="$wrong" "$random"'
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

# What a plan with these prices would take, and what it expects.
choose()
{
    # shellcheck disable=SC2086 # several words
    "$price" --prices "$1" $what --algos chosen </dev/null | awk '
        NR == 2 {
            print $1 ($3 ? ":radix=" $3 : "") ($4 ? ":batch=" $4 : "") \
                ($5 ? ":leaders=" $5 : "")
        }'
}

draw_cases >"$work/cases"
if [ -n "$list" ]; then
    cat "$work/cases"
    exit
fi
echo "machine node ranks kind distribution size seed: chosen us, best us, ratio"
while read -r machine node ranks kind dist size case_seed; do
    what="--kind $kind --node $node --ranks $ranks --size $size --dist $dist --seed $case_seed"
    # shellcheck disable=SC2086 # several words
    "$price" --simulate $what --algos "candidates,$others" \
        --prices "bench/machines/$machine.json" </dev/null >"$work/times" || exit 1
    chosen=
    if [ "$wrong" -gt 0 ]; then
        spoil "$machine" "$case_seed" >"$work/prices.json"
        chosen=$(choose "$work/prices.json") || exit 1
        [ -n "$chosen" ] || exit 1
    fi
    awk -v chosen="$chosen" \
        -v key="$machine $node $ranks $kind $dist $size $case_seed" '
        /^#/ || $1 == "algorithm" { next }
        $1 == "candidate" { candidates = 1; next }
        {
            name = $1
            sub(/:pieces=1$/, "", name)
            us = candidates ? $5 : $4
            if (candidates && chosen == "") chosen = name
            if (name == chosen && candidates) taken = us
            if (best == "" || us + 0 < least) { best = name; least = us + 0 }
        }
        END {
            if (taken == "") { print "not simulated: " chosen > "/dev/stderr"; exit 1 }
            printf "%s: %s %.1f, %s %.1f, %.3f\n", key, chosen, taken, best, least,
                taken / least
        }' "$work/times" | tee -a "$work/rows" || exit 1
done <"$work/cases"
awk -v cases="$cases" '
    { over = $NF; n++; near += over <= 1.1; sum += log(over)
      worst = over > worst ? over : worst; far += over > 1.5 }
    END {
        if (n != cases) exit 1
        printf "%d cases: within 10 %% of the best %d (%.1f %%), above 1.5 times %d," \
            " geometric mean %.3f, worst %.2f\n", n, near, 100 * near / n, far,
            exp(sum / n), worst
    }' "$work/rows"
