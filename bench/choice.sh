#!/bin/sh
# choice.sh - is what a plan chooses by itself the best there is?
#
#   sh bench/choice.sh [--cases few|all] [--out FOLDER] [--limit SECONDS]
#
# In simulations (scale.sh): for every machine, prices are made by rota-tune at
# 64 ranks. Then, for each number of ranks, distribution and size, a plan for
# which no algorithm is named runs by these prices, and so does every algorithm
# by itself. Prints a table: the best, the time of the plan over its, MPI's time
# over the plan's, and how well the expected order of algorithms agrees with the
# order seen (Spearman's rank correlation), and how many cases are within 10 %.
# What has been simulated before is taken from FOLDER (default
# build-smpi/choice). Exit status: as of scale.sh.
set -u
export LC_ALL=C

cases=all out=build-smpi/choice limit=300
while [ $# -ge 2 ]; do
    case $1 in
    --cases) cases=$2 ;;
    --out) out=$2 ;;
    --limit) limit=$2 ;;
    *) break ;;
    esac
    shift 2
done
case $#,$cases in
0,few | 0,all) ;;
*)
    echo "usage: sh bench/choice.sh [--cases few|all] [--out FOLDER]" \
        "[--limit SECONDS]" >&2
    exit 2 ;;
esac
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd) || exit 1
cd "$(dirname "$0")/.." || exit 1
price=${ROTA_PRICE:-build/bench/rota-price}

algos=multi_pair,parlogna:radix=2,parlogna:radix=4
algos=$algos,parlogna:radix=8,parlogna:radix=16,parlogna:radix=32
algos=$algos,parlinna_coalesced:radix=2,parlinna_coalesced:radix=4
algos=$algos,parlinna_coalesced:radix=8,parlinna_coalesced:radix=32
algos=$algos,parlinna_staggered:radix=32,mpml:leaders=4,onmpml:leaders=4
algos=$algos,mpi

if [ "$cases" = few ]; then
    machines=dragonfly shapes='64 uniform 16,512'
else
    machines='dragonfly torus fattree'
    shapes='64 uniform 16,64,512,2048,8192
64 powerlaw:0.99 16,64,512,2048,8192
64 sparse:0.1 16,64,512,2048,8192
128 uniform 16,64,512,2048'
fi

# simulate MACHINE OPTION...
simulate()
{
    machine=$1
    shift
    sh bench/scale.sh --machine "$machine" --limit "$limit" "$@" >"$out/log" 2>&1
    status=$?
    [ "$status" -ne 77 ] || { cat "$out/log"; exit 77; }
    [ "$status" -eq 0 ] || grep -e late -e failed "$out/log" >&2
}

# The expected times of all but auto, as rows like those of the simulations.
expect()
{
    for size in $(echo "$4" | tr , ' '); do
        "$price" --algos "$algos" --ranks "$2" --node 32 --size "$size" \
            --dist "$3" --prices "$out/$1.json" --shared no |
            awk -v machine="$1" -v ranks="$2" -v dist="$3" -v size="$size" \
                -v names="$algos" 'BEGIN { split(names, name, ",") }
                NR > 1 { print machine, ranks, dist, size, name[NR - 1], $NF }'
    done
}

: >"$out/expected"
for machine in $machines; do
    if [ ! -s "$out/$machine.json" ]; then
        simulate "$machine" --sizes 16,512,2048,8192 --calibrate "$out/$machine.json"
        # What was chosen by other prices does not count.
        [ ! -s "$out/seen.csv" ] || sed -i "/^$machine,.*,auto,/d" "$out/seen.csv"
    fi
    echo "$shapes" | while read -r ranks dist sizes; do
        [ ! -t 2 ] || echo "$machine, $ranks ranks, $dist" >&2
        simulate "$machine" --ranks "$ranks" --dist "$dist" --sizes "$sizes" \
            --tuning "$out/$machine.json" --csv "$out/seen.csv" --reuse \
            --algos "auto,$algos"
        expect "$machine" "$ranks" "$dist" "$sizes" >>"$out/expected"
    done || exit $?
done

awk '
    function rank_of(list, n, i, k, less, same) {
        less = same = 0
        for (k = 1; k <= n; k++) {
            less += list[k] < list[i]
            same += list[k] == list[i]
        }
        return less + (same + 1) / 2
    }
    # Spearman: the correlation of ranks.
    function agreement(n, x, y, i, a, b, sa, sb, saa, sbb, sab) {
        sa = sb = saa = sbb = sab = 0
        for (i = 1; i <= n; i++) {
            a = rank_of(x, n, i)
            b = rank_of(y, n, i)
            sa += a; sb += b; saa += a * a; sbb += b * b; sab += a * b
        }
        return (n * sab - sa * sb) / \
            sqrt((n * saa - sa * sa) * (n * sbb - sb * sb))
    }
    FILENAME == ARGV[1] {
        split($0, c, ",")
        if (c[2] !~ /^[0-9]/ || c[8] == "") next
        case_of = c[1] " " c[2] " " c[5] " " c[6]
        seen[case_of, c[7]] = c[8]
        next
    }
    {
        case_of = $1 " " $2 " " $3 " " $4
        if (!(case_of in known)) {
            known[case_of] = 1
            order[++cases] = case_of
        }
        expected[case_of, $5] = $6
        if (!($5 in index_of)) { index_of[$5] = ++algos; name[algos] = $5 }
    }
    END {
        print "| machine | P | distribution | S | best | us | auto, us |" \
            " over best | mpi over auto | order kept |"
        print "| --- | ---: | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |"
        for (k = 1; k <= cases; k++) {
            is = order[k]
            best = ""
            n = 0
            for (i = 1; i <= algos; i++) {
                if (!((is, name[i]) in seen)) continue
                us = seen[is, name[i]] + 0
                if (best == "" || us < least) { best = name[i]; least = us }
                x[++n] = us
                y[n] = expected[is, name[i]] + 0
            }
            auto = seen[is, "auto"] + 0
            kept = agreement(n, x, y)
            split(is, part, " ")
            printf "| %s | %s | %s | %s | `%s` | %.1f | %.1f | %.2f | %.1f | %.2f |\n", \
                part[1], part[2], part[3], part[4], best, least, auto, \
                auto / least, seen[is, "mpi"] / auto, kept
            near += auto <= 1.1 * least
            behind += auto > 1.1 * seen[is, "mpi"]
            sum += kept
            if (k == 1 || kept < worst) worst = kept
        }
        printf "\n%d cases: auto within 10 %% of the best in %d (%.0f %%)," \
            " more than 10 %% behind MPI in %d; order kept %.2f in the mean," \
            " %.2f at worst.\n", cases, near, 100 * near / cases, behind, \
            sum / cases, worst
    }' "$out/seen.csv" "$out/expected"
