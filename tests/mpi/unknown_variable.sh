#!/bin/sh
# unknown_variable.sh UNLOAD LIBRARY MPIEXEC... - a variable that is none is told
# once, whatever the number of ranks, and those that are not at all.
set -u
program=${1:?} library=${2:?}
shift 2
said=$(ROTA_ALGORTHM=xor ROTA_ALGORITHM=xor ROTA_STATS= ROTA_TEST_ANY=1 \
    ROTA_EXPLAIN=0 timeout 50 "$@" 2 "$program" "$library" 2>&1) || exit 1
echo "$said"
[ "$(echo "$said" | grep -c "no variable ROTA_ALGORTHM ")" = 1 ] || exit 1
[ "$(echo "$said" | grep -c "no variable")" = 1 ]
