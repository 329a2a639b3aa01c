/* State of a queue of uFAB-C: tokens and windows of its active pairs, and its rate.
 *
 * S. Wang et al., "Predictable vFabric on Informative Data Plane" (SIGCOMM 2022), sections 3.6 and 4.2, like the
 * default of crates/admission/schemes/src/ufab_core (`registers: changes`); tests/dataplane/registers.rs compares
 * both. This is the arithmetic of a port: the contents of a probe come behind an Ethernet header as `struct said`,
 * and the answer is written behind them. */
#include "kernel.h"

#define FILTER_WORDS 2560 /* 20 KB: both banks of a generation */
#define BANK_WORDS (FILTER_WORDS / 2)
#define HEADER 14
#define NONE 2 /* the port counts no state of the pair, as far as its sender knows */
#define BITS_PER_BYTE_AND_NS 8000000000ull
#define BITS_OF_THAT 33
#define MOST_RATE 10000000000000ull /* `Rate::MAX`: 10 Tbit/s */

enum kind { CANDIDATE, ACTIVE, FINISH };

struct ufab_settings {
	u64 now; /* 0: the clock */
	u64 remember;
	u64 clean;
	u64 interval;
};

struct sums {
	u64 tokens;
	u64 windows;
};

struct queue {
	struct bpf_spin_lock lock;
	u8 period;
	u8 has_just_turned;
	u8 current; /* index of the current generation of the filter */
	u8 padding;
	struct sums sums; /* Phi and W */
	struct sums fresh; /* of pairs with probes in this period */
	u64 period_since;
	u64 seen_since;
	u64 since;
	u64 sent;
	u64 rate;
	u64 bits[2 * FILTER_WORDS];
};

struct said {
	u64 pair;
	u64 tokens;
	u64 counted_tokens;
	u64 window;
	u64 counted_window;
	u64 sent; /* bytes sent by the queue */
	u32 queue;
	u16 change;
	u8 kind;
	u8 is_repeated;
	u8 period; /* 0, 1 or NONE */
	u8 padding[7];
};

struct told {
	u64 tokens;
	u64 windows;
	u64 rate; /* bit/s */
	u64 period;
};

MAP(ufab_settings, BPF_MAP_TYPE_ARRAY, 1, 0, u32, struct ufab_settings);
MAP(ufab_queues, BPF_MAP_TYPE_ARRAY, 64, 0, u32, struct queue);

/* SplitMix64, mix64variant13. */
INLINE u64 mix(u64 value)
{
	value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
	value = (value ^ value >> 27) * 0x94d049bb133111ebull;
	return value ^ value >> 31;
}

INLINE u64 less(u64 from, u64 what)
{
	return from > what ? from - what : 0;
}

INLINE void add(struct sums *to, const struct sums *what)
{
	to->tokens = to->tokens + what->tokens < to->tokens ? ~0ull : to->tokens + what->tokens;
	to->windows = to->windows + what->windows < to->windows ? ~0ull : to->windows + what->windows;
}

/* Subtracts at most the present amount: a pair may have been cleaned. */
INLINE void take(struct sums *from, const struct sums *what)
{
	from->tokens = less(from->tokens, what->tokens);
	from->windows = less(from->windows, what->windows);
}

/* Returns the bit of a hash in a bank. */
INLINE u32 bit_of(u32 hash)
{
	return (u64)hash * (BANK_WORDS * 64) >> 32;
}

/* Returns a word of the filter, with the bounds check that the verifier needs. */
INLINE u64 *word(struct queue *queue, u32 generation, u32 bank, u32 bit)
{
	u32 at = (generation & 1) * FILTER_WORDS + bank * BANK_WORDS + bit / 64;

	asm("" : "+r"(at));
	if (at >= 2 * FILTER_WORDS)
		at = 0;
	return &queue->bits[at];
}

INLINE int is_in(struct queue *queue, u32 generation, u64 hash)
{
	u32 one = bit_of(hash), two = bit_of(hash >> 32);

	return (*word(queue, generation, 0, one) >> (one & 63) & 1) & (*word(queue, generation, 1, two) >> (two & 63) & 1);
}

INLINE int contains(struct queue *queue, u64 number)
{
	u64 hash = mix(number);

	return is_in(queue, 0, hash) | is_in(queue, 1, hash);
}

INLINE void insert(struct queue *queue, u64 number)
{
	u64 hash = mix(number);
	u32 one = bit_of(hash), two = bit_of(hash >> 32);

	*word(queue, queue->current, 0, one) |= 1ull << (one & 63);
	*word(queue, queue->current, 1, two) |= 1ull << (two & 63);
}

