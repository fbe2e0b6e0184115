#!/bin/sh
# compare.sh BUILD FOLDER RANKS SEARCHES SCALE INVERSIONS [PAIRS] - a program of CombBLAS,
# tests/dropin/combblas.cpp, by MPI alone and with exchanges by Rota.
#
# Builds both in FOLDER, unless they are there and new, with Debian's libcombblas-dev, its headers
# patched by patch.sh, and Rota of the folder BUILD. Runs them in turn, PAIRS times
# (default 1), and prints the medians of the whole time and of that in exchanges, in
# milliseconds, and of the ratios of pairs. The exit code is 0 if both found the same, 77
# if the package is not there or is for another MPI than BUILD's.
set -eu
build=$(cd "${1:?}" && pwd)
folder=${2:?}
ranks=${3:?}
pairs=${7:-1}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

skip()
{
    echo "skipped: $*"
    exit 77
}

headers=/usr/include/CombBLAS
[ -e "$headers/CombBLAS.h" ] || skip "libcombblas-dev is not installed"
mpicc=$(sed -n 's/^MPI_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
mpicxx=$(echo "$mpicc" | sed 's/mpicc\([^/]*\)$/mpicxx\1/')
grep -q '^ROTA_MPI_IS_OPENMPI:[A-Z]*=1' "$build/CMakeCache.txt" ||
    skip "Debian's CombBLAS is for Open MPI"

# made NAME FLAG...: a program with or without exchanges by Rota, both with a clock.
made()
{
    name=$1
    shift
    if [ -e "$name" ] && [ -z "$(find "$here" \
        "$root/tests/dropin/combblas.cpp" -newer "$name")" ]; then
        return
    fi
    wraps=
    for function in MPI_Alltoall MPI_Alltoallv MPI_Finalize \
        rota_exchange_start_arrays rota_exchange_wait_arrays; do
        wraps="$wraps,--wrap=$function"
    done
    "$mpicxx" -std=c++17 -O2 -w -fopenmp "$@" -I. -I"$root/include" \
        "$root/tests/dropin/combblas.cpp" clock.o -o "$name" "-Wl$wraps" \
        -lCombBLAS -L"$build/src" -lrota "-Wl,-rpath,$build/src"
}

mkdir -p "$folder"
cd "$folder"
sh "$here/patch.sh" "$headers" CombBLAS
"$mpicc" -O2 -Wall -I"$root/include" -c "$here/clock.c" -o clock.o
made by-mpi
made by-rota -DCOMBBLAS_ROTA

# once WAY ARGUMENT...: its answers into WAY.answer; whole and in exchanges, ms, into
# WAY.times.
once()
{
    way=$1
    shift
    # shellcheck disable=SC2046 # several words
    timeout -k 5 100 $(cat "$build/mpiexec.txt") "$ranks" \
        env OMP_NUM_THREADS=1 "./by-$way" "$@" >"$way.out" ||
        { cat "$way.out"; exit 1; }
    awk '/ us each/ {print $1, $2, $3, $4, $NF}' "$way.out" >"$way.answer"
    awk '/ us each/ {whole += $1 * $5 / 1000} /^exchanges/ {print whole, $3}' \
        "$way.out" >>"$way.times"
}

# median: of the numbers that come in.
median()
{
    sort -g | awk '{t[NR] = $1} END {
        print (t[int((NR + 1) / 2)] + t[int(NR / 2) + 1]) / 2}'
}

# row NAME COLUMN
row()
{
    paste mpi.times rota.times | awk -v c="$2" '{print $c / $(c + 2)}' >ratios
    echo "$1: by MPI $(awk -v c="$2" '{print $c}' mpi.times | median) ms," \
        "by Rota $(awk -v c="$2" '{print $c}' rota.times | median) ms," \
        "ratio $(median <ratios) ($(sort -g ratios | sed -n '1p;$p' | paste -sd-))"
}

rm -f mpi.times rota.times
for pair in $(seq "$pairs"); do
    [ $((pair % 2)) = 1 ] && order="mpi rota" || order="rota mpi"
    for way in $order; do
        once "$way" "$4" "$5" "$6"
    done
    cmp mpi.answer rota.answer
    [ -s mpi.answer ] || { echo "no answer" && exit 1; }
done
cat mpi.answer
row exchanges 2
row whole 1
