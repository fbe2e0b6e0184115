#!/bin/sh
# cluster.sh - run an MPI program on several hosts that are all this machine.
#
#   sh tools/cluster.sh [OPTION...] HOSTS RANKS COMMAND...
#   sh tools/cluster.sh [OPTION...] --ranks R0,R1,... COMMAND...
#   sh tools/cluster.sh --check
#
# Runs COMMAND with RANKS ranks on each of HOSTS hosts, or with R0 ranks on the
# first host, R1 on the second and so on. Options:
#   --round-robin   deal the ranks out in turn instead of host by host
#   --rate RATE     limit what each host sends and what it receives to RATE, a
#                   number and kbit, mbit or gbit (100mbit)
#   --burst SIZE    that much may pass at once at first, a number and kb (256kb)
#   --limit SECONDS stop after that long (default 300)
#   --check         only say whether this machine permits it
#
# A host is a set of namespaces of Linux: network, processes, System V memory,
# name, and a /dev/shm of its own. So ranks of one host share memory and those
# of two reach each other by TCP only, as on a cluster. Hosts are called host0,
# host1, ... and have addresses 198.18.0.1, 198.18.0.2, ..., of the range set
# aside for tests of networks, on a bridge that leads nowhere else.
#
# Needs MPICH's mpiexec, or the one that MPIEXEC names, and root or a kernel
# that lets users make namespaces. COMMAND reads nothing from standard input.
#
# COMMAND finds the number of hosts in CLUSTER_HOSTS. MPI_Finalize of MPICH 4.0
# now and then waits for ever between hosts. With the tests built, COMMAND can
# be
#   env LD_PRELOAD=build/tests/mpi/libcluster_finalize.so PROGRAM...
# (an absolute path), which does not, and in which ranks that wait give way, as
# those of MPICH itself do not; ROTA_YIELD=off leaves that as it is.
#
# The exit code is mpiexec's; 124 after the time limit, 2 for wrong usage, 77
# and a line that says why where the machine does not permit it.
#
# All of it, bridge, hosts, mounts and mpiexec, lives in namespaces of the run's
# own, so runs do not see each other, and the kernel takes everything down with
# the first process in them - whatever ends it: the end of COMMAND, the time
# limit, or any signal to this script, even SIGKILL. That takes three stages:
#
#   start    checks, and becomes the keeper in new namespaces
#   keeper   starts the first process in them, kills it when told to end, and
#            takes it along when it is killed
#   inside   that first process, under its time limit: makes network and hosts
#            and runs mpiexec
set -u

cluster_net=198.18.0
cluster_most=250 # hosts on that net
cluster_self=$0

complain()
{
    echo "cluster.sh: $*" >&2
}

misused()
{
    complain "$*"
    echo "usage: sh tools/cluster.sh [--round-robin] [--rate RATE] [--burst SIZE]" \
        "[--limit SECONDS] {HOSTS RANKS | --ranks R0,R1,...} COMMAND..." >&2
    exit 2
}

impossible()
{
    complain "not possible here: $*"
    exit 77
}

is_number()
{
    case $1 in
    '' | 0* | *[!0-9]* | ???????*) return 1 ;;
    esac
}

is_rate()
{
    case $1 in
    *[kmg]bit) is_number "${1%?bit}" ;;
    *) return 1 ;;
    esac
}

is_burst()
{
    case $1 in
    *kb) is_number "${1%kb}" ;;
    *) return 1 ;;
    esac
}

# ---- what is asked for -------------------------------------------------------

