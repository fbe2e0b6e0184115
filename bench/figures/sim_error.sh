#!/bin/sh
# sim_error.sh - how far rota-price --simulate is from SimGrid's SMPI.
#
#   sh bench/figures/sim_error.sh [--csv FILE] [--price PROGRAM] [--table]
#
# Every row of docs/scaling.csv, which scale.sh made, is simulated again by
# rota-price on the same machine (bench/machines), except that there a block that is
# copied costs no more than its bytes. Prints each row with both times and
# the difference, or with --table for each machine, number of ranks and
# kind how many rows there are, the median and the largest difference, and of
# which algorithm. SMPI's own algorithms are left out.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

csv=docs/scaling.csv price=build/bench/rota-price table=
while [ $# -gt 0 ]; do
    case $1 in
    --csv) csv=$2 ;;
    --price) price=$2 ;;
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

# One run of rota-price for all algorithms of a case.
rows()
{
    awk -F, 'NR > 1 && $7 !~ /^smpi/ && $NF == "true" {
        key = $1 " " $2 " " $3 " " $4 " " $5 " " $6
        if (!(key in algos)) order[++n] = key
        algos[key] = algos[key] (algos[key] ? "," : "") $7
        times[key] = times[key] " " $8
    }
    END { for (i = 1; i <= n; i++) print order[i], algos[order[i]] times[order[i]] }' \
        "$csv" |
        while read -r machine ranks node kind dist size algos times; do
            # shellcheck disable=SC2086 # several words
            "$price" --simulate --shared no --gaps yes --kind "$kind" \
                --price copied_block=0 \
                --prices "bench/machines/$machine.json" --node "$node" \
                --ranks "$ranks" --size "$size" --dist "$dist" \
                --algos "$algos" </dev/null |
                awk -v key="$machine $ranks $kind $dist $size" \
                    -v times="$times" 'BEGIN { split(times, smpi, " ") }
                    !/^#/ && $1 != "algorithm" {
                        t = smpi[++n]
                        printf "%s %s %.3f %.3f %+.1f\n", key, $1, t, $4,
                            100 * ($4 / t - 1)
                    }'
        done
}

if [ -z "$table" ]; then
    rows
    exit
fi
rows | awk '
    {
        key = $1 " | " $2 " | " $3
        if (!(key in n)) order[++keys] = key
        off = ($9 < 0 ? -$9 : $9) + 0
        i = ++n[key]
        for (; i > 1 && sorted[key, i - 1] > off; i--)
            sorted[key, i] = sorted[key, i - 1]
        sorted[key, i] = off
        if (off > most[key] + 0) {
            most[key] = off
            of[key] = "`" $6 "`, " $5 " B: " ($9 < 0 ? "-" : "+") off " %"
        }
    }
    END {
        print "| machine | ranks | kind | rows | median | 90 % below | largest |"
        print "| --- | ---: | --- | ---: | ---: | ---: | --- |"
        for (k = 1; k <= keys; k++) {
            key = order[k]
            printf "| %s | %d | %.1f %% | %.1f %% | %s |\n", key, n[key],
                sorted[key, int((n[key] + 1) / 2)],
                sorted[key, int(0.9 * n[key] + 0.999)], of[key]
        }
    }'
