# dists.awk - time by distribution, a bar for every pattern.
function take(p,    d) {
    d = field("dist")
    if (!(d in known)) { known[d] = 1; name_of[++n] = d }
    if (!((p, d) in best) || time < best[p, d]) best[p, d] = time
}

END {
    finish("time of one exchange")
    printf "distribution"
    for (p = 1; p <= n_patterns; p++) printf " \"%s\"", label(pattern[p])
    print ""
    for (i = 1; i <= n; i++) {
        printf "\"%s\"", name_of[i]
        for (p = 1; p <= n_patterns; p++)
            printf " %s", (p, name_of[i]) in best ? best[p, name_of[i]] : "?"
        print ""
    }
}
