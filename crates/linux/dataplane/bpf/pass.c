/* Passes all packets. A virtual link with an XDP program polls for packets (NAPI) on one processor, so packets sent
 * on two processors keep their order. */
#include "kernel.h"

SEC("xdp")
int pass(struct xdp_md *context)
{
	(void)context;
	return XDP_PASS;
}

/* For packets larger than a page (Linux 5.18). */
SEC("xdp.frags")
int pass_large(struct xdp_md *context)
{
	(void)context;
	return XDP_PASS;
}

char _license[] SEC("license") = "Apache-2.0";
