#!/bin/sh
# blind.sh - do machines that are fitted to half of a paper's rows give the other half?
#
#   sh bench/figures/blind.sh [--most P] [--papers NAME,...] [--csv FILE] [--cache FILE]
#   sh bench/figures/blind.sh --table [--check] [--csv FILE]
#   sh bench/figures/blind.sh --remake [--most P] [--csv FILE]
#
# A row is one of the table of all published numbers in docs/papers.md that says with what
# it is made again and has a number (not only a trend). Of each paper every other row of up
# to 1,200 ranks ([Fan25], which has two of these: 4,096) serves to fit five prices of its
# machine: for each, a factor of 0.5 to 2, by two steps of least squares of the logarithms,
# drawn towards 1. With these factors all rows of the papers are simulated that have at
# most P ranks (default 8,192; of another paper 1,200), on their own machines: those that
# were fitted, the other half, and those of the other papers. Where several parameters
# stand for a form, those that are the best in docs/simulated.csv. FILE (default
# docs/blind.csv) is written anew; what was simulated before is taken from the cache
# (default build/blind). With --table, what FILE has; with --check, the lines of that
# which docs/papers.md does not have. Exit status: 0, 2 for a wrong command line, else 1.
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

most='' papers=Fan22,Fan25,Peng21 csv=docs/blind.csv cache=build/blind what=make check=''
price=${ROTA_PRICE:-build/bench/rota-price}
while [ $# -gt 0 ]; do
    case $1,${2:-} in
    --table,* | --remake,*)
        what=${1#--}
        shift
        continue ;;
    --check,*)
        check=yes
        shift
        continue ;;
    *, | --most,*[!0-9]*) set -- --wrong x ;;
    esac
    case $1 in
    --most) most=$2 ;;
    --papers) papers=$2 ;;
    --csv) csv=$2 ;;
    --cache) cache=$2 ;;
    *)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    esac
    shift 2
done
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
constants='net_per_phase net_per_byte posted copied_block copied_byte'
begin=1,1,1,1,1

