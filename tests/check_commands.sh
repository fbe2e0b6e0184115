#!/bin/sh
# check_commands.sh [--long] [--only REGEX | --without REGEX] ROOT BUILD MPIEXEC...
#
# Every command of README.md, CONTRIBUTING.md, docs/*.md and integrations/*/README.md
# is run in small, with what BUILD has built, in a folder of its own: those in indented
# blocks, and those in backquotes that begin with sh, mpiexec, build/ or ctest.
# MPIEXEC... is a command line up to the number of ranks, which is 4 at most. The
# tables below say how a command is made small, and which are left out and why; of
# these the script and its options have to be there, as have options of a program that
# is named in backquotes with some. With --long what runs on hosts of tools/cluster.sh
# does so, if this machine permits that, and what takes more than a few seconds is
# not left out. With --only commands that match REGEX are run, as README and docs have
# them, and no others, with --without all others. Prints what is left out, and what
# fails. Drawings are tests/check_docs.sh's.
set -u
export LC_ALL=C

long= only=. without='^$'
while :; do
    case ${1:-} in
    --long) long=yes && shift ;;
    --only) only=${2:?} && shift 2 ;;
    --without) without=${2:?} && shift 2 ;;
    *) break ;;
    esac
done
root=$(cd "${1:?}" && pwd) || exit 1
build=$(cd "${2:?}" && pwd) || exit 1
shift 2
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# Seconds that a command may take.
limit=60
[ -z "$long" ] || limit=300
hosts=
[ -z "$long" ] || ! sh "$root/tools/cluster.sh" --check >/dev/null 2>&1 || hosts=yes

# ---- tables -----------------------------------------------------------------

