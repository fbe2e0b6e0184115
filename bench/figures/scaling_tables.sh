#!/bin/sh
# scaling_tables.sh - makes the tables and figures of docs/scaling.md.
#
#   sh bench/figures/scaling_tables.sh [--check] [--page FILE] [--csv FILE]
#                                      [--build FOLDER]
#
# The page itself says what is in them. Between "<!-- table -->" and
# "<!-- end -->" it has the commands, indented, whose results make a table: one
# row for every algorithm, one column for every S. They are run where the CSV
# (docs/simulated.csv) lacks results, one simulation at a time, so that what was
# interrupted goes on where it was. Between "<!-- dists -->" and "<!-- end -->"
# each command names a distribution, which is a row; the table between
# "<!-- gains -->" and "<!-- end -->" compares the fastest plans with what they
# compete with, from all of the CSV; one after "<!-- grid -->" compares
# shared_leaders_grid with the others of its commands. Commands of bench/plot/plot.sh, indented,
# are run as well.
#
# With --check nothing is run or written: is the page what would be made from
# the CSV? Exit status: 0, 1 if not or if something failed, 77 if a simulation
# is needed and SimGrid is not there, 2 for a wrong command line.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

page=docs/scaling.md csv=docs/simulated.csv build=build-smpi check=
while [ $# -gt 0 ]; do
    case $1 in
    --check)
        check=yes
        shift
        continue ;;
    --page | --csv | --build) [ $# -ge 2 ] || set -- wrong ;;
    esac
    case $1 in
    --page) page=$2 ;;
    --csv) csv=$2 ;;
    --build) build=$2 ;;
    *)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    esac
    shift 2
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# commands SCRIPT: the arguments of its commands in the page.
commands()
{
    sed -n "s|^    sh bench/$1 ||p" "$page"
}

# Arguments are words of a few characters, so that none is more than it seems.
sound()
{
    case $1 in
    *[!A-Za-z0-9_.,:=/\ -]*)
        echo "scaling_tables.sh: odd command: $1" >&2
        return 1 ;;
    esac
}

simulate()
{
    commands figures/scale.sh >"$work/scale"
    while read -r arguments; do
        sound "$arguments" || return 1
        echo "scale.sh $arguments"
        # shellcheck disable=SC2086 # several words
        sh bench/figures/scale.sh $arguments --reuse --csv "$csv" --build "$build" \
            </dev/null >"$work/log"
        status=$?
        [ "$status" -ne 77 ] || { cat "$work/log"; return 77; }
        # What was late is in the table as such.
        [ "$status" -eq 0 ] || ! grep -q ' failed$' "$work/log" || return 1
    done <"$work/scale"
}

price()
{
    commands figures/simulate.sh >"$work/simulate"
    while read -r arguments; do
        sound "$arguments" || return 1
        echo "simulate.sh $arguments"
        # shellcheck disable=SC2086 # several words
        sh bench/figures/simulate.sh $arguments --csv "$csv" </dev/null || return 1
    done <"$work/simulate"
}

draw()
{
    commands plot/plot.sh >"$work/plot"
    while read -r arguments; do
        sound "$arguments" || return 1
        echo "plot.sh $arguments"
        # shellcheck disable=SC2086 # several words
        sh bench/plot/plot.sh $arguments </dev/null
        status=$?
        [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || return 1
    done <"$work/plot"
}

if [ -z "$check" ]; then
    simulate || exit $?
    price || exit 1
fi
awk -f bench/figures/scaling_tables.awk "$csv" "$page" >"$work/page" || exit 1
if [ -n "$check" ]; then
    diff "$page" "$work/page"
    exit
fi
cp "$work/page" "$page"
draw
