#!/bin/sh
# transitive_closure.sh CASE PROGRAM MPIEXEC... - tests of the example of that
# name; see lib.sh.
# shellcheck source=tests/examples/lib.sh
. "$(dirname "$0")/lib.sh"

# finds PAIRS FILE: with 1 and 2 ranks, in all ways of exchanging.
finds()
{
    succeeds 1 --expect "$1" "$2"
    succeeds 2 --expect "$1" --verify "$2"
}

# rejects TEXT FILE: TEXT follows the name of the file.
rejects()
{
    fails "transitive_closure: $2$1" 2 "$2"
}

# same_pairs GRAPH P...: for all these numbers of ranks; the fingerprint stands
# for them.
same_pairs()
{
    graph=$1
    shift
    expected=
    for ranks in "$@"; do
        succeeds "$ranks" --verify --generate "$graph"
        has "verified by a search" || complain "$ran: not verified"
        found=$(grep -E '^(iterations|pairs|fingerprint)' "$work/out")
        [ "$found" = "${expected:=$found}" ] ||
            complain "$ran: differs from $1 ranks"
    done
}

case_generated()
{
    same_pairs grid:5x60 1 2 3
    same_pairs grid:1x2:3 1 3
    same_pairs rmat:8:4 1 2 4
    same_pairs rmat:10:2:7 1 3
}

# Sizes known by other means: a path of n vertices has n(n-1)/2 pairs, a cycle
# n^2, and n-1 and n iterations.
case_sizes()
{
    i=0
    while [ "$i" -lt 40 ]; do
        echo "$i $((i + 1))" >>"$work/path"
        echo "$i $(((i + 1) % 40))" >>"$work/cycle"
        i=$((i + 1))
    done
    finds 820 "$work/path"
    has "iterations   40" || complain "$ran: iterations"
    finds 1600 "$work/cycle"
    has "iterations   40" || complain "$ran: iterations"
    # After k iterations: the pairs at distance 1 to k + 1.
    succeeds 2 --iterations 4 --expect 190 "$work/path"
    has "iterations   4" || complain "$ran: iterations"
    succeeds 2 --iterations 99 --expect 820 "$work/path"
    has "iterations   40" || complain "$ran: iterations"
    # Pins the generators.
    succeeds 2 --expect 43900 --generate grid:5x60
    succeeds 2 --expect 22650 --generate rmat:8:4
}

case_formats()
{
    banner='%%%%MatrixMarket matrix coordinate'
    file list '# from to\n\n10\t30\n30 7 0.5\r\n  18446744073709551615 10\n7 7'
    file sparse '1000000000000 5\n%% comment\n5 4294967296\n'
    { printf '# '; head -c 5000 /dev/zero | tr '\0' x; echo; echo 1 2; } \
        >"$work/long"
    file pattern "$banner pattern general\n%% c\n\n4 4 3\n1 2\n2 3\n3 1\n"
    file real.mtx "$banner real general\n3 3 2\n1 2 -1.5e3\n2 3 0\n"
    file sym.mtx "$banner Integer Symmetric\n3 3 3\n2 1 7\n3 2 1\n3 3 9\n"
    finds 7 "$work/list"
    finds 3 "$work/sparse"
    finds 1 "$work/long"
    finds 9 "$work/pattern"
    finds 3 "$work/real.mtx"
    finds 9 "$work/sym.mtx"
    gzip "$work/list" "$work/sym.mtx"
    finds 7 "$work/list.gz"
    finds 9 "$work/sym.mtx.gz"
}

# 3000 vertices that lead to one, and it to another: all pairs end in two.
make_star()
{
    i=0
    while [ "$i" -lt 3000 ]; do
        echo "$i 5000" >>"$work/star"
        i=$((i + 1))
    done
    echo 5000 5001 >>"$work/star"
}

