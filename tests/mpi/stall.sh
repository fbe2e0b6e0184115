#!/bin/sh
# stall.sh STALL FLAVOUR MPIEXEC ARGUMENT... - what waits that last print, and whether they
# end when a rank has died. STALL is the program of stall.c;
# ARGUMENT is all that goes before the number of ranks.
set -u
stall=${1:?}
flavour=${2:?}
mpiexec=${3:?}
shift 3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=no

wrong()
{
    echo "$*"
    cat "$work/output"
    failed=yes
}

lines()
{
    grep -c "$1" "$work/output"
}

# once WORDS: one line of the output has them.
once()
{
    [ "$(lines "$1")" -eq 1 ] || wrong "not once: $1"
}

# exchange N WORDS: the Nth line that tells of an exchange has them. A rank that waits, but
# looks around at that moment, is said to wait for nothing, too.
exchange()
{
    grep 'in an exchange' "$work/output" | sed -n "$1p" | grep -q "$2" ||
        wrong "not in exchange $1: $2"
}

ROTA_STALL_S=2 timeout -k 5 60 "$mpiexec" "$@" 3 "$stall" told >"$work/output" 2>&1 ||
    wrong "told: fails"
exchange 1 'rota: rank [12] of 3 has waited 2 s in an exchange, algorithm parlogna, phase 1 of [12] for rank.* 0 (which waits for nothing in Rota)'
once 'rota: rank [12] of 3 has waited 2 s in a collective function of Rota.s, where ranks agree, for rank [012]'
once 'rota: rank [12] of 3 has waited 2 s in a collective function of Rota.s, where ranks meet, for all to call it'
exchange 2 'rota: rank [02] of 3 has waited 2 s in an exchange, .* for rank.* 1 (which waits for nothing in Rota)'
[ "$(lines ROTA_STALL_S)" -eq 4 ] || wrong "not four lines"

ROTA_STALL_S=2 timeout -k 5 60 "$mpiexec" "$@" 4 "$stall" bundles >"$work/output" 2>&1 ||
    wrong "bundles: fails"
once 'rota: rank 1 of 4 has waited 2 s in .*, algorithm consensus_node, .* for rank 3 (which waits for nothing in Rota) '

ROTA_STALL_S=2 timeout -k 5 60 "$mpiexec" "$@" 3 "$stall" parts >"$work/output" 2>&1 ||
    wrong "parts: fails"
once 'rota: rank 1 of 3 has waited 2 s in .*, algorithm spread_out, phase 1 of 1.* for block 2 to be ready (ROTA_STALL_S)'
[ "$(lines ROTA_STALL_S)" -eq 1 ] || wrong "parts: not one line"

# A short form of the test: not all of what takes as long again.
quick=${ROTA_TEST_QUICK+yes}
limits="0 20"
[ -z "$quick" ] || limits=0
for never in $limits; do
    ROTA_STALL_S=$never timeout -k 5 60 "$mpiexec" "$@" 3 "$stall" never >"$work/output" 2>&1 ||
        wrong "never: fails"
    [ "$(lines ROTA_STALL_S)" -eq 0 ] || wrong "told with ROTA_STALL_S=$never"
done
ROTA_STALL_S=long timeout -k 5 60 "$mpiexec" "$@" 2 "$stall" value >"$work/output" 2>&1
once 'rota: ROTA_STALL_S = long; valid: 0 to'

if [ "$flavour" = mpich ]; then
    # Under a shell that lives on until the others have seen it, or the launcher would
    # end them. The third one leaves a zombie.
    cat >"$work/live_on" <<'END'
n=0
while [ "$n" -lt 200 ] && [ "$(grep -c 'has seen it' "$1/output")" -lt 2 ]; do
    n=$((n + 1))
    sleep 0.1
done
END
    for run in '"$0" first; ' '"$0" making; ' '"$0" died & ' '"$0" died; '; do
        timeout -k 5 60 "$mpiexec" "$@" 3 sh -c "$run"'. "$1/live_on"' "$stall" \
            "$work" >"$work/output" 2>&1
        [ "$(lines 'has seen it')" -eq 2 ] || wrong "a wait for a rank that has died"
        case $quick$run in yes*making*) break ;; esac
    done
else
    echo "died is not tried: this MPI ends the other ranks"
fi
[ "$failed" = no ]
