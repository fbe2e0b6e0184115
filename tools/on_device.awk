# on_device.awk - what tables of rota-bench say about Rota's aims, as Markdown.
#
#   awk -f tools/on_device.awk TABLE.csv...
#
# The tables are those of on_device.sh, in any number. For memory of the host the
# fastest `auto` of all tables of a case, for each kind of memory, counts against the
# fastest of MPI's there, whatever settings they were made with.
BEGIN {
    FS = ","
    copied = "multi_pair:device=copy_to_cpu"
    direct = "multi_pair:device=cuda_ipc"
    # [Nam25], section 4.3: 128 ranks with a GPU each, 4 a node, Copy-to-CPU
    # Nonblocking over Spectrum MPI's own.
    paper[2048] = 1.01
    paper[4096] = 0.16
    paper[524288] = 1.6
    paper[8388608] = 3
    n_ways = split("multi_pair:device=copy_to_cpu:batch=5 pairwise:device=copy_to_cpu" \
        " rota_mpi:device=copy_to_cpu multi_pair:device=cuda_aware:batch=5" \
        " scattered:device=cuda_aware:batch=5 pairwise:device=cuda_aware" \
        " rota_mpi:device=cuda_aware", way, " ")
    split("Copy-to-CPU Nonblocking|Copy-to-CPU Pairwise|Copy-to-CPU MPI|" \
        "CUDA-aware Waitany Stride|CUDA-aware Waitall Stride|CUDA-aware Pairwise|" \
        "CUDA-aware MPI", title, "|")
}

