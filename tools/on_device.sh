#!/bin/sh
# on_device.sh - measure and test all that a machine with many cores and a CUDA GPU
# is needed for, in one go.
#
#   sh tools/on_device.sh [OPTION...] [PART...]
#
# Parts, in this order if none is named:
#   build       install and compile
#   tables      rota-bench with each number of ranks, with MPICH in several settings
#               and Open MPI; context switches
#   programs    rota-tune, the applications among the examples, and programs of
#               others with the drop-in
#   cuda        the tests that need a GPU
#   sanitizer   the same under compute-sanitizer
#   gpu         prices of copies (rota-tune --device), the commands of docs/gpu.md
#   strategies  the seven strategies of [Nam25] (docs/algorithms.md), in its sizes
#   goals       whether the aims are met, by on_device.awk, into FOLDER/goals.md
#   tests       all tests of MPI, if there is time left
#
# Options:
#   --fetch FOLDER     only download the .deb files for --packages into it: MPICH,
#                      Open MPI and libraries, for a machine with a compiler, CMake
#                      and Python but no network
#   --packages FOLDER  install the .deb files in it, if MPICH or a library is missing;
#                      nothing is fetched from elsewhere
#   --programs FOLDER  programs of Debian, as tools/programs.sh runs them; it builds in
#                      FOLDER, from what its --fetch has left there
#   --aware FOLDER     an MPI that takes memory of a device is installed there: for
#                      part strategies (docs/gpu.md says how to build one)
#   --build FOLDER     where to compile (default build-device; beside it, the same
#                      name with -openmpi and -aware)
#   --out FOLDER       where results go (default on-device-results)
#   --ranks 'P ...'    numbers of ranks (default '2 4 8 16')
#   --minutes N        stop after that long (default 40)
#   --crowded          tables also with more ranks than cores
#   --quick            few iterations and sizes: does all of it run?
#
# Each step has a time limit and leaves FOLDER/STEP.log; tables leave a .csv, too.
# FOLDER/summary.txt says of every step whether it was done, failed, ran out of
# time or was left out, and why. What needs a GPU, a core for each rank or a tool
# that is not there is left out. Exit status: 0, 1 if a step failed, 2 for a wrong
# command line.
set -u
export LC_ALL=C
# Open MPI as root, with more ranks than cores, and where there is no ssh.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
command -v ssh >/dev/null 2>&1 || export OMPI_MCA_plm_rsh_agent=sh

root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
fetch='' packages='' programs='' aware='' build=$root/build-device out=on-device-results minutes=40 all_ranks='2 4 8 16'
crowded='' quick='' parts=''
all='build tables programs cuda sanitizer gpu strategies goals tests'

misused()
{
    echo "on_device.sh: $*" >&2
    sed -n '/^#   sh/s/^# *//p' "$0" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    --fetch | --packages | --programs | --aware | --build | --out | --ranks | \
        --minutes)
        [ $# -gt 1 ] || misused "$1 needs a value"
        case $1 in
        --fetch) fetch=$2 ;;
        --packages) packages=$2 ;;
        --programs) programs=$2 ;;
        --aware) aware=$2 ;;
        --build) build=$2 ;;
        --out) out=$2 ;;
        --ranks) all_ranks=$2 ;;
        --minutes) minutes=$2 ;;
        esac
        shift ;;
    --crowded) crowded=yes ;;
    --quick) quick=yes ;;
    --help)
        sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"
        exit 0 ;;
    -*) misused "no option $1" ;;
    *)
        case " $all " in
        *" $1 "*) parts="$parts $1" ;;
        *) misused "no part $1" ;;
        esac ;;
    esac
    shift
done
for P in $all_ranks; do
    case $P in *[!0-9]* | 0*) misused "--ranks: $P is no number of ranks" ;; esac
done
case $minutes in '' | *[!0-9]*) misused "--minutes $minutes is no number" ;; esac

