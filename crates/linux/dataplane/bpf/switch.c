/* A switch: at the ingress of every port the outer tag selects the output port and the class, and is removed.
 *
 * Chameleon (CoNEXT 2020), section 3.4: configured once at the start. */
#include "kernel.h"
#include "samples.h"

enum switch_reason { FORWARDED, UNTAGGED, UNKNOWN, SWITCH_REASONS };

struct switch_counts {
	u64 of[SWITCH_REASONS];
};

struct tag {
	u32 ifindex; /* of the input port: one map can serve all switches of a machine */
	u16 tci; /* in host byte order */
	u16 padding;
};

struct port {
	u32 ifindex;
	u32 priority;
};

MAP(tags, BPF_MAP_TYPE_HASH, 65536, BPF_F_NO_PREALLOC, struct tag, struct port);
MAP(switch_counters, BPF_MAP_TYPE_PERCPU_HASH, 4096, BPF_F_NO_PREALLOC, u32, struct switch_counts);

/* Selection of sampled packets. */
struct watch {
	u32 sample; /* 0: none; otherwise one more than the number of zero bits at the end of a sample's number */
	u32 padding;
	u64 missed; /* selected, but the buffer was full */
};

MAP(watch, BPF_MAP_TYPE_ARRAY, 1, 0, u32, struct watch);

/* About fifteen hundred samples. */
struct {
	UINT(type, BPF_MAP_TYPE_RINGBUF);
	UINT(max_entries, 1 << 16);
} seen SEC(".maps");

#define MAX_TAGS 12

/* Samples a passing packet; tags inside the frame are skipped. */
CHECKED_ONCE int note(struct __sk_buff *skb)
{
	u32 zero = 0, skip = 0;
	struct watch *watched = map_lookup(&watch, &zero);
	struct sample sample = {};
	u16 type;

	if (!watched || !watched->sample)
		return 0;
	for (u32 i = 0; i <= MAX_TAGS; i++) {
		if (load_bytes(skb, 12 + 4 * i, &type, 2))
			return 0;
		if (!is_tag(type))
			break;
		skip += 4;
	}
	sample.of = sample_of(skb, skip);
	sample.at = clock_ns();
	if (is_chosen(sample.of, watched->sample - 1) && ring_output(&seen, &sample, sizeof(sample), 1))
		__sync_fetch_and_add(&watched->missed, 1);
	return 0;
}

INLINE void count(u32 ifindex, enum switch_reason reason)
{
	struct switch_counts *counts = map_lookup(&switch_counters, &ifindex), none = {};

	if (!counts) {
		map_update(&switch_counters, &ifindex, &none, BPF_NOEXIST);
		counts = map_lookup(&switch_counters, &ifindex);
		if (!counts)
			return;
	}
	counts->of[reason]++;
}

/* Removes the outer tag and returns its port, among the ports of this interface. */
INLINE struct port *next(struct __sk_buff *skb)
{
	struct tag tag = { .ifindex = skb->ifindex };
	struct port *out;
	u16 head[2];

	if (skb->vlan_present) {
		if (skb->vlan_proto != BE16(TYPE_TAG))
			goto untagged;
		tag.tci = skb->vlan_tci;
	} else {
		if (load_bytes(skb, 12, head, 4) || head[0] != BE16(TYPE_TAG))
			goto untagged;
		tag.tci = BE16(head[1]);
	}
	note(skb);
	out = map_lookup(&tags, &tag);
	if (!out || vlan_pop(skb)) {
		count(tag.ifindex, UNKNOWN);
		return 0;
	}
	skb->priority = out->priority;
	count(tag.ifindex, FORWARDED);
	return out;
untagged:
	count(tag.ifindex, UNTAGGED);
	return 0;
}

SEC("classifier")
int port(struct __sk_buff *skb)
{
	struct port *out = next(skb);

	return out ? redirect(out->ifindex, 0) : ACT_SHOT;
}

/* Mark of a packet that has already passed here: "wl". */
#define SEEN 0x776c

/* The switch where other software forwards, such as Open vSwitch: at the egress of a port, before its queues. The
 * sender must not see an error when a packet is dropped here or by a full queue: Open vSwitch sends up to 32
 * packets at once (sendmmsg), and the first error loses the rest. Waiting packets must not count against the socket
 * of the sender, either: all ports share it, and about 90 packets fill it. So this sends a copy that belongs to no
 * socket, and steals the original packet, which counts as success. */
SEC("classifier")
int leave(struct __sk_buff *skb)
{
	if (skb->mark == SEEN) {
		skb->mark = 0;
		return ACT_OK;
	}
	if (!next(skb))
		return ACT_STOLEN;
	skb->mark = SEEN;
	clone_redirect(skb, skb->ifindex, 0);
	return ACT_STOLEN;
}

char _license[] SEC("license") = "Apache-2.0";
