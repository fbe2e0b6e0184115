#!/bin/sh
# pagerank.sh CASE PROGRAM MPIEXEC... - tests of the example of that name; see
# lib.sh.
# shellcheck source=tests/examples/lib.sh
. "$(dirname "$0")/lib.sh"

# verified P ARGUMENT...: against one rank, in all ways of exchanging, which
# have the same result to the last bit.
verified()
{
    succeeds "$@" --verify
    has 'verified by a computation' || complain "$ran: not verified"
    has 'rota_alltoallv_init' || complain "$ran: no line of rota"
}

case_verified()
{
    # Fewer vertices than ranks, a vertex that leads nowhere, one that leads to
    # itself, and a rank without edges.
    file small '1 2\n2 2\n'
    file matrix.mtx '%%%%MatrixMarket matrix coordinate pattern symmetric\n5 5 4
2 1\n3 1\n4 1\n5 5\n'
    file wide '18446744073709551615 4294967296\n4294967296 0\n0 18446744073709551615
0 4294967297\n'
    gzip "$work/matrix.mtx"
    verified 1 --vectors 4 --generate rmat:8:4
    verified 2 --vectors 3 --generate rmat:9:8
    verified 2 --vectors 2 --damping 0.5 --generate grid:5x40
    verified 3 --vectors 2 "$work/small"
    verified 2 --vectors 2 "$work/wide"
    has 'vertices     4' || complain "$ran: vertices"
    verified 3 --vectors 2 --exchange rota --damping 0.6 "$work/matrix.mtx.gz"
}

# Names may be any 64-bit numbers: the same work is done.
case_names()
{
    twins
    verified 2 --vectors 3 "$work/dense"
    found=$(grep -E '^(vertices|edges|exchanged|products)' "$work/out")
    verified 2 --vectors 3 "$work/wide"
    [ "$found" = "$(grep -E '^(vertices|edges|exchanged|products)' \
        "$work/out")" ] ||
        complain "$ran: differs from the same graph with small names"
}

case_table()
{
    # Readers go to and fro, and forget slowly where they began.
    file star '1 2\n2 1\n1 3\n3 1\n'
    verified 2 --vectors 1 --damping 0.99 --exchange rota "$work/star"
    products=$(sed -n 's/^products *\([0-9,]*\) .*/\1/p' "$work/out" | tr -d ,)
    [ "${products:-0}" -gt 2000 ] || complain "$ran: $products products"
    ! has 'MPI_Ialltoallv' || complain "$ran: more than was asked for"
    fails 'vector 0 still changes after' 1 --exchange rota --vectors 1 \
        --damping 0.999999 "$work/star"
    succeeds 2 --vectors 3 --products 7 --generate rmat:8:4
    has 'products     21 for each' || complain "$ran: products"
    succeeds 1 --vectors 2 --generate rmat:8:4
    has 'break-even' || complain "$ran: no break-even"
}

case_options()
{
    file cut '1 2\n2 x\n'
    fails 'no graph given' 2
    fails 'unknown option: --fast' 2 --fast
    fails '--verify is for vectors to the end' 1 --verify --products 9 \
        "$work/cut"
    fails '--products wants a whole number from 1 to' 1 --products 0 \
        "$work/cut"
    fails 'unknown exchange: tcp' 2 --exchange tcp --generate grid:2x2
    fails '--vectors wants a whole number from 1 to' 1 --vectors 0 "$work/cut"
    for option in --damping --tolerance; do
        for value in 0 1 x nan -0.5; do
            fails "$option wants a number above 0 and below 1, not \"$value\"" \
                1 "$option" "$value" "$work/cut"
        done
    done
    fails 'both a file and --generate' 1 --generate grid:2x2 "$work/cut"
    fails "pagerank: $work/cut:2: second vertex is not a number: x" 2 \
        "$work/cut"
    fails "pagerank: $work/absent: No such file" 2 "$work/absent"
    succeeds 1 --help
    has '--exchange WHICH' || complain "$ran: text"
}

run_case