# Pairs that are read where other ranks have them: blocks of a few pairs and of
# thousands, that grow, and what is sent when vertices are split.
case_borrowed()
{
    make_star
    for ranks in 1 2 3 4 5 6 7 8; do
        succeeds "$ranks" --exchange borrowed --expect 43900 \
            --generate grid:5x60
        succeeds "$ranks" --exchange borrowed --expect 128143 --rounds 2 \
            --generate rmat:9:8
        succeeds "$ranks" --exchange borrowed --expect 6001 "$work/star"
    done
    has '2 vertices are split' || complain "$ran: vertices split"
}

# Names may be any 64-bit numbers: what is found is the same.
case_names()
{
    twins
    succeeds 2 --verify "$work/dense"
    found=$(grep -E '^(vertices|edges|iterations|pairs|fingerprint)' \
        "$work/out")
    for ranks in 1 2 3; do
        succeeds "$ranks" --verify --exchange exchange "$work/wide"
        [ "$found" = "$(grep -E \
            '^(vertices|edges|iterations|pairs|fingerprint)' "$work/out")" ] ||
            complain "$ran: differs from the same graph with small names"
    done
}

# A program that was built for four vertices at most.
case_limit()
{
    file four '18446744073709551615 1000000000000\n1000000000000 7\n7 0\n'
    file five '18446744073709551615 1000000000000\n7 0\n7 1\n'
    succeeds 2 --expect 6 --verify "$work/four"
    fails "$work/five: 5 different vertices, 4 is the most" 2 "$work/five"
}

case_bad_lists()
{
    file word '1 2\n3 x4\n'
    file word1 '# c\n\nab\n'
    file float '1 2\n2.5 3\n'
    file comma '1,2\n'
    file second '1 2\n2 3\n\n4\n'
    file negative '1 2\n5 -6\n'
    file large '1 18446744073709551616\n'
    file none '# nothing\n'
    file empty ''
    head -c 3000 /dev/zero >"$work/binary"
    rejects ':2: second vertex is not a number: x4' "$work/word"
    rejects ':3: first vertex is not a number: ab' "$work/word1"
    rejects ':2: first vertex is not a number: 2.5' "$work/float"
    rejects ':1: first vertex is not a number: 1,2' "$work/comma"
    rejects ':4: second vertex is missing' "$work/second"
    rejects ':2: second vertex is negative: -6' "$work/negative"
    rejects ':1: second vertex is above 2^64-1' "$work/large"
    rejects ':1: the file has no edges' "$work/none"
    rejects ': the file is empty' "$work/empty"
    rejects ':1: not a line of text' "$work/binary"
    rejects ': No such file or directory' "$work/absent"
    rejects ': cannot read on: ' "$work"
}

case_bad_matrices()
{
    banner='%%%%MatrixMarket matrix coordinate'
    file banner.mtx '1 2\n'
    file short '%%%%MatrixMarket matrix coordinate real\n'
    file array '%%%%MatrixMarket matrix array real general\n'
    file complex "$banner complex general\n"
    file skew "$banner real skew-symmetric\n"
    file nosize "$banner pattern general\n%% only this\n"
    file size "$banner pattern general\n3 3\n"
    file square "$banner pattern general\n3 4 1\n1 2\n"
    file zero "$banner pattern general\n3 3 1\n0 2\n"
    file range "$banner pattern general\n3 3 2\n1 2\n1 4\n"
    file fewer "$banner pattern general\n3 3 3\n1 2\n2 3\n"
    file more "$banner pattern general\n3 3 1\n1 2\n2 3\n"
    file value "$banner real general\n3 3 1\n1 2\n"
    file nan "$banner integer general\n3 3 1\n1 2 q\n"
    file extra "$banner pattern general\n3 3 1\n1 2 3\n"
    rejects ':1: Matrix Market banner expected' "$work/banner.mtx"
    rejects ':1: Matrix Market banner expected' "$work/short"
    rejects ':1: "matrix array" is not supported' "$work/array"
    rejects ':1: field "complex" is not supported' "$work/complex"
    rejects ':1: symmetry "skew-symmetric" is not supported' "$work/skew"
    rejects ':2: size line is missing' "$work/nosize"
    rejects ':2: number of entries is missing' "$work/size"
    rejects ':2: not square: 3 rows, 4 columns' "$work/square"
    rejects ':3: row 0 is not in 1..3' "$work/zero"
    rejects ':4: column 4 is not in 1..3' "$work/range"
    rejects ':4: file ends after 2 of the 3 entries' "$work/fewer"
    rejects ':4: more than the 1 entries announced' "$work/more"
    rejects ':3: value is missing' "$work/value"
    rejects ':3: value is not a number' "$work/nan"
    rejects ':3: more than an entry on the line' "$work/extra"
}

