#!/bin/sh
# cluster_clean.sh ROOT NODES PRELOAD - does tools/cluster.sh leave nothing
# behind? NODES is the program of nodes.c, PRELOAD the library of finalize.c.
#
# Runs end by themselves, by the death of a rank, by the time limit, and by
# signals to the script; two of them go side by side. After each, no process of
# the run may be there, no namespace of its hosts, and of what all can see no
# new network interface, name of a namespace, mount, or file in /dev/shm.
set -u
root=${1:?}
nodes=${2:?}
preload=${3:?}
ranks=3
why=$(sh "$root/tools/cluster.sh" --check 2>&1) || { echo "$why"; exit 77; }

work=$(mktemp -d) || exit 1
mark=cluster-clean-$$
run_pid=
trap '[ -z "$run_pid" ] || kill -s KILL "$run_pid" 2>/dev/null; rm -rf "$work"' \
    EXIT
failed=no

wrong()
{
    echo "$case: $*"
    failed=yes
}

# What every rank does before it becomes NODES: notes its namespaces, and makes
# a file in the memory that its host shares.
cat >"$work/rank" <<END
for kind in net pid ipc mnt uts; do
    readlink "/proc/self/ns/\$kind"
done >>$work/namespaces
: >"/dev/shm/$mark" && echo ready >>$work/ready
export LD_PRELOAD=$preload
exec "$nodes" "\$@"
END

outside()
{
    ip -o link | cut -d: -f2
    ip netns
    cut -d' ' -f3- /proc/self/mountinfo
}

# begin OPTIONS ARGUMENTS: a run in the background, run_pid, known by its mark.
begin()
{
    : >"$work/namespaces"
    : >"$work/ready"
    # Options are words.
    # shellcheck disable=SC2086
    env CLUSTER_MARK="$mark" sh "$root/tools/cluster.sh" $1 --ranks 2,1 \
        sh "$work/rank" $2 >"$work/output" 2>&1 &
    run_pid=$!
}

# with_mark [NAME]: processes of the run, or those called NAME.
with_mark()
{
    grep -lzsx "CLUSTER_MARK=$mark" /proc/[0-9]*/environ |
        while IFS=/ read -r _ _ process _; do
            [ -z "${1:-}" ] || grep -qsx "$1" "/proc/$process/comm" || continue
            echo "$process"
        done
}

# Until COMMAND succeeds, 15 seconds at most.
await()
{
    give_up=$(($(date +%s) + 15))
    until "$@"; do
        [ "$(date +%s)" -lt "$give_up" ] || return 1
        sleep 0.1
    done
}

all_run()
{
    [ "$(wc -l <"$work/ready")" -eq "$ranks" ] &&
        [ "$(with_mark "${nodes##*/}" | wc -l)" -eq "$ranks" ]
}

# Processes in one of the namespaces that are older than the run's end: its number may
# have been given again since, in another test.
holders()
{
    find /proc/[0-9]*/ns -type l -printf '%p %l\n' 2>/dev/null |
        awk 'FNR == NR { ours[$0]; next }
            $2 in ours { split($1, part, "/"); print part[3] }' \
            "$work/namespaces" - | sort -u |
        while read -r process; do
            began=$(sed 's/.*) //' "/proc/$process/stat" 2>/dev/null |
                cut -d ' ' -f 20)
            [ "${began:-$ended}" -ge "$ended" ] || echo "$process"
        done
}

# Namespaces end with their last process, file or mount.
namespaces_gone()
{
    [ -z "$(holders)" ] && ! grep -qFf "$work/namespaces" /proc/self/mountinfo
}

processes_gone()
{
    [ -z "$(with_mark)" ]
}

# end STATUS: wait for the run, which is to end with STATUS (or not, with !0).
end()
{
    wait "$run_pid"
    status=$?
    ended=$(awk -v hz="$(getconf CLK_TCK)" '{ print int($1 * hz) }' /proc/uptime)
    run_pid=
    case $1,$status in
    '!0,0') wrong "ended well" ;;
    '!0',* | "$status,$status") ;;
    *) wrong "ended with $status instead of $1"
        cat "$work/output" ;;
    esac
    [ -s "$work/namespaces" ] || wrong "noted no namespaces"
    await processes_gone || wrong "left processes: $(with_mark | tr '\n' ' ')"
    await namespaces_gone || wrong "left namespaces"
    [ ! -e "/dev/shm/$mark" ] || wrong "left a file in /dev/shm"
    rm -f "/dev/shm/$mark"
    outside >"$work/after"
    cmp -s "$work/before" "$work/after" ||
        wrong "left something: $(diff "$work/before" "$work/after")"
}

begin_endless()
{
    begin "$1" "2,1 endless"
    await all_run || { wrong "does not begin"; cat "$work/output"; }
}

outside >"$work/before"

case="ended by itself"
begin "--limit 60" 2,1
end 0

case="killed rank"
begin_endless "--limit 60"
with_mark "${nodes##*/}" | tail -n 1 | xargs kill -s KILL
end '!0'

case="time limit"
begin_endless "--limit 8"
end 124

# Not INT, which a shell makes its background commands ignore.
for signal in TERM HUP KILL; do
    case="signal $signal"
    begin_endless "--limit 60"
    kill -s "$signal" "$run_pid"
    case $signal in
    HUP) end 129 ;;
    KILL) end 137 ;;
    TERM) end 143 ;;
    esac
done

case="side by side"
begin_endless "--limit 60"
sh "$root/tools/cluster.sh" --limit 60 --ranks 2,1 \
    env LD_PRELOAD="$preload" "$nodes" 2,1 >"$work/second" 2>&1 ||
    { wrong "the second run fails"; cat "$work/second"; }
all_run || wrong "the first run ended with the second"
kill -s TERM "$run_pid"
end 143

[ "$failed" = no ]
