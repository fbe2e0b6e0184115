#!/bin/sh
# dropin.sh - what programs of one loop gain by the drop-in, beside a plan.
#
#   sh bench/instruments/dropin.sh [--kinds K,...] [--bytes N,...] [--runs N]
#                                  [--calls N] [--untouched] [--beside] [BUILD]
#   sh bench/instruments/dropin.sh --datalog [--runs N] [--ranks N,...] [BUILD]
#
# Runs rota-taken on 2 ranks by MPI alone, by rota-run, and with a fixed plan of Rota's
# on memory of malloc, in turn, and prints a row of a Markdown table for each kind of
# call and size: medians of the microseconds of a step of the last tenth; MPI / drop-in,
# median and least, and drop-in / plan, median and most, each of runs that follow each
# other; of the second half of the calls the least part that Rota had; and the goals that
# some run missed, or "held": MPI / drop-in at least 2, among neighbours 3, up to 80 B and 1
# beyond (with Open MPI 1.3, beside another process 0.95), drop-in / plan at most 2 up to 80
# B and 1.1 beyond (not beside), 99 % taken.
# Kinds: as rota-taken has them. --calls: of 80 B or less, a third as many of more.
# --beside: while another process keeps a core busy. --datalog: the time of the 262
# exchanges of a Datalog engine of 131 steps instead, each from the last rank's call to
# the last return; all of it within them on rank 0; and the part that Rota had.
# BUILD (default: build) decides the MPI; MPIEXEC names another mpiexec.
set -eu

kinds=alltoall,alltoallv,alltoallw,neighbor_alltoallv
kinds=$kinds,alltoall_init,alltoallv_init,alltoallw_init,neighbor_alltoallv_init
sizes=80,4096 runs=10 calls=1000000 options='' beside='' datalog='' counts=4,8
while [ $# -gt 0 ]; do
    case $1 in
    --kinds) kinds=${2:?} && shift 2 ;;
    --bytes) sizes=${2:?} && shift 2 ;;
    --runs) runs=${2:?} && shift 2 ;;
    --calls) calls=${2:?} && shift 2 ;;
    --ranks) counts=${2:?} && shift 2 ;;
    --untouched) options=--untouched && shift ;;
    --beside) beside=yes && shift ;;
    --datalog) datalog=yes && shift ;;
    -*) sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    *) break ;;
    esac
done
build=${1:-build}
cached()
{
    sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}
mpiexec=${MPIEXEC:-$(cached MPIEXEC_EXECUTABLE)}
openmpi=$(cached ROTA_MPI_IS_OPENMPI)
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 \
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
folder=$(mktemp -d "${TMPDIR:-/tmp}/rota-dropin.XXXXXX")
busy=''
trap '[ -z "$busy" ] || kill "$busy"; rm -rf "$folder"' EXIT
if [ -n "$beside" ]; then
    sh -c 'while :; do :; done' &
    busy=$!
fi

# once WAY RANKS ARGUMENT...: its output in $folder/out.
once()
{
    way=$1 ranks=$2
    shift 2
    case $way in
    rota) set -- "$build/src/mpi/rota-run" "$mpiexec" -n "$ranks" \
        "$build/bench/rota-taken" "$@" ;;
    plan) set -- "$mpiexec" -n "$ranks" "$build/bench/rota-taken" --plan "$@" ;;
    *) set -- "$mpiexec" -n "$ranks" "$build/bench/rota-taken" "$@" ;;
    esac
    timeout -k 5 100 "$@" >"$folder/out" 2>&1 || { cat "$folder/out" >&2; exit 1; }
}

# column VALUE FORMAT BEST: VALUE in awk, of $folder/row; BEST: median, least or most.
column()
{
    awk "{ print $1 }" "$folder/row" | sort -g | awk -v f="$2" -v best="$3" '
        { t[NR] = $1 }
        END { m = (t[int((NR + 1) / 2)] + t[int(NR / 2) + 1]) / 2
            printf f, best == "least" ? t[1] : best == "most" ? t[NR] : m }'
}

