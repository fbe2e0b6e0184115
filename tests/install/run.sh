#!/bin/sh
# run.sh BUILD CMAKE MPIEXEC... - install Rota from the folder BUILD and
# use it from there, in C, C++ and Fortran, by CMake and by pkg-config, with the
# shared and with the static library. MPIEXEC... is a command line up to and including
# the option that takes the number of ranks.
set -u
build=${1:?}
cmake=${2:?}
shift 2
here=$(cd "$(dirname "$0")" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
prefix="$work/opt[1] x"

# step WHAT COMMAND...: ends the test, with the output, if COMMAND fails.
step()
{
    what=$1
    shift
    if ! "$@" >"$work/out" 2>&1; then
        echo "failed: $what"
        cat "$work/out"
        exit 1
    fi
}

# What the tree was installed as before stays known to its target uninstall.
manifest=$build/install_manifest.txt
[ ! -e "$manifest" ] || cp "$manifest" "$work/manifest"
mkdir -p "$prefix/bin"
echo "not of Rota" >"$prefix/bin/strange[r]"
step "install" "$cmake" --install "$build" --prefix "$prefix"
# Moved after it was installed: nothing may name the old place.
step "copy" cp -a "$prefix" "$work/moved"
step "uninstall" "$cmake" --build "$build" --target uninstall
left=$(cd "$prefix" && find . | sort | tr '\n' ' ')
[ "$left" = ". ./bin ./bin/strange[r] " ] || {
    echo "uninstall left not only what was there before: $left"
    exit 1
}
[ ! -e "$work/manifest" ] || cp "$work/manifest" "$manifest"
prefix=$work/moved
libdir=$(dirname "$(find "$prefix" -name librota.a)")
pc=$libdir/pkgconfig

step "no paths of the build" sh -c '! grep -rlF "$1" "$2"' sh "$build" \
    "$pc" "$libdir/cmake"

# refused WHAT TEXT COMMAND...: ends the test unless COMMAND fails and prints TEXT.
refused()
{
    what=$1 text=$2
    shift 2
    ! "$@" >"$work/out" 2>&1 && tr -s ' \n' ' ' <"$work/out" | grep -qF "$text" || {
        echo "not refused: $what"
        cat "$work/out"
        exit 1
    }
}

flags()
{
    PKG_CONFIG_PATH="$pc${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}" \
        pkg-config "$@" rota
}

# The other MPI, as far as it is here.
mine=$(flags --variable=mpi)
case $mine in
MPICH) theirs="Open MPI" compiler=$(command -v mpicc.openmpi) ;;
"Open MPI") theirs=MPICH compiler=$(command -v mpicc.mpich) ;;
*) theirs='' compiler='' ;;
esac
if [ -n "$compiler" ]; then
    for language in C CXX; do
        [ $language = C ] || compiler=$(echo "$compiler" | sed 's/mpicc/mpicxx/')
        refused "another MPI, $language" \
            "was built for $mine, and this project has found $theirs" \
            "$cmake" -S "$here" -B "$work/other-$language" \
            -DCMAKE_PREFIX_PATH="$prefix" -DCONSUMER_LANGUAGE="$language" \
            -DMPI_${language}_COMPILER="$compiler"
    done
    refused "another MPI of two languages' second" \
        "was built for $mine, and this project has found $theirs" \
        "$cmake" -S "$here" -B "$work/other-both" -DCMAKE_PREFIX_PATH="$prefix" \
        "-DCONSUMER_LANGUAGE=C;CXX" -DMPI_CXX_COMPILER="$compiler"
fi

for language in C CXX; do
    step "configure $language" "$cmake" -S "$here" -B "$work/$language" \
        -DCMAKE_PREFIX_PATH="$prefix" -DCONSUMER_LANGUAGE="$language"
    step "build $language" "$cmake" --build "$work/$language"
    for library in rota rota_static; do
        step "run $language, CMake, $library" timeout 60 "$@" 2 \
            "$work/$language/with_$library"
    done
done

# Where it was built with a Fortran compiler.
if [ -e "$pc/rota-fortran.pc" ]; then
    step "configure Fortran" "$cmake" -S "$here" -B "$work/Fortran" \
        -DCMAKE_PREFIX_PATH="$prefix" -DCONSUMER_LANGUAGE=Fortran
    step "build Fortran" "$cmake" --build "$work/Fortran"
    step "run Fortran, CMake" timeout 60 "$@" 2 "$work/Fortran/with_fortran"
    fortran_flags()
    {
        PKG_CONFIG_PATH="$pc${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}" \
            pkg-config "$@" rota-fortran
    }
    # Split on purpose: lists of flags.
    # shellcheck disable=SC2046
    step "compile Fortran, pkg-config" "${FC:-gfortran}" -o "$work/fortran" \
        $(fortran_flags --cflags) "$here/consumer.f90" \
        $(fortran_flags --libs) -Wl,-rpath,"$libdir"
    step "run Fortran, pkg-config" timeout 60 "$@" 2 "$work/fortran"
fi

