/* machine.cpp - the machines that SimGrid simulates: N nodes with as many
 * ranks each, joined by a Dragonfly, a 3-D torus or a fat tree.
 *
 * A platform that smpirun loads. A message's time is known when it begins: a
 * latency for its path, and the longest it waits at one of the queues that it
 * passes (network ports, links, the memory of a node) including its own time
 * there. A queue serves at a fixed rate and remembers only until when it is
 * busy, so that a message costs the simulation a few additions, however many
 * are in flight; sharing bandwidth among flows would cost their number.
 *
 * Environment: SCALE_MACHINE, SCALE_NODES, SCALE_RANKS_PER_NODE.
 */
#include <simgrid/s4u.hpp>
#include <simgrid/version.h>
#if SIMGRID_VERSION < 40000
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#endif

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace
{

class Queue
{
    double busy_until = 0;

  public:
    double wait(double now, double work)
    {
        busy_until = std::max(busy_until, now) + work;
        return busy_until - now;
    }
};

struct Message {
    double now, bytes;
    double latency = 0; // seconds
    double slowest = 0; // seconds at one queue

    void pass(Queue &queue, double gap, double rate)
    {
        slowest = std::max(slowest, queue.wait(now, gap + bytes / rate));
    }
};

// Latencies and gaps in seconds, rates in bytes a second.

struct Network {
    double latency; // between nodes, without what is farther away
    double gap;     // of a network port, per message
    double rate;    // of a network port, each way

    Network(double latency, double gap, double rate)
        : latency(latency), gap(gap), rate(rate)
    {
    }
    virtual ~Network() = default;
    // Links between the ports of two nodes.
    virtual void route(int from, int to, Message &m) = 0;
};

// As Cray's Slingshot: groups of nodes, joined all to all by links that give
// each node half its port's rate.
struct Dragonfly : Network {
    static constexpr int group_nodes = 32;
    static constexpr double global_latency = 0.4e-6;
    int groups;
    double global_rate;
    std::vector<Queue> global;

    explicit Dragonfly(int nodes)
        : Network(1.3e-6, 20e-9, 25e9),
          groups((nodes + group_nodes - 1) / group_nodes),
          global_rate(0.5 * rate * group_nodes / std::max(1, groups - 1)),
          global(static_cast<size_t>(groups) * groups)
    {
    }
    void route(int from, int to, Message &m) override
    {
        const int a = from / group_nodes, b = to / group_nodes;
        if (a == b)
            return;
        m.latency += global_latency;
        m.pass(global[static_cast<size_t>(a) * groups + b], 0, global_rate);
    }
};

// As Fujitsu's TofuD: the shorter way round in x, then in y, then in z.
struct Torus : Network {
    static constexpr double hop_latency = 0.08e-6;
    static constexpr double link_rate = 6.8e9;
    int size[3];
    std::vector<Queue> link; // of each node, six: forth and back in x, y, z

    explicit Torus(int nodes) : Network(0.6e-6, 40e-9, 40.8e9), link(6 * nodes)
    {
        size[0] = divisor(nodes, 3);
        size[1] = divisor(nodes / size[0], 2);
        size[2] = nodes / size[0] / size[1];
    }
    // The largest whose power is at most n.
    static int divisor(int n, int power)
    {
        int best = 1;
        for (int d = 1; (power == 2 ? d * d : d * d * d) <= n; d++)
            best = n % d == 0 ? d : best;
        return best;
    }
    void route(int from, int to, Message &m) override
    {
        int stride = 1;
        for (int k = 0; k < 3; k++) {
            from = turn(from, to, k, stride, m);
            stride *= size[k];
        }
    }
    // From there to the place of the target in dimension k; returns the node.
    int turn(int at, int to, int k, int stride, Message &m)
    {
        const int n = size[k], target = to / stride % n;
        const bool forth = (target - at / stride % n + n) % n * 2 <= n;
        for (int x = at / stride % n; x != target;) {
            m.latency += hop_latency;
            m.pass(link[6 * at + 2 * k + forth], 0, link_rate);
            const int next = (x + (forth ? 1 : n - 1)) % n;
            at += (next - x) * stride;
            x = next;
        }
        return at;
    }
};

// As InfiniBand EDR: switches of 16 nodes, below others with half as many
// links up as nodes.
struct FatTree : Network {
    static constexpr int leaf_nodes = 16;
    static constexpr double hop_latency = 0.15e-6;
    double up_rate;
    std::vector<Queue> up, down; // all links of a leaf as one

    explicit FatTree(int nodes)
        : Network(1.0e-6, 20e-9, 12.5e9), up_rate(0.5 * leaf_nodes * rate),
          up(nodes / leaf_nodes + 1), down(nodes / leaf_nodes + 1)
    {
    }
    void route(int from, int to, Message &m) override
    {
        const int a = from / leaf_nodes, b = to / leaf_nodes;
        if (a == b)
            return;
        m.latency += 2 * hop_latency;
        m.pass(up[a], 0, up_rate);
        m.pass(down[b], 0, up_rate);
    }
};

class Machine
{
    // Inside a node a message is a copy by one core; all cores together are
    // bounded by the memory.
    static constexpr double node_latency = 0.3e-6;
    static constexpr double copy_rate = 10e9;
    static constexpr double memory_gap = 5e-9;
    static constexpr double memory_rate = 100e9;
    std::unique_ptr<Network> network;
    std::vector<Queue> out, in, memory; // [nodes]

  public:
    Machine(const std::string &kind, int nodes)
        : out(nodes), in(nodes), memory(nodes)
    {
        if (kind == "dragonfly")
            network = std::make_unique<Dragonfly>(nodes);
        else if (kind == "torus")
            network = std::make_unique<Torus>(nodes);
        else if (kind == "fattree")
            network = std::make_unique<FatTree>(nodes);
        else
            throw std::invalid_argument("SCALE_MACHINE: " + kind);
    }
    // Seconds from now until the message has arrived.
    double deliver(int from, int to, double now, double bytes)
    {
        Message m{now, bytes};
        if (from == to) {
            m.latency = node_latency;
            m.slowest = bytes / copy_rate;
            m.pass(memory[from], memory_gap, memory_rate);
        } else {
            m.latency = network->latency;
            m.pass(out[from], network->gap, network->rate);
            m.pass(in[to], network->gap, network->rate);
            network->route(from, to, m);
        }
        return m.latency + m.slowest;
    }
};

// SimGrid multiplies a link's latency by a factor that it asks for when a
// message begins: the links have this latency and no other cost.
constexpr double unit = 1e-6;
constexpr double unlimited = 1e15;

std::unique_ptr<Machine> machine;
std::unordered_map<const sg4::Host *, int> number;

double factor(double bytes, const sg4::Host *from, const sg4::Host *to,
              const std::vector<sg4::Link *> &,
              const std::unordered_set<sg4::NetZone *> &)
{
    const double now = sg4::Engine::get_clock();
    return machine->deliver(number.at(from), number.at(to), now, bytes) / unit;
}

std::string setting(const char *name)
{
    const char *const value = std::getenv(name);
    if (!value)
        throw std::invalid_argument(std::string(name) + " is not set");
    return value;
}

// What SimGrid 4 calls by other names than SimGrid 3.
#if SIMGRID_VERSION >= 40000
sg4::NetZone *add_zone(const sg4::Engine &engine, const std::string &name)
{
    return engine.get_netzone_root()->add_netzone_star(name);
}
sg4::Host *add_host(sg4::NetZone *zone, const std::string &name, double speed)
{
    return zone->add_host(name, speed);
}
sg4::Link *add_link(sg4::NetZone *zone, const std::string &name, double rate)
{
    return zone->add_link(name, rate);
}
void add_route(sg4::NetZone *zone, const sg4::Host *from, const sg4::Host *to,
               const std::vector<sg4::LinkInRoute> &links)
{
    zone->add_route(from, to, links, false);
}
void ask_for_latency(sg4::NetZone *zone)
{
    zone->set_latency_factor_cb(factor);
}
#else
sg4::NetZone *add_zone(const sg4::Engine &, const std::string &name)
{
    return sg4::create_star_zone(name);
}
sg4::Host *add_host(sg4::NetZone *zone, const std::string &name, double speed)
{
    return zone->create_host(name, speed);
}
sg4::Link *add_link(sg4::NetZone *zone, const std::string &name, double rate)
{
    return zone->create_link(name, rate);
}
void add_route(sg4::NetZone *zone, const sg4::Host *from, const sg4::Host *to,
               const std::vector<sg4::LinkInRoute> &links)
{
    zone->add_route(from ? from->get_netpoint() : nullptr,
                    to ? to->get_netpoint() : nullptr, nullptr, nullptr, links,
                    false);
}
void ask_for_latency(sg4::NetZone *zone)
{
    zone->get_network_model()->set_lat_factor_cb(factor);
}
#endif

sg4::Link *make_link(sg4::NetZone *zone, const std::string &name)
{
    sg4::Link *const link = add_link(zone, name, unlimited);
    link->set_latency(unit);
    link->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE);
    link->seal();
    return link;
}

// Every path has one link: from a node out to anywhere, or within the node.
void make_node(sg4::NetZone *zone, int i, int cores)
{
    const std::string name = "node-" + std::to_string(i);
    sg4::Host *const host = add_host(zone, name, 1e9);
    host->set_core_count(cores);
    host->seal();
    number[host] = i;
    const std::vector<sg4::LinkInRoute> none,
        out{sg4::LinkInRoute(make_link(zone, name + "-out"))},
        self{sg4::LinkInRoute(make_link(zone, name + "-self"))};
    add_route(zone, host, nullptr, out);
    add_route(zone, nullptr, host, none);
    add_route(zone, host, host, self);
}

} // namespace

extern "C" void load_platform(const sg4::Engine &engine)
{
    const int nodes = std::stoi(setting("SCALE_NODES"));
    const int cores = std::stoi(setting("SCALE_RANKS_PER_NODE"));
    machine = std::make_unique<Machine>(setting("SCALE_MACHINE"), nodes);
    auto *const zone = add_zone(engine, "machine");
    for (int i = 0; i < nodes; i++)
        make_node(zone, i, cores);
    zone->seal();
    ask_for_latency(zone);
}
