/* Host program for measurements: runs repeatedly on one frame in `wayleave bench dataplane`.
 *
 * A frame grows by its tags each time, so its first bytes are rewritten before each run. The bytes behind them
 * become padding. */
#define MEASURED
#include "host.c"

#define HEAD 42

struct head {
	u64 words[6];
};

MAP(head, BPF_MAP_TYPE_ARRAY, 1, 0, u32, struct head);

/* A separate function: its stack is released before the deepest calls, which nearly fill the 512 bytes that the
 * verifier allows. */
static __attribute__((noinline)) int write_head(struct __sk_buff *skb)
{
	u8 *data = (u8 *)(long)skb->data, *end = (u8 *)(long)skb->data_end;
	u32 zero = 0;
	struct head *first = map_lookup(&head, &zero);

	if (!first || data + HEAD > end)
		return 0;
	COPY(data, first, HEAD);
	return 1;
}

SEC("classifier")
int again(struct __sk_buff *skb)
{
	return write_head(skb) ? from_endpoint(skb, skb->ifindex, 0) : -1;
}

SEC("classifier")
int nothing(struct __sk_buff *skb)
{
	return ACT_OK;
}
