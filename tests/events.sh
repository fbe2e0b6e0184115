#!/bin/sh
# events.sh OLD NEW [RANKS...] - do two builds do the same?
#
# OLD and NEW are builds with -DROTA_EVENTS=ON, or name what one printed before: NAME
# stands for NAME-p1.txt, NAME-p2.txt, ... Runs mpi_events on 1, 2, 3, 4, 5, 7 and 8
# ranks, and the simulated grid (RANKS: sim), and prints which cases differ: whose
# plans are made by other messages, and whose runs do something else.
#
#   sh tests/events.sh --keep NAME BUILD [RANKS...]
#
# runs one build, and keeps what it prints. Compare only what one machine has done:
# how many cores there are decides how some messages travel. In a few cases it is
# chance that decides: one that differs is run again up to three times, and in the
# simulated grid everything is run in three orders where chance may matter. It is
# enough if one of them is the same.
set -eu
export LC_ALL=C

folder=$(mktemp -d "${TMPDIR:-/tmp}/rota-events.XXXXXX")
trap 'rm -rf "$folder"' EXIT

# simulate BUILD: prints the hashes of the simulated grid.
simulate()
{
    timeout 900 "$1/tests/sim/sim_run" --quick --events
    for stir in 0 1 2; do
        timeout 900 "$1/tests/sim/sim_run" --shm --events --stir $stir \
            >"$folder/simulated"
        sed 's/^/shm /' "$folder/simulated"
    done
}

# run BUILD RANKS [CASE]: prints its hashes.
run()
{
    if [ "$2" = sim ]; then
        simulate "$1"
        return
    fi
    yield=$1/src/mpi/librota_yield.so
    [ ! -f "$yield" ] || export LD_PRELOAD="$yield" ROTA_YIELD=on
    timeout 900 "${MPIEXEC:-$(command -v mpiexec.mpich || command -v mpiexec)}" \
        -n "$2" "$1/tests/mpi/mpi_events" ${3:+"$3"} </dev/null
}

# output BUILD_OR_NAME RANKS: the same, or what was kept.
output()
{
    if [ -d "$1" ]; then
        (run "$1" "$2")
    else
        cat "$1-p$2.txt"
    fi
}

# Cases are "NAME: made HASH ran HASH events N" or "NAME: HASH N", and may be there
# several times. Prints those that have nothing in common.
compare()
{
    awk '
    /^P=/ { next }
    { name = $0; sub(/: .*/, "", name); rest = $0; sub(/.*: /, "", rest) }
    NR == FNR { old[name] = old[name] "|" rest "|"; next }
    { new[name] = rest }
    index(old[name], "|" rest "|") { same[name] = 1 }
    END {
        for (name in old)
            if (!(name in new)) print name ": only in the old one"
        for (name in new)
            if (!(name in old) || old[name] == "")
                print name ": only in the new one"
            else if (!(name in same)) {
                split(substr(old[name], 2), a, "[ |]"); split(new[name], b, " ")
                made = a[1] == "made" && a[2] != b[2]
                ran = a[1] != "made" || a[4] != b[4]
                print name ":" (made ? " is made otherwise" : "") \
                    (made && ran ? "," : "") (ran ? " runs otherwise" : "")
            }
    }' "$1" "$2" | sort -n
}

# Does the new build now run a case as the old one did? By itself a case may be made
# otherwise: communicators keep what later plans need.
is_same_again()
{
    [ "$2" != sim ] && [ -d "$1" ] || return 1
    wanted=$(sed -n "s/^$3 .* \(ran [0-9a-f]*\) .*/\1/p" "$folder/old")
    for try in 1 2 3; do
        (run "$1" "$2" "$3") >"$folder/again" || return 1
        ! grep -q "^$3 .* $wanted " "$folder/again" || return 0
    done
    return 1
}

# Leaves out of a list those that were chance.
confirm()
{
    while read -r number rest; do
        case $rest in
        *made* | *only*) ;;
        *)
            if [ "$(wc -l <"$folder/list")" -le 20 ] &&
                is_same_again "$1" "$2" "$number"; then
                continue
            fi
            ;;
        esac
        echo "  $number $rest"
    done <"$folder/list"
}

if [ "${1:?}" = --keep ]; then
    name=${2:?} build=${3:?}
    shift 3
    [ $# -gt 0 ] || set -- 1 2 3 4 5 7 8 sim
    for ranks in "$@"; do
        (run "$build" "$ranks") >"$folder/kept" # only what is whole
        cp "$folder/kept" "$name-p$ranks.txt"
    done
    exit
fi

old=$1 new=${2:?}
shift 2
[ $# -gt 0 ] || set -- 1 2 3 4 5 7 8 sim
differs=0
for ranks in "$@"; do
    output "$old" "$ranks" >"$folder/old"
    output "$new" "$ranks" >"$folder/new"
    compare "$folder/old" "$folder/new" >"$folder/list"
    confirm "$new" "$ranks" >"$folder/confirmed"
    cat "$folder/confirmed"
    n=$(wc -l <"$folder/confirmed")
    echo "P=$ranks: $n of $(wc -l <"$folder/new") cases differ"
    [ "$n" -eq 0 ] && [ -s "$folder/new" ] || differs=1
done
exit $differs
