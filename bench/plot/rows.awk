# rows.awk - reads the CSV of scale.sh or of rota-bench and hands the rows that
# are asked for to take(), a function of the file that goes with this one.
#
# Several runs of one thing are taken if that file sets many.
#
# Variables: machine, ranks, node, sizes, dist, kind ("" for any), algos (patterns,
# with commas), title (file that tells what is plotted).
#
# A pattern is an algorithm with parameters, as in the CSV; a parameter without
# a value stands for every value, as in parlogna:radix.

BEGIN {
    FS = ","
    n_patterns = split(algos, pattern, ",")
    n_sizes = split(sizes, list, ",")
    for (i = 1; i <= n_sizes; i++) size_wanted[list[i]] = 1
}

FNR == 1 {
    delete column
    for (i = 1; i <= NF; i++) column[$i] = i
    next
}

function field(name) { return name in column ? $column[name] : "" }

function wanted(value, asked) { return asked == "" || value == asked }

{
    gsub(/"/, "")
    name = field("name")
    if (name == "" && field("params") == "") name = field("algo")
    else if (name == "") name = field("algo") ":" field("params")
    time = field("median_us")
    P = field("P")
    S = field("max_bytes")
    if (field("verified") !~ /^(true|simulated)$/) next
    if (!wanted(field("machine"), machine) || !wanted(P, ranks) ||
        !wanted(field("ranks_per_node"), node) ||
        !wanted(field("dist"), dist) || !wanted(field("kind"), kind) ||
        (n_sizes > 0 && !(S in size_wanted)))
        next
    for (p = 1; p <= n_patterns; p++)
        if (matches(pattern[p], name)) {
            check(p)
            take(p)
        }
}

# Sets value to those of the parameters that have none in the pattern.
function matches(pattern, name,    n, part, has, i) {
    n = split(pattern, part, ":")
    value = ""
    if (split(name, has, ":") != n) return 0
    for (i = 1; i <= n; i++) {
        if (has[i] == part[i]) continue
        if (i == 1 || index(part[i], "=") || index(has[i], part[i] "=") != 1)
            return 0
        value = value (value == "" ? "" : ",") substr(has[i], length(part[i]) + 2)
    }
    return 1
}

# Rows that differ in nothing that is plotted or asked for are several runs, which
# only some pictures have a place for.
function check(p,    key) {
    key = p SUBSEP P SUBSEP S SUBSEP name SUBSEP field("dist")
    if (key in seen && !many) {
        print "plot.sh: more than one time of " name ", " P " ranks, " S \
            " B, " field("dist") ": choose, by --machine or --node for one" \
            > "/dev/stderr"
        failed = 1
        exit 1
    }
    seen[key] = 1
    rows++
    note(machines, field("machine"))
    note(rankses, P)
    note(dists, field("dist"))
    note(all_sizes, S)
}

function note(set, value) { set[value] = 1 }

function label(pattern,    n, part, i, text, open) {
    n = split(pattern, part, ":")
    text = part[1]
    for (i = 2; i <= n; i++)
        if (index(part[i], "=")) text = text ":" part[i]
        else open = open ", best " part[i]
    return text open
}

# The numbers that are indices of set, in ascending order, in sorted[1..n].
function sort(set, sorted,    n, i, j, value) {
    for (value in set) {
        for (j = ++n; j > 1 && sorted[j - 1] + 0 > value + 0; j--)
            sorted[j] = sorted[j - 1]
        sorted[j] = value
    }
    return n
}

function only(set,    value, found, n) {
    for (value in set) { found = value; n++ }
    return n == 1 ? found : ""
}

# To be called first in END.
function finish(what,    text) {
    if (failed) exit 1
    if (!rows) {
        print "plot.sh: no row is as asked for" > "/dev/stderr"
        exit 1
    }
    if (only(machines) != "") text = only(machines) ", "
    if (only(rankses) != "") text = text only(rankses) " ranks, "
    if (only(all_sizes) != "") text = text "S = " only(all_sizes) " B, "
    if (only(dists) != "") text = text only(dists) " sizes, "
    print text what > title
}
