#!/bin/sh
# events.sh OLD NEW [RANKS...] - do two builds do the same?
#
# OLD and NEW are builds with -DROTA_EVENTS=ON, or name what one printed before: NAME
# stands for NAME-p1.txt, NAME-p2.txt, ... Runs mpi_events on 1, 2, 3, 4, 5, 7 and 8
# ranks, and the simulated grid (sim_run), and prints which cases differ: those
# whose plans are made by other messages, and those whose runs do something else.
#
#   sh tests/events.sh --keep NAME BUILD [RANKS...]
#
# runs one build, and keeps what it prints. The same ranks of the same machine do the
# same: how many cores there are decides how some messages travel.
set -eu
export LC_ALL=C

# run BUILD RANKS FILE
run()
{
    if [ "$2" = sim ]; then
        timeout 900 "$1/tests/sim/sim_run" --quick --events >"$3" &&
            timeout 900 "$1/tests/sim/sim_run" --quick --shm --events >>"$3"
        return
    fi
    LD_PRELOAD="$1/librota_test_yield.so" timeout 900 \
        "${MPIEXEC:-$(command -v mpiexec.mpich || command -v mpiexec)}" -n "$2" \
        "$1/tests/mpi/mpi_events" >"$3"
}

# output BUILD_OR_NAME RANKS FILE: what it printed, as FILE.
output()
{
    if [ -d "$1" ]; then
        run "$1" "$2" "$3"
    else
        cp "$1-p$2.txt" "$3"
    fi
}

# The cases that are not the same, and how many there are of both.
compare()
{
    awk -v P="$3" '
    # "name: made HASH ran HASH events N", or "name: HASH", at the end of all
    { name = $0; sub(/: .*/, "", name); rest = $0; sub(/.*: /, "", rest) }
    NR == FNR { old[name] = rest; next }
    { n++ }
    !(name in old) { print "  only in the new one: " name; bad++; next }
    old[name] != rest {
        split(old[name], a, " "); split(rest, b, " "); bad++
        if (a[1] != "made") print "  " name
        else print "  " name ":" (a[2] != b[2] ? " made otherwise" : "") \
            (a[4] != b[4] ? " runs otherwise" : "") " (events " a[6] ", " b[6] ")"
    }
    { delete old[name] }
    END {
        for (name in old) { print "  only in the old one: " name; bad++ }
        printf "P=%s: %d of %d lines differ\n", P, bad, n
        exit bad > 0 || n == 0
    }' "$1" "$2"
}

if [ "$1" = --keep ]; then
    name=$2 build=$3
    shift 3
    [ $# -gt 0 ] || set -- 1 2 3 4 5 7 8 sim
    for ranks in "$@"; do
        run "$build" "$ranks" "$name-p$ranks.txt"
    done
    exit
fi

old=$1 new=$2
shift 2
[ $# -gt 0 ] || set -- 1 2 3 4 5 7 8 sim
folder=$(mktemp -d "${TMPDIR:-/tmp}/rota-events.XXXXXX")
trap 'rm -rf "$folder"' EXIT
differs=0
for ranks in "$@"; do
    output "$old" "$ranks" "$folder/old"
    output "$new" "$ranks" "$folder/new"
    compare "$folder/old" "$folder/new" "$ranks" || differs=1
done
exit $differs