# What these need beyond what they are installed to: the difference of what apt would
# fetch for both. Compilers of Fortran are not among it, although MPICH's package asks
# for one.
fetch_packages()
{
    there='g++ libc6-dev make cmake python3 openssh-client'
    wanted='mpich libmpich-dev openmpi-bin libopenmpi-dev libhwloc-dev libcjson-dev
        libcmocka-dev uthash-dev zlib1g-dev libfftw3-dev pkg-config'
    mkdir -p "$1/partial" && cd "$1" && rm -f list list.there list.all || return 1
    for names in "$there" "$there $wanted"; do
        # shellcheck disable=SC2086 # lists of names
        apt-get -o Dir::Cache::archives="$PWD" -o Dir::State::status=/dev/null \
            --no-install-recommends -y --print-uris install $names |
            sed -n "s/^'\([^']*\)' \([^ ]*\) .*/\2 \1/p" | sort >list
        mv -f list "$([ -e list.there ] && echo list.all || echo list.there)"
    done
    comm -13 list.there list.all | grep -v '^[a-z]*gfortran-\|^gfortran' >list
    [ -s list ] || { echo "apt-get names no packages to fetch"; return 1; }
    while read -r name address; do
        [ -s "$name" ] || curl -fsSLo "$name" "$address" || return 1
    done <list
    rmdir partial
    rm -f list list.there list.all
    du -sh .
}

if [ -n "$fetch" ]; then
    fetch_packages "$fetch"
    exit
fi
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd)

