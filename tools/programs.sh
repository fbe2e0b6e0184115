#!/bin/sh
# programs.sh - programs that Debian has, with and without the drop-in.
#
#   sh tools/programs.sh FOLDER [BUILD [NAME...]]
#   sh tools/programs.sh --list              their names, MPIs and packages
#   sh tools/programs.sh --fetch FOLDER      only download sources, for a machine
#                                            without a network
#
# Runs each program by MPI alone and by rota-run in turn, and prints a row of a Markdown
# table for each: of the times that the program says it took the median, the least and
# the most; of the ratios of two runs that follow each other the same; how many seconds
# of those from MPI_Init to MPI_Finalize are in blocking exchanges on rank 0, and in
# persistent ones by Rota but for tests, with and without; by what the program would be
# faster if exchanges took no time; calls made and taken by Rota; and whether the answers
# are the same. A ratio is marked * where no call was taken. What is in exchanges is
# counted in one more run each. BUILD (default: build) is where Rota is built, and decides
# the MPI.
#
# Most programs are as Debian's packages have them, which is for Open MPI. Sources of
# the others are downloaded with apt-get, and built in FOLDER. What is not installed is
# named, with the packages to install.
#
# Of the environment: ROUNDS (5), RANKS (2), LIMIT (120 s a run), MPICC and MPIEXEC (those
# of BUILD), ROWS (a regular expression: only rows whose title has it).
set -u

# Name, MPI, Debian packages, what it does. The function run_NAME makes its rows.
programs='fftw any libfftw3-dev transposes of FFTW, from its source
hpcc any libblas-dev,hpcc HPC Challenge, its distributed FFT, for MPICH from its source
petsc openmpi libpetsc-real-dev scatters of PETSc
lammps openmpi lammps molecules, with long-range forces by FFTs
mpi4py openmpi python3-mpi4py-fft,python3-mpi4py FFTs in Python, by MPI_Alltoallw
neuron openmpi neuron nerve cells with gap junctions
combblas openmpi libcombblas-dev breadth-first searches by CombBLAS (1, 4, 9 ... ranks)'

usage()
{
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"
    exit "$1"
}

# column NAME N: of the table above.
column()
{
    echo "$programs" | awk -v name="$1" -v n="$2" '$1 == name {print $n}' | tr , ' '
}

root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=tools/debian.sh
. "$root/tools/debian.sh"
case ${1:-} in
--help) usage 0 ;;
--list)
    echo "$programs"
    exit ;;
