#!/bin/sh
# killed.sh SKEW MPIEXEC... - what is left when a rank is killed? SKEW is the
# program of skew.c; MPIEXEC with all that goes before the number of ranks.
#
# A rank is killed at a time drawn at random: while plans are made, started,
# waited for, freed. The others must be ended by MPI, and there must be no
# process, and nothing new in /dev/shm that is ours.
set -u
skew=${1:?}
shift
mark=rota-killed-$$
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=no

# A copy, so that its processes are known by name.
cp "$skew" "$work/$mark" || exit 1

ranks()
{
    pgrep -f "^$work/$mark"
}

shared()
{
    find /dev/shm -name '*rota*'
    grep -ls "memfd:rota" /proc/[0-9]*/maps | while IFS=/ read -r _ _ process _; do
        grep -qs "$mark" "/proc/$process/cmdline" && echo "$process"
    done
}

wrong()
{
    echo "try $try, killed after $after ms: $*"
    failed=yes
}

try=0
while [ "$try" -lt 4 ]; do
    try=$((try + 1))
    after=$((100 + (try * 7919 + $$) % 900))
    timeout -k 5 20 "$@" 3 "$work/$mark" "$try" >"$work/output" 2>&1 &
    run=$!
    # Not before all have begun to share memory: what MPI leaves is not ours.
    n=0
    while [ "$(shared | wc -l)" -lt 3 ] && [ "$n" -lt 200 ]; do
        n=$((n + 1))
        sleep 0.02
    done
    sleep "$(printf '0.%03d' "$after")"
    victim=$(ranks | sed -n "$((1 + try % 3))p")
    if [ -z "$victim" ]; then
        wrong "no rank to kill"
        wait "$run"
        continue
    fi
    kill -s KILL "$victim"
    wait "$run"
    status=$?
    [ "$status" -ne 0 ] || wrong "ended well"
    [ "$status" -lt 124 ] || [ "$status" -eq 137 ] ||
        wrong "the others did not end: $status"
    n=0
    while [ -n "$(ranks)$(shared)" ] && [ "$n" -lt 50 ]; do
        n=$((n + 1))
        sleep 0.1
    done
    [ -z "$(ranks)" ] || wrong "left processes"
    [ -z "$(shared)" ] || wrong "left shared memory: $(shared)"
done
[ "$failed" = no ]
