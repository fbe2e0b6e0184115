#!/bin/sh
# check_calls.sh ROOT OBJECTS - who calls whom, from the symbols of object files.
#
# OBJECTS names a file with the path of an object in each line. A file calls
# another if it needs a symbol, function or table, that the other one has.
#
#   src/base           itself
#   src/schedule       base
#   src/algos          base, schedule
#   src/choose         base, schedule, algos
#   src/exec/move      base, schedule
#   src/exec/memory    and move
#   src/exec/payload   and memory
#   src/exec/step      and payload
#   src/exec/transport and step; lines and mailbox not each other
#   src/exec/run       and transport: tables of what there is (paths.h, payloads.h)
#   src/device         base, schedule, exec
#   src/plan/ranks     anything above
#   src/plan/args      and ranks
#   src/plan/kinds     and args
#   src/plan/api       and kinds
#   src/mpi            plan, base/launched; of itself what comes earlier in its CMakeLists.txt
#   bench/common       src/plan/api; inside anything in src
#   bench              bench/common, src/plan/api; draw the checker, price sim; check,
#                      sim, price, draw, tune and info anything in src
#
# No files call each other in a circle, of one folder or of several. Prints what
# breaks a rule.
set -u
export LC_ALL=C
cd "${1:?}" || exit 1
objects=${2:?}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# source_of OBJECT: sets source to the path of its source, without "src/" and
# ".c": the end of the object's, but for the folder of its target.
source_of()
{
    path=${1##*/CMakeFiles/*.dir/}
    path=${1%/CMakeFiles/*}/${path%.c.o*}
    while [ ! -f "$path.c" ]; do
        case $path in
        */*) path=${path#*/} ;;
        *) echo "no source of $1" && return 1 ;;
        esac
    done
    source=${path#src/}
}

while read -r object; do
    source_of "$object" >&2 || exit 1
    echo "$object: $source"
done <"$objects" >"$work/sources" || exit 1
# One nm for all: it takes longer to begin than to read an object.
xargs -d '\n' nm -A -P <"$objects" >"$work/symbols" || exit 1
awk '
{
    colon = index($0, ": ")
    object = substr($0, 1, colon - 1)
}
NR == FNR { source[object] = substr($0, colon + 2); next }
{ $0 = source[object] " " substr($0, colon + 2) }
$3 ~ /^[TDRBCVW]$/ { home[$2] = $1 }
$3 ~ /^[Uw]$/ { needs[$1 " " $2] }
END {
    for (n in needs) {
        split(n, part, " ")
        # The library calls MPI, of which the drop-in has some functions.
        if (part[2] ~ /^MPI_/ && part[1] !~ /^mpi\//)
            continue
        if (part[2] in home && home[part[2]] != part[1])
            print part[1], home[part[2]], part[2]
    }
}' "$work/sources" "$work/symbols" | sort >"$work/calls"
[ -s "$work/calls" ] || { echo "no calls between files: wrong objects?"; exit 1; }

# height FILE: sets height to the place of its folder from the bottom, or to 0.
height()
{
    case $1 in
    base/*) height=1 ;;
    schedule/*) height=2 ;;
    algos/*) height=3 ;;
    choose/*) height=4 ;;
    exec/move/*) height=5 ;;
    exec/memory/*) height=6 ;;
    exec/payload/*) height=7 ;;
    exec/step/*) height=8 ;;
    exec/transport/*) height=9 ;;
    exec/run/*) height=10 ;;
    device/*) height=11 ;;
    plan/ranks/*) height=12 ;;
    plan/args/*) height=13 ;;
    plan/kinds/*) height=14 ;;
    plan/api/*) height=15 ;;
    *) height=0 ;;
    esac
}

# judge_tool CALLER CALLED: the same as judge for a CALLER in bench.
judge_tool()
{
    from=${1#bench/} to=${2#bench/}
    from=${from%%/*} to=${to%%/*}
    case $1,$2 in
    bench/*,bench/*)
        case $from,$to in
        "$from,$from" | *,common | price,sim | draw,check) ;;
        *) echo "bench/$from may not call bench/$to" ;;
        esac ;;
    *,plan/api/* | bench/common/inside,*) ;;
    *)
        case $from in
        check | sim | price | draw | tune | info) ;;
        *) echo "bench/$from may not call the inside of the library" ;;
        esac ;;
    esac
}

# The drop-in's files in their order.
order=$(grep -o '[a-z0-9]*\.c\>' src/mpi/CMakeLists.txt | sed 's/.*/:&:/')

# comes_later CALLER CALLED: in the drop-in.
comes_later()
{
    case $order in
    *":${2##*/}.c:"*":${1##*/}.c:"*) return 1 ;;
    esac
}

# judge CALLER CALLED: prints why it must not call, if so.
judge()
{
    case $1,$2 in
    bench/*)
        judge_tool "$1" "$2"
        return ;;
    mpi/*,mpi/*)
        comes_later "$1" "$2" && echo "it comes later"
        return ;;
    mpi/*,plan/* | mpi/*,base/launched | mpi/worth,choose/sequential) return ;;
    exec/*,algos/* | exec/*,choose/* | device/*,algos/* | device/*,choose/*)
        echo "it knows no algorithms and no choice" ;;
    exec/transport/lines/*,exec/transport/mailbox/* | \
        exec/transport/mailbox/*,exec/transport/lines/*)
        echo "paths do not know each other" ;;
    esac
    height "$1"
    from=$height
    height "$2"
    [ "$height" -gt 0 ] && [ "$height" -le "$from" ] ||
        echo "src/${1%/*} is below src/${2%/*}"
}

# One symbol of each pair of files tells enough.
awk '!seen[$1, $2]++' "$work/calls" >"$work/pairs"
while read -r caller called symbol; do
    judge "$caller" "$called" >"$work/why"
    [ ! -s "$work/why" ] ||
        echo "$caller.c calls $symbol of $called.c: $(cat "$work/why")"
done <"$work/pairs" >"$work/wrong"

cut -d ' ' -f 1,2 "$work/pairs" | sort -u >"$work/files"
if ! tsort "$work/files" >/dev/null 2>"$work/circle"; then
    {
        echo "files call each other in a circle:"
        sed -n '/loop/d; s/^tsort: /  /p' "$work/circle"
    } >>"$work/wrong"
fi
cat "$work/wrong"
[ ! -s "$work/wrong" ]
