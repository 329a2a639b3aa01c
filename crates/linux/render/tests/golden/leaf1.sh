#!/bin/sh
# Queues of leaf1, by `wayleave export-config --for tc`. Run it as root.
# Assumed: Packets take the routes of the plan: the codepoint selects queues, not the route. Pin the routes (listed in contracts.csv).
# Assumed: Hosts set the codepoint of each contract (contracts.csv) and keep it to its rate, burst and largest frame. Wayleave's agents mark packets with VLAN tags, not with codepoints, so another program must do both here.
# Assumed: No other traffic uses these codepoints: clear them at the network edge.
# Assumed: Ports of hosts have the queues and buffers of the topology (`hostQueues`, `hostBuffer`), and hosts fill no more of a line than `target` of its classes: only switches are configured here.
# Assumed: No packet is larger than the MTU of its link in the topology, which is not set here, and PAUSE and PFC are off: bounds do not include time in which a port is paused.
# Assumed: Control traffic (routing protocols, CS6 and CS7) is small: it uses the lowest queue here.
# Assumed: The machine forwards packets itself (bridge or routes), and its interfaces do not merge packets (no GRO, TSO or GSO).
# Assumed: A frame is on the wire for its length and 24 bytes, and the bucket of TBF lets no more than one frame and a third of a millisecond through at once (docs/operate/dataplane.md).
set -eu

# Nothing is changed unless every port exists.
for interface in eth1 eth2 eth3; do
    ip link show dev "$interface" >/dev/null || { echo "no queues were changed" >&2; exit 1; }
done

# eth1: 1Gbit in 8 queues
tc qdisc replace dev eth1 root pfifo
tc qdisc replace dev eth1 root handle 1: tbf rate 1000000000 burst 43266 limit 10000000 mpu 84 overhead 24
tc qdisc replace dev eth1 parent 1:1 handle 2: htb default 8
tc class replace dev eth1 parent 2: classid 2:1 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 0
tc qdisc replace dev eth1 parent 2:1 handle 11: bfifo limit 97000
tc class replace dev eth1 parent 2: classid 2:2 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 1
tc qdisc replace dev eth1 parent 2:2 handle 12: bfifo limit 97000
tc class replace dev eth1 parent 2: classid 2:3 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 2
tc qdisc replace dev eth1 parent 2:3 handle 13: bfifo limit 97000
tc class replace dev eth1 parent 2: classid 2:4 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 3
tc qdisc replace dev eth1 parent 2:4 handle 14: bfifo limit 97000
tc class replace dev eth1 parent 2: classid 2:5 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 4
tc qdisc replace dev eth1 parent 2:5 handle 15: bfifo limit 97000
tc class replace dev eth1 parent 2: classid 2:6 htb rate 100gbit burst 100mb cburst 100mb quantum 9600 prio 5
tc qdisc replace dev eth1 parent 2:6 handle 16: bfifo limit 97000
tc class replace dev eth1 parent 2: classid 2:7 htb rate 100gbit burst 100mb cburst 100mb quantum 4800 prio 5
tc qdisc replace dev eth1 parent 2:7 handle 17: bfifo limit 97000
tc class replace dev eth1 parent 2: classid 2:8 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 5
tc qdisc replace dev eth1 parent 2:8 handle 18: bfifo limit 97000
tc filter add dev eth1 parent 2: protocol ip prio 1 u32 match ip dsfield 0x04 0xfc flowid 2:6
tc filter add dev eth1 parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x04 0xfc flowid 2:6
tc filter add dev eth1 parent 2: protocol ip prio 1 u32 match ip dsfield 0x08 0xfc flowid 2:7
tc filter add dev eth1 parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x08 0xfc flowid 2:7
tc filter add dev eth1 parent 2: protocol ip prio 1 u32 match ip dsfield 0x0c 0xfc flowid 2:1
tc filter add dev eth1 parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x0c 0xfc flowid 2:1
tc filter add dev eth1 parent 2: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 2:3
tc filter add dev eth1 parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x10 0xfc flowid 2:3