# Beside a program that uses Rota itself.
[ -s "$prefix/share/man/man3/rota_start.3" ] || { echo "no manual pages"; exit 1; }
if [ -e "$prefix/bin/rota-run" ]; then
    step "run under rota-run" env ROTA_STATS=1 timeout 60 \
        "$prefix/bin/rota-run" "$@" 2 "$work/C/with_rota"
    mv "$work/out" "$work/stats"
    step "what rota-run counted" grep '^rota_mpi: rank 0' "$work/stats"
    step "rota-run --help" "$prefix/bin/rota-run" --help
    ! "$prefix/bin/rota-run" -h >"$work/out" 2>&1 &&
        grep -q 'no such option: -h' "$work/out" || {
        echo "rota-run takes -h"
        exit 1
    }
fi

# Another MPI under the program, which tells its name, and an mpiexec of it.
if [ -n "$theirs" ]; then
    cat >"$work/other.c" <<END
#include <string.h>
static int name(char *text, int *length)
{
    strcpy(text, "$theirs 1.0");
    *length = (int)strlen(text);
    return 0;
}
int MPI_Get_library_version(char *text, int *length) { return name(text, length); }
int PMPI_Get_library_version(char *text, int *length) { return name(text, length); }
END
    step "compile another MPI" "${CC:-cc}" -shared -fPIC -o "$work/other.so" \
        "$work/other.c"
    said="was built for $mine, and this program runs under $theirs"
    refused "another MPI under librota" "librota $said" \
        env LD_PRELOAD="$work/other.so" timeout 60 "$work/C/with_rota"
    if [ -e "$prefix/bin/rota-run" ]; then
        refused "another MPI under librota_mpi" "librota_mpi $said" \
            env LD_PRELOAD="$work/other.so" timeout 60 "$prefix/bin/rota-run" \
            "$work/C/with_rota"
        case $theirs in
        MPICH) version="HYDRA build details:" ;;
        *) version="mpiexec (OpenRTE) 4.1.4" ;;
        esac
        printf '#!/bin/sh\necho "%s"\n' "$version" >"$work/mpiexec"
        chmod +x "$work/mpiexec"
        refused "another mpiexec" "built for $mine, and $work/mpiexec is $theirs's" \
            "$prefix/bin/rota-run" "$work/mpiexec" -n 2 "$work/C/with_rota"
        sed 's/^mpi=.*/mpi=""/' "$prefix/bin/rota-run" >"$prefix/bin/rota-run-any"
        chmod +x "$prefix/bin/rota-run-any"
        step "any mpiexec, where Rota's MPI has no name" \
            "$prefix/bin/rota-run-any" "$work/mpiexec" -n 2 "$work/C/with_rota"
    fi
fi

# Not overwritten by a build for another MPI.
if [ -n "$theirs" ]; then
    sed -i "s/^mpi=.*/mpi=$theirs/" "$pc/rota.pc"
    refused "a folder of another MPI" "is of Rota for $theirs" \
        "$cmake" --install "$build" --prefix "$prefix"
    sed -i "s/^mpi=.*/mpi=$mine/" "$pc/rota.pc"
fi

# The Python package, where mpi4py is of this MPI.
python=/usr/bin/python3
case $("$python" -c 'import Cython
from mpi4py import MPI
print(MPI.Get_library_version())' 2>/dev/null) in
*"$mine"*)
    if [ -n "$mine" ] && command -v meson >/dev/null; then
        step "meson setup" env PKG_CONFIG_PATH="$pc" meson setup "$work/python" \
            "$here/../../python" -Dpython=$python --prefix="$prefix" \
            -Dpython.platlibdir="$prefix/site"
        step "meson install" meson install -C "$work/python"
        step "import rota" env PYTHONPATH="$prefix/site" $python -c 'import rota'
    fi ;;
esac

if [ -e "$prefix/bin/rota-info" ]; then
    step "run rota-info" timeout 60 "$@" 2 "$prefix/bin/rota-info"
    mv "$work/out" "$work/info"
    step "what rota-info says" grep '^  ranks  *2$' "$work/info"
    step "run rota-tune" "$prefix/bin/rota-tune" --help
fi

step "pkg-config" flags --exists
for language in c cpp; do
    compiler=${CC:-cc}
    [ "$language" = c ] || compiler=${CXX:-c++}
    # Split on purpose: lists of flags. The compiler is not MPI's: pkg-config
    # must say all that is needed. Unoptimized, as that keeps every reference.
    # shellcheck disable=SC2046
    step "compile $language" "$compiler" -O0 -c \
        -o "$work/$language.o" $(flags --cflags) "$here/consumer.$language"
    # shellcheck disable=SC2046
    step "link $language, shared" "$compiler" -o "$work/$language-shared" \
        "$work/$language.o" $(flags --libs) -Wl,-rpath,"$libdir"
    # The static library, whatever lies beside it.
    # shellcheck disable=SC2046
    step "link $language, static" "$compiler" -o "$work/$language-static" \
        "$work/$language.o" \
        $(flags --static --libs | sed 's/-lrota\( \|$\)/-l:librota.a /')
    for kind in shared static; do
        step "run $language, pkg-config, $kind" timeout 60 "$@" 2 \
            "$work/$language-$kind"
    done
    step "$language, static: no shared library" sh -c \
        '! ldd "$1" | grep -q librota' sh "$work/$language-static"
done