# Lines "PAPER ROLE MACHINE NODE RANKS SIZE DIST ALGO ALGO-OR-MINUS PUBLISHED", times in us.
rows()
{
    awk '
        BEGIN {
            node["theta"] = 64
            node["glex"] = node["glex4"] = 24
            node["fugaku"] = node["polaris"] = node["hpca"] = 32
        }
        FNR == 1 { file++; FS = file == 1 ? "," : " [|] "; $0 = $0 }
        file == 1 {
            if ($4 != "fixed" || $3 != node[$1]) next
            at = $1 SUBSEP $2 SUBSEP $5 SUBSEP $6
            time[at, $7] = $8
            form = at SUBSEP substr($7, 1, index($7 ":", ":")) "*"
            if (!(form in time) || $8 + 0 < time[form] + 0) {
                time[form] = $8
                whose[form] = $7
            }
            next
        }
        function best(at, list,    n, one, i, name) {
            n = split(list, one, /, */)
            name = ""
            for (i = 1; i <= n; i++)
                if (name == "" || time[at, one[i]] + 0 < time[at, name] + 0) name = one[i]
            return (at SUBSEP name) in whose ? whose[at, name] : name
        }
        /^### \[[A-Za-z]*[0-9]*\]/ { paper = substr($0, 6, index($0, "]") - 6) }
        /^## / { paper = "" }
        paper != "" && $4 ~ /^`[a-z0-9]+ [0-9]+ [0-9]+( [a-z0-9_.:]+)?: [^`]*`$/ {
            if ($2 !~ /^[0-9]/) next
            match($2, /[0-9][0-9.,]*/)
            published = substr($2, RSTART, RLENGTH)
            gsub(/,/, "", published)
            if ($2 ~ / ms$/) published *= 1000
            text = substr($4, 2, length($4) - 2)
            colon = index(text, ": ")
            n = split(substr(text, 1, colon - 1), word, " ")
            sides = split(substr(text, colon + 2), side, " / ")
            dist = n > 3 ? word[4] : "uniform"
            at = word[1] SUBSEP word[2] SUBSEP dist SUBSEP word[3]
            small = word[2] <= (paper == "Fan25" ? 4096 : 1200)
            role = small && nth[paper]++ % 2 == 0 ? "fitted" : "blind"
            print paper, role, word[1], node[word[1]], word[2], word[3], dist,
                best(at, side[1]), (sides > 1 ? best(at, side[2]) : "-"), published
        }' docs/simulated.csv docs/papers.md
}

# The prices of a machine times factors, as --price has them: MACHINE FACTORS.
changes()
{
    awk -v names="$constants" -v factors="$2" '
        match($0, /"[a-z_]+": *[0-9.e+-]+/) {
            split(substr($0, RSTART + 1, RLENGTH - 1), word, /": */)
            if (!(word[1] in ns)) ns[word[1]] = word[2]
        }
        END {
            n = split(names, name, " ")
            split(factors, factor, ",")
            for (i = 1; i <= n; i++) {
                printf "%s%s=%.6g", (i > 1 ? "," : ""), name[i], ns[name[i]] * factor[i]
                if (sub(/_per_byte$/, "_per_long_byte", name[i]))
                    printf ",%s=%.6g", name[i], ns[name[i]] * factor[i]
            }
        }' "bench/machines/$1.json"
}

# time_of MACHINE NODE RANKS SIZE DIST ALGO FACTORS: microseconds
time_of()
{
    [ "$6" != - ] || { echo 1; return; }
    us=$(awk -v key="$*" 'index($0, key " ") == 1 { print $NF; exit }' "$cache")
    if [ -z "$us" ] && [ "$7" = "$begin" ]; then
        us=$(awk -F, -v key="$1,$3,$2,fixed,$5,$4,$6," '
            index($0, key) == 1 { print $8; exit }' docs/simulated.csv)
    fi
    if [ -z "$us" ]; then
        us=$("$price" --simulate --shared no --prices "bench/machines/$1.json" --node "$2" \
            --ranks "$3" --size "$4" --dist "$5" --algos "$6" \
            --price "$(changes "$1" "$7")" </dev/null |
            awk '!/^#/ && $1 != "algorithm" { print $4 }')
        [ -n "$us" ] || return 1
        echo "$* $us" >>"$cache"
    fi
    echo "$us"
}

# ours FACTORS: of the row in the variables, as the paper has it.
ours()
{
    a=$(time_of "$machine" "$node" "$ranks" "$size" "$dist" "$first" "$1") || return 1
    b=$(time_of "$machine" "$node" "$ranks" "$size" "$dist" "$second" "$1") || return 1
    echo "$a $b" | awk '{ printf "%.6g\n", $1 / $2 }'
}

# Factors with one of them, number K, times 1.3: FACTORS K.
nudged()
{
    echo "$1" | awk -F, -v OFS=, -v k="$2" '{ $k *= 1.3; print }'
}

# A step from FACTORS, by the rows of paper $name that are fitted.
step()
{
    while read -r paper role machine node ranks size dist first second published; do
        [ "$paper,$role" = "$name,fitted" ] || continue
        line="$published $(ours "$1")" || return 1
        for k in 1 2 3 4 5; do
            line="$line $(ours "$(nudged "$1" $k)")" || return 1
        done
        echo "$line"
    done <"$work/rows" | awk -v factors="$1" '
        BEGIN { n = split(factors, factor, ",") }
        {
            residual = log($2 / $1)
            for (k = 1; k <= n; k++) slope[k] = log($(k + 2) / $2) / log(1.3)
            for (k = 1; k <= n; k++) {
                right[k] -= slope[k] * residual
                for (j = 1; j <= n; j++) a[k, j] += slope[k] * slope[j]
            }
        }
        END {
            for (k = 1; k <= n; k++) {
                a[k, k] += 0.05
                right[k] -= 0.05 * log(factor[k])
            }
            for (k = 1; k <= n; k++)
                for (i = k + 1; i <= n; i++) {
                    f = a[i, k] / a[k, k]
                    for (j = k; j <= n; j++) a[i, j] -= f * a[k, j]
                    right[i] -= f * right[k]
                }
            for (k = n; k >= 1; k--) {
                for (j = k + 1; j <= n; j++) right[k] -= a[k, j] * right[j]
                right[k] /= a[k, k]
                x = factor[k] * exp(right[k])
                factor[k] = x < 0.5 ? 0.5 : x > 2 ? 2 : x
            }
            for (k = 1; k <= n; k++) printf "%s%.3g", (k > 1 ? "," : ""), factor[k]
            print ""
        }'
}

table()
{
    [ -r "$csv" ] || { echo "blind.sh: there is no $csv" >&2; exit 2; }
    sed 1d "$csv" | awk -F, '
        function half(paper, role, of) {
            return role == "not" ? "not simulated anew" : paper != of ? "other papers" : role
        }
        {
            if (!($1 in is)) { is[$1] = 1; order[++fits] = $1; factors[$1] = $2 }
            key = $1 SUBSEP half($3, $4, $1)
            n[key]++
            if ($4 == "not") next
            for (i = 0; i < 2; i++) {
                x = log($(12 + i) / $11)
                sum[key, i] += x < 0 ? -x : x
                near[key, i] += x < log(1.2) && x > -log(1.2)
            }
        }
        END {
            print "| fitted to | factors of latency, byte, posting, block, byte copied |" \
                " rows | number | off by, before | after | within 20 %, before | after |"
            print "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |"
            split("fitted,blind,other papers,not simulated anew", which, ",")
            for (f = 1; f <= fits; f++)
                for (i = 1; i <= 4; i++) {
                    key = order[f] SUBSEP which[i]
                    if (!n[key]) continue
                    gsub(/ /, ", ", factors[order[f]])
                    printf "| [%s] | %s | %s | %d |", order[f],
                        i == 1 ? factors[order[f]] : "", which[i], n[key]
                    if (i == 4) print "  |  |  |  |"
                    else
                        printf " %.2f | %.2f | %d | %d |\n", exp(sum[key, 0] / n[key]),
                            exp(sum[key, 1] / n[key]), near[key, 0], near[key, 1]
                }
        }'
}

if [ "$what" = table ]; then
    table >"$work/table" || exit
    if [ -n "$check" ]; then
        ! grep -vxFf docs/papers.md "$work/table"
    else
        cat "$work/table"
    fi
    exit
fi
if [ "$what" = remake ]; then
    cache=$work/cache
    : >"$cache"
    sed 1d "$csv" | awk -F, -v most="${most:-512}" '$4 != "not" && $6 <= most' >"$work/had"
    while IFS=, read -r name factors paper role machine ranks size dist first second more; do
        node=32
        case $machine in
        theta) node=64 ;;
        glex*) node=24 ;;
        esac
        now=$(ours "$(echo "$factors" | tr ' ' ,)") || exit 1
        [ "$now" = "${more##*,}" ] || echo "$paper, $machine, $ranks, $size: now $now"
    done <"$work/had" >"$work/differ" || exit 1
    cat "$work/differ"
    echo "$(($(wc -l <"$work/had"))) rows remade"
    [ ! -s "$work/differ" ]
    exit
fi
: "${most:=8192}"
touch "$cache" && rows >"$work/rows" || exit 1
echo fit,factors,paper,role,machine,P,max_bytes,dist,name,over,published,before,after >"$csv" ||
    exit 1
for name in $(echo "$papers" | tr , ' '); do
    factors=$(step "$begin") && factors=$(step "$factors") || exit 1
    while read -r paper role machine node ranks size dist first second published; do
        up_to=$most
        [ "$paper" = "$name" ] || up_to=1200
        before='' after=''
        if [ "$ranks" -le "$up_to" ]; then
            before=$(ours "$begin") && after=$(ours "$factors") || exit 1
        else
            role=not
        fi
        echo "$name,$(echo "$factors" | tr , ' '),$paper,$role,$machine,$ranks,$size,$dist,$first,$second,$published,$before,$after"
    done <"$work/rows" >>"$csv" || exit 1
done
table
