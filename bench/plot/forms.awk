# forms.awk - for every S and number of ranks which pattern is the fastest, where
# all of them were run.
function take(p) {
    if (!((P, S, p) in ran)) n_ran[P, S] += ran[P, S, p] = 1
    if (!((P, S) in best) || time < best[P, S]) {
        best[P, S] = time
        form[P, S] = p
        at[P, S] = value
    }
}

END {
    finish("the fastest (number: its parameter)")
    n = sort(all_sizes, s)
    m = sort(rankses, r)
    for (p = 1; p <= n_patterns; p++) {
        print "\"" label(pattern[p]) "\""
        for (i = 1; i <= n; i++)
            for (k = 1; k <= m; k++)
                if (form[r[k], s[i]] == p &&
                    n_ran[r[k], s[i]] == n_patterns)
                    print i, k, "\"" at[r[k], s[i]] "\""
        print -9, -9, "\"\"\n\n" # gnuplot skips blocks without a point
    }
    print "sizes"
    for (i = 1; i <= n; i++) print i, s[i]
    print "\n\nranks"
    for (k = 1; k <= m; k++) print k, r[k]
}
