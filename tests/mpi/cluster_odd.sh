#!/bin/sh
# cluster_odd.sh ROOT SOAK PRELOAD NO_MEMFD - hosts that are not alike, and ranks
# of one host that do not see each other. SOAK is the program of soak.c, which
# checks all data; PRELOAD the library of finalize.c, NO_MEMFD that of no_memfd.c.
# Hosts are those of tools/cluster.sh, two ranks on each.
#
#   pid    each rank has a PID namespace and a /proc of its own, as in a container:
#          all are process 1
#   memfd  the second host's kernel has no memfd_create
#
# Without /proc UCX, and so MPICH, does not start; that files of other processes
# cannot be opened is tried by fallback.c.
set -u
root=${1:?}
soak=${2:?}
preload=${3:?}
no_memfd=${4:?}
why=$(sh "$root/tools/cluster.sh" --check 2>&1) || { echo "$why"; exit 77; }

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=no

# What a rank does before it becomes SOAK.
cat >"$work/rank" <<'END'
case=$1 no_memfd=$2
shift 2
[ "$case" = pid ] &&
    exec unshare --pid --fork --kill-child --mount-proc "$@"
[ "$(hostname)" = host1 ] || exec "$@"
exec env LD_PRELOAD="$LD_PRELOAD:$no_memfd" "$@"
END

for case in pid memfd; do
    env LD_PRELOAD="$preload" sh "$root/tools/cluster.sh" --limit 60 2 2 \
        sh "$work/rank" "$case" "$no_memfd" "$soak" --seconds 0 --rounds 4 \
        >"$work/output" 2>&1
    status=$?
    if [ "$status" -ne 0 ] || ! grep -q '^3 generations' "$work/output"; then
        echo "$case: ended with $status"
        cat "$work/output"
        failed=yes
    fi
done
[ "$failed" = no ]
