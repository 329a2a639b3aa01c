"""Measures packet-hops that ns-3 (the wheel `ns3`) simulates per second of a processor, as JSON lines like those of `wayleave bench sim`.

    python speed.py [k4-cbr|k4-dctcp|k4-newreno]

The network is that of the cases `k4-cbr` and `k4-dctcp` of `wayleave bench sim`: a fat tree with k = 4 of links with 10 Gbit/s and 1 us, 16 hosts, and a
permutation of flows; `k4-newreno` has another TCP and no marks. A hop is a packet that a device has received. `make ns3` installs the wheel; `make ns3-speed` runs all steps.
"""

import json
import sys

from ns import ns  # noqa: F401 (loads the library for cppyy)
import cppyy

cppyy.cppdef(r"""
#include <ctime>
#include <string>
#include <vector>

namespace speed {
using namespace ns3;

static std::vector<Ptr<PointToPointNetDevice>> devices;
static Ipv4Address addresses[16];

/// A cable; marks above 65 packets in front of the devices of switches, if that is wanted.
void Cable(Ptr<Node> a, Ptr<Node> b, bool marks, bool isHost, unsigned host) {
  static Ipv4AddressHelper networks("10.0.0.0", "255.255.255.0");
  PointToPointHelper link;
  link.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
  link.SetChannelAttribute("Delay", StringValue("1us"));
  link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue(marks ? "1p" : "650p"));
  NetDeviceContainer ends = link.Install(a, b);
  Ipv4InterfaceContainer interfaces = networks.Assign(ends);
  networks.NewNetwork();
  if (isHost) addresses[host] = interfaces.GetAddress(0);
  TrafficControlHelper control;
  control.Uninstall(ends);
  if (marks) {
    control.SetRootQueueDisc("ns3::RedQueueDisc", "MinTh", DoubleValue(65), "MaxTh", DoubleValue(66), "QW", DoubleValue(1.0),
      "LInterm", DoubleValue(1.0), "Gentle", BooleanValue(false), "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false),
      "MeanPktSize", UintegerValue(1500), "MaxSize", StringValue("650p"));
    control.Install(ends);
  }
  for (unsigned end = 0; end < 2; end++) devices.push_back(DynamicCast<PointToPointNetDevice>(ends.Get(end)));
}

/// Runs it for so many seconds, with a TCP or, if it is empty, constant rates. Packet-hops for each second of the processor.
double Run(const std::string& tcp, double seconds) {
  const bool isTcp = !tcp.empty(), isDctcp = tcp == "ns3::TcpDctcp";
  Config::SetDefault("ns3::Ipv4GlobalRouting::RandomEcmpRouting", BooleanValue(!isTcp));
  if (isTcp) Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(tcp)));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 22));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 22));
  NodeContainer hosts, edges, aggregations, cores;
  hosts.Create(16);
  edges.Create(8);
  aggregations.Create(8);
  cores.Create(4);
  InternetStackHelper stack;
  for (const NodeContainer& nodes : {hosts, edges, aggregations, cores}) stack.Install(nodes);
  for (unsigned host = 0; host < 16; host++) Cable(hosts.Get(host), edges.Get(host / 2), isDctcp, true, host);
  for (unsigned pod = 0; pod < 4; pod++)
    for (unsigned up = 0; up < 2; up++) {
      for (unsigned edge = 0; edge < 2; edge++) Cable(edges.Get(2 * pod + edge), aggregations.Get(2 * pod + up), isDctcp, false, 0);
      for (unsigned core = 0; core < 2; core++) Cable(aggregations.Get(2 * pod + up), cores.Get(2 * up + core), isDctcp, false, 0);
    }
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  const std::string type = isTcp ? "ns3::TcpSocketFactory" : "ns3::UdpSocketFactory";
  for (unsigned host = 0; host < 16; host++) {
    // All to other pods, and each receives from one.
    unsigned to = (host + 5) % 16;
    PacketSinkHelper sink(type, InetSocketAddress(Ipv4Address::GetAny(), 1000));
    sink.Install(hosts.Get(to));
    InetSocketAddress there(addresses[to], 1000);
    if (isTcp) {
      BulkSendHelper bulk(type, there);
      bulk.Install(hosts.Get(host)).Start(Seconds(0));
    } else {
      OnOffHelper source(type, there);
      source.SetConstantRate(DataRate("9Gbps"), 1472);
      source.Install(hosts.Get(host)).Start(Seconds(0));
    }
  }
  Simulator::Stop(Seconds(seconds));
  std::clock_t began = std::clock();
  Simulator::Run();
  double took = double(std::clock() - began) / CLOCKS_PER_SEC;
  uint64_t hops = 0;
  for (auto& device : devices) hops += device->GetQueue()->GetTotalReceivedPackets();
  Simulator::Destroy();
  return hops / took;
}
}  // namespace speed
""")

# Simulated seconds: some seconds of a processor each.
CASES = {"k4-cbr": ("", 0.05), "k4-dctcp": ("ns3::TcpDctcp", 0.05), "k4-newreno": ("ns3::TcpNewReno", 0.05)}


def main():
    # A process can run one simulation: defaults and addresses are global.
    name = sys.argv[1] if len(sys.argv) == 2 else ""
    if name not in CASES:
        sys.exit(f"one of {', '.join(CASES)} is expected")
    tcp, seconds = CASES[name]
    value = cppyy.gbl.speed.Run(tcp, seconds)
    print(json.dumps(dict(bench="ns-3", case=name, metric="hops_per_cpu_s", value=round(value), unit="hops/s")))


if __name__ == "__main__":
    main()
