#!/bin/sh
# mutants.sh - are planted faults found, by the short form of the tests of one
# process as well as by the long one?
#
#   sh tests/mutants.sh [--list] [--places] [--only PROGRAM] [NAME...]
#
# Of all faults, or of those named; --list names them, --places only looks whether
# each still has its place in the sources, with --only one program (sim_run, say)
# is to find each by itself.
#
# For each fault a copy of the sources is changed by sed, what of the tests
# depends on it is built, and then both forms are run, sim_check and sim_run of
# faults in algorithms, tests of the part first of those elsewhere, until one
# fails. Prints which does, or MISSED, and exits with 1 if a fault is missed by
# either form. A fault whose place is gone from the sources is an error: give it
# another one.
#
# By hand, or by tools/test.sh --full: minutes, most of them to build. CC, MPICC:
# as for CMake.
set -u

# NAME|FILE|SED: what should not happen, one fault a line.
faults()
{
    cat <<'END'
scattered_step|src/algos/scattered.c|s/i - first < params->batch/i - first <= params->batch/
pairwise_early|src/algos/pairwise.c|s/if (i > 1)/if (i > 2)/
xor_end|src/algos/xor.c|s/while (end < s->P)/while (2 * end <= s->P)/
linear_last|src/algos/linear.c|s/peer < s->P; peer++/peer < s->P - (s->P > 8); peer++/
step_direction|src/algos/step.h|s/dst = (s->me + i) % s->P/dst = (s->me + (i > 16 ? s->P - i : i)) % s->P/
log_slot|src/algos/parlogna.c|s/position \* (r - 1) - i \/ power/position * (r - 1) - i \/ power - (r > 4)/
log_index_last|src/algos/parlogna.c|s/i < run + power \&\& i < n/i < run + power \&\& i < n - (power > 8 \&\& z > 1)/
log_land|src/algos/parlogna.c|s/const bool last = i < above/const bool last = i + 1 < above/
log_depth|src/algos/parlogna.c|s/depth_below(g, i - i % above)/depth_below(g, i - i % power)/
bruck_bits|src/algos/bruck_zero_copy.c|s/bit <= i; bit \*= 2/bit < i; bit *= 2/
bruck_region|src/algos/bruck_zero_copy.c|s/left % 2 ? rota_tmp_marked/left % 2 == 0 ? rota_tmp_marked/
columns_ragged|src/algos/parlinna.c|s/(size - member + home->Q - 1) \/ home->Q/size \/ home->Q + (member < size % home->Q - 1)/
columns_carrier|src/algos/parlinna.c|s/carrier = home->g % Q;/carrier = home->g < Q ? home->g : 0;/
columns_staggered|src/algos/parlinna.c|s/for (int up = 1; up < longest; up++)/for (int up = 1; up < home->Q; up++)/
leaders_in|src/algos/mpml.c|s/o.n_in += rota_size_at(\&o.home, -i)/o.n_in += rota_size_at(\&o.home, i)/
leaders_offset|src/algos/mpml.c|s/const int l = i % rota_leaders_of(t, leaders, node);/const int l = i % leaders->n % rota_leaders_of(t, leaders, node);/
leaders_place|src/algos/mpml.c|s/l \* Q \/ L/(l * Q + 1) \/ L/
leaders_flow|src/algos/mpml.c|s/one.in += rota_size_at(\&o->home, -one.first)/one.in += rota_size_at(\&o->home, one.first)/
padded_copy|src/algos/padded_alltoall.c|s/rota_tmp_marked(s, P + q, ROTA_TMP_PADDED)/rota_tmp_marked(s, P + q, 0)/
spread_steps|src/algos/spread_out.c|s/i < s->P; i++/i < s->P - (s->P % 2 \&\& s->P > 5); i++/
place_halves|src/schedule/place.c|s/f->window == 0 \&\& !f->flow \&\& !f->native \&\& !s->by_datatype/f->window == 0 \&\& !f->flow \&\& !f->native/
place_flow|src/schedule/place.c|s/f->window == 0 \&\& !f->flow/f->window == 0/
place_bury|src/schedule/place.c|s/p->left\[p->live\[i\]\] < p->n_halves - half/p->left[p->live[i]] + 1 < p->n_halves - half/
place_gap|src/schedule/place.c|s/p->widest\[2 \* node\] >= bytes/p->widest[2 * node] + 1 >= bytes/
place_copies|src/schedule/place.c|s/use(p, s->copy\[c\].to, begin, end)/use(p, s->copy[c].to, end, end)/
place_join|src/schedule/place.c|s/p->next\[g + p->before\[g + 1\]\] = p->live\[g\]/p->next[g + p->before[g]] = p->live[g]/
fold_block|src/schedule/schedule.c|s/bytes\[l->item\[i\]\] > 0/bytes[l->item[i]] > 1/
fold_message|src/schedule/schedule.c|s/if (\*n_items > kept)/if (*n_items >= kept)/
fold_copy|src/schedule/schedule.c|s/bytes\[s->copy\[c\].to\] > 0/bytes[s->copy[c].to] > 2/
fold_phase|src/schedule/schedule.c|s/empty = empty \&\& n_copies == kept.copy;/(void)0;/
direct_message|src/schedule/schedule.c|s/if (rota_msg_blocks(msg) != 1)/if (rota_msg_blocks(msg) > 2)/
grow_twice|src/schedule/schedule.c|s/s->n_slots = slot + 1;/s->n_slots = slot + (slot < 40);/
pad_largest|src/schedule/schedule.c|s/bytes\[b\] = largest;/bytes[b] = largest - (largest > 40);/
varlen_sum|src/exec/payload/sized.c|s/as \&\& total == expected/as \&\& total >= expected/
varlen_order|src/exec/payload/sized.c|s/!= land)$/!= land \&\& n > 2)/
sizes_landing|src/exec/run/sizes.c|s/rota_dst(s, (int)(label \/ P))/rota_dst(s, (int)(label % P))/
check_slot|bench/check/check.c|s/return RECEIVED | COPIED_FROM | COPIED_TO | (in_turn ? SENT : 0u)/return RECEIVED | COPIED_FROM | COPIED_TO/
check_twice|bench/check/check.c|s/if (r->label\[b\] != NOTHING)$/if (r->label[b] == 0)/
check_place|bench/check/check.c|s/is_place(r->s, b) \&\& r->tmp\[rota_block_place(r->s, b)\] != b/is_place(r->s, b) \&\& r->tmp[rota_block_place(r->s, b)] == NO_NODE/
check_window|bench/check/check.c|s/r->open\[dir\] < window/r->open[dir] <= window/
check_held|bench/check/check.c|s/f->held\[peer\] == f->scan ||/false \&\& f->held[peer] == f->scan ||/
check_end|bench/check/check.c|s/if (c->rank\[q\].phase < c->rank\[q\].s->n_phases)/if (c->rank[q].phase + 1 < c->rank[q].s->n_phases)/
check_order|bench/check/check.c|s/l->msg\[m\].peer > before/l->msg[m].peer >= 0/
check_varlen|bench/check/check.c|s/phase->window == 0 \&\& !phase->sparse/phase->window == 0/
END
}

