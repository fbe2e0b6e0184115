#!/bin/sh
# build_fftw.sh FOLDER [MPICC] - the MPI part of FFTW, built with MPICH for the
# test of fftw.sh: Debian's own is built with Open MPI.
#
# Takes the source package of the FFTW that is installed (libfftw3-dev) with
# apt-get, unless it lies in FOLDER/source, compiles its folder mpi, and puts
# fftw3-mpi.h and libfftw3_mpi.so into FOLDER/include and FOLDER/lib. Needs no
# rights. Then
#
#   cmake -S . -B build -DROTA_FFTW_MPI=FOLDER
set -eu
folder=${1:?usage: build_fftw.sh FOLDER [MPICC]}
mpicc=${2:-mpicc.mpich}
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tools/debian.sh"
mkdir -p "$folder/include" "$folder/lib" "$folder/source"
folder=$(cd "$folder" && pwd)
cd "$folder/source"
rota_source fftw3 .
tar xf fftw3_*.orig.tar.gz
cd fftw-*/

# Only what the folder mpi includes is made: the rest is the installed library.
./configure -q --enable-mpi --enable-threads --disable-fortran --disable-doc \
    MPICC="$mpicc" >configure.log
set --
for file in mpi/*.c; do
    case $file in
    mpi/mpi-bench.c | mpi/testsched.c) ;; # programs
    *) set -- "$@" "$file" ;;
    esac
done
"$mpicc" -shared -fPIC -O2 -w -DHAVE_CONFIG_H -I. -Impi -Iapi "$@" \
    -o "$folder/lib/libfftw3_mpi.so" -lfftw3 -lm
cp mpi/fftw3-mpi.h "$folder/include"
echo "$folder"