case_cut_gzip()
{
    i=0
    while [ "$i" -lt 3000 ]; do
        echo "$i $((i * 7919 % 3001))"
        i=$((i + 1))
    done | gzip | head -c 4000 >"$work/cut.gz"
    rejects ':' "$work/cut.gz"
    has 'the compressed file is cut short' || complain "$ran: text"
}

case_options()
{
    fails 'no graph given' 2
    fails 'unknown option: --fast' 2 --fast
    fails 'unknown exchange: tcp' 2 --exchange tcp --generate grid:2x2
    fails '--verify is for a loop to the end' 2 --verify --iterations 3 \
        --generate grid:2x2
    fails 'a value must follow --csv' 1 --generate grid:2x2 --csv
    fails '--memory wants a whole number from 1 to' 1 --memory 1G \
        --generate grid:2x2
    fails '--expect wants a whole number from 0 to' 1 --expect -1 \
        --generate grid:2x2
    fails 'both a file and --generate' 1 --generate grid:2x2 "$work/list"
    fails 'more than one input' 1 "$work/list" "$work/list"
    fails 'cannot generate "grid:4"' 2 --generate grid:4
    fails 'cannot generate "grid:99999x99999"' 2 --generate grid:99999x99999
    fails 'cannot generate "rmat:40:2"' 2 --generate rmat:40:2
    fails 'cannot generate "tree:3"' 1 --generate tree:3
    fails 'grid:1x1: no edges' 2 --generate grid:1x1
    fails 'pairs, expected 5' 2 --expect 5 --generate grid:2x3
    fails "$work/no/dir: No such file" 2 --csv "$work/no/dir" \
        --generate grid:2x3
    succeeds 1 --help
    has '--exchange WHICH' || complain "$ran: text"
    succeeds 2 --progress --csv "$work/csv" --generate grid:3x9
    has 'rota: iteration' || complain "$ran: no progress"
    has 'mpi/exchange' || complain "$ran: no ratio"
    has 'exchange/borrowed' || complain "$ran: no ratio of exchanges"
    iterations=$(sed -n 's/^iterations *//p' "$work/out")
    for form in mpi exchange borrowed rota; do
        [ "$(grep -c "^$form,[0-9]" "$work/csv")" = "$iterations" ] ||
            complain "$ran: lines of $form in the CSV file"
    done
    fails '--rounds wants a whole number from 1 to 1000, not "0"' 2 \
        --rounds 0 --generate grid:2x2
    succeeds 2 --exchange both --csv "$work/csv" --generate grid:3x9
    [ "$(sed '1d; s/,.*//' "$work/csv" | sort -u | xargs)" = 'exchange mpi' ] ||
        complain "$ran: exchanges in the CSV file"
    same_bytes "$work/csv"
}

# row FORM COLUMN...: those of that row of the table, from set-up s on.
row()
{
    form=$1
    shift
    columns=
    for column in "$@"; do
        columns="$columns, \$$((column + 1))"
    done
    awk "\$1 == \"$form\" && \$2 ~ /^[0-9]/ { print ${columns#, } }" "$work/out"
}