INLINE void empty(struct queue *queue, u32 generation)
{
	u32 first = (generation & 1) * FILTER_WORDS;

	for (u32 i = 0; i < FILTER_WORDS; i++) {
		u32 at = first + i;

		asm("" : "+r"(at));
		if (at >= 2 * FILTER_WORDS)
			break;
		queue->bits[at] = 0;
	}
}

/* Removes the sums of silent pairs. */
INLINE void clean(struct queue *queue, const struct ufab_settings *settings, u64 now)
{
	u64 length = settings->clean ? settings->clean : 1, remember = settings->remember ? settings->remember : 1;
	u64 periods = less(now, queue->period_since) / length, turns = less(now, queue->seen_since) / remember;
	struct sums none = {};

	if (periods) {
		/* After two periods no pair has been active in a whole period. */
		queue->sums = periods == 1 ? queue->fresh : none;
		queue->fresh = none;
		queue->period ^= periods & 1;
		queue->period_since += length * periods;
		queue->has_just_turned = 1;
	}
	if (!turns)
		return;
	if (turns > 1)
		empty(queue, queue->current);
	else
		queue->current ^= 1;
	empty(queue, turns > 1 ? queue->current ^ 1 : queue->current);
	queue->seen_since += remember * turns;
	/* An entry expires with the second rotation. */
	queue->has_just_turned = less(now, queue->period_since) < 2 * remember;
}

/* Counts a probe of an active or finished pair, and returns the period in which it is counted. */
INLINE u64 count(struct queue *queue, const struct said *said)
{
	struct sums before = { said->counted_tokens, said->counted_window }, after = {};
	u64 now = queue->period, change = (u64)said->change << 1;

	if (said->kind == ACTIVE) {
		after.tokens = said->tokens;
		after.windows = said->window;
	}
	if (said->is_repeated) {
		if (contains(queue, mix(said->pair ^ mix(change | now))))
			return now;
		if (queue->has_just_turned && contains(queue, mix(said->pair ^ mix(change | !now))))
			return !now;
	}
	insert(queue, mix(said->pair ^ mix(change | now)));
	if (said->period != NONE)
		take(&queue->sums, &before);
	if (said->period == now)
		take(&queue->fresh, &before);
	add(&queue->sums, &after);
	add(&queue->fresh, &after);
	return now;
}

/* Converts bytes in a time to bit/s. The product needs more than 64 bits, so the remainder of the division is
 * multiplied bit by bit. */
INLINE u64 rate_of(u64 bytes, u64 elapsed)
{
	u64 whole = bytes / elapsed, left = bytes % elapsed, rest = 0, quotient = 0;

	for (int bit = BITS_OF_THAT - 1; bit >= 0; bit--) {
		rest = 2 * rest + (BITS_PER_BYTE_AND_NS >> bit & 1 ? left : 0);
		quotient *= 2;
		if (rest >= elapsed) {
			rest -= elapsed;
			quotient++;
		}
		if (rest >= elapsed) {
			rest -= elapsed;
			quotient++;
		}
	}
	if (whole > MOST_RATE / BITS_PER_BYTE_AND_NS)
		return MOST_RATE;
	quotient += whole * BITS_PER_BYTE_AND_NS;
	return quotient > MOST_RATE ? MOST_RATE : quotient;
}

INLINE u64 meter(struct queue *queue, const struct ufab_settings *settings, u64 now, u64 sent)
{
	u64 elapsed = less(now, queue->since);

	if (elapsed && elapsed >= settings->interval) {
		queue->rate = rate_of(less(sent, queue->sent), elapsed);
		queue->since = now;
		queue->sent = sent;
	}
	return queue->rate;
}

SEC("classifier")
int ufab(struct __sk_buff *skb)
{
	u32 zero = 0, at;
	struct ufab_settings *settings = map_lookup(&ufab_settings, &zero);
	struct queue *queue;
	struct told told;
	struct said said;
	u8 *data, *end;
	u64 now;

	if (!settings || load_bytes(skb, HEADER, &said, sizeof(said)))
		return ACT_SHOT;
	at = said.queue;
	queue = map_lookup(&ufab_queues, &at);
	if (!queue)
		return ACT_SHOT;
	now = settings->now ? settings->now : clock_ns();
	lock(&queue->lock);
	clean(queue, settings, now);
	told.period = queue->period;
	if (said.kind != CANDIDATE)
		told.period = count(queue, &said);
	told.tokens = queue->sums.tokens;
	told.windows = queue->sums.windows;
	told.rate = meter(queue, settings, now, said.sent);
	unlock(&queue->lock);
	data = (u8 *)(long)skb->data;
	end = (u8 *)(long)skb->data_end;
	if (data + HEADER + sizeof(said) + sizeof(told) > end)
		return ACT_SHOT;
	COPY(data + HEADER + sizeof(said), &told, sizeof(told));
	return ACT_OK;
}

char _license[] SEC("license") = "Apache-2.0";
