# parts.awk - what the time of the mean rank goes to, a bar for every algorithm.
function take(p) {
    if (field("calls_us") == "") {
        print "plot.sh: it is not known what the time of " name \
            " goes to" > "/dev/stderr"
        failed = 1
        exit 1
    }
    parts[p] = field("calls_us") " " field("copies_us") " " \
        field("sizes_us") " " field("inside_us") " " field("between_us")
}

END {
    finish("what the time of the mean rank goes to")
    print "algorithm \"posting sends\" \"copies\" \"waiting for sizes\"" \
        " \"waiting inside the node\" \"waiting between nodes\""
    for (p = 1; p <= n_patterns; p++)
        if (p in parts) print "\"" name_of(pattern[p]) "\"", parts[p]
}

function name_of(pattern) {
    gsub(/:/, "\\n", pattern)
    sub(/parlinna_/, "parlinna_\\n", pattern)
    sub(/metadata=/, "metadata=\\n", pattern)
    return pattern
}
