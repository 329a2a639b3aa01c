/* A host: what its endpoints send is classified, charged, tagged and sent (`endpoint`, at the ingress of the host's end of each
 * endpoint's interface); what the network brings is delivered (`uplink`, at the ingress of each uplink).
 *
 * Chameleon (CoNEXT 2020), sections 4.2.2 and 4.2.3. docs/dataplane.md says what is charged, dropped and counted. The Rust models
 * are in crates/wire and crates/schemes/src/duplicates; crates/dataplane/tests/ holds both against each other. */
#include "maps.h"
#include "parse.h"

MAP(settings, BPF_MAP_TYPE_ARRAY, 1, 0, u32, struct settings);
MAP(counters, BPF_MAP_TYPE_PERCPU_ARRAY, 1, 0, u32, struct counts);
MAP(endpoints, BPF_MAP_TYPE_HASH, 1024, BPF_F_NO_PREALLOC, u32, struct endpoint);
MAP(local, BPF_MAP_TYPE_HASH, 1024, BPF_F_NO_PREALLOC, struct mac, u32);
MAP(classes, BPF_MAP_TYPE_HASH, 65536, BPF_F_NO_PREALLOC, struct class, struct contracts);
MAP(classes6, BPF_MAP_TYPE_HASH, 65536, BPF_F_NO_PREALLOC, struct class6, struct contracts);
MAP(rules, BPF_MAP_TYPE_ARRAY, 4096, 0, u32, struct rule);
MAP(buckets, BPF_MAP_TYPE_ARRAY, 4096, 0, u32, struct bucket);
MAP(best_effort, BPF_MAP_TYPE_HASH, 65536, BPF_F_NO_PREALLOC, struct mac, struct routes);
MAP(numbers, BPF_MAP_TYPE_HASH, 65536, BPF_F_NO_PREALLOC, struct pair, u32);
MAP(filters, BPF_MAP_TYPE_HASH, 65536, BPF_F_NO_PREALLOC, struct pair, struct filter);
MAP(blank, BPF_MAP_TYPE_ARRAY, 1, 0, u32, struct blank);
MAP(measured, BPF_MAP_TYPE_HASH, 65536, BPF_F_NO_PREALLOC, u64, struct measured);

/* Agents of one kernel may share it: then one notes what another one receives. */
struct {
	UINT(type, BPF_MAP_TYPE_LRU_HASH);
	UINT(max_entries, 16384);
	UINT(pinning, PIN_BY_NAME);
	TYPE(key, u64);
	TYPE(value, struct sent);
} sent SEC(".maps");

#define FIXED 24 /* preamble, delimiter, frame check sequence and gap (IEEE 802.3) */
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

#include "delay.h"
#include "filter.h"

/* What is done with a packet, as its rule said at one moment. */
struct order {
	u32 n_routes;
	u32 is_numbered;
	u64 serial;
	u64 bound_ns;
	struct route routes[MAX_ROUTES];
};

enum answer { SEND, NO_RULE, TOO_LARGE, TOO_MUCH };

/* Charges a packet to a rule, and notes where it goes; all of it under the lock, so that the rule is one rule. */
INLINE enum answer charge(u32 slot, u64 serial, u32 length, u64 now, struct order *order)
{
	struct rule *rule = map_lookup(&rules, &slot);
	struct bucket *bucket = map_lookup(&buckets, &slot);
	enum answer answer = NO_RULE;
	u64 tokens, elapsed, cost, bytes;

	if (!rule || !bucket)
		return NO_RULE;
	lock(&rule->lock);
	if (UNLIKELY(rule->serial != serial))
		goto out;
	bytes = length + rule->overhead;
	bytes = (bytes < LEAST ? LEAST : bytes) + FIXED;
	if (UNLIKELY(bytes > rule->max_frame)) {
		bucket->oversized++;
		answer = TOO_LARGE;
		goto out;
	}
	tokens = bucket->tokens;
	if (now > bucket->last) {
		elapsed = now - bucket->last;
		/* Below fill_ns the product is less than a burst, which is less than 2^63. */
		tokens = elapsed >= rule->fill_ns ? rule->burst : tokens + elapsed * rule->rate;
		bucket->last = now;
	}
	if (tokens > rule->burst)
		tokens = rule->burst;
	cost = bytes * 8 * 1000000000ull;
	if (cost > tokens) {
		bucket->tokens = tokens;
		bucket->shaped++;
		answer = TOO_MUCH;
		goto out;
	}
	bucket->tokens = tokens - cost;
	bucket->packets++;
	bucket->bytes += bytes;
	order->n_routes = rule->n_routes;
	order->bound_ns = rule->bound_ns;
	order->routes[0] = rule->routes[0];
	if (rule->n_routes > 1) {
		order->routes[1] = rule->routes[1];
		order->routes[2] = rule->routes[2];
		order->routes[3] = rule->routes[3];
	}
	answer = SEND;
out:
	unlock(&rule->lock);
	return answer;
}

