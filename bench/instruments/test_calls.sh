#!/bin/sh
# test_calls.sh BUILD - a repeated call that the drop-in catches takes at most 80
# instructions more than a start and wait of a fixed plan (calls.sh; 8 bytes, 2 ranks).
# In the short form of two kinds only. If another rank is late by more than the nap, the
# last one waits, which takes more: so the least of three tries counts.
set -u
build=${1:?}
here=$(cd "$(dirname "$0")" && pwd)
kinds=alltoall,alltoallv,alltoallw,neighbor_alltoall,neighbor_alltoallv
kinds=$kinds,neighbor_alltoallw
[ -z "${ROTA_TEST_QUICK:-}" ] || kinds=alltoallv,neighbor_alltoallw

for try in 1 2 3; do
    echo "try $try"
    sh "$here/calls.sh" --taken --kinds "$kinds" "$build" 2 >"$build/test_calls.log" ||
        exit 1
    cat "$build/test_calls.log"
    awk '
        NR == 1 { split($0, kind) }
        NR == 2 {
            for (i = 3; i <= NF; i++) {
                if ($i <= 0 || $i > $2 + 80) {
                    print kind[i] ": more than 80 beyond a plan"
                    bad = 1
                }
            }
            seen = NF - 2
        }
        END { exit bad || seen < 1 }' "$build/test_calls.log" && exit 0
done
exit 1
