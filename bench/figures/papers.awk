# papers.awk - the page (second file) with what it has of the CSV of simulate.sh (first
# file) made anew; or with -v wanted=yes what it needs, in lines of MACHINE RANKS_PER_NODE
# RANKS S DIST ALGO,... How the page says what is in it: papers.sh.

BEGIN {
    FS = ","
    node["theta"] = 64
    node["glex"] = node["glex4"] = 24
    node["fugaku"] = node["polaris"] = node["hpca"] = 32
}

# ---- the CSV -----------------------------------------------------------------

NR == FNR {
    if ($4 != "fixed" || $3 != node[$1]) next
    time[$1, $2, $5, $6, $7] = $8
    n = index($7 ":", ":")
    all = $1 SUBSEP $2 SUBSEP $5 SUBSEP $6 SUBSEP substr($7, 1, n) "*"
    if (!(all in time) || $8 + 0 < time[all] + 0) {
        time[all] = $8
        whose[all] = $7
    }
    next
}

# ---- expressions -------------------------------------------------------------

# In microseconds the least time of ALGO, ... on the machine; best is whose it is. FORM:*
# is the form with all parameters that the CSV has, which other commands add to it.
function least(algos,    i, n, one, key, t) {
    if (wanted) {
        gsub(/ /, "", algos)
        if (algos !~ /[*]/) print machine, node[machine], ranks, size, dist, algos
        return 1
    }
    n = split(algos, one, /, */)
    for (i = 1; i <= n; i++) {
        key = machine SUBSEP ranks SUBSEP dist SUBSEP size SUBSEP one[i]
        if (!(key in time)) {
            print "no time of " one[i] " on " machine ", " ranks " ranks, " size \
                " B, " dist > "/dev/stderr"
            exit failed = 1
        }
        if (t == 0 || time[key] + 0 < t) {
            t = time[key] + 0
            best = key in whose ? whose[key] : one[i]
        }
    }
    return t
}

# MACHINE RANKS S [DIST]: ALGO, ... [/ ALGO, ...]: milliseconds, or a quotient of two
# times, which quotient is then.
function value(text,    part, word, side, n) {
    n = index(text, ": ")
    part = substr(text, n + 2)
    n = split(substr(text, 1, n - 1), word, " ")
    machine = word[1]; ranks = word[2]; size = word[3]
    dist = n > 3 ? word[4] : "uniform"
    if (!(machine in node)) {
        print "no machine " machine " in: " text > "/dev/stderr"
        exit failed = 1
    }
    quotient = split(part, side, " / ") == 2
    return quotient ? least(side[1]) / least(side[2]) : least(part) / 1e3
}

# Three digits, no exponent.
function number(x) { return sprintf(x < 1000 ? "%.3g" : "%.0f", x) }

# 12345.6 as 12,346.
function whole(x,    text) {
    text = sprintf("%.0f", x)
    return length(text) > 3 ? substr(text, 1, length(text) - 3) "," \
        substr(text, length(text) - 2) : text
}

# What a column says of x, whose algorithm is best.
function shown(x, flags,    text) {
    text = flags ~ /us/ ? whole(x * 1e3) : number(x)
    if (flags ~ /best/) text = text " (" substr(best, index(best, ":") + 1) ")"
    sub(/ [(]leaders=/, " (", text)
    sub(/:intranode=shm[)]/, ")", text)
    return text
}

# ---- rows that say themselves what they are ----------------------------------

$0 ~ /^\|.*\| `[a-z0-9]+ [0-9]+ [0-9]+( [a-z0-9_.:]+)?: [^`]*` \|/ {
    split($0, cell, " [|] ")
    text = cell[4]
    gsub(/`/, "", text)
    ours = value(text)
    rows++
    match(cell[2], /[0-9][0-9.,]*/)
    published = substr(cell[2], RSTART, RLENGTH)
    gsub(/,/, "", published)
    if (published + 0 > 0)
        sub(/[(][-+0-9]* %/, sprintf("(%+.0f %%", 100 * (ours / published - 1)), cell[5])
    if (!wanted)
        printf "%s | %s | %s%s | %s | %s\n", cell[1], cell[2], number(ours),
            quotient ? "" : " ms", cell[4], cell[5]
    next
}

# ---- tables ------------------------------------------------------------------

/^<!-- cells$/ {
    specs = 0
    in_specs = 1
}
in_specs && /^[0-9]+[a-z ]*: / {
    colon = index($0, ": ")
    column[++specs] = substr($0, 1, colon - 1)
    spec[specs] = substr($0, colon + 2)
}
/^-->$/ { in_specs = 0 }

# What $N of a specification stands for: the first number of the cell, or all of it.
function standing(text,    n) {
    gsub(/[`*]/, "", text)
    if (text ~ /^[0-9]/) {
        sub(/ .*/, "", text)
        gsub(/,/, "", text)
    }
    return text
}

function filled(text, cell, n,    i, mark) {
    for (i = n; i >= 1; i--) {
        mark = "[$]" i
        gsub(mark, standing(cell[i]), text)
    }
    return text
}

# The name of the column whose value is least.
function name_least(text, values,    i, n, one, pair, least_value, name) {
    n = split(text, one, /, */)
    for (i = 1; i <= n; i++) {
        split(one[i], pair, " ")
        if (name == "" || values[pair[1]] < least_value) {
            least_value = values[pair[1]]
            name = pair[2]
        }
    }
    return name
}

specs && /^\|/ && !/^\| ?-/ && seen_rule {
    line = $0
    sub(/^\| */, "", line)
    sub(/ *\|$/, "", line)
    n = split(line, cell, / *[|] */)
    for (i = 1; i <= specs; i++) {
        at = column[i] + 0
        if (cell[at] == "" || cell[at] == "-") continue
        if (column[i] ~ /least/) {
            cell[at] = name_least(spec[i], values)
        } else if (column[i] ~ /bold/) {
            at = name_least(spec[i], values)
            cell[at] = "**" cell[at] "**"
        } else {
            values[at] = value(filled(spec[i], cell, n))
            if (!wanted) {
                rest = cell[at]
                gsub(/[*]/, "", rest)
                sub(/^[0-9.,]+/, "", rest)
                if (column[i] ~ /best/) rest = ""
                cell[at] = shown(values[at], column[i]) rest
            }
        }
    }
    made = "|"
    for (i = 1; i <= n; i++) made = made " " cell[i] " |"
    gsub(/\|  \|/, "| |", made)
    if (!wanted) print made
    tables_rows++
    next
}
/^\| ?---/ { seen_rule = 1 }
!/^\|/ {
    if (seen_rule) specs = 0
    seen_rule = 0
}
{ if (!wanted) print }

END {
    if (!failed && (rows == 0 || tables_rows == 0)) {
        print "no rows or no tables in the page" > "/dev/stderr"
        failed = 1
    }
    exit failed
}