/* The contract of a packet: of those with the most fields the lowest serial. */
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

/* Puts a stack of tags into the frame, of which `present` bytes are there already, and says how many are there then; below 0 if there is
 * no room. `last` is the innermost tag, in the order of the wire, or 0. */
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

/* The next number of a pair's packets. */
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
	u32 *ifindex;

	COPY(mac.of, destination, 6);
	ifindex = map_lookup(&local, &mac);
	if (!ifindex)
		return drop(NO_ROUTE);
	skb->priority = 0;
	count(LOCAL);
	return send(skb, settings, *ifindex);
}

/* Without a contract: the lowest class of every link, or nothing. */
CHECKED_ONCE int without_contract(struct __sk_buff *skb, const struct settings *settings, const struct packet *packet,
				  const struct pair *macs)
{
	struct mac mac = {};
	struct routes *routes;
	struct route route;
	u32 *ifindex, at;

	if (!settings || !packet || !macs)
		return drop(FAILED);
	if (settings->unmatched)
		return drop(UNMATCHED);
	COPY(mac.of, macs->destination, 6);
	ifindex = map_lookup(&local, &mac);
	if (ifindex) {
		skb->priority = 0;
		count(LOCAL);
		return send(skb, settings, *ifindex);
	}
	routes = map_lookup(&best_effort, &mac);
	if (!routes || !routes->n)
		return drop(NO_ROUTE);
	at = routes->n == 1 ? 0 : flow_hash(packet) % routes->n;
	if (at >= MAX_ROUTES)
		return drop(FAILED);
	route = routes->of[at];
	if (push(skb, &route, macs, 0, 0) < 0)
		return drop(FAILED);
	skb->priority = route.priority;
	count(BEST_EFFORT);
	return send(skb, settings, route.uplink);
}

INLINE int from_endpoint(struct __sk_buff *skb)
{
	u32 zero = 0, ifindex = skb->ifindex, length = skb->len;
	struct settings *settings_ = map_lookup(&settings, &zero);
	struct endpoint *endpoint = map_lookup(&endpoints, &ifindex);
	struct contract contract = {};
	struct packet packet;
	struct order order;
	struct pair macs;
	u64 now;

	if (!settings_ || !endpoint)
		return drop(NO_ENDPOINT);
	switch (parse(skb, &packet, &macs)) {
	case PARSED:
		break;
	case TAGGED_FRAME:
		return drop(FORGED);
	default:
		return drop(MALFORMED);
	}
	if (!same_mac(macs.source, endpoint->mac))
		return drop(SPOOFED);
	if (macs.destination[0] & 1)
		return drop(MULTICAST);
	if (skb->gso_size)
		return drop(OVERSIZED);
	packet.ifindex = ifindex;
	if (!endpoint->n_masks || !classify(endpoint, &packet, &contract))
		return without_contract(skb, settings_, &packet, &macs);
	now = time_of(settings_);
	/* Kernels before 6.3 want to see that a function is given no memory that was never written. */
	ZERO(order.routes + 1, sizeof(order.routes) - sizeof(order.routes[0]));
	switch (charge(contract.slot, contract.serial, length, now, &order)) {
	case SEND:
		break;
	case TOO_LARGE:
		return drop(OVERSIZED);
	case TOO_MUCH:
		return drop(SHAPED);
	default:
		return without_contract(skb, settings_, &packet, &macs);
	}
	if (settings_->measure)
		note_sent(skb, now, contract.serial, order.bound_ns);
	if (!order.n_routes)
		return deliver_locally(skb, settings_, macs.destination);
	return carry_out(skb, settings_, &order, &macs);
}

INLINE int from_network(struct __sk_buff *skb)
{
	u32 zero = 0, *ifindex, inline_tag = 0;
	struct settings *settings_ = map_lookup(&settings, &zero);
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
	ifindex = map_lookup(&local, &mac);
	if (!ifindex) {
		/* The host's own stack; a tag is nothing that it knows. */
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
	if (is_numbered && vlan_pop(skb))
		return drop(FAILED);
	skb->priority = 0;
	count(DELIVERED);
	return send(skb, settings_, *ifindex);
}

#ifndef MEASURED
SEC("classifier")
int endpoint(struct __sk_buff *skb)
{
	return from_endpoint(skb);
}

SEC("classifier")
int uplink(struct __sk_buff *skb)
{
	return from_network(skb);
}
#endif

char _license[] SEC("license") = "Apache-2.0";
