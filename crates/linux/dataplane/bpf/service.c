/* A pair of interfaces behind all ports of a switch, with one queue: a switch whose ports share one service (Loko,
 * CoNEXT 2019). Every port of the switch has a front, where frames from its cable arrive, and a back towards the
 * switch, whose index is the next one. */
#include "kernel.h"

/* At a front: queues the frame with its back as the mark. A match for tc, whose action redirects it. */
SEC("classifier")
int enter(struct __sk_buff *frame)
{
	frame->mark = frame->ifindex + 1;
	return -1;
}

/* Behind the queue: sends the frame to its back. */
SEC("classifier")
int serve(struct __sk_buff *frame)
{
	u32 back = frame->mark;

	frame->mark = 0;
	return redirect(back, 0);
}

char _license[] SEC("license") = "Apache-2.0";
