#!/bin/sh
# test_scaling_tables.sh - scaling_tables.sh on a page with a few ranks.
#
#   sh bench/figures/test_scaling_tables.sh FOLDER
#
# FOLDER is to build in. Skipped without SimGrid.
# shellcheck disable=SC2016 # backquotes are of the page
set -u
export LC_ALL=C

folder=${1:?}
tables=$(dirname "$0")/scaling_tables.sh
mkdir -p "$folder" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail()
{
    echo "FAILED: $*"
    cat "$work/log" "$work/page"
    exit 1
}

# tables STATUS ARGUMENT...
tables()
{
    expected=$1
    shift
    timeout -k 5 250 sh "$tables" --page "$work/page" --csv "$work/csv" \
        --build "$folder" "$@" >"$work/log" 2>&1
    status=$?
    [ "$status" -ne 77 ] || { cat "$work/log"; exit 77; }
    [ "$status" -eq "$expected" ] || fail "status $status of: $*"
}

# has TEXT: a line of the page begins so.
has()
{
    grep -q "^$1" "$work/page" || fail "no line '$1'"
}

cat >"$work/page" <<END
# Page

<!-- table -->
| old | table |

    sh bench/figures/scale.sh --ranks 4 --node 2 --sizes 600,8 --algos parlogna:radix=2,smpi:mpich
    sh bench/figures/scale.sh --ranks 4 --node 2 --sizes 8 --algos parlogna:radix=2:metadata=two_phase
<!-- end -->
    sh bench/plot/plot.sh sizes --csv $work/csv --out $work/a.svg --algos smpi:mpich
END
tables 0
has '| S, bytes | 8 | 600 |'
has '| `parlogna:radix=2` | [0-9.]* | [0-9.]* |'
has '| `smpi:mpich` | \*\*[0-9.]*\*\* | \*\*[0-9.]*\*\* |'
has '| `parlogna:radix=2:metadata=two_phase` | [0-9.]* | - |'
grep -q 'old' "$work/page" && fail "the old table is there"
command -v gnuplot >/dev/null 2>&1 && [ ! -s "$work/a.svg" ] && fail "no plot"
tables 0 --check
# Results are taken from the CSV, and make another page.
sed 's/^\(dragonfly,4,2,fixed,uniform,8,smpi:mpich\),[^,]*,/\1,7777.4,/' "$work/csv" \
    >"$work/new"
mv "$work/new" "$work/csv"
tables 1 --check
tables 0
has '| `smpi:mpich` | 7,777 |'
tables 0 --check
# Nothing but words of a command line is run.
echo "    sh bench/plot/plot.sh sizes; touch $work/odd" >>"$work/page"
tables 1
[ ! -e "$work/odd" ] || fail "ran what is no command of plot.sh"
tables 2 --bogus
echo '<!-- table -->' >>"$work/page"
tables 1 --check
exit 0