root=$(cd "$(dirname "$0")/.." && pwd) || exit 1

# places: those whose place is gone from the sources.
places()
{
    faults | while IFS='|' read -r name file change; do
        sed "$change" "$root/$file" | cmp -s - "$root/$file" &&
            echo "$name: its place is not in $file"
    done
}

jobs=$(nproc 2>/dev/null || echo 2)
wanted=
only=
while [ "$#" -gt 0 ]; do
    word=$1
    shift
    case $word in
    --list) faults | cut -d'|' -f1,2 | tr '|' '\t'; exit 0 ;;
    --places) places | grep . && exit 1; exit 0 ;;
    --only) only=${1:?--only needs the name of a program}; shift ;;
    -*) echo "mutants.sh: no such option: $word" >&2; exit 2 ;;
    *)
        faults | grep -q "^$word|" ||
            { echo "mutants.sh: no such fault: $word" >&2; exit 2; }
        wanted="$wanted $word" ;;
    esac
done

work=$(mktemp -d "${TMPDIR:-/tmp}/rota-mutants.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$work/rota"
for part in "$root"/*; do
    case $part in
    */build*) ;;
    *) cp -R "$part" "$work/rota/" || exit 1 ;;
    esac
done

targets="unit_sched_check unit_place unit_schedule sim_check sim_run"

build()
{
    # Split on purpose: names of targets.
    # shellcheck disable=SC2086
    cmake --build "$work/build" --parallel "$jobs" --target $targets \
        >"$work/log" 2>&1
}

# found_by FILE: the first program that fails. An endless loop is a fault found.
found_by()
{
    case $1 in
    src/algos/*) set -- sim_check sim_run "sim_run --shm" unit_sched_check ;;
    bench/check/check.c) set -- unit_sched_check ;;
    *) set -- unit_sched_check unit_place unit_schedule sim_check sim_run \
        "sim_run --shm" ;;
    esac
    [ -z "$only" ] || set -- "$only"
    for program in "$@"; do
        # Split on purpose: the options of a program.
        # shellcheck disable=SC2086
        timeout 900 "$work/build/tests/${program%%_*}"/$program \
            >"$work/log" 2>&1 ||
            { echo "$program"; return; }
    done
    echo MISSED
}

cmake -S "$work/rota" -B "$work/build" -DROTA_BUILD_TESTS=ON \
    -DROTA_BUILD_EXAMPLES=OFF -DROTA_BUILD_BENCH=OFF \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_FLAGS_RELEASE=-O2 \
    ${CC:+"-DCMAKE_C_COMPILER=$CC"} ${MPICC:+"-DMPI_C_COMPILER=$MPICC"} \
    >"$work/log" 2>&1 && build || { tail -n 30 "$work/log"; exit 1; }
printf '%-20s %-28s %-18s %s\n' fault in short long
failed=no
faults >"$work/faults"
while IFS='|' read -r name file change <&3; do
    case " $wanted " in
    "  ") ;;
    *" $name "*) ;;
    *) continue ;;
    esac
    mutated=$work/rota/$file
    cp "$mutated" "$work/whole" || exit 1
    sed "$change" "$work/whole" >"$mutated"
    if cmp -s "$mutated" "$work/whole"; then
        echo "$name: its place is not in $file"
        failed=yes
        continue
    fi
    if build; then
        short=$(export ROTA_TEST_QUICK=1; found_by "$file")
        long=$(unset ROTA_TEST_QUICK; found_by "$file")
    else
        short="no build"
        long="no build"
    fi
    printf '%-20s %-28s %-18s %s\n' "$name" "$file" "$short" "$long"
    case $short$long in
    *MISSED* | *build*) failed=yes ;;
    esac
    cp "$work/whole" "$mutated"
done 3<"$work/faults"
[ "$failed" = no ]
