#!/bin/sh
# papers.sh - makes what docs/papers.md has of docs/simulated.csv.
#
#   sh bench/figures/papers.sh [--check | --list] [--csv FILE] [--page FILE]
#
# The table of all published numbers has a row for each. Where a cell of it is
# MACHINE RANKS S [DIST]: ALGO,... or that / ALGO,..., in backquotes, ours is the least
# time of those algorithms in the CSV, in milliseconds, or by how much the second ones'
# is exceeded; and the verdict says how far that is from the first number of what is
# published. Before a table of simulated times alone, an HTML comment has a line
# "N: ..." of the same form for each column N that is made: $K in it is what column K of
# the row says. "N us: ..." makes microseconds, and "N best: ..." says of the fastest
# algorithm which parameters it has. "N least: 3 A, 4 B" names the least of columns, and
# "N bold: 3 3, 4 4" marks it. FORM:* is FORM with all parameters that are in the CSV.
# Cells that are empty or "-" stay so, and so does what follows a number.
#
# Simulates what the CSV lacks (simulate.sh), and writes the page. With --check
# nothing is simulated or written: is the page what would be made from the CSV? With
# --list it says which lines of the CSV it uses, as simulate.sh does. Exit status: 0, 1
# if the page is another or if something failed, 2 for a wrong command line.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

check='' list='' csv=docs/simulated.csv page=docs/papers.md
while [ $# -gt 0 ]; do
    case $1 in
    --check) check=yes ;;
    --list) list=--list ;;
    --csv)
        csv=${2:?}
        shift ;;
    --page)
        page=${2:?}
        shift ;;
    *)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    esac
    shift
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

if [ -z "$check" ]; then
    awk -v wanted=yes -f bench/figures/papers.awk "$csv" "$page" >"$work/wanted" || exit 1
    while read -r machine node ranks size dist algos; do
        # shellcheck disable=SC2086 # perhaps no --list
        sh bench/figures/simulate.sh $list --csv "$csv" --machine "$machine" \
            --node "$node" --ranks "$ranks" --sizes "$size" --dist "$dist" \
            --algos "$algos" </dev/null || exit 1
    done <"$work/wanted"
    [ -z "$list" ] || exit 0
fi
awk -f bench/figures/papers.awk "$csv" "$page" >"$work/page" || exit 1
if [ -z "$check" ]; then
    cp "$work/page" "$page"
elif ! diff "$page" "$work/page" >"$work/diff"; then
    echo "$page: other than $csv gives:"
    cat "$work/diff"
    exit 1
fi
