#!/bin/sh
# papers.sh - published figures beside those simulated on machines fitted to them.
#
#   sh bench/figures/papers.sh [--check | --list] [--csv FILE]
#
# Simulates what docs/simulated.csv lacks (simulate.sh), and prints the tables of
# docs/papers.md: each figure that the papers state in their texts, what the machine
# (bench/machines/theta.json and fugaku.json) gives, and the difference. With
# --check nothing is simulated: are the tables those of the page? With --list it says
# which lines of the CSV it uses, as simulate.sh does. Exit status: 0, 1 if the tables
# are others or if something failed, 2 for a wrong command line.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

check='' list='' csv=docs/simulated.csv
while [ $# -gt 0 ]; do
    case $1 in
    --check) check=yes ;;
    --list) list=--list ;;
    --csv)
        csv=${2:?}
        shift ;;
    *)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    esac
    shift
done
two=parlogna_published:radix=2 four=parlogna_published:radix=4
pad=padded_bruck_published
coalesced=parlinna_coalesced_published:radix
staggered=parlinna_staggered_published:radix

# on MACHINE NODE RANKS SIZES ALGOS
on()
{
    # shellcheck disable=SC2086 # perhaps none
    sh bench/figures/simulate.sh $list --csv "$csv" --machine "$1" --node "$2" --ranks "$3" \
        --sizes "$4" --algos "$5"
}

simulate()
{
    on theta 64 128,8192 64 "$two" &&
        on theta 64 1024 16 "$two,$pad,mpich_scattered" &&
        on theta 64 512,1024,2048 256 "$two,mpich_scattered" &&
        on theta 64 4096 512 "$two,$pad" &&
        on fugaku 32 8192 16 "$two,$four,pairwise" &&
        on fugaku 32 4096 16 "$coalesced=4:batch=127,$staggered=4:batch=512" &&
        on fugaku 32 1024 16384 "$coalesced=32:batch=31,$staggered=8:batch=64" &&
        on fugaku 32 16384 16 "$coalesced=4:batch=511,mpich_scattered"
}

tables()
{
    awk -F, '
    NR == 1 { next }
    $4 == "fixed" && $5 == "uniform" { time[$1, $2, $6, $7] = $8 }
    function t(machine, P, S, name) {
        if (!((machine, P, S, name) in time)) {
            print "no time of " name ", " P " ranks, " S " B on " machine \
                > "/dev/stderr"
            exit failed = 1
        }
        return time[machine, P, S, name]
    }
    function row(what, published, unit, simulated) {
        printf "| %s | %s%s | %.3g%s | %+.0f %% |\n", what, published, unit,
            simulated, unit, 100 * (simulated / published - 1)
    }
    function heading(what) {
        printf "\n| %s | published | simulated | difference |\n", what
        print "| --- | ---: | ---: | ---: |"
    }
    END {
        if (failed) exit 1
        m = "theta"; two = "parlogna_published:radix=2"
        pad = "padded_bruck_published"; mpi = "mpich_scattered"
        heading("Theta, 64 ranks a node: [Fan22]")
        row("two-phase Bruck, 128 ranks, 64 B", 0.47, " ms", t(m, 128, 64, two) / 1e3)
        row("two-phase Bruck, 8,192 ranks, 64 B", 34.2, " ms", t(m, 8192, 64, two) / 1e3)
        row("two-phase Bruck, 4,096 ranks, 512 B", 91.6, " ms", t(m, 4096, 512, two) / 1e3)
        row("padded Bruck, 4,096 ranks, 512 B", 202.9, " ms", t(m, 4096, 512, pad) / 1e3)
        row("padded over two-phase, 1,024 ranks, 16 B", 0.713, "", t(m, 1024, 16, pad) / t(m, 1024, 16, two))
        row("padded over MPI_Alltoallv, 1,024 ranks, 16 B", 0.4, "", t(m, 1024, 16, pad) / t(m, 1024, 16, mpi))
        row("two-phase over MPI_Alltoallv, 512 ranks, 256 B", 0.499, "", t(m, 512, 256, two) / t(m, 512, 256, mpi))
        row("two-phase over MPI_Alltoallv, 1,024 ranks, 256 B", 0.615, "", t(m, 1024, 256, two) / t(m, 1024, 256, mpi))
        row("two-phase over MPI_Alltoallv, 2,048 ranks, 256 B", 0.642, "", t(m, 2048, 256, two) / t(m, 2048, 256, mpi))
        m = "fugaku"; four = "parlogna_published:radix=4"
        coal = "parlinna_coalesced_published:radix="
        stag = "parlinna_staggered_published:radix="
        log_best = t(m, 8192, 16, two)
        if (t(m, 8192, 16, four) < log_best) log_best = t(m, 8192, 16, four)
        heading("Fugaku, 32 ranks a node: [Fan25]")
        row("ParLogNa, best radix, 8,192 ranks, 16 B", 5.79, " ms", log_best / 1e3)
        row("MPI_Alltoallv, 8,192 ranks, 16 B (simulated: `pairwise`)", 408.33, " ms", t(m, 8192, 16, "pairwise") / 1e3)
        row("staggered over coalesced ParLinNa, 4,096 ranks, 16 B", 17.06, "", t(m, 4096, 16, stag "4:batch=512") / t(m, 4096, 16, coal "4:batch=127"))
        row("staggered over coalesced ParLinNa, 16 KiB (published: 4,096 ranks; simulated: 1,024)", 0.813, "", t(m, 1024, 16384, stag "8:batch=64") / t(m, 1024, 16384, coal "32:batch=31"))
        row("scattered over coalesced ParLinNa, 16,384 ranks, 16 B", 14.61, "", t(m, 16384, 16, mpi) / t(m, 16384, 16, coal "4:batch=511"))
    }' "$csv"
}

[ -n "$check" ] || simulate || exit 1
[ -z "$list" ] || exit 0
if [ -z "$check" ]; then
    tables
    exit
fi
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
tables >"$work/tables" || exit 1
grep '^|' "$work/tables" | while read -r line; do
    grep -qxF -- "$line" docs/papers.md && continue
    echo "docs/papers.md has no line: $line"
    exit 1
done
