# lines.awk - time over S or, with over=P, over the number of ranks; a line for
# every pattern, the fastest of what matches it.
function take(p,    x) {
    x = over == "P" ? P : S
    xs[x] = 1
    if (!((p, x) in best) || time < best[p, x]) best[p, x] = time
}

END {
    finish("time of one exchange")
    n = sort(xs, x)
    for (p = 1; p <= n_patterns; p++) {
        print (p > 1 ? "\n\n" : "") "\"" label(pattern[p]) "\""
        for (i = 1; i <= n; i++)
            if ((p, x[i]) in best) print x[i], best[p, x[i]]
    }
}