# What several rounds find is what one finds; the times of one are those of its
# iterations, and parts of the whole.
case_rounds()
{
    succeeds 2 --csv "$work/csv" --generate grid:3x40
    found=$(grep -E '^(iterations|pairs|fingerprint)' "$work/out")
    for form in mpi exchange borrowed rota; do
        # shellcheck disable=SC2046
        set -- $(row "$form" 2 3 4 5 6 7) $(awk -F, "\$1 == \"$form\" {
            exchange += \$6; waiting += \$7; taken += \$9
        } END { print exchange, waiting, taken }" "$work/csv")
        echo "$form: $*" >>"$work/out"
        awk "BEGIN { e = 2e-4; exit !($3 == $4 && $3 == $5 && $2 >= 0 &&
            $3 > 0 && $6 >= $3 && ($3 - $7)^2 < e^2 && ($2 - $8)^2 < e^2 &&
            ($6 - $9)^2 < e^2 && $2 + $3 < $1 + e && $6 < $1 + e) }" ||
            complain "$ran: times of $form"
    done
    succeeds 2 --rounds 4 --csv "$work/csv" --generate grid:3x40
    [ "$found" = "$(grep -E '^(iterations|pairs|fingerprint)' "$work/out")" ] ||
        complain "$ran: differs from one round"
    same_bytes "$work/csv"
    lines=$(grep -c '^rota,[0-9]' "$work/csv")
    has "iterations   $lines" || complain "$ran: lines in the CSV file"
    for form in mpi exchange rota; do
        # shellcheck disable=SC2046
        set -- $(row "$form" 4 5)
        awk "BEGIN { exit !($2 <= $1 && $2 > 0) }" ||
            complain "$ran: times of $form"
    done
}

case_skewed()
{
    make_star
    succeeds 2 --verify --expect 6001 "$work/star"
    has 'the fullest rank has 1.0' || complain "$ran: not balanced"
    succeeds 3 --verify --expect 6001 "$work/star"
    has 'the fullest rank has 1.0' || complain "$ran: not balanced"
    has '2 vertices are split' || complain "$ran: vertices split"
    # A long way behind them, and one that leads to them: pairs that end in them
    # come long after they were split, and go on.
    i=0
    while [ "$i" -lt 12 ]; do
        echo "$((5001 + i)) $((5002 + i))" >>"$work/star"
        echo "$((6000 + i)) $((6001 + i))" >>"$work/star"
        i=$((i + 1))
    done
    echo 6012 0 >>"$work/star"
    succeeds 3 --exchange exchange --verify "$work/star"
    found=$(grep -E '^(iterations|pairs|fingerprint)' "$work/out")
    succeeds 3 --exchange exchange --verify --no-split "$work/star"
    has '0 vertices are split' || complain "$ran: vertices split"
    [ "$found" = "$(grep -E '^(iterations|pairs|fingerprint)' "$work/out")" ] ||
        complain "$ran: differs from vertices split"
}

case_memory()
{
    succeeds 2 --generate grid:3x9
    has ' MiB a rank at most' || complain "$ran: no line of memory"
    fails 'out of memory: no room for' 2 --exchange mpi --memory 48 \
        --generate grid:300x300
    has 'a rank may have 48 MiB' || complain "$ran: no limit named"
}

case_plot()
{
    if ! command -v gnuplot >/dev/null; then
        echo "gnuplot is not installed"
        exit 77
    fi
    plot=$(dirname "$0")/../../examples/common/plot.gp
    succeeds 2 --exchange both --csv "$work/csv" --generate grid:3x20
    gnuplot -e "csv='$work/csv'; svg='$work/svg'" "$plot" >"$work/out" 2>&1 ||
        complain "plot.gp: exit code $?"
    # A marker for each iteration and exchange above, for each iteration below.
    points=$(grep -c "<use xlink:href='#gpPt6'" "$work/svg")
    wanted=$((3 * $(grep -c '^mpi,' "$work/csv") + 2))
    [ "$points" -eq "$wanted" ] ||
        complain "plot.gp: $points points, not $wanted"
    if gnuplot "$plot" >"$work/out" 2>&1 || ! has 'usage: gnuplot'; then
        complain "plot.gp takes no file"
    fi
}

run_case
