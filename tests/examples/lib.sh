# shellcheck shell=sh
# lib.sh - sourced by the tests of the applications:
#
#   sh APPLICATION.sh CASE PROGRAM MPIEXEC...
#
# CASE is a function case_... of the test; MPIEXEC... is a command line up to
# and including the option that takes the number of ranks. The test ends with
# run_case.
set -u
export LC_ALL=C

case_name=$1
program=$2
shift 2
mpiexec=$*
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

complain()
{
    echo "FAILED: $*"
    sed 's/^/    /' "$work/out"
    failures=$((failures + 1))
}

# run P ARGUMENT...: run the program; its output goes to $work/out, its exit
# code to $status, what was run to $ran.
run()
{
    ranks=$1
    shift
    ran="$ranks ranks: $*"
    # Split on purpose: a command line.
    # shellcheck disable=SC2086
    timeout 120 $mpiexec "$ranks" "$program" "$@" >"$work/out" 2>&1 </dev/null
    status=$?
}

has()
{
    grep -qF -- "$1" "$work/out"
}

# succeeds P ARGUMENT...
succeeds()
{
    run "$@"
    [ "$status" -eq 0 ] || complain "$ran: exit code $status"
}

# fails TEXT P ARGUMENT...: an exit code that the program gave, and the text.
fails()
{
    text=$1
    shift
    run "$@"
    case $status in
    0 | 124 | 13[0-9]) complain "$ran: exit code $status" ;;
    esac
    has "$text" || complain "$ran: no text \"$text\""
}

# A file from the arguments of printf.
file()
{
    name=$work/$1
    shift
    # shellcheck disable=SC2059
    printf "$@" >"$name"
}

# A graph, and in wide the same one with names far apart beyond 2^40, the last
# one 2^64-1, in the same order.
twins()
{
    awk 'BEGIN { for (i = 0; i < 400; i++) print i % 97, i * i % 89 + i % 9 }' \
        >"$work/dense"
    awk '{ print $1 * 1099511627776 + 4611686018427387904,
        $2 * 1099511627776 + 4611686018427387904 }' OFMT=%.0f CONVFMT=%.0f \
        "$work/dense" >"$work/far"
    last=$(tr ' ' '\n' <"$work/far" | sort -n | tail -n 1)
    sed "s/$last/18446744073709551615/g" "$work/far" >"$work/wide"
}

# same_bytes FILE: in a CSV file, the same facts travel in forms mpi and
# exchange, and as much beside them.
same_bytes()
{
    [ "$(grep '^mpi,' "$1" | cut -d, -f2-5)" = \
        "$(grep '^exchange,[0-9]' "$1" | cut -d, -f2-5)" ] ||
        complain "$ran: forms differ in facts or bytes"
}

run_case()
{
    "case_$case_name" || complain "no case $case_name"
    [ "$failures" -eq 0 ]
}
