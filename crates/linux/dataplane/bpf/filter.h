/* Removal of duplicates: IEEE 802.1CB-2017, section 7.4.3.4, as in crates/admission/schemes/src/duplicates. */

#define WORDS (HISTORY_BITS / 64)

INLINE void set(struct filter *filter, u16 number)
{
	filter->history[(number % HISTORY_BITS) / 64] |= 1ull << (number % 64);
}

INLINE int is_set(const struct filter *filter, u16 number)
{
	return (filter->history[(number % HISTORY_BITS) / 64] >> (number % 64)) & 1;
}

/* Clears the bits of `first` and of the `n` - 1 numbers behind it; 0 < n <= HISTORY_BITS. */
INLINE void clear(struct filter *filter, u16 first, u32 n)
{
	u32 last = first + n - 1, from = first / 64 % WORDS, to = last / 64 % WORDS, between = (to - from - 1) % WORDS;
	u64 behind = ~0ull << (first % 64), before = ~0ull >> (63 - last % 64);

	if (from == to && n <= 64) {
		filter->history[from] &= ~(behind & before);
		return;
	}
	filter->history[from] &= ~behind;
	filter->history[to] &= ~before;
	for (u32 i = 0; i < WORDS; i++) {
		if (i >= between)
			break;
		from = (from + 1) % WORDS;
		filter->history[from] = 0;
	}
}

/* Returns true if a packet with this number is the first of its copies. */
CHECKED_ONCE int accept(const struct pair *pair, u16 number, const struct settings *settings)
{
	struct filter *filter;
	u16 ahead, behind, first = 0;
	u32 window, stale = 0;
	int accepted = 1;
	u64 now;

	if (!pair || !settings)
		return 1;
	now = time_of(settings);
	window = settings->window;
	filter = map_lookup(&filters, pair);
	if (!filter) {
		u32 zero = 0;
		void *empty = map_lookup(&blank, &zero);

		if (empty)
			map_update(&filters, pair, empty, BPF_NOEXIST);
		filter = map_lookup(&filters, pair);
		/* The map is full: a duplicate is better than a lost packet. */
		if (!filter) {
			count(UNFILTERED);
			return 1;
		}
	}
	lock(&filter->lock);
	if (!filter->running || (now > filter->accepted && now - filter->accepted > settings->reset_ns)) {
		filter->resets += filter->running;
		filter->running = 1;
		filter->highest = number;
		stale = HISTORY_BITS;
		goto accepted;
	}
	ahead = number - filter->highest;
	behind = filter->highest - number;
	if (ahead > 0 && ahead < window) {
		first = filter->highest + 1;
		stale = ahead;
		filter->out_of_order += ahead > 1;
		filter->highest = number;
	} else if (behind < window && !is_set(filter, number)) {
		filter->out_of_order++;
	} else {
		filter->rogue += behind >= window;
		filter->discarded++;
		accepted = 0;
		goto out;
	}
accepted:
	if (stale)
		clear(filter, first, stale);
	set(filter, number);
	filter->accepted = now;
	filter->passed++;
out:
	unlock(&filter->lock);
	return accepted;
}
