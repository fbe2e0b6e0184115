#!/bin/sh
# own_tests.sh FOLDER PYTHON MPIEXEC... - mpi4py-fft's own tests, with Rota: MPIEXEC
# starts ranks of the MPI of PYTHON's mpi4py, up to the option that takes how many. The
# Python package of Rota is where PYTHON looks.
#
# Takes Debian's source package with apt-get, unless it lies in FOLDER, and builds it
# there. Tests run as its own script runs them, and on 1 and 3 ranks.
set -u
. "$(dirname "$0")/../own_tests.sh"
folder=$(mkdir -p "${1:?}" && cd "$1" && pwd) || exit 1
python=${2:?}
shift 2
mpiexec=$*

for module in numpy mpi4py Cython setuptools; do
    "$python" -c "import $module" 2>/dev/null || skip "Python has no $module"
done
pkg-config --exists fftw3 || skip "libfftw3-dev is not installed"
own_tree mpi4py-fft "$folder"
cd "$folder/tree" || exit 1
"$python" setup.py -q build --build-lib "$folder/lib" >"$folder/build.log" 2>&1 ||
    { tail -n 30 "$folder/build.log"; exit 1; }
cd "$folder/tree/tests" || exit 1
PYTHONPATH=$folder/lib${PYTHONPATH:+:$PYTHONPATH}
export PYTHONPATH
echo "mpi4py-fft $own_version"

once()
{
    # shellcheck disable=SC2086 # several words
    timeout -k 5 200 $mpiexec "$2" "$python" "$own_folder/own_tests.py" "$own_way" \
        "$1"
}

for test in test_*.py spectral_dns_solver.py; do
    case $test in
    test_speed.py)
        own_left_out "$test" "it only times, against other libraries"
        continue ;;
    test_fftw.py)
        "$python" -c 'import scipy' 2>/dev/null || {
            own_left_out "$test" "Python has no scipy"
            continue
        } ;;
    test_io.py)
        "$python" -c 'import h5py, netCDF4' 2>/dev/null || {
            own_left_out "$test" "Python has no h5py or no netCDF4"
            continue
        } ;;
    esac
    for ranks in 1 2 3 4; do
        own_test "$test" "$ranks"
    done
done
own_end
