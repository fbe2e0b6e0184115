#!/bin/sh
# test_scale.sh - scale.sh as its users call it, on machines of a few ranks.
#
#   sh bench/figures/test_scale.sh FOLDER
#
# FOLDER is to build in. Skipped without SimGrid.
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
    timeout -k 5 250 sh "$scale" --limit 60 --build "$folder" --csv "$csv" \
        "$@" >"$log" 2>&1
    status=$?
    [ "$status" -ne 77 ] || { cat "$log"; exit 77; }
    [ "$status" -eq "$expected" ] || fail "status $status of: $*"
}

scale 0 --ranks 6 --node 2 --sizes 0,100 --machine torus \
    --algos parlogna:radix=2,scattered:batch=2,smpi:mpich,smpi:ring
[ "$(grep -c ',true$' "$csv")" -eq 8 ] || fail "not 8 verified results"
grep -q 'best radix of parlogna' "$log" || fail "no table"
# What the time goes to is known of plans, and is about what it takes.
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    $column["rounds"] != "" {
        sum = 0
        for (i = column["calls_us"]; i <= column["between_us"]; i++) sum += $i
        time = $column["median_us"]
        if (sum <= 1.01 * time && sum >= 0.5 * time - 0.01) right++
    }
    END { exit right != 4 }' "$csv" || fail "parts that do not add up"
# Every rank has a core of its own, however many cores this machine has: none sleeps
# while a plan is made.
scale 0 --ranks 64 --node 64 --sizes 8 --algos spread_out --csv "$folder/crowd.csv"
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
    NR == 2 { exit !($column["init_us"] < 300) }' "$folder/crowd.csv" ||
    fail "ranks sleep: $(cat "$folder/crowd.csv")"
# Ranks that share memory post no messages within their node.
scale 0 --ranks 12 --node 4 --sizes 8 --csv "$folder/shared.csv" \
    --algos shared_leaders:leaders=4,shared_leaders:leaders=4:intranode=shm
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
    NR == 2 { calls = $column["calls_us"] }
    NR == 3 { exit !($column["calls_us"] < calls / 2) }' "$folder/shared.csv" ||
    fail "no shared memory: $(cat "$folder/shared.csv")"
# What is there is not simulated again, what is not is added.
sed 's/^\(torus,6,2,fixed,uniform,100,smpi:mpich\),[^,]*,/\1,777,/' "$csv" >"$csv.new"
mv "$csv.new" "$csv"
scale 0 --ranks 6 --node 2 --sizes 100 --machine torus --reuse \
    --algos smpi:mpich,spread_out
grep -q '^smpi:mpich  *777' "$log" || fail "simulated again"
grep -q '^spread_out  *[0-9]' "$log" || fail "nothing added"
[ "$(grep -c ',true$' "$csv")" -eq 9 ] || fail "not 9 verified results"
scale 1 --ranks 256 --sizes 8 --algos smpi:pair --limit 1
grep -q '^dragonfly,256,32,fixed,uniform,8,smpi:pair,,*late$' "$csv" ||
    fail "no late row"
# More than one leaf, more than one group.
scale 0 --ranks 20 --node 1 --sizes 100 --machine fattree --kind exchange \
    --algos scattered,consensus,smpi:mpich
scale 1 --ranks 34 --node 1 --sizes 8 --algos no_such_algorithm,smpi:mpich
grep -q 'no_such_algorithm *failed' "$log" || fail "no failure in the table"
grep -q "rota-bench: .*'no_such_algorithm'" "$log" || fail "no reason for it"
# Prices, and what a plan chooses by them.
scale 0 --ranks 6 --node 2 --sizes 100 --calibrate "$folder/prices.json"
grep -q '^ *all  *2[0-9] ' "$log" || fail "not all plans were timed"
grep -q '"path_byte"' "$folder/prices.json" || fail "no prices"
scale 0 --ranks 6 --node 2 --sizes 100 --algos auto \
    --tuning "$folder/prices.json"
scale 2 --algos parlogna:radix=2..4
scale 2 --algos parlogna:radix=2,mpi
grep -q 'smpi:mpich' "$log" || fail "mpi is not refused"
scale 2 --machine abacus
grep -q "'abacus' is none of" "$log" || fail "no reason"
exit 0
