#!/bin/sh
# own_tests.sh BUILD FOLDER - CombBLAS's own tests, with Rota of the folder BUILD.
#
# Takes Debian's source package with apt-get, unless it lies in FOLDER, has patch.sh
# change its headers, and builds the programs of its tests twice, for exchanges by MPI
# and by Rota, both with a clock. Tests run on their own number of ranks, and those of 4
# ranks on 1 and 9, too. A test that needs CombBLAS's files TESTDATA is left out, as no
# source package has them.
set -u
. "$(dirname "$0")/../own_tests.sh"
build=$(cd "${1:?}" && pwd) || exit 1
folder=$(mkdir -p "${2:?}" && cd "$2" && pwd) || exit 1
mpicc=$(sed -n 's/^MPI_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
mpicxx=$(echo "$mpicc" | sed 's/mpicc\([^/]*\)$/mpicxx\1/')
command -v "$mpicxx" >/dev/null || skip "there is no $mpicxx"

own_tree combblas "$folder"
cd "$folder/tree" || exit 1
headers=include/CombBLAS
[ -e "$headers/RotaArrays.h" ] ||
    { cp -R "$headers" ../headers &&
        sh "$own_folder/patch.sh" ../headers "$headers"; } || exit 1
"$mpicc" -O2 -I"$own_root/include" -c "$own_folder/clock.c" -o "$folder/clock.o" ||
    exit 1

# NAME RANKS PROGRAM ARGUMENT... of each test.
grep -rh --include CMakeLists.txt '^ADD_TEST(NAME' ReleaseTests Applications |
    sed -n 's/.*NAME \([^ ]*\) .*NUMPROC_FLAG} \([0-9]*\) .*_FILE:\([^>]*\)> *\(.*[^ )]\) *)[^)]*$/\1 \2 \3 \4/p' \
        >"$folder/tests"
[ -s "$folder/tests" ] || { echo "no test is found"; exit 1; }
programs=$(awk '!/TESTDATA/ {print $3}' "$folder/tests")

# With the clock in place of what it times.
libraries="$folder/clock.o -L$build/src -lrota -Wl,-rpath,$build/src"
for function in MPI_Alltoall MPI_Alltoallv MPI_Finalize \
    rota_exchange_start_arrays rota_exchange_wait_arrays; do
    libraries="$libraries -Wl,--wrap=$function"
done

# made WAY FLAGS
made()
{
    # shellcheck disable=SC2086 # several words
    cmake -S . -B "$folder/$1" -DCMAKE_C_COMPILER="$mpicc" \
        -DCMAKE_CXX_COMPILER="$mpicxx" -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
        -DCMAKE_CXX_FLAGS="-w $2 -I$own_root/include" \
        -DCMAKE_C_STANDARD_LIBRARIES="$libraries" \
        -DCMAKE_CXX_STANDARD_LIBRARIES="$libraries" &&
        make -k -C "$folder/$1" -j2 $programs
}

made mpi "" >"$folder/mpi.log" 2>&1
made rota -DCOMBBLAS_ROTA >"$folder/rota.log" 2>&1
cd "$folder" || exit 1
echo "CombBLAS $own_version"

# once NAME RANKS PROGRAM ARGUMENT...
once()
{
    once_name="$1 on $2" once_ranks=$2
    once_program=$(find "$own_way" -type f -name "$3")
    shift 3
    # shellcheck disable=SC2046 # several words
    timeout -k 5 100 $(cat "$build/mpiexec.txt") "$once_ranks" env OMP_NUM_THREADS=1 \
        "$once_program" "$@" >once.log 2>&1
    result=$?
    cat once.log
    [ "$own_way,$result" != mpi,0 ] || mv once.log mpi.once
    [ "$own_way,$result" != rota,0 ] ||
        awk -v name="$once_name" '/^exchanges took/ {t[n++] = $3} END {
            if (n == 2 && t[0] > 0)
                print name ": exchanges by MPI " t[0] " ms, by Rota " t[1] " ms"}' \
            mpi.once once.log >>times
    return "$result"
}

: >times
while read -r name ranks program arguments; do
    case $arguments in
    *TESTDATA*)
        own_left_out "$name" "it needs files of TESTDATA"
        continue ;;
    esac
    # By Rota it is there, or the test fails.
    [ -n "$(find mpi -type f -name "$program")" ] || {
        grep -m 1 -A 3 -E "error|Error" mpi.log
        own_left_out "$name" "$program cannot be built"
        continue
    }
    [ "$ranks" != 4 ] || ranks="1 4 9"
    for n in $ranks; do
        # shellcheck disable=SC2086 # several words
        own_test "$name" "$n" "$program" $arguments </dev/null
    done
done <tests
cat times
own_end
