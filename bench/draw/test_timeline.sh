#!/bin/sh
# test_timeline.sh BENCH DRAW MPIEXEC... - is a run traced, and drawn?
set -u
bench=$1 draw=$2
shift 2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

wrong()
{
    echo "$*"
    cat "$work/output" "$work/text" 2>/dev/null
    exit 1
}

ROTA_NODE_SIZE=2 ROTA_TRACE=$work/trace.json timeout -k 5 60 "$@" 4 "$bench" \
    --sizes 256 --iters 5 --time-limit 1 \
    --algos shared_leaders_overlapped:leaders=1 >"$work/output" 2>&1 ||
    wrong "the bench failed"
"$draw" --timeline "$work/trace.json" >"$work/text" || wrong "it is not drawn"
for rank in 0 1 2 3; do
    grep -q "^rank $rank  *copies" "$work/text" || wrong "rank $rank is missing"
done
# In the drawing a long run of one rank may hide what another one did.
for what in gather scatter; do
    grep -q "\"$what\"" "$work/trace.json" || wrong "nobody was seen to $what"
done
"$draw" --timeline "$work/trace.json" --format svg | tail -1 |
    grep -q '^</svg>' || wrong "no SVG"
# One rank sends from 10 to 50, from 40 to 60 and from 80 on.
event()
{
    echo "{\"name\":\"$1\",\"ph\":\"$2\",\"ts\":$3,\"dur\":100,\"id\":\"1\"," \
        '"pid":0,"tid":0,"args":{"plan":1,"run":1}},'
}
{
    echo '['
    for send in '10 50' '40 60' '80 90'; do
        event send b "${send% *}"
        event send e "${send#* }"
    done
    event run X 0
} >"$work/three"
# The list is not ended in a file that is still written.
sed -i '$ s/,$//' "$work/three"
"$draw" --timeline "$work/three" >"$work/text" || wrong "it is not drawn"
grep -q '^   0 .* 0\.62$' "$work/text" ||
    wrong "of 80 us an earlier send was under way in 50"
if "$draw" --timeline "$work/trace.json" --run 1000000 2>/dev/null; then
    wrong "a run that was not traced is drawn"
fi
echo '{' >"$work/other"
if "$draw" --timeline "$work/other" 2>/dev/null; then
    wrong "what is no trace is drawn"
fi
