#!/bin/sh
# steps.sh - what a step costs that writes what it sends and reads what it receives.
#
#   sh bench/figures/steps.sh [--bench PROGRAM] [--mpiexec "COMMAND"] [--ranks P]
#                             [--against ALGO] [--sizes S,...] [--rounds N]
#                             [--out FOLDER]
#
# Prints a table of docs/measurements.md: equal blocks from malloc and from
# rota_mem_alloc, Rota's choice beside MPI's exchange (ALGO: mpi or mpi_persistent).
# Each round runs rota-bench once for each kind of memory. Times are medians of the
# rounds' medians, gains medians of the rounds' ratios. FOLDER (default build/steps)
# keeps what each round found.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

bench=build/bench/rota-bench mpiexec=mpiexec.mpich ranks=2 against=mpi_persistent
sizes=64,512,4096,16384,65536,262144,1048576 rounds=5 out=build/steps
while [ $# -gt 1 ]; do
    case $1 in
    --bench) bench=$2 ;;
    --mpiexec) mpiexec=$2 ;;
    --ranks) ranks=$2 ;;
    --against) against=$2 ;;
    --sizes) sizes=$2 ;;
    --rounds) rounds=$2 ;;
    --out) out=$2 ;;
    *) break ;;
    esac
    shift 2
done
if [ $# -gt 0 ]; then
    sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
    exit 2
fi
mkdir -p "$out" && rm -f "$out"/[0-9]*.csv || exit 1

round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    for mem in malloc heap; do
        # shellcheck disable=SC2086 # a command and its options
        timeout 120 $mpiexec -n "$ranks" "$bench" --dist window:0 --sizes "$sizes" \
            --algos "auto,$against" --iters 100 --time-limit 2 --mem "$mem" \
            --csv "$out/$round.$mem.csv" </dev/null >"$out/log" || exit 1
    done
done

# Lines of "size column value", sorted by value within a column.
for file in "$out"/[0-9]*.csv; do
    awk -F, -v against="$against" '
        { gsub(/"/, "") }
        FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["algo"] == against { mpi[$at["max_bytes"]] = $at["step_us"] }
        $at["algo"] == "auto" { rota[$at["max_bytes"]] = $at["step_us"]; mem = $at["mem"] }
        END {
            for (s in rota) {
                print s, "mpi", mpi[s]
                print s, mem, rota[s]
                print s, mem ".gain", mpi[s] / rota[s]
            }
        }' "$file"
done | sort -k1,1n -k2,2 -k3,3g | awk '
    function median(key) {
        return key in n ? value[key, int((n[key] + 1) / 2)] : 0
    }
    { key = $1 " " $2; value[key, ++n[key]] = $3 }
    $1 != last { last = $1; size[++sizes] = $1 }
    END {
        print "| bytes a block | MPI | malloc | gain | `rota_mem_alloc` | gain |"
        print "| ---: | ---: | ---: | ---: | ---: | ---: |"
        for (i = 1; i <= sizes; i++) {
            s = size[i]
            printf "| %d | %.2f | %.2f | %.1f | %.2f | %.1f |\n", s, median(s " mpi"),
                median(s " malloc"), median(s " malloc.gain"), median(s " heap"),
                median(s " heap.gain")
        }
    }'
