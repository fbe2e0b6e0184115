#!/bin/sh
# programs.sh - public programs with and without the drop-in.
#
#   sh tools/programs.sh FOLDER [BUILD [NAME...]]
#
# Builds what it finds of these in FOLDER, runs each by MPI alone and by rota-run in
# turn, and prints a row of a Markdown table for each: of the times that the program
# says it took the median, the least and the most; of the ratios of two runs that
# follow each other the same; calls made and taken by Rota; and whether the answers
# are the same. A program that is not there is named. BUILD is where Rota is
# built (default: build).
#
#   FOLDER/heffte    github.com/icl-utk-edu/heffte
#   FOLDER/fftw      made by tests/dropin/build_fftw.sh
#   FOLDER/npb       NAS Parallel Benchmarks 3.4, the folder with IS and FT
#   FOLDER/petsc     gitlab.com/petsc/petsc, of which vectors and scatters are built
#   FOLDER/combblas  github.com/PASSIONLab/CombBLAS, of which a breadth-first search
#                    (4 ranks, or another square) and the sort of psort-1.0 are built
#
# Of the environment: ROUNDS (5), RANKS (2), MPIEXEC (mpiexec.mpich or mpiexec),
# MPI_SUFFIX of compilers (.mpich where there is mpicc.mpich), LIMIT (120 s a run),
# ROWS (a regular expression: only rows whose title has it).
set -u

usage()
{
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
    exit "$1"
}

