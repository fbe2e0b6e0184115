#!/bin/sh
# test_sim_error.sh ROTA-PRICE - simulated times are those that SMPI found for the
# same plans (docs/scaling.csv, 64 ranks), half of them within 4 %, nine in ten
# within 12 %.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

awk -F, 'NR == 1 || ($2 == 64 && $6 < 1000)' docs/scaling.csv >"$work/csv"
sh bench/figures/sim_error.sh --csv "$work/csv" --price "${1:?}" >"$work/rows" || exit 1
awk '{ off = $10 < 0 ? -$10 : $10; n++; half += off <= 4; most += off <= 12 }
    END {
        printf "%d rows, %d within 4 %%, %d within 12 %%\n", n, half, most
        exit !(n > 100 && 2 * half >= n && 10 * most >= 9 * n)
    }' "$work/rows"