# ask [--check] | OPTION... HOSTS RANKS COMMAND...: sets check, ranks (one
# number a host), limit, rate, burst, deal and n_used, the words before COMMAND.
ask()
{
    check=no ranks='' limit=300 rate='' burst=256kb deal=no n_used=$#
    while [ "$#" -gt 0 ]; do
        case $1 in
        --check) check=yes ;;
        --round-robin) deal=yes ;;
        --ranks | --rate | --burst | --limit)
            [ "$#" -gt 1 ] || misused "no value for $1"
            case $1 in
            --ranks) list_ranks "$2" ;;
            --rate) is_rate "$2" || misused "not a rate such as 100mbit: $2"
                rate=$2 ;;
            --burst) is_burst "$2" || misused "not a size such as 16kb: $2"
                burst=$2 ;;
            --limit) is_number "$2" || misused "not a number of seconds: $2"
                limit=$2 ;;
            esac
            shift ;;
        -*) misused "no such option: $1" ;;
        *) break ;;
        esac
        shift
    done
    if [ -z "$ranks" ] && [ "$check" = no ]; then
        [ "$#" -ge 2 ] || misused "no numbers of hosts and ranks"
        repeat_ranks "$1" "$2"
        shift 2
    fi
    n_used=$((n_used - $#))
    [ "$check" = yes ] || [ "$#" -gt 0 ] || misused "no command"
    [ "$deal" = no ] || can_deal
}

list_ranks()
{
    case $1 in
    , | ,* | *, | *,,*) misused "not numbers of ranks: $1" ;;
    esac
    n_hosts=0
    ranks=$(echo "$1" | tr , ' ')
    for each in $ranks; do
        is_number "$each" || misused "not a number of ranks: $each"
        n_hosts=$((n_hosts + 1))
    done
    [ "$n_hosts" -ge 1 ] || misused "not numbers of ranks: $1"
    [ "$n_hosts" -le "$cluster_most" ] ||
        misused "more than $cluster_most hosts: $n_hosts"
}

repeat_ranks()
{
    if ! is_number "$1" || [ "$1" -gt "$cluster_most" ]; then
        misused "not a number of hosts from 1 to $cluster_most: $1"
    fi
    is_number "$2" || misused "not a number of ranks: $2"
    host=0
    while [ "$host" -lt "$1" ]; do
        ranks="$ranks $2"
        host=$((host + 1))
    done
}

# Dealing to a host that is full already is not what mpiexec does.
can_deal()
{
    first='' last=''
    for each in $ranks; do
        : "${first:=$each}" "${last:=$each}"
        if [ "$each" -gt "$last" ] || [ "$((first - each))" -gt 1 ]; then
            misused "no round-robin placement has these numbers of ranks:" \
                "$ranks"
        fi
        last=$each
    done
}

# ---- stage: start ------------------------------------------------------------

find_mpiexec()
{
    [ -n "${MPIEXEC:-}" ] || MPIEXEC=$(command -v mpiexec.mpich) ||
        MPIEXEC=mpiexec
    export MPIEXEC
    "$MPIEXEC" -info 2>/dev/null | grep -q HYDRA ||
        impossible "$MPIEXEC is not MPICH's mpiexec"
}

find_tools()
{
    PATH=$PATH:/usr/sbin:/sbin
    export PATH
    for tool in ip unshare setpriv mount timeout ${rate:+tc}; do
        command -v "$tool" >/dev/null ||
            impossible "$tool is not installed (Debian packages iproute2," \
                "util-linux, coreutils)"
    done
}

