# scaling_tables.awk - the page (second file) with its tables made anew from the
# CSV of simulate.sh or scale.sh (first file). What is in it: scaling_tables.sh.

BEGIN {
    FS = ","
    forms = "parlogna_published,parlinna_coalesced_published," \
        "parlinna_staggered_published,sloav_published,padded_bruck_published," \
        "l_a2a_published,mpml_published,nmpml_published,onmpml_published"
}

# ---- the CSV -----------------------------------------------------------------

NR == FNR && FNR == 1 {
    for (i = 1; i <= NF; i++) column[$i] = i
    next
}

# The first seven columns say of what a row is.
NR == FNR {
    key = $1
    for (i = 2; i <= 7; i++) key = key FS $i
    result[key] = $column["verified"] == "late" ? "late" : $column["median_us"]
    like[$2, $5, $6] = $column["mean_part"] " " $column["largest_share"]
    if ($7 ~ /_published/) publish(substr(key, 1, length(key) - length($7)), $7)
    # The papers' machines have a page of their own.
    if ($4 == "fixed" && $5 == "uniform" && $1 !~ /^(theta|fugaku|polaris)$/)
        compete($1, $2, $6, $7, $column["median_us"])
    next
}

# Of a form as published the fastest, and with which parameters.
function publish(at, name,    form, n) {
    n = index(name ":", ":")
    form = substr(name, 1, n - 1)
    if (!((at form) in best_params) || result[at name] + 0 < result[at form] + 0) {
        result[at form] = result[at name]
        best_params[at form] = substr(name, n + 1)
    }
}

# For the table of gains: the fastest of each kind.
function compete(machine, P, S, name, time,    what) {
    if (name ~ /:intranode=shm$/) what = "plan"
    else if (name ~ /^parlogna_published/) what = "parlogna"
    else if (name ~ /^parlinna_.*_published/) what = "parlinna"
    else if (name ~ /^(l_a2a|mpml|nmpml|onmpml)_published/) what = "leaders"
    else if (name == "mpich_scattered") what = "mpich"
    else return
    if (!(machine in machines)) {
        machines[machine] = 1
        machine_named[++n_machines] = machine
    }
    all_ranks[P] = 1
    all_sizes[S] = 1
    if (!((machine, P, S, what) in fastest) ||
        time + 0 < fastest[machine, P, S, what] + 0) {
        fastest[machine, P, S, what] = time
        named[machine, P, S, what] = name
    }
}

# ---- the page ----------------------------------------------------------------

function decimal(time) {
    if (time == "" || time == "late") return time == "" ? "-" : time
    if (time + 0 < 999.95) return sprintf("%.1f", time)
    time = sprintf("%.0f", time)
    return substr(time, 1, length(time) - 3) "," substr(time, length(time) - 2)
}

function whole(n) {
    return n + 0 < 1000 ? n : int(n / 1000) sprintf(",%03d", n % 1000)
}

# The indices of set, numbers, in ascending order in sorted[1..n].
function sort(set, sorted,    n, j, value) {
    for (value in set) {
        for (j = ++n; j > 1 && sorted[j - 1] + 0 > value + 0; j--)
            sorted[j] = sorted[j - 1]
        sorted[j] = value
    }
    return n
}

# "published" stands for all forms, each with its best parameters.
function with_published(algos,    algo, n, i, all) {
    n = split(algos, algo, ",")
    for (i = 1; i <= n; i++)
        all = all (i > 1 ? "," : "") (algo[i] == "published" ? forms : algo[i])
    return all
}