--fetch)
    [ $# -eq 2 ] || usage 2
    rota_source fftw3 "$2/sources" && rota_source hpcc "$2/sources"
    exit ;;
'' | -*) usage 2 ;;
esac
mkdir -p "$1" || exit 2
folder=$(cd "$1" && pwd)
build=$(cd "${2:-$root/build}" && pwd) || exit 2
[ $# -lt 2 ] && shift || shift 2
# shellcheck disable=SC2046 # several words
[ $# -gt 0 ] || set -- $(echo "$programs" | sed 's/ .*//')

run=$build/src/mpi/rota-run
[ -x "$run" ] || { echo "$run is not built"; exit 2; }

# cached NAME: a setting of BUILD.
cached()
{
    sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

rounds=${ROUNDS:-5}
ranks=${RANKS:-2}
limit=${LIMIT:-120}
rows=${ROWS:-.}
cc=${MPICC:-$(cached MPI_C_COMPILER)}
cxx=$(echo "$cc" | sed 's/mpicc\([^/]*\)$/mpicxx\1/')
mpiexec=${MPIEXEC:-$(cached MPIEXEC_EXECUTABLE)}
mpi=mpich
if [ "$(cached ROTA_MPI_IS_OPENMPI)" = 1 ]; then
    mpi=openmpi
    export OMPI_MCA_rmaps_base_oversubscribe=1
    [ "$(id -u)" -ne 0 ] ||
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
built=$folder/$mpi
mkdir -p "$built"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/files" # that programs read and write
failed=0

# spread FORMAT FILE: the median of the numbers there, the least and the most.
spread()
{
    sort -g "$2" | awk -v f="$1" '{t[NR] = $1} END {
        if (NR) printf f " (" f "-" f ")",
            (t[int((NR + 1) / 2)] + t[int(NR / 2) + 1]) / 2, t[1], t[NR]}'
}

# noise FILE: " *" if Rota took no call: the exchanges were then MPI's either way.
noise()
{
    calls "$1" | grep -q '→ [1-9]' || echo ' *'
}

# calls FILE: every function with its calls made and taken.
calls()
{
    sed -n 's/^rota_mpi: rank 0: \(MPI_[A-Za-z_]*\) calls=\([0-9]*\) by_rota=\([0-9]*\) .*/\1 \2 → \3/p' \
        "$1" | paste -sd, - | sed 's/,/, /g'
}

# in_exchanges FILE: seconds in exchanges, and in all.
in_exchanges()
{
    sed -n 's/^rota_mpi: rank 0: exchanges=.* seconds=\([0-9.]*\) seconds_passed_on=\([0-9.]*\) seconds_in_all=\([0-9.]*\)/\1 \2 \3/p' \
        "$1" | awk '{printf "%.3g of %.3g", $1 + $2, $3}'
}

# bound FILE: MPI / drop-in, if exchanges took no time.
bound()
{
    in_exchanges "$1" | awk '$3 > $1 {printf "%.2f", $3 / ($3 - $1)}'
}

# once WAY COMMAND...: run it, its output into $work/WAY, and what it wrote into the
# file $report.
report=
once()
{
    way=$1
    shift
    [ -z "$report" ] || rm -f "$work/files/$report"
    begin=$(date +%s.%N)
    (
        cd "$work/files" || exit 1
        set -- "$mpiexec" -n "$ranks" "$@"
        case $way in
        rota) set -- "$run" "$@" ;;
        counted-mpi) set -- env ROTA_STATS=1 ROTA_MPI=off "$run" "$@" ;;
        counted-rota) set -- env ROTA_STATS=1 "$run" "$@" ;;
        esac
        exec timeout -k 5 "$limit" "$@"
    ) >"$work/$way" 2>&1
    code=$?
    [ -z "$report" ] || cat "$work/files/$report" >>"$work/$way"
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
        [ "$same" = yes ] || continue
        [ -s "$work/mpi.answer" ] || same="no answer"
        cmp -s "$work/mpi.answer" "$work/rota.answer" || same=no
    done
    for way in mpi rota; do
        once counted-$way "$@" || same="failed (exit $?)"
    done
    [ "$same" = yes ] || failed=1
    paste "$work/mpi.times" "$work/rota.times" |
        awk '$2 > 0 {print $1 / $2}' >"$work/ratios"
    echo "| $title | $ranks | $(spread %.3g "$work/mpi.times") |" \
        "$(spread %.3g "$work/rota.times") |" \
        "$(spread %.2f "$work/ratios")$(noise "$work/counted-rota") |" \
        "$(in_exchanges "$work/counted-mpi") | $(in_exchanges "$work/counted-rota") |" \
        "$(bound "$work/counted-mpi") | $(calls "$work/counted-rota") | $same |"
}

# version PACKAGE
version()
{
    # shellcheck disable=SC2016 # dpkg-query expands it
    dpkg-query -W -f '${Version}' "$1" | sed 's/[-+].*//'
}

# made FILE COMMAND...: make FILE in $built, unless it is there.
made()
{
    file=$1
    shift
    [ -e "$built/$file" ] && return
    (cd "$built" && "$@") >"$work/build" 2>&1 && return
    echo "$file: not built:"
    tail -n 5 "$work/build"
    failed=1
    return 1
}

