#!/bin/sh
# remake.sh - are the rows of docs/simulated.csv what the simulator says today?
#
#   sh bench/figures/remake.sh [--seed N] [--seconds N] [--most P] [--csv FILE]
#
# Simulates rows with up to P ranks (default 256) again, in an order drawn from the
# seed (default today's date, as YYYYMMDD), until N seconds have passed (default 40;
# 0: all rows), and prints those that differ in any digit. Exit status: 0 if none
# differs, 2 for a wrong command line, else 1.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

seed=$(date -u +%Y%m%d) seconds=40 most=256 csv=docs/simulated.csv
while [ $# -gt 0 ]; do
    case $1,${2:-} in
    --seed,*[!0-9]* | --seconds,*[!0-9]* | --most,*[!0-9]* | *,) set -- --wrong x ;;
    esac
    case $1 in
    --seed) seed=$2 ;;
    --seconds) seconds=$2 ;;
    --most) most=$2 ;;
    --csv) csv=$2 ;;
    *)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    esac
    shift 2
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# Drawn by numbers of our own: awk's rand differs from one awk to another.
awk -F, -v seed="$seed" -v most="$most" '
    BEGIN { state = seed % 4294967296 }
    NR > 1 && $2 <= most {
        for (i = 0; i < 3; i++) state = (state * 69069 + NR) % 4294967296
        print state "\t" $0
    }' "$csv" | sort -n | cut -f 2 >"$work/rows"
[ -s "$work/rows" ] || { echo "remake.sh: $csv has no such rows" >&2; exit 1; }
end=$(($(date +%s) + seconds))
while IFS=, read -r machine ranks node kind dist size name had; do
    [ "$seconds" -eq 0 ] || [ "$(date +%s)" -lt "$end" ] || break
    rm -f "$work/csv"
    sh bench/figures/simulate.sh --machine "$machine" --ranks "$ranks" --node "$node" \
        --kind "$kind" --dist "$dist" --sizes "$size" --algos "$name" \
        --csv "$work/csv" --price "${ROTA_PRICE:-build/bench/rota-price}" || exit 1
    key=$machine,$ranks,$node,$kind,$dist,$size,$name
    now=$(sed -n 2p "$work/csv")
    [ "$now" = "$key,$had" ] ||
        printf 'row  %s\nnow  %s\n' "$key,$had" "$now" >>"$work/differ"
    echo . >>"$work/made"
done <"$work/rows" || exit 1
[ ! -s "$work/differ" ] || cat "$work/differ"
[ -s "$work/made" ] || { echo "remake.sh: no row was remade" >&2; exit 1; }
echo "seed $seed: $(($(wc -l <"$work/made"))) of $(($(wc -l <"$work/rows"))) rows remade"
[ ! -s "$work/differ" ]
