#!/bin/sh
# check_guide.sh ROOT - docs/guide.md quotes the examples as they are, and
# docs/adopting.md a test.
#
# Every block of C in them follows a line "<!-- from FILE -->", and its lines
# stand in FILE one after the other, all indented by as much more. Every example
# of one file is quoted, and has fewer than 80 lines.
set -u
export LC_ALL=C
cd "${1:?}" || exit 1
guide=docs/guide.md
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

for page in "$guide" docs/adopting.md; do
awk -v page="$page" -v work="$work" '
    function wrong(text) {
        print page ":" begin ": " text
        print "" > (work "/failed")
    }

    # Whether the n lines quote[] begin at line i of file[].
    function stands(i,    k, indent) {
        indent = substr(file[i], 1, length(file[i]) - length(quote[1]))
        if (indent !~ /^ *$/) return 0
        for (k = 1; k <= n; k++)
            if (file[i + k - 1] != (quote[k] == "" ? "" : indent quote[k]))
                return 0
        return 1
    }

    function check(    i, lines, found) {
        if (source == "") { wrong("no file is named"); return }
        while ((getline file[lines + 1] < source) > 0) lines++
        close(source)
        for (i = 1; i + n - 1 <= lines && !found; i++) found = stands(i)
        if (!found) wrong("does not stand in " source)
        print source >> (work "/quoted")
    }

    fence && /^```/ {
        if (n == 0) wrong("empty")
        else check()
        fence = 0
        source = ""
        next
    }
    fence { quote[++n] = $0; next }
    /^```c$/ { fence = 1; n = 0; begin = NR; next }
    /^```/ { begin = NR; wrong("not a block of C") }
    /^<!-- from [a-z_.\/]* -->$/ { source = $3; next }
    { source = "" }' "$page" || exit 1
done

for example in examples/*.c; do
    if ! grep -qxF "$example" "$work/quoted"; then
        echo "$guide: $example is not quoted"
        : >"$work/failed"
    fi
    if [ "$(wc -l <"$example")" -ge 80 ]; then
        echo "$example: 80 lines or more"
        : >"$work/failed"
    fi
done
[ ! -e "$work/failed" ]
