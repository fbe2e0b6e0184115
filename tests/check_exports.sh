#!/bin/sh
# check_exports.sh ROOT LIBRARY [HEAP] - the shared library exports what rota.h
# declares, all of it and nothing else, each with a version by src/librota.map; HEAP,
# librota_heap, what librota looks for, so that it replaces nobody's malloc.
set -u
export LC_ALL=C
root=${1:?}
library=${2:?}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

sed -n '/^ROTA_API/,/;/p' "$root/include/rota.h" | tr '\n' ' ' |
    tr ';' '\n' | sed -n 's/^[^(]*[ *]\(rota_[a-z0-9_]*\)(.*/\1/p' |
    sort >"$work/declared"
nm -D --defined-only --without-symbol-versions "$library" |
    awk '$2 ~ /[A-Z]/ && $2 != "A" { print $3 }' | sort >"$work/exported"
sed -n 's/^ *\(rota_[a-z0-9_]*\);$/\1/p' "$root/src/librota.map" | sort \
    >"$work/versioned"
[ -s "$work/declared" ] || { echo "no declarations found"; exit 1; }
comm -23 "$work/declared" "$work/exported" | sed 's/^/not exported: /'
comm -13 "$work/declared" "$work/exported" | sed 's/^/not in rota.h: /'
comm -23 "$work/declared" "$work/versioned" |
    sed 's/^/not in src\/librota.map: /'
comm -13 "$work/declared" "$work/versioned" |
    sed 's/^/in src\/librota.map, not in rota.h: /'
if [ -n "${3:-}" ]; then
    nm -D --defined-only --without-symbol-versions "$3" |
        awk '$2 != "A" { print $3 }' | sort | tr '\n' ' ' >"$work/heap"
    [ "$(cat "$work/heap")" = "rota_heap_find rota_heap_open " ] || {
        echo "librota_heap exports: $(cat "$work/heap")"
        exit 1
    }
fi
cmp -s "$work/declared" "$work/exported" &&
    cmp -s "$work/declared" "$work/versioned"