{
    gsub(/"/, "")
}

FNR == 1 {
    delete column
    for (i = 1; i <= NF; i++)
        column[$i] = i
    file = FILENAME
    sub(/.*\//, "", file)
    sub(/\.csv$/, "", file)
    is_strategy = file ~ /^strategies/
    next
}

{
    algo = $column["algo"] ($column["params"] != "" ? ":" : "") $column["params"]
    S = $column["max_bytes"]
    P = $column["P"]
    us = $column["median_us"]
    kind = $column["kind"]
    mem = $column["mem"]
    dist = $column["dist"]
    case_of = P SUBSEP kind SUBSEP dist SUBSEP S SUBSEP $column["starts"]
}

is_strategy {
    strategy[P, S, algo] = us
    strategy_sizes[S] = 1
    strategy_ranks[P] = 1
    next
}

mem == "cuda" {
    sharing = file ~ /mps/ ? "MPS" : "in turn"
    device[P, S, sharing, algo] = us
    bound[P, S, sharing, algo] = $column["ratio_to_bound"]
    device_cases[P, S, sharing] = 1
    next
}

file ~ /^openmpi/ {
    case_of = "Open MPI" SUBSEP case_of
}

algo ~ /^mpi/ && (!(case_of in best_mpi) || us < best_mpi[case_of]) {
    best_mpi[case_of] = us
    best_by[case_of] = algo " in " file
}

algo == "auto" && (!((case_of, mem) in auto_us) || us < auto_us[case_of, mem]) {
    auto_case[case_of, mem] = case_of
    auto_us[case_of, mem] = us
    auto_name[case_of, mem] = file ", S = " S
}

function verdict(goal, holds, n, worst, where)
{
    if (n)
        printf "| %s | %d of %d | %.2f | %s |\n", goal, holds, n, worst, where
}

# How often numerator / denominator is at least the goal, for sizes from least on.
function ratios(goal, numerator, denominator, least, aim,    c, part, r, n, holds, worst, where)
{
    n = holds = 0
    for (c in device_cases) {
        split(c, part, SUBSEP)
        if (part[2] < least || !((c SUBSEP numerator) in device) ||
            !((c SUBSEP denominator) in device))
            continue
        r = device[c, numerator] / device[c, denominator]
        n++
        holds += r >= aim
        if (n == 1 || r < worst) {
            worst = r
            where = part[1] " ranks, S = " part[2] ", GPU shared: " part[3]
        }
    }
    verdict(goal, holds, n, worst, where)
}

function bounds(    c, part, n, holds, worst, where)
{
    for (c in device_cases) {
        split(c, part, SUBSEP)
        if (part[2] < 65536 || bound[c, copied] == "")
            continue
        n++
        holds += bound[c, copied] >= 0.8
        if (n == 1 || bound[c, copied] < worst) {
            worst = bound[c, copied]
            where = part[1] " ranks, S = " part[2] ", GPU shared: " part[3]
        }
    }
    verdict("copies of staging, of the bus's bandwidth: 0.8 from 64 KiB", holds, n,
        worst, where)
}

function hosts(    i, c, r, n, holds, worst, where)
{
    for (i in auto_case) {
        c = auto_case[i]
        if (!(c in best_mpi))
            continue
        r = best_mpi[c] / auto_us[i]
        n++
        holds += r >= 1
        if (n == 1 || r < worst) {
            worst = r
            where = auto_name[i] ", " best_by[c]
        }
        if (r < 1)
            slower[++n_slower] = sprintf("| %s | %.2f | %.2f | %s |", auto_name[i],
                auto_us[i], best_mpi[c], best_by[c])
    }
    verdict("`auto` over MPI's fastest, any setting: 1", holds, n, worst, where)
}

# The keys of a set of numbers, in order.
function sorted(set, into,    k, n, i)
{
    n = 0
    for (k in set) {
        for (i = n++; i > 0 && into[i] + 0 > k + 0; i--)
            into[i + 1] = into[i]
        into[i + 1] = k
    }
    return n
}

# Gains over the MPI that takes memory of the device or, where there is none, over
# MPI between copies in memory that is kept.
function strategies(    i, j, k, n_P, n_S, base, line)
{
    n_P = sorted(strategy_ranks, ranks)
    n_S = sorted(strategy_sizes, size)
    for (i = 1; i <= n_P; i++) {
        base = way[7]
        if (!((ranks[i] SUBSEP size[1] SUBSEP base) in strategy))
            base = way[3]
        printf "\n## The strategies of [Nam25], %d ranks\n\n", ranks[i]
        printf "Microseconds of `%s`, and how many times as fast the others are. " \
            "\"paper\" is what\n[Nam25] says of Copy-to-CPU Nonblocking over Spectrum " \
            "MPI's CUDA-aware MPI_Alltoallv, on 128\nranks of Lassen with a GPU each; " \
            "here the ranks share a GPU.\n\n", base
        line = "| S | `" base "` |"
        for (k = 1; k <= n_ways; k++)
            line = line " " title[k] " |"
        print line " `auto` | paper |"
        gsub(/[^|]+/, " --- ", line)
        print line " --- | --- |"
        for (j = 1; j <= n_S; j++) {
            b = strategy[ranks[i], size[j], base]
            if (b == "")
                continue
            line = "| " size[j] " | " b " |"
            for (k = 1; k <= n_ways; k++)
                line = line gain(b, ranks[i], size[j], way[k])
            print line gain(b, ranks[i], size[j], "auto") " " \
                (size[j] in paper ? paper[size[j]] : "") " |"
        }
    }
}

function gain(base, P, S, algo)
{
    if (!((P, S, algo) in strategy))
        return " |"
    return sprintf(" %.2f |", base / strategy[P, S, algo])
}

END {
    print "| aim | holds | worst | where |"
    print "| --- | --- | ---: | --- |"
    hosts()
    ratios("staging over memory that is allocated in every call: 3 from 64 KiB",
        "mpi_naive", copied, 65536, 3)
    ratios("staging over MPI between copies in memory that is kept: 1 from 64 KiB",
        "mpi", copied, 65536, 1)
    ratios("the same: 1.3 from 1 MiB", "mpi", copied, 1048576, 1.3)
    ratios("`cuda_ipc` over staging: 3 from 1 MiB", copied, direct, 1048576, 3)
    bounds()
    ratios("`auto` over `cuda_ipc`: 0.9", direct, "auto", 0, 0.9)
    ratios("`auto` over staging: 0.9", copied, "auto", 0, 0.9)
    if (n_slower) {
        print "\nSlower than MPI's fastest:\n"
        print "| table | `auto` | MPI | which |"
        print "| --- | ---: | ---: | --- |"
        for (i = 1; i <= n_slower; i++)
            print slower[i]
    }
    strategies()
}
