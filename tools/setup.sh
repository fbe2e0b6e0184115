# shellcheck shell=sh
# setup.sh - sourced by demo.sh and test.sh: see that everything needed to
# build is here.
#
#   . tools/setup.sh
#   rota_setup          what the library, examples and bench need
#   rota_setup tests    and what the tests need
#   rota_setup tests full   and what those need that take minutes
#
# What is missing is installed with apt-get, as root or through sudo; where
# that is not possible, says what to install and returns 1. Does and prints
# nothing when all is present. MPICC in the environment names another MPI
# compiler than MPICH's.

# rota_need PACKAGES COMMAND...: PACKAGES are required if COMMAND fails.
rota_need()
{
    rota_packages=$1
    shift
    "$@" >/dev/null 2>&1 || rota_missing="$rota_missing $rota_packages"
}

# As rota_need, for what the tests can do without: they then skip a case.
rota_want()
{
    rota_packages=$1
    shift
    "$@" >/dev/null 2>&1 || rota_wanted="$rota_wanted $rota_packages"
}

rota_compiles()
{
    printf '%s\n' "$1" | ${CC:-cc} -x c -c -o /dev/null -
}

rota_cmake_ok()
{
    command -v cmake && command -v make &&
        rota_version=$(cmake --version | sed -n '1s/.*version //p') &&
        [ "$(printf '3.25\n%s\n' "$rota_version" | sort -V | head -n 1)" = 3.25 ]
}

rota_mpi_ok()
{
    if [ -n "${MPICC:-}" ]; then
        command -v "$MPICC"
    else
        { command -v mpicc.mpich && command -v mpiexec.mpich; } ||
            { command -v mpicc && command -v mpiexec; }
    fi
}

rota_mpich_ok()
{
    [ -n "${MPICC:-}" ] || command -v mpicc.mpich ||
        ! mpicc -show 2>/dev/null | grep -qi openmpi
}

rota_ip_ok()
{
    command -v ip || [ -x /usr/sbin/ip ] || [ -x /sbin/ip ]
}

# mpi4py of Debian is Open MPI's.
rota_python_ok()
{
    command -v meson && command -v ninja && command -v cython3 &&
        /usr/bin/python3 -c 'import mpi4py, numpy, sysconfig
open(sysconfig.get_path("include") + "/Python.h").close()'
}

rota_openmpi_ok()
{
    command -v mpicc.openmpi && command -v mpiexec.openmpi
}

rota_packages_ok()
{
    command -v dh && command -v lintian && command -v mmdebstrap &&
        command -v dh_python3 && command -v python3-config
}

rota_neuron_ok()
{
    command -v nrniv && command -v nrnivmodl && /usr/bin/python3 -c 'import neuron'
}

# Sets rota_missing and rota_wanted.
rota_look()
{
    rota_missing=
    rota_wanted=
    rota_need "gcc libc6-dev" rota_compiles '#include <stdio.h>'
    rota_need "cmake make" rota_cmake_ok
    rota_need "pkg-config" command -v pkg-config
    rota_need "mpich libmpich-dev" rota_mpi_ok
    rota_want "mpich libmpich-dev" rota_mpich_ok
    rota_need "libhwloc-dev" pkg-config --exists hwloc
    rota_need "libcjson-dev" pkg-config --exists libcjson
    rota_want "libjemalloc-dev" rota_compiles '#include <jemalloc/jemalloc.h>'
    rota_need "zlib1g-dev" pkg-config --exists zlib
    rota_need "uthash-dev" rota_compiles '#include <uthash.h>'
    if [ "${1:-}" = tests ]; then
        rota_need "g++" command -v "${CXX:-c++}"
        rota_need "libcmocka-dev" pkg-config --exists cmocka
        rota_want "iproute2" rota_ip_ok
        rota_want "libfftw3-dev" pkg-config --exists fftw3
        rota_want "libsimgrid-dev" command -v smpicc
        rota_want "valgrind" command -v valgrind
        rota_want "clang-format" command -v clang-format
        rota_want "clang" command -v clang
        rota_want "gnuplot-nox" command -v gnuplot
        rota_want "gfortran" command -v gfortran
        rota_want "abigail-tools" command -v abidiff
        rota_want "libopenmpi-dev openmpi-bin" rota_openmpi_ok
        rota_want "python3-dev python3-mpi4py python3-numpy cython3 meson" \
            rota_python_ok
        rota_want "python3-mpi4py-fft" \
            test -d /usr/lib/python3/dist-packages/mpi4py_fft
    fi
    if [ "${2:-}" = full ]; then
        rota_want "debhelper lintian mmdebstrap dh-python python3-dev" \
            rota_packages_ok
        rota_want "mkdocs" command -v mkdocs
        rota_want "libcombblas-dev" test -d /usr/include/CombBLAS
        rota_want "libpetsc-real-dev" pkg-config --exists PETSc
        rota_want "neuron neuron-dev python3-neuron" rota_neuron_ok
    fi
}

# Sets rota_root to the words that run a command as root, or returns 1.
rota_find_root()
{
    rota_root=
    command -v apt-get >/dev/null 2>&1 || return 1
    [ "$(id -u)" -eq 0 ] && return 0
    command -v sudo >/dev/null 2>&1 || return 1
    rota_root=sudo
    sudo -n true 2>/dev/null || [ -t 0 ]
}

# Install the packages named. A second try with fresh package lists, as new
# machines have none and old ones name versions that are gone.
rota_apt()
{
    rota_log=$(mktemp "${TMPDIR:-/tmp}/rota-setup.XXXXXX") || return 1
    echo "rota: installing $*" >&2
    for rota_try in 1 2; do
        if $rota_root env DEBIAN_FRONTEND=noninteractive apt-get install -y \
            -q --no-install-recommends "$@" </dev/null >"$rota_log" 2>&1; then
            rm -f "$rota_log"
            return 0
        fi
        [ "$rota_try" = 2 ] || $rota_root apt-get update -q </dev/null \
            >>"$rota_log" 2>&1 || break
    done
    tail -n 20 "$rota_log" >&2
    rm -f "$rota_log"
    return 1
}

rota_setup()
{
    rota_look "$@"
    [ -n "$rota_missing$rota_wanted" ] || return 0
    if rota_find_root; then
        # Split on purpose: lists of package names.
        # shellcheck disable=SC2086
        rota_apt $rota_missing $rota_wanted || {
            # Another release may lack one.
            [ -z "$rota_missing" ] || rota_apt $rota_missing
            for rota_package in $rota_wanted; do
                rota_apt "$rota_package"
            done
        }
        rota_look "$@"
    fi
    [ -n "$rota_missing" ] || return 0
    cat >&2 <<END
rota: something needed to build is missing. On Debian or Ubuntu:

    apt-get install$rota_missing

as root. Elsewhere install what these packages hold: a C11 compiler, CMake 3.25
or later, pkg-config, MPICH 4 (or another MPI, named by MPICC), hwloc, uthash,
cJSON, zlib and, for the tests, a C++ compiler and cmocka.
END
    return 1
}
