#!/bin/sh
# private_jemalloc.sh NM OBJCOPY FROM TO - copy jemalloc's archive FROM to TO with
# rota_je_ before the names of its functions, so that it replaces no malloc, and
# without what it runs when it is loaded: it begins when it is first called.
set -eu
"$1" --defined-only --extern-only --format=posix "$3" 2>/dev/null |
    sed -n 's/^\([a-z_]*\) [TDBVW] .*/\1/p' | grep -v '^je_' | sort -u |
    sed 's/.*/& rota_je_&/' >"$4.symbols"
grep -q '^mallocx ' "$4.symbols" || { echo "no mallocx in $3" >&2; exit 1; }
"$2" --redefine-syms="$4.symbols" --remove-section=.init_array \
    --remove-section=.rela.init_array "$3" "$4"
