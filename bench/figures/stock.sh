#!/bin/sh
# stock.sh - does the simulator put algorithms in the order that SimGrid does, by
# networks of SimGrid's own?
#
#   sh bench/figures/stock.sh [--few] [--csv FILE] [--build BUILD] [--price PROGRAM]
#
# Runs what docs/stock.csv does not have of plans, published forms and MPI libraries'
# algorithms with 64 to 512 ranks on SimGrid's Dragonfly, torus, fat tree and cluster
# (scale.sh, machines stock_...), and prints for each case what sim_error.sh --order
# says of it. With --few 32 ranks, one size and five algorithms, anew,
# into another file (default BUILD/few.csv). Exit status: as of scale.sh; then that of
# sim_error.sh.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

few='' csv=docs/stock.csv build=build-smpi price=build/bench/rota-price
while [ $# -gt 0 ]; do
    case $1,${2:-} in
    --few,*)
        few=yes
        shift
        continue ;;
    *,) set -- --wrong x ;;
    esac
    case $1 in
    --csv) csv=$2 ;;
    --build) build=$2 ;;
    --price) price=$2 ;;
    *)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    esac
    shift 2
done
[ -z "$few" ] || [ "$csv" != docs/stock.csv ] || csv=$build/few.csv
[ -z "$few" ] || rm -f "$csv"

# some NODE: those that are the fastest somewhere, and published forms.
some()
{
    printf '%s,' spread_out mpich_scattered parlogna:radix=4 parlogna:radix=8 \
        parlogna_published:radix=2 parlinna_coalesced:radix="$1" \
        parlinna_coalesced_published:radix="$1":metadata=once nmpml:leaders="$1" \
        onmpml:leaders="$1" shared_leaders:leaders=1 shared_leaders:leaders="$1"
    echo shared_leaders_overlapped:leaders="$1"
}

# led NODE: plans with leaders and the forms of [Peng21] as published, with one leader
# to all ranks of a node.
led()
{
    leaders=1
    while [ "$leaders" -le "$1" ]; do
        printf '%s,' shared_leaders:leaders="$leaders" \
            shared_leaders_overlapped:leaders="$leaders" nmpml:leaders="$leaders" \
            onmpml:leaders="$leaders" nmpml_published:leaders="$leaders" \
            onmpml_published:leaders="$leaders"
        leaders=$((2 * leaders))
    done
    echo l_a2a_published
}

# shared NODE: plans whose ranks share the memory of a node, as they do by default.
shared()
{
    for leaders in $(($1 / 2)) "$1"; do
        printf '%s,' shared_leaders:leaders="$leaders":intranode=shm \
            shared_leaders_overlapped:leaders="$leaders":intranode=shm
    done
    echo spread_out:intranode=shm
}

# whole NODE: with all ranks of a node as leaders, and without any, for long blocks.
# Left out is onmpml_published, whose ranks poll at their last barrier for each other:
# that takes SimGrid too long.
whole()
{
    printf '%s,' nmpml_published:leaders="$1" \
        shared_leaders:leaders="$1" shared_leaders_overlapped:leaders="$1" \
        nmpml:leaders="$1" onmpml:leaders="$1" parlinna_coalesced:radix="$1" spread_out
    echo mpich_scattered
}

# near NODE: of those, with more ranks, for which one takes minutes.
near()
{
    printf '%s,' shared_leaders:leaders="$1" shared_leaders_overlapped:leaders="$1" \
        nmpml:leaders="$1" parlinna_coalesced:radix="$1" \
        parlinna_coalesced_published:radix="$1":metadata=once
    echo parlogna:radix=8
}

# all NODE: the forms of ParLinNa as rota-bench runs them, too, which tell sizes between
# nodes.
all()
{
    printf '%s,' scattered:batch=32 pairwise xor parlogna:radix=2 two_phase_bruck \
        parlogna_published:radix=8 parlinna_coalesced:radix=2 \
        parlinna_coalesced_published:radix="$1" \
        parlinna_staggered_published:radix="$1":batch=32 \
        parlinna_staggered_published:radix="$1":batch=32:metadata=once \
        parlinna_logarithmic:radix=4 nmpml:leaders=1 shared_leaders_overlapped:leaders=1
    some "$1"
}

# run MACHINES RANKS NODE SIZES ALGOS
run()
{
    for machine in $1; do
        sh bench/figures/scale.sh --machine "stock_$machine" --ranks "$2" \
            --node "$3" --sizes "$4" --algos "$5" --csv "$csv" --reuse \
            --build "$build" --limit 1800 >"$work/log" 2>&1 || {
            status=$?
            cat "$work/log"
            exit "$status"
        }
    done
}

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
if [ -n "$few" ]; then
    algos=spread_out,parlogna:radix=4,parlogna_published:radix=4,onmpml_published:leaders=2
    run 'dragonfly torus fattree cluster' 32 2 64 \
        "$algos,shared_leaders:leaders=2,onmpml:leaders=2"
    run dragonfly 32 2 64 shared_leaders:leaders=2:intranode=shm
else
    run 'dragonfly fattree' 64 4 16,256,2048 "$(all 4)"
    run 'torus cluster' 64 4 16,256,2048 "$(some 4)"
    run 'dragonfly fattree torus' 64 4 16384 "$(some 4)"
    run 'dragonfly fattree torus' 64 4 16,256,2048 "$(led 4)"
    run 'dragonfly fattree torus' 64 4 16,256,2048 "$(shared 4)"
    run 'dragonfly fattree torus' 64 4 65536 "$(whole 4)"
    run 'dragonfly fattree' 128 8 16 "$(all 8)"
    run torus 128 8 16 "$(some 8)"
    run 'dragonfly fattree torus' 128 8 16 "$(led 8)"
    run 'dragonfly fattree torus' 128 8 16 "$(shared 8)"
    run 'dragonfly fattree torus' 256 8 16 "$(near 8),spread_out,parlogna_published:radix=2"
    run 'dragonfly fattree torus' 256 8 16 "$(led 8)"
    run 'dragonfly fattree' 512 16 16 "$(near 16),nmpml_published:leaders=16,onmpml_published:leaders=16"
fi
sh bench/figures/sim_error.sh --order --csv "$csv" --price "$price"