# What makes a command small, and gives it the files that it asks for.
cat >"$work/small" <<'END'
s/ +# .*//
s/ \[graph\]//
s|/opt/openmpi-cuda/bin/||
s/build-(openmpi|device-aware)/build/g
s/for P in [0-9 ]*/for P in 1 3/
s/(--iters|--starts|--products|--iterations) [0-9]+/\1 2/g
s/(--rounds|--steps) [0-9]+/\1 1/g
s/--time-limit [0-9]+/--time-limit 1/
s/--seconds [0-9.]+/--seconds 0.1/
s/(mpi_soak|fuzz_plans)(.*)--seconds 0.1/\1\2--seconds 1/
s/--cases [0-9]+/--cases 20/
s/--runs [0-9]+/--runs 1/
s/mpi_scale [0-9 ]+/mpi_scale 10 5 10/
s/mpi_attack --table/mpi_attack/
/--iters/!s/rota-bench --/rota-bench --iters 2 --/g
/fft3d .*--device/s/fft3d --/fft3d --steps 1 --rounds 1 --/
s/ --grid [0-9x]+//
s/fft3d --/fft3d --grid 16x16x16 --/g
s/--points [0-9]+/--points 4096/
s/navier_stokes --/navier_stokes --steps 2 --points 64 --/
s/fft1d --memory [0-9]+/fft1d --points 4096/
s/worst:[0-9:]+/worst:3:3/
s/--k [0-9]/--k 3/
s/zmodel [0-9]+/zmodel 1/
s|examples/rules [0-9 ]+$|examples/rules 5 3 1|
s/rota-halo [0-9]+ [0-9]+/rota-halo 8 2/
s|examples/halo [0-9 ]+$|examples/halo 8 2 7 1|
s/rota-dropin-cost [0-9]+/rota-dropin-cost 10/
s/rota-allocator.*/rota-allocator --small 1/
s/rota-arrays [0-9 ]+$/rota-arrays 2 4 64/
s/(rota-arrays --blocks [0-9]) [0-9 ]+$/\1 2 8 64/
s/rota-columns [0-9 ]+$/rota-columns 2 1 256/
s/(rota-taken [a-z]+ [0-9]+) [0-9]+/\1 1000/
s/(rota-taken --lives [a-z]+ [0-9]+) [0-9]+/\1 100/
s/rota-borrow$/rota-borrow 2 8 65536/
s/rota-parts( [0-9]+)?$/rota-parts 2 16/
s/rota-parts [0-9]+ 128 4$/rota-parts 2 32 4/
s/rota-parts [0-9]+ 256$/rota-parts 2 16/
s/(rota-bench .*--sizes) [0-9,]+/\1 8,512/
s/--between [0-9]+/--between 4096/
s/(rota-bench-types .*--sizes) [0-9,]+/\1 16/
s/(rota-price .*--ranks) [0-9]+/\1 48/
s/(simulate.sh .*--ranks) [0-9,]+/\1 64/
s/(simulate.sh .*)--node 64/\1--node 32/
s/(simulate.sh .*--sizes) [0-9,]+/\1 16/
s/(simulate.sh .*)/\1 --csv new.csv/
s/(simulate.sh --help).*/\1/
s/leaders=64/leaders=32/g
s/(plot.sh .*--csv) FILE/\1 docs\/simulated.csv --machine dragonfly --ranks 64/
s/(plot.sh .*--algos) parlogna:radix($|,).*/\1 parlogna_published:radix/
s/--prices FILE/--prices bench\/machines\/dragonfly.json/
s/(GRAPH|OL.cedge.txt|p2p-Gnutella09.txt)/graph.txt/
s/(closure_traffic|applications.sh)(.*)--ranks [0-9,]+/\1\2--ranks 64/
s/(applications.sh .*)/\1 --out applications/
s/(sim_cost.sh)$/\1 --ranks 64 --out sim_cost/
s/(instructions.sh build) .*/\1 2/
s/(papers.sh|scaling_tables.sh)$/\1 --check/
s/(steps.sh) .*(--against mpi ).*/\1 \2--rounds 1 --sizes 64,512 --out steps/
/--out steps/!s/(steps.sh) .*/\1 --rounds 1 --sizes 64,512 --out steps/
s/(leaders\.sh).*/\1 --rounds 1 --rates 0 --sizes 16 --out leaders/
s/(hosts\.sh).*/\1 --few/
s/(chosen.sh)$/\1 --list/
s/(intervals.sh)( --samples.*|)$/\1 --samples 1 --machines dragonfly --sizes 16 --csv intervals.csv/
s/(options.sh)$/\1 --ranks 64 --machines dragonfly --sizes 16 --csv options.csv/
s/((intervals|options).sh --remake)$/\1 --table/
/judge\.sh --(left-out|table|remake)/!s/(judge\.sh).*/\1 --cases 2 --most 64/
s/(judge\.sh --left-out).*/\1 --cases 2 --most 64 --csv choice.csv/
s/(judge\.sh --remake)$/\1 --cases 1/
s/(choice\.sh)$/\1 --out choice/
s/(guards\.sh) OLD NEW/\1 build build --pairs 1/
s%^sh (tests/check_(abi|docs)\.sh) \. +([^ ]+) --write%copied \2_written \&\& sh \2_written/\1 \2_written $PWD/\3 --write%
s|^sh tools/demo\.sh|copied demo \&\& sh demo/tools/demo.sh graph.txt|
s|^sh (tests/events\.sh) OLD NEW|copied events \&\& cmake -S events -B events/build -DROTA_EVENTS=ON -DROTA_BUILD_TESTS=ON \&\& cmake --build events/build --parallel 2 --target mpi_events \&\& sh \1 events/build events/build 2 3|
s/(blind\.sh)$/\1 --table/
s/(equations\.sh)$/\1 --ranks 64 --out equations/
s/(neighbors\.sh)$/\1 --ranks 64,64 --out neighbors/
s/(instruments\/dropin\.sh( --untouched)?) --(kinds|bytes) .*/\1 --kinds alltoallv --bytes 80 --runs 1 --calls 3000/
s/(instruments\/dropin\.sh --datalog).*/\1 --runs 1 --ranks 4/
s/rota-requests$/rota-requests 101/
s/(--mem cuda .*--sizes) 8,512/\1 512/
s/(instruments\/dropin\.sh)$/\1 --kinds alltoall --bytes 80 --runs 1 --calls 3000/
s/(remake.sh)$/\1 --seconds 2/
s/(mutants.sh)$/\1 --list/
s/^ctest -([LR])/ctest --test-dir build -\1/
s/^(ctest .*)/\1 -N/
s/-L LABEL/-L unit/
s/PROGRAM\.\.\./program/
s/rota-tune --/rota-tune --quick --sizes 8 --dist uniform --budget 1 --/
s/multi_pair:device=cuda_aware,//
s/--algos? NAME/--algo linear/
s/(rota-price --algo) /\1s /
END
# With ranks of this host instead of those of tools/cluster.sh.
[ -n "$hosts" ] || cat >>"$work/small" <<'END'
s/sh tools\/cluster.sh (--rate [0-9a-z]+ )?[0-9] [0-9]/mpiexec -n 4/
s/env ROTA_YIELD=off /env /
END

