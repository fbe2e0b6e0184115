#!/bin/sh
# check_fields.sh ROOT MPICC [--list] - the structs that all share hold what one needs.
#
# Those of plans and of the executor, and what lies within them, belong to all: what
# only one kind of plan, one payload, one path or one gate knows is kept in its own
# state, for which there are void pointers. So a field whose name is written only in
# the files of one of these is in the wrong place. Prints such fields, and those that
# nobody uses; with --list, for each field the files that use it. Who uses a field is
# what clang says; where it is not installed, nothing is checked.
set -u
export LC_ALL=C
cd "${1:?}" || exit 1
mpicc=${2:?}
command -v clang >/dev/null || { echo "clang is not installed"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/rota-fields.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# F|STRUCT|FIELD|TYPE for each field of a struct rota_..., and U|STRUCT|FIELD|FILE for
# each expression that names it. A line of clang's tree begins with bars as deep as
# its node lies; it names the file of a place only where that is another one than the
# place before.
cat >"$work/tree.awk" <<'END'
function leave(deep) { while (depth > 0 && at[depth] >= deep) depth-- }
{ deep = match($0, /[A-Za-z<]/) }
/\.[ch]:[0-9]+:[0-9]+/ {
    rest = $0
    while (match(rest, /[^ <,]+\.[ch]:[0-9]+:[0-9]+/)) {
        file = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
    }
    sub(/:.*/, "", file)
}
deep <= 3 { home = file; depth = 0 }
/-RecordDecl 0x/ {
    leave(deep)
    name = depth > 0 ? struct[depth] : ""
    if (match($0, /[A-Za-z_0-9]+ definition$/) && $0 !~ / (struct|union) definition$/) {
        name = substr($0, RSTART, RLENGTH)
        sub(/ .*/, "", name)
    }
    at[++depth] = deep
    struct[depth] = name
}
/-FieldDecl 0x/ {
    leave(deep)
    sub(/^.*-FieldDecl /, "")
    id = $1
    type = substr($0, index($0, " '") + 2)
    sub(/'.*/, "", type)
    sub(/ '.*/, "")
    if (depth > 0 && struct[depth] ~ /^rota_/) {
        field[id] = struct[depth] "|" $NF
        print "F|" field[id] "|" type
    }
}
/-MemberExpr 0x/ && $NF in field { print "U|" field[$NF] "|" home }
END

cat >"$work/one.sh" <<'END'
work=$1 flags=$2 source=$3
clang -w -std=c11 -D_GNU_SOURCE -DROTA_EVENTS -DROTA_SYSCONFDIR='""' -Iinclude -Isrc \
    $flags -include-pch "$work/all.pch" -fsyntax-only -fno-color-diagnostics \
    -Xclang -ast-dump "$source" >"$work/$$.tree" || exit 255
awk -f "$work/tree.awk" "$work/$$.tree" | sort -u >"$work/$$.found"
rm "$work/$$.tree"
END
flags=$("$mpicc" -show | tr ' ' '\n' | grep '^-[ID]')
# What most include, read once.
for header in mpi.h pthread.h stdatomic.h stdio.h stdlib.h string.h; do
    echo "#include <$header>"
done >"$work/all.h"
# shellcheck disable=SC2086 # words
clang -w -std=c11 -D_GNU_SOURCE $flags -x c-header "$work/all.h" -o "$work/all.pch" ||
    exit 1
# The drop-in sees none of these structs, nor do the drivers of devices.
find src -name '*.c' ! -path 'src/mpi/*' ! -name cuda.c ! -name hip.c |
    xargs -n 1 -P "$(nproc 2>/dev/null || echo 2)" sh "$work/one.sh" "$work" "$flags" ||
    exit 1

cat "$work"/*.found | sort -u | awk -F '|' -v list="${3:-}" '
# Whose file it is; "": not of one kind, payload, path or gate.
function owner(file)
{
    sub(/^src\//, "", file)
    sub(/\.[ch]$/, "", file)
    if (file ~ /^exec\/payload\/.|^plan\/kinds\/(fixed|varying|exchange|sparse)$/)
        return file
    if (match(file, /^exec\/transport\/(p2p|[a-z]+)/))
        return substr(file, 1, RLENGTH)
    return file ~ /^device\// ? "device" : ""
}
$1 == "F" {
    type = $4
    if (!($2 "." $3 in has)) fields[$2] = fields[$2] " " $3
    has[$2 "." $3] = 1
    if (type == "void *") slot[$2 "." $3] = 1
    if (type ~ /[*(]/) next
    sub(/ *\[.*/, "", type)
    sub(/^(const )?(struct )?/, "", type)
    within[$2] = within[$2] " " type
}
$1 == "U" {
    f = $2 "." $3
    users[f] = users[f] " " $4
    who = owner($4)
    if (who == "") shared[f] = 1
    else if (alone[f] == "") alone[f] = who
    else if (alone[f] != who) shared[f] = 1
}
END {
    n = split("rota_exec rota_program rota_run rota_op rota_batch rota_step " \
              "rota_blocks rota_plan rota_built rota_task", common, " ")
    for (i = 1; i <= n; i++) known[common[i]] = 1
    for (i = 1; i <= n; i++) {
        if (fields[common[i]] == "") { print common[i] " is nowhere"; bad = 1 }
        k = split(within[common[i]], inner, " ")
        for (j = 1; j <= k; j++)
            if (inner[j] in fields && !(inner[j] in known)) {
                known[inner[j]] = 1
                common[++n] = inner[j]
            }
        k = split(fields[common[i]], name, " ")
        for (j = 1; j <= k; j++) {
            f = common[i] "." name[j]
            if (list != "") print f ":" users[f]
            else if (users[f] == "") { print f " is used by nobody"; bad = 1 }
            else if (!shared[f] && !slot[f]) { print f " is only " alone[f] "'\''s"; bad = 1 }
        }
    }
    exit bad
}'
