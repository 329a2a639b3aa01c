/* Programs of a host. `endpoint`, at the ingress of the host's end of each endpoint's interface, classifies, charges,
 * tags and sends frames of endpoints. `held` continues with frames that have waited for tokens. `uplink`, at the
 * ingress of each uplink, delivers frames from the network.
 *
 * Chameleon (CoNEXT 2020), sections 4.2.2 and 4.2.3. docs/operate/dataplane.md describes charges, drops and
 * counters. The Rust models are in crates/core/packet-format and crates/admission/schemes/src/duplicates;
 * crates/linux/dataplane/tests/ compares both with each other. */
#include "maps.h"
#include "parse.h"

MAP(settings, BPF_MAP_TYPE_ARRAY, 1, 0, u32, struct settings);
MAP(counters, BPF_MAP_TYPE_PERCPU_ARRAY, 1, 0, u32, struct counts);
MAP(endpoints, BPF_MAP_TYPE_HASH, 1024, BPF_F_NO_PREALLOC, u32, struct endpoint);
MAP(local, BPF_MAP_TYPE_HASH, 1024, BPF_F_NO_PREALLOC, struct mac, struct target);
MAP(groups, BPF_MAP_TYPE_HASH, 1024, BPF_F_NO_PREALLOC, u32, struct group);
MAP(strangers, BPF_MAP_TYPE_LRU_HASH, 1024, 0, struct stranger, u64);
MAP(classes, BPF_MAP_TYPE_HASH, 65536, BPF_F_NO_PREALLOC, struct class, struct contracts);
MAP(classes6, BPF_MAP_TYPE_HASH, 65536, BPF_F_NO_PREALLOC, struct class6, struct contracts);
MAP(rules, BPF_MAP_TYPE_ARRAY, 4096, 0, u32, struct rule);
MAP(buckets, BPF_MAP_TYPE_ARRAY, 4096, 0, u32, struct bucket);
MAP(best_effort, BPF_MAP_TYPE_HASH, 65536, BPF_F_NO_PREALLOC, struct mac, struct routes);
MAP(numbers, BPF_MAP_TYPE_HASH, 65536, BPF_F_NO_PREALLOC, struct pair, u32);
MAP(filters, BPF_MAP_TYPE_HASH, 65536, BPF_F_NO_PREALLOC, struct pair, struct filter);
MAP(blank, BPF_MAP_TYPE_ARRAY, 1, 0, u32, struct blank);
MAP(measured, BPF_MAP_TYPE_HASH, 65536, BPF_F_NO_PREALLOC, u64, struct measured);

/* Agents of one kernel may share it: one records the packets that another one receives. */
struct {
	UINT(type, BPF_MAP_TYPE_LRU_HASH);
	UINT(max_entries, 16384);
	UINT(pinning, PIN_BY_NAME);
	TYPE(key, u64);
	TYPE(value, struct sent);
} sent SEC(".maps");

#define FIXED 24 /* preamble, delimiter, frame check sequence and gap (IEEE 802.3) */
/* Handle of the queueing discipline with three classes for each contract. Leaves of a contract by bits of their
 * numbers: packets that left their class too early, and behind them all others.
 * crates/linux/dataplane/src/host/hold.rs */
#define WAITING 1
#define EARLY 0x8000
#define QUEUE 0x4000
#define SLOTS 0x3fff
#define LEAST 60 /* the shortest frame, without its check sequence: shorter ones are padded */

INLINE void count(enum reason reason)
{
	u32 zero = 0;
	struct counts *counts = map_lookup(&counters, &zero);

	if (counts)
		counts->of[reason]++;
}

INLINE int drop(enum reason reason)
{
	count(reason);
	return ACT_SHOT;
}

INLINE u64 time_of(const struct settings *settings)
{
	return UNLIKELY(settings->now) ? settings->now : clock_ns();
}

INLINE int send(struct __sk_buff *skb, const struct settings *settings, u32 ifindex)
{
	if (UNLIKELY(settings->now))
		skb->mark = ifindex;
	return redirect(ifindex, 0);
}

/* Delivers to an endpoint of this host, with the tag of its interface. */
INLINE int hand_over(struct __sk_buff *skb, const struct settings *settings, const struct target *to, enum reason reason)
{
	u32 ifindex = to->ifindex;

	skb->priority = 0;
	if (UNLIKELY(to->vlan) && vlan_push(skb, BE16(TYPE_TAG), to->vlan))
		return drop(FAILED);
	count(reason);
	return send(skb, settings, ifindex);
}

