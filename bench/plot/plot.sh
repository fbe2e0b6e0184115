#!/bin/sh
# plot.sh - pictures of what rota-bench and scale.sh measured.
#
#   sh bench/plot/plot.sh PICTURE --csv FILE --out FILE.svg [OPTION...]  (see --help)
#
# Exit status: 0, 77 if gnuplot is not there, 2 for a wrong command line, else 1.
set -u
export LC_ALL=C.UTF-8

usage()
{
    cat <<'END'
usage: sh bench/plot/plot.sh PICTURE --csv FILE --out FILE [OPTION...]

PICTURE
  sizes   time over S, a line for every algorithm
  ranks   time over the number of ranks, likewise
  radix   time over a parameter of the algorithm, a line for every S
  spread  for every S box plots (least, quartiles, median, most) of the times
          over all values of the parameters without a value, and over all runs
          if the CSV has several; below each the values that take the least
  gain    heat map over S and a parameter: how many times as long --against
          takes
  forms   map over S and the number of ranks: which algorithm is the fastest
  dists   time by distribution of block sizes, a bar for every algorithm
  parts   what the time of the mean rank goes to, a bar for every algorithm
          (from scale.sh only)

OPTION
  --csv FILE       of scale.sh, or of rota-bench
  --out FILE       what to write, FILE.svg or FILE.png
  --algos ALGO,... which algorithms, as they are called in the CSV; a parameter
                   without a value stands for every value, as in parlogna:radix.
                   Of several that are one line or bar the fastest counts
  --against ALGO   of gain (default mpi)
  --machine NAME   rows of this machine only
  --ranks N        rows of so many ranks only
  --node N         rows of so many ranks a node only
  --sizes S,...    rows of these sizes only
  --dist DIST      rows of this distribution only (default uniform; dists: any)
  --kind KIND      rows of this kind only (default fixed)
END
}

wrong()
{
    echo "plot.sh: $*" >&2
    exit 2
}

[ "${1:-}" != --help ] || { usage; exit 0; }
picture=${1:-}
over=S
xlabel='S (bytes)'
dist=uniform
case $picture in
sizes) script=lines ;;
ranks) script=lines over=P xlabel=ranks ;;
dists) script=dists dist= ;;
radix | spread | gain | forms | parts) script=$picture ;;
*) wrong "'$picture' is no picture (see --help)" ;;
esac
shift
csv='' out='' algos='' against=mpi machine='' ranks='' node='' sizes='' kind=fixed
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || wrong "$1 needs a value (see --help)"
    case $1 in
    --csv) csv=$2 ;;
    --out) out=$2 ;;
    --algos) algos=$2 ;;
    --against) against=$2 ;;
    --machine) machine=$2 ;;
    --ranks) ranks=$2 ;;
    --node) node=$2 ;;
    --sizes) sizes=$2 ;;
    --dist) dist=$2 ;;
    --kind) kind=$2 ;;
    *) wrong "unknown option '$1' (see --help)" ;;
    esac
    shift 2
done
[ -n "$csv" ] || wrong "--csv is needed"
[ -n "$algos" ] || wrong "--algos is needed"
[ -r "$csv" ] || wrong "cannot read '$csv'"
case $out in
*.svg) terminal="svg size 840,520 background 'white'" ;;
*.png) terminal="pngcairo size 840,520" ;;
*) wrong "--out: '$out' ends in neither .svg nor .png" ;;
esac
# The parameter without a value, for pictures that have one.
key=$(echo "${algos%%,*}" | tr : '\n' | sed 1d | grep -v = | head -n 1)
case $picture in
radix | gain)
    case $algos in
    *,*) wrong "$picture: one of --algos" ;;
    esac
    [ -n "$key" ] || wrong "$picture: '$algos' leaves no parameter open" ;;
esac
[ "$picture" != gain ] || algos=$algos,$against
command -v gnuplot >/dev/null 2>&1 || {
    echo "plot.sh: gnuplot is not installed. Debian has it in gnuplot-nox."
    exit 77
}

scripts=$(dirname "$0")
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

awk -v machine="$machine" -v ranks="$ranks" -v node="$node" -v sizes="$sizes" \
    -v dist="$dist" -v kind="$kind" -v algos="$algos" -v over="$over" \
    -v key="$key" -v against="$against" -v title="$work/title" \
    -f "$scripts/rows.awk" -f "$scripts/$script.awk" "$csv" \
    >"$work/data" || exit 1
{
    echo "set terminal $terminal"
    echo "set output '$work/picture'"
    echo "data = '$work/data'"
    echo "key = '$key'"
    echo "xlabel = '$xlabel'"
    echo "n_patterns = $(echo "$algos" | tr , '\n' | wc -l)"
    echo "set title '$(cat "$work/title")'"
    cat "$scripts/style.gp" "$scripts/$script.gp"
} >"$work/script"
# A warning is of a picture that is not as it should be.
if ! gnuplot "$work/script" >"$work/log" 2>&1 || [ -s "$work/log" ]; then
    cat "$work/log"
    exit 1
fi
cp "$work/picture" "$out"
