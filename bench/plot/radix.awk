# radix.awk - time over the parameter that is left open, a line for every S.
function take(p) {
    times[S, value] = time
    note(values, value)
}

END {
    finish("time over the " key)
    n_values = sort(values, v)
    n = sort(all_sizes, s)
    for (i = 1; i <= n; i++) {
        print "\"S = " s[i] " B\""
        least = ""
        for (k = 1; k <= n_values; k++) {
            if (!((s[i], v[k]) in times)) continue
            t = times[s[i], v[k]]
            print v[k], t
            if (least == "" || t < least) { least = t; at = v[k] }
        }
        print "\n"
        best = best at " " least "\n"
    }
    print "best\n" best
}
