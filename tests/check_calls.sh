#!/bin/sh
# check_calls.sh ROOT OBJECTS - who calls whom, from the symbols of object files.
#
# OBJECTS names a file with the path of an object in each line. A file calls
# another if it needs a symbol, function or table, that the other one has.
#
#   src/base       itself
#   src/schedule   base
#   src/algos      base, schedule
#   src/choose     base, schedule, algos
#   src/exec       base, schedule; its transport
#   src/exec/transport
#                  base, schedule; of exec its memory, what moves blocks and
#                  tells how a run ended: $blocks
#   src/device     base, schedule, exec
#   src/plan       anything
#   bench/common   src/plan/api; inside anything in src
#   bench          bench/common, src/plan/api; draw the checker, price sim; check,
#                  sim, price, draw, tune and info anything in src
#
# No files call each other in a circle, of one folder or of several, but those of
# $circles. Prints what breaks a rule.
set -u
export LC_ALL=C
cd "${1:?}" || exit 1
objects=${2:?}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

blocks='arena blocks bulk clock copy doorbell lock parcels pool roster status strided
trace varlen'

# CALLER CALLED, without which there is no circle: measuring makes plans.
circles='plan/kinds/plan plan/kinds/trial'

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
    nm -P "$object" | sed "s|^|$source |"
done <"$objects" >"$work/symbols" || exit 1
awk '
$3 ~ /^[TDRBCVW]$/ { home[$2] = $1 }
$3 ~ /^[Uw]$/ { needs[$1 " " $2] }
END {
    for (n in needs) {
        split(n, part, " ")
        if (part[2] in home && home[part[2]] != part[1])
            print part[1], home[part[2]], part[2]
    }
}' "$work/symbols" | sort >"$work/calls"
[ -s "$work/calls" ] || { echo "no calls between files: wrong objects?"; exit 1; }

# part FILE: sets part to the folder in whose name rules are written.
part()
{
    case $1 in
    exec/transport/*) part=exec/transport ;;
    exec/* | plan/*) part=${1%%/*} ;;
    *) part=${1%/*} ;;
    esac
}

# judge_tool CALLER CALLED: the same for a CALLER in bench.
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

# judge CALLER CALLED: prints why it must not call, if so.
judge()
{
    case $1 in
    bench/*)
        judge_tool "$1" "$2"
        return ;;
    esac
    part "$1"
    from=$part
    part "$2"
    to=$part
    case $from,$to in
    plan,* | "$from,$from" | *,base) ;;
    base,*) echo "src/base calls nobody" ;;
    algos,schedule | choose,schedule | choose,algos) ;;
    exec,schedule | exec,exec/transport | exec/transport,schedule) ;;
    exec/transport,exec)
        case " $(echo $blocks) " in
        *" ${2##*/} "*) ;;
        *) echo "a transport is below it" ;;
        esac ;;
    device,schedule | device,exec) ;;
    *) echo "src/$from may not call src/$to" ;;
    esac
}

# One symbol of each pair of files tells enough.
awk '!seen[$1, $2]++' "$work/calls" >"$work/pairs"
while read -r caller called symbol; do
    judge "$caller" "$called" >"$work/why"
    [ ! -s "$work/why" ] ||
        echo "$caller.c calls $symbol of $called.c: $(cat "$work/why")"
done <"$work/pairs" >"$work/wrong"

cut -d ' ' -f 1,2 "$work/calls" | sort -u >"$work/files"
echo "$circles" | sort >"$work/circles"
comm -13 "$work/files" "$work/circles" | sed 's/$/: no such calls any more/' \
    >>"$work/wrong"
comm -23 "$work/files" "$work/circles" >"$work/rest"
if ! tsort "$work/rest" >/dev/null 2>"$work/circle"; then
    {
        echo "files call each other in a circle:"
        sed -n '/loop/d; s/^tsort: /  /p' "$work/circle"
    } >>"$work/wrong"
fi
cat "$work/wrong"
[ ! -s "$work/wrong" ]
