#!/bin/sh
# sim_error.sh - how far rota-price --simulate is from SimGrid's SMPI.
#
#   sh bench/figures/sim_error.sh [--csv FILE] [--price PROGRAM]
#                                 [--table | --order [--real] [--page FILE]]
#
# Every row of docs/scaling.csv, which scale.sh made, is simulated again by
# rota-price on the same machine (bench/machines), except that there a block that is
# copied costs no more than its bytes, and a barrier or a flag in the memory of a node
# nothing. Prints each row with both times and the difference, or with --table for
# each machine, number of ranks and kind how many rows there are, the median and the
# largest difference, and of which algorithm. SMPI's own algorithms are left out.
#
# With --order (docs/stock.csv is for that) what matters to who chooses by the
# simulator, for each case: Kendall's tau of the algorithms in both orders, and
# how much longer than the fastest one takes that which the simulator finds the
# fastest, both by SMPI; and the best form as published over the best plan, in both, of
# those without shared memory and of those with it (intranode=shm); at last over all
# cases the means and shares. Exit status: 1 if that is more than 10 % longer in more
# than one case of ten, or tau is below 0.75; or, with --page, if a row is no line of
# that file.
#
# With --real the CSV is docs/hosts.csv, which hosts.sh measured: plans use shared
# memory, all ranks share two cores, begin up to 0.4 ms late, and ask before they send
# more than 16 KiB, as MPICH does over TCP. Tau is of pairs that are measured at least
# 5 % apart. Of many algorithms the one that was measured fastest was lucky, too. So in
# each round the one that the simulator finds the fastest is compared with the one that
# is fastest by all other rounds; the median of the rounds counts. Two more columns are
# the best form whose members send to leaders over the best one with shared leaders,
# measured and simulated.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

csv='' price=build/bench/rota-price table='' real='' page=''
while [ $# -gt 0 ]; do
    case $1 in
    --csv) csv=$2 ;;
    --price) price=$2 ;;
    --page) page=$2 ;;
    --table | --order)
        table=${1#--}
        shift
        continue ;;
    --real)
        real=yes
        shift
        continue ;;
    *)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    esac
    shift 2
done

if [ -n "$real" ]; then
    : "${csv:=docs/hosts.csv}"
    how='--shared yes --cores 2 --late 400000 --asking 16384'
else
    : "${csv:=docs/scaling.csv}"
    how='--shared no --price copied_block=0,domain_per_phase=0,domain_per_message=0'
fi

# One run of rota-price for all algorithms of a case.
rows()
{
    awk -F, -v real="$real" 'NR > 1 && $7 !~ /^smpi/ && $NF == "true" {
        key = $1 " " $2 " " $3 " " $4 " " $5 " " $6
        if (!(key in algos)) order[++n] = key
        algos[key] = algos[key] (algos[key] ? "," : "") $7
        gsub(/ /, ";", $9)
        times[key] = times[key] " " $8 (real ? ";" $9 : "")
    }
    END { for (i = 1; i <= n; i++) print order[i], algos[order[i]] times[order[i]] }' \
        "$csv" |
        while read -r machine ranks node kind dist size algos times; do
            # shellcheck disable=SC2086 # several words
            "$price" --simulate $how --gaps yes --kind "$kind" \
                --prices "bench/machines/$machine.json" --node "$node" \
                --ranks "$ranks" --size "$size" --dist "$dist" \
                --algos "$algos" </dev/null |
                awk -v key="$machine $ranks $node $kind $dist $size" \
                    -v times="$times" 'BEGIN { split(times, smpi, " ") }
                    !/^#/ && $1 != "algorithm" {
                        t = smpi[++n]
                        rounds = sub(/^[^;]*;/, "", smpi[n]) ? " " smpi[n] : ""
                        printf "%s %s %.3f %.3f %+.1f%s\n", key, $1, t, $4,
                            100 * ($4 / t - 1), rounds
                    }'
        done
}

