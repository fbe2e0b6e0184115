#!/bin/sh
# equations.sh - authors' equations and schedules' prices beside simulated times.
#
#   sh bench/figures/equations.sh [--out FILE] [--price PROGRAM] [--ranks N,...]
#
# On the machines of bench/machines, 64, 256 and 1,024 ranks (--ranks), 8 to 512 bytes,
# sizes uniform: by what factor equations (1) and (2) of [Fan22] and (6) to (10) of
# [Peng21], and the price that a plan goes by, are off beside rota-price --simulate
# (geometric mean over cases); how often each says rightly which form is fastest;
# and, on the machine whose nodes have two domains, what all three make of leaders
# side by side and leaders spread over domains. What was simulated before is taken
# from FILE (default build/equations).
set -u
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 1

price=build/bench/rota-price out=build/equations counts=64,256,1024
while [ $# -gt 0 ]; do
    case $1 in
    --price) price=${2:?} ;;
    --out) out=${2:?} ;;
    --ranks) counts=${2:?} ;;
    *)
        sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
        exit 2 ;;
    esac
    shift 2
done
touch "$out" || exit 1

algos=padded_bruck_published,parlogna_published:radix=2,mpich_scattered
algos=$algos,l_a2a_published,mpml_published:leaders=4,nmpml_published:leaders=4
algos=$algos,onmpml_published:leaders=4
for ranks in $(echo "$counts" | tr , ' '); do
    for machine in dragonfly torus fattree glex; do
        for size in 8 16 32 64 128 512; do
            key="$machine $ranks $size"
            grep -q "^$key " "$out" && continue
            "$price" --simulate --equations yes --node 32 --ranks "$ranks" \
                --size "$size" --dist uniform --algos "$algos" \
                --prices "bench/machines/$machine.json" </dev/null |
                awk -v key="$key" '
                    !/^#/ && $1 != "algorithm" {
                        print key, $1, $4, $8, $9, $10, $11
                    }' >>"$out" || exit 1
        done
    done
done

# Of a row: machine, ranks, size, form, simulated, priced, equation, its number,
# and what inequality (3) has for faster.
awk '
    function factor(a, b) { return exp(a > b ? log(a / b) : log(b / a)) }
    {
        k = $1 " " $2 " " $3
        if (!(k in seen)) { seen[k] = 1; order[++cases] = k }
        split($4, name, ":")
        f = name[1]
        sim[k, f] = $5; priced[k, f] = $6; said[k, f] = $7
        number[f] = $8
        n[f]++
        off_p[f] += log(factor($6, $5))
        off_e[f] += log(factor($7, $5))
        if (f == "padded_bruck_published") three[k] = $9
    }
    function fastest(of, k, list,    i, best) {
        for (i = 1; i in list; i++)
            if (best == "" || of[k, list[i]] + 0 < of[k, best] + 0) best = list[i]
        return best
    }
    END {
        print cases " cases\n"
        print "| | equation | price of the schedule |"
        print "| --- | ---: | ---: |"
        split("padded_bruck_published parlogna_published mpich_scattered" \
            " l_a2a_published mpml_published nmpml_published onmpml_published", form, " ")
        for (i = 1; i in form; i++) {
            f = form[i]
            printf "| %s `%s` | %.1f | %.1f |\n", number[f], f,
                exp(off_e[f] / n[f]), exp(off_p[f] / n[f])
        }
        two[1] = form[1]; two[2] = form[2]
        for (i = 4; i <= 7; i++) led[i - 3] = form[i]
        led[5] = form[3]
        for (c = 1; c <= cases; c++) {
            k = order[c]
            real = fastest(sim, k, two)
            by3 += (three[k] == "padded") == (real == two[1])
            by_p += fastest(priced, k, two) == real
            least = sim[k, fastest(sim, k, led)]
            e = sim[k, fastest(said, k, led)]; p = sim[k, fastest(priced, k, led)]
            led_e += e <= 1.1 * least; led_p += p <= 1.1 * least
            least = sim[k, fastest(sim, k, form)]
            all_e += sim[k, fastest(said, k, form)] <= 1.1 * least
            all_p += sim[k, fastest(priced, k, form)] <= 1.1 * least
        }
        printf "\n| of %d cases | equations | prices |\n| --- | ---: | ---: |\n", cases
        printf "| padded or two-phase Bruck, (3): the faster one | %d | %d |\n", by3, by_p
        printf "| (6) to (10): what they have for fastest is within 10 %% | %d | %d |\n", led_e, led_p
        printf "| all of them: likewise | %d | %d |\n", all_e, all_p
        print "\n| ranks | S | MPML over NMPML, simulated | equations | prices |"
        print "| ---: | ---: | ---: | ---: | ---: |"
        for (c = 1; c <= cases; c++) {
            k = order[c]
            split(k, at, " ")
            if (at[1] != "glex") continue
            m = "mpml_published"; q = "nmpml_published"
            printf "| %d | %d | %.2f | %.2f | %.2f |\n", at[2], at[3],
                sim[k, m] / sim[k, q], said[k, m] / said[k, q], priced[k, m] / priced[k, q]
        }
    }' "$out"
