/* Trajectory sampling (Duffield and Grossglauser, SIGCOMM 2000): some packets are recorded where they are sent and
 * where they arrive, so that both records show losses and delays. Both ends select packets by a hash of fields that
 * no switch and no interface changes, and so select equal packets without communication. */

/* A packet recorded at its sender, at its receiver, or at a switch on its route. */
struct sample {
	u64 of;
	u64 at;
	u64 serial; /* 0: it arrived */
	u64 bound_ns;
};

#define PART 64 /* bytes from the EtherType on; 20 for a short frame */

/* Returns a number that two packets share only if their addresses and first bytes are equal. Returns 0 for packets
 * that are not sampled: fragments, and protocols with checksums that an interface may calculate later. */
CHECKED_ONCE u64 sample_of(struct __sk_buff *skb, u32 skip)
{
	union {
		u8 of[80];
		u64 words[10];
	} part = {};
	u64 hash = 14695981039346656037ull;

	if (skb->len < skip + 34 || load_bytes(skb, 0, part.of, 12))
		return 0;
	if (skb->len >= skip + 14 + PART ? load_bytes(skb, 12 + skip, part.of + 12, PART) :
					   load_bytes(skb, 12 + skip, part.of + 12, 22))
		return 0;
	if (part.of[12] == 0x08 && part.of[13] == 0x00 && part.of[14] == 0x45) {
		/* ECN marks, and with them the header checksum. */
		part.of[15] = part.of[24] = part.of[25] = 0;
		if (part.of[23] == 6)
			part.of[50] = part.of[51] = 0;
		else if (part.of[23] == 17)
			part.of[40] = part.of[41] = 0;
		else if (part.of[23] != 1)
			return 0;
	} else if (part.of[12] == 0x86 && part.of[13] == 0xdd) {
		part.of[14] = 0x60;
		part.of[15] &= 0x0f;
		if (part.of[20] == 6)
			part.of[70] = part.of[71] = 0;
		else if (part.of[20] == 17)
			part.of[60] = part.of[61] = 0;
		else if (part.of[20] != 58)
			return 0;
	} else {
		return 0;
	}
	for (int i = 0; i < 10; i++)
		hash = (hash ^ part.words[i]) * 1099511628211ull;
	/* The last bits select packets, so each of them has to depend on all others (the final mix of MurmurHash3). */
	hash ^= hash >> 33;
	hash *= 0xff51afd7ed558ccdull;
	return hash ^ hash >> 33;
}

/* Returns true if packets with this number are selected at this level. */
INLINE int is_chosen(u64 number, u32 level)
{
	return number && !(number & ((1ull << (level & 31)) - 1));
}
