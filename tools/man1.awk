# man1.awk - a manual page of section 1 from what a program prints for --help.
#
#   PROGRAM --help | awk -v name=NAME -v summary=SUMMARY -v version=VERSION \
#       -v also="NAME(SECTION) ..." -f tools/man1.awk
#
# The lines that begin with "usage:", and those below it, are the SYNOPSIS; the
# rest is the DESCRIPTION, as it stands.

function escape(text)
{
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    sub(/^[.']/, "\\\\\\&&", text)
    return text
}

BEGIN {
    printf ".\\\" Made from %s --help.\n.TH %s 1 \"\" \"Rota %s\"\n", \
        name, toupper(name), version
    printf ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n", name, escape(summary)
}

NR == 1 { sub(/^usage: /, "") }
!described && $0 == "" {
    described = 1
    print ".fi\n.SH DESCRIPTION\n.nf"
    next
}
!described { sub(/^       /, "") }
{ print escape($0) }

END {
    n = split(also, names, " ")
    print ".fi\n.SH SEE ALSO"
    for (i = 1; i <= n; i++) {
        split(names[i], part, /[()]/)
        printf ".BR %s (%s)%s\n", escape(part[1]), part[2], i < n ? "," : ""
    }
}
