#!/bin/sh
# arrays.sh RUN MPICXX MPIFORT MPIEXEC... - arrays of C++ and Fortran are shared by
# rota-run, but not with another allocator, AddressSanitizer or valgrind.
set -u
run=${1:?}
cxx=${2:?}
fortran=${3:?}
shift 3
ranks=2 limit=100
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
export ROTA_MPI_AFTER=0 ROTA_SHARE=on

# shared WHAT COMMAND...: the program works, and rank 0 shares memory.
shared()
{
    with "$@" || wrong "$what: it fails"
    [ "$(grep -o ok "$work/out" | wc -l)" -eq "$ranks" ] || wrong "$what: no ok"
    sed -n 's/^rota_mpi: rank 0: bytes_shared=//p' "$work/err" | grep -q '[1-9]'
}

"$cxx" -O1 -o "$work/new" "$here/arrays.cpp" || wrong "no program of C++"
shared "new" "$run" "$@" "$ranks" "$work/new" || wrong "$what: nothing"

if command -v "$fortran" >/dev/null; then
    "$fortran" -O1 -o "$work/allocate" "$here/arrays.f90" || wrong "no Fortran"
    shared "allocate" "$run" "$@" "$ranks" "$work/allocate" ||
        wrong "$what: nothing"
else
    echo "left out: allocate of Fortran, there is no $fortran"
fi

other=$(ldconfig -p | sed -n 's/.*=> \(.*libjemalloc\.so\.[0-9]*\)$/\1/p')
if [ -n "$other" ]; then
    shared "another allocator" env LD_PRELOAD="$other" "$run" "$@" "$ranks" \
        "$work/new" && wrong "$what: shared all the same"
else
    echo "left out: another allocator, there is no libjemalloc.so"
fi

if ! "$cxx" -fsanitize=address -o "$work/watched" "$here/arrays.cpp" 2>/dev/null
then
    echo "left out: AddressSanitizer, this compiler has none"
elif ! with "MPI alone" env ASAN_OPTIONS=detect_leaks=0 "$@" "$ranks" "$work/watched"
then
    echo "left out: AddressSanitizer, with which MPI alone fails"
else
    shared "AddressSanitizer" env ASAN_OPTIONS=detect_leaks=0 "$run" "$@" \
        "$ranks" "$work/watched" && wrong "$what: shared all the same"
fi

if ! command -v valgrind >/dev/null; then
    echo "left out: valgrind, it is not installed"
elif ! LD_PRELOAD=$(dirname "$run")/librota_malloc.so valgrind -q true >/dev/null 2>&1
then
    echo "left out: valgrind, it cannot read what the compiler tells debuggers"
else
    shared "valgrind" "$run" "$@" "$ranks" valgrind -q "$work/new" &&
        wrong "$what: shared all the same"
fi

ROTA_SHARE=maybe ROTA_YIELD=on "$run" true 2>"$work/err" >"$work/out"
grep -q 'ROTA_SHARE=maybe is neither on nor off' "$work/err" ||
    wrong "a value that nobody understands is not told"
grep -q ROTA_YIELD "$work/err" && wrong "ROTA_YIELD=on is told"
exit 0
