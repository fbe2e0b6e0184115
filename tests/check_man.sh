#!/bin/sh
# check_man.sh ROOT FOLDER - are there manual pages for all that rota.h declares,
# each with its parts, and does groff find nothing to complain of?
set -u
export LC_ALL=C
root=${1:?}
folder=${2:?}
failed=no

wrong()
{
    echo "$*"
    failed=yes
}

for name in $(sed -n '/^typedef/d; s/^.*[ *]\(rota_[a-z0-9_]*\)(.*) *$/\1/p' \
    "$root/tests/abi.txt"); do
    page=$folder/$name.3
    [ -s "$page" ] || { wrong "no page: $name"; continue; }
    for part in NAME SYNOPSIS DESCRIPTION; do
        grep -q "^\.SH $part\$" "$page" || wrong "$name.3: no $part"
    done
    [ "$(sed -n '/^\.SH NAME/{n;p;}' "$page")" != "$name \\- " ] ||
        wrong "$name.3: no summary"
done
grep -q '^\.SS Progress' "$folder/rota.3" || wrong "rota.3: no rules"
grep -q 'ROTA_ALGORITHM' "$folder/rota_hints.7" || wrong "rota_hints.7: no hints"
grep -n '^/$\|\*/' "$folder"/*.[37] && wrong "the end of a comment is in a page"
if command -v groff >/dev/null; then
    for page in "$folder"/*.[37]; do
        said=$(groff -man -Tutf8 -ww -z -rLL=100n "$page" 2>&1)
        [ -z "$said" ] || wrong "${page##*/}: $said"
    done
fi
[ "$failed" = no ]
