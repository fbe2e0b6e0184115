#!/bin/sh
# choice.sh - is what a plan chooses by itself the best there is?
#
#   sh bench/figures/choice.sh [--cases few|all|large|real] [--out FOLDER]
#
# Simulated (rota-price --simulate), on the machines of bench/machines: for each
# number of ranks, nodes, kind of plan, distribution and size everything that a
# plan chooses from, with the time that it expects by the machine's prices and the
# time that it takes. With 1,024 ranks only what is expected to take at most three
# times as long as the fastest is simulated. Every other case is for fitting the
# handicaps of a choice; the others judge. Prints a table of all cases and, of both halves, how many are within 10 % of the
# best, how many are more than 5 % behind MPICH's own algorithm, and what other
# handicaps would give. What has been simulated before is taken from FOLDER (default
# build/choice); what a plan expects is found anew.
#
# large: 4,096 ranks, of what is expected to take at most 1.5 times as
# long as the fastest, with the handicaps that plans use. What MPICH takes is from
# docs/simulated.csv, if that has it.
#
# real: measured on this machine, within one node, by rota-bench, which takes
# algorithms in turns; the plan chooses for itself, by the user's tuning or the
# usual prices. Takes some three minutes. MPIEXEC names mpiexec.
#
# Exit status: 0, 2 for a wrong command line, else 1.
set -u
export LC_ALL=C

cases=all out=build/choice
while [ $# -ge 2 ]; do
    case $1 in
    --cases) cases=$2 ;;
    --out) out=$2 ;;
    *) break ;;
    esac
    shift 2
done
case $#,$cases in
0,few | 0,all | 0,large | 0,real) ;;
*)
    echo "usage: sh bench/figures/choice.sh [--cases few|all|large|real] [--out FOLDER]" >&2
    exit 2 ;;
esac
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd) || exit 1
cd "$(dirname "$0")/../.." || exit 1
price=${ROTA_PRICE:-build/bench/rota-price}
bench=${ROTA_BENCH:-build/bench/rota-bench}

# ---- measured ------------------------------------------------------------------

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

if [ "$cases" = real ]; then
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
    exit 0
fi

# ---- simulated -----------------------------------------------------------------

# Of each machine: ranks, those of a node, kind, distribution, sizes.
few='64 32 fixed uniform 16,512'
most='64 32 fixed uniform 16,64,512,2048,8192
64 32 fixed normal 16,512,8192
64 32 fixed normal_mid 16,512,8192
64 32 fixed powerlaw:0.99 16,512,8192
64 32 fixed powerlaw4096:0.99 64,512,8192
64 32 fixed sparse:0.1 16,512,8192
64 8 fixed uniform 16,512,8192
64 16 varying uniform 16,512,2048
64 32 varying powerlaw:0.99 16,512,2048
64 32 varying normal 16,512,2048
64 16 exchange uniform 16,512,2048
64 32 exchange powerlaw4096:0.99 16,512,2048
64 32 exchange normal_mid 16,512,2048
256 32 fixed uniform 16,64,512,2048
256 32 fixed normal 64,512
256 32 fixed normal_mid 64,512
256 32 fixed powerlaw:0.99 64,512
256 32 fixed powerlaw4096:0.99 64,2048
256 32 fixed sparse:0.1 64,2048
256 32 varying uniform 16,512
256 32 varying powerlaw4096:0.99 64,2048
256 32 varying normal_mid 64,512
256 32 exchange uniform 16,512
256 32 exchange powerlaw:0.99 64,512
256 32 exchange normal 64,512
1024 32 fixed uniform 16,64,512
1024 64 fixed uniform 16
1024 32 fixed normal 64
1024 32 fixed normal_mid 512
1024 32 fixed powerlaw:0.99 512
1024 32 fixed powerlaw4096:0.99 64,512
1024 32 fixed sparse:0.1 512
1024 32 varying uniform 16,512
1024 32 varying powerlaw4096:0.99 512
1024 32 exchange uniform 16,512
1024 32 exchange powerlaw4096:0.99 512'
large='4096 32 fixed uniform 16,512
4096 32 fixed powerlaw4096:0.99 512
4096 32 varying uniform 16
4096 32 varying powerlaw4096:0.99 512
4096 32 exchange uniform 16
4096 32 exchange powerlaw4096:0.99 512'
machines='dragonfly torus fattree'
case $cases in
few) machines=dragonfly shapes=$few ;;
all) shapes=$most ;;
large) shapes=$large ;;
esac

# Only what is expected to take at most so many times as long as the fastest is
# simulated.
limit_of()
{
    if [ "$1" -gt 1024 ]; then
        echo 1.5
    elif [ "$1" -eq 1024 ]; then
        echo 3
    else
        echo 1000000
    fi
}

# The candidates with the times that a plan expects, "name us".
expect()
{
    "$price" --prices "bench/machines/$machine.json" --kind "$kind" --node "$node" \
        --ranks "$ranks" --size "$size" --dist "$dist" --algos candidates </dev/null |
        awk '
            NR > 1 {
                print $1 ($3 ? ":radix=" $3 : "") ($4 ? ":batch=" $4 : "") \
                    ($5 ? ":leaders=" $5 : ""), $6
            }'
}

