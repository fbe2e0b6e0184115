#!/bin/sh
# own_tests.sh PRELOAD FOLDER MPIEXEC... - NEURON's own parallel tests, with Rota: PRELOAD
# is the library of preload.cpp, MPIEXEC starts ranks of NEURON's MPI, up to the option
# that takes how many.
#
# Takes Debian's source package with apt-get, unless it lies in FOLDER, for the tests
# alone; they run in the NEURON that is installed, on the ranks that NEURON's list of tests
# names and on others. What is compared: the exit code, and the voltages and spikes that
# a test writes, with those by MPI. CoreNEURON is not in Debian, so test_natrans.py runs
# without its half.
set -u
. "$(dirname "$0")/../own_tests.sh"
preload=${1:?}
folder=$(mkdir -p "${2:?}" && cd "$2" && pwd) || exit 1
shift 2
mpiexec=$*

for program in nrniv nrnivmodl; do
    command -v $program >/dev/null || skip "neuron or neuron-dev is not installed"
done
nrniv=$(command -v nrniv)
python=/usr/bin/python3
"$python" -c 'import numpy, neuron' 2>/dev/null ||
    skip "python3-neuron or python3-numpy is not installed"
own_tree neuron "$folder"

# home: folders in which nrnivmodl, of Debian's neuron-dev, finds what it is looking for.
home()
{
    rm -rf "$folder/home" && mkdir -p "$folder/home/bin" "$folder/home/lib" &&
        cd "$folder/home" && ln -s /usr/include /usr/share . &&
        ln -s /usr/bin/nocmodl /usr/bin/modlunit /usr/lib/nrn/nrnmech_makefile bin &&
        ln -s /usr/lib/nrn/*.so lib
}

# The library of mechanisms is made before a program that Debian's headers cannot make.
home || exit 1
mkdir -p "$folder/mod" && cd "$folder/mod" &&
    cp "$folder"/tree/test/gjtests/*.mod . || exit 1
NRNHOME=$folder/home nrnivmodl . >"$folder/mod.log" 2>&1
mechanisms=$(ls "$folder"/mod/*/libnrnmech.so 2>/dev/null) ||
    { tail -n 20 "$folder/mod.log"; exit 1; }
cd "$folder/tree/test" || exit 1
sed -i 's/coreneuron.available = True/coreneuron.available = False/' \
    gjtests/test_natrans.py
echo "tests of NEURON $own_version in NEURON $(dpkg-query -W -f '${Version}' neuron)"

# once RANKS FOLDER FILE ARGUMENT...
once()
(
    ranks=$1 file=$3
    cd "$2" || exit 1
    shift 3
    rm -f ParGJ_*.dat out.dat
    library=
    [ "$own_way" = mpi ] || library=$preload
    case $file in
    *.py) set -- -dll "$mechanisms" -pyexe "$python" -python "$file" "$@" ;;
    *) set -- "$file" ;;
    esac
    # shellcheck disable=SC2086 # several words
    timeout -k 5 100 $mpiexec "$ranks" env ${library:+"LD_PRELOAD=$library"} \
        "$nrniv" -mpi -nobanner "$@" </dev/null || exit 1
    for written in ParGJ_*.dat out.dat; do
        [ -e "$written" ] || continue
        sort "$written" >"$folder/$own_way.$written"
        [ "$own_way" = mpi ] || cmp "$folder/mpi.$written" "$folder/rota.$written" ||
            exit 1
    done
)

for ranks in 2 4 6; do
    own_test "$ranks" parallel_tests test_subworld.py
done
for ranks in 1 2 3 4; do
    own_test "$ranks" parallel_tests test_bas.py
    own_test "$ranks" pynrn test_partrans.py
    own_test "$ranks" pynrn test_netpar.py
    own_test "$ranks" gjtests test_natrans.py
    own_test "$ranks" gjtests test_par_gj.py --ngids 12
    own_test "$ranks" gjtests test_par_gj.py --ngids 12 --sparse-partrans
    own_test "$ranks" ringtest ring.hoc
done
own_end
