#!/bin/sh
# check_programs.sh ROOT - what tools/programs.sh runs comes from Debian: no script that
# builds names a place on the web, every program has what makes its rows, and a program
# that is not there is named with the packages to install.
set -u
root=$(cd "${1:?}" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=no

wrong()
{
    echo "$*"
    failed=yes
}

found=$(grep -rnE '(github|gitlab|bitbucket)\.|https?://' "$root/tools" "$root/tests" \
    --include='*.sh' | grep -v 'check_programs.sh:\|w3\.org' | sed "s|^$root/||")
[ -z "$found" ] || wrong "places on the web: $found"

# A build that is not there, of Open MPI and of another MPI, and none of the packages.
mkdir -p "$work/build/src/mpi" "$work/bin"
printf '#!/bin/sh\n' >"$work/build/src/mpi/rota-run"
printf '#!/bin/sh\nexit 1\n' >"$work/bin/dpkg-query"
chmod +x "$work/build/src/mpi/rota-run" "$work/bin/dpkg-query"
sh "$root/tools/programs.sh" --list >"$work/list" || wrong "no list"
[ -s "$work/list" ] || wrong "an empty list"
for openmpi in 1 0; do
    printf 'MPI_C_COMPILER:FILEPATH=mpicc\nROTA_MPI_IS_OPENMPI:INTERNAL=%s\n' \
        $openmpi >"$work/build/CMakeCache.txt"
    PATH=$work/bin:$PATH sh "$root/tools/programs.sh" "$work/folder" "$work/build" \
        >"$work/out" 2>&1 || wrong "status $?: $(cat "$work/out")"
    while read -r name mpi packages _; do
        grep -q "^run_$name()" "$root/tools/programs.sh" || wrong "no run_$name"
        case $openmpi,$mpi in
        0,openmpi) said="$name: left out, Debian's is for Open MPI" ;;
        *) said="$name: left out, not installed: apt-get install $(
            echo "$packages" | tr , ' ')" ;;
        esac
        grep -qF "$said" "$work/out" || wrong "not said: $said"
    done <"$work/list"
done
sh "$root/tools/programs.sh" "$work/folder" "$work/build" bogus >"$work/out" 2>&1 &&
    wrong "runs a program that there is not"
[ "$failed" = no ]
