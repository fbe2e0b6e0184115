#!/bin/sh
# scale.sh - algorithms at more ranks than there are cores, in simulated time.
#
#   sh bench/figures/scale.sh [OPTION...]                               (see --help)
#
# Builds rota-bench for SimGrid's SMPI in build-smpi/, runs every algorithm at
# every size in a simulation of its own, writes one line of CSV for each, and
# prints a table. rota-bench verifies every exchange. What takes too long is
# "late" in the CSV, what fails is left out; the table tells of both. Exit
# status: 0 if all ran, 77 if SimGrid is not there, 2 for a wrong command line,
# else 1.
set -u
export LC_ALL=C

usage()
{
    cat <<'END'
usage: sh bench/figures/scale.sh [OPTION...]

  --machine NAME     dragonfly (default), torus or fattree, whose queues are
                     bench/smpi/machine.cpp; or stock_dragonfly, stock_torus,
                     stock_fattree, stock_cluster: networks of SimGrid's own,
                     with its own sharing of links (bench/smpi/platform.sh)
  --ranks N          64 (default), 32 of them a node (see --node)
  --node N           ranks a node
  --sizes S,...      largest block in bytes (default 16,64,512,2048,8192)
  --algos ALGO,...   as of rota-bench; smpi:HOW is MPI_Alltoallv as SMPI does it
                     by one of its selectors (mpich, ompi, mvapich2) or
                     algorithms (pair, ring, bruck), which are not those of
                     the libraries that they are named after; with intranode=shm
                     ranks of a node share memory, else they send each other messages
                     (default: parlogna in many radices, with and without a
                     message of sizes in every round, and what it competes with)
  --kind KIND        fixed (default), varying or exchange
  --dist DIST        as of rota-bench (default uniform)
  --iters N          timed exchanges (default 1)
  --inits N          timed set-ups (default 1: that of the first plan)
  --limit SECONDS    for each simulation (default 300)
  --build FOLDER     (default build-smpi)
  --csv FILE         (default FOLDER/results/MACHINE-RANKS-KIND.csv)
  --tuning FILE      prices that the algorithm auto goes by
  --calibrate FILE   make no table, but FILE by rota-tune, simulated: prices of
                     the machine
  --reuse            do not simulate again what FILE has, late or not, and add
                     to it
END
}

wrong()
{
    echo "scale.sh: $*" >&2
    exit 2
}

