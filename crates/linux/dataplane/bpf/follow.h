/* Samples packets at a host: sent packets of contracts, and arriving packets. */
#include "samples.h"

/* A quarter of a megabyte: about six thousand samples. */
struct {
	UINT(type, BPF_MAP_TYPE_RINGBUF);
	UINT(max_entries, 1 << 18);
} samples SEC(".maps");

/* Records a packet if it is selected for sampling. */
CHECKED_ONCE int take_sample(struct __sk_buff *skb, u32 skip, u32 level, struct sample *sample)
{
	if (!sample)
		return 0;
	sample->of = sample_of(skb, skip);
	if (is_chosen(sample->of, level) && ring_output(&samples, sample, sizeof(*sample), 1))
		count(UNSAMPLED);
	return 0;
}

INLINE void sample_sent(struct __sk_buff *skb, const struct settings *settings, const struct order *order, u64 now)
{
	struct sample sample = { .at = now, .serial = order->serial, .bound_ns = order->bound_ns };

	take_sample(skb, 0, settings->sample - 1, &sample);
}

/* The contract of an arriving packet is not known. */
INLINE void sample_arrival(struct __sk_buff *skb, const struct settings *settings, u32 skip)
{
	struct sample sample = { .at = time_of(settings) };

	take_sample(skb, skip, settings->sample - 1, &sample);
}
