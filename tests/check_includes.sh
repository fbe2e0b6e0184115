#!/bin/sh
# check_includes.sh ROOT - who may include whom, and what builders may not call.
#
#   include/rota.h   mpi.h, stddef.h, stdint.h
#   src/base         src/base; no MPI calls
#   src/schedule     base; no MPI calls
#   src/algos        base, schedule; neither mpi.h, MPI calls, memory nor
#                    environment: builders are pure
#   src/choose       base, schedule, algos; sees cJSON
#   src/exec         base, schedule
#   src/device       base, schedule, exec; cuda.c alone sees CUDA, hip.c HIP
#   src/heap         base; jemalloc
#   src/plan         anything; the only folder to see hwloc and, but for src/mpi,
#                    uthash
#   src/mpi          rota.h, plan/inside.h; of itself what comes earlier in its
#                    CMakeLists.txt, and list.h. worth.c, which is pure, no MPI,
#                    but choose/sequential.h
#   examples         rota.h and what lies beside them
#   bench/common     rota.h; inside.h alone sees src
#   bench/sim        rota.h, bench/common
#   bench/price      all of src, bench/common, bench/sim
#   bench/check      all of src
#   bench/draw       all of src, bench/common, bench/check
#   bench/tune, bench/info
#                    all of src, bench/common
#   bench/smpi       shim.[ch], which stand for MPI, anything
#   other folders of bench
#                    rota.h, bench/common without inside.h
#
# check_calls.sh says who may call whom. Headers include each other in no circle. Prints what breaks a rule.
set -u
export LC_ALL=C
cd "${1:?}" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

wrong()
{
    echo "$*"
    : >"$work/failed"
}

