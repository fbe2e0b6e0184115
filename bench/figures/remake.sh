#!/bin/sh
# remake.sh - are the rows of docs/simulated.csv what the simulator says today?
#
#   sh bench/figures/remake.sh [--seed N] [--seconds N] [--least P] [--most P]
#                              [--csv FILE] [--smpi BUILD]
#
# Simulates rows with so many ranks (default up to 256) again, in an order drawn from the
# seed (default today's date, as YYYYMMDD), until N seconds have passed (default 40;
# 0: all rows), and prints those that differ in any digit, and how many are left. Rows with
# more than 1,024 ranks take up to minutes each, and are simulated one by one. With --smpi the rows are
# those of docs/stock.csv, or with --csv of docs/scaling.csv, which scale.sh makes by
# SimGrid's SMPI, built in BUILD; they differ if a time does by more than one per mille,
# since its last digits depend on when in simulated time an exchange begins. Blocks of
# more than 16 KiB, which take SimGrid minutes, are among them with N = 0 only. Exit status:
# 0 if none differs, 2 for a wrong command line, 77 if SimGrid is not there, else 1.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

seed=$(date -u +%Y%m%d) seconds=40 least=0 most=256 csv='' smpi=''
while [ $# -gt 0 ]; do
    case $1,${2:-} in
    --seed,*[!0-9]* | --seconds,*[!0-9]* | --least,*[!0-9]* | --most,*[!0-9]* | *,) set -- --wrong x ;;
    esac
    case $1 in
    --seed) seed=$2 ;;
    --seconds) seconds=$2 ;;
    --least) least=$2 ;;
    --most) most=$2 ;;
    --csv) csv=$2 ;;
    --smpi) smpi=$2 ;;
    *)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    esac
    shift 2
done
# Rows simulated at once: of many ranks each takes long, and time is short.
together=64
[ "$least" -le 1024 ] || together=1
if [ -n "$smpi" ]; then
    : "${csv:=docs/stock.csv}"
    together=1 # each is a run of its own
fi
: "${csv:=docs/simulated.csv}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# make OPTION...: rows, into $work/csv.
make()
{
    if [ -z "$smpi" ]; then
        sh bench/figures/simulate.sh "$@" --csv "$work/csv" \
            --price "${ROTA_PRICE:-build/bench/rota-price}"
    else
        sh bench/figures/scale.sh "$@" --csv "$work/csv" --build "$smpi" >/dev/null \
            </dev/null
    fi
}

# differing: of had and now, rows of the same names, those that are not the same.
differing()
{
    if [ -z "$smpi" ]; then
        diff "$work/had" "$work/now" | sed -n 's/^< /row  /p; s/^> /now  /p'
        return
    fi
    awk -F, '
        { name = $1 "," $2 "," $3 "," $4 "," $5 "," $6 "," $7 }
        FNR == NR { had[name] = $0; us[name] = $8; next }
        { seen[name] = 1 }
        !(name in us) || $8 > us[name] * 1.001 || $8 < us[name] / 1.001 {
            print "row  " had[name]
            print "now  " $0
        }
        END { for (name in had) if (!(name in seen)) print "row  " had[name] }' \
        "$work/had" "$work/now"
}

# Rows that differ by the algorithm alone are simulated together. Drawn by numbers of our
# own: awk's rand differs from one awk to another.
awk -F, -v least="$least" -v most="$most" -v brief="${smpi:+$((seconds > 0))}" '
    NR > 1 && $2 >= least && $2 <= most && $NF != "late" && !(brief && $6 > 16384)' "$csv" >"$work/rows"
awk -F, -v seed="$seed" -v together="$together" '
    BEGIN { state = seed % 4294967296 }
    {
        key = $1 "," $2 "," $3 "," $4 "," $5 "," $6 ","
        if (n[key]++ % together == 0) {
            for (i = 0; i < 3; i++) state = (state * 69069 + NR) % 4294967296
            line[key] = ++lines
            text[lines] = state "\t" key
        }
        text[line[key]] = text[line[key]] $7 ","
    }
    END { for (i = 1; i <= lines; i++) print text[i] }' "$work/rows" |
    sort -n | cut -f 2 >"$work/lines"
[ -s "$work/lines" ] || { echo "remake.sh: $csv has no such rows" >&2; exit 1; }
end=$(($(date +%s) + seconds))
while IFS=, read -r machine ranks node kind dist size names; do
    [ "$seconds" -eq 0 ] || [ "$(date +%s)" -lt "$end" ] || break
    rm -f "$work/csv"
    make --machine "$machine" --ranks "$ranks" --node "$node" --kind "$kind" \
        --dist "$dist" --sizes "$size" --algos "${names%,}" || exit
    key=$machine,$ranks,$node,$kind,$dist,$size,
    awk -F, -v key="$key" -v names=",$names," '
        index($0, key) == 1 && index(names, "," $7 ",")' "$work/rows" | sort >"$work/had"
    sed 1d "$work/csv" | sort >"$work/now"
    differing >>"$work/differ"
    cat "$work/had" >>"$work/made"
done <"$work/lines" || exit
[ ! -s "$work/differ" ] || cat "$work/differ"
[ -s "$work/made" ] || { echo "remake.sh: no row was remade" >&2; exit 1; }
made=$(wc -l <"$work/made") all=$(wc -l <"$work/rows")
echo "seed $seed: $((made)) of $((all)) rows remade, $((all - made)) left"
[ ! -s "$work/differ" ]
