# common.sh - what the scripts here share: sourced, with ranks set, and limit to the
# seconds that a run may take.
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export ROTA_STATS=1

wrong()
{
    echo "$ranks ranks: $*"
    cat "$work/out" "$work/err"
    exit 1
}

# with WHAT COMMAND...: run it, output in $work/out and $work/err.
with()
{
    what=$1
    shift
    timeout -k 5 "$limit" "$@" >"$work/out" 2>"$work/err"
}

# The last run's calls are as its program says, and ALGORITHM has plans.
check_calls()
{
    sed -n 's/^rota_mpi: \(.*calls=\)/\1/p' "$work/err" >"$work/counted"
    grep '^rank 0: ' "$work/out" >"$work/expected"
    cmp -s "$work/expected" "$work/counted" ||
        wrong "$what: calls are not as counted"
    grep -q "^rota_mpi: rank 0: algorithm $1 plans=[1-9]" "$work/err" ||
        wrong "$what: no plans"
}

# How many plans the last run has made.
count_plans()
{
    sed -n 's/^rota_mpi: rank 0: algorithm .* plans=//p' "$work/err" |
        awk '{ n += $1 } END { print n + 0 }'
}