# outside NAME: is it a library that not all of src may see?
outside()
{
    case $1 in
    hwloc.h | hwloc/* | uthash.h | utarray.h | utlist.h | utstring.h | cjson/*)
        return 0 ;;
    esac
    return 1
}

# The drop-in's files in their order.
order=$(grep -o '[a-z0-9]*\.c\>' src/mpi/CMakeLists.txt | sed 's/.*/:&:/')

# comes_later FILE NAME: does the header NAME of the drop-in come after FILE?
comes_later()
{
    from=${1##*/} to=${2##*/}
    [ "$from" != "${to%.h}.c" ] && [ "$to" != list.h ] &&
        case $order in
        *":${to%.h}.c:"*":${from%.[ch]}.c:"*) false ;;
        esac
}

# judge FILE NAME: prints why FILE may not include NAME, if it may not.
judge()
{
    inside=no
    [ -f "src/$2" ] && inside=yes
    case $1,$2 in
    src/device/cuda.c,* | src/device/hip.c,*) ;;
    src/*,cuda*.h | include/*,cuda*.h) echo "only device/cuda.c sees CUDA" ;;
    src/*,hip/* | include/*,hip/*) echo "only device/hip.c sees HIP" ;;
    src/mpi/worth.*,mpi.h) echo "times in, verdict out" ;;
    src/mpi/*,mpi/*) comes_later "$1" "$2" && echo "it comes later" ;;
    src/*,mpi/*) echo "nothing lies above the drop-in" ;;
    esac
    case $1 in
    include/rota.h)
        case $2 in
        mpi.h | stddef.h | stdint.h) ;;
        *) echo "the public header needs no more than mpi.h" ;;
        esac ;;
    src/plan/*) ;;
    src/mpi/*)
        case $inside,$2 in
        yes,mpi/* | yes,plan/inside.h) ;;
        yes,choose/sequential.h) [ "${1%.?}" = src/mpi/worth ] ||
            echo "only worth.c tests times" ;;
        yes,*) echo "src/mpi uses Rota by rota.h and inside.h only" ;;
        no,uthash.h | no,utlist.h) ;;
        *) outside "$2" && echo "only src/plan sees this library" ;;
        esac ;;
    src/*)
        folder=${1#src/}
        folder=${folder%%/*}
        case $inside,$folder,${2%%/*} in
        yes,schedule,base | yes,algos,base | yes,algos,schedule) ;;
        yes,choose,base | yes,choose,schedule | yes,choose,algos) ;;
        yes,exec,base | yes,exec,schedule | yes,heap,base) ;;
        yes,device,base | yes,device,schedule | yes,device,exec) ;;
        yes,"$folder","$folder") ;;
        yes,*) echo "src/$folder may not see ${2%%/*}" ;;
        esac
        case $folder,$2 in
        choose,cjson/* | choose,uthash.h) ;;
        *) outside "$2" && echo "only src/plan sees this library" ;;
        esac
        [ "$folder" = algos ] && [ "$2" = mpi.h ] &&
            echo "algorithms do not call MPI" ;;
    bench/*)
        folder=${1#bench/}
        folder=${folder%%/*}
        other=
        [ -f "bench/$2" ] && other=${2%%/*}
        case $folder,$other in
        *, | *,common | "$folder,$folder" | price,sim | draw,check) ;;
        *) echo "bench/$folder may not see bench/$other" ;;
        esac
        case $1,$inside,$2 in
        bench/common/inside.[ch],* | bench/price/*) ;;
        bench/smpi/shim.[ch],*) ;;
        bench/check/* | bench/draw/* | bench/tune/* | bench/info/*) ;;
        bench/sim/*,no,common/inside.h) ;;
        *,yes,* | *,common/inside.h) echo "sees the inside of the library" ;;
        *,*..*) echo "leaves its folder" ;;
        esac ;;
    examples/*)
        if [ ! -f "${1%/*}/$2" ]; then
            [ "$inside" = no ] || echo "sees the inside of the library"
            case $2 in *..*) echo "leaves its folder" ;; esac
        fi ;;
    esac
}

find include src examples bench -name '*.[ch]' 2>/dev/null | sort >"$work/files"
while read -r file; do
    sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]\([^>"]*\)[>"].*/\1/p' \
        "$file" >"$work/names"
    while read -r name; do
        judge "$file" "$name" >"$work/why"
        [ ! -s "$work/why" ] ||
            wrong "$file: includes $name: $(cat "$work/why")"
        case $file in
        src/*.h) [ ! -f "src/$name" ] ||
            echo "${file#src/} $name" >>"$work/edges" ;;
        bench/*.h) [ ! -f "bench/$name" ] ||
            echo "$file bench/$name" >>"$work/edges" ;;
        esac
    done <"$work/names"
done <"$work/files"

if [ -s "$work/edges" ] &&
    ! tsort "$work/edges" >/dev/null 2>"$work/circle"; then
    wrong "headers include each other in a circle:"
    sed 's/^tsort: //' "$work/circle"
fi

# code FILE: without comments, strings and directives, lines kept.
code()
{
    awk '{
        line = $0; out = ""
        if (line ~ /^[ \t]*#/ && !comment) line = ""
        while (line != "") {
            if (comment) {
                end = index(line, "*/")
                if (!end) { line = ""; break }
                line = substr(line, end + 2); comment = 0
            } else if (match(line, /\/\*|\/\/|"([^"\\]|\\.)*"/)) {
                out = out substr(line, 1, RSTART - 1)
                found = substr(line, RSTART, RLENGTH)
                line = substr(line, RSTART + RLENGTH)
                if (found == "/*") comment = 1
                else if (found == "//") line = ""
            } else { out = out line; line = "" }
        }
        print out
    }' "$1"
}

# no_calls FILES-PATTERN EXPRESSION WHY
no_calls()
{
    for file in $1; do
        [ -f "$file" ] || continue
        code "$file" | grep -nE "(^|[^A-Za-z0-9_])($2)[[:space:]]*\(" \
            >"$work/calls" || continue
        wrong "$file: $3:"
        cat "$work/calls"
    done
}
mpi_call='P?MPI_[A-Z][a-z]+_[a-z_]+|P?MPI_(Abort|Allgather|Allreduce|Alltoall|Barrier|Bcast|Cancel|Gather|Iprobe|Irecv|Isend|Probe|Put|Get|Recv|Reduce|Send|Start|Startall|Test|Testall|Testany|Testsome|Wait|Waitall|Waitany|Waitsome|Wtime|Init|Finalize)[a-z]*'
no_calls 'src/base/*.[ch]' "$mpi_call" "calls MPI"
no_calls 'src/schedule/*.[ch]' "$mpi_call" "calls MPI"
no_calls 'src/algos/*.[ch]' "$mpi_call" "an algorithm calls MPI"
no_calls 'src/algos/*.[ch]' \
    'malloc|calloc|realloc|free|aligned_alloc|getenv|s?rand|time' \
    "an algorithm is not pure"
no_calls 'src/mpi/worth.[ch]' "$mpi_call|getenv|clock|clock_gettime|time" \
    "it is given all times"

[ ! -e "$work/failed" ]
