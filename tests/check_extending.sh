#!/bin/sh
# check_extending.sh ROOT MPICC [--build] - docs/extending.md says what to do.
#
# Before each of its blocks a line says what the block is:
#
#   <!-- new FILE -->                the whole of a file that is not there
#   <!-- in FILE after LINE -->      lines that come behind LINE, or before it
#   <!-- in FILE before LINE -->     (compared without the spaces around them),
#   <!-- in FILE instead of LINE --> or in its place
#   <!-- from FILE -->               lines that are in FILE
#
# All of it is done in a copy of the sources, whose new files must then compile
# with MPICC. With --build the copy is built, what finds algorithms by itself is
# run, and an exchange of three ranks is verified: a minute or two.
set -u
export LC_ALL=C
root=$(cd "${1:?}" && pwd) || exit 1
mpicc=${2:?}
page=$root/docs/extending.md
work=$(mktemp -d "${TMPDIR:-/tmp}/rota-extending.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
copy=$work/rota
mkdir "$copy" "$work/blocks"
for part in "$root"/*; do
    case $part in
    */build*) ;;
    *) cp -R "$part" "$copy/" || exit 1 ;;
    esac
done

# ---- the changes --------------------------------------------------------------

# N|FILE|WHAT|LINE of each block, whose lines are in blocks/N.
awk -v blocks="$work/blocks" '
    fence != "" && $0 == fence { fence = ""; mark = ""; next }
    fence != "" { if (mark != "") print > (blocks "/" n); next }
    /^````*/ {
        fence = $0
        sub(/[^`].*/, "", fence)
        if (mark == "") print FILENAME ":" NR ": an unmarked block" > "/dev/stderr"
        else { n++; printf "" > (blocks "/" n); print n "|" mark }
        next
    }
    /^<!-- (new|from) [^ ]* -->$/ { mark = $3 "|" $2 "|"; next }
    /^<!-- in [^ ]* (after|before|instead of) .* -->$/ {
        what = $4
        line = $0
        sub(/^<!-- in [^ ]* (after|before|instead of) */, "", line)
        sub(/ *-->$/, "", line)
        mark = $3 "|" what "|" line
    }' "$page" >"$work/changes" 2>"$work/unmarked"
[ ! -s "$work/unmarked" ] || { cat "$work/unmarked"; exit 1; }

# change N FILE WHAT LINE
change()
{
    block=$work/blocks/$1
    file=$copy/$2
    case $3 in
    new)
        [ ! -e "$file" ] || { echo "$2: is there already"; return 1; }
        cp "$block" "$file"
        return ;;
    from) set -- "$1" "$2" from "$(sed -n 1p "$block")" ;;
    esac
    line=$4 awk -v what="$3" -v block="$block" '
        function bare(text) {
            gsub(/^[ \t]+|[ \t]+$/, "", text)
            return text
        }
        function put(    i) { for (i = 1; i <= n; i++) print new[i] }
        BEGIN {
            while ((getline new[n + 1] < block) > 0) n++
            line = bare(ENVIRON["line"])
        }
        { at = bare($0) == line && (!found || what == "from") }
        at { found = 1 }
        what == "from" {
            if (at) k = 1
            if (k > 0 && $0 == new[k]) { if (k++ == n) { same = 1; k = 0 } }
            else k = 0
            print
            next
        }
        at && what == "before" { put() }
        !at || what != "instead" { print }
        at && what == "instead" { put() }
        at && what == "after" { put() }
        END { exit !(found && (what != "from" || same)) }
    ' "$file" >"$work/changed" ||
        { echo "$2: no such line, or others behind it: $4"; return 1; }
    cp "$work/changed" "$file"
}

[ -s "$work/changes" ] || { echo "$page: nothing is marked"; exit 1; }
while IFS='|' read -r number file what line; do
    change "$number" "$file" "$what" "$line" || exit 1
done <"$work/changes" || exit 1

for file in $(sed -n 's/^[0-9]*|\(src[^|]*\.c\)|new|$/\1/p' "$work/changes"); do
    "$mpicc" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wconversion -Werror \
        -fsyntax-only -I "$copy/include" -I "$copy/src" "$copy/$file" || exit 1
done
[ "${3:-}" = --build ] || exit 0

# ---- what it comes to -----------------------------------------------------------

try()
{
    "$@" >"$work/log" 2>&1 && return
    echo "failed: $*"
    tail -n 20 "$work/log"
    exit 1
}

build=$work/build
try cmake -S "$copy" -B "$build" -DROTA_BUILD_TESTS=ON \
    -DROTA_BUILD_EXAMPLES=OFF -DMPI_C_COMPILER="$mpicc" -DCMAKE_BUILD_TYPE=Release
try cmake --build "$build" --parallel "$(nproc 2>/dev/null || echo 2)" \
    --target unit_costs unit_hints sim_check sim_run rota-draw rota-bench
export ROTA_TEST_QUICK=1
for program in unit/unit_costs unit/unit_hints sim/sim_check sim/sim_run; do
    try timeout 600 "$build/tests/$program"
done
try sh "$copy/tests/check_docs.sh" "$copy" "$build/bench/rota-draw" --write
try sh "$copy/tests/check_docs.sh" "$copy" "$build/bench/rota-draw"
grep -q '^   1 -> 2    1>2 S-R' "$copy/docs/algorithms.md" ||
    { echo "no drawing"; exit 1; }
mpiexec=${mpicc%mpicc*}mpiexec${mpicc##*mpicc}
try env ROTA_INTRANODE=p2p timeout 120 "$mpiexec" -n 3 "$build/bench/rota-bench" \
    --sizes 8,100000 --algos tournament:round=2 --iters 3
# The second of two messages is paced.
awk '$1 ~ /^tournament/ { n++; slow += $2 >= 100 } END { exit n == 0 || slow < n }' \
    "$work/log" || { echo "no pace:"; cat "$work/log"; exit 1; }
