# gain.awk - for every S and value of the open parameter how many times as long
# the algorithm against takes.
function take(p) {
    if (p == 2) { theirs[S] = time; return }
    ours[S, value] = time
    note(values, value)
}

END {
    finish("time of " against " over that of " label_family(pattern[1]))
    n = sort(all_sizes, s)
    m = sort(values, v)
    print "cells"
    for (i = 1; i <= n; i++)
        for (k = 1; k <= m; k++)
            if ((s[i], v[k]) in ours && s[i] in theirs)
                print i, k, theirs[s[i]] / ours[s[i], v[k]]
    print "\n\nsizes"
    for (i = 1; i <= n; i++) print i, s[i]
    print "\n\nvalues"
    for (k = 1; k <= m; k++) print k, v[k]
}

function label_family(pattern) {
    pattern = label(pattern)
    sub(/, best .*/, "", pattern)
    return pattern
}
