/* Token buckets of contracts: `charge` for a packet that arrives, `settle` for one that has waited. The Rust model is
 * `TokenBucket` in crates/core/packet-format. Part of host.c, which declares the maps. */
#ifndef WAYLEAVE_CHARGE_H
#define WAYLEAVE_CHARGE_H

enum answer { SEND, NO_RULE, TOO_LARGE, TOO_MUCH, NO_ROOM, WAIT };

/* Returns the bytes of a frame on the wire. */
INLINE u64 wire_bytes(const struct rule *rule, u32 length)
{
	u64 bytes = length + rule->overhead;

	return (bytes < LEAST ? LEAST : bytes) + FIXED;
}

/* Returns the present tokens of the bucket. Below fill_ns the product is less than a burst, which is less than 2^63. */
INLINE u64 refill(const struct rule *rule, struct bucket *bucket, u64 now)
{
	u64 tokens = bucket->tokens, elapsed;

	if (now > bucket->last) {
		elapsed = now - bucket->last;
		tokens = elapsed >= rule->fill_ns ? rule->burst : tokens + elapsed * rule->rate;
		bucket->last = now;
	}
	return tokens > rule->burst ? rule->burst : tokens;
}

/* Returns 1 if the waiting packets are lost: the queueing discipline does not report it when it is flushed. */
INLINE int is_lost(const struct rule *rule, const struct bucket *bucket, u64 now)
{
	return now > bucket->moved && now - bucket->moved > rule->stale_ns;
}

INLINE void take_order(const struct rule *rule, struct order *order)
{
	order->n_routes = rule->n_routes;
	order->serial = rule->serial;
	order->bound_ns = rule->bound_ns;
	order->routes[0] = rule->routes[0];
	if (rule->n_routes > 1) {
		order->routes[1] = rule->routes[1];
		order->routes[2] = rule->routes[2];
		order->routes[3] = rule->routes[3];
	}
}

/* Charges a packet to a rule and copies the rule's actions, all under one lock, so that the packet sees one
 * consistent rule. A packet has to wait if there are too few tokens or if it would overtake a waiting packet, and
 * if the rule has a queue. */
INLINE enum answer charge(u32 slot, u64 serial, u32 length, u64 now, struct order *order)
{
	struct rule *rule = map_lookup(&rules, &slot);
	struct bucket *bucket = map_lookup(&buckets, &slot);
	enum answer answer = NO_RULE;
	u64 tokens, cost, bytes;

	if (!rule || !bucket)
		return NO_RULE;
	lock(&rule->lock);
	if (UNLIKELY(rule->serial != serial))
		goto out;
	bytes = wire_bytes(rule, length);
	if (UNLIKELY(bytes > rule->max_frame)) {
		bucket->oversized++;
		answer = TOO_LARGE;
		goto out;
	}
	tokens = refill(rule, bucket, now);
	bucket->tokens = tokens;
	cost = bytes * 8 * 1000000000ull;
	if (UNLIKELY(bucket->waiting && is_lost(rule, bucket, now))) {
		bucket->waiting = 0;
		bucket->waiting_bytes = 0;
		bucket->first_early = bucket->next_early;
	}
	if (cost <= tokens && !bucket->waiting) {
		bucket->tokens = tokens - cost;
		bucket->packets++;
		bucket->bytes += bytes;
		take_order(rule, order);
		answer = SEND;
		goto out;
	}
	if (!rule->holder) {
		bucket->shaped++;
		answer = TOO_MUCH;
		goto out;
	}
	if (bucket->waiting_bytes + bytes > rule->limit) {
		bucket->shaped++;
		answer = NO_ROOM;
		goto out;
	}
	if (!bucket->waiting)
		bucket->moved = now;
	bucket->waiting++;
	bucket->waiting_bytes += bytes;
	order->holder = rule->holder;
	answer = WAIT;
out:
	unlock(&rule->lock);
	return answer;
}

/* Returns 1 if no earlier packet waits. */
INLINE int is_next(const struct __sk_buff *skb, const struct bucket *bucket)
{
	return bucket->first_early == bucket->next_early ||
	       ((skb->priority & EARLY) && skb->tc_index == bucket->first_early);
}

/* Charges a packet that has waited. The bucket decides: a packet that left its class too early waits again, before
 * the packets that came after it, and gets a number among the early ones. */
CHECKED_ONCE int settle(struct __sk_buff *skb, u32 slot, u64 now, struct order *order)
{
	u32 waited_us = (u32)(now / 1000) - skb->mark;
	struct rule *rule = map_lookup(&rules, &slot);
	struct bucket *bucket = map_lookup(&buckets, &slot);
	enum answer answer = NO_RULE;
	u64 tokens, cost, bytes;
	u32 at = 0;

	if (!rule || !bucket || !order)
		return NO_RULE;
	for (u32 longest = SHORTEST_WAIT_US; at < WAITS - 1 && waited_us > longest; at++)
		longest *= 2;
	lock(&rule->lock);
	if (UNLIKELY(!rule->serial))
		goto out;
	bytes = wire_bytes(rule, skb->len);
	tokens = refill(rule, bucket, now);
	cost = bytes * 8 * 1000000000ull;
	if (UNLIKELY(is_lost(rule, bucket, now)))
		bucket->first_early = bucket->next_early;
	if (!is_next(skb, bucket) || (cost > tokens && cost <= rule->burst)) {
		if (!(skb->priority & EARLY) || bucket->first_early == bucket->next_early)
			skb->tc_index = bucket->next_early++;
		bucket->tokens = tokens;
		order->holder = rule->holder;
		answer = WAIT;
		goto out;
	}
	bucket->first_early += bucket->first_early != bucket->next_early;
	bucket->waiting -= bucket->waiting > 0;
	bucket->waiting_bytes -= bytes < bucket->waiting_bytes && bucket->waiting ? bytes : bucket->waiting_bytes;
	bucket->moved = now;
	bucket->tokens = tokens;
	/* A change of the rule has made the packet too large. */
	if (UNLIKELY(cost > tokens || bytes > rule->max_frame)) {
		bucket->oversized++;
		answer = TOO_LARGE;
		goto out;
	}
	bucket->tokens = tokens - cost;
	bucket->packets++;
	bucket->bytes += bytes;
	bucket->delayed++;
	bucket->waited_us += waited_us;
	bucket->waits[at]++;
	take_order(rule, order);
	answer = SEND;
out:
	unlock(&rule->lock);
	return answer;
}

#endif