# NAME|WHY: commands that are left out; a NAME is a regular expression, at the
# beginning of what is left of a command.
cat >"$work/left_out" <<'END'
cmake -S slog|slog by hand; integrations_slog tries the adapter
(cmake (-S|--build) amrex|mpicxx\.mpich .*/fills|.*\./fills)|AMReX by hand; integrations_amrex tries the adapter
cmake -S SpFFT|SpFFT by hand; integrations_spfft tries the adapter
(cmake -S heffte|mpicxx\.mpich .*/transforms|.*\./transforms)|HeFFTe by hand; integrations_heffte tries the adapter
cmake |project_install configures, builds and installs
apt-get install |installs
.*mpi4py-fft/transforms\.py|times; integrations_mpi4py_fft tries the adapter
sh integrations/combblas/compare\.sh|integrations_combblas, with Open MPI
.*/petsc_forests|integrations_petsc_sf, with the MPI that PETSc is for
PETSC_OPTIONS=|integrations_petsc_sf_own, with the MPI that PETSc is for
pip install|project_install installs the package of Python
(cc program\.c .*)?pkg-config |needs an installation: project_install asks it
meson setup |project_install does it
sh tools/(test|chroot)\.sh|builds all; this test is one of those it runs
sh tools/programs\.sh .*(FOLDER|--fetch)|programs of Debian: by hand
sh tools/on_device\.sh|by hand; bench_on_device runs it on a device that is not there
sh tools/site\.sh|full_site makes it
\./configure|Open MPI itself
export |of the commands below it
.* --algos [^ ]*device=cuda_aware:|needs an MPI that takes memory of a device
sh bench/figures/((scale|stock)\.sh|remake\.sh --smpi)|builds for SimGrid: bench_scale, bench_stock, bench_stock_remake, bench_scaling_remake
END
# The same for what only --long runs.
cat >"$work/only_long" <<'END'
sh bench/instruments/(instructions|calls)\.sh|counts by valgrind
sh bench/figures/sim_error\.sh|bench_sim_error is a part of it
sh bench/figures/(leaders|hosts)\.sh|on hosts of tools/cluster.sh
sh bench/faces/faces\.sh|times the languages, for seconds
sh bench/guards\.sh|counts by valgrind
sh bench/figures/choice\.sh|measures for minutes
sh (tools/demo|tests/events)\.sh|builds
(build/tests/fuzz/fuzz_plans|mpiexec .*(mpi_attack|mpi_soak|mpi_arguments|mpi_scale)|for P .*mpi_soak)|tests with times of their own
END
# Lines of indented blocks that are no commands.
not_commands='^(find_package|target_link_libraries)\(|^ *\{?"|^numpy\.|^(import )?rota_pencil'

# ---- commands ---------------------------------------------------------------

