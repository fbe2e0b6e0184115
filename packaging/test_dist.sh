#!/bin/sh
# test_dist.sh ROOT CMAKE MPICC - is the release's tarball the same wherever it is
# made, and does it build, install and have what it should?
set -u
root=${1:?}
cmake=${2:?}
mpicc=${3:?}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

git -C "$root" -c "safe.directory=$root" rev-parse HEAD >/dev/null 2>&1 || {
    echo "skipped: $root is no clone of git's"
    exit 77
}
sh "$root/tools/dist.sh" "$root" "$work/one.tar.gz" || exit 1
(
    umask 077
    TZ=Asia/Tokyo LC_ALL=C
    export TZ LC_ALL
    git -c "safe.directory=$root" -c "safe.directory=$root/.git" \
        clone -q "$root" "$work/clone" 2>/dev/null || exit 1
    # A worktree's HEAD need not be that of its repository.
    git -C "$work/clone" checkout -q "$(git -C "$root" \
        -c "safe.directory=$root" rev-parse HEAD)" || exit 1
    sh "$work/clone/tools/dist.sh" "$work/clone" "$work/two.tar.gz"
) || exit 1
cmp "$work/one.tar.gz" "$work/two.tar.gz" || exit 1

mkdir "$work/tree" && tar xzf "$work/one.tar.gz" -C "$work/tree" || exit 1
set -- "$work"/tree/*
[ "$#" -eq 1 ] || { echo "not one folder: $*"; exit 1; }
for file in LICENSE README.md CITATION.cff include/rota.hpp python/meson.build \
    fortran/generate.py debian/control; do
    [ -s "$1/$file" ] || { echo "not in the tarball: $file"; exit 1; }
done
{
    "$cmake" -S "$1" -B "$work/build" -DMPI_C_COMPILER="$mpicc" \
        -DROTA_BUILD_TESTS=OFF -DROTA_BUILD_EXAMPLES=OFF \
        -DROTA_BUILD_BENCH=OFF -DROTA_BUILD_MPI_SHIM=OFF &&
        "$cmake" --build "$work/build" --parallel 2 &&
        "$cmake" --install "$work/build" --prefix "$work/prefix"
} >"$work/out" 2>&1 || {
    tail -n 40 "$work/out"
    exit 1
}
[ -e "$work/prefix/include/rota.h" ]
