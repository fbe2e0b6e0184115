#!/bin/sh
# platform.sh - a machine as SimGrid describes machines: its own kinds of network.
#
#   sh bench/smpi/platform.sh MACHINE NODES CORES
#
# Prints an XML file for NODES nodes of the machine bench/machines/MACHINE.json, whose
# network is one of SimGrid's clusters: "dragonfly" (groups of routers with two nodes
# each), "torus", "fattree" (two levels; as many links up as the taper says, of which
# a node's number selects one), or "flat" (a cluster with a backbone that all share, for
# nine in ten of its ports at once, as in SimGrid's documentation).
# SimGrid gives every link of a cluster the same rate and latency. Within a node a
# message is a flow of its own, with the latency of messages there and the rate at
# which one rank copies; all of a node together have no bound.
set -u

if [ $# -ne 3 ] || ! [ -r "$(dirname "$0")/../machines/$1.json" ]; then
    sed -n '/^#   sh/,/^#$/s/^# *//p' "$0" >&2
    exit 2
fi
file=$(dirname "$0")/../machines/$1.json

awk -v nodes="$2" -v cores="$3" -F '[":, ]+' '
    { sub(/^ +/, ""); $0 = $0; value[$2] = $3 }
    function divisor(n, power, d, best) {
        for (d = 1; d ^ power <= n; d++)
            if (n % d == 0) best = d
        return best
    }
    function refuse(why) {
        print "platform.sh: " nodes " nodes: " why | "cat >&2"
        failed = 1
        exit 1
    }
    # Groups of 2 nodes a router; its links to other routers of the group are twice
    # what its nodes can fill, those between groups as many as the taper says.
    function dragonfly(routers, groups, global) {
        routers = value["group"] / 2
        groups = nodes / value["group"]
        global = value["taper"] * value["group"] / (groups - 1)
        if (groups != int(groups) || groups < 2 || groups > routers)
            refuse("not 2 to " routers " groups of " value["group"])
        if (global != int(global))
            refuse("groups have " global " links between them")
        latency = value["net_per_phase"] / 3 # two nodes and one link between
        rate = 1 / value["net_per_byte"]
        return groups "," global ";1,1;" routers ",4;2"
    }
    function torus(left, text, d, size) {
        left = nodes
        for (d = value["dims"]; d > 0; d--) {
            size = divisor(left, d)
            left /= size
            if (size > 1) text = text (text ? "," : "") size
        }
        latency = value["hop"]
        rate = 1 / value["link_byte"]
        return text
    }
    function fattree(leaves) {
        leaves = nodes / value["group"]
        if (leaves != int(leaves) || leaves < 2)
            refuse("not two leaves or more of " value["group"])
        latency = value["net_per_phase"] / 2
        rate = 1 / value["net_per_byte"]
        return "2;" value["group"] "," leaves ";1," \
            value["taper"] * value["group"] ";1,1"
    }
    # As the documentation of SimGrid has it, whose latency is ten times that of a port.
    function backbone() {
        latency = value["net_per_phase"] / 12
        rate = 1 / value["net_per_byte"]
        return sprintf("bb_bw=\"%.9gGBps\" bb_lat=\"%.9gns\"", 0.9 * nodes * rate,
                       10 * latency)
    }
    function topology(kind, parameters) {
        return "topology=\"" kind "\" topo_parameters=\"" parameters "\""
    }
    END {
        if (failed) exit 1
        shape = value["shape"]
        if (shape == "dragonfly") network = topology("DRAGONFLY", dragonfly())
        else if (shape == "torus") network = topology("TORUS", torus())
        else if (shape == "fattree") network = topology("FAT_TREE", fattree())
        else network = backbone()
        print "<?xml version=\"1.0\"?>"
        print "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">"
        print "<platform version=\"4.1\">"
        print "<cluster id=\"machine\" prefix=\"node-\" suffix=\"\""
        print "  radical=\"0-" nodes - 1 "\" speed=\"1Gf\" core=\"" cores "\" " network
        printf "  bw=\"%.9gGBps\" lat=\"%.9gns\"", rate, latency
        print " sharing_policy=\"SPLITDUPLEX\""
        printf "  loopback_bw=\"%.9gGBps\"", 1 / value["copied_byte"]
        print " loopback_lat=\"" value["p2p_per_phase"] "ns\"/>"
        print "</platform>"
    }' "$file"