# absolute PATH: as seen from here, as other folders are entered below.
absolute()
{
    case $1 in '' | /*) echo "$1" ;; *) echo "$PWD/$1" ;; esac
}

build=$(absolute "$build")
packages=$(absolute "$packages")
programs=$(absolute "$programs")
aware=$(absolute "$aware")
cd "$root" || exit 1

# ---- steps ------------------------------------------------------------------------

summary=$out/summary.txt
deadline=$(($(date +%s) + 60 * minutes))
failed=no
cores=$(nproc)
: >"$summary"

tell()
{
    printf '%-10s %-28s %s\n' "$1" "$2" "$3" | tee -a "$summary"
}

left_out()
{
    tell 'left out' "$1" "$2"
}

# step NAME SECONDS COMMAND...
step()
{
    name=$1 limit=$2
    shift 2
    begin=$(date +%s)
    left=$((deadline - begin))
    [ "$left" -gt 5 ] || { left_out "$name" 'no time is left'; return 1; }
    [ "$limit" -lt "$left" ] || limit=$left
    { echo "\$ $*"; timeout -k 10 "$limit" "$@"; } >"$out/$name.log" 2>&1
    result=$?
    took=$(($(date +%s) - begin))
    case $result in
    0) tell 'done' "$name" "$took s" ;;
    77) left_out "$name" "$(tail -n 1 "$out/$name.log")" ;;
    124 | 137)
        tell 'no time' "$name" "ended after $took s"
        failed=yes ;;
    *)
        tell failed "$name" "status $result after $took s; see $name.log"
        failed=yes ;;
    esac
    return $result
}

has()
{
    command -v "$1" >/dev/null 2>&1
}

has_gpu()
{
    if has nvidia-smi; then
        nvidia-smi -L 2>/dev/null | grep -q GPU
    else
        [ -e /dev/nvidia0 ]
    fi
}

# As has_gpu, and says of a part that it is left out.
needs_gpu()
{
    has_gpu && return
    left_out "$1" 'no CUDA device'
    return 1
}

needs_build()
{
    [ -x "$build/bench/rota-bench" ] && return
    left_out "$1" "there is no $build/bench/rota-bench: part build makes it"
    return 1
}

# ranks_fit STEP P
ranks_fit()
{
    [ "$2" -le "$cores" ] || [ -n "$crowded" ] && return
    left_out "$1" "$2 ranks on $cores cores (--crowded runs it)"
    return 1
}

# ---- parts ------------------------------------------------------------------------

machine()
{
    uname -a
    lscpu
    free -h
    nvidia-smi 2>&1
    mpichversion 2>&1 | head -n 3
    mpiexec.openmpi --version 2>&1 | head -n 1
}

install_packages()
{
    has mpicc.mpich && pkg-config --exists hwloc libcjson && return
    [ -n "$packages" ] || {
        echo "MPICH, hwloc or cJSON is missing and --packages is not given"
        return 1
    }
    # Newer libraries that are there stay. What depends on names that another
    # distribution uses is unpacked all the same.
    dpkg -i --refuse-downgrade --skip-same-version --force-depends \
        --force-overwrite "$packages"/*.deb
    ldconfig
    has mpicc.mpich && has mpiexec.mpich && pkg-config --exists hwloc libcjson
}

# compile STEP MPICC FOLDER
compile()
{
    step "$1" 900 sh -c "cmake -S '$root' -B '$3' -DMPI_C_COMPILER=$2 \
        -DROTA_BUILD_TESTS=ON && cmake --build '$3' -j $cores"
}

part_build()
{
    install_packages >"$out/packages.log" 2>&1 ||
        { tell failed packages 'see packages.log'; failed=yes; }
    machine >"$out/machine.txt" 2>&1
    compile build-mpich mpicc.mpich "$build"
    if has mpicc.openmpi; then
        compile build-openmpi mpicc.openmpi "$build-openmpi"
    else
        left_out build-openmpi 'mpicc.openmpi is not installed'
    fi
    if [ -n "$aware" ]; then
        compile build-aware "$aware/bin/mpicc" "$build-aware"
    else
        left_out build-aware '--aware is not given'
    fi
}

sizes=8,64,512,4096,65536,1048576
iters=200
starts=20
table_s=60
[ -z "$quick" ] || { sizes=8,4096 iters=3 starts=2 table_s=20; }

# What tables are made with, until a part says otherwise.
mpiexec=mpiexec.mpich
bench=$build/bench/rota-bench

# table NAME P BENCH-OPTION...: its CSV beside it.
table()
{
    name=$1 ranks=$2
    shift 2
    ranks_fit "$name" "$ranks" || return
    step "$name" $((2 * table_s)) "$mpiexec" -n "$ranks" "$bench" \
        --iters "$iters" --time-limit "$table_s" --csv "$out/$name.csv" "$@"
}

# Settings of MPICH that may be faster than what it takes by itself: which
# algorithm, how many messages at once, which transports, from which size on
# receivers are asked.
settings='nonblocking:MPIR_CVAR_ALLTOALLV_INTRA_ALGORITHM=nb
throttle4:MPIR_CVAR_ALLTOALL_THROTTLE=4
throttle256:MPIR_CVAR_ALLTOALL_THROTTLE=256
persistent-blocked:MPIR_CVAR_IALLTOALLV_INTRA_ALGORITHM=tsp_blocked
persistent-scattered:MPIR_CVAR_IALLTOALLV_INTRA_ALGORITHM=tsp_scattered
sysv:UCX_TLS=self,sysv,cma
eager:UCX_RNDV_THRESH=1m'

tuned_mpi()
{
    for setting in $settings; do
        name=${setting%%:*}
        (
            export "${setting#*:}"
            table "fixed-p$1-$name" "$1" --sizes $sizes \
                --algos auto,mpi,mpi_persistent
            [ $failed = no ]
        ) || failed=yes
    done
}

part_tables()
{
    needs_build tables || return
    for P in $all_ranks; do
        for mem in malloc heap; do
            table "fixed-p$P-$mem" $P --mem $mem --sizes $sizes \
                --algos auto,mpi,mpi_persistent,copy_bound
            table "row-p$P-$mem" $P --mem $mem --sizes $sizes --starts $starts \
                --algos auto,mpi,mpi_persistent,copy_bound
        done
        tuned_mpi $P
        table "switches-p$P" $P --switches --sizes 8,4096 --algos auto,mpi
        for kind in varying exchange; do
            table "$kind-p$P" $P --kind $kind --sizes $sizes \
                --algos auto,mpi,copy_bound
        done
        table "sparse-p$P" $P --kind exchange --dist sparse:0.2 --sizes $sizes \
            --algos auto,sparse,mpi_nbx,mpi
        ranks_fit "openmpi-p$P" $P || continue
        [ -x "$build-openmpi/bench/rota-bench" ] || {
            left_out "openmpi-p$P" 'there is no build with Open MPI'
            continue
        }
        mpiexec=mpiexec.openmpi
        bench=$build-openmpi/bench/rota-bench
        table "openmpi-p$P" $P --sizes $sizes --algos auto,mpi,copy_bound
        mpiexec=mpiexec.mpich
        bench=$build/bench/rota-bench
    done
}

part_programs()
{
    needs_build programs || return
    most=$cores
    [ "$most" -le 16 ] || most=16
    tune_s=240
    [ -z "$quick" ] || tune_s=20
    step tune $((tune_s + 60)) mpiexec.mpich -n "$most" \
        "$build/bench/rota-tune" --budget $tune_s --output "$out/tuning.json"
    ROTA_TUNING_FILE=$out/tuning.json table "fixed-p$most-tuned" "$most" \
        --sizes $sizes --algos auto,mpi,mpi_persistent
    kcfa='kcfa --rounds 5 --k 4 --program worst:4:16'
    [ -z "$quick" ] || kcfa='kcfa --rounds 1 --k 4 --program worst:4:8'
    for program in "$kcfa" \
        'fft1d --shape n1' 'fft3d --decompose pencil --overlap' \
        'navier_stokes'; do
        name=${program%% *}
        if [ -x "$build/examples/$name" ]; then
            # shellcheck disable=SC2086 # words
            step "example-$name" 120 mpiexec.mpich -n "$most" \
                "$build/examples/"$program
        else
            left_out "example-$name" 'not built'
        fi
    done
    if [ -z "$programs" ]; then
        left_out programs-of-debian '--programs is not given'
        return
    fi
    for P in $all_ranks; do
        ranks_fit "programs-p$P" $P || continue
        for folder in "$build" "$build-openmpi"; do
            [ ! -x "$folder/src/mpi/rota-run" ] ||
                step "programs${folder#"$build"}-p$P" 600 env RANKS=$P ROUNDS=3 \
                    sh tools/programs.sh "$programs" "$folder"
        done
    done
}

part_cuda()
{
    needs_build cuda && needs_gpu cuda || return
    step cuda-tests 900 ctest --test-dir "$build" -R cuda --output-on-failure
}

part_sanitizer()
{
    needs_build sanitizer && needs_gpu sanitizer || return
    has compute-sanitizer ||
        { left_out sanitizer 'compute-sanitizer is not installed'; return; }
    for test in device types; do
        step "sanitizer-$test" 300 mpiexec.mpich -n 2 compute-sanitizer \
            --error-exitcode 1 "$build/tests/mpi/mpi_${test}_cuda"
    done
    step sanitizer-grid 600 mpiexec.mpich -n 2 compute-sanitizer \
        --error-exitcode 1 "$build/tests/mpi/mpi_grid_cuda" quick
}

# Several processes share a GPU at once only by MPS; else they have it in turn. It runs as
# a daemon with a folder of its own, and changes no setting of the GPU.
start_mps()
{
    has nvidia-cuda-mps-control && [ -z "${CUDA_MPS_PIPE_DIRECTORY:-}" ] ||
        { left_out "$1" 'no MPS, or one that runs'; return 1; }
    mps=$(mktemp -d /tmp/mps.XXXXXX) || return 1
    export CUDA_MPS_PIPE_DIRECTORY="$mps" CUDA_MPS_LOG_DIRECTORY="$mps"
    setsid nvidia-cuda-mps-control -d && return
    stop_mps
    left_out "$1" 'nvidia-cuda-mps-control does not start'
    return 1
}

stop_mps()
{
    echo quit | nvidia-cuda-mps-control >/dev/null 2>&1
    rm -rf "$mps"
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

device_ways=auto,multi_pair:device=cuda_ipc,multi_pair:device=copy_to_cpu,mpi_naive,mpi,stage_bound,device_bound
device_sizes=2048,4096,8192,32768,131072,524288,2097152,8388608
grid=256x256x256 verified_grid=96x80x72 rounds=11
[ -z "$quick" ] || device_sizes=2048,131072 grid=32x32x32 verified_grid=24x20x18 rounds=2

part_gpu()
{
    needs_build gpu && needs_gpu gpu || return
    for how in slab pencil; do
        step "gpu-fft3d-verify-$how" 120 mpiexec.mpich -n 4 \
            "$build/examples/fft3d" --device cuda --verify --grid $verified_grid \
            --decompose $how
        step "gpu-fft3d-$how" 180 mpiexec.mpich -n 4 "$build/examples/fft3d" \
            --device cuda --grid $grid --decompose $how --rounds $rounds
    done
    for P in $all_ranks; do
        ranks_fit "gpu-prices-p$P" $P && step "gpu-prices-p$P" 120 \
            mpiexec.mpich -n $P "$build/bench/rota-tune" --device \
            ${quick:+--quick} --output "$out/gpu-prices-p$P.json"
        [ ! -s "$out/gpu-prices-p$P.json" ] ||
            export ROTA_TUNING_FILE="$out/gpu-prices-p$P.json"
        table "gpu-p$P" $P --mem cuda --sizes $device_sizes --algos $device_ways
    done
    unset ROTA_TUNING_FILE
    if start_mps gpu-mps; then
        for P in $all_ranks; do
            table "gpu-mps-p$P" $P --mem cuda --sizes $device_sizes \
                --algos $device_ways
        done
        stop_mps
    fi
    table gpu-small $P --mem cuda --sizes 64,512,2048 \
        --algos multi_pair:device=copy_to_cpu,stage_bound
}

# By the names of the paper: Copy-to-CPU Nonblocking, Pairwise and MPI; CUDA-Aware
# Waitany Stride, Waitall Stride, Pairwise and MPI.
copied=multi_pair:device=copy_to_cpu:batch=5,pairwise:device=copy_to_cpu,rota_mpi:device=copy_to_cpu
aware_ways=multi_pair:device=cuda_aware:batch=5,scattered:device=cuda_aware:batch=5,pairwise:device=cuda_aware,rota_mpi:device=cuda_aware

part_strategies()
{
    needs_build strategies && needs_gpu strategies || return
    if [ -x "$build-aware/bench/rota-bench" ]; then
        mpiexec=$aware/bin/mpiexec
        bench=$build-aware/bench/rota-bench
    fi
    seven=$copied
    if timeout 60 "$mpiexec" -n 2 "$bench" --mem cuda --sizes 2048 --iters 1 \
        --algos $aware_ways >"$out/aware.log" 2>&1; then
        seven=$copied,$aware_ways
    else
        left_out strategies-aware 'this MPI takes no memory of a device: aware.log'
    fi
    for P in $all_ranks; do
        table "strategies-p$P" $P --mem cuda --sizes $device_sizes \
            --algos "$seven,auto,mpi_naive"
        [ -s "$out/strategies-p$P.csv" ] && has gnuplot &&
            step "picture-p$P" 60 sh bench/plot/plot.sh sizes \
                --csv "$out/strategies-p$P.csv" \
                --out "$out/strategies-p$P.svg" --algos "$seven,auto"
    done
    mpiexec=mpiexec.mpich
    bench=$build/bench/rota-bench
}

part_goals()
{
    set -- "$out"/*.csv
    [ -e "$1" ] || { left_out goals 'there are no tables'; return; }
    awk -f tools/on_device.awk "$@" >"$out/goals.md"
    cat "$out/goals.md"
}

part_tests()
{
    needs_build tests || return
    step tests 1200 ctest --test-dir "$build" -L '^(unit|mpi)$' \
        -j $((cores / 4 + 1)) --output-on-failure
}

for part in ${parts:-$all}; do
    "part_$part"
done
echo "results: $out"
[ $failed = no ]
