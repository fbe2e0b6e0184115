#!/bin/sh
# programs.sh - public programs with and without the drop-in.
#
#   sh tools/programs.sh FOLDER [BUILD [NAME...]]
#
# Builds what it finds of these in FOLDER, runs each by MPI alone and by rota-run in
# turn, and prints a row of a Markdown table for each: medians and the least of the
# times that the program says it took, calls made and taken by Rota, and whether the answers are
# the same. A program that is not there is named. BUILD is where Rota is built
# (default: build).
#
#   FOLDER/heffte    github.com/icl-utk-edu/heffte
#   FOLDER/npb       NAS Parallel Benchmarks 3.4, the folder with IS and FT
#   FOLDER/combblas  github.com/PASSIONLab/CombBLAS, of which psort-1.0 is built
#   FOLDER/fftw      made by tests/dropin/build_fftw.sh
#
# Of the environment: ROUNDS (5), RANKS (2), MPIEXEC (mpiexec.mpich or mpiexec),
# MPI_SUFFIX of compilers (.mpich where there is mpicc.mpich), LIMIT (120 s a run).
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
[ $# -gt 0 ] || set -- heffte npb combblas fftw

run=$build/src/mpi/rota-run
[ -x "$run" ] || { echo "$run is not built"; exit 2; }
rounds=${ROUNDS:-5}
ranks=${RANKS:-2}
limit=${LIMIT:-120}
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

# middle FILE, least FILE: of the numbers there.
middle()
{
    sort -g "$1" | awk '{t[NR] = $1} END {
        if (NR) printf "%.3g", (t[int((NR + 1) / 2)] + t[int(NR / 2) + 1]) / 2}'
}

least()
{
    sort -g "$1" | awk 'NR == 1 {printf "%.3g", $1}'
}

ratio()
{
    echo "$1 $2" | awk '$2 > 0 {printf "%.2f", $1 / $2}'
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
    mpi=$(middle "$work/mpi.times") mpi_least=$(least "$work/mpi.times")
    rota=$(middle "$work/rota.times") rota_least=$(least "$work/rota.times")
    echo "| $title | $mpi, $mpi_least | $rota, $rota_least |" \
        "$(ratio "$mpi" "$rota"), $(ratio "$mpi_least" "$rota_least") |" \
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

# A transform's time; the error is that of rounding, which FFTW's plans decide.
run_heffte()
{
    make_of heffte build/benchmarks/speed3d_c2c build_heffte || return
    for arguments in "64 64 64 -a2a" "64 64 64 -a2av" "64 64 64 -p2p" \
        "32 32 32 -a2av -nruns400" "32 32 32 -a2a -nruns400"; do
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
    make ft CLASS=A && make is CLASS=B
}

run_npb()
{
    make_of npb bin/is.B.x build_npb || return
    for program in ft.A is.B; do
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

# The whole run: on some machines psort's clock is wrong.
run_combblas()
{
    make_of combblas psort build_psort || return
    compare "psort of CombBLAS \`psort 4000000 u m t\`, all" \
        '/^elapsed / {print $2}' '/sorted/' \
        "$folder/combblas/psort" 4000000 u m t
}

build_fftw()
{
    "$cc" -O2 -Iinclude "$root/tests/dropin/fftw.c" -Llib "-Wl,-rpath,$PWD/lib" \
        -lfftw3_mpi -lfftw3 -lm -o transforms
}

run_fftw()
{
    make_of fftw transforms build_fftw || return
    compare "FFTW 3.3.10, transposes of \`tests/dropin/fftw.c\`" \
        '/transforms/ {print $5 * 1e-6}' '/transforms/ {print $1, $3}' \
        "$folder/fftw/transforms"
}

echo "| program | MPI, s | drop-in, s | MPI / drop-in | calls made → taken | same answers |"
echo "| --- | --- | --- | --- | --- | --- |"
for name; do
    if [ -d "$folder/$name" ]; then
        "run_$name"
    else
        echo "$name: not in $folder"
    fi
done
exit "$failed"
