#!/bin/sh
# test_tune.sh - rota-tune as its users call it.
#
#   sh bench/tune/test_tune.sh ROTA-TUNE MPIEXEC... NP
#
# What follows the program starts it on NP ranks.
set -u

tune=$1
shift
launch=$*
for np in "$@"; do :; done # the last word
folder=$(mktemp -d "${TMPDIR:-/tmp}/rota-tune-test.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
file=$folder/tuning.json
unset ROTA_TUNING_FILE
export XDG_CONFIG_HOME="$folder/config"

fail()
{
    echo "FAILED: $*"
    cat "$folder/out" "$folder/log" "$file" 2>/dev/null
    exit 1
}

# The command that starts the ranks is in $launch, words split on purpose.
run()
{
    # shellcheck disable=SC2086
    timeout -k 5 120 $launch "$tune" --quick "$@" >"$folder/out" \
        2>"$folder/log"
}

# has FILE COUNT TEXT: so many lines of FILE have TEXT in them.
has()
{
    [ "$(grep -c -e "$3" "$1")" -eq "$2" ] ||
        fail "not $2 lines with '$3' in $1, after: $what"
}

succeeds()
{
    what=$*
    run "$@" || fail "status $? of: $what"
}

# refuses TEXT ARGUMENT...: a run fails and says TEXT.
refuses()
{
    text=$1
    shift
    what=$*
    ! run "$@" || fail "no error of: $what"
    has "$folder/log" 1 "$text"
}

# Of a device: prices of its copies, in place of estimates, and no others.
device()
{
    succeeds --device --output "$folder/device" --sizes 512,8192,131072
    has "$folder/out" 1 '^ *all '
    for price in '"device_copy":[[:space:]]*4000,' \
        '"staged_side":[[:space:]]*10000,'; do
        [ "$np" -gt 1 ] || continue # a single rank sends nobody anything
        has "$folder/device" 0 "$price"
    done
    has "$folder/device" 1 '"net_per_phase":[[:space:]]*1500,'
    has "$folder/device" 0 '"copied_once_from"'
    has "$folder/device" 0 '"fixed"'
}

if [ "${ROTA_TEST_DEVICE:-0}" != 0 ] ||
    run --device --sizes 8 --output "$folder/there"; then
    device
    [ "${ROTA_TEST_DEVICE:-0}" = 0 ] || exit 0 # the rest is for the host
else
    refuses 'is not available here' --device
fi

# Prices, and rows: 2 sizes of fixed plans, these and no bound of exchanges.
succeeds --output "$file" --sizes 8,5000 --kinds fixed,exchange
has "$folder/out" 1 '^ *all '
has "$folder/log" 1 '^rows: 5 measured, 0 were there, 0 failed'
has "$file" 1 '"net_per_byte"'
if [ "$np" -gt 1 ]; then
    has "$file" 1 '"copied_once_from":[[:space:]]*[1-9][0-9]*,$'
else
    has "$file" 0 '"copied_once_from"'
fi
has "$file" 2 '"fixed"'
has "$file" 3 '"exchange"'
[ "$(find "$folder" -name 'tuning*' | wc -l)" -eq 1 ] || fail "drafts are left"

# Nothing is done twice; what is new is added.
cp "$file" "$folder/before"
succeeds --output "$file" --sizes 8,5000 --kinds fixed,exchange
has "$folder/out" 0 '^ *all '
has "$folder/log" 1 '^rows: 0 measured, 5 were there, 0 failed'
cmp -s "$file" "$folder/before" || fail "the file has changed"
succeeds --output "$file" --sizes 8,100000 --kinds fixed
has "$folder/log" 1 '^rows: 1 measured, 1 were there, 0 failed'
has "$file" 3 '"fixed"'
has "$file" 3 '"exchange"'

# New prices, and all rows.
succeeds --output "$file" --sizes 8 --calibrate-only
has "$folder/out" 1 '^ *all '
has "$file" 3 '"fixed"'
has "$file" 1 '--sizes 8 --calibrate-only'

# Where MPI carries messages within the node there is nothing to be found.
ROTA_INTRANODE=p2p run --output "$folder/p2p" --sizes 8 --calibrate-only ||
    fail "status $? with a hint"
has "$folder/p2p" 1 '"net_per_byte"'
has "$folder/p2p" 0 '"copied_once_from"'

# No time for anything; the user's file.
succeeds --budget 0.000001
has "$folder/log" 1 '^rows: 0 measured, 0 were there, 0 failed'
[ ! -e "$folder/config" ] || fail "a file without measurements"
succeeds --sizes 8 --kinds varying
has "$folder/config/rota/tuning.json" 2 '"varying"'

# Hints in the environment leave nothing to be found.
ROTA_ALGORITHM=linear run --output "$folder/hinted" --sizes 8 --kinds fixed ||
    fail "status $? with a hint"
has "$folder/log" 1 '^rows: 0 measured, 0 were there, 1 failed'

refuses "'--bogus' is unknown" --bogus
refuses "'--sizes' is unknown or needs a value" --sizes
refuses 'no matrices' --dist matrix:x
refuses "'x' is not a number of bytes" --sizes x
refuses "'some' will not do" --kinds some
refuses "'-3' will not do" --budget -3
refuses "cannot write $folder/none/there: No such" --output \
    "$folder/none/there" --sizes 8
has "$folder/log" 0 calibrating # found before anything is measured
echo '{"rota_tuning": 1, "rows": 3}' >"$folder/damaged"
refuses 'damaged: tuning: rows = 3' --output "$folder/damaged"
has "$folder/damaged" 1 '"rows": 3'

"$tune" --help >"$folder/out" 2>"$folder/log" || fail "status $? of --help"
exit 0
