#!/bin/sh
# dropin.sh RUN PLAIN PROGRAM RANKS MPIEXEC... - dropin.c without librota_mpi,
# as PLAIN, and with it, as RUN MPIEXEC... RANKS PROGRAM; RUN is rota-run, or env
# if librota_mpi is linked into PROGRAM. MPIEXEC... goes up to and including the
# option that takes the number of ranks.
set -u
run=${1:?}
plain=${2:?}
program=${3:?}
ranks=${4:?}
shift 4
limit=$([ -n "${ROTA_TEST_SLOW:-}" ] && echo 180 || echo 60)
. "$(dirname "$0")/common.sh"
export ROTA_MPI_AFTER=0

with "common, MPI alone" "$@" "$ranks" "$plain" common plain || wrong "$what"

with "common" "$run" "$@" "$ranks" "$program" common || wrong "$what"
check_calls spread_out

with "inactive" "$run" "$@" "$ranks" "$program" inactive || wrong "$what"
with "errors" "$run" "$@" "$ranks" "$program" errors || wrong "$what"
[ "$ranks" -eq 1 ] ||
    grep -q '^rota_mpi: rank 0: passed on because blocks overlap: 7$' \
        "$work/err" || wrong "$what: overlapping blocks are not told of"
# Two of a pair and three of all at a time: no more plans than that.
with "short" "$run" "$@" "$ranks" "$program" short || wrong "$what"
plans=$(count_plans)
[ "$plans" -le 3 ] || wrong "$what: $plans plans"
# Statistics are off: they have each call looked at.
with "passing" env -u ROTA_STATS ROTA_MPI_AFTER=50 ROTA_EXPLAIN=1 "$run" "$@" \
    "$ranks" "$program" passing || wrong "$what"
[ "$ranks" -eq 1 ] || grep -q 'algorithm ' "$work/err" ||
    wrong "$what: no plans"
with "repeats" env -u ROTA_STATS ROTA_MPI_AFTER=3 ROTA_EXPLAIN=1 "$run" "$@" \
    "$ranks" "$program" repeats || wrong "$what"
[ "$ranks" -eq 1 ] || grep -q 'algorithm ' "$work/err" ||
    wrong "$what: no plans"
[ "$ranks" -eq 2 ] || exit 0

# Calls on communicators of their own are counted together, and one plan serves all.
with "reshape" env ROTA_MPI_AFTER=100 "$run" "$@" "$ranks" "$program" reshape ||
    wrong "$what"
grep -q '^rota_mpi: .*MPI_Alltoallv calls=400 by_rota=300 ' "$work/err" ||
    wrong "$what: not counted together"
[ "$(count_plans)" -eq 1 ] || wrong "$what: not one plan"

with "sessions" "$run" "$@" "$ranks" "$program" sessions || wrong "$what"
[ "$(grep -c '^rota_mpi: rank 0: exchanges go to MPI: there is a session' \
    "$work/err")" -eq 1 ] || wrong "$what: not said once"

# Once is enough for the rest. What ends in MPI_Abort is run without mpiexec,
# which loses some of what is printed then.
with "past" "$run" "$program" past && wrong "$what: goes unnoticed"
grep -q 'completed by a function that librota_mpi does not see' "$work/err" ||
    wrong "$what: no word of it"

with "fatal" "$run" "$program" fatal && wrong "$what: goes unnoticed"
grep -q '^Fatal error in MPI_Alltoallv_init: rank 0: .*' "$work/err" ||
    wrong "$what: another function is named"
with "fatal, typed" "$run" "$program" fatal typed && wrong "$what: goes unnoticed"
grep -q '^Fatal error in MPI_Alltoallw_init: rank 0: .*' "$work/err" ||
    wrong "$what: another function is named"

with "off" env ROTA_MPI=off "$run" "$@" "$ranks" "$program" common plain ||
    wrong "$what"
[ "$(grep -c '^rota_mpi: .*calls=[1-9][0-9]* by_rota=0 ' "$work/err")" -eq 9 ] ||
    wrong "$what: not off"

with "threads" "$run" "$@" "$ranks" "$program" threads || wrong "$what"
grep -q '^rota_mpi: .*MPI_Ialltoallv calls=40 by_rota=0 ' "$work/err" ||
    wrong "$what: calls are not as counted"

# Of 16 calls on MPI_COMM_WORLD and its duplicates the first 4; fewer by any
# other group.
with "after" env ROTA_MPI_AFTER=4 "$run" "$@" "$ranks" "$program" common ||
    wrong "$what"
grep -q '^rota_mpi: .*MPI_Alltoallv calls=27 by_rota=12 ' "$work/err" ||
    wrong "$what: not after 4"

# An algorithm that is not for counts that vary: said once, and another used.
with "unfit" env ROTA_ALGORITHM=bruck_basic "$run" "$@" "$ranks" "$program" \
    common || wrong "$what"
[ "$(grep -c '^rota: ROTA_ALGORITHM: ignored .*bruck_basic' "$work/err")" -eq 1 ] ||
    wrong "$what: not said once"
grep -q '^rota_mpi: .*MPI_Alltoallv calls=27 by_rota=0 ' "$work/err" &&
    wrong "$what: by MPI"

with "value" env ROTA_MPI=maybe "$run" "$program" common plain ||
    wrong "$what: not ignored"
grep -q 'ROTA_MPI = maybe; valid: on, off' "$work/err" ||
    wrong "$what: no word of it"