#include "carry.h"
#include "delay.h"
#include "filter.h"

/* Actions for a packet, as its rule was at one moment. */
struct order {
	u32 n_routes;
	u32 holder;
	u64 serial;
	u64 bound_ns;
	struct route routes[MAX_ROUTES];
};

#include "follow.h"
#include "charge.h"

/* Finds the contract of a packet: the lowest serial among those with the most fields. */
CHECKED_ONCE int classify(const struct endpoint *endpoint, const struct packet *packet, struct contract *found)
{
	u32 fields = 0;

	if (!endpoint || !packet || !found)
		return 0;
	found->serial = 0;
	for (u32 i = 0; i < MAX_MASKS; i++) {
		struct contracts *contracts;
		u8 mask;

		if (i >= endpoint->n_masks)
			break;
		if (found->serial && endpoint->fields[i] < fields)
			break;
		mask = endpoint->masks[i];
		if ((mask & MASK_IP) && !packet->is_ip)
			continue;
		if ((mask & MASK_PORTS) && !packet->has_ports)
			continue;
		if (UNLIKELY(packet->is_ip == 6 && (mask & MASK_ADDRESSES))) {
			struct class6 key;

			masked6(&key, packet, mask);
			contracts = map_lookup(&classes6, &key);
		} else {
			struct class key;

			masked(&key, packet, mask);
			contracts = map_lookup(&classes, &key);
		}
		if (!contracts)
			continue;
		if (!found->serial || contracts->of[0].serial < found->serial) {
			*found = contracts->of[0];
			fields = endpoint->fields[i];
		}
	}
	return found->serial != 0;
}

/* Inserts a stack of tags into the frame, which already has `present` bytes of tags. Returns the bytes of tags
 * afterwards, or a negative value if there is no room for them. `last` is the innermost tag, in network byte order,
 * or 0. */
CHECKED_ONCE int push(struct __sk_buff *skb, const struct route *route, const struct pair *macs, u32 last, u32 present)
{
	u32 n_tags, stack;
	u8 *data, *end;

	if (!route || !macs)
		return -1;
	n_tags = route->n_tags;
	if (n_tags > MAX_TAGS)
		return -1;
	stack = 4 * (n_tags + !!last);
	if (stack < present)
		return -1;
	if (stack > present && grow_head(skb, stack - present, 0))
		return -1;
	data = (u8 *)(long)skb->data;
	end = (u8 *)(long)skb->data_end;
	if (data + 14 > end)
		return -1;
	COPY(data, macs->destination, 6);
	COPY(data + 6, macs->source, 6);
	data += 12;
	for (u32 i = 0; i < MAX_TAGS; i++) {
		if (i >= n_tags)
			break;
		if (data + 4 > end)
			return -1;
		*(u32 *)data = BE16(TYPE_TAG) | (u32)route->tags[i] << 16;
		data += 4;
	}
	if (last) {
		if (data + 4 > end)
			return -1;
		*(u32 *)data = last;
	}
	return stack;
}

/* Returns the next sequence number of a pair. */
INLINE u16 next_number(const struct pair *pair)
{
	u32 *number = map_lookup(&numbers, pair), first = 0;

	if (!number) {
		map_update(&numbers, pair, &first, BPF_NOEXIST);
		number = map_lookup(&numbers, pair);
		if (!number)
			return 0;
	}
	return (u16)__sync_fetch_and_add(number, 1);
}

INLINE int carry_out(struct __sk_buff *skb, const struct settings *settings, const struct order *order,
		     const struct pair *macs)
{
	u32 n_routes = order->n_routes, last = 0;
	int present = 0;

	if (n_routes > 1)
		last = BE16(TYPE_SEQUENCE) | (u32)BE16(next_number(macs)) << 16;
	for (u32 i = 0; i < MAX_ROUTES; i++) {
		const struct route *route = &order->routes[i];

		if (i >= n_routes)
			break;
		present = push(skb, route, macs, last, present);
		if (present < 0)
			break;
		skb->priority = route->priority;
		if (i + 1 == n_routes) {
			count(GUARANTEED);
			return send(skb, settings, route->uplink);
		}
		clone_redirect(skb, route->uplink, 0);
	}
	return drop(FAILED);
}

