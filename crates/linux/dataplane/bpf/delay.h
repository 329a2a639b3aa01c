/* Measures delays between two agents of one kernel: they have one clock and share a map of packets in flight. */

#define SAMPLE 64

/* Returns a number that two packets share only if their addresses, length and first bytes are equal, or 0 if the
 * packet is too short. `skip`: bytes of a tag behind the addresses. */
INLINE u64 fingerprint(struct __sk_buff *skb, u32 skip)
{
	u64 words[SAMPLE / 8 + 2] = {}, hash = 14695981039346656037ull;
	u32 length = skb->len - skip, sampled;

	if (length < 34 || load_bytes(skb, 0, words, 12))
		return 0;
	/* From the EtherType on; in a short frame the first 20 bytes, which are its IP header. */
	sampled = length >= 14 + SAMPLE;
	if (sampled ? load_bytes(skb, 12 + skip, words + 2, SAMPLE) : load_bytes(skb, 12 + skip, words + 2, 22))
		return 0;
	for (int i = 0; i < SAMPLE / 8 + 2; i++)
		hash = (hash ^ words[i]) * 1099511628211ull;
	hash = (hash ^ length) * 1099511628211ull;
	return hash ^ hash >> 32;
}

CHECKED_ONCE int note_sent(struct __sk_buff *skb, u64 now, u64 serial, u64 bound_ns)
{
	struct sent value = { .at = now, .serial = serial, .bound_ns = bound_ns };
	u64 key = fingerprint(skb, 0);

	if (key)
		map_update(&sent, &key, &value, BPF_ANY);
	return 0;
}

CHECKED_ONCE int note_arrival(struct __sk_buff *skb, u32 skip, u64 now)
{
	struct measured *to, none = {};
	u64 key = fingerprint(skb, skip), delay, worst;
	struct sent *from, noted;

	if (!key)
		return 0;
	from = map_lookup(&sent, &key);
	if (!from)
		return 0;
	noted = *from;
	map_delete(&sent, &key);
	delay = now > noted.at ? now - noted.at : 0;
	to = map_lookup(&measured, &noted.serial);
	if (!to) {
		map_update(&measured, &noted.serial, &none, BPF_NOEXIST);
		to = map_lookup(&measured, &noted.serial);
		if (!to)
			return 0;
	}
	__sync_fetch_and_add(&to->packets, 1);
	if (delay > noted.bound_ns)
		__sync_fetch_and_add(&to->late, 1);
	for (int i = 0; i < 4; i++) {
		worst = *(volatile u64 *)&to->worst_ns;
		if (delay <= worst || __sync_val_compare_and_swap(&to->worst_ns, worst, delay) == worst)
			break;
	}
	return 0;
}
