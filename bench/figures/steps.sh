#!/bin/sh
# steps.sh - what a step costs that writes what it sends and reads what it receives.
#
#   sh bench/figures/steps.sh [--build BUILD] [--mpiexec "COMMAND"] [--ranks P]
#                             [--against ALGO] [--sizes S,...] [--rounds N]
#                             [--out FOLDER]
#
# Prints a table of docs/measurements.md: equal blocks from malloc, rota_mem_alloc,
# rota_malloc and the malloc of rota-run with ROTA_SHARE=on (256 KiB and more), Rota's
# choice beside MPI's exchange (ALGO: mpi or mpi_persistent). Each round runs
# rota-bench once for each kind of memory. Times are the first and the third quartile
# of the rounds' medians, gains medians of the rounds' ratios. FOLDER (default
# BUILD/steps) keeps what each round found. The MPI is that of BUILD (default: build).
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

build=build mpiexec='' ranks=2 against=mpi_persistent
sizes=64,512,4096,16384,65536,262144,1048576 rounds=5 out=''
while [ $# -gt 1 ]; do
    case $1 in
    --build) build=$2 ;;
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
out=${out:-$build/steps}
mpiexec=${mpiexec:-$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")}
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 \
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mkdir -p "$out" && rm -f "$out"/[0-9]*.csv || exit 1

round=0
while [ "$round" -lt "$rounds" ]; do
    round=$((round + 1))
    for mem in malloc heap local run; do
        option=$mem program=''
        case $mem in
        local) program="env LD_PRELOAD=$PWD/$build/src/librota_heap.so.1" ;;
        run)
            option=malloc
            program="env ROTA_MPI=off ROTA_SHARE=on $build/src/mpi/rota-run" ;;
        esac
        # shellcheck disable=SC2086 # commands and their options
        timeout 120 $mpiexec -n "$ranks" $program "$build/bench/rota-bench" \
            --dist window:0 --sizes "$sizes" --algos "auto,$against" --iters 100 \
            --time-limit 2 --mem "$option" --csv "$out/$round.$mem.csv" \
            </dev/null >"$out/log" || exit 1
    done
done

# Lines of "size column value", sorted by value within a column.
for file in "$out"/[0-9]*.csv; do
    mem=${file%.csv}
    awk -F, -v against="$against" -v mem="${mem##*.}" '
        { gsub(/"/, "") }
        FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["algo"] == against { mpi[$at["max_bytes"]] = $at["step_us"] }
        $at["algo"] == "auto" { rota[$at["max_bytes"]] = $at["step_us"] }
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
    function short(us) {
        return sprintf(us < 10 ? "%.2f" : "%.0f", us)
    }
    function quartiles(key, skip) {
        skip = int((n[key] - 1) / 4)
        return short(value[key, 1 + skip]) " / " short(value[key, n[key] - skip])
    }
    { key = $1 " " $2; value[key, ++n[key]] = $3 }
    $1 != last { last = $1; size[++sizes] = $1 }
    END {
        print "| bytes a block | MPI | malloc | gain | `rota_mem_alloc` | gain |",
            "`rota_malloc` | gain | `rota-run` | gain |"
        print "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
        for (i = 1; i <= sizes; i++) {
            s = size[i]
            printf "| %d | %s |", s, quartiles(s " mpi")
            n_kinds = split("malloc heap local run", kind, " ")
            for (k = 1; k <= n_kinds; k++)
                printf " %s | %.1f |", quartiles(s " " kind[k]),
                    median(s " " kind[k] ".gain")
            print ""
        }
    }'