[ "${1:-}" != --help ] || usage 0
[ -d "${1:-}" ] || usage 2
folder=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${2:-$root/build}" && pwd) || exit 2
[ $# -lt 2 ] && shift || shift 2
[ $# -gt 0 ] || set -- heffte fftw npb petsc combblas

run=$build/src/mpi/rota-run
[ -x "$run" ] || { echo "$run is not built"; exit 2; }
rounds=${ROUNDS:-5}
ranks=${RANKS:-2}
limit=${LIMIT:-120}
rows=${ROWS:-.}
if [ -z "${MPI_SUFFIX+set}" ]; then
    MPI_SUFFIX=
    ! command -v mpicc.mpich >/dev/null || MPI_SUFFIX=.mpich
fi
mpiexec=${MPIEXEC:-mpiexec$MPI_SUFFIX}
cc=mpicc$MPI_SUFFIX
cxx=mpicxx$MPI_SUFFIX
fortran=mpifort$MPI_SUFFIX
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/files" # that programs write
failed=0

# spread FORMAT FILE: the median of the numbers there, the least and the most.
spread()
{
    sort -g "$2" | awk -v f="$1" '{t[NR] = $1} END {
        if (NR) printf f " (" f "-" f ")",
            (t[int((NR + 1) / 2)] + t[int(NR / 2) + 1]) / 2, t[1], t[NR]}'
}

# calls FILE: every function with its calls made and taken.
calls()
{
    sed -n 's/^rota_mpi: rank 0: \(MPI_[A-Za-z_]*\) calls=\([0-9]*\) by_rota=\([0-9]*\) .*/\1 \2 → \3/p' \
        "$1" | paste -sd, - | sed 's/,/, /g'
}

# once WAY COMMAND...: run it, its output into $work/WAY.
once()
{
    way=$1
    shift
    begin=$(date +%s.%N)
    (
        cd "$work/files" || exit 1
        set -- "$mpiexec" -n "$ranks" "$@"
        [ "$way" = mpi ] || set -- env ROTA_STATS=1 "$run" "$@"
        exec timeout -k 5 "$limit" "$@"
    ) >"$work/$way" 2>&1
    code=$?
    echo "elapsed $begin $(date +%s.%N)" |
        awk '{printf "elapsed %.2f\n", $3 - $2}' >>"$work/$way"
    return "$code"
}

# compare TITLE TIME ANSWER COMMAND...: TIME and ANSWER are programs of awk that
# print the seconds and what must be the same. The order alternates.
compare()
{
    title=$1 time=$2 answer=$3
    shift 3
    echo "$title" | grep -Eq -e "$rows" || return 0
    : >"$work/mpi.times"
    : >"$work/rota.times"
    same=yes
    for i in $(seq "$rounds"); do
        [ $((i % 2)) = 1 ] && order="mpi rota" || order="rota mpi"
        for way in $order; do
            once "$way" "$@" || same="failed (exit $?)"
            awk "$time" "$work/$way" >>"$work/$way.times"
            awk "$answer" "$work/$way" >"$work/$way.answer"
        done
        [ -s "$work/mpi.answer" ] || same="no answer"
        cmp -s "$work/mpi.answer" "$work/rota.answer" || same=no
    done
    [ "$same" = yes ] || failed=1
    paste "$work/mpi.times" "$work/rota.times" |
        awk '$2 > 0 {print $1 / $2}' >"$work/ratios"
    echo "| $title | $ranks | $(spread %.3g "$work/mpi.times") |" \
        "$(spread %.3g "$work/rota.times") | $(spread %.2f "$work/ratios") |" \
        "$(calls "$work/rota") | $same |"
}

# make_of NAME PATH COMMAND...: build NAME, unless FOLDER/NAME/PATH is there.
make_of()
{
    name=$1 path=$2
    shift 2
    [ -e "$folder/$name/$path" ] && return
    (cd "$folder/$name" && "$@") >"$work/build" 2>&1 && return
    echo "$name: not built:"
    tail -n 5 "$work/build"
    failed=1
    return 1
}

build_heffte()
{
    cmake -S . -B build -DCMAKE_BUILD_TYPE=Release -DHeffte_ENABLE_FFTW=ON \
        -DCMAKE_CXX_COMPILER="$cxx" -DMPI_CXX_COMPILER="$cxx" &&
        cmake --build build --target speed3d_c2c
}

# A transform's time; the error is that of rounding, which FFTW's plans decide. Ranks
# that share processors take milliseconds for what takes others microseconds.
run_heffte()
{
    make_of heffte build/benchmarks/speed3d_c2c build_heffte || return
    runs=3000
    [ "$ranks" -le "$(nproc)" ] || runs=50
    for arguments in "32 32 32 -a2a -nruns$runs" "32 32 32 -a2av -nruns$runs" \
        "32 32 32 -p2p -nruns$runs" "64 64 64 -a2a -nruns$((runs / 10))" \
        "64 64 64 -a2av -nruns$((runs / 10))" "64 64 64 -a2a" "64 64 64 -a2av"; do
        # shellcheck disable=SC2086 # several words
        compare "HeFFTe \`speed3d_c2c fftw double $arguments\`, a transform" \
            '/Time per run/ {print $4}' \
            '/Max error/ {print ($3 < 1e-10 ? "right" : "wrong")}' \
            "$folder/heffte/build/benchmarks/speed3d_c2c" fftw double $arguments
    done
}

build_npb()
{
    cat >config/make.def <<EOF
MPIFC = $fortran
FLINK = \$(MPIFC)
FFLAGS = -O3 -fallow-argument-mismatch -w
FLINKFLAGS = \$(FFLAGS)
MPICC = $cc
CLINK = \$(MPICC)
CFLAGS = -O3 -w
CLINKFLAGS = \$(CFLAGS)
CC = cc -g
BINDIR = ../bin
RAND = randi8
EOF
    mkdir -p bin
    make ft CLASS=A && make ft CLASS=B && make is CLASS=B && make is CLASS=C
}

run_npb()
{
    make_of npb bin/is.C.x build_npb || return
    for program in ft.A ft.B is.B is.C; do
        compare "NPB 3.4 \`$program.x\`" '/Time in seconds/ {print $5}' \
            '/Verification *=/ {print $3} /SUCCESSFUL/ {print "ok"}' \
            "$folder/npb/bin/$program.x"
    done
}

build_psort()
{
    "$cxx" -O2 -w -DUSE_FUNNEL -Ipsort-1.0/include -Ipsort-1.0/include/psort \
        psort-1.0/driver/psort_driver.cc -o psort
}

# Objects of C and of C++ have the same names here.
build_search()
{
    generator=graph500-1.2/generator
    mkdir -p objects && "$cc" -O2 -w -c -D_GNU_SOURCE -Iinclude \
        -DGRAPHGEN_DISTRIBUTED_MEMORY -I$generator/include \
        -I$generator/include/graph500/generator src/mmio.c \
        $generator/btrd_binomial_distribution.c $generator/graph_generator.c \
        $generator/make_graph.c $generator/mrg_transitions.c \
        $generator/permutation_gen.c $generator/scramble_edges.c \
        $generator/splittable_mrg.c $generator/utils.c &&
        mv ./*.o objects && "$cxx" -std=c++17 -O2 -w -Iinclude -Iinclude/CombBLAS \
        -Ipsort-1.0/include -Iusort/include -I$generator/include \
        Applications/TopDownBFS.cpp src/CommGrid.cpp src/MPIType.cpp src/MPIOp.cpp \
        src/MemoryPool.cpp src/hash.cpp objects/*.o -o tdbfs
}

is_square()
{
    awk -v n="$1" 'BEGIN {exit int(sqrt(n) + 0.5) ^ 2 != n}'
}

# Whole runs: on some machines psort's clock is wrong. The search begins at other
# places each time, so that what it checks itself has to do.
run_combblas()
{
    make_of combblas psort build_psort &&
        compare "psort of CombBLAS \`psort 4000000 u m t\`, all" \
            '/^elapsed / {print $2}' '/sorted/' \
            "$folder/combblas/psort" 4000000 u m t
    if ! is_square "$ranks"; then
        echo "combblas: the search takes 1, 4, 9 ... ranks"
    elif make_of combblas tdbfs build_search; then
        compare "CombBLAS \`tdbfs Force 10 FastGen\`, median of the searches" \
            '/^Median time:/ {print $3}' '/^Number of vertices found|^Median nedges:/' \
            env OMP_NUM_THREADS=1 "$folder/combblas/tdbfs" Force 10 FastGen
    fi
}

build_fftw()
{
    "$cc" -O2 -Iinclude "$root/tests/dropin/fftw.c" -Llib "-Wl,-rpath,$PWD/lib" \
        -lfftw3_mpi -lfftw3 -lm -o transforms
}

run_fftw()
{
    make_of fftw transforms build_fftw || return
    transforms=1000
    [ "$ranks" -le "$(nproc)" ] || transforms=200
    compare "FFTW 3.3.10, transposes of \`tests/dropin/fftw.c\`, a transform" \
        '/transforms/ {print $5 * 1e-6}' '/transforms/ {print $1, $3}' \
        "$folder/fftw/transforms" "$transforms"
}

# Only what scatters need, a fifth of PETSc: what its start-up asks the other parts for
# is nothing.
build_petsc()
{
    python3 ./configure --with-cc="$cc" --with-cxx=0 --with-fc=0 --with-debugging=0 \
        --with-x=0 --with-pthread=0 --with-ssl=0 --with-hwloc=0 PETSC_ARCH=mpich &&
        make -f gmakefile PETSC_DIR="$PWD" PETSC_ARCH=mpich pkgs="sys vec" \
            mpich/lib/libpetsc.so || return
    nm -D --undefined-only mpich/lib/libpetsc.so |
        sed -n 's/.* U \(PetscDLLibraryRegister_.*\)/int \1(void) {return 0;}/p
            s/.* U \(PCMPIServer.*\)/int \1(void) {return 0;}/p' >others.c
    "$cc" -O2 -Iinclude -Impich/include "$root/tests/dropin/petsc.c" others.c \
        -Lmpich/lib "-Wl,-rpath,$PWD/mpich/lib" \
        -Wl,--unresolved-symbols=ignore-in-shared-libs -lpetsc -lm -o scatters
}

run_petsc()
{
    make_of petsc scatters build_petsc || return
    scatters=100000
    [ "$ranks" -le "$(nproc)" ] || scatters=500
    for type in "neighbor -sf_neighbor_persistent 1" \
        "neighbor -sf_neighbor_persistent 0" basic; do
        # shellcheck disable=SC2086 # several words
        compare "PETSc, \`tests/dropin/petsc.c\` \`$scatters 512 -sf_type $type\`, a scatter" \
            '/ scatters,/ {print $5 * 1e-6}' '/ scatters,/ {print $1, $3}' \
            "$folder/petsc/scatters" "$scatters" 512 -sf_type $type
    done
}
echo "| program | ranks | MPI, s | drop-in, s | MPI / drop-in |" \
    "calls made → taken | same answers |"
echo "| --- | --- | --- | --- | --- | --- | --- |"
for name; do
    if [ -d "$folder/$name" ]; then
        "run_$name"
    else
        echo "$name: not in $folder"
    fi
done
exit "$failed"
