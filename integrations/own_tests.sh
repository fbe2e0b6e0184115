# shellcheck shell=sh
# own_tests.sh - sourced by own_tests.sh of an integration: a program's own tests, from
# Debian's source package, with the program's exchanges by MPI and by Rota.
#
# The script defines a function `once TEST...` that runs one test, its exchanges by
# $own_way, mpi or rota, and calls own_test for each test and own_end at the end.
own_folder=$(cd "$(dirname "$0")" && pwd)
own_root=$(cd "$own_folder/../.." && pwd)
. "$own_root/tools/debian.sh"

own_passed=0 own_by_rota=0 own_failed=0 own_alone=0 own_out=0

skip()
{
    echo "skipped: $*"
    exit 77
}

# own_source PACKAGE FOLDER [RELEASE...]: rota_source, or skips.
own_source()
{
    command -v apt-get >/dev/null || skip "there is no apt-get"
    rota_source "$@" >/dev/null 2>&1 || skip "no source package of $1 can be had"
}

# own_tree PACKAGE FOLDER: the same, of the release that runs here or else of trixie,
# unpacked into FOLDER/tree; own_version tells which.
own_tree()
{
    own_source "$1" "$2" "$(rota_release)" trixie
    set -- "$(ls "$2/$1"_*.orig.tar.*)" "$2/tree"
    if [ ! -e "$2/unpacked" ]; then
        rm -rf "$2" && mkdir -p "$2" &&
            tar xf "$1" --strip-components 1 -C "$2" && touch "$2/unpacked" || exit 1
    fi
    own_version=$(basename "$1" | sed 's/.*_\(.*\)[.]orig[.].*/\1/')
}

# own_left_out TEST WHY
own_left_out()
{
    echo "left out: $1: $2"
    own_out=$((own_out + 1))
}

# own_test TEST...: once by MPI and once by Rota. Where MPI alone does not pass, a test
# does not count. A run has used plans if rank 0 tells of one (ROTA_EXPLAIN).
own_test()
{
    own_way=mpi
    if ! once "$@" >own.log 2>&1; then
        echo "left out: $*: does not pass with MPI alone:"
        tail -n 3 own.log | sed 's/^/    /'
        own_alone=$((own_alone + 1))
        return
    fi
    own_way=rota
    if ROTA_EXPLAIN=1 once "$@" >own.log 2>&1; then
        own_passed=$((own_passed + 1))
        if grep -q '^rota: ' own.log; then
            own_by_rota=$((own_by_rota + 1))
            echo "passed: $*"
        else
            echo "passed, without a plan: $*"
        fi
    else
        own_failed=$((own_failed + 1))
        echo "FAILED: $*"
        tail -n 40 own.log
    fi
}

# own_end: the sum; the exit code is 0 if none failed and plans were used.
own_end()
{
    echo "$own_passed runs pass, $own_by_rota of them with plans of Rota;" \
        "$own_failed fail; $own_alone do not pass with MPI alone;" \
        "$own_out are left out"
    [ "$own_failed" -eq 0 ] && [ "$own_by_rota" -gt 0 ]
    exit
}
