#!/bin/sh
# published.sh - every form as published, with all that its authors leave open.
#
#   sh bench/figures/published.sh RANKS NODE
#
# Prints them as --algos of rota-price --simulate has them, for RANKS ranks, NODE of
# them a node. A form stands beside plans with its best of these: leaders are powers
# of two up to all ranks of the node, a radix is a power of two up to 128 (within
# the node up to its ranks), and a batch is 8, 32, or all that a rank sends between
# nodes. Of staggered ParLinNa, which sends P^2 messages, up to 256 ranks. Beyond
# 1,024 ranks all leaders of the form that was the best with fewer, and of the others
# the parameters that were.
set -u

case $#,${1:-},${2:-} in
2,*[!0-9]*,* | 2,*,*[!0-9]* | 2,,* | 2,*,)
    set -- ;;
esac
if [ $# -ne 2 ]; then
    sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
    exit 2
fi
P=$1 Q=$2
[ "$Q" -le "$P" ] || Q=$P
N=$(((P + Q - 1) / Q))

# powers FROM TO: powers of two, and TO itself.
powers()
{
    i=$1
    while [ "$i" -lt "$2" ]; do
        echo "$i"
        i=$((2 * i))
    done
    echo "$2"
}

# batches ALL: all at once, or fewer.
batches()
{
    for batch in 8 32; do
        [ "$batch" -ge "$1" ] || echo "$batch"
    done
    echo "$1"
}

forms()
{
    most=128
    [ "$most" -le "$P" ] || most=$P
    for radix in $(powers 2 "$most"); do
        echo "parlogna_published:radix=$radix"
    done
    for radix in $(powers 2 "$Q"); do
        for batch in $(batches "$N"); do
            echo "parlinna_coalesced_published:radix=$radix:batch=$batch"
        done
        [ "$P" -le 256 ] || continue
        for batch in $(batches $((Q * N))); do
            echo "parlinna_staggered_published:radix=$radix:batch=$batch"
        done
    done
    printf '%s\n' sloav_published padded_bruck_published l_a2a_published
    for leaders in $(powers 1 "$Q"); do
        for form in mpml nmpml onmpml; do
            echo "${form}_published:leaders=$leaders"
        done
    done
}

few()
{
    for radix in 32 64; do
        echo "parlogna_published:radix=$radix"
    done
    for radix in 8 "$Q"; do
        echo "parlinna_coalesced_published:radix=$radix:batch=$N"
    done
    echo "nmpml_published:leaders=$Q"
    for leaders in $(powers 1 "$Q"); do
        echo "onmpml_published:leaders=$leaders"
    done
}

if [ "$P" -gt 1024 ]; then few; else forms; fi | paste -s -d , -
