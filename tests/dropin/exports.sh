#!/bin/sh
# exports.sh ROOT LIBRARY - librota_mpi exports the functions of its lists and
# nothing else, and calls MPI by no name that would come back to it. The manual and
# rota-run name every exchange.
set -u
export LC_ALL=C
root=${1:?}
library=${2:?}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# The functions of exchanges, and those that other lines of list.h begin with.
named=$(sed -n 's/^ROTA_[A-Z]*(\(MPI_[A-Za-z_]*\),.*/\1/p
    s/.*MPI_[A-Za-z_]*lltoall.*/&/p' "$root/src/mpi/list.h" |
    grep -ow 'MPI_[A-Z][a-z_]*' | sort -u)
{
    echo "$named"
    sed -n 's/^ROTA_F08(\([a-z0-9_]*\),.*/\1/p' "$root/src/mpi/f08.c"
} | sort >"$work/listed"
nm -D --defined-only "$library" | awk '$2 ~ /[A-Z]/ { print $3 }' |
    sort >"$work/exported"
# MPI_UNWEIGHTED is data.
nm -D --undefined-only "$library" |
    awk '$2 ~ /^MPI_/ && $2 != "MPI_UNWEIGHTED" { print $2 }' >"$work/called"
[ -s "$work/listed" ] || { echo "no lists found"; exit 1; }
comm -23 "$work/listed" "$work/exported" | sed 's/^/not exported: /'
comm -13 "$work/listed" "$work/exported" | sed 's/^/not in a list: /'
sed 's/^/calls, not by its PMPI name: /' "$work/called"
echo "$named" | grep 'lltoall' | grep -v '_c$' | while read -r name; do
    for file in docs/dropin.md src/mpi/rota-run.in; do
        grep -qw "$name" "$root/$file" || echo "$name: not in $file"
    done
done | tee "$work/unnamed"
cmp -s "$work/listed" "$work/exported" && [ ! -s "$work/called" ] &&
    [ ! -s "$work/unnamed" ]
