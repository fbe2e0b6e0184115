#!/bin/sh
# kcfa.sh CASE PROGRAM MPIEXEC... - tests of the example of that name; see
# lib.sh.
# shellcheck source=tests/examples/lib.sh
. "$(dirname "$0")/lib.sh"

# The textbook evaluator's facts, and the same for every number of ranks.
case_verified()
{
    for what in '0 worst:3:3' '1 worst:4:2' '2 worst:3:3' '8 worst:4:2'; do
        expected=
        for ranks in 1 3; do
            succeeds "$ranks" --k "${what% *}" --program "${what#* }" --verify \
                --exchange exchange
            has 'verified by a textbook' || complain "$ran: not verified"
            found=$(grep -E '^(states|values|iterations|facts|fingerprint)' \
                "$work/out")
            [ "$found" = "${expected:=$found}" ] ||
                complain "$ran: differs from 1 rank"
        done
    done
    succeeds 3 --k 3 --program worst:2:5 --verify
    has 'mpi/rota' || complain "$ran: forms"
}

# Known by other means: one environment for each way to come there, but for
# k = 0, which knows only one.
case_counts()
{
    succeeds 2 --k 0 --program worst:4:3
    has ', 1 of them of the innermost function' || complain "$ran: states"
    succeeds 2 --k 1 --program worst:4:3
    has ', 81 of them of the innermost function' || complain "$ran: states"
    succeeds 3 --k 4 --program worst:6:2 --exchange exchange
    has ', 64 of them of the innermost function' || complain "$ran: states"
    # All of a program that branches nowhere: a state for each lambda but the
    # argument and the closure over all, which nobody calls.
    succeeds 2 --k 2 --program worst:1:1 --exchange rota
    has 'lambdas      7' || complain "$ran: lambdas"
    has 'states       5, 1 of them' || complain "$ran: states"
}

# Facts that are read where other ranks have them.
case_borrowed()
{
    expected=
    for ranks in 1 2 3 4 5 6 7 8; do
        succeeds "$ranks" --k 1 --program worst:5:4 --exchange borrowed
        has ', 1,024 of them of the innermost function' || complain "$ran: states"
        found=$(grep -E '^(states|values|iterations|facts|fingerprint)' \
            "$work/out")
        [ "$found" = "${expected:=$found}" ] || complain "$ran: differs from 1 rank"
    done
    succeeds 3 --k 2 --program worst:3:3 --verify --exchange borrowed
    has 'verified by a textbook' || complain "$ran: not verified"
}

case_options()
{
    fails '--k wants a whole number from 0 to 64, not "two"' 2 --k two
    for which in tcp mpi,tcp mpi, ,mpi mpi,mpi both,mpi ''; do
        fails "unknown exchange: $which" 2 --exchange "$which"
    done
    succeeds 2 --exchange borrowed,mpi --program worst:3:2
    has 'mpi/borrowed' || complain "$ran: no ratio"
    ! grep -qE '^(exchange|rota) +[0-9]' "$work/out" ||
        complain "$ran: more than asked for"
    fails 'unknown option: --fast' 2 --fast
    fails 'unknown option: worst:2:2' 1 worst:2:2
    fails 'cannot generate "worst:2"' 2 --program worst:2
    fails 'cannot generate "worst:0:2"' 1 --program worst:0:2
    fails 'cannot generate "best:2:2"' 1 --program best:2:2
    fails 'cannot generate "worst:2:2x"' 1 --program worst:2:2x
    fails 'worst:9:2 has 38 calls: with k = 16 at most 15' 2 --k 16 \
        --program worst:9:2
    fails '--k wants a whole number from 0 to 64, not "65"' 1 --k 65
    fails "$work/no/dir: No such file" 2 --csv "$work/no/dir"
    fails 'out of memory: no room for' 2 --exchange exchange --memory 48 \
        --k 1 --program worst:9:6
    fails '--verify is for a loop to the end' 2 --verify --iterations 3
    succeeds 2 --iterations 3 --k 1 --program worst:3:2
    has "iterations   3" || complain "$ran: iterations"
    succeeds 1 --help
    has '--exchange WHICH' || complain "$ran: text"
    succeeds 2 --rounds 3 --csv "$work/csv" --k 1 --program worst:3:2
    has 'mpi/exchange' || complain "$ran: no ratio"
    has 'exchange/borrowed' || complain "$ran: no ratio of exchanges"
    iterations=$(sed -n 's/^iterations *//p' "$work/out")
    [ "$(grep -c '^rota,[0-9]' "$work/csv")" = "$iterations" ] ||
        complain "$ran: lines of rota in the CSV file"
    same_bytes "$work/csv"
}

run_case
