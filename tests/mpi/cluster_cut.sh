#!/bin/sh
# cluster_cut.sh ROOT SOAK PRELOAD STALL - what becomes of plans when a host is cut off
# from the others, or a rank there stands still? SOAK is the program of soak.c,
# which checks all data; PRELOAD the library of finalize.c. Hosts are those of
# tools/cluster.sh. STALL is the program of stall.c.
#
# Cut off for some seconds: TCP sends again what was lost, so messages come seconds
# late. Stopped for some seconds: so do all of that rank's. The run ends well. A rank
# that waits for one of another host says so.
# For good: MPICH 4.0 reports nothing, on either side, so plans wait, as MPI's own
# calls do, until the launcher's time limit. Whatever ends the run, nobody may
# have received wrong data or ended well, and no process may be left.
set -u
root=${1:?}
soak=${2:?}
preload=${3:?}
stall=${4:?}
why=$(sh "$root/tools/cluster.sh" --check 2>&1) || { echo "$why"; exit 77; }

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mark=cluster-cut-$$
failed=no

wrong()
{
    echo "$case: $*"
    cat "$work/output"
    failed=yes
}

# What every rank does before it becomes SOAK. That of the second host takes it
# off the net once all have had time to begin, for CUT_SECONDS if that is not 0;
# and then that long the rank is stopped.
cat >"$work/rank" <<'END'
cut_off()
{
    sleep 4
    ip link set eth0 down && : >"$1/cut"
    [ "$CUT_SECONDS" -gt 0 ] || return
    sleep "$CUT_SECONDS"
    ip link set eth0 up
    sleep 1
    kill -s STOP $$ && : >"$1/stopped"
    sleep "$CUT_SECONDS"
    kill -s CONT $$
}
work=$1
shift
[ "$(hostname)" != host1 ] || cut_off "$work" &
exec "$@"
END

# run LIMIT SECONDS: sets status.
run()
{
    rm -f "$work/cut" "$work/stopped"
    env CLUSTER_MARK="$mark" sh "$root/tools/cluster.sh" --limit "$1" \
        --ranks 2,1 sh "$work/rank" "$work" env LD_PRELOAD="$preload" "$soak" \
        --seconds "$2" >"$work/output" 2>&1
    status=$?
    [ -e "$work/cut" ] || wrong "was not cut off"
    ! grep -q '\.c:[0-9]*: rank' "$work/output" || wrong "data were wrong"
    n=0
    while grep -qzsx "CLUSTER_MARK=$mark" /proc/[0-9]*/environ &&
        [ "$n" -lt 100 ]; do
        n=$((n + 1))
        sleep 0.1
    done
    [ "$n" -lt 100 ] || wrong "left processes"
}

case="for two seconds"
export CUT_SECONDS=2
run 80 10
[ "$status" -eq 0 ] || wrong "ended with $status"
[ -e "$work/stopped" ] || wrong "no rank was stopped"

case="for good"
export CUT_SECONDS=0
run 20 10
[ "$status" -ne 0 ] || wrong "ended well"

# In the long form of the test: it takes a dozen seconds.
if [ -z "${ROTA_TEST_QUICK+set}" ]; then
    case="late"
    ROTA_STALL_S=2 sh "$root/tools/cluster.sh" --limit 60 --ranks 1,2 \
        env LD_PRELOAD="$preload" "$stall" told >"$work/output" 2>&1 ||
        wrong "ended with $?"
    grep -q 'has waited 2 s in an exchange, .* for rank.* 0' "$work/output" ||
        wrong "no word of it"
fi

[ "$failed" = no ]
