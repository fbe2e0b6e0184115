# spread.awk - for every S and pattern least, quartiles and most of the times of
# all values of the open parameters and of all runs, and the values that take the
# least.
BEGIN { many = 1 }

function take(p) {
    n_times[p, S]++
    times[p, S, n_times[p, S]] = time
    if (n_times[p, S] == 1 || time + 0 < fastest[p, S] + 0) {
        fastest[p, S] = time
        best[p, S] = value
    }
}

function quantile(q, n,    at, below) {
    at = 1 + q * (n - 1)
    below = int(at)
    return below == n ? t[n] : t[below] + (at - below) * (t[below + 1] - t[below])
}

# The times of p and S, in ascending order in t[1..n].
function order(p, S,    n, i, j, x) {
    n = n_times[p, S]
    for (i = 1; i <= n; i++) {
        x = times[p, S, i]
        for (j = i; j > 1 && t[j - 1] > x; j--) t[j] = t[j - 1]
        t[j] = x
    }
    return n
}

END {
    finish("spread over all values of a parameter")
    n = sort(all_sizes, s)
    for (p = 1; p <= n_patterns; p++) {
        print "\"" label_all(pattern[p]) "\""
        for (i = 1; i <= n; i++) {
            if (!n_times[p, s[i]]) continue
            m = order(p, s[i])
            print i + (p - (n_patterns + 1) / 2) * 0.8 / n_patterns, t[1], \
                quantile(0.25, m), quantile(0.5, m), quantile(0.75, m), t[m], \
                "\"" best[p, s[i]] "\""
        }
        print "\n"
    }
    print "sizes"
    for (i = 1; i <= n; i++) print i, s[i]
}

function label_all(pattern) {
    pattern = label(pattern)
    gsub(/, best /, ", every ", pattern)
    return pattern
}
