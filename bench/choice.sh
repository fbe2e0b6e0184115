#!/bin/sh
# choice.sh - is what a plan chooses by itself the best there is?
#
#   sh bench/choice.sh [--cases few|all|real] [--out FOLDER] [--limit SECONDS]
#
# In simulations (scale.sh): for every machine, prices are made by rota-tune on
# 4 nodes of 16 ranks. Then, for each number of ranks, nodes, distribution and
# size, every algorithm runs by itself; rota-price tells which one a plan
# chooses by these prices, and that runs as well if it is none of them. Prints a
# table: the best, the time of the choice over its, MPI's time over the
# choice's, and how well the expected order of algorithms agrees with the order
# seen (Spearman's rank correlation), and how many cases are within 10 %.
# What has been simulated before is taken from FOLDER (default
# build-smpi/choice).
#
# real: measured on this machine, within one node, by rota-bench, which takes
# algorithms in turns; the plan chooses for itself, by the user's tuning or the
# usual prices. Takes some three minutes. MPIEXEC names mpiexec.
#
# Exit status: 0, 77 without SimGrid, 2 for a wrong command line, else 1.
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
0,few | 0,all | 0,real) ;;
*)
    echo "usage: sh bench/choice.sh [--cases few|all|real] [--out FOLDER]" \
        "[--limit SECONDS]" >&2
    exit 2 ;;
esac
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd) || exit 1
cd "$(dirname "$0")/.." || exit 1
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
        --block "$6" --time-limit "$5" --csv "$out/real.csv" >"$out/log" 2>&1 ||
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

# What every case runs, on nodes of so many ranks, of so many in all.
algos_for()
{
    printf 'multi_pair'
    printf ',parlogna:radix=%s' 2 4 8 16 32
    for radix in 2 4 8 16 32; do
        [ "$radix" -gt "$1" ] || [ "$radix,$1" = 16,32 ] ||
            printf ',parlinna_coalesced:radix=%s' "$radix"
    done
    for radix in 2 4 8; do # with two nodes it is the coalesced form
        [ "$2" -le $((2 * $1)) ] ||
            printf ',parlinna_logarithmic:radix=%s' "$radix"
    done
    printf ',parlinna_staggered:radix=%s,mpml:leaders=4,onmpml:leaders=4,mpi' "$1"
}

# Of each machine: ranks, those of a node, distribution, sizes.
few='64 32 uniform 16,512'
most='64 32 uniform 16,64,512,2048,8192
64 32 powerlaw:0.99 16,64,512,2048,8192
64 32 sparse:0.1 16,64,512,2048,8192
128 32 uniform 16,64,512,2048'
shapes_of()
{
    case $cases,$1 in
    few,*) echo "$few" ;;
    *,fattree) echo "$most" | sed '/:/s/,8192//'
        echo '64 16 uniform 16,64,512,2048' ;;
    *) echo "$most"
        echo '64 8 uniform 16,64,512,2048,8192' ;;
    esac
}
machines=dragonfly
[ "$cases" = few ] || machines='dragonfly torus fattree'

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

# expect MACHINE RANKS NODE DIST SIZE ALGOS: microseconds, as rows like those of
# the simulations; the algorithms have the names that they have there.
expect()
{
    "$price" --algos "$6" --ranks "$2" --node "$3" --size "$5" --dist "$4" \
        --prices "$out/$1.json" --shared no |
        awk -v key="$1 $2 $3 $4 $5" 'NR > 1 {
            name = $1
            if ($3 > 0) name = name ":radix=" $3
            if ($4 > 0 && $4 != 32) name = name ":batch=" $4
            if ($5 > 0) name = name ":leaders=" $5
            print key, name, $6
        }'
}

: >"$out/expected"
: >"$out/chosen"
for machine in $machines; do
    [ -s "$out/$machine.json" ] ||
        simulate "$machine" --ranks 64 --node 16 --sizes 16,512,2048,8192 \
            --calibrate "$out/$machine.json"
    shapes_of "$machine" | while read -r ranks node dist sizes; do
        algos=$(algos_for "$node" "$ranks")
        [ ! -t 2 ] || echo "$machine, $ranks ranks, $dist" >&2
        simulate "$machine" --ranks "$ranks" --node "$node" --dist "$dist" \
            --sizes "$sizes" --csv "$out/seen.csv" --reuse --algos "$algos"
        for size in $(echo "$sizes" | tr , ' '); do
            expect "$machine" "$ranks" "$node" "$dist" "$size" "$algos" \
                >>"$out/expected"
            expect "$machine" "$ranks" "$node" "$dist" "$size" candidates |
                head -n 1 >>"$out/chosen"
            simulate "$machine" --ranks "$ranks" --node "$node" --dist "$dist" \
                --sizes "$size" --csv "$out/seen.csv" --reuse \
                --algos "$(tail -n 1 "$out/chosen" | cut -d ' ' -f 6)"
        done
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
        seen[c[1] " " c[2] " " c[3] " " c[5] " " c[6], c[7]] = c[8] + 0
        next
    }
    { is = $1 " " $2 " " $3 " " $4 " " $5 }
    FILENAME == ARGV[2] {
        chosen[is] = $6
        order[++cases] = is
        next
    }
    {
        expected[is, $6] = $7
        if (!($6 in index_of)) { index_of[$6] = ++algos; name[algos] = $6 }
    }
    END {
        print "| machine | P | node | distribution | S | best | us | chosen |" \
            " us | over best | mpi over chosen | order kept |"
        print "| --- | ---: | ---: | --- | ---: | --- | ---: | --- | ---: |" \
            " ---: | ---: | ---: |"
        for (k = 1; k <= cases; k++) {
            is = order[k]
            if (!((is, chosen[is]) in seen && (is, "mpi") in seen)) {
                print "no time of mpi or " chosen[is] ": " is >"/dev/stderr"
                missing++
                continue
            }
            best = chosen[is]
            us = least = seen[is, best]
            n = 0
            for (i = 1; i <= algos; i++) {
                if (!((is, name[i]) in seen && (is, name[i]) in expected))
                    continue
                x[++n] = seen[is, name[i]]
                y[n] = expected[is, name[i]] + 0
                if (x[n] < least) { best = name[i]; least = x[n] }
            }
            kept = agreement(n, x, y)
            split(is, part, " ")
            printf "| %s | %s | %s | %s | %s | `%s` | %.1f | `%s` | %.1f |" \
                " %.2f | %.1f | %.2f |\n", part[1], part[2], part[3], part[4],
                part[5], best, least, chosen[is], us, us / least,
                seen[is, "mpi"] / us, kept
            near += us <= 1.1 * least
            behind += us > 1.1 * seen[is, "mpi"]
            sum += kept
            if (worst == "" || kept < worst) worst = kept
        }
        cases -= missing
        printf "\n%d cases: the choice within 10 %% of the best in %d" \
            " (%.0f %%), more than 10 %% behind MPI in %d; order kept %.2f in" \
            " the mean, %.2f at worst.\n", cases, near, 100 * near / cases,
            behind, sum / cases, worst
        exit missing > 0
    }' "$out/seen.csv" "$out/chosen" "$out/expected"