# Simulate those of standard input that have not been: "key name us mean".
simulate()
{
    names=$(awk -v key="$key " -v all="$limit" -v large="$large_case" '
        FILENAME == ARGV[1] { if (index($0, key) == 1) seen[$7] = 1; next }
        { name[FNR] = $1; us[FNR] = $2; n = FNR
          if (FNR == 1 || $2 < least) least = $2 }
        END {
            for (i = 1; i <= n; i++)
                if (us[i] <= all * least && name[i] != "mpi" && !(name[i] in seen))
                    printf "%s,", name[i]
            if (!large && !("mpich_scattered" in seen))
                print "mpich_scattered"
        }' "$times" "$out/one")
    [ -n "$names" ] || return 0
    "$price" --simulate --kind "$kind" --node "$node" --ranks "$ranks" \
        --size "$size" --dist "$dist" --algos "${names%,}" \
        --prices "bench/machines/$machine.json" </dev/null >"$out/new" || return 1
    awk -v key="$key" '
        /^#/ { mean = $(NF - 1) }
        !/^#/ && $1 != "algorithm" { print key, $1, $4, mean }' "$out/new" >>"$times"
}

times=$out/times rows=$out/rows
touch "$times" || exit 1
: >"$rows" || exit 1
echo "$shapes" | while read -r ranks node kind dist sizes; do
    limit=$(limit_of "$ranks")
    large_case=
    [ "$ranks" -le 1024 ] || large_case=yes
    for machine in $machines; do
        for size in $(echo "$sizes" | tr , ' '); do
            key="$machine $ranks $node $kind $dist $size"
            [ ! -t 2 ] || echo "$key" >&2
            expect >"$out/one" && simulate || exit 1
            known=$(awk -F, -v key="$key" '
                $1 " " $2 " " $3 " " $4 " " $5 " " $6 == key &&
                    $7 == "mpich_scattered" { print $8 }' docs/simulated.csv)
            awk -v key="$key" -v known="$known" '
                FILENAME == ARGV[1] {
                    if (index($0, key " ") == 1) { us[$7] = $8; mean = $9 }
                    next
                }
                {
                    name = $1 == "mpi" ? "mpich_scattered" : $1
                    if (us[name] > 0) print key, $1, $2, us[name], mean
                }
                END {
                    if ("mpich_scattered" in us) known = us["mpich_scattered"]
                    if (known != "") print key, "mpich", 0, known, mean
                }' "$times" "$out/one" >>"$rows"
        done || exit 1
    done || exit 1
done || exit 1

awk -v large="$([ "$cases" != large ] || echo yes)" '
    # The choice of a case with handicaps for what forwards blocks, and for what
    # overlaps all its steps.
    function choose(k, forwards, flows,    i, best, least, t) {
        for (i = 1; i <= n[k]; i++) {
            t = expected[k, i]
            if (name[k, i] ~ /^shared_leaders_overlapped/) t *= flows
            else if (name[k, i] !~ /^(multi_pair|mpi)/) t *= forwards
            if (split(name[k, i], part_of, "leaders=") == 2) t *= 1 + 0.01 / part_of[2]
            if (best == 0 || t < least) { best = i; least = t }
        }
        return best
    }
    function judge(half, forwards, flows,    k, i, near, behind, all, worst, over, sum) {
        for (k = 1; k <= cases; k++) {
            if (k % 2 != half) continue
            i = choose(k, forwards, flows)
            all++
            over = seen[k, i] / least[k]
            if (over > worst) worst = over
            near += over <= 1.1
            sum += log(over)
            behind += k in mpich && seen[k, i] > 1.05 * mpich[k]
        }
        return sprintf("%d of %d (%.1f %%) | %.3f | %.2f | %d", near, all,
            100 * near / all, exp(sum / all), worst, behind)
    }
    {
        key = $1 " " $2 " " $3 " " $4 " " $5 " " $6
        if (!(key in number)) {
            number[key] = ++cases
            order[cases] = key
        }
        k = number[key]
        part[k] = $10
        if ($7 == "mpich") { mpich[k] = $9; next }
        i = ++n[k]
        name[k, i] = $7
        expected[k, i] = $8
        seen[k, i] = $9
        if (!(k in least) || $9 < least[k]) { least[k] = $9; best[k] = i }
    }
    END {
        print "| machine | P | node | kind | distribution | mean, S | S | best |" \
            " us | chosen | us | over best | MPICH over chosen |"
        print "| --- | ---: | ---: | --- | --- | ---: | ---: | --- | ---: |" \
            " --- | ---: | ---: | ---: |"
        for (k = 1; k <= cases; k++) {
            i = choose(k, 1.05, 1.2)
            split(order[k], c, " ")
            printf "| %s | %s | %s | %s | %s | %.2f | %s | `%s` | %.1f | `%s` |" \
                " %.1f | %.2f%s | %s |\n", c[1], c[2], c[3], c[4], c[5],
                part[k], c[6], name[k, best[k]], least[k], name[k, i],
                seen[k, i], seen[k, i] / least[k], k % 2 || large ? "" : " *",
                k in mpich ? sprintf("%.1f", mpich[k] / seen[k, i]) : "-"
        }
        if (large) {
            for (k = 1; k <= cases; k++) {
                over = seen[k, choose(k, 1.05, 1.2)] / least[k]
                near += over <= 1.1
                worst = over > worst ? over : worst
            }
            printf "\n%d cases: within 10 %% of the best in %d, at worst %.2f" \
                " times its time.\n", cases, near, worst
            exit
        }
        print "\n*: a case that judges.\n"
        print "| forwards | overlaps | half | within 10 % of the best | mean |" \
            " worst | more than 5 % behind MPICH |"
        print "| ---: | ---: | --- | --- | ---: | ---: | ---: |"
        for (h = 0; h <= 10; h += 5)
            for (f = h; f <= h + 9; f += 3)
                for (half = 1; half >= 0; half--)
                    print "| " h " % | " f " % | " \
                        (half ? "fitting" : "judging") " | " \
                        judge(half, 1 + h / 100, 1 + f / 100) " |"
    }' "$rows"
