"""Runs one case in ns-3 (the wheel `ns3`) and prints its results as JSON. The argument is the name of the case.

The simulation itself is C++ that the wheel compiles when it starts: traces that call Python for each packet would take hours.
"""

import json
import sys

from ns import ns
import cppyy

from cases import FRAME, MSS, cases

cppyy.cppdef(r"""
#include <algorithm>
#include <string>
#include <vector>

namespace dumbbell {
using namespace ns3;

struct Transfer { double start; unsigned side; uint64_t size; uint64_t received; uint64_t counted; double done; };
struct Case { std::string congestion; double rate, delay, access, duration, warmup, least, handshake, loss; unsigned buffer, mark; };

static Case setting;
static std::vector<Transfer> transfers;
// Packets in the queue of the bottleneck: the level, its integral over time after the warm-up, and drops.
static double level = 0, area = 0, changed = 0;
static uint64_t drops = 0;

void Advance() {
  double now = Simulator::Now().GetSeconds();
  area += level * std::max(0.0, now - std::max(changed, setting.warmup));
  changed = now;
}
void Level(uint32_t, uint32_t now) { Advance(); level = now; }
void Dropped(Ptr<const Packet>) { if (Simulator::Now().GetSeconds() >= setting.warmup) drops++; }
void DroppedItem(Ptr<const QueueDiscItem>) { if (Simulator::Now().GetSeconds() >= setting.warmup) drops++; }
void Received(unsigned index, Ptr<const Packet> packet, const Address&) {
  Transfer& it = transfers[index];
  it.received += packet->GetSize();
  if (Simulator::Now().GetSeconds() >= setting.warmup) it.counted += packet->GetSize();
  if (it.size > 0 && it.received >= it.size && it.done < 0) it.done = Simulator::Now().GetSeconds();
}

void Defaults() {
  std::string type = setting.congestion == "cubic" ? "ns3::TcpCubic"
                   : setting.congestion == "dctcp" ? "ns3::TcpDctcp" : "ns3::TcpNewReno";
  Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(type)));
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1460));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
  Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 27));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 27));
  Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(Seconds(setting.handshake)));
  Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(setting.least)));
}

NetDeviceContainer Cable(Ptr<Node> a, Ptr<Node> b, double rate, double delay, unsigned packets) {
  PointToPointHelper link;
  // A segment with its options fits, as it does in 1500 B without them.
  link.SetDeviceAttribute("Mtu", UintegerValue(2000));
  link.SetDeviceAttribute("DataRate", DataRateValue(DataRate((uint64_t) rate)));
  link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
  link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, packets)));
  return link.Install(a, b);
}

/// The queue of the bottleneck: the device's, or one in front of it that marks above a threshold.
void Watch(Ptr<NetDevice> device) {
  Ptr<PointToPointNetDevice> port = DynamicCast<PointToPointNetDevice>(device);
  if (setting.mark == 0) {
    port->GetQueue()->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Level));
    // A device that is full stops, and the layer above drops.
    Ptr<TrafficControlLayer> above = device->GetNode()->GetObject<TrafficControlLayer>();
    above->TraceConnectWithoutContext("TcDrop", MakeCallback(&Dropped));
    return;
  }
  TrafficControlHelper control;
  control.SetRootQueueDisc("ns3::RedQueueDisc",
    "MinTh", DoubleValue(setting.mark), "MaxTh", DoubleValue(setting.mark + 1), "QW", DoubleValue(1.0),
    "LInterm", DoubleValue(1.0), "Gentle", BooleanValue(false), "UseEcn", BooleanValue(true), "UseHardDrop", BooleanValue(false),
    "MeanPktSize", UintegerValue(1512), "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, setting.buffer)));
  QueueDiscContainer made = control.Install(device);
  made.Get(0)->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&Level));
  made.Get(0)->TraceConnectWithoutContext("Drop", MakeCallback(&DroppedItem));
}

void Open(unsigned index, Ptr<Node> from, Ptr<Node> to, Ipv4Address address, double round_trip) {
  Transfer& it = transfers[index];
  uint16_t port = 1000 + index;
  PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
  ApplicationContainer receiver = sink.Install(to);
  receiver.Get(0)->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, index));
  BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(address, port));
  bulk.SetAttribute("MaxBytes", UintegerValue(it.size));
  // The handshake is over when the flow begins, if nobody is in its way: Wayleave has none.
  bulk.Install(from).Start(Seconds(std::max(0.0, it.start - round_trip)));
}

void Run() {
  Defaults();
  NodeContainer nodes;
  nodes.Create(6);  // left, right, s1, s2, r1, r2
  InternetStackHelper stack;
  stack.Install(nodes);
  NetDeviceContainer middle = Cable(nodes.Get(0), nodes.Get(1), setting.rate, setting.delay, setting.mark ? 1 : setting.buffer);
  Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
  addresses.Assign(middle);
  TrafficControlHelper none;
  none.Uninstall(middle);
  Ipv4Address receivers[2];
  for (unsigned host = 0; host < 4; host++) {
    NetDeviceContainer cable = Cable(nodes.Get(host / 2), nodes.Get(2 + host), setting.access, 10e-6, 100000);
    addresses.NewNetwork();
    Ipv4InterfaceContainer interfaces = addresses.Assign(cable);
    none.Uninstall(cable);
    if (host >= 2) receivers[host - 2] = interfaces.GetAddress(1);
  }
  Watch(middle.Get(0));
  if (setting.loss > 0) {
    Ptr<RateErrorModel> error = CreateObject<RateErrorModel>();
    error->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
    error->SetRate(setting.loss);
    middle.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(error));
  }
  Ipv4GlobalRoutingHelper::PopulateRoutingTables();
  double round_trip = 2 * (setting.delay + 20e-6);
  for (unsigned index = 0; index < transfers.size(); index++) {
    unsigned side = transfers[index].side;
    Open(index, nodes.Get(2 + side), nodes.Get(4 + side), receivers[side], round_trip);
  }
  Simulator::Stop(Seconds(setting.duration));
  Simulator::Run();
  Advance();
}
}  // namespace dumbbell
""")


def main():
    case = next(case for case in cases() if case["name"] == sys.argv[1])
    dumbbell = cppyy.gbl.dumbbell
    setting = dumbbell.setting
    # With timestamps and its 2 B of framing a segment is 1514 B here, so it takes as long as a frame in Wayleave.
    scale = (MSS + 54) / FRAME
    setting.congestion, setting.rate, setting.access = case["congestion"], case["rate"] * scale, 10 * case["rate"] * scale
    setting.delay, setting.duration, setting.warmup = case["delay"], case["duration"], case["warmup"]
    setting.handshake = case["handshake"]
    setting.least, setting.loss, setting.buffer, setting.mark = case["least"], case["loss"], case["buffer"], case["mark"] or 0
    for start, side, size in case["flows"]:
        dumbbell.transfers.push_back(dumbbell.Transfer(float(start), side, size, 0, 0, -1.0))
    dumbbell.Run()
    counted = case["duration"] - case["warmup"]
    print(json.dumps(dict(
        name=case["name"],
        goodput=[it.counted * 8 / counted for it in dumbbell.transfers][:2],
        queue=dumbbell.area / counted,
        drops=int(dumbbell.drops),
        times=[it.done - it.start if it.done >= 0 else None for it in dumbbell.transfers if it.size],
    )))


main()