# FILE:LINE, a tab, block or text, a tab, the command.
commands()
{
    for file in README.md CONTRIBUTING.md docs/*.md integrations/*/README.md; do
        awk -v file="$file" '
            function give(kind, at, text) {
                printf "%s:%d\t%s\t%s\n", file, at, kind, text
            }
            # Those in backquotes in what has been read of a paragraph.
            function paragraph(    text) {
                while (match(words, /`[^`]+`/)) {
                    text = substr(words, RSTART + 1, RLENGTH - 2)
                    words = substr(words, RSTART + RLENGTH)
                    if (text ~ /^([A-Z_]+=[^ ]+ )*(sh [a-z]+\/|mpiexec[.a-z]* |build\/|ctest |rota-[a-z-]+ (.* )?--)/)
                        give("text", begin, text)
                }
                words = ""
            }
            /^```/ { fence = !fence; next }
            fence { next }
            /^    [^ ]/ && (blank || block) || part != "" {
                block = 1
                line = $0
                sub(/^ */, "", line)
                line = part (part != "" ? " " : "") line
                if (part == "") start = NR
                part = ""
                if (sub(/ *\\$/, "", line)) part = line
                else if (line ~ /^for / && line !~ /done$/)
                    part = line (line ~ /do$/ || line ~ /;$/ ? "" : ";")
                else give("block", start, line)
                sub(/do;$/, "do", part)
                next
            }
            { block = block && /^    / }
            /^$/ { paragraph(); blank = 1; next }
            { if (words == "") begin = NR; words = words " " $0; blank = 0 }
            END { paragraph() }' "$file"
    done
}

# ---- the folder in which they run --------------------------------------------

mkdir "$work/run" "$work/bin"
for name in bench examples include integrations python src tests tools; do
    ln -s "$root/$name" "$work/run/$name"
done
cp -R "$root/docs" "$work/run/docs"
ln -s "$build" "$work/run/build"
ln -s "$build/examples/replace_alltoallv" "$work/run/program"
i=0
while [ $i -lt 60 ]; do
    echo "$i $(((i * 7 + 1) % 60))"
    i=$((i + 1))
done >"$work/run/graph.txt"
# mpiexec [OPTION...] -n N COMMAND..., whatever its name is, and with 4 ranks at most.
mpiexec=$(command -v "${1:?}") || exit 1
shift
{
    echo '#!/bin/sh'
    echo 'while [ "$1" != -n ]; do'
    echo '    case $1 in'
    echo '    --oversubscribe) shift ;;'
    echo '    --bind-to) shift 2 ;;'
    echo '    -genv) export "$2=$3"; shift 3 ;;'
    echo '    *) echo "mpiexec: $1 instead of -n" >&2; exit 2 ;;'
    echo '    esac'
    echo 'done'
    echo 'ranks=$2; shift 2; [ "$ranks" -le 4 ] || ranks=4'
    printf "exec '%s'" "$mpiexec"
    printf " '%s'" "$@"
    echo ' "$ranks" "$@"'
} >"$work/bin/mpiexec"
chmod +x "$work/bin/mpiexec"
export MPIEXEC="$mpiexec" # for tools/cluster.sh
for name in mpiexec.mpich mpiexec.openmpi srun; do
    ln -s mpiexec "$work/bin/$name"
done
# copied FOLDER: the sources, for what builds or writes.
cat >"$work/bin/copied" <<END
#!/bin/sh
[ ! -d "\$1" ] || exit 0
mkdir "\$1" && cd "$root" || exit 1
for part in *; do
    case \$part in
    build*) ;;
    *) cp -R "\$part" "$work/run/\$1/" || exit 1 ;;
    esac
done
END
chmod +x "$work/bin/copied"
PATH=$work/bin:$build/bench:$build/src/mpi:$work/run:$PATH
export PATH
cd "$work/run" || exit 1
# A device that is not there, for what asks for one (tests/fakecuda).
fakecuda=$build/tests/fakecuda
[ -d "$fakecuda" ] || fakecuda=

wrong()
{
    echo "$where: $*"
    : >"$work/failed"
}

