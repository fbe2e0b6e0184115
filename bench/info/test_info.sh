#!/bin/sh
# test_info.sh - rota-info says what there is, and leaves nothing out.
#
#   sh bench/info/test_info.sh ROTA-INFO ROOT MPIEXEC... NP
#
# What follows ROOT, the folder of the sources, starts a program on NP ranks.
set -u

info=$1
root=$2
shift 2
folder=$(mktemp -d "${TMPDIR:-/tmp}/rota-info-test.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
unset ROTA_TUNING_FILE
export XDG_CONFIG_HOME="$folder"

fail()
{
    echo "FAILED: $*"
    cat "$folder/out" 2>/dev/null
    exit 1
}

says()
{
    grep -q -e "$1" "$folder/out" || fail "does not say: $1"
}

run()
{
    timeout -k 5 60 "$@" "$info" >"$folder/out" 2>&1 || fail "status $? of: $*"
}

run "$@"
for np in "$@"; do :; done # the last word
says "^  ranks  *$np\$"
says '^  nodes  *1$'
says "^  node 0 .*of $np\$"
says '^  file  *none found$'
says '^  prices  *the usual ones$'

# All algorithms, and all variables that the library looks at; it knows some that
# are not its own.
for name in $(sed -n 's/^ROTA_\(NEIGHBOR_\)*ALGO(\([a-z0-9_]*\)).*/\2/p' \
    "$root/src/algos/list.h"); do
    says "^  $name "
done
for name in $(grep -rhoE '"ROTA_[A-Z_]+"' "$root/src" | tr -d '"' |
    grep -vxE 'ROTA_(ROOT|DIR|HOME|TEST_.*)' | sort -u); do
    says " $name "
done

mkdir "$folder/rota"
cat >"$folder/rota/tuning.json" <<'END'
{"rota_tuning": 1,
 "machine": {"ns": {"start": 3}, "copied_once_from": 3000,
             "from": {"machine": "a machine"}},
 "rows": [{"kind": "varying", "algorithm": "linear", "metadata": "fused"}]}
END
ROTA_RADIX=3 run "$@"
says "^  file  *$folder/rota/tuning.json\$"
says '^  prices  *measured: a machine;'
says '^  copied once  *from 3000 bytes on'
says '^  rows  *1: 0 fixed, 1 varying, 0 exchange$'
says 'ROTA_RADIX .*; set to 3$'

echo '{' >"$folder/rota/tuning.json"
run "$@"
says '^  file  *none found$'
says '^  ignored .*tuning.json: line 2: not JSON'
ROTA_TUNING_FILE=$folder/none run "$@"
says 'none: No such file'
exit 0
