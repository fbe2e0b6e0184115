#!/bin/sh
# check_names.sh ROOT OBJECTS - does a name say where it is from?
#
# OBJECTS is as for check_calls.sh. An external name of the library begins with
# rota_ and a word that names its file, a header that has it or, singular or plural,
# a type of the library's (rota_built: all that works on one). In src/mpi it begins
# with rota_mpi_. What rota.h declares is named for those who call it.
#
# Two tables say what else there is. Prints what breaks the rule and what an
# exception no longer has.
set -u
export LC_ALL=C
cd "${1:?}" || exit 1
objects=${2:?}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# Words that several files or functions share, and the headers for which.
cat >"$work/words" <<'END'
build algos/node.h algos/log.h
emit algos/node.h algos/log.h schedule/schedule.h
fail base/err.h plan/args/validate.h
flow schedule/schedule.h
message exec/move/blocks.h exec/step/steps.h
native schedule/schedule.h
tmp schedule/schedule.h
wait exec/exec.h exec/run/waiting.h plan/inside.h
END

# Names that are known everywhere, or are one of a kind.
cat >"$work/exceptions" <<'END'
rota_agree_claim
rota_explain
rota_grow
rota_now_ns
rota_packing_words
rota_text_give
END

# The external names, with their files; then those of headers, and types.
xargs -d '\n' nm -A -P -g <"$objects" >"$work/symbols" || exit 1
awk -v "wrong=$work/wrong" '
{
    end = index($0, ".o: ")
    file = substr($0, 1, end - 1)
    $0 = substr($0, end + 4)
}
$2 !~ /^[TDRBV]$/ || $1 !~ /^rota_/ { next }
sub(/.*\/CMakeFiles\/rota_objects\.dir\//, "", file) { print "name", $1, file }
sub(/.*\/CMakeFiles\/rota_mpi\.dir\//, "mpi/", file) && $1 !~ /^rota_mpi_/ {
    print file ": " $1 " does not begin with rota_mpi_" >wrong
}' "$work/symbols" >"$work/names"
[ -s "$work/names" ] || { echo "no names: wrong objects?"; exit 1; }
(cd src && find . -name '*.h' ! -path './mpi/*' -exec grep -noE '\<rota_[a-z0-9_]+' {} +) |
    sed 's|^\./||' | awk -F: '{ print "header", $3, $1 }' | sort -u >"$work/headers"
find src -name '*.h' -exec sed -nE \
    's/^(typedef )?(struct|enum|union) rota_([a-z0-9_]+).*/type \3/p
    s/^\} rota_([a-z0-9_]+);.*/type \1/p
    s/^typedef .*[ *(]rota_([a-z0-9_]+)(;|\)).*/type \1/p' {} + |
    sort -u >"$work/types"
grep -oE '\<rota_[a-z0-9_]+ *\(' include/rota.h | sed 's/ *(//; s/^/api /' |
    sort -u >"$work/api"
sed 's/^/word /' "$work/words" >"$work/shared"
sed 's/^/exception /' "$work/exceptions" >"$work/left"

cat "$work/api" "$work/types" "$work/headers" "$work/shared" "$work/left" \
    "$work/names" | awk '
# Does the name, without rota_, begin with a word, singular or plural?
function begins(name, word,    one)
{
    one = word
    sub(/s$/, "", one)
    return index(name "_", word "_") == 1 || index(name "_", one "_") == 1 ||
           index(name "_", word "s_") == 1
}
# With the name of a file, or with the first word of it?
function is_of(name, path,    first)
{
    sub(/.*\//, "", path)
    sub(/\..*/, "", path)
    first = path
    sub(/_.*/, "", first)
    return begins(name, path) || begins(name, first)
}
function fits(full, file,    name, n, part, i, t, word)
{
    name = substr(full, 6)
    if (full in api || is_of(name, file))
        return 1
    for (t in types)
        if (begins(name, t))
            return 1
    word = name
    sub(/_.*/, "", word)
    n = split(headers[full], part, " ")
    for (i = 1; i <= n; i++)
        if (is_of(name, part[i]) || index(words[word] " ", " " part[i] " "))
            return 1
    return 0
}
$1 == "api" { api[$2] = 1 }
$1 == "type" { types[$2] = 1 }
$1 == "header" { headers[$2] = headers[$2] " " $3 }
$1 == "word" { word = $2; $1 = $2 = ""; words[word] = $0 }
$1 == "exception" { left[$2] = 1 }
$1 == "name" {
    if ($2 in left)
        used[$2] = !fits($2, $3)
    else if (!fits($2, $3))
        print "src/" $3 ": " $2 " names neither its file nor a header or a type"
}
END {
    for (e in left)
        if (!used[e])
            print e " is no exception: strike it from the table"
}' >>"$work/wrong"
sort "$work/wrong"
[ ! -s "$work/wrong" ] || exit 1
echo "exceptions: $(tr '\n' ' ' <"$work/exceptions")"
