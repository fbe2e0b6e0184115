# rota-completion.bash - options of Rota's programs, for bash. Installed once
# and linked to under the name of each. Held against what the programs print for
# --help by tests/check_tools.sh.

_rota_options()
{
    case $1 in
    rota-bench)
        echo --kind --sizes --dist --algos --bound --mem --iters --warmup \
            --inits --block --starts --touch --between --switches --seed \
            --time-limit --json --csv --check-json --replay --help ;;
    rota-draw)
        echo --algo --ranks --radix --batch --leaders --pieces \
            --node-size --rank \
            --format --plan --run --help ;;
    rota-info) echo --help ;;
    rota-price)
        echo --algos --among --ranks --size --dist --seed --prices --price --node \
            --shared --simulate --kind --known --gaps --cores --late --asking --eager \
            --match --noise --equations \
            --replay --help ;;
    rota-tune)
        echo --output --sizes --dist --kinds --quick --calibrate-only --device --runs \
            --budget --seed --replay --help ;;
    esac
}

_rota_algorithms="bruck_basic bruck_modified bruck_zero_copy \
bruck_zero_rotation consensus consensus_node l_a2a linear mpi mpml mpich_pairwise \
mpich_scattered multi_pair nmpml onmpml \
padded_alltoall padded_bruck pairwise parlinna_coalesced \
parlinna_coalesced_published parlinna_logarithmic parlinna_staggered \
parlinna_staggered_published parlogna parlogna_published scattered \
shared_leaders shared_leaders_grid shared_leaders_overlapped sloav \
spread_out two_phase_bruck xor"

_rota()
{
    local program=${1##*/} word=${COMP_WORDS[COMP_CWORD]} words=
    case ${COMP_WORDS[COMP_CWORD - 1]} in
    --algo | --algos) words="$_rota_algorithms" ;;
    --kind | --kinds) words="fixed varying exchange" ;;
    --dist) words="uniform window: normal powerlaw: fft1 fft2 sparse: matrix:" ;;
    --mem) words="malloc heap local window cuda" ;;
    --bound) words="known none" ;;
    --format) words="text svg" ;;
    --prices) words="usual" ;;&
    --prices | --output | --json | --csv | --check-json)
        mapfile -t COMPREPLY < <(compgen -f -W "$words" -- "$word")
        return ;;
    *) [[ $word != -* ]] || words=$(_rota_options "$program") ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -F _rota rota-bench rota-draw rota-info rota-price rota-tune
complete -A command rota-run