# eth2: 1Gbit in 8 queues
tc qdisc replace dev eth2 root pfifo
tc qdisc replace dev eth2 root handle 1: tbf rate 1000000000 burst 43266 limit 10000000 mpu 84 overhead 24
tc qdisc replace dev eth2 parent 1:1 handle 2: htb default 8
tc class replace dev eth2 parent 2: classid 2:1 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 0
tc qdisc replace dev eth2 parent 2:1 handle 11: bfifo limit 97000
tc class replace dev eth2 parent 2: classid 2:2 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 1
tc qdisc replace dev eth2 parent 2:2 handle 12: bfifo limit 97000
tc class replace dev eth2 parent 2: classid 2:3 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 2
tc qdisc replace dev eth2 parent 2:3 handle 13: bfifo limit 97000
tc class replace dev eth2 parent 2: classid 2:4 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 3
tc qdisc replace dev eth2 parent 2:4 handle 14: bfifo limit 97000
tc class replace dev eth2 parent 2: classid 2:5 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 4
tc qdisc replace dev eth2 parent 2:5 handle 15: bfifo limit 97000
tc class replace dev eth2 parent 2: classid 2:6 htb rate 100gbit burst 100mb cburst 100mb quantum 9600 prio 5
tc qdisc replace dev eth2 parent 2:6 handle 16: bfifo limit 97000
tc class replace dev eth2 parent 2: classid 2:7 htb rate 100gbit burst 100mb cburst 100mb quantum 4800 prio 5
tc qdisc replace dev eth2 parent 2:7 handle 17: bfifo limit 97000
tc class replace dev eth2 parent 2: classid 2:8 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 5
tc qdisc replace dev eth2 parent 2:8 handle 18: bfifo limit 97000
tc filter add dev eth2 parent 2: protocol ip prio 1 u32 match ip dsfield 0x04 0xfc flowid 2:6
tc filter add dev eth2 parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x04 0xfc flowid 2:6
tc filter add dev eth2 parent 2: protocol ip prio 1 u32 match ip dsfield 0x08 0xfc flowid 2:7
tc filter add dev eth2 parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x08 0xfc flowid 2:7
tc filter add dev eth2 parent 2: protocol ip prio 1 u32 match ip dsfield 0x0c 0xfc flowid 2:1
tc filter add dev eth2 parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x0c 0xfc flowid 2:1
tc filter add dev eth2 parent 2: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 2:3
tc filter add dev eth2 parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x10 0xfc flowid 2:3

# eth3: 1Gbit in 8 queues
tc qdisc replace dev eth3 root pfifo
tc qdisc replace dev eth3 root handle 1: tbf rate 1000000000 burst 43266 limit 10000000 mpu 84 overhead 24
tc qdisc replace dev eth3 parent 1:1 handle 2: htb default 8
tc class replace dev eth3 parent 2: classid 2:1 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 0
tc qdisc replace dev eth3 parent 2:1 handle 11: bfifo limit 97000
tc class replace dev eth3 parent 2: classid 2:2 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 1
tc qdisc replace dev eth3 parent 2:2 handle 12: bfifo limit 97000
tc class replace dev eth3 parent 2: classid 2:3 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 2
tc qdisc replace dev eth3 parent 2:3 handle 13: bfifo limit 97000
tc class replace dev eth3 parent 2: classid 2:4 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 3
tc qdisc replace dev eth3 parent 2:4 handle 14: bfifo limit 97000
tc class replace dev eth3 parent 2: classid 2:5 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 4
tc qdisc replace dev eth3 parent 2:5 handle 15: bfifo limit 97000
tc class replace dev eth3 parent 2: classid 2:6 htb rate 100gbit burst 100mb cburst 100mb quantum 9600 prio 5
tc qdisc replace dev eth3 parent 2:6 handle 16: bfifo limit 97000
tc class replace dev eth3 parent 2: classid 2:7 htb rate 100gbit burst 100mb cburst 100mb quantum 4800 prio 5
tc qdisc replace dev eth3 parent 2:7 handle 17: bfifo limit 97000
tc class replace dev eth3 parent 2: classid 2:8 htb rate 100gbit burst 100mb cburst 100mb quantum 1600 prio 5
tc qdisc replace dev eth3 parent 2:8 handle 18: bfifo limit 97000
tc filter add dev eth3 parent 2: protocol ip prio 1 u32 match ip dsfield 0x04 0xfc flowid 2:6
tc filter add dev eth3 parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x04 0xfc flowid 2:6
tc filter add dev eth3 parent 2: protocol ip prio 1 u32 match ip dsfield 0x08 0xfc flowid 2:7
tc filter add dev eth3 parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x08 0xfc flowid 2:7
tc filter add dev eth3 parent 2: protocol ip prio 1 u32 match ip dsfield 0x0c 0xfc flowid 2:1
tc filter add dev eth3 parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x0c 0xfc flowid 2:1
tc filter add dev eth3 parent 2: protocol ip prio 1 u32 match ip dsfield 0x10 0xfc flowid 2:3
tc filter add dev eth3 parent 2: protocol ipv6 prio 2 u32 match ip6 priority 0x10 0xfc flowid 2:3
