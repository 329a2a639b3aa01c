/* Some packets are noted where they are sent and where they arrive, so that somebody who hears of both can say which were lost, and how long
 * the others took: trajectory sampling (Duffield and Grossglauser, SIGCOMM 2000). Both ends choose by a hash of what no switch and no interface
 * changes on the way, so they choose the same packets without telling each other. */

/* A packet that was noted where it was sent, where it arrived, or at a switch on its way. */
struct sample {
	u64 of;
	u64 at;
	u64 serial; /* 0: it arrived */
	u64 bound_ns;
};

#define PART 64 /* bytes from the EtherType on; of a short frame 20 */

/* A number that two packets share only if their addresses and first bytes are the same; 0 if the packet is not sampled: fragments of headers, and
 * protocols of which interfaces may calculate the check sequence later. */
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
		/* Marks of congestion, and with them the check sequence of the header. */
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
	/* The last bits choose, so each of them has to depend on all others (the end of MurmurHash3). */
	hash ^= hash >> 33;
	hash *= 0xff51afd7ed558ccdull;
	return hash ^ hash >> 33;
}

/* Whether packets of a number are chosen by so many bits. */
INLINE int is_chosen(u64 number, u32 level)
{
	return number && !(number & ((1ull << (level & 31)) - 1));
}
