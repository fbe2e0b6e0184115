#!/bin/sh
# rows.sh - does a command make every row of docs/simulated.csv?
#
#   sh bench/figures/rows.sh [--csv FILE]
#
# Prints the rows that neither a command of docs/scaling.md and docs/papers.md makes
# nor papers.sh or chosen.sh, and those that these make and the CSV does not have.
# Exit status: 0 if there are none, 2 for a wrong command line, else 1.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

csv=docs/simulated.csv
[ $# -ne 2 ] || [ "$1" != --csv ] || { csv=$2; shift 2; }
if [ $# -gt 0 ]; then
    sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
    exit 2
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

sed -n 's|^    sh bench/figures/simulate.sh ||p' docs/scaling.md docs/papers.md >"$work/commands"
{
    while read -r arguments; do
        case $arguments in
        --help) continue ;;
        *[!A-Za-z0-9_.,:=/\ -]*)
            echo "rows.sh: odd command: $arguments" >&2
            exit 1 ;;
        esac
        # shellcheck disable=SC2086 # several words
        sh bench/figures/simulate.sh $arguments --list </dev/null || exit 1
    done <"$work/commands"
    sh bench/figures/papers.sh --list && sh bench/figures/chosen.sh --list
} >"$work/all" || exit 1
sort -u "$work/all" >"$work/made"
sed 1d "$csv" | cut -d, -f1-7 | sort >"$work/had"
comm -13 "$work/made" "$work/had" | sed 's/^/no command makes /' >"$work/wrong"
comm -23 "$work/made" "$work/had" | sed 's/^/there is no row of /' >>"$work/wrong"
cat "$work/wrong"
[ ! -s "$work/wrong" ]
