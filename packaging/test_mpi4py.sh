#!/bin/sh
# test_mpi4py.sh ROOT CMAKE MPICC MPIEXEC... - the Python package with an mpi4py
# built from source for the MPI of MPICC, as Debian's is for one MPI only.
#
# The source is a folder that ROTA_TEST_MPI4PY_SOURCE in the environment names, or is
# got by pip. Exit code 77, with the reason: skipped.
set -u
root=$(cd "${1:?}" && pwd) || exit 1
cmake=${2:?}
mpicc=${3:?}
shift 3
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
python=${PYTHON:-/usr/bin/python3}

"$python" -c 'import numpy, Cython, setuptools' 2>/dev/null || {
    echo "skipped: $python has not all of numpy, Cython and setuptools"
    exit 77
}
command -v meson >/dev/null || { echo "skipped: meson is not installed"; exit 77; }
mkdir "$work/mpi4py"
if [ -n "${ROTA_TEST_MPI4PY_SOURCE:-}" ]; then
    cp -R "$ROTA_TEST_MPI4PY_SOURCE"/. "$work/mpi4py" || exit 1
elif "$python" -m pip download -q --no-deps --no-build-isolation --retries 0 \
    --timeout 10 --no-binary :all: -d "$work" mpi4py==3.1.6 >"$work/out" 2>&1
then
    tar xzf "$work"/mpi4py-*.tar.gz --strip-components 1 -C "$work/mpi4py"
else
    echo "skipped: no source of mpi4py: ROTA_TEST_MPI4PY_SOURCE names none, and pip" \
        "gets none"
    exit 77
fi

{
    (cd "$work/mpi4py" && MPICC=$mpicc CFLAGS=-O0 "$python" setup.py build) &&
        PYTHONPATH=$(echo "$work"/mpi4py/build/lib.*) && export PYTHONPATH &&
        "$cmake" -S "$root" -B "$work/build" -DMPI_C_COMPILER="$mpicc" \
            -DROTA_BUILD_EXAMPLES=OFF -DROTA_BUILD_BENCH=OFF \
            -DROTA_BUILD_MPI_SHIM=OFF -DROTA_BUILD_PYTHON=ON \
            -DROTA_BUILD_FORTRAN=OFF -DROTA_PYTHON="$python" &&
        "$cmake" --build "$work/build" --parallel 2 --target rota_python
} >"$work/out" 2>&1 || {
    tail -n 40 "$work/out"
    exit 1
}
PYTHONPATH=$PYTHONPATH:$work/build/python/site
LD_LIBRARY_PATH=$work/build/src${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH
for ranks in 1 2 3 4; do
    timeout 60 "$@" "$ranks" "$python" "$root/python/tests/test_rota.py" || exit 1
    timeout 60 "$@" "$ranks" "$python" "$root/examples/fft_pencils.py" 12 2 ||
        exit 1
done
