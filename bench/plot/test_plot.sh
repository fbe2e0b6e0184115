#!/bin/sh
# test_plot.sh - plot.sh as its users call it.
#
#   sh bench/plot/test_plot.sh ROTA-BENCH MPIEXEC... NP
#
# What follows the program starts it on NP ranks. Skipped without gnuplot.
set -u

bench=$1
shift
launch=$*
here=$(dirname "$0")
folder=$(mktemp -d "${TMPDIR:-/tmp}/rota-plot-test.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT

fail()
{
    echo "FAILED: $*"
    [ ! -s "$folder/log" ] || cat "$folder/log"
    exit 1
}

# plot STATUS ARGUMENT...
plot()
{
    expected=$1
    shift
    timeout -k 5 60 sh "$here/plot.sh" "$@" >"$folder/log" 2>&1
    status=$?
    [ "$status" -ne 77 ] || { cat "$folder/log"; exit 77; }
    [ "$status" -eq "$expected" ] || fail "status $status of: $*"
}

# has COUNT TEXT: so many texts of the picture are this.
has()
{
    found=$(grep -c ">$2<" "$folder/a.svg")
    [ "$found" -eq "$1" ] || fail "$found times '$2' in $picture"
}

# draws PICTURE ARGUMENT...: a picture that gnuplot has nothing to say against.
draws()
{
    picture=$1
    shift
    rm -f "$folder/a.svg"
    plot 0 "$picture" --csv "$folder/csv" --out "$folder/a.svg" "$@"
    [ ! -s "$folder/log" ] || fail "words about $picture"
    grep -q '</svg>' "$folder/a.svg" || fail "no picture of $picture"
}

# refuses STATUS TEXT ARGUMENT...
refuses()
{
    status=$1
    text=$2
    shift 2
    plot "$status" "$@"
    grep -q -e "$text" "$folder/log" || fail "not '$text' of: $*"
}

# ---- the CSV of scale.sh -------------------------------------------------------

rows()
{
    for P in 4 8; do
        for S in 16 512; do
            for dist in uniform normal; do
                for name in parlogna:radix=2 parlogna:radix=4 \
                    parlogna:radix=2:metadata=two_phase scattered:batch=4 mpi; do
                    echo "$P,2,fixed,$dist,$S,$name"
                done
            done
        done
    done | awk -F, -v OFS=, '{ print "abacus", $0, 3 * NR % 17 + $5, 9, 100, 1,
        2, 3, 1.5, 2, 0, 0.5, 1, "true" }'
}

{
    echo machine,P,ranks_per_node,kind,dist,max_bytes,name,median_us,init_us,total_bytes,rounds,messages,scratch_bytes,calls_us,copies_us,sizes_us,inside_us,between_us,verified
    rows
    echo abacus,4,2,fixed,uniform,16,spread_out,,,,,,,,,,,,late
} >"$folder/csv"

algos=parlogna:radix,parlogna:radix=2:metadata=two_phase,mpi
draws sizes --ranks 4 --algos "$algos"
has 1 'parlogna, best radix'
has 1 'parlogna:radix=2:metadata=two_phase'
has 1 'abacus, 4 ranks, uniform sizes, time of one exchange'
draws sizes --ranks 4 --algos parlogna:radix,parlogna:radix=2
has 1 'parlogna:radix=2'
draws ranks --sizes 16 --algos "$algos"
has 1 'ranks'
draws radix --ranks 8 --algos parlogna:radix
has 1 'S = 512 B'
has 1 4 # a radix
draws spread --ranks 8 --algos parlogna:radix,scattered:batch
has 1 'scattered, every batch'
# Times 16 to 32 of radix 2 to 6: the box, its median, and which takes the least.
{
    head -n 1 "$folder/csv"
    printf 'abacus,8,2,fixed,uniform,512,parlogna:radix=%s:batch=9,%s,9,1,1,1,1,1,1,1,1,1,true\n' \
        2 32 3 24 4 16 5 20 6 28 6 28
} >"$folder/boxes"
awk -v algos=parlogna:radix:batch -v title=/dev/null \
    -f "$here/rows.awk" -f "$here/spread.awk" "$folder/boxes" |
    grep -qx '1 16 21 26 28 32 "4,9"' || fail "boxes of spread"
draws spread --csv "$folder/boxes" --algos parlogna:radix:batch
has 1 'parlogna, every radix, every batch'
has 1 '4,9'
draws gain --ranks 8 --algos parlogna:radix
has 1 'abacus, 8 ranks, uniform sizes, time of mpi over that of parlogna'
draws forms --algos "$algos"
has 1 'parlogna, best radix'
draws dists --ranks 8 --sizes 512 --algos "$algos"
has 1 'normal'
draws parts --ranks 8 --sizes 512 --algos parlogna:radix=2,parlogna:radix=4
has 1 'waiting between nodes'

# ---- the CSV of rota-bench -----------------------------------------------------

# shellcheck disable=SC2086 # words on purpose
timeout -k 5 60 $launch "$bench" --iters 3 --warmup 0 --inits 1 --sizes 8,64 \
    --algos scattered:batch=1+2,mpi --csv "$folder/csv" >"$folder/log" 2>&1 ||
    fail "rota-bench"
draws sizes --algos scattered:batch=1,scattered:batch=2,mpi
has 1 'scattered:batch=2'
draws radix --algos scattered:batch
has 1 'batch'
refuses 1 'not known what the time of mpi' parts --sizes 8 --csv "$folder/csv" \
    --out "$folder/a.svg" --algos mpi

# ---- mistakes ------------------------------------------------------------------

sed p "$folder/csv" >"$folder/twice"
refuses 1 'more than one time of mpi' sizes --csv "$folder/twice" \
    --out "$folder/a.svg" --algos mpi
refuses 1 'no row is as asked for' sizes --csv "$folder/csv" \
    --out "$folder/a.svg" --algos mpi --ranks 77
refuses 2 'is no picture' pie
refuses 2 'unknown option' sizes --radix 4
refuses 2 'leaves no parameter open' radix --csv "$folder/csv" \
    --out "$folder/a.svg" --algos mpi
refuses 2 'ends in neither' sizes --csv "$folder/csv" --out a.gif --algos mpi
refuses 2 'cannot read' sizes --csv "$folder/none" --out a.svg --algos mpi
exit 0
