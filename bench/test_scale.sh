#!/bin/sh
# test_scale.sh - scale.sh as its users call it, on machines of a few ranks.
#
#   sh bench/test_scale.sh FOLDER        to build in; skipped without SimGrid
set -u
export LC_ALL=C

folder=${1:?}
log=$folder/test.log
csv=$folder/test.csv
scale=$(dirname "$0")/scale.sh
mkdir -p "$folder" || exit 1

fail()
{
    echo "FAILED: $*"
    cat "$log"
    exit 1
}

# scale STATUS ARGUMENT...
scale()
{
    expected=$1
    shift
    timeout -k 5 250 sh "$scale" --build "$folder" --csv "$csv" --limit 60 \
        "$@" >"$log" 2>&1
    status=$?
    [ "$status" -ne 77 ] || { cat "$log"; exit 77; }
    [ "$status" -eq "$expected" ] || fail "status $status of: $*"
}

scale 0 --ranks 6 --node 2 --sizes 0,100 --machine torus \
    --algos parlogna:radix=2,scattered:batch=2,mpi,mpi:ring
[ "$(grep -c ',true$' "$csv")" -eq 8 ] || fail "not 8 verified results"
grep -q 'best radix of parlogna' "$log" || fail "no table"
# More than one leaf, more than one group.
scale 0 --ranks 20 --node 1 --sizes 100 --machine fattree --kind exchange \
    --algos scattered,consensus,mpi
scale 1 --ranks 34 --node 1 --sizes 8 --algos no_such_algorithm,mpi
grep -q 'no_such_algorithm *failed' "$log" || fail "no failure in the table"
grep -q "rota-bench: .*'no_such_algorithm'" "$log" || fail "no reason for it"
scale 2 --machine abacus
grep -q "'abacus' is none of" "$log" || fail "no reason"
exit 0
