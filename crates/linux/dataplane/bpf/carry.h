/* Copies broadcasts and multicasts of an endpoint to each endpoint that may be concerned. Each copy has the address
 * of its receiver, so switches need no multicast trees. Copies belong to no contract. Spoofed packets are reported
 * here, too. */

#define DHCP_SERVER 67 /* RFC 2131 */
#define DHCP_CLIENT 68
#define DHCP6_CLIENT 546 /* RFC 8415 */
#define DHCP6_SERVER 547
#define ICMP6 58
#define ROUTER_SOLICITATION 133 /* RFC 4861: up to neighbour advertisements, 136 */
#define NEIGHBOUR_ADVERTISEMENT 136

CHECKED_ONCE int push(struct __sk_buff *skb, const struct route *route, const struct pair *macs, u32 last, u32 present);

CHECKED_ONCE int note_stranger(const struct packet *packet, const struct pair *macs, u32 why)
{
	struct stranger key = {};
	u64 *seen, one = 1;

	if (!packet || !macs)
		return 0;
	key.ifindex = packet->ifindex;
	key.why = why;
	key.is_ip = packet->is_ip;
	COPY(key.mac, macs->source, 6);
	COPY(key.source, packet->source, 16);
	seen = map_lookup(&strangers, &key);
	if (seen)
		__sync_fetch_and_add(seen, 1);
	else
		map_update(&strangers, &key, &one, BPF_ANY);
	return 0;
}

/* Removes the tag of an endpoint's frame. Returns 0 if the frame has no tag, or another one. */
CHECKED_ONCE int take_tag(struct __sk_buff *skb, u32 vlan)
{
	u16 head[2];

	if (skb->vlan_present) {
		if (skb->vlan_proto != BE16(TYPE_TAG) || (skb->vlan_tci & 0xfff) != vlan)
			return 0;
	} else if (load_bytes(skb, 12, head, 4) || head[0] != BE16(TYPE_TAG) || (BE16(head[1]) & 0xfff) != vlan) {
		return 0;
	}
	return !vlan_pop(skb);
}

/* Returns true for a broadcast that address resolution or configuration needs: ARP, DHCP, neighbour discovery. */
CHECKED_ONCE int is_asked(struct __sk_buff *skb, const struct packet *packet)
{
	u16 type;
	u8 next, kind;

	if (!packet)
		return 0;
	switch (packet->is_ip) {
	case 0:
		return !load_bytes(skb, 12, &type, 2) && type == BE16(TYPE_ARP);
	case 4:
		return packet->protocol == UDP && (packet->destination_port == BE16(DHCP_SERVER) ||
						   packet->destination_port == BE16(DHCP_CLIENT));
	default:
		if (packet->protocol == UDP)
			return packet->destination_port == BE16(DHCP6_SERVER) ||
			       packet->destination_port == BE16(DHCP6_CLIENT);
		/* Without extension headers, as in RFC 4861: the first header is at 54. */
		return packet->protocol == ICMP6 && !load_bytes(skb, 20, &next, 1) && next == ICMP6 &&
		       !load_bytes(skb, 54, &kind, 1) && kind >= ROUTER_SOLICITATION && kind <= NEIGHBOUR_ADVERTISEMENT;
	}
}

/* Sends a copy to one member of a group. Returns the bytes of tags in the frame afterwards, or a negative value if
 * there is no room for them. */
CHECKED_ONCE int copy_to(struct __sk_buff *skb, const struct settings *settings, const struct packet *packet,
			 const struct pair *macs, u32 present)
{
	struct mac mac = {};
	struct routes *routes;
	struct target *to;
	struct route route;
	u8 *data, *end;
	int stack;

	if (!settings || !packet || !macs)
		return -1;
	COPY(mac.of, macs->destination, 6);
	to = map_lookup(&local, &mac);
	if (to) {
		data = (u8 *)(long)skb->data;
		end = (u8 *)(long)skb->data_end;
		/* An endpoint that has just moved to this host asks again. */
		if (present || data + 14 > end)
			return present;
		COPY(data, macs->destination, 6);
		skb->priority = 0;
		if (UNLIKELY(to->vlan) && vlan_push(skb, BE16(TYPE_TAG), to->vlan))
			return -1;
		count(LOCAL);
		clone_redirect(skb, to->ifindex, 0);
		return to->vlan && vlan_pop(skb) ? -1 : 0;
	}
	routes = map_lookup(&best_effort, &mac);
	if (!routes || !routes->n)
		return present;
	route = routes->of[0];
	if (skb->len - present > route.largest || 4 * route.n_tags < present)
		return present;
	stack = push(skb, &route, macs, 0, present);
	if (stack < 0)
		return stack;
	skb->priority = route.priority;
	count(BEST_EFFORT);
	clone_redirect(skb, route.uplink, 0);
	return stack;
}

/* Copies a broadcast or multicast frame to its group, with a rate limit: these copies must not use up the capacity
 * of other traffic. */
CHECKED_ONCE int carry(struct __sk_buff *skb, const struct settings *settings, const struct packet *packet,
		       const struct pair *macs)
{
	struct group *group;
	struct pair one;
	int present = 0;
	u64 now, due;
	u32 ifindex;

	if (!settings || !packet || !macs)
		return drop(FAILED);
	ifindex = packet->ifindex;
	group = map_lookup(&groups, &ifindex);
	if (!group || settings->unmatched || !is_asked(skb, packet))
		return drop(MULTICAST);
	now = time_of(settings);
	/* Two processors may race here and lose one of two updates: the limit is approximate. */
	due = group->due > now ? group->due : now;
	if (due - now > CARRY_AHEAD_NS)
		return drop(MULTICAST);
	group->due = due + CARRY_EVERY_NS;
	count(CARRIED);
	COPY(one.source, macs->source, 6);
	for (u32 i = 0; i < MAX_GROUP; i++) {
		if (i >= group->n)
			break;
		COPY(one.destination, group->of[i].of, 6);
		present = copy_to(skb, settings, packet, &one, present);
		if (present < 0)
			break;
	}
	return ACT_SHOT;
}
