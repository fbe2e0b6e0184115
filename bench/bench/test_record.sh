#!/bin/sh
# test_record.sh BUILD MPIEXEC... - ROTA_RECORD writes what is sent, and rota-bench,
# rota-price and rota-tune read it.
set -u
export LC_ALL=C
build=$1
shift
mpiexec=$* # and the option that takes the number of ranks
bench=$build/bench/rota-bench price=$build/bench/rota-price
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

die()
{
    echo "test_record.sh: $*"
    exit 1
}

run()
{
    # shellcheck disable=SC2086 # several words
    timeout -k 5 60 $mpiexec 3 "$@" >"$work/out" 2>&1
}

# entries FILE: as numbers, a line each.
entries()
{
    od -An -v -w16 -tu4 "$1" | awk '{ print $1, $2, $3 + $4 * 4294967296 }'
}

# A plan for fixed counts: one start, and all others like it.
printf '5 0 7\n9 9 9\n0 0 3\n' >"$work/matrix"
ROTA_RECORD=$work/fixed run "$bench" --dist "matrix:$work/matrix" \
    --algos multi_pair --iters 5 --warmup 0 --inits 1 || die "$(cat "$work/out")"
for rank in 0 1 2; do
    entries "$work/fixed/$rank.rota" | awk -v rank=$rank '
        NR == 1 { if ($0 != "1380930625 1 3") exit bad = 1; next }
        runs > 0 { seen = seen " " $1 "+" $2 ":" $3; runs--; next }
        $1 == 4294967295 {
            getline
            if ($1 != 3 || $2 != rank || $3 != 0) exit bad = 1
            next
        }
        $1 == 4294967294 { runs = $3; starts++; next }
        $1 == 4294967293 { starts += $3; next }
        { exit bad = 1 }
        END { print bad || starts < 8 ? "bad" : seen }' >"$work/seen"
    case $rank in
    0) want=' 0+1:5 2+1:7' ;;
    1) want=' 0+3:9' ;;
    2) want=' 2+1:3' ;;
    esac
    [ "$(cat "$work/seen")" = "$want" ] || die "rank $rank: $(cat "$work/seen")"
done
run "$bench" --replay "$work/fixed" --algos multi_pair --iters 2 --inits 1 ||
    die "replay: $(cat "$work/out")"
grep -q ' S = 9 B, 42 B an exchange' "$work/out" || die "$(cat "$work/out")"

# Counts that vary: replayed they have as many bytes in all.
ROTA_RECORD=$work/varying run "$bench" --kind varying --sizes 100 --algos \
    parlogna:radix=2 --iters 20 --warmup 0 --inits 1 || die "$(cat "$work/out")"
starts=$("$price" --replay "$work/varying" --simulate --kind varying --algos \
    mpich_scattered,candidates | tee "$work/price" |
    sed -n 's/^# .*: 3 ranks, \([0-9]*\) starts.*/\1/p')
[ "${starts:-0}" -gt 20 ] || die "$(cat "$work/price")"
grep -q '^parlogna' "$work/price" || die "$(cat "$work/price")"
run "$bench" --replay "$work/varying" --kind varying --algos auto --inits 1 \
    --iters 20 || die "$(cat "$work/out")"

# A file that ends in the middle of a start, and folders that are none.
entries "$work/varying/1.rota" | wc -l >"$work/n"
head -c $((16 * ($(cat "$work/n") - 1))) "$work/varying/1.rota" >"$work/cut"
cp "$work/cut" "$work/varying/1.rota"
fewer=$("$price" --replay "$work/varying" --simulate --kind varying --algos \
    spread_out | sed -n 's/^# .*: 3 ranks, \([0-9]*\) starts.*/\1/p')
[ "$fewer" -eq $((starts - 1)) ] || die "$fewer starts of $starts are left"
"$price" --replay "$work" --simulate --algos spread_out >"$work/out" 2>&1 &&
    die "a folder without a recording is taken"
"$price" --replay "$work/fixed" --ranks 4 --algos spread_out --simulate \
    >"$work/out" 2>&1 && die "a recording of other ranks is taken"
: >"$work/file"
ROTA_RECORD=$work/file run "$bench" --sizes 8 --algos multi_pair --iters 2 ||
    die "a folder that is none ends the program"
grep -q "rota: ROTA_RECORD: $work/file: " "$work/out" || die "$(cat "$work/out")"

# The drop-in: also calls that go to MPI.
if [ -x "$build/src/mpi/rota-run" ]; then
    ROTA_RECORD=$work/dropin ROTA_MPI_AFTER=3 \
        LD_PRELOAD=$build/src/mpi/librota_mpi.so run "$bench" --sizes 64 \
        --algos mpi --iters 4 --inits 1 || die "$(cat "$work/out")"
    plans=$(entries "$work/dropin/0.rota" | grep -c '^4294967295 ')
    [ "$plans" -ge 2 ] || die "drop-in: $plans plans"
fi

