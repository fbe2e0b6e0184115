#!/bin/sh
# test_intervals.sh - intervals.sh makes its table from a CSV, and refuses what is not
# there.
#
#   sh bench/figures/test_intervals.sh
set -u
export LC_ALL=C

intervals=$(dirname "$0")/intervals.sh
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# intervals STATUS TEXT ARGUMENT...: it says TEXT.
intervals()
{
    expected=$1 text=$2
    shift 2
    sh "$intervals" --price false "$@" >"$work/log" 2>&1
    status=$?
    [ "$status" -eq "$expected" ] && grep -qF "$text" "$work/log" && return
    echo "FAILED: status $status of: $*, or no '$text'"
    cat "$work/log"
    exit 1
}

{
    echo columns
    for times in 1 2 3; do
        echo "torus,1024,16,$times,some,10,other,${times}0,400,prices"
    done
} >"$work/csv"
intervals 0 '| torus | 1,024 | 16 | 3 | 2.00 | 1.10 to 2.90 | faster | 40.00 | 40.00 to 40.00 | faster |' \
    --table --csv "$work/csv"
intervals 2 "there is no $work/none" --table --csv "$work/none"
intervals 2 'there is no bench/machines/bogus.json' --machines torus,bogus \
    --csv "$work/new"
[ ! -e "$work/new" ] || { echo "FAILED: a CSV for no machine"; exit 1; }
intervals 2 "cannot write $work/none/new" --csv "$work/none/new"
intervals 2 'sh bench/figures/intervals.sh' --bogus 1
# What cannot be simulated is no row.
intervals 1 'not simulated: torus, 16 bytes' --machines torus --samples 1 --csv "$work/new"
[ "$(wc -l <"$work/new")" -eq 1 ] || { echo "FAILED: a row of nothing"; exit 1; }
