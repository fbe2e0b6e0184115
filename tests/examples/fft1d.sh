#!/bin/sh
# fft1d.sh - tests of the example of that name.
#
#   sh fft1d.sh CASE PROGRAM MPIEXEC...
#
# See run.sh.
# shellcheck source=tests/examples/run.sh
. "$(dirname "$0")/run.sh"

# right HEAD P ARGUMENT...: the first line begins so, and all ways of exchanging
# are right there, and there and back.
right()
{
    head=$1
    shift
    succeeds "$@" --steps 1 --rounds 1 --verify
    case $(cat "$work/out") in
    "$head"*) ;;
    *) complain "$ran: first line" ;;
    esac
    for what in forward 'there and back'; do
        for way in mpi rota; do
            has "$what, $way: greatest error" || complain "$ran: $what, $way"
        done
    done
}

# The two of the paper; many divisors, few, none; fewer points than ranks.
case_shapes()
{
    right '8 points, 2 rows on 1 of 1 ranks, 4 columns on 1' 1 --shape n1
    right '32 points, 4 rows on 2 of 2 ranks, 8 columns on 2' 2 --shape n1
    right '96 points, 6 rows on 3 of 4 ranks, 16 columns on 4' 4 --shape n1
    right '8 points, 8 rows on 1 of 1 ranks, 1 columns on 1' 1 --shape n2
    right '216 points, 72 rows on 3 of 3 ranks, 3 columns on 3' 3 --shape n2
    right '5040 points, 70 rows on 3 of 3 ranks, 72 columns on 3' \
        3 --points 5040
    right '14 points, 2 rows on 2 of 4 ranks, 7 columns on 4' 4 --points 14
    right '13 points, 1 rows on 1 of 2 ranks, 13 columns on 2' 2 --points 13
    right '1 points' 3 --points 1
}

case_options()
{
    fails 'unknown option: --fast' 2 --fast
    for points in 0 -4 4x4 1.5 2000000000000 ''; do
        fails "--points wants a whole number from 1 to 1000000000000, not \
\"$points\"" 1 --points "$points"
    done
    fails 'has more than 2147483647 on a rank' 2 --points 10000000000
    fails '--verify is for 2147483647 points at most' 3 --points 4294967296 \
        --verify
    fails '--shape wants n1 or n2, not "n3"' 2 --shape n3
    fails 'both --points and --shape' 1 --shape n1 --points 8
    fails '--steps wants a whole number from 1' 1 --steps 0
    fails 'or all, not "tcp"' 2 --with tcp
    succeeds 1 --help
    has '--shape WHICH' || complain "$ran: text"
}

run_case
