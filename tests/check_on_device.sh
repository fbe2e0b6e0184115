#!/bin/sh
# check_on_device.sh ROOT BUILD - tools/on_device.sh does what it says, on a device
# that is not there (tests/fakecuda, found by LD_LIBRARY_PATH).
set -u
root=${1:?} build=${2:?}
for needed in "$build/tests/fakecuda/libcufft.so" "$build/examples/fft3d"; do
    [ -e "$needed" ] || { echo "skipped: there is no $needed"; exit 77; }
done
command -v mpiexec.mpich >/dev/null || {
    echo "skipped: there is no mpiexec.mpich"
    exit 77
}
folder=$(mktemp -d "${TMPDIR:-/tmp}/rota-on-device.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT

fail()
{
    echo "FAILED: $*"
    cat "$folder"/*.log "$folder/out" "$folder/summary.txt" "$folder/goals.md" 2>/dev/null
    exit 1
}

on_device()
{
    PATH=$folder/bin:$PATH sh "$root/tools/on_device.sh" --quick --crowded \
        --ranks 2 --build "$build" --out "$folder" "$@" >"$folder/out" 2>&1
}

# told COUNT VERDICT TEXT: so many steps with TEXT in their name have a verdict.
told()
{
    [ "$(grep -c "^$2 .*$3" "$folder/summary.txt")" -eq "$1" ] ||
        fail "not $1 steps '$3' were $2"
}

mkdir "$folder/bin"
printf '#!/bin/sh\necho "GPU 0: stands in"\n' >"$folder/bin/nvidia-smi"
printf '#!/bin/sh\n[ "${1:-}" = -d ] || cat >"$0.told"\n' \
    >"$folder/bin/nvidia-cuda-mps-control"
chmod +x "$folder"/bin/*
on_device gpu strategies goals || fail "status $?"
told 4 'done' gpu-fft3d
told 1 'done' gpu-prices-p2
told 1 'done' gpu-mps-p2
grep -q quit "$folder/bin/nvidia-cuda-mps-control.told" || fail "MPS is left running"
told 1 'done' strategies-p2
told 0 failed .
told 0 'no time' .
grep -q '"device_copy"' "$folder/gpu-prices-p2.json" || fail "no prices"
grep -q '^| staging over memory .* | [0-2] of 2 | ' "$folder/goals.md" || fail "no aims"
grep -q '^| 2048 | [0-9.]* | .* 1.01 |$' "$folder/goals.md" || fail "no strategies"

# Aims by known times: of three cases, one slower than MPI in another setting.
cat >"$folder/tables.csv" <<'END'
algo,params,kind,dist,mem,P,max_bytes,starts,median_us,ratio_to_bound
"auto","","fixed","uniform","malloc",2,8,1,1.0,
"mpi","","fixed","uniform","malloc",2,8,1,2.0,
"auto","","fixed","uniform","malloc",2,64,1,1.0,
"mpi_persistent","","fixed","uniform","malloc",2,64,1,1.5,
"auto","","fixed","uniform","malloc",4,8,1,1.0,
"mpi","","fixed","uniform","malloc",4,8,1,4.0,
END
sed -e '/auto/d' -e 's/,1\.5,$/,0.8,/' "$folder/tables.csv" >"$folder/setting.csv"
awk -f "$root/tools/on_device.awk" "$folder/tables.csv" "$folder/setting.csv" \
    >"$folder/goals.md"
grep -q '| 2 of 3 | 0.80 | tables, S = 64, mpi_persistent in setting |' \
    "$folder/goals.md" || fail "aims of known times"
[ "$(grep -c '^| tables, S = 64 | 1.00 | 0.80 |' "$folder/goals.md")" -eq 1 ] ||
    fail "what is slower is not told"

# Wrong command lines.
for wrong in --bogus bogus '--ranks 2,4' '--minutes x' --out; do
    # shellcheck disable=SC2086 # several words
    on_device $wrong && fail "no error of $wrong"
    [ "$(grep -c 'on_device.sh: ' "$folder/out")" -eq 1 ] || fail "says what? $wrong"
done
exit 0