# source_of PACKAGE FOLDER: there, from $folder/sources.
source_of()
{
    rota_source "$1" "$folder/sources" && mkdir -p "$2" &&
        cp "$folder/sources/$1"_*.orig.tar.* "$2"
}

build_fftw()
{
    source_of fftw3 fftw/source &&
        sh "$root/tests/dropin/build_fftw.sh" "$built/fftw" "$cc" &&
        "$cc" -O2 -Ifftw/include "$root/tests/dropin/fftw.c" -Lfftw/lib \
            "-Wl,-rpath,$built/fftw/lib" -lfftw3_mpi -lfftw3 -lm -o transforms
}

run_fftw()
{
    made transforms build_fftw || return
    transforms=1000
    [ "$ranks" -le "$(nproc)" ] || transforms=200
    compare "FFTW $(version libfftw3-dev), \`tests/dropin/fftw.c $transforms\`, a transform" \
        '/transforms/ {print $5 * 1e-6}' '/transforms/ {print $1, $3}' \
        "$built/transforms" "$transforms"
}

# Debian's own is for Open MPI.
build_hpcc()
{
    if [ "$mpi" = openmpi ]; then
        ln -s /usr/bin/hpcc .
        return
    fi
    source_of hpcc . && tar xf hpcc_*.orig.tar.gz && cd hpcc-*/ || return
    # shellcheck disable=SC2046 # several words
    "$cc" -O2 -w -DAdd_ -DF77_INTEGER=int -DStringSunStyle -Iinclude -Ihpl/include \
        -IDGEMM -IFFT -IPTRANS -IRandomAccess -ISTREAM $(find DGEMM FFT PTRANS \
        RandomAccess STREAM src hpl/src hpl/testing -name '*.c' ! -path '*/tests/*' \
        ! -name HPL_pdtest_main.c) -lblas -lm -o ../hpcc
}

# One run of all its parts; N of HPL decides the size of the others, and is less where
# MPICH's waits spin on cores that others need, for minutes. The time of both transforms
# is that of 5 N log2 N operations.
run_hpcc()
{
    made hpcc build_hpcc || return
    order=1000
    [ "$mpi" = openmpi ] || [ "$ranks" -le "$(nproc)" ] || order=300
    sed -e "s/^2  *Ps/1 Ps/" -e "s/^2  *Qs/$ranks Qs/" -e "s/^1000  *Ns/$order Ns/" \
        /usr/share/doc/hpcc/examples/_hpccinf.txt >"$work/files/hpccinf.txt"
    report=hpccoutf.txt
    compare "HPCC 1.5.0, \`MPIFFT\`, N of HPL $order" \
        '/^MPIFFT_N=/ {n = substr($0, 10)} /^MPIFFT_Gflops=/ {
            print 5e-9 * n * log(n) / log(2) / substr($0, 15)}' \
        '/^Success=|^MPIRandomAccess.*_Errors=/ {print} /^MPIFFT_maxErr=/ {
            print (substr($0, 15) < 1e-10 ? "right" : "wrong")}' "$built/hpcc"
    report=
}

build_petsc()
{
    # shellcheck disable=SC2046 # several words
    "$cc" -O2 "$root/tests/dropin/petsc.c" $(pkg-config --cflags --libs petsc) -lm \
        -o scatters
}

run_petsc()
{
    made scatters build_petsc || return
    scatters=100000
    [ "$ranks" -le "$(nproc)" ] || scatters=500
    for type in neighbor basic; do
        compare "PETSc $(version libpetsc-real-dev), \`tests/dropin/petsc.c $scatters 512 -sf_type $type\`, a scatter" \
            '/ scatters,/ {print $5 * 1e-6}' '/ scatters,/ {print $1, $3}' \
            "$built/scatters" "$scatters" 512 -sf_type "$type"
    done
}