absolute()
{
    case $1 in
    /*) echo "$1" ;;
    *) echo "$PWD/$1" ;;
    esac
}

# ---- options ------------------------------------------------------------------

machine=dragonfly ranks=64 node=32 sizes=16,64,512,2048,8192 algos=
kind=fixed dist=uniform iters=1 inits=1 limit=300 build='' csv='' reuse=''
tuning='' calibrate='' shared=no
while [ $# -gt 0 ]; do
    case $1 in
    --help)
        usage
        exit 0 ;;
    --reuse)
        reuse=yes
        shift
        continue ;;
    esac
    [ $# -ge 2 ] || wrong "$1 needs a value (see --help)"
    case $1 in
    --machine) machine=$2 ;;
    --ranks) ranks=$2 ;;
    --node) node=$2 ;;
    --sizes) sizes=$2 ;;
    --algos) algos=$2 ;;
    --kind) kind=$2 ;;
    --dist) dist=$2 ;;
    --iters) iters=$2 ;;
    --inits) inits=$2 ;;
    --limit) limit=$2 ;;
    --build) build=$(absolute "$2") ;;
    --csv) csv=$(absolute "$2") ;;
    --tuning) tuning=$(absolute "$2") ;;
    --calibrate) calibrate=$(absolute "$2") ;;
    *) wrong "unknown option '$1' (see --help)" ;;
    esac
    shift 2
done
case $machine in
dragonfly | torus | fattree) ;;
stock_dragonfly | stock_torus | stock_fattree | stock_cluster) ;;
*) wrong "--machine: '$machine' is none of dragonfly, torus, fattree, nor of these" \
    "with stock_ before" ;;
esac
for number in "$ranks" "$node" "$limit"; do
    case $number in
    '' | *[!0-9]* | 0*) wrong "'$number' is not a number from 1" ;;
    esac
done
[ "$node" -le "$ranks" ] || node=$ranks
nodes=$(((ranks + node - 1) / node))

# Powers of two, the square root, and P, with which nothing is forwarded.
default_algos()
{
    root=1
    while [ $((root * root)) -lt "$ranks" ]; do root=$((root + 1)); done
    for radix in $(printf '%s\n' 2 4 8 16 32 "$root" "$ranks" | sort -nu); do
        [ "$radix" -gt "$ranks" ] ||
            printf '%s,' "parlogna:radix=$radix" \
                "parlogna:radix=$radix:metadata=two_phase"
    done
    echo padded_bruck,scattered:batch=32,spread_out,smpi:mpich
}
[ -n "$algos" ] || algos=$(default_algos)

case $algos in
*+* | *..*) wrong "--algos: each algorithm has a simulation of its own, not a" \
    "sweep of parameters" ;;
esac

case ,$algos, in
*,mpi,* | *,mpi:*) wrong "--algos: mpi here is SMPI's, say which one: smpi:mpich" ;;
esac

# ---- build --------------------------------------------------------------------

cd "$(dirname "$0")/../.." || exit 1
build=${build:-$PWD/build-smpi}
source=$PWD
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

need_programs()
{
    for program in smpicc smpirun cmake c++; do
        command -v "$program" >/dev/null 2>&1 && continue
        echo "scale.sh: $program is not installed. Debian has SimGrid's SMPI in" \
            "libsimgrid-dev."
        exit 77
    done
}

build()
{
    # Simulated time is none of the compiler's, and the simulator is SimGrid's.
    cmake -S "$source" -B "$build" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_C_FLAGS_RELEASE="-O1 -DNDEBUG" \
        -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG" \
        -DCMAKE_C_COMPILER=smpicc -DMPI_C_COMPILER=smpicc \
        -DROTA_BUILD_TESTS=OFF -DROTA_BUILD_EXAMPLES=OFF &&
        cmake --build "$build" --parallel 2 --target rota-bench \
            --target rota-tune --target machine
}

# Once, and only if something is to be simulated.
built=''
build_once()
{
    [ -z "$built" ] || return 0
    built=yes
    need_programs
    build >"$work/log" 2>&1 && return
    cat "$work/log"
    exit 1
}

mkdir -p "$build/results" || exit 1
csv=${csv:-$build/results/$machine-$ranks-$kind.csv}

# ---- run ----------------------------------------------------------------------

i=0
while [ "$i" -lt "$nodes" ]; do
    echo "node-$i:$node"
    i=$((i + 1))
done >"$work/hosts"

# What smpirun is told of the network, and nanoseconds of a test in vain: on the stock
# machines those that MPICH 4.0.2 takes here (22 of MPI_Test of a receive).
case $machine in
stock_*)
    sh bench/smpi/platform.sh "$machine" "$nodes" "$node" >"$work/platform.xml" || exit 2
    network="-platform $work/platform.xml" poll=20 ;;
*)
    network="-platform $build/bench/smpi/machine.so --cfg=network/TCP-gamma:0
        --cfg=network/weight-S:0 --cfg=network/crosstraffic:0" poll=100 ;;
esac

# Copies of the program, one a rank, are made in memory where possible.
copies=${TMPDIR:-/tmp}
[ ! -w /dev/shm ] || copies=/dev/shm

# how ALGO: what MPI's own exchange is to be, in SMPI's words.
how()
{
    case $1 in
    smpi:*) echo "${1#smpi:}" ;;
    *) echo mpich ;;
    esac
}

# Messages take what the machine says and no more. Every send is a rendezvous,
# and posting it costs its sender 0.2 us; what SMPI does not charge for, or
# would charge in another way than the rest, smpi/shim.c does. The collectives
# named last are not timed: these are quick to simulate at many ranks.
#
# simulate HOW COMMAND...: HOW as of smpi:HOW.
simulate()
{
    how=$1
    shift
    [ -z "$tuning" ] || export ROTA_TUNING_FILE="$tuning"
    # shellcheck disable=SC2086 # several words
    SCALE_SHARED=$shared SCALE_MACHINE=$machine SCALE_NODES=$nodes \
        SCALE_RANKS_PER_NODE=$node SCALE_POLL_NS=$poll \
        TMPDIR=$copies timeout -k 5 "$limit" \
        smpirun -np "$ranks" -hostfile "$work/hosts" \
        $network --log=root.thres:warning --cfg=network/model:CM02 \
        --cfg=contexts/stack-size:1024 --cfg=smpi/simulate-computation:no \
        --cfg=smpi/host-speed:1Gf --cfg=smpi/cpu-threshold:0 \
        --cfg=smpi/send-is-detached-thresh:0 --cfg=smpi/os:0:2e-7:0 \
        --cfg=smpi/ois:0:2e-7:0 --cfg=smpi/or:0:1e-7:0 --cfg=smpi/test:0 \
        --cfg=smpi/iprobe:1e-7 --cfg=smpi/grow-injected-times:no \
        --cfg=smpi/alltoallv:"$how" --cfg=smpi/alltoall:mpich \
        --cfg=smpi/bcast:binomial_tree --cfg=smpi/allreduce:rdb \
        --cfg=smpi/reduce:binomial --cfg=smpi/allgather:bruck \
        "$@" >log 2>&1 </dev/null
}

# run ALGO SIZE
run()
{
    case $1 in
    smpi:*) name=mpi ;;
    *) name=$1 ;;
    esac
    # Of [Peng21] as published, whose leaders reach the memory of their nodes.
    case $1 in
    l_a2a_published* | *mpml_published*) memory=window ;;
    *) memory=malloc ;;
    esac
    case $1 in
    *:intranode=shm) shared=yes ;;
    *) shared=no ;;
    esac
    simulate "$(how "$1")" "$build/bench/rota-bench" --kind "$kind" \
        --dist "$dist" --sizes "$2" --algos "$name" --iters "$iters" \
        --warmup 0 --inits "$inits" --block 1 --touch none --mem "$memory" --csv one.csv
}

# What tells the rows of the CSV apart, and what they say.
keys=machine,P,ranks_per_node,kind,dist,max_bytes,name
values=median_us,init_us,total_bytes,rounds,messages,scratch_bytes
# Of a plan, what the time of the mean rank goes to: posting sends, copies,
# waiting for sizes, for data inside the node and between nodes.
parts=calls_us,copies_us,sizes_us,inside_us,between_us

# key ALGO SIZE: how the row begins.
key()
{
    echo "$machine,$ranks,$node,$kind,$dist,$2,$1,"
}

# note ALGO SIZE STATUS: a row of the CSV, unless it failed, and of the table.
note()
{
    case $3 in
    0)
        awk -F, -v key="$(key "$1" "$2")" -v values="$values" '
            FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
            FNR == 2 && !row {
                n = split(values, name, ",")
                for (i = 1; i <= n; i++) row = row $column[name[i]] ","
                plan = $column["rounds"] != ""
                next
            }
            FNR == 2 { print key row (plan ? $0 : ",,,,") ",true" }' \
            one.csv parts.csv >>"$csv" ;;
    124 | 137) echo "$(key "$1" "$2"),,,,,,,,,,,late" >>"$csv" ;;
    *)
        echo "$2 $1 failed" >>rows
        echo "scale.sh: $1, $2 B: status $3" >&2
        grep -v -e --cfg= -e '^Generated' -e '^Execution' \
            -e 'did not return 0' log |
            tail -n 5 >&2
        return ;;
    esac
    recall "$1" "$2"
}

# recall ALGO SIZE: its row of the table from the CSV; false if that has none.
recall()
{
    grep -F "$(key "$1" "$2")" "$csv" |
        awk -F, -v size="$2" -v algo="$1" '
            { time = $NF == "late" ? "late" : $8 }
            END {
                if (NR == 0) exit 1
                print size, algo, time
            }' >>rows
}

if [ -n "$calibrate" ]; then
    cd "$work" || exit 1
    build_once
    simulate mpich "$build/bench/rota-tune" --output "$calibrate" \
        --sizes "$sizes" --calibrate-only --runs 1
    status=$?
    grep -v -e --cfg= -e '^Generated' -e '^Execution' log
    exit "$status"
fi

[ -n "$reuse" ] || rm -f "$csv"
[ -s "$csv" ] || echo "$keys,$values,$parts,verified" >"$csv" || exit 1
cd "$work" || exit 1 # smpirun leaves files
: >rows
for size in $(echo "$sizes" | tr , ' '); do
    for algo in $(echo "$algos" | tr , ' '); do
        recall "$algo" "$size" && continue
        [ ! -t 2 ] || printf '\r%8s B  %-40s' "$size" "$algo" >&2
        rm -f one.csv parts.csv
        build_once
        run "$algo" "$size"
        note "$algo" "$size" $?
    done
done
[ ! -t 2 ] || printf '\r%60s\r' '' >&2

# ---- table --------------------------------------------------------------------

echo "$machine, P = $ranks, $node ranks a node, kind $kind, $dist:" \
    "microseconds, the slowest rank"
awk '
    !($1 in column) { column[$1] = ++n; size[n] = $1 }
    !($2 in row) { row[$2] = ++rows; name[rows] = $2 }
    {
        cell[row[$2], column[$1]] = $3
        if ($3 ~ /^[0-9]/ && (!($1 in least) || $3 + 0 < least[$1] + 0)) {
            least[$1] = $3
            best[$1] = $2
        }
        if ($3 ~ /^[0-9]/ && $2 ~ /^parlogna:radix=[0-9]+$/ &&
            (!($1 in least_r) || $3 + 0 < least_r[$1] + 0)) {
            least_r[$1] = $3
            best_r[$1] = substr($2, length("parlogna:radix=") + 1)
        }
        if ($3 == "late") late = 1
    }
    function line(text, c) {
        printf "%-40s", text
        for (c = 1; c <= n; c++) printf " %10s", value[c]
        print ""
    }
    END {
        for (c = 1; c <= n; c++) value[c] = size[c] " B"
        line("algorithm")
        for (r = 1; r <= rows; r++) {
            for (c = 1; c <= n; c++) {
                value[c] = cell[r, c]
                if (value[c] ~ /^[0-9]/)
                    value[c] = sprintf("%.1f%s", value[c],
                                       best[size[c]] == name[r] ? "*" : " ")
            }
            line(name[r])
        }
        for (c = 1; c <= n; c++) value[c] = best_r[size[c]] " "
        line("best radix of parlogna")
        print "*: the fastest"
        if (late) print "late: not within the limit"
    }' rows
echo "CSV: $csv"
! grep -q -e ' failed$' -e ' late$' rows
