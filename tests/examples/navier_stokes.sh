#!/bin/sh
# navier_stokes.sh CASE PROGRAM MPIEXEC... - tests of the example of that
# name; see lib.sh.
# shellcheck source=tests/examples/lib.sh
. "$(dirname "$0")/lib.sh"

short='--steps 2 --rounds 1'

# checked WHAT WAY: that way was checked for it.
checked()
{
    has "$1, $2: greatest error" || complain "$ran: no check of $1 by $2"
}

# A lattice of vortices, carried along or not, whose decay is known; points that
# the ranks do not divide, and fewer than ranks.
case_decay()
{
    lattice='--start taylor_green --viscosity 0.1'
    # shellcheck disable=SC2086
    for ranks in 1 2 3 4; do
        succeeds "$ranks" $lattice $short --exchange rota --points 15 --drift 1
        checked decay rota
    done
    # shellcheck disable=SC2086
    succeeds 2 $lattice --steps 20 --rounds 1 --points 16 --drift -2
    checked decay mpi
    checked decay rota
    checked 'same flow' rota
    checked 'same flow' rota_mem
    # shellcheck disable=SC2086
    succeeds 2 $lattice --steps 20 --rounds 1 --points 12 --exchange rota
    has 'decay rate  0.4 of the energy, 0.4 expected' || complain "$ran: rate"
    # shellcheck disable=SC2086
    succeeds 4 $lattice $short --points 5 --exchange rota
}

# Advection by another method, and the same picture from any number of ranks.
case_flow()
{
    for ranks in 1 2 3; do
        # shellcheck disable=SC2086
        succeeds "$ranks" $short --points 16 --drift 0.5 --verify --dt 0.2 \
            --exchange rota --picture "$work/$ranks.ppm"
        checked advection rota
        cmp "$work/1.ppm" "$work/$ranks.ppm" || complain "$ran: other picture"
    done
    [ "$(head -n 3 "$work/1.ppm" | xargs)" = 'P6 16 16 255' ] ||
        complain "$ran: not a PPM picture"
    [ "$(wc -c <"$work/1.ppm")" -eq $((13 + 3 * 16 * 16)) ] ||
        complain "$ran: a picture of another size"
}

case_options()
{
    fails 'unknown option: --fast' 2 --fast
    fails '--points wants a whole number from 4 to 1000000, not "3"' 1 \
        --points 3
    fails '2147483647 on a rank' 2 --points 1000000
    fails '--start wants shear or taylor_green, not "rain"' 1 --start rain
    fails '--viscosity wants a number from 0 to 1e+06, not "-1"' 1 \
        --viscosity -1
    fails '--drift wants a number from -1e+06 to 1e+06, not "nan"' 1 --drift nan
    fails '--dt wants a number from 1e-12 to 1e+06, not "0.1s"' 2 --dt 0.1s
    fails '--verify is for 64 points at most' 1 --verify
    fails 'unknown exchange: tcp' 2 --exchange tcp
    # shellcheck disable=SC2086
    {
        fails "$work/no/file: No such file" 2 $short --points 8 \
            --picture "$work/no/file"
        fails '/dev/full: cannot be written' 2 $short --points 8 \
            --exchange rota --picture /dev/full
        fails 'the energy grew from' 2 --points 16 --exchange rota --dt 3
    }
    succeeds 1 --help
    has '--picture FILE' || complain "$ran: text"
}

run_case