# reasons TABLE...: for each command of the input the reason of the first line of these
# that has it, or a dash.
reasons()
{
    awk '
        FILENAME != "-" {
            name[++n] = why[n] = $0
            sub(/\|[^|]*$/, "", name[n])
            sub(/.*\|/, "", why[n])
            next
        }
        {
            for (i = 1; i <= n; i++)
                if ($0 ~ "^([A-Z_]+=[^ ]+ )*(" name[i] ")") break
            print i <= n ? why[i] : "-"
        }' "$@" -
}

# there COMMAND: are the files and options of a command that is not run?
there()
{
    script=$(echo "$1" | sed -nE 's/^([A-Z_]+=[^ ]+ )*sh ([^ ]+).*/\2/p')
    [ -n "$script" ] || return 0
    [ -f "$root/$script" ] || { wrong "there is no $script"; return; }
    for option in $(echo "$1" | grep -oE -- ' --[a-z][a-z_-]*'); do
        grep -qE -- "$option([^a-z_-]|\$)" "$root/$script" ||
            wrong "$script has no option $option"
    done
}

# named COMMAND: has a program that is only named the options it is named with?
named()
{
    program=${1%% *}
    "$program" --help </dev/null >"$work/help" 2>&1
    for option in $(echo "$1" | grep -oE -- ' --[a-z][a-z_-]*'); do
        grep -qE -- "$option([^a-z_-]|\$)" "$work/help" || [ "$option" = --help ] ||
            wrong "$program has no option $option"
    done
}

run()
{
    set -- "$1" ""
    case $1 in
    *python3*)
        python3 -c 'import numpy, mpi4py' 2>/dev/null ||
            { echo "$where: left out, no numpy or mpi4py: $1"; return; } ;;
    perf\ *)
        perf stat -e syscalls:sys_enter_futex true >/dev/null 2>&1 ||
            { echo "$where: left out, no right to trace the kernel: $1"; return; } ;;
    *cuda*)
        [ -n "$fakecuda" ] || { echo "$where: left out, no stand-in of CUDA: $1"; return; }
        set -- "$1" "$fakecuda:" ;;
    esac
    # What another command has already done in small is not done again.
    ! grep -qxF -- "$1" "$work/done" 2>/dev/null || return 0
    echo "$1" >>"$work/done"
    begin=$(date +%s)
    if ! (
        [ -z "$2" ] || export LD_LIBRARY_PATH="$2${LD_LIBRARY_PATH:-}" FAKECUDA_ALLOWS_OTHERS=1
        # timeout gives it a group of its own, and what it starts ends with it.
        timeout -k 5 "$limit" sh -c "$1"
    ) </dev/null >"$work/output" 2>&1; then
        wrong "failed: $1"
        tail -n 12 "$work/output" | sed 's/^/    /'
    elif echo "$1" | grep -q '^ctest' && ! grep -q 'Total Tests: [1-9]' "$work/output"; then
        wrong "chooses no test: $1"
    fi
    took=$(($(date +%s) - begin))
    [ "$took" -lt 5 ] || echo "$where: took $took s: $1"
}

# ---- each of them -----------------------------------------------------------

(cd "$root" && commands) | grep -E -- "$only" | grep -v -E -- "$without" >"$work/commands"
cut -f 3 "$work/commands" >"$work/as_written"
sed -E -f "$work/small" "$work/as_written" >"$work/in_small"
[ -z "$long" ] || : >"$work/only_long"
reasons "$work/left_out" "$work/only_long" <"$work/as_written" >"$work/why"
cut -f 1,2 "$work/commands" |
    paste - "$work/why" "$work/as_written" "$work/in_small" >"$work/all"
tab=$(printf '\t')
count=0
while IFS=$tab read -r where kind why command small; do
    count=$((count + 1))
    case $kind,$command in
    text,rota-*)
        named "$command"
        continue ;;
    esac
    if echo "$command" | grep -qE "$not_commands"; then
        continue
    elif [ "$why" != - ]; then
        there "$command"
        echo "$where: left out, $why: $command"
        continue
    fi
    run "$small"
done <"$work/all"

echo "$count commands, $(wc -l <"$work/done") of them different ones in small"
[ ! -e "$work/failed" ]
