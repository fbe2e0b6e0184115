#!/bin/sh
# fft3d.sh CASE PROGRAM MPIEXEC... - tests of the example of that name; see
# lib.sh.
# shellcheck source=tests/examples/lib.sh
. "$(dirname "$0")/lib.sh"

short='--steps 1 --rounds 1 --verify'

# right WAYS P ARGUMENT...: these ways of exchanging, all of them there, and
# there and back; with one and with several batches.
right()
{
    ways=$1
    shift
    # shellcheck disable=SC2086
    succeeds "$@" $short --overlap --exchange "$ways"
    [ "$ways" != all ] || ways='mpi rota rota_mem rota_parts'
    for what in forward 'there and back'; do
        for way in $ways; do
            has "$what, $way: greatest error" || complain "$ran: $what, $way"
            [ "$way" = mpi ] || has "$what, $way, overlap: greatest error" ||
                complain "$ran: $what, $way, overlap"
        done
    done
}

# Axes that the ranks do not divide, that they do, of a prime number of points,
# shorter than the ranks, of one point. MPI's calls are slow where there are
# more ranks than cores.
case_slab()
{
    right all 1 --grid 7x5x6 --batches 3
    right all 2 --grid 7x5x6 --batches 3
    right all 2 --grid 8x12x4 --batches 2
    right all 2 --grid 1x1x1
    right rota 3 --grid 2x3x11 --batches 16
    right rota 3 --grid 7x5x6 --batches 3
    right rota 4 --grid 9x1x2
    right rota_parts 3 --grid 2x3x11 --batches 16
    right rota_parts 4 --grid 9x1x2
    right rota_parts 5 --grid 40x36x44 --batches 2
}

case_pencil()
{
    for ranks in 1 2 3 4; do
        right rota "$ranks" --decompose pencil --grid 7x5x6 --batches 3
        right rota_parts "$ranks" --decompose pencil --grid 7x5x6 --batches 3
    done
    right all 2 --decompose pencil --grid 6x5x7 --ranks 1x2
    right rota 4 --decompose pencil --grid 1x2x3
    right rota_parts 4 --decompose pencil --grid 1x2x3
    right rota_parts 6 --decompose pencil --grid 42x40x36 --ranks 2x3
    right rota_mem 3 --decompose pencil --grid 7x5x6 --batches 3
}

# Transposes by datatypes alone; numbers of ranks that make no square, too.
case_types()
{
    typed='mpi_types rota_types rota_types_mem'
    for ranks in 1 2 3 4 6 9; do
        # shellcheck disable=SC2086
        succeeds "$ranks" --types $short --grid 7x5x6 --exchange rota_types
        # shellcheck disable=SC2086
        succeeds "$ranks" --types $short --grid 7x9x8 --decompose pencil \
            --exchange rota_types_mem --overlap --batches 3
        has 'forward, rota_types_mem, overlap: greatest error' ||
            complain "$ran: no overlap"
    done
    for what in slab pencil; do
        # shellcheck disable=SC2086
        succeeds 2 --types $short --grid 12x10x16 --decompose "$what"
        for way in mpi rota rota_mem $typed; do
            has "there and back, $way: greatest error" ||
                complain "$ran: $way"
        done
    done
}

# device P ARGUMENT...: there and back on a device, where there is one.
device()
{
    ranks=$1
    shift
    # shellcheck disable=SC2086
    succeeds "$ranks" --device cuda $short "$@"
    for what in forward 'there and back'; do
        for way in mpi mpi_kept rota; do
            has "$what, $way: greatest error" || complain "$ran: $what, $way"
        done
    done
}

case_device()
{
    device 1 --grid 7x5x6
    device 2 --grid 7x5x6
    device 2 --grid 32x24x40 --steps 3
    device 3 --grid 2x3x11
    device 4 --grid 9x1x2
    device 2 --decompose pencil --grid 7x5x6
    device 3 --decompose pencil --grid 5x7x6 --ranks 1x3
    device 4 --decompose pencil --grid 7x5x6
    device 4 --decompose pencil --grid 1x2x3
    device 4 --decompose pencil --grid 16x20x24 --steps 3
    fails 'unknown exchange: rota_mem' 2 --device cuda --exchange rota_mem
}

case_options()
{
    fails 'unknown option: --fast' 2 --fast
    fails 'a value must follow --grid' 1 --grid
    sizes='--grid wants 3 whole numbers from 1 to 2147483647'
    for grid in 0x4x4 -4x4x4 4x4 4x4x4x4 4x4x 4x4x2147483648 x 4x4x4.5 '' \
        99999999999999999999x1x1; do
        fails "$sizes with an x between them, not \"$grid\"" 1 --grid "$grid"
    done
    fails 'has more than 2147483647 on a rank' 2 --grid 4096x4096x4096
    fails '--steps wants a whole number from 1' 1 --steps 0
    fails '--steps wants a whole number from 1' 2 --steps -3
    fails '--rounds wants a whole number from 1 to 1000' 1 --rounds 1001
    fails '--batches wants a whole number from 2' 1 --batches 1
    fails '--decompose wants slab or pencil, not "cube"' 2 --decompose cube
    fails '--ranks is for --decompose pencil' 2 --ranks 2x1
    fails '--ranks 2x2 is not 2 ranks' 2 --decompose pencil --ranks 2x2
    fails 'unknown exchange: tcp' 2 --exchange tcp
    fails 'unknown exchange: rota,tcp' 2 --exchange rota,tcp
    fails '--overlap is not for --device' 2 --device cuda --overlap
    fails '--types is not for --device' 2 --device cuda --types
    fails 'unknown exchange: rota_types' 2 --exchange rota_types
    fails 'no --device disk: the only kind is cuda' 2 --device disk
    fails 'unknown exchange: mpi_kept' 2 --exchange mpi_kept
    succeeds 1 --help
    has '--overlap' || complain "$ran: text"
    succeeds 2 --exchange rota --grid 4x4x4 --steps 1 --rounds 1
    has 'rota_alltoallv_init' || complain "$ran: no table"
    ! grep -q '^mpi' "$work/out" || complain "$ran: more than asked for"
    succeeds 2 --exchange rota_parts,rota --grid 4x4x4 --steps 1 --rounds 1
    has 'rota/rota_parts' || complain "$ran: no ratio"
    ! grep -q '^mpi' "$work/out" || complain "$ran: more than asked for"
}

run_case