# Try what the stages do, in namespaces that end with the trial.
try_namespaces()
{
    # Words on purpose, and a script for another shell.
    # shellcheck disable=SC2086,SC2016
    why=$(unshare $new --fork --kill-child sh -euc '
        mount -t tmpfs tmpfs /run
        mount -t proc proc /proc
        ip netns add host
        ip link add name bridge type bridge
        ip link add name port type veth peer name eth0 netns host
        [ -z "$1" ] || tc qdisc add dev port root tbf rate "$1" \
            burst "$2" latency 100ms
        ip netns exec host unshare --uts --ipc --pid --fork --mount-proc \
            mount -t tmpfs tmpfs /dev/shm' sh "$rate" "$burst" 2>&1) ||
        impossible "${why:-namespaces cannot be made}"
}

start()
{
    ask "$@"
    new="--mount --net --ipc --pid"
    [ "$(id -u)" -eq 0 ] || new="--user --map-root-user $new"
    find_tools
    find_mpiexec
    try_namespaces
    if [ "$check" = yes ]; then
        echo "cluster.sh: possible here, with $MPIEXEC"
        exit 0
    fi
    # shellcheck disable=SC2086
    exec unshare $new sh "$cluster_self" --keeper "$limit" "$@"
}

# ---- stage: keeper -----------------------------------------------------------

# The first process that it starts is the first of the new process namespace;
# waiting for that one is waiting for all.
keeper()
{
    seconds=$1
    shift
    first_process=
    signal=
    for name in HUP INT TERM; do
        # shellcheck disable=SC2064
        trap "signal=$name; kill -s KILL \$first_process" "$name"
    done
    setpriv --pdeathsig KILL timeout -k 5 "$seconds" \
        sh "$cluster_self" --inside "$@" </dev/null &
    first_process=$!
    wait "$first_process"
    status=$?
    if [ -n "$signal" ]; then
        wait "$first_process"
        trap - "$signal"
        kill -s "$signal" $$
    fi
    [ "$status" -ne 124 ] || complain "stopped after $seconds s"
    exit "$status"
}

# ---- stage: inside -----------------------------------------------------------

# add_host NUMBER
add_host()
{
    ip netns add "host$1" &&
        ip link add name "port$1" type veth peer name eth0 netns "host$1" &&
        ip link set "port$1" master bridge up &&
        ip -n "host$1" addr add "$cluster_net.$(($1 + 1))/24" dev eth0 &&
        ip -n "host$1" link set lo up &&
        ip -n "host$1" link set eth0 up || return 1
    [ -z "$rate" ] && return 0
    tc qdisc add dev "port$1" root tbf rate "$rate" burst "$burst" \
        latency 100ms &&
        tc -n "host$1" qdisc add dev eth0 root tbf rate "$rate" burst "$burst" \
            latency 100ms
}

# What mpiexec calls in place of ssh: launch -x ADDRESS COMMAND-LINE..., the
# words of the command line quoted for a shell.
write_launcher()
{
    cat >"$1" <<'END' && chmod +x "$1"
#!/bin/sh
[ "$1" = -x ] && shift
host=host$((${1##*.} - 1))
shift
exec ip netns exec "$host" unshare --uts --ipc --pid --fork --kill-child \
    --mount-proc sh -c '
        hostname "$0" && mount -t tmpfs tmpfs /dev/shm && eval "exec $*"
    ' "$host" "$@"
END
}

inside()
{
    ask "$@"
    shift "$n_used"
    # ip keeps its names of namespaces below /run.
    mount -t tmpfs tmpfs /run && mount -t proc proc /proc &&
        mount -t tmpfs tmpfs /dev/shm && ip link set lo up &&
        ip link add name bridge type bridge &&
        ip addr add "$cluster_net.254/24" dev bridge &&
        ip link set bridge up && write_launcher /run/launch || exit 1
    host=0 hosts='' n_ranks=0
    for each in $ranks; do
        add_host "$host" || exit 1
        host=$((host + 1))
        hosts=$hosts,$cluster_net.$host
        [ "$deal" = yes ] || hosts=$hosts:$each
        n_ranks=$((n_ranks + each))
    done
    [ "$deal" = no ] || set -- -ppn 1 -n "$n_ranks" "$@"
    [ "$deal" = yes ] || set -- -n "$n_ranks" "$@"
    export CLUSTER_HOSTS="$host"
    # Loopback devices look to UCX as if they led from host to host.
    export UCX_NET_DEVICES="${UCX_NET_DEVICES:-eth0}"
    exec "$MPIEXEC" -launcher ssh -launcher-exec /run/launch \
        -localhost "$cluster_net.254" -hosts "${hosts#,}" "$@"
}

case ${1:-} in
--keeper) shift; keeper "$@" ;;
--inside) shift; inside "$@" ;;
*) start "$@" ;;
esac