# What closure_traffic finds in one process is what the ranks of the closure send,
# but for what their filters forget and for a round before.
if [ -x "$build/examples/closure_traffic" ]; then
    graph='--generate grid:12x12'
    # shellcheck disable=SC2086 # several words
    ROTA_RECORD=$work/ran run "$build/examples/transitive_closure" --no-split \
        --exchange exchange $graph || die "$(cat "$work/out")"
    # shellcheck disable=SC2086
    "$build/examples/closure_traffic" --ranks 3 --out "$work/found" $graph \
        >"$work/out" 2>&1 || die "$(cat "$work/out")"
    for folder in ran found; do
        cat "$work/$folder"/*.rota >"$work/all"
        entries "$work/all" | awk '
            $1 == 4294967294 { runs = $3; next }
            runs > 0 { bytes += $2 * $3; runs-- }
            END { print bytes + 0 }' >"$work/$folder.bytes"
    done
    ran=$(cat "$work/ran.bytes") found=$(cat "$work/found.bytes")
    [ "$found" -gt 1000 ] && [ $((100 * found)) -gt $((90 * ran)) ] &&
        [ $((100 * found)) -lt $((102 * ran)) ] ||
        die "closure: $ran bytes sent, $found found"
fi

# bytes_of FILE: that all starts send, blocks that they have, and starts.
bytes_of()
{
    entries "$1" | awk '
        $1 == 4294967295 { getline; next }
        $1 == 4294967294 { runs = $3; bytes = blocks = 0; starts++
                           if (runs == 0) next; left = runs; next }
        left > 0 { bytes += $2 * $3; blocks += $2; left--
                   if (left == 0) { sum += bytes; all += blocks } next }
        $1 == 4294967293 { sum += $3 * bytes; all += $3 * blocks
                           starts += $3 }
        END { print sum + 0, all + 0, starts + 0 }'
}

# A sparse exchange: 20,000 vertices of two neighbours, the first one, and a header
# a block, of 8 bytes each.
if [ -x "$build/examples/sparse" ]; then
    ROTA_RECORD=$work/sparse run "$build/examples/sparse" ||
        die "$(cat "$work/out")"
    for rank in 0 1 2; do
        bytes_of "$work/sparse/$rank.rota"
    done >"$work/starts"
    awk '{ bytes += $1; blocks += $2 } NR > 1 && $3 != starts { exit bad = 1 }
        { starts = $3 } END { exit bad || bytes != 8 * (40001 + blocks) }' \
        "$work/starts" || die "sparse: $(cat "$work/starts")"
fi

# Neighbours, of which a rank has several times the same: 6 faces of 8 bytes, 12
# edges of one, 8 corners of 8.
ROTA_RECORD=$work/halo run "$build/bench/rota-halo" 8 2 || die "$(cat "$work/out")"
bytes_of "$work/halo/1.rota" | awk '{ exit $3 < 20 || $1 != 124 * $3 }' ||
    die "halo: $(bytes_of "$work/halo/1.rota")"

# What kcfa_traffic finds is what the ranks of kcfa send, in the plan for counts that
# vary.
if [ -x "$build/examples/kcfa_traffic" ]; then
    program='--program worst:3:4 --k 3'
    # shellcheck disable=SC2086 # several words
    ROTA_RECORD=$work/kcfa run "$build/examples/kcfa" --exchange rota $program ||
        die "$(cat "$work/out")"
    # shellcheck disable=SC2086
    "$build/examples/kcfa_traffic" --ranks 2,3 --keep 1000 --out "$work/facts" \
        $program >"$work/out" 2>&1 || die "$(cat "$work/out")"
    # Bytes, each times a number that tells whence and where.
    for folder in kcfa facts/3; do
        cat "$work/$folder"/*.rota >"$work/all"
        entries "$work/all" | awk '
            $1 == 4294967295 { plan = $2; getline; me = $2; kind[plan] = $3; next }
            $1 == 4294967294 { plan = $2; n = $3; last[plan] = 0; next }
            $1 == 4294967293 { if (kind[$2]) all += $3 * last[$2]; next }
            n > 0 {
                sum = (me + 1) * $2 * (2 * $1 + $2 + 1) / 2 * $3
                last[plan] += sum
                if (kind[plan]) all += sum
                n--
            }
            END { print all + 0 }'
    done >"$work/sums"
    [ "$(uniq "$work/sums" | wc -l)" -eq 1 ] && ! grep -qx 0 "$work/sums" ||
        die "kcfa: $(cat "$work/sums")"
fi

# As the guide has it.
if python=$(command -v python3) && "$python" -c 'import numpy' 2>/dev/null; then
    "$python" - "$work/fixed/1.rota" <<'END' || die "numpy"
import sys, numpy
e = numpy.fromfile(sys.argv[1], dtype=[('a', '<u4'), ('b', '<u4'), ('c', '<u8')])
assert e['a'][0] == 0x524f5441 and e['c'][0] == 3
i = list(e['a']).index(0xfffffffe)
assert e['c'][i] == 1 and tuple(e[i + 1]) == (0, 3, 9)
END
else
    echo "no python3 with numpy: not read by it"
fi