# Kendall's tau: pairs in one order, less those in the other, of all that differ.
order()
{
    awk -v real="$real" '
    {
        key = $1 " | " $2 ", " $3 " | " $6
        if (!(key in n)) order[++keys] = key
        i = ++n[key]
        name[key, i] = $7
        smpi[key, i] = $8
        sim[key, i] = $9
        rounds = split($11, round, ";")
        for (r = 1; r <= rounds; r++) us[key, i, r] = round[r]
    }
    # Of list[1] to list[m], which are put in order.
    function median(m, i, j, v) {
        for (i = 2; i <= m; i++) {
            v = list[i]
            for (j = i; j > 1 && list[j - 1] > v; j--) list[j] = list[j - 1]
            list[j] = v
        }
        return (list[int((m + 1) / 2)] + list[int(m / 2) + 1]) / 2
    }
    # What is the fastest by all rounds but r?
    function fastest_without(r, i, q, m, us_of, least, found) {
        for (i = 1; i <= n[key]; i++) {
            for (q = m = 0; q < rounds; )
                if (++q != r) list[++m] = us[key, i, q]
            us_of = median(m)
            if (!found || us_of < least) {
                found = i
                least = us_of
            }
        }
        return found
    }
    function regret_of_rounds(r) {
        for (r = 1; r <= rounds; r++)
            ratio[r] = us[key, picked, r] / us[key, fastest_without(r), r]
        for (r = 1; r <= rounds; r++) list[r] = ratio[r]
        return median(rounds)
    }
    function least(v, forms, others, i, found) {
        for (i = 1; i <= n[key]; i++)
            if (name[key, i] ~ forms && name[key, i] !~ others &&
                (!found || v[key, i] < found)) found = v[key, i]
        return found
    }
    function share(v, shared) {
        if (real)
            return over(least(v, "^o?nmpml:", "^$"), least(v, "^shared_leaders", "^$"))
        if (shared) return over(least(v, "_published", "^$"), least(v, "=shm$", "^$"))
        return over(least(v, "_published", "^$"),
                    least(v, "", "_published|^mpich_|=shm$"))
    }
    function shares() {
        return share(smpi) " | " share(sim) \
            (real ? "" : " | " share(smpi, 1) " | " share(sim, 1))
    }
    function over(a, b) {
        return a && b ? sprintf("%.2f", a / b) : "-"
    }
    function judge(i, j, same, other, smpi_less, sim_less) {
        fastest = picked = 1
        for (i = 2; i <= n[key]; i++) {
            if (smpi[key, i] < smpi[key, fastest]) fastest = i
            if (sim[key, i] < sim[key, picked]) picked = i
            for (j = 1; j < i; j++) {
                smpi_less = smpi[key, i] - smpi[key, j]
                sim_less = sim[key, i] - sim[key, j]
                if (real && smpi_less * smpi_less < \
                    0.05 ^ 2 * smpi[key, i] * smpi[key, j]) continue
                same += smpi_less * sim_less > 0
                other += smpi_less * sim_less < 0
            }
        }
        tau = same + other ? (same - other) / (same + other) : 1
        regret = 100 * ((rounds > 1 ? regret_of_rounds() \
            : smpi[key, picked] / smpi[key, fastest]) - 1)
        if (regret < 0 && regret > -0.05) regret = 0 # not -0.0
    }
    END {
        by = real ? "measured" : "by SMPI"
        printf "| machine | ranks, of a node | S | algorithms | tau | fastest %s | us |" \
            " fastest by the simulator | us %s | more |%s\n", by, by,
            real ? " send / shared, measured | simulated |" : \
                " published / plan, by SMPI | simulated |" \
                " with shared memory, by SMPI | simulated |"
        print "| --- | ---: | ---: | ---: | ---: | --- | ---: | --- | ---: | ---: |" \
            " ---: | ---: |" (real ? "" : " ---: | ---: |")
        for (k = 1; k <= keys; k++) {
            key = order[k]
            judge()
            printf "| %s | %d | %.2f | `%s` | %.1f | `%s` | %.1f | %.1f %% | %s |\n",
                key, n[key], tau, name[key, fastest], smpi[key, fastest],
                name[key, picked], smpi[key, picked], regret, shares()
            taus += tau
            regrets += regret
            within += regret <= 10
            if (regret > most) most = regret
        }
        printf "%d cases: tau %.2f in the mean; at most 10 %% more in %d (%.0f %%)," \
            " %.1f %% in the mean, %.1f %% at most\n", keys, taus / keys, within,
            100 * within / keys, regrets / keys, most
        exit within < 0.9 * keys || taus < 0.75 * keys
    }'
}

if [ -z "$table" ]; then
    rows
    exit
fi
if [ "$table" = order ]; then
    work=$(mktemp) || exit 1
    trap 'rm -f "$work"' EXIT
    rows | order >"$work"
    status=$?
    cat "$work"
    [ -n "$page" ] || exit "$status"
    grep '^|' "$work" | grep -vxF -f "$page" && {
        echo "sim_error.sh: $page does not have these rows"
        exit 1
    }
    exit "$status"
fi
rows | awk '
    {
        key = $1 " | " $2 " | " $4
        if (!(key in n)) order[++keys] = key
        off = ($10 < 0 ? -$10 : $10) + 0
        i = ++n[key]
        for (; i > 1 && sorted[key, i - 1] > off; i--)
            sorted[key, i] = sorted[key, i - 1]
        sorted[key, i] = off
        if (off > most[key] + 0) {
            most[key] = off
            of[key] = "`" $7 "`, " $6 " B: " ($10 < 0 ? "-" : "+") off " %"
        }
    }
    END {
        print "| machine | ranks | kind | rows | median | 90 % below | largest |"
        print "| --- | ---: | --- | ---: | ---: | ---: | --- |"
        for (k = 1; k <= keys; k++) {
            key = order[k]
            printf "| %s | %d | %.1f %% | %.1f %% | %s |\n", key, n[key],
                sorted[key, int((n[key] + 1) / 2)],
                sorted[key, int(0.9 * n[key] + 0.999)], of[key]
        }
    }'