# A command of the table: its algorithms and sizes become rows and columns.
function add_command(line,    word, n, i, o, algo, m, size, k, s, a, at) {
    n = split(line, word, " ")
    o["--machine"] = "dragonfly"
    o["--ranks"] = 64
    o["--node"] = 32
    o["--sizes"] = "16,64,512,2048,8192"
    o["--kind"] = "fixed"
    o["--dist"] = "uniform"
    for (i = 3; i < n; i += 2) o[word[i]] = word[i + 1]
    at = o["--machine"] FS o["--ranks"] FS \
        (o["--node"] + 0 < o["--ranks"] + 0 ? o["--node"] : o["--ranks"]) FS \
        o["--kind"] FS o["--dist"] FS
    m = split(with_published(o["--algos"]), algo, ",")
    k = split(o["--sizes"], size, ",")
    for (a = 1; a <= m; a++) {
        if (!(algo[a] in is_row)) {
            is_row[algo[a]] = 1
            row[++n_rows] = algo[a]
        }
        for (s = 1; s <= k; s++) {
            is_size[size[s]] = 1
            cell[algo[a], size[s]] = result[at size[s] FS algo[a]]
            if ((at size[s] FS algo[a]) in best_params)
                params[algo[a], size[s]] = best_params[at size[s] FS algo[a]]
            if (inside == "dists")
                by_dist[n_dists + 1, algo[a]] = result[at size[s] FS algo[a]]
        }
    }
}

function add_dist(line,    word, n, i) {
    add_command(line)
    n_dists++
    dist_named[n_dists] = "uniform"
    n = split(line, word, " ")
    for (i = 3; i < n; i += 2) {
        if (word[i] == "--dist") dist_named[n_dists] = word[i + 1]
        if (word[i] == "--ranks") dist_ranks[n_dists] = word[i + 1]
        if (word[i] == "--sizes") dist_size[n_dists] = word[i + 1]
    }
}

function print_table(    n, size, s, r, time, least, text) {
    n = sort(is_size, size)
    text = "| S, bytes |"
    for (s = 1; s <= n; s++) text = text " " whole(size[s]) " |"
    print text
    text = "| --- |"
    for (s = 1; s <= n; s++) {
        text = text " ---: |"
        for (r = 1; r <= n_rows; r++) {
            time = cell[row[r], size[s]]
            if (time ~ /^[0-9]/ && (!(s in least) || time + 0 < least[s] + 0))
                least[s] = time
        }
    }
    print text
    for (r = 1; r <= n_rows; r++) {
        text = "| `" row[r] "` |"
        for (s = 1; s <= n; s++) {
            time = decimal(cell[row[r], size[s]])
            text = text (time == decimal(least[s]) && time != "-" \
                         ? " **" time "**" : " " time)
            if (params[row[r], size[s]] != "")
                text = text " (" params[row[r], size[s]] ")"
            text = text " |"
        }
        print text
    }
}

# Rows of a table with shared_leaders_grid, the fastest of the other plans of the
# command, and the fastest of all forms as published.
function add_grid(line,    word, n, i, o, ranks, size, algo, r, k, s, a, m, at, us, name) {
    n = split(line, word, " ")
    for (i = 3; i < n; i += 2) o[word[i]] = word[i + 1]
    r = split(o["--ranks"], ranks, ",")
    k = split(o["--sizes"], size, ",")
    m = split(with_published(o["--algos"]), algo, ",")
    for (i = 1; i <= r; i++)
        for (s = 1; s <= k; s++) {
            at = o["--machine"] FS ranks[i] FS o["--node"] FS "fixed" FS "uniform" FS size[s] FS
            clear(us)
            for (a = 1; a <= m; a++) note_grid(at, algo[a], us, name)
            row[++n_rows] = "| " o["--machine"] " | " whole(ranks[i]) " | " size[s] " | " \
                three(us["grid"]) " | " over_grid(us, name, "other") " | " \
                over_grid(us, name, "published") " |"
        }
}

function note_grid(at, algo, us, name,    what) {
    what = algo ~ /^shared_leaders_grid/ ? "grid" : algo ~ /_published/ ? "published" : "other"
    if (!((at algo) in result) || ((what in us) && us[what] <= result[at algo] + 0)) return
    us[what] = result[at algo] + 0
    name[what] = algo (what == "published" ? ":" best_params[at algo] : "")
    sub(/:intranode=shm$/, "", name[what])
}

function three(time) {
    return sprintf(time < 99.95 ? "%.1f" : "%.0f", time)
}

function over_grid(us, name, what) {
    return "`" name[what] "` | " three(us[what]) " | " sprintf("%.2f", us[what] / us["grid"])
}

