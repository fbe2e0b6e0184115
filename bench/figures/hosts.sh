#!/bin/sh
# hosts.sh - does the simulator put algorithms in the order in which they run on hosts
# that are one machine?
#
#   sh bench/figures/hosts.sh [--rounds N] [--rates R,...] [--hosts HxQ,...]
#                             [--sizes S,...] [--out FOLDER] [--csv FILE]
#                             [--price PROGRAM] [--measure | --table | --few] [BUILD]
#
# H hosts of Q ranks (tools/cluster.sh; default 4x4,8x2) exchange blocks of uniform
# sizes in [0, S] (default 16 to 16,384 bytes) at each rate (default 1 to 100mbit), N
# times over (default 6); left out is where what one host sends takes more than a tenth
# of a second. Each time is a run of its own, in which all algorithms take turns.
# Results go to FOLDER (default BUILD/hosts); what is there is not run again. Writes to
# FILE (default docs/hosts.csv) for each case and algorithm the median of its runs and
# each of them, and prints for each case what sim_error.sh --order --real says of it.
# --measure only runs, --table does not. With --few one small case of four ranks, anew,
# into another file. Exit status: 0 with --few and --measure, else that of sim_error.sh;
# 1 if a run fails, 77 where this machine permits no hosts.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

rounds=6 rates=1mbit,10mbit,100mbit hosts=4x4,8x2 sizes=16,256,1024,4096,16384
out='' csv=docs/hosts.csv price='' only=''
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=${2:?}; shift ;;
    --rates) rates=${2:?}; shift ;;
    --hosts) hosts=${2:?}; shift ;;
    --sizes) sizes=${2:?}; shift ;;
    --out) out=${2:?}; shift ;;
    --csv) csv=${2:?}; shift ;;
    --price) price=${2:?}; shift ;;
    --measure | --table | --few) only=${1#--} ;;
    -*)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    *) break ;;
    esac
    shift
done
build=${1:-build}
case $build in
/*) ;;
*) build=$PWD/$build ;;
esac
: "${out:=$build/hosts}" "${price:=$build/bench/rota-price}"
if [ "$only" = few ]; then
    rounds=1 rates=10mbit hosts=2x2 sizes=1024 out=$build/hosts_few
    rm -rf "$out"
    [ "$csv" != docs/hosts.csv ] || csv=$out/few.csv
fi
mkdir -p "$out" || exit 1

# algos LEADERS: sweeps of one parameter; forms as published at last.
algos()
{
    printf '%s,' spread_out scattered:batch=4 pairwise xor parlogna:radix=2+4 \
        parlinna_coalesced:radix=2+4 nmpml:leaders="$1" onmpml:leaders="$1" \
        shared_leaders:leaders="$1" shared_leaders_overlapped:leaders="$1"
    echo parlogna_published:radix=2,parlinna_coalesced_published:radix=4:metadata=once
}

# run RATE HxQ SIZE FILE: measure into FILE. Each port lets so little through at once
# that no message of a leader escapes the rate; short exchanges follow each other
# without a barrier, which would take longer than they do.
run()
{
    starts=4 iters=5
    [ "$3" -lt 16384 ] || starts=1
    [ "$1" = 100mbit ] || [ "$3" -lt 1024 ] || starts=2
    [ "$2" != 2x2 ] || iters=2
    sh tools/cluster.sh --rate "$1" --burst 4kb --limit 120 "${2%x*}" "${2#*x}" \
        env LD_PRELOAD="$build/tests/mpi/libcluster_finalize.so" \
        "$build/bench/rota-bench" --sizes "$3" --starts "$starts" \
        --iters "$iters" --block 1 --inits 1 --warmup 1 --touch none \
        --algos "$(algos 1+"${2#*x}")" --csv "$4.part" >"$4.log" 2>&1 </dev/null || {
        status=$?
        cat "$4.log" >&2
        exit "$status"
    }
    mv "$4.part" "$4" || exit 1
}

# A file is RATE-HxQ-SIZE-ROUND.csv.
measure()
{
    round=0
    while [ "$round" -lt "$rounds" ]; do
        round=$((round + 1))
        for rate in $(echo "$rates" | tr , ' '); do
            for each in $(echo "$hosts" | tr , ' '); do
                for size in $(echo "$sizes" | tr , ' '); do
                    [ "$size" -le $((410 * ${rate%mbit})) ] || continue
                    file=$out/$rate-$each-$size-$round.csv
                    [ -e "$file" ] || run "$rate" "$each" "$size" "$file"
                done
            done
        done
    done
}

# Of all that is there, in order of rate, hosts and size.
collect()
{
    echo machine,P,ranks_per_node,kind,dist,max_bytes,name,median_us,each_us,verified
    find "$out" -name '*-*-*-*.csv' | sort -t - -k 1,2 -k 3n -k 4n |
        while read -r file; do
            sed "s/^/$(basename "$file" .csv),/" "$file"
        done | awk -F, '
        { gsub(/"/, "") }
        $2 == "algo" {
            for (i = 2; i <= NF; i++) column[$i] = i
            next
        }
        {
            split($1, at, "-")
            split(at[2], shape, "x")
            name = $column["algo"] ($column["params"] ? ":" $column["params"] : "")
            key = "hosts_" at[1] "," shape[1] * shape[2] "," shape[2] \
                ",fixed,uniform," at[3] "," name
            if (!(key in n)) order[++keys] = key
            each[key] = each[key] sprintf(n[key] ? " %.1f" : "%.1f", $column["median_us"])
            for (i = ++n[key]; i > 1 && v[key, i - 1] > $column["median_us"] + 0; i--)
                v[key, i] = v[key, i - 1]
            v[key, i] = $column["median_us"] + 0
            if ($column["verified"] != "true") wrong[key] = 1
        }
        END {
            for (k = 1; k <= keys; k++) {
                key = order[k]
                m = n[key]
                middle = (v[key, int((m + 1) / 2)] + v[key, int(m / 2) + 1]) / 2
                printf "%s,%.1f,%s,%s\n", key, middle, each[key],
                    key in wrong ? "false" : "true"
            }
        }'
}

if [ "$only" != table ]; then
    measure
    [ "$only" != measure ] || exit 0
    collect >"$out/new" && mv "$out/new" "$csv" || exit 1
fi
sh bench/figures/sim_error.sh --order --real --csv "$csv" --price "$price"
status=$?
[ "$only" = few ] || exit "$status"
grep -c ',true$' "$csv" | grep -qx 18
