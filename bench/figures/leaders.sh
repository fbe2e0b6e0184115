#!/bin/sh
# leaders.sh - leaders beside all other forms, on hosts that are one machine.
#
#   sh bench/figures/leaders.sh [--rounds N] [--rates R,...] [--sizes S,...]
#                               [--out FOLDER] [--table] [BUILD]
#
# 4 hosts of 4 ranks (tools/cluster.sh) exchange blocks of uniform sizes in [0, S]
# at each rate and size, N times over (default 3); each time is a run of its own,
# which chooses by itself and times all forms in turns. Results go to FOLDER
# (default build/leaders); what is there is not run again. Then it prints a table:
# per rate and size the medians over the runs. --table runs nothing. BUILD is the
# folder with rota-bench (default build). A rate of 0 is no limit.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

rounds=3 rates=100mbit,1gbit,10gbit,0 sizes=16,1024,4096,16384,65536
out='' table=no
while [ $# -gt 0 ]; do
    case $1 in
    --rounds) rounds=${2:?}; shift ;;
    --rates) rates=${2:?}; shift ;;
    --sizes) sizes=${2:?}; shift ;;
    --out) out=${2:?}; shift ;;
    --table) table=yes ;;
    -*)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    *) break ;;
    esac
    shift
done
build=${1:-build}
: "${out:=$build/leaders}"
mkdir -p "$out" || exit 1

forms=auto,multi_pair,parlogna:radix=2+4,parlinna_coalesced,parlinna_logarithmic
forms=$forms,l_a2a,nmpml:leaders=1+4,onmpml:leaders=1+4
forms=$forms,shared_leaders:leaders=1+2+4
forms=$forms,shared_leaders_overlapped:leaders=1+2+4

# run RATE SIZE FILE: measure into FILE.csv, what was chosen into FILE.plan.
run()
{
    starts=10 iters=15 mpi=''
    [ "$2" -lt 16384 ] || starts=4 iters=9
    [ "$1" != 100mbit ] || [ "$2" -lt 4096 ] || starts=4 iters=5
    [ "$1" != 100mbit ] || [ "$2" -lt 65536 ] || starts=2 iters=2
    [ "$2" -gt 1024 ] || mpi=,mpi
    limit="--rate $1"
    [ "$1" != 0 ] || limit=''
    # shellcheck disable=SC2086
    sh tools/cluster.sh $limit --limit 120 4 4 env ROTA_EXPLAIN=1 \
        LD_PRELOAD="$PWD/$build/tests/mpi/libcluster_finalize.so" \
        "$build/bench/rota-bench" --sizes "$2" --starts "$starts" \
        --iters "$iters" --block 1 --inits 1 --warmup 1 --touch none \
        --algos "$forms$mpi" --csv "$3.part" </dev/null 2>&1 |
        awk '$1 == "algorithm" { a = $2; n = "" }
             $1 == "leaders" || $1 == "radix" { n = n ":" $1 "=" $2 }
             $1 == "candidate" && $2 ~ /^multi_pair/ && !seen++ {
                 print a n
             }' \
            >"$3.plan"
    mv "$3.part" "$3.csv" || exit 1
}

round=0
while [ "$table" = no ] && [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    for rate in $(echo "$rates" | tr , ' '); do
        for size in $(echo "$sizes" | tr , ' '); do
            file=$out/$rate-$size-$round
            [ -e "$file.csv" ] || run "$rate" "$size" "$file"
        done
    done
done

# Of each run the ratios, of those the medians: what disturbs a run disturbs all
# forms in it. The chosen form has been timed twice, by itself and by name.
for csv in "$out"/*.csv; do
    cell=$(basename "$csv" .csv)
    sed "s/^/$cell,$(cat "${csv%.csv}.plan"),/" "$csv"
done | awk -F, -v rates="$rates" -v sizes="$sizes" '
    function keep(name, x) { v[key, name, ++n[key, name]] = x }
    function median(k, name,  m, i, j, x) {
        m = n[k, name]
        for (i = 2; i <= m; i++)
            for (j = i; j > 1 && v[k, name, j] < v[k, name, j - 1]; j--) {
                x = v[k, name, j]
                v[k, name, j] = v[k, name, j - 1]
                v[k, name, j - 1] = x
            }
        return m % 2 ? v[k, name, (m + 1) / 2] \
                     : (v[k, name, m / 2] + v[k, name, m / 2 + 1]) / 2
    }
    function least(group, us) {
        if (!(group in best) || us < best[group])
            best[group] = us
    }
    function close_run(  us) {
        if (run == "")
            return
        us = twin ? (own + twin) / 2 : own
        keep("us", us)
        keep("without", us / best["without"])
        keep("best", us / best["all"])
        keep("gain", best["without"] / best["shared"])
        keep("send", best["send"] / best["shared"])
        if (mpi)
            keep("mpi", mpi / us)
        if (!index(", " plans[key] ",", ", " plan ","))
            plans[key] = plans[key] (plans[key] ? ", " : "") plan
        delete best
        own = twin = mpi = 0
    }
    { gsub(/"/, "") }
    $3 == "algo" { next }
    $1 != run {
        close_run()
        run = $1
        plan = $2
        split($1, at, "-")
        key = at[1] " " at[2]
        bytes[key] = $12
    }
    {
        name = $4 ? $3 ":" $4 : $3
        us = $16
    }
    name == "auto" { own = us; next }
    name == "mpi" { mpi = us; next }
    name == plan { twin = us }
    { least("all", us) }
    name ~ /^shared/ { least("shared", us); next }
    name ~ /^(multi|parl)/ { least("without", us); next }
    { least("send", us) }
    END {
        close_run()
        print "| rate | S | wire | chosen | us | runs | over best | over best without |" \
            " without / shared | send / shared | MPICH / chosen |"
        print "| --- | ---: | ---: | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |"
        nr = split(rates, rate, ",")
        ns = split(sizes, size, ",")
        for (r = 1; r <= nr; r++)
            for (s = 1; s <= ns; s++) {
                k = rate[r] " " size[s]
                if (!(k in bytes))
                    continue
                bits = rate[r] * (rate[r] ~ /g/ ? 1000 : 1) # a microsecond
                median(k, "us")
                printf "| %s | %d | %s | `%s` | %.0f | %.0f to %.0f | %.2f |" \
                    " %.2f | %.2f | %.2f | %s |\n", rate[r] == 0 ? "none" : rate[r],
                    size[s], bits ? sprintf("%.0f", bytes[k] * 6 / 4 / bits) : "",
                    plans[k], median(k, "us"), v[k, "us", 1],
                    v[k, "us", n[k, "us"]], median(k, "best"),
                    median(k, "without"), median(k, "gain"), median(k, "send"),
                    n[k, "mpi"] ? sprintf("%.1f", median(k, "mpi")) : ""
            }
    }'
