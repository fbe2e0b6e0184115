#!/bin/sh
# own_tests.sh LIBRARY FOLDER MPICC MPIEXEC... - PETSc's own tests of star forests, with
# Rota: LIBRARY is librotasf.so, MPIEXEC starts ranks of PETSc's MPI, up to the option
# that takes how many.
#
# Takes the source package of the PETSc that is installed with apt-get, unless it lies
# in FOLDER/source, and leaves the rest to own_tests.py.
set -u
. "$(dirname "$0")/../own_tests.sh"
library=${1:?}
folder=$(mkdir -p "${2:?}/source" && cd "$2" && pwd) || exit 1
shift 2
own_source petsc "$folder/source"
cd "$folder/source" || exit 1
[ -d petsc-*/src/vec/is/sf/tests ] || tar xf petsc_*.orig.tar.* --wildcards \
    'petsc-*/src/vec/is/sf' 'petsc-*/lib/petsc/bin/petscdiff' || exit 1
exec python3 "$own_folder/own_tests.py" "$library" "$(echo "$folder"/source/petsc-*/)" \
    "$folder" "$@"