# goals KIND BYTES: those that a run of $folder/row missed.
goals()
{
    gain=1 plan=1.1
    [ "$2" -gt 80 ] || { gain=2 plan=2; }
    case $1-$2 in
    neighbor_*-?|neighbor_*-??) gain=3 ;;
    esac
    [ -z "$openmpi" ] || gain=1.3
    [ -z "$beside" ] || { gain=0.95 plan=1e9; }
    awk -v gain="$gain" -v plan="$plan" '
        $1 / $2 < gain { few++ }
        $2 / $3 > plan { far++ }
        $4 / $5 < 0.99 { left++ }
        END {
            if (few) out = ", MPI / drop-in " few " of " NR
            if (far) out = out ", drop-in / plan " far " of " NR
            if (left) out = out ", taken " left " of " NR
            print out ? substr(out, 3) : "held" }' "$folder/row"
}

# One line a run: microseconds by MPI, by Rota and by a plan, and the part taken.
loop()
{
    : >"$folder/row"
    for run in $(seq "$runs"); do
        for way in mpi rota plan; do
            # shellcheck disable=SC2086 # none or one
            once "$way" 2 $options "$1" "$2" "$3"
            sed -n 's/^last tenth: \([0-9.]*\) us.*/\1 /p' "$folder/out" |
                tr -d '\n' >>"$folder/row"
            [ "$way" != rota ] || taken=$(sed -n \
                's/^half 2: calls \([0-9]*\) taken \([0-9]*\) .*/\2 \1/p' "$folder/out")
        done
        echo "$taken" >>"$folder/row"
    done
    echo "| $1 | $2 | $(column '$1' %.3g median) | $(column '$2' %.3g median) |" \
        "$(column '$3' %.3g median) |" \
        "$(column '$1 / $2' %.2f median) ($(column '$1 / $2' %.2f least)) |" \
        "$(column '$2 / $3' %.2f median) ($(column '$2 / $3' %.2f most)) |" \
        "$(column '100 * $4 / $5' %.2f least) | $(goals "$1" "$2") |"
}

# One line a run: milliseconds by MPI, after the last call and in all, and by Rota; and
# what was taken of either half.
engine()
{
    : >"$folder/row"
    for run in $(seq "$runs"); do
        for way in mpi rota; do
            once "$way" "$1" datalog 4096 131
            sed -n 's/^exchanges: \([0-9.]*\) ms.* \([0-9.]*\) ms.*/\1 \2 /p' \
                "$folder/out" |
                tr -d '\n' >>"$folder/row"
        done
        sed -n 's/^half .* taken \([0-9]*\) .*/\1/p' "$folder/out" | tr '\n' ' ' \
            >>"$folder/row"
        echo >>"$folder/row"
    done
    echo "| $1 | $(column '$1' %.0f median) | $(column '$3' %.0f median) |" \
        "$(column '$1 / $3' %.1f least) | $(column '$2' %.0f median) |" \
        "$(column '$4' %.0f median) | $(column '100 * ($5 + $6) / 262' %.1f least) |"
}

if [ -n "$datalog" ]; then
    echo '| ranks | MPI, ms | drop-in, ms | least MPI / drop-in | within, MPI |' \
        'within, drop-in | least taken, % |'
    echo '| ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
    for ranks in $(echo "$counts" | tr , ' '); do
        engine "$ranks"
    done
    exit
fi
echo '| call | bytes | MPI, us | drop-in, us | plan, us | MPI / drop-in (least) |' \
    'drop-in / plan (most) | least taken, % | goals missed |'
echo '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |'
for kind in $(echo "$kinds" | tr , ' '); do
    for bytes in $(echo "$sizes" | tr , ' '); do
        loop "$kind" "$bytes" $((bytes > 80 ? calls / 3 : calls))
    done
done
