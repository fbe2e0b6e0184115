#!/bin/sh
# test_bench.sh - rota-bench as its users call it.
#
#   sh bench/bench/test_bench.sh ROTA-BENCH MPIEXEC... NP
#
# What follows the program starts it on NP ranks.
set -u

bench=$1
shift
folder=$(mktemp -d "${TMPDIR:-/tmp}/rota-bench-test.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT

fail()
{
    echo "FAILED: $*"
    [ ! -s "$folder/log" ] || cat "$folder/log"
    exit 1
}

lines()
{
    sed -n '$=' "$1"
}

# measures RESULTS ARGUMENT...: a run succeeds, with so many verified results.
# The command that starts the ranks is in $launch, words split on purpose.
measures()
{
    results=$1
    shift
    # shellcheck disable=SC2086
    timeout -k 5 120 $launch "$bench" --iters 3 --warmup 1 \
        --json "$folder/json" --csv "$folder/csv" "$@" \
        >"$folder/log" 2>&1 || fail "status $? of: $*"
    "$bench" --check-json "$folder/json" >>"$folder/log" 2>&1 ||
        fail "JSON of: $*"
    [ "$(lines "$folder/json")" -eq "$results" ] ||
        fail "not $results results of: $*"
    [ "$(lines "$folder/csv")" -eq $((results + 1)) ] || fail "CSV of: $*"
}

# touched RESULTS TOUCH STEP: so many of the last results say what was touched, and
# have a step that begins so.
touched()
{
    [ "$(grep "\"touch\":\"$2\"" "$folder/json" |
        grep -c "\"step_us\":$3")" -eq "$1" ] || fail "touch $2, step $3"
}

# refuses TEXT ARGUMENT...: a run fails and says TEXT.
refuses()
{
    text=$1
    shift
    # shellcheck disable=SC2086
    if timeout -k 5 60 $launch "$bench" "$@" >"$folder/log" 2>&1; then
        fail "no error of: $*"
    fi
    grep -q -e "$text" "$folder/log" || fail "not '$text' of: $*"
}

# part NAME ALGORITHM: a number in the last results, 0 if there is none.
part()
{
    sed -n "s/.*\"algo\":\"$2\".*\"$1\":\([0-9][0-9.]*\).*/\1/p" \
        "$folder/json" | tail -n 1 | grep . || echo 0
}

# What a run on a device takes consists of its parts. Medians of parts may exceed
# that of the whole a little.
has_parts()
{
    for algo in "$@"; do
        awk -v d="$(part down_us "$algo")" -v e="$(part exchange_us "$algo")" \
            -v u="$(part up_us "$algo")" -v t="$(part p90_us "$algo")" \
            'BEGIN { exit !(d > 0 && u >= 0 && e >= 0 && d + e + u < 3 * t) }' ||
            fail "parts of $algo"
    done
}

on_a_device()
{
    measures 12 --sizes 300,70000 --mem cuda --iters 20 --inits 2 \
        --algos auto:device=copy_to_cpu,mpi,mpi_naive,stage_bound,device_bound,copy_bound
    grep -q 'down us *exch. us *up us *x bound' "$folder/log" ||
        fail "no parts in the table"
    has_parts auto mpi mpi_naive stage_bound
    touched 12 none null
    [ "$(part ratio_to_bound stage_bound)" = 1 ] || fail "bound of the bound"
    measures 2 --sizes 300 --mem cuda --iters 20 --block 5 \
        --algos auto:device=copy_to_cpu,mpi
    has_parts auto mpi
    measures 5 --sizes 3000 --mem cuda --kind varying --dist uniform \
        --algos auto,mpi,mpi_naive,stage_bound,device_bound
    measures 2 --sizes 300 --mem cuda --iters 20 --kind exchange --algos auto,mpi
}

launch=$*
# The rest is of the host: the same test, without one.
if [ "${ROTA_TEST_DEVICE:-0}" != 0 ]; then
    on_a_device
    exit 0
fi
measures 4 --sizes 0,100 --algos auto,mpi
measures 8 --sizes 8,5000 --dist window:50,sparse:0.3 \
    --algos scattered:batch=2,mpi
measures 2 --sizes 64 --dist window:0 --algos bruck_basic,bruck_zero_rotation
measures 4 --sizes 0,5000 --mem window --algos read_bound,auto
measures 3 --sizes 64 --algos scattered:batch=1..2+5
measures 6 --sizes 64 --kind varying --dist uniform,fft2 \
    --algos auto,rota_mpi,copy_bound
measures 12 --sizes 0,64,5000 --kind exchange --dist uniform,sparse:0.3 \
    --algos auto,mpi
measures 3 --sizes 300 --kind exchange --bound none --block 3 --iters 5 \
    --algos two_phase_bruck:radix=2,copy_bound,mpi
measures 2 --sizes 300 --kind varying --bound none --block 1 --algos auto,mpi
measures 3 --sizes 300 --starts 5 --algos auto,mpi,copy_bound
measures 3 --sizes 300 --touch send --algos auto,mpi,copy_bound
grep -q '# touch    send: ' "$folder/log" || fail "not said what is touched"
touched 3 send '[-0-9]'
measures 2 --sizes 300 --touch recv --starts 3 --block 2 --algos auto,mpi
touched 2 recv '[-0-9]'
measures 4 --sizes 0,5000 --kind exchange --dist sparse:0.3 --algos auto,mpi
touched 4 both '[-0-9]'
measures 2 --sizes 300 --between 5000 --starts 3 --algos auto,mpi
[ "$(grep -c '"between":5000' "$folder/json")" -eq 2 ] ||
    fail "not said how much is written between exchanges"
measures 2 --sizes 300 --touch none --algos auto,mpi
touched 2 none null
measures 24 --sizes 0,300 --dist uniform,sparse:0.3 --mem window \
    --algos auto,l_a2a_published,mpml_published:leaders=1..2,nmpml_published,onmpml_published:leaders=3
measures 2 --sizes 300,70000 --mem heap --iters 20 --algos auto
measures 2 --sizes 64 --time-limit 0.001 --inits 2 --algos auto,mpi

measures 2 --sizes 300 --switches --starts 2 --algos auto,mpi
[ "$(grep -c '"voluntary_switches":[0-9.]*,"involuntary_switches":[0-9]' \
    "$folder/json")" -eq 2 ] || fail "no switches were counted"
measures 1 --sizes 300 --algos mpi
grep -q '"voluntary_switches":null' "$folder/json" || fail "switches counted"

refuses "unknown argument '--bogus'" --bogus
refuses "not an integer from 1" --inits 0
refuses "none of both, send, recv, none" --touch all
refuses "not a number of bytes" --between -1
refuses "not with --touch none" --between 8 --touch none
refuses "rota_mpi.: rota_exchange_init" --kind exchange --algos rota_mpi
refuses "is for memory of a device" --algos mpi_naive
if "$bench" --mem cuda --iters 1 2>&1 | grep -q "is not available here"; then
    refuses "is not available here" --mem cuda
else
    on_a_device
fi
refuses "cannot write" --json "$folder/none/json"
refuses "no such file\|No such file" --dist "matrix:$folder/none"
refuses "no_such_algorithm" --algos no_such_algorithm
refuses "rota_no_such_hint" --algos auto:no_such_hint=1

echo "{}" >"$folder/json"
"$bench" --check-json "$folder/json" >"$folder/log" 2>&1 &&
    fail "an empty object passes as a result"
"$bench" --help >"$folder/log" 2>&1 || fail "status $? of --help"
exit 0
