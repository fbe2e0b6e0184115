#!/bin/sh
# choice.sh - is what a plan chooses by itself the best there is, on this machine?
#
#   sh bench/figures/choice.sh [--out FOLDER]
#
# Measured within one node, with 2 and 4 ranks, by rota-bench, which takes algorithms in
# turns; the plan chooses for itself, by the user's tuning or the usual prices. Prints a
# table of all cases, and in how many the choice is within 10 % of the best. FOLDER
# (default build/choice) gets what rota-bench writes. Takes some three minutes. MPIEXEC
# names mpiexec. What is simulated is judged by judge.sh.
#
# Exit status: 0, 2 for a wrong command line, else 1.
set -u
export LC_ALL=C

out=build/choice
if [ $# -eq 2 ] && [ "$1" = --out ]; then
    out=$2
elif [ $# -gt 0 ]; then
    sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
    exit 2
fi
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
bench=${ROTA_BENCH:-build/bench/rota-bench}

real_algos=multi_pair,scattered:batch=4,spread_out,pairwise,parlogna:radix=2
real_algos=$real_algos,parlogna:radix=4,rota_mpi,mpi_persistent

# As rows: P, distribution, size, algorithm, microseconds. Iterations are as
# many as there is time for, in seconds.
measure()
{
    rm -f "$out/real.csv"
    timeout -k 5 60 "${MPIEXEC:-mpiexec}" -n "$1" "$bench" --dist "$2" \
        --sizes "$3" --algos "auto,mpi,$real_algos" --iters "$4" --inits 1 \
        --block "$6" --touch none --time-limit "$5" --csv "$out/real.csv" \
        >"$out/log" 2>&1 ||
        { tail -n 3 "$out/log" >&2; exit 1; }
    awk -F, -v ranks="$1" -v dist="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
        {
            gsub(/"/, "")
            params = $column["params"]
            print ranks, dist, $column["max_bytes"],
                $column["algo"] (params == "" ? "" : ":" params),
                $column["median_us"]
        }' "$out/real.csv"
}

cores=$(getconf _NPROCESSORS_ONLN)
for ranks in 2 4; do
    for dist in uniform powerlaw:0.9 sparse:0.5; do
        for size in 16 512 8192 65536 1048576; do
            time=4 block=10
            if [ "$ranks" -gt "$cores" ]; then
                # MPI's own takes turns of the scheduler.
                [ "$size" -le 65536 ] || continue
                time=12 block=50
            fi
            measure "$ranks" "$dist" "$size" 2000 "$time" "$block" ||
                exit 1
        done
    done
done >"$out/real" || exit 1
awk '
    {
        is = $1 " " $2 " " $3
        if (!(is in known)) { known[is] = 1; order[++cases] = is }
        seen[is, $4] = $5 + 0
        if ($4 != "auto" && (!(is in least) || $5 + 0 < least[is])) {
            least[is] = $5 + 0
            best[is] = $4
        }
    }
    END {
        print "| P | distribution | S | best | us | auto, us |" \
            " over best | mpi over auto |"
        print "| ---: | --- | ---: | --- | ---: | ---: | ---: | ---: |"
        for (k = 1; k <= cases; k++) {
            is = order[k]
            auto = seen[is, "auto"]
            if (auto < least[is]) { least[is] = auto; best[is] = "auto" }
            split(is, part, " ")
            printf "| %s | %s | %s | `%s` | %.2f | %.2f | %.2f | %.2f |\n",
                part[1], part[2], part[3], best[is], least[is], auto,
                auto / least[is], seen[is, "mpi"] / auto
            near += auto <= 1.1 * least[is]
            behind += auto > 1.1 * seen[is, "mpi"]
        }
        printf "\n%d cases: auto within 10 %% of the best in %d (%.0f %%)," \
            " more than 10 %% behind MPI in %d.\n", cases, near,
            100 * near / cases, behind
    }' "$out/real"
