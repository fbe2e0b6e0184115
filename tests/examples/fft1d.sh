#!/bin/sh
# fft1d.sh CASE PROGRAM MPIEXEC... - tests of the example of that name; see
# lib.sh.
# shellcheck source=tests/examples/lib.sh
. "$(dirname "$0")/lib.sh"

# right WAYS HEAD P ARGUMENT...: the first line, but for one that says which way
# this MPI lacks, begins so, and these ways of exchanging are right there, and
# there and back.
right()
{
    ways=$1
    head=$2
    shift 2
    succeeds "$@" --steps 1 --rounds 1 --verify --exchange "$ways"
    [ "$ways" != all ] || ways='mpi rota rota_mem rota_parts'
    case $(grep -v '^fft1d: no persistent: ' "$work/out") in
    "$head"*) ;;
    *) complain "$ran: first line" ;;
    esac
    for what in forward 'there and back'; do
        for way in $ways; do
            has "$what, $way: greatest error" || complain "$ran: $what, $way"
        done
    done
}

# The two of the paper; many divisors, few, none; fewer points than ranks. MPI's
# calls are slow where there are more ranks than cores.
case_shapes()
{
    right all '8 points, 2 rows on 1 of 1 ranks, 4 columns on 1' 1 --shape n1
    right all '32 points, 4 rows on 2 of 2 ranks, 8 columns on 2' 2 --shape n1
    right rota '96 points, 6 rows on 3 of 4 ranks, 16 columns on 4' \
        4 --shape n1
    right all '8 points, 8 rows on 1 of 1 ranks, 1 columns on 1' 1 --shape n2
    right all '216 points, 72 rows on 3 of 3 ranks, 3 columns on 3' \
        3 --shape n2
    right rota '5040 points, 70 rows on 3 of 3 ranks, 72 columns on 3' \
        3 --points 5040
    right rota '14 points, 2 rows on 2 of 4 ranks, 7 columns on 4' 4 --points 14
    right all '13 points, 1 rows on 1 of 2 ranks, 13 columns on 2' 2 --points 13
    right rota '1 points' 3 --points 1
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
    fails '--memory does not go with' 1 --shape n1 --memory 8
    succeeds 2 --memory 1 --steps 1 --rounds 1 --exchange rota
    has '32768 points, 128 rows' || complain "$ran: points of 1 MiB"
    has 'GFlop/s, rota:' || complain "$ran: rate"
    fails '--steps wants a whole number from 1' 1 --steps 0
    fails 'unknown exchange: tcp' 2 --exchange tcp
    succeeds 1 --help
    has '--shape WHICH' || complain "$ran: text"
}

run_case