INLINE int deliver_locally(struct __sk_buff *skb, const struct settings *settings, const u8 *destination)
{
	struct mac mac = {};
	struct target *to;

	COPY(mac.of, destination, 6);
	to = map_lookup(&local, &mac);
	return to ? hand_over(skb, settings, to, LOCAL) : drop(NO_ROUTE);
}

/* Sends a packet without a contract in the lowest class of every link, or drops it. */
CHECKED_ONCE int without_contract(struct __sk_buff *skb, const struct settings *settings, const struct packet *packet,
				  const struct pair *macs)
{
	struct mac mac = {};
	struct routes *routes;
	struct target *to;
	struct route route;
	u32 at;

	if (!settings || !packet || !macs)
		return drop(FAILED);
	if (settings->unmatched)
		return drop(UNMATCHED);
	COPY(mac.of, macs->destination, 6);
	to = map_lookup(&local, &mac);
	if (to)
		return hand_over(skb, settings, to, LOCAL);
	routes = map_lookup(&best_effort, &mac);
	if (!routes || !routes->n)
		return drop(NO_ROUTE);
	at = routes->n == 1 ? 0 : flow_hash(packet) % routes->n;
	if (at >= MAX_ROUTES)
		return drop(FAILED);
	route = routes->of[at];
	if (skb->len > route.largest)
		return drop(OVERSIZED);
	if (push(skb, &route, macs, 0, 0) < 0)
		return drop(FAILED);
	skb->priority = route.priority;
	count(BEST_EFFORT);
	return send(skb, settings, route.uplink);
}

/* Sends a packet on the routes of its rule. `now`: release time, from which its delay counts. */
INLINE int follow(struct __sk_buff *skb, const struct settings *settings, const struct order *order,
		  const struct pair *macs, u64 now)
{
	if (settings->measure)
		note_sent(skb, now, order->serial, order->bound_ns);
	if (settings->sample && order->n_routes)
		sample_sent(skb, settings, order, now);
	if (!order->n_routes)
		return deliver_locally(skb, settings, macs->destination);
	return carry_out(skb, settings, order, macs);
}

/* Sends a packet to the interface where packets wait for tokens, in classes of a queueing discipline per contract.
 * Its mark is the time of arrival. */
INLINE int wait(struct __sk_buff *skb, const struct settings *settings, u32 holder, u32 slot, u64 now)
{
	skb->priority = WAITING << 16 | QUEUE | (slot + 1);
	skb->mark = (u32)(now / 1000);
	count(DELAYED);
	return UNLIKELY(settings->now) ? send(skb, settings, holder) : redirect(holder, 0);
}

/* `is_cut`: the frame is a segment of a super-frame, whose tag has already been removed. */
INLINE int from_endpoint(struct __sk_buff *skb, u32 ifindex, int is_cut)
{
	u32 zero = 0, length;
	struct settings *settings_ = map_lookup(&settings, &zero);
	struct endpoint *endpoint = map_lookup(&endpoints, &ifindex);
	struct contract contract = {};
	struct packet packet;
	struct order order;
	struct pair macs;
	u64 now;

	if (!settings_ || !endpoint)
		return drop(NO_ENDPOINT);
	if (UNLIKELY(endpoint->vlan) && !is_cut && !take_tag(skb, endpoint->vlan))
		return drop(FORGED);
	length = skb->len;
	if (UNLIKELY(skb->gso_size)) {
		if (!settings_->splitter)
			return drop(OVERSIZED);
		/* Its frames return at the lower interface, with the mark. */
		skb->priority = 0;
		skb->mark = ifindex;
		count(SPLIT);
		return redirect(settings_->splitter, 0);
	}
	switch (parse(skb, &packet, &macs)) {
	case PARSED:
		break;
	case TAGGED_FRAME:
		return drop(FORGED);
	default:
		return drop(MALFORMED);
	}
	packet.ifindex = ifindex;
	if (!same_mac(macs.source, endpoint->mac)) {
		note_stranger(&packet, &macs, WRONG_MAC);
		return drop(SPOOFED);
	}
	if (macs.destination[0] & 1)
		return carry(skb, settings_, &packet, &macs);
	if (!endpoint->n_masks || !classify(endpoint, &packet, &contract)) {
		if (UNLIKELY(endpoint->names_source && packet.is_ip))
			note_stranger(&packet, &macs, UNNAMED_SOURCE);
		return without_contract(skb, settings_, &packet, &macs);
	}
	now = time_of(settings_);
	/* Kernels before 6.3 require that memory passed to a function is initialised. */
	ZERO(order.routes + 1, sizeof(order.routes) - sizeof(order.routes[0]));
	switch (charge(contract.slot, contract.serial, length, now, &order)) {
	case SEND:
		return follow(skb, settings_, &order, &macs, now);
	case WAIT:
		return wait(skb, settings_, order.holder, contract.slot, now);
	case TOO_LARGE:
		return drop(OVERSIZED);
	case TOO_MUCH:
		return drop(SHAPED);
	case NO_ROOM:
		return drop(QUEUE_FULL);
	default:
		return without_contract(skb, settings_, &packet, &macs);
	}
}

