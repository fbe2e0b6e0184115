#!/bin/sh
# own_tests.sh LIBRARY FOLDER MPICC MPIEXEC... - PETSc's own tests of star forests, with
# Rota: LIBRARY is librotasf.so, MPIEXEC starts ranks of PETSc's MPI, up to the option
# that takes how many.
#
# Takes the source package of the PETSc that is installed with apt-get, unless it lies
# in FOLDER/source, and leaves the rest to own_tests.py.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../tools/debian.sh"
library=${1:?}
folder=${2:?}
shift 2

skip()
{
    echo "skipped: $*"
    exit 77
}

command -v apt-get >/dev/null || skip "there is no apt-get"
folder=$(mkdir -p "$folder/source" && cd "$folder" && pwd) || exit 1
rota_source petsc "$folder/source" >/dev/null 2>&1 ||
    skip "no source package of PETSc can be had"
cd "$folder/source" || exit 1
[ -d petsc-*/src/vec/is/sf/tests ] || tar xf petsc_*.orig.tar.* --wildcards \
    'petsc-*/src/vec/is/sf' 'petsc-*/lib/petsc/bin/petscdiff' || exit 1
exec python3 "$here/own_tests.py" "$library" "$(echo "$folder"/source/petsc-*/)" \
    "$folder" "$@"
