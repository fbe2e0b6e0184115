#!/bin/sh
# check_abidiff.sh ROOT LIBRARY CFLAG... - does abidiff find in the library the
# functions, argument types and symbol versions that tests/abi.txt records?
#
# A library of empty functions is made from the record, and the two compared.
# CFLAG...: what finds mpi.h. LIBRARY has been built with -g.
set -u
root=$(cd "${1:?}" && pwd)
library=$(realpath "${2:?}")
shift 2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

command -v abidiff >/dev/null || { echo "abidiff is not installed"; exit 77; }
{
    echo "#include <mpi.h>"
    echo "#include <stddef.h>"
    grep '^typedef' "$root/tests/abi.txt" | sed 's/$/;/'
    # Arguments are not used.
    sed -n -e '/^\(int\|void \*\).*)$/s/$/ { return 0; }/p' \
        -e '/^void [^*].*)$/s/$/ {}/p' "$root/tests/abi.txt"
} >"$work/record.c"
soname=$(sed -n 's/^soname //p' "$root/tests/abi.txt")
${CC:-cc} -w -g -shared -fPIC "$@" -o "$work/librota.so" "$work/record.c" \
    "-Wl,-soname,$soname" "-Wl,--version-script=$root/src/librota.map" || exit 1
readelf -S "$library" | grep -q debug_info || {
    echo "$library has no debugging information"
    exit 77
}
# What rota.h does not show of rota_plan is nobody's business.
abidiff --headers-dir1 "$root/include" --headers-dir2 "$root/include" \
    --drop-private-types "$work/librota.so" "$library" >"$work/out" 2>&1 &&
    exit 0
cat "$work/out"
exit 1
