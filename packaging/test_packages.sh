#!/bin/sh
# test_packages.sh ROOT [FOLDER] - build the Debian packages from what git has
# of ROOT, in a clean tree, see what lintian finds, and use them on a fresh
# Debian 12 without the source tree: programs in C, C++, Fortran and Python.
#
# Packages are left in FOLDER, if one is given; those that lie there already are
# used as they are. Takes root, a mirror of Debian for mmdebstrap, and ten
# minutes on two cores. Exit code 77, with the reason: skipped.
set -u
root=$(cd "${1:?}" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
packages=${2:-$work/packages}
mkdir -p "$packages" && packages=$(cd "$packages" && pwd) || exit 1

skip()
{
    echo "skipped: $*"
    exit 77
}

# step WHAT COMMAND...: ends the test, with the output, if COMMAND fails.
step()
{
    what=$1
    shift
    echo "$what"
    if ! "$@" >"$work/out" 2>&1; then
        echo "failed: $what"
        tail -n 60 "$work/out"
        exit 1
    fi
}

for program in dpkg-buildpackage dh lintian mmdebstrap; do
    command -v "$program" >/dev/null || skip "$program is not installed"
done
[ "$(id -u)" -eq 0 ] || skip "only root makes a fresh Debian"

if ! ls "$packages"/*.deb >/dev/null 2>&1; then
    (cd "$root" && dpkg-checkbuilddeps) 2>"$work/out" ||
        skip "$(cat "$work/out")"
    mkdir "$work/tree"
    git -C "$root" -c "safe.directory=$root" archive HEAD |
        tar x -C "$work/tree" || exit 1
    step "build" sh -c 'cd "$1" && exec dpkg-buildpackage -us -uc -b -j2' sh \
        "$work/tree"
    mv "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$packages"
    step "lintian" lintian --allow-root --fail-on error,warning \
        "$packages"/*.changes
    ! grep . "$work/out" || exit 1
fi

# What runs on the fresh Debian, in /rota. MPICH's programs with MPICH's mpiexec,
# Python's with Open MPI's.
mkdir "$work/rota"
cp "$root"/tests/install/consumer.* "$root/python/tests/test_rota.py" \
    "$work/rota"
for package in librota1 librota-dev librota-fortran1 librota-fortran-dev \
    rota-tools python3-rota; do
    cp "$packages/${package}"_*.deb "$work/rota" || exit 1
done
cat >"$work/rota/use.sh" <<'END'
set -eux
cd /rota
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# dpkg -i, and what the packages say they need.
apt-get install -q -y --no-install-recommends ./*.deb gcc g++ libc6-dev \
    pkg-config mpich openmpi-bin
dpkg -s librota-dev >/dev/null
gcc -o with_c consumer.c $(pkg-config --cflags --libs rota)
g++ -std=c++17 -o with_cxx consumer.cpp $(pkg-config --cflags --libs rota)
gfortran -o with_fortran $(pkg-config --cflags rota-fortran) consumer.f90 \
    $(pkg-config --libs rota-fortran)
gcc -static-libgcc -o with_static consumer.c $(pkg-config --cflags rota) \
    $(pkg-config --static --libs rota | sed 's/-lrota /-l:librota.a /')
for program in with_c with_cxx with_fortran with_static; do
    timeout 60 mpiexec.mpich -n 2 ./$program
done
for ranks in 1 2 3; do
    timeout 120 mpiexec.openmpi --allow-run-as-root --oversubscribe \
        --bind-to none -n $ranks python3 test_rota.py | grep 'wrong 0'
done
ROTA_STATS=1 timeout 60 rota-run mpiexec.mpich -n 2 ./with_c 2>&1 |
    grep rota_mpi
timeout 60 rota-info >/dev/null
rota-draw --algo parlogna --radix 2 --ranks 4 >/dev/null
timeout 60 mpiexec.mpich -n 2 rota-bench --sizes 8 --iters 5 >/dev/null
test -s /usr/share/man/man1/rota-bench.1.gz
test -s /usr/share/bash-completion/completions/rota-draw
apt-get purge -q -y librota1 rota-tools python3-rota
! find /usr -name '*rota*' -not -path '*rotat*' | grep -E 'librota|/rota'
END
step "fresh Debian" sh "$root/tools/chroot.sh" --files "$work/rota" bookworm \
    "$work/debian" sh use.sh
echo "programs in C, C++, Fortran and Python run on a fresh Debian 12"
