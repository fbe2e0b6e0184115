#!/bin/sh
# unknown_variable.sh UNLOAD LIBRARY MPIEXEC... - a variable that is none is told
# once, whatever the number of ranks, as is one with a value that is none, and those
# that are right not at all.
set -u
program=${1:?} library=${2:?}
shift 2
said=$(ROTA_ALGORTHM=xor ROTA_ALGORITHM=xor ROTA_STATS= ROTA_TEST_ANY=1 \
    ROTA_EXPLAIN=0 timeout 50 "$@" 2 "$program" "$library" 2>&1) || exit 1
echo "$said"
[ "$(echo "$said" | grep -c "no variable ROTA_ALGORTHM ")" = 1 ] || exit 1
[ "$(echo "$said" | grep -c "no variable")" = 1 ] || exit 1
said=$(ROTA_EXPLAIN=yes ROTA_BATCH=many ROTA_OWN_BLOCK=left timeout 50 "$@" 2 \
    "$program" "$library" 2>&1) || exit 1
echo "$said"
for words in "ROTA_EXPLAIN = yes; valid: 0, 1 (" "ROTA_BATCH = many; valid: 1 to" \
    "ROTA_OWN_BLOCK is ignored"; do
    [ "$(echo "$said" | grep -cF "$words")" = 1 ] || exit 1
done
