"""Messages of OpenFlow 1.3 as os-ken writes them, for crates/linux/openflow/tests/golden/os-ken.txt.

pip install os-ken==4.2.2, then: python3 tools/os-ken-vectors.py
"""
from os_ken.ofproto import ofproto_protocol
from os_ken.ofproto import ofproto_v1_3 as o
from os_ken.ofproto import ofproto_v1_3_parser as p

datapath = ofproto_protocol.ProtocolDesc(version=4)
anywhere = {"out_port": o.OFPP_ANY, "out_group": o.OFPG_ANY}


def tell(name, kind, *arguments, **named):
    message = kind(datapath, *arguments, **named)
    message.set_xid(1)
    message.serialize()
    print(name, message.buf.hex())


def apply(*actions):
    return p.OFPInstructionActions(o.OFPIT_APPLY_ACTIONS, list(actions))


print("# Written by os-ken 4.2.2 (tools/os-ken-vectors.py); name and bytes.")
tell("hello", p.OFPHello, elements=[])
tell("features", p.OFPFeaturesRequest)
tell("barrier", p.OFPBarrierRequest)
tell("echo", p.OFPEchoRequest, b"abc")
queue = [p.OFPActionSetQueue(2), p.OFPActionOutput(7, 0)]
match = p.OFPMatch(in_port=3, eth_type=0x800, vlan_vid=0x1000 | 10)
tell("flow", p.OFPFlowMod, priority=100, match=match, instructions=[apply(*queue)], **anywhere)
match = p.OFPMatch(vlan_vid=0x1000 | 4094, vlan_pcp=7)
pop = apply(p.OFPActionPopVlan(), p.OFPActionSetQueue(0), p.OFPActionOutput(1, 0))
instructions = [pop]
tell("pop", p.OFPFlowMod, cookie=0x5741594C00000001, priority=200, match=match, instructions=instructions, **anywhere)
match = p.OFPMatch(eth_type=0x86DD, ip_dscp=46)
push = apply(
    p.OFPActionPushVlan(0x8100),
    p.OFPActionSetField(vlan_vid=0x1000 | 9),
    p.OFPActionSetField(vlan_pcp=3),
    p.OFPActionOutput(2, 0),
)
change = {"table_id": 1, "command": o.OFPFC_DELETE_STRICT, "idle_timeout": 10, "hard_timeout": 20, "flags": 1}
tell("push", p.OFPFlowMod, match=match, instructions=[push, p.OFPInstructionGotoTable(3)], **change, **anywhere)
every = 0xFFFFFFFFFFFFFFFF
tell("delete", p.OFPFlowMod, cookie=1, cookie_mask=every, table_id=255, command=o.OFPFC_DELETE, **anywhere)
tell("flows", p.OFPFlowStatsRequest, 0, 255, o.OFPP_ANY, o.OFPG_ANY, 0, 0)
tell("ports", p.OFPPortDescStatsRequest, 0)
tell("packet", p.OFPPacketOut, o.OFP_NO_BUFFER, o.OFPP_LOCAL, queue, b"\xaa" * 20)
