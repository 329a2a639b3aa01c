/* A switch: at the ingress of every port the outer tag says where the packet goes and in which class; then the tag is gone.
 *
 * Chameleon (CoNEXT 2020), section 3.4: configured once at its start, and never again. */
#include "kernel.h"

enum switch_reason { FORWARDED, UNTAGGED, UNKNOWN, SWITCH_REASONS };

struct switch_counts {
	u64 of[SWITCH_REASONS];
};

struct tag {
	u32 ifindex; /* of the port at which it came: one map can serve all switches of a machine */
	u16 tci; /* in the order of the machine */
	u16 padding;
};

struct port {
	u32 ifindex;
	u32 priority;
};

MAP(tags, BPF_MAP_TYPE_HASH, 65536, BPF_F_NO_PREALLOC, struct tag, struct port);
MAP(switch_counters, BPF_MAP_TYPE_PERCPU_HASH, 4096, BPF_F_NO_PREALLOC, u32, struct switch_counts);

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

SEC("classifier")
int port(struct __sk_buff *skb)
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
	out = map_lookup(&tags, &tag);
	if (!out || vlan_pop(skb)) {
		count(tag.ifindex, UNKNOWN);
		return ACT_SHOT;
	}
	skb->priority = out->priority;
	count(tag.ifindex, FORWARDED);
	return redirect(out->ifindex, 0);
untagged:
	count(tag.ifindex, UNTAGGED);
	return ACT_SHOT;
}

char _license[] SEC("license") = "Apache-2.0";
