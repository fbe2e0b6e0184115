#!/bin/sh
# papers.sh - published numbers beside those simulated on machines fitted to them.
#
#   sh bench/figures/papers.sh [--check | --list] [--csv FILE]
#
# The table of docs/papers.md has a row for each number that the papers state. Where a
# cell is MACHINE RANKS S [DIST]: ALGO,... or that / ALGO,..., in backquotes, ours is
# the least time of those algorithms in docs/simulated.csv, or by how much the second
# ones' is exceeded. Simulates what the CSV lacks (simulate.sh), and prints these rows
# with ours, and with how far it is from the first number of what is published. With
# --check nothing is simulated: are the rows those of the page? With --list it says
# which lines of the CSV it uses, as simulate.sh does. Exit status: 0, 1 if the rows
# are others or if something failed, 2 for a wrong command line.
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
    *)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    esac
    shift
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

grep -E '^\|.*\| `(theta|fugaku|glex) [0-9]+ [0-9]+( [a-z0-9:]+)?: [^`]*` \|' "$page" \
    >"$work/rows" || { echo "papers.sh: $page has no such rows" >&2; exit 1; }

# MACHINE RANKS_PER_NODE RANKS S DIST ALGO,..., of each row.
wanted()
{
    sed -E 's/.*`((theta|fugaku|glex) [^`]*)`.*/\1/; s/ ?[,\/] ?/,/g' "$work/rows" |
        awk 'BEGIN { node["theta"] = 64; node["fugaku"] = 32; node["glex"] = 24 }
             {
                 algos = $NF
                 dist = NF == 5 ? $4 : "uniform"
                 sub(/:$/, "", dist)
                 sub(/:$/, "", $3)
                 print $1, node[$1], $2, $3, dist, algos
             }'
}

# with_ours: the rows, made anew.
with_ours()
{
    awk -F, '
    function least(algos,    i, n, one, key, t) {
        n = split(algos, one, /, */)
        for (i = 1; i <= n; i++) {
            key = machine SUBSEP ranks SUBSEP dist SUBSEP size SUBSEP one[i]
            if (!(key in time)) {
                print "no time of " one[i] " on " machine ", " ranks " ranks, " \
                    size " B" > "/dev/stderr"
                exit failed = 1
            }
            if (t == 0 || time[key] < t) t = time[key]
        }
        return t
    }
    FILENAME == ARGV[1] {
        if ($4 == "fixed") time[$1, $2, $5, $6, $7] = $8
        next
    }
    {
        split($0, cell, " [|] ")
        what = cell[4]
        gsub(/`/, "", what)
        split(what, part, ": ")
        n = split(part[1], word, " ")
        machine = word[1]; ranks = word[2]; size = word[3]
        dist = n > 3 ? word[4] : "uniform"
        n = split(part[2], side, " / ")
        ours = n == 2 ? least(side[1]) / least(side[2]) : least(side[1]) / 1e3
        match(cell[2], /[0-9][0-9.,]*/)
        published = substr(cell[2], RSTART, RLENGTH)
        gsub(/,/, "", published)
        off = sprintf("%+.0f %%", 100 * (ours / published - 1))
        sub(/[(][-+0-9]* %/, "(" off, cell[5])
        printf "%s | %s | %.3g%s | %s | %s\n", cell[1], cell[2], ours,
            n == 2 ? "" : " ms", cell[4], cell[5]
    }
    END { exit failed }' "$csv" "$work/rows"
}

if [ -z "$check" ]; then
    wanted | while read -r machine node ranks size dist algos; do
        # shellcheck disable=SC2086 # perhaps no --list
        sh bench/figures/simulate.sh $list --csv "$csv" --machine "$machine" \
            --node "$node" --ranks "$ranks" --sizes "$size" --dist "$dist" \
            --algos "$algos" </dev/null || exit 1
    done || exit 1
    [ -z "$list" ] || exit 0
    with_ours
    exit
fi
with_ours >"$work/made" || exit 1
diff "$work/rows" "$work/made" >"$work/diff" && exit 0
echo "$page: other rows than $csv gives:"
cat "$work/diff"
exit 1
