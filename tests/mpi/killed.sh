#!/bin/sh
# killed.sh SKEW DIES MPIEXEC... - what is left when a rank is killed? SKEW and
# DIES are the programs of skew.c and dies.c; MPIEXEC with all that goes before
# the number of ranks.
#
# A rank is killed at a time drawn at random, and at each point that dies.c
# knows. The others must be ended by MPI, and there must be no process, and
# nothing new in /dev/shm that is ours.
set -u
skew=${1:?}
dies=${2:?}
shift 2
mark=rota-killed-$$
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=no

# Copies, so that their processes are known by name.
cp "$skew" "$work/$mark" && cp "$dies" "$work/$mark-dies" || exit 1

ranks()
{
    pgrep -f "^$work/$mark"
}

shared()
{
    # Copies of programs, by SimGrid, may have such names.
    find /dev/shm -name '*rota*' ! -name '*.so'
    grep -ls "memfd:rota" /proc/[0-9]*/maps | while IFS=/ read -r _ _ process _; do
        ! grep -qs "$mark" "/proc/$process/cmdline" || echo "$process"
    done
}

wrong()
{
    echo "killed $when: $*"
    failed=yes
}

# all_gone STATUS: of mpiexec, which has ended.
all_gone()
{
    [ "$1" -ne 0 ] || wrong "ended well"
    # 137 and 142: of the signals, KILL and ALRM, that end the rank.
    [ "$1" -lt 124 ] || [ "$1" -eq 137 ] || [ "$1" -eq 142 ] || wrong "the others did not end: $1"
    n=0
    while left=$(ranks; shared); [ -n "$left" ] && [ "$n" -lt 50 ]; do
        n=$((n + 1))
        sleep 0.1
    done
    [ -z "$left" ] || wrong "left processes or shared memory: $left"
}

for point in node init start wait free memory; do
    when="at $point"
    timeout -k 5 20 "$@" 3 "$work/$mark-dies" "$point" >"$work/output" 2>&1
    all_gone $?
    grep -q failures "$work/output" && wrong "$(cat "$work/output")"
done

try=0
while [ "$try" -lt 4 ]; do
    try=$((try + 1))
    after=$((100 + (try * 7919 + $$) % 900))
    when="after $after ms, try $try"
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
    all_gone $?
done
[ "$failed" = no ]
