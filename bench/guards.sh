#!/bin/sh
# guards.sh - what a restructuring must leave as it is, of two builds side by side.
#
#   sh bench/guards.sh BASE NEW [--events OLD NEW] [--pairs N] [--no-times]
#
# Prints for both builds: the instructions of a start and wait on 2 and 8 ranks
# (instructions.sh); the shared memory of a plan, by ordered pair of ranks
# (rota-node-memory); and the times of rota-bench's fixed rows, as the median over N
# pairs of runs (default 10), one of each build in turn, of NEW over BASE, with the
# quartiles of those ratios. --events: and whether two builds or outputs do the same
# (tests/events.sh, which needs builds of its own). Exit status 1 if they do not.
set -eu
export LC_ALL=C

base= new= old_events= new_events= pairs=10 times=yes
while [ $# -gt 0 ]; do
    case $1 in
    --events) old_events=${2:?} new_events=${3:?} && shift 2 ;;
    --pairs) pairs=${2:?} && shift ;;
    --no-times) times=no ;;
    -*) sed -n '2,/^set /s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
    *) [ -n "$base" ] && new=$1 || base=$1 ;;
    esac
    shift
done
: "${base:?which build?}" "${new:?which other build?}"
here=$(dirname "$0")
mpiexec=${MPIEXEC:-$(command -v mpiexec.mpich || command -v mpiexec)}
folder=$(mktemp -d "${TMPDIR:-/tmp}/rota-guards.XXXXXX")
trap 'rm -rf "$folder"' EXIT

row='%-40s %14s %14s %10s\n'

# compare NAME BASE NEW
compare()
{
    printf "$row" "$1" "$2" "$3" \
        "$(awk -v a="$2" -v b="$3" 'BEGIN { printf "%+g", b - a }')"
}

instructions()
{
    sh "$here/instruments/instructions.sh" --kinds fixed "$1" "$2" | awk 'END { print $2 }'
}

# bytes BUILD RANKS BLOCK: of shared memory, by ordered pair and plan; the median of
# three, as other programs' memory counts, too.
bytes()
{
    for run in 1 2 3; do
        timeout 300 "$mpiexec" -n "$2" "$1/bench/rota-node-memory" \
            $((4000 / $2)) "$3"
    done | sed -n 's/.*: \([0-9-]*\) B a pair.*/\1/p' | sort -n | sed -n 2p
}

# measure BUILD FILE: the fixed rows, as "name microseconds". Buffers are not
# touched, as in builds that do not have --touch.
measure()
{
    touch=''
    ! "$1/bench/rota-bench" --help | grep -q -e --touch || touch='--touch none'
    while read -r ranks mem options; do
        rm -f "$folder/csv"
        # shellcheck disable=SC2086 # options are several words
        timeout 600 "$mpiexec" -n "$ranks" "$1/bench/rota-bench" --mem "$mem" \
            --algos auto $touch $options --csv "$folder/csv" </dev/null >"$folder/log" ||
            { cat "$folder/log" >&2 && exit 1; }
        tr -d '"' <"$folder/csv" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            { print "P=" $at["P"] "," $at["mem"] "," $at["max_bytes"] "," \
                  $at["starts"], $at["median_us"] }' >>"$2"
    done <<ROWS
2 malloc --sizes 8,64,512,4096,65536,1048576 --iters 60 --starts 20
2 heap --sizes 8,64,512,4096,65536,1048576 --iters 60 --starts 20
8 malloc --sizes 8,4096 --iters 100
ROWS
}

# Ratios of one row, ascending, to their median and quartiles.
summarise()
{
    sort -k1,1 -k2,2g "$folder/ratios" | awk '
    function tell() {
        if (n == 0) return
        m = n % 2 ? r[(n + 1) / 2] : (r[n / 2] + r[n / 2 + 1]) / 2
        low = r[int((n + 3) / 4)]; high = r[n + 1 - int((n + 3) / 4)]
        printf "%-40s %14.3f %9.3f to %.3f\n", last, m, low, high
    }
    $1 != last { tell(); n = 0; last = $1 }
    { r[++n] = $2 }
    END { tell() }'
}

printf "$row" '' "base" "new" "difference"
for ranks in 2 8; do
    compare "instructions, P=$ranks" "$(instructions "$base" $ranks)" \
        "$(instructions "$new" $ranks)"
done
for block in 8 4096 65536; do
    for ranks in 2 8; do
        compare "bytes a pair and plan, P=$ranks, $block B" \
            "$(bytes "$base" $ranks $block)" "$(bytes "$new" $ranks $block)"
    done
done

status=0
if [ -n "$old_events" ]; then
    sh "$here/../tests/events.sh" "$old_events" "$new_events" || status=1
fi

[ $times = yes ] || exit $status
for pair in $(seq "$pairs"); do
    rm -f "$folder/base" "$folder/new"
    if [ $((pair % 2)) -eq 1 ]; then
        measure "$base" "$folder/base"
        measure "$new" "$folder/new"
    else
        measure "$new" "$folder/new"
        measure "$base" "$folder/base"
    fi
    awk 'NR == FNR { base[$1] = $2; next } { print $1, $2 / base[$1] }' \
        "$folder/base" "$folder/new" >>"$folder/ratios"
done
printf '\n%-40s %14s %s\n' "rows: ranks, memory, block, starts" "new/base" \
    "   quartiles"
summarise
exit $status
