#!/bin/sh
# check_abi.sh ROOT LIBRARY [--write] - is the interface of the shared library
# the one recorded in tests/abi.txt: its soname, and all that rota.h declares?
#
# Programs that were linked with a library of the same soname go on working only
# if what they use stays as it is. So what is removed or changed takes another
# soname, that is a new major version (docs/stability.md); what is added does not.
# Either is to be meant: --write records it.
set -u
export LC_ALL=C
root=${1:?}
library=${2:?}
record=$root/tests/abi.txt
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# The header without comments, one declaration a line.
flat()
{
    sed -e ':a' -e 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' -e '/\/\*/{N;ba' \
        -e '}' "$root/include/rota.h" | sed -e ':a' -e '/\\$/{N;s/\\\n//;ba' \
        -e '}'
}

{
    objdump -p "$library" | sed -n 's/^ *SONAME *\(.*\)/soname \1/p'
    flat | grep '^#define ROTA_' |
        grep -v -E '^#define ROTA_(H|API|VERSION_[A-Z]*)\b' | tr -s ' ' |
        sort
    flat | grep -v '^#' | tr -s '\n ' ' ' | tr ';' '\n' |
        sed -e 's/^ *//' -e 's/extern "C" {//' -e 's/[[:space:]]*$//' |
        sed -n -e 's/^ROTA_API //p' -e '/^ *typedef/p' -e '/^ *enum/p' |
        sed -e 's/^ *//' | sort
} >"$work/now"
[ "$(wc -l <"$work/now")" -gt 20 ] || { echo "found no interface"; exit 1; }

if [ "${3:-}" = --write ]; then
    cp "$work/now" "$record"
    exit
fi
diff -u "$record" "$work/now" >"$work/diff" && exit 0
sed -n '4,$p' "$work/diff"
if grep -q '^-[^-]' "$work/diff" && ! grep -q '^-soname' "$work/diff"; then
    echo "changed under the same soname; a new major version is needed"
fi
echo "to record it: sh tests/check_abi.sh . build/src/librota.so --write"
exit 1