# 1,728 ions of a crystal that melts.
run_lammps()
{
    steps=300
    [ "$ranks" -le "$(nproc)" ] || steps=100
    cat >"$work/files/in.salt" <<END
units metal
atom_style charge
lattice custom 5.64 a1 1 0 0 a2 0 1 0 a3 0 0 1 basis 0 0 0 basis 0.5 0.5 0 &
    basis 0.5 0 0.5 basis 0 0.5 0.5 basis 0.5 0 0 basis 0 0.5 0 basis 0 0 0.5 &
    basis 0.5 0.5 0.5
region box block 0 6 0 6 0 6
create_box 2 box
create_atoms 1 box basis 5 2 basis 6 2 basis 7 2 basis 8 2
mass 1 22.99
mass 2 35.45
set type 1 charge 1
set type 2 charge -1
pair_style born/coul/long 7.0
pair_coeff 1 1 0.2637 0.317 2.340 1.0486 -0.4993
pair_coeff 1 2 0.2110 0.317 2.755 6.9906 -8.6758
pair_coeff 2 2 0.1582 0.317 3.170 72.4022 -145.4285
kspace_style pppm 1e-4
kspace_modify collective yes
velocity all create 1000 4711
fix 1 all nve
thermo 100
run $steps
END
    compare "LAMMPS $(version lammps), 1,728 ions, \`kspace_modify collective yes\`, $steps steps" \
        '/^Loop time/ {print $4}' 'NF == 6 && $1 % 100 == 0 && $5 < 0 {print $1, $5}' \
        lmp -in in.salt -log none
}

run_mpi4py()
{
    transforms=2000
    [ "$ranks" -le "$(nproc)" ] || transforms=200
    compare "mpi4py-fft $(version python3-mpi4py-fft), \`tests/dropin/transforms.py $transforms\`, a transform" \
        '/transforms/ {print $5 * 1e-6}' '/transforms/ {print $1, $3}' \
        /usr/bin/python3 "$root/tests/dropin/transforms.py" "$transforms"
}

build_combblas()
{
    "$cxx" -std=c++17 -O2 -w -fopenmp "$root/tests/dropin/combblas.cpp" -lCombBLAS \
        -o searches
}

run_neuron()
{
    duration=5000
    [ "$ranks" -le "$(nproc)" ] || duration=500
    compare "NEURON $(version neuron), \`tests/dropin/neuron.hoc\`, $duration ms" \
        '/^simulated/ {print $7}' '/^simulated/ {print $2, $5}' \
        nrniv -mpi -nobanner -c "duration=$duration" "$root/tests/dropin/neuron.hoc"
}

run_combblas()
{
    awk -v n="$ranks" 'BEGIN {exit int(sqrt(n) + 0.5) ^ 2 != n}' ||
        { echo "combblas: left out, it takes 1, 4, 9 ... ranks"; return; }
    made searches build_combblas || return
    compare "CombBLAS $(version libcombblas-dev), \`tests/dropin/combblas.cpp 100\`, a search" \
        '/searches/ {print $5 * 1e-6}' '/searches/ {print $1, $3, $NF}' \
        env OMP_NUM_THREADS=1 "$built/searches" 100
}

# there NAME: it can be run, or why not.
there()
{
    packages=$(column "$1" 3)
    case $(column "$1" 2) in
    '')
        echo "$1: no such program: see --list"
        failed=1
        return 1 ;;
    any | "$mpi") ;;
    *)
        echo "$1: left out, Debian's is for Open MPI, and $build is not"
        return 1 ;;
    esac
    # shellcheck disable=SC2086 # several words
    dpkg-query -W $packages >/dev/null 2>&1 && return
    echo "$1: left out, not installed: apt-get install $packages"
    return 1
}

echo "| program | ranks | MPI, s | drop-in, s | MPI / drop-in |" \
    "in exchanges, s: MPI | drop-in | bound | calls made → taken | same answers |"
echo "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
for name; do
    if there "$name"; then
        "run_$name"
    fi
done
exit "$failed"
