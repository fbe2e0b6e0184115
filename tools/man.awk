# man.awk - manual pages of section 3 and 7 from include/rota.h.
#
#   awk -v folder=FOLDER -v version=VERSION -f tools/man.awk include/rota.h
#
# One page for each function, from the comment before it: its first sentence is
# the NAME, paragraphs that begin with "Errors:" are ERRORS, lines of a name, two
# blanks and a text are a list. The heading of the file is rota.3, the comment
# that begins with "Hints" is rota_hints.7.

function escape(text)
{
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    sub(/^\./, "\\\\\\&.", text)
    return text
}

function begin_page(name, section, summary)
{
    page = folder "/" name "." section
    printf ".\\\" Made from rota.h.\n.TH %s %s \"\" \"Rota %s\"\n", \
        toupper(name), section, version >page
    printf ".SH NAME\n%s \\- %s\n", name, escape(summary) >page
}

# The first sentence of a comment, without a capital and a stop.
function summary_of(text,    end)
{
    gsub(/\n/, " ", text)
    end = match(text, /[.:;] /)
    if (end > 0)
        text = substr(text, 1, end - 1)
    sub(/\.[ ]*$/, "", text)
    return tolower(substr(text, 1, 1)) substr(text, 2)
}

# A paragraph of n lines; sets listed when it ends in a list.
function print_paragraph(line, n,    i, name)
{
    if (line[1] ~ /^Errors:/)
        print ".SH ERRORS" >page
    else
        print ".PP" >page
    for (i = 1; i <= n; i++) {
        if (match(line[i], /^[a-z][A-Za-z_, \[\]]*[a-z\]]  +/)) {
            name = substr(line[i], 1, RLENGTH)
            line[i] = substr(line[i], RLENGTH + 1)
            sub(/ +$/, "", name)
            printf ".TP\n.B %s\n", escape(name) >page
        } else if (match(line[i], /^Errors: /)) {
            line[i] = substr(line[i], RLENGTH + 1)
        } else if (line[i] ~ /\. Errors: /) { # in the middle of a line
            print escape(substr(line[i], 1, index(line[i], " Errors: "))) >page
            print ".SH ERRORS" >page
            line[i] = substr(line[i], index(line[i], " Errors: ") + 9)
        }
        sub(/^ +/, "", line[i])
        print escape(line[i]) >page
    }
}

function print_text(text,    lines, line, n_lines, n, i)
{
    n_lines = split(text, lines, "\n")
    n = 0
    for (i = 1; i <= n_lines + 1; i++) {
        if (i <= n_lines && lines[i] != "" &&
            !(n > 0 && lines[i] ~ /^Errors:/)) {
            line[++n] = lines[i]
            continue
        }
        if (n > 0)
            print_paragraph(line, n)
        n = 0
        if (i <= n_lines && lines[i] != "")
            line[++n] = lines[i]
    }
}

# Paragraphs of the heading that begin with a word and a stop are sections.
function print_heading(text,    lines, n, i, word)
{
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) {
        word = lines[i]
        if (match(word, /^   ?[A-Z][a-z]+\. /) && lines[i - 1] == "") {
            word = substr(word, 1, RLENGTH - 2)
            sub(/^ +/, "", word)
            print ".SS " word >page
            lines[i] = substr(lines[i], RLENGTH + 1)
        } else if (lines[i] == "") {
            print ".PP" >page
            continue
        }
        sub(/^ +/, "", lines[i])
        print escape(lines[i]) >page
    }
}

function print_function(text, declaration,    name)
{
    name = declaration
    sub(/\(.*/, "", name)
    sub(/.*[ *\n]/, "", name)
    sub(/^ROTA_API /, "", declaration)
    begin_page(name, 3, summary_of(text))
    print ".SH SYNOPSIS\n.nf\n.B #include <rota.h>\n" >page
    gsub(/\n */, " ", declaration)
    gsub(/, /, ",\n    ", declaration)
    print escape(declaration) >page
    print ".fi\n.SH DESCRIPTION" >page
    print_text(text)
    print ".SH SEE ALSO\n.BR rota (3),\n.BR rota_hints (7)" >page
    close(page)
}

/^\/\*/ { comment = ""; in_comment = 1 }

in_comment {
    line = $0
    ended = line ~ /\*\/$/
    sub(/ *\*\/$/, "", line) # before the star of a line that has no more
    sub(/^\/\* ?/, "", line)
    sub(/^ \* ?/, "", line)
    comment = comment (comment == "" ? "" : "\n") line
    if (!ended)
        next
    in_comment = 0
    if (NR > 1 && !headed++) {
        sub(/^[^\n]*\n/, "", comment)
        begin_page("rota", 3, "plan an all-to-all once, run it thousands of times")
        print ".SH DESCRIPTION" >page
        print_heading(comment)
        print ".SH SEE ALSO\n.BR rota_hints (7),\n.BR rota_alltoallv_init (3)" >page
        close(page)
    } else if (comment ~ /^-+\nHints\n/) {
        sub(/^-+\nHints\n/, "", comment)
        sub(/\n-+$/, "", comment)
        begin_page("rota_hints", 7, "hints and environment variables of Rota")
        print ".SH DESCRIPTION\n.nf" >page
        print escape(comment) >page
        print ".fi\n.SH SEE ALSO\n.BR rota (3)" >page
        close(page)
    }
    next
}

/^ROTA_API/ { declaration = "" ; in_declaration = 1 }

in_declaration {
    declaration = declaration (declaration == "" ? "" : "\n") $0
    if ($0 !~ /;$/)
        next
    in_declaration = 0
    print_function(comment, declaration)
}
