#!/bin/bash
# check_tools.sh ROOT PROGRAM... - what bash completes for the installed programs
# is what they print for --help, and the algorithms are those of the library.
#
# Completion is of bash, so this is, too.
set -u
export LC_ALL=C
root=${1:?}
shift
failed=no
. "$root/packaging/rota-completion.bash"

compare()
{
    diff <(tr -s ' ' '\n' <<<"$2" | sort -u) <(sort -u <<<"$3") >/dev/null &&
        return
    echo "completion of $1 (<) is not what it knows (>):"
    diff <(tr -s ' ' '\n' <<<"$2" | sort -u) <(sort -u <<<"$3")
    failed=yes
}

compare algorithms "$_rota_algorithms" \
    "$(sed -n 's/^ROTA_ALGO(\([a-z0-9_]*\)).*/\1/p' "$root/src/algos/list.h")"
for program in "$@"; do
    help=$("$program" --help) || { echo "$program --help failed"; exit 1; }
    # Of rota-bench only what stands where options do, not in their texts.
    compare "${program##*/}" "$(_rota_options "${program##*/}")" \
        "$({ grep -oE '(^ *|\[)--[a-z][a-z-]+|usage: .*' <<<"$help" |
            grep -oE -- '--[a-z][a-z-]+'; echo --help; })"
    "$program" --no-such-option >/dev/null 2>&1 && {
        echo "$program takes --no-such-option"
        failed=yes
    }
done

# Completion as bash does it.
COMP_WORDS=(rota-draw --format s) COMP_CWORD=2 COMPREPLY=()
_rota rota-draw s --format
[ "${COMPREPLY[*]}" = svg ] || { echo "completes ${COMPREPLY[*]}"; failed=yes; }
COMP_WORDS=(rota-tune --cal) COMP_CWORD=1
_rota rota-tune --cal rota-tune
[ "${COMPREPLY[*]}" = --calibrate-only ] || {
    echo "completes ${COMPREPLY[*]}"
    failed=yes
}
[ "$failed" = no ]
