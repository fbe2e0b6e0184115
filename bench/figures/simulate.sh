#!/bin/sh
# simulate.sh - algorithms at up to 32,768 ranks, by rota-price --simulate.
#
#   sh bench/figures/simulate.sh [OPTION...]                            (see --help)
#
# Adds one line to a CSV file for every algorithm and size that it does not have
# yet. Exit status: 0, 2 for a wrong command line, else 1.
set -u
export LC_ALL=C

usage()
{
    cat <<'END'
usage: sh bench/figures/simulate.sh [OPTION...]

  --machine NAME     of bench/machines (default dragonfly)
  --ranks N,...      (default 64)
  --node N           ranks a node (default 32)
  --sizes S,...      largest block in bytes (default 16,64,512,2048,8192)
  --algos ALGO,...   as of rota-price --simulate; "published" stands for every
                     form as published, with all parameters (published.sh)
  --kind KIND        fixed (default), varying or exchange
  --dist DIST        as of rota-bench (default uniform)
  --csv FILE         (default docs/simulated.csv)
  --price PROGRAM    (default build/bench/rota-price)
  --list             simulate nothing, but say of which lines the CSV file is to
                     have: their first seven columns
END
}

wrong()
{
    echo "simulate.sh: $*" >&2
    exit 2
}

machine=dragonfly ranks=64 node=32 sizes=16,64,512,2048,8192 algos=
kind=fixed dist=uniform csv=docs/simulated.csv price=build/bench/rota-price list=
while [ $# -gt 0 ]; do
    case $1 in
    --help)
        usage
        exit 0 ;;
    --list)
        list=yes
        shift
        continue ;;
    esac
    [ $# -ge 2 ] || wrong "$1 needs a value (see --help)"
    case $1 in
    --machine) machine=$2 ;;
    --ranks) ranks=$2 ;;
    --node) node=$2 ;;
    --sizes) sizes=$2 ;;
    --algos) algos=$2 ;;
    --kind) kind=$2 ;;
    --dist) dist=$2 ;;
    --csv) csv=$2 ;;
    --price) price=$2 ;;
    *) wrong "unknown option '$1' (see --help)" ;;
    esac
    shift 2
done
here=$(dirname "$0")/..
[ -n "$algos" ] || wrong "--algos is needed (see --help)"
[ -r "$here/machines/$machine.json" ] ||
    wrong "--machine: there is no $here/machines/$machine.json"

[ -n "$list" ] || [ -s "$csv" ] || {
    echo machine,P,ranks_per_node,kind,dist,max_bytes,name,median_us,messages,bytes,copied,mean_part,largest_share,verified \
        >"$csv" || exit 1
}
# Those of the names that the CSV does not have, in one line.
missing()
{
    for algo in $(echo "$names" | tr , ' '); do
        echo "$algo"
    done | awk -F, -v key="$key" '
        FILENAME == "-" { if (!($1 in seen)) print $1; seen[$1] = 1; next }
        $1 "," $2 "," $3 "," $4 "," $5 "," $6 == key { seen[$7] = 1 }' "$csv" - |
        paste -s -d , -
}

for P in $(echo "$ranks" | tr , ' '); do
    Q=$node
    [ "$Q" -le "$P" ] || Q=$P
    names=$(for algo in $(echo "$algos" | tr , ' '); do
        case $algo in
        published) sh "$here/figures/published.sh" "$P" "$Q" ;;
        *) echo "$algo" ;;
        esac
    done)
    for size in $(echo "$sizes" | tr , ' '); do
        key="$machine,$P,$Q,$kind,$dist,$size"
        if [ -n "$list" ]; then
            echo "$names" | tr , '\n' | sed "s|^|$key,|"
            continue
        fi
        todo=$(missing)
        [ -n "$todo" ] || continue
        # With many ranks what is interrupted is to go on where it was.
        [ "$P" -le 1024 ] || todo=$(echo "$todo" | tr , ' ')
        for some in $todo; do
            rows=$("$price" --simulate --shared no --kind "$kind" \
                --prices "$here/machines/$machine.json" --node "$Q" \
                --ranks "$P" --size "$size" --dist "$dist" --algos "$some" \
                </dev/null) || exit 1
            echo "$rows" | awk -v key="$key" '
                /^# / { mean = $(NF - 1); share = $NF }
                !/^#/ && $1 != "algorithm" {
                    printf "%s,%s,%s,%s,%s,%s,%s,%s,simulated\n", key, $1, $4,
                        $5, $6, $7, mean, share
                }' >>"$csv"
        done
    done
done
