#!/bin/sh
# chroot.sh - another release of Debian in a folder, and a command in it.
#
#   sh tools/chroot.sh [--files FILES] SUITE FOLDER [COMMAND...]
#
# Makes a minimal Debian SUITE (bookworm, trixie, forky ...) in FOLDER, unless it holds
# one, from the mirror that this system's apt uses; copies what git has of this tree,
# or all there is where that is no git tree, to /rota of it; installs what
# tools/setup.sh names for the tests; and runs COMMAND in /rota, by default
# sh tools/test.sh. With --files those of the folder FILES are copied instead, and
# nothing is installed.
#
# The command has file systems of its own for /proc, /dev and /dev/shm, and sees this
# system's /sys; they end with it, as do its processes. Of the environment it sees CI and MPICC. Takes root, a kernel
# that lets it make namespaces, and mmdebstrap or debootstrap. Exit code 77, with the
# reason: that is not all there; else that of COMMAND.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
# shellcheck source=tools/debian.sh
. "$root/tools/debian.sh"

files=
if [ "${1:-}" = --files ]; then
    files=$(cd "${2:?}" && pwd) || exit 2
    shift 2
fi
[ $# -ge 2 ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 2; }
suite=$1 folder=$2
shift 2
[ $# -gt 0 ] || set -- sh tools/test.sh

skip()
{
    echo "skipped: $*"
    exit 77
}

# make MIRROR: a mirror that is out of date is taken if this system's apt takes it.
make()
{
    make_valid=$(apt-config dump Acquire::Check-Valid-Until 2>/dev/null)
    if command -v mmdebstrap >/dev/null; then
        mmdebstrap --quiet --variant=minbase --include=ca-certificates \
            ${make_valid:+"--aptopt=$make_valid"} "$suite" "$folder" "$1"
    else
        debootstrap --variant=minbase --include=ca-certificates "$suite" "$folder" \
            "$1" && echo "$make_valid" >"$folder/etc/apt/apt.conf.d/99valid-until"
    fi
}

copy_tree()
{
    if [ -e "$root/.git" ]; then
        git -C "$root" -c "safe.directory=$root" ls-files -z \
            --cached --others --exclude-standard |
            (cd "$root" && tar c --null --ignore-failed-read -T -)
    else
        tar c -C "$root" --exclude='./build*' .
    fi | tar x --no-same-owner -C "$folder/rota"
}

[ "$(id -u)" -eq 0 ] || skip "only root makes a Debian"
unshare -m -p -f true 2>/dev/null || skip "no namespaces for root"
if [ ! -e "$folder/etc/debian_version" ]; then
    command -v mmdebstrap >/dev/null || command -v debootstrap >/dev/null ||
        skip "neither mmdebstrap nor debootstrap is installed"
    mirror=$(rota_mirror) || skip "apt names no mirror of Debian"
    mirror=${mirror%/}
    release=$(mktemp) || exit 1
    /usr/lib/apt/apt-helper -q download-file "$mirror/dists/$suite/InRelease" \
        "$release" >/dev/null 2>&1 || { rm -f "$release"; skip "no mirror has $suite"; }
    rm -f "$release"
    make "$mirror" || exit 1
fi
folder=$(cd "$folder" && pwd) && mkdir -p "$folder/rota" || exit 1
cp -L /etc/resolv.conf "$folder/etc/resolv.conf"
if [ -n "$files" ]; then
    cp -R "$files/." "$folder/rota" || exit 1
else
    copy_tree || exit 1
fi

# Expanded there, in namespaces of its own, whose first process ends the others. It is
# not COMMAND, as it has to wait for processes that others leave behind.
# shellcheck disable=SC2016
outside='
    folder=$1
    shift
    mount -t proc proc "$folder/proc" && mount --rbind /dev "$folder/dev" &&
        mount --make-rslave "$folder/dev" && mount --rbind /sys "$folder/sys" &&
        mount --make-rslave "$folder/sys" &&
        mount -t tmpfs -o size=50% shm "$folder/dev/shm" || exit 1
    chroot "$folder" "$@"
    exit $?'
# shellcheck disable=SC2016
inside='cd /rota || exit 1
    [ -n "$1" ] || { . tools/setup.sh && rota_setup tests; } || exit 1
    shift
    exec "$@"'
exec unshare -m -p -f --kill-child sh -c "$outside" sh "$folder" \
    env -i HOME=/root LC_ALL=C.UTF-8 CI="${CI:-}" MPICC="${MPICC:-}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    sh -c "$inside" sh "$files" "$@"
