#!/bin/sh
# check_docs.sh ROOT ROTA-DRAW [--write]
#
# Every algorithm of src/algos/list.h has a section in docs/algorithms.md, whose
# heading has its name in backquotes, and no section is of another. What a
# fenced block of the docs shows after a line "$ rota-draw ..." is what that
# command prints, and a figure is what the command that is stated for it
# ("$ rota-draw ... > docs/figures/...") writes. With --write drawings and
# figures are made anew instead. Other figures are plots, and a command of
# bench/plot/plot.sh is stated for them.
set -u
export LC_ALL=C
cd "${1:?}" || exit 1
draw=${2:?}
write=${3:-}
list=src/algos/list.h
page=docs/algorithms.md
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/docs/figures"

wrong()
{
    echo "$*"
    : >"$work/failed"
}

# ---- sections ---------------------------------------------------------------

sed -n 's/^ROTA_\(NEIGHBOR_\)*ALGO(\([a-z0-9_]*\)).*/\2/p' "$list" | sort >"$work/listed"
sed -n 's/^##* .*`\([a-z0-9_]*\)`.*/\1/p' "$page" | sort >"$work/sections"
for name in $(comm -23 "$work/listed" "$work/sections"); do
    wrong "$page: no section on $name"
done
for name in $(comm -13 "$work/listed" "$work/sections"); do
    wrong "$page: a section on $name, which is not in $list"
done

# ---- drawings ---------------------------------------------------------------

# redraw FILE: the page with its drawings made anew; figures go to $work.
redraw()
{
    awk -v draw="$draw" -v work="$work" '
        function run(line, to,    command, out) {
            sub(/^\$ rota-draw /, "", line)
            if (line !~ /^[a-z0-9_=:. \/>-]*$/) {
                print "odd command: " line > "/dev/stderr"
                exit 1
            }
            if (to) sub(/> /, "> \"" work "\"/", line)
            command = "\"" draw "\" " line
            if (to) {
                if (system(command) != 0) exit 1
            } else {
                while ((command | getline out) > 0) print out
                if (close(command) != 0) exit 1
            }
        }
        /^```/ { fence = !fence; old = 0 }
        fence && /^\$ rota-draw / {
            print
            figure = index($0, " > ") > 0
            if (figure) print $NF >> (work "/figures")
            run($0, figure)
            old = !figure
            next
        }
        !old { print }' "$1"
}

for file in docs/*.md; do
    if ! redraw "$file" >"$work/$file"; then
        wrong "$file: a drawing failed"
        continue
    fi
    if [ "$write" = --write ]; then
        cp "$work/$file" "$file"
    elif ! diff "$file" "$work/$file" >"$work/diff"; then
        wrong "$file: a drawing is not what rota-draw prints:"
        cat "$work/diff"
    fi
done

for figure in $(cat "$work/figures" 2>/dev/null); do
    if [ "$write" = --write ]; then
        cp "$work/$figure" "$figure"
    elif ! cmp -s "$figure" "$work/$figure"; then
        wrong "$figure: not what rota-draw writes"
    fi
done
# Plots and time lines are not drawn anew here: gnuplot's versions differ in what
# they write, and runs in what they take.
sed -n -e 's|^    sh bench/plot/plot.sh .* --out \(docs/[^ ]*\).*|\1|p' \
    -e 's|^    .*rota-draw --timeline .* > \(docs/[^ ]*\)$|\1|p' docs/*.md \
    >"$work/plots"
for figure in $(cat "$work/plots"); do
    [ -s "$figure" ] || wrong "$figure: is not there"
done
for figure in docs/figures/*.svg; do
    grep -qx "$figure" "$work/figures" "$work/plots" 2>/dev/null ||
        wrong "$figure: no page says how it is made"
done

if [ -e "$work/failed" ]; then
    echo "To make drawings anew: sh tests/check_docs.sh . build/bench/rota-draw --write"
    exit 1
fi