/* Runs below the interfaces where packets wait, and where super-frames are cut. */
INLINE int from_holder(struct __sk_buff *skb)
{
	u32 zero = 0, slot = (skb->priority & SLOTS) - 1;
	struct settings *settings_ = map_lookup(&settings, &zero);
	struct order order;
	struct pair macs;
	u8 head[12];
	u64 now;

	if (skb->priority >> 16 != WAITING)
		return from_endpoint(skb, skb->mark, 1);
	if (!settings_ || load_bytes(skb, 0, head, 12))
		return drop(MALFORMED);
	COPY(macs.destination, head, 6);
	COPY(macs.source, head + 6, 6);
	now = time_of(settings_);
	ZERO(&order, sizeof(order));
	switch (settle(skb, slot, now, &order)) {
	case SEND:
		skb->mark = 0;
		skb->tc_index = 0;
		return follow(skb, settings_, &order, &macs, now);
	case WAIT:
		skb->priority = WAITING << 16 | EARLY | (slot + 1);
		return order.holder ? redirect(order.holder, 0) : drop(SHAPED);
	case TOO_LARGE:
		return drop(OVERSIZED);
	default:
		return drop(WITHDRAWN);
	}
}

INLINE int from_network(struct __sk_buff *skb)
{
	u32 zero = 0, inline_tag = 0;
	struct settings *settings_ = map_lookup(&settings, &zero);
	struct target *to;
	struct mac mac = {};
	struct pair macs;
	u16 type, number = 0;
	int is_numbered = 0;
	u8 head[18];

	if (!settings_ || load_bytes(skb, 0, head, 14))
		return drop(MALFORMED);
	COPY(macs.destination, head, 6);
	COPY(macs.source, head + 6, 6);
	COPY(&type, head + 12, 2);
	if (skb->vlan_present) {
		if (skb->vlan_proto != BE16(TYPE_SEQUENCE) || is_tag(type))
			return drop(TAGGED);
		number = skb->vlan_tci;
		is_numbered = 1;
	} else if (type == BE16(TYPE_SEQUENCE)) {
		if (load_bytes(skb, 0, head, 18))
			return drop(MALFORMED);
		COPY(&number, head + 14, 2);
		COPY(&type, head + 16, 2);
		if (is_tag(type))
			return drop(TAGGED);
		number = BE16(number);
		is_numbered = 1;
		inline_tag = 4;
	} else if (is_tag(type)) {
		return drop(TAGGED);
	}
	COPY(mac.of, macs.destination, 6);
	to = map_lookup(&local, &mac);
	if (!to) {
		/* Frames for the host's own stack, which does not understand sequence tags. */
		if (is_numbered)
			return drop(TAGGED);
		count(TO_HOST);
		return ACT_OK;
	}
	if (is_numbered) {
		if (!accept(&macs, number, settings_))
			return drop(DUPLICATE);
	}
	if (settings_->measure)
		note_arrival(skb, inline_tag, time_of(settings_));
	if (settings_->sample)
		sample_arrival(skb, settings_, inline_tag);
	if (is_numbered && vlan_pop(skb))
		return drop(FAILED);
	return hand_over(skb, settings_, to, DELIVERED);
}

#ifndef MEASURED
SEC("classifier")
int endpoint(struct __sk_buff *skb)
{
	return from_endpoint(skb, skb->ifindex, 0);
}

SEC("classifier")
int held(struct __sk_buff *skb)
{
	return from_holder(skb);
}

SEC("classifier")
int uplink(struct __sk_buff *skb)
{
	return from_network(skb);
}
#endif

char _license[] SEC("license") = "Apache-2.0";