function print_grid(    r) {
    print "| machine | ranks | S | `shared_leaders_grid` | other | us | over grid |" \
        " published | us | over grid |"
    print "| --- | ---: | ---: | ---: | --- | ---: | ---: | --- | ---: | ---: |"
    for (r = 1; r <= n_rows; r++) print row[r]
}

function clear(set,    i) {
    for (i in set) delete set[i]
}

# Time, and how many times that of the plan.
function against(at, what,    ours, theirs) {
    if (!((at SUBSEP what) in fastest)) return "-"
    ours = fastest[at SUBSEP "plan"]
    theirs = fastest[at SUBSEP what]
    return decimal(theirs) " (" \
        sprintf(theirs < 9.95 * ours ? "%.1f" : "%.0f", theirs / ours) ")"
}

function print_gains(    n, m, size, ranks, i, k, s) {
    n = sort(all_sizes, size)
    m = sort(all_ranks, ranks)
    print "| machine | ranks | S | fastest plan | us | ParLogNa | ParLinNa |" \
        " leaders | MPICH |"
    print "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: |"
    for (i = 1; i <= n_machines; i++)
        for (k = 1; k <= m; k++)
            for (s = 1; s <= n; s++)
                print_gain(machine_named[i], ranks[k], size[s])
}

function print_gain(machine, P, S,    at, name) {
    at = machine SUBSEP P SUBSEP S
    if (!((at SUBSEP "plan") in fastest) || !((at SUBSEP "parlogna") in fastest))
        return
    name = named[at SUBSEP "plan"]
    sub(/:intranode=shm$/, "", name)
    print "| " machine " | " whole(P) " | " whole(S) " | `" name "` | " \
        decimal(fastest[at SUBSEP "plan"]) " | " against(at, "parlogna") \
        " | " against(at, "parlinna") " | " against(at, "leaders") " | " \
        against(at, "mpich") " |"
}

# One row for each distribution that the commands of the table name.
function print_dists(    r, d, text, part) {
    text = "| sizes | mean, S | largest |"
    for (r = 1; r <= n_rows; r++) text = text " `" row[r] "` |"
    print text
    text = "| --- | ---: | ---: |"
    for (r = 1; r <= n_rows; r++) text = text " ---: |"
    print text
    for (d = 1; d <= n_dists; d++) {
        split(like[dist_ranks[d], dist_named[d], dist_size[d]], part, " ")
        text = sprintf("| `%s` | %.3f | %.1f %% |", dist_named[d], part[1],
            100 * part[2])
        for (r = 1; r <= n_rows; r++)
            text = text " " decimal(by_dist[d, row[r]]) " |"
        print text
    }
}

/^<!-- (gains|dists|grid) -->$/ {
    if (inside) exit wrong("a table in a table")
    inside = $0 ~ /gains/ ? "gains" : $0 ~ /grid/ ? "grid" : "dists"
    n_rows = n_rest = n_dists = 0
    clear(is_row)
    print
    next
}

/^<!-- table -->$/ {
    if (inside) exit wrong("a table in a table")
    inside = "table"
    n_rows = n_rest = 0
    clear(is_row)
    clear(is_size)
    clear(cell)
    clear(params)
    print
    next
}

/^<!-- end -->$/ {
    if (!inside) exit wrong("an end without a beginning")
    if (inside == "gains") print_gains()
    else if (inside == "dists") print_dists()
    else if (inside == "grid") print_grid()
    else print_table()
    for (i = 1; i <= n_rest; i++) print rest[i]
    inside = ""
}

inside && /^\|/ { next }

inside {
    if ($0 ~ /^    sh bench\/figures\/(scale|simulate).sh /) {
        if (inside == "dists") add_dist($0)
        else if (inside == "grid") add_grid($0)
        else add_command($0)
    }
    rest[++n_rest] = $0
    next
}

{ print }

function wrong(text) {
    print FILENAME ":" FNR ": " text > "/dev/stderr"
    return failed = 1
}

END {
    if (inside && !failed) wrong("a table has no end")
    if (failed) exit 1
}
