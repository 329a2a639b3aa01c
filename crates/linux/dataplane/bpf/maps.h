/* What a host's programs and its agent share. crates/linux/dataplane/src/layout.rs writes and reads the same bytes; a test compares sizes. */
#ifndef WAYLEAVE_MAPS_H
#define WAYLEAVE_MAPS_H

#include "kernel.h"

#define MAX_ROUTES 4
#define MAX_TAGS 12
#define MAX_MASKS 16
#define MAX_SAME 4
#define MAX_GROUP 64
#define WAITS 16
#define SHORTEST_WAIT_US 125
#define HISTORY_BITS 32768 /* IEEE 802.1CB: half of the sequence space */

/* How many of what happened, in the order of Reason in crates/linux/dataplane/src/counters.rs. */
enum reason {
	GUARANTEED,
	BEST_EFFORT,
	LOCAL,
	SHAPED,
	OVERSIZED,
	FORGED,
	SPOOFED,
	MALFORMED,
	MULTICAST,
	NO_ROUTE,
	UNMATCHED,
	NO_ENDPOINT,
	FAILED,
	DELIVERED,
	DUPLICATE,
	TAGGED,
	TO_HOST,
	UNFILTERED,
	DELAYED,
	QUEUE_FULL,
	WITHDRAWN,
	SPLIT,
	CARRIED,
	UNSAMPLED,
	REASONS
};

struct counts {
	u64 of[REASONS];
};

struct settings {
	u64 now; /* 0: the clock. Tests set the time, and then find the chosen interface in skb->mark */
	u64 reset_ns; /* after so long without an accepted packet a filter accepts any number */
	u32 window; /* numbers that a filter remembers */
	u32 unmatched; /* what has no contract: 0 best effort, 1 dropped */
	u32 measure; /* 1: note what is sent, and compare at its arrival */
	u32 splitter; /* the interface that cuts super-frames into frames; 0: they are dropped */
	u32 sample; /* 0: no packet is noted; otherwise one more than how many bits at the end of a sample's number are 0 */
	u32 padding;
};

/* An interface of a tenant. */
struct endpoint {
	u8 mac[6];
	u8 n_masks;
	u8 names_source; /* whether a contract of it says which source address its packets have */
	u8 masks[MAX_MASKS]; /* most fields first */
	u8 fields[MAX_MASKS]; /* how many each has */
	u16 vlan; /* the VLAN of the tenant's frames, on its interface only; 0: they have no tag */
	u16 padding;
};

/* Where frames for an address of this host leave. */
struct target {
	u32 ifindex;
	u16 vlan;
	u16 padding;
};

/* Which fields of a class count. */
#define MASK_PROTOCOL 1
#define MASK_SOURCE_PORT 2
#define MASK_DESTINATION_PORT 4
#define MASK_SOURCE 8
#define MASK_DESTINATION 16
#define MASK_MAC 32
#define MASK_IP (MASK_PROTOCOL | MASK_SOURCE_PORT | MASK_DESTINATION_PORT | MASK_SOURCE | MASK_DESTINATION)
#define MASK_PORTS (MASK_SOURCE_PORT | MASK_DESTINATION_PORT)
#define MASK_ADDRESSES (MASK_SOURCE | MASK_DESTINATION)

/* Packets of one kind from one endpoint. What does not count is 0. */
struct class {
	u32 ifindex;
	u8 mask;
	u8 protocol;
	u16 source_port;
	u16 destination_port;
	u8 mac[6];
	u32 source;
	u32 destination;
};

/* The same with addresses of IPv6. Most packets are of IPv4, and a short key is found sooner. */
struct class6 {
	u32 ifindex;
	u8 mask;
	u8 protocol;
	u16 source_port;
	u16 destination_port;
	u8 mac[6];
	u32 source[4];
	u32 destination[4];
};

/* The contract of a class, and those that would get it next. */
struct contract {
	u64 serial;
	u32 slot;
	u32 padding;
};

struct contracts {
	struct contract of[MAX_SAME]; /* lowest serial first; 0 at the end */
};

struct route {
	u32 uplink;
	u32 priority;
	u32 n_tags;
	u32 largest; /* bytes of the largest frame that its links take, without tags */
	u16 tags[MAX_TAGS]; /* TCI in the order of the wire, first switch first */
};

/* Agents write it with BPF_F_LOCK: a packet sees one whole rule. */
struct rule {
	struct bpf_spin_lock lock; /* also of the bucket of the same slot */
	u32 n_routes; /* 0: to an endpoint of this host */
	u64 serial; /* 0: nothing is here */
	u64 version;
	u64 rate; /* bit/s */
	u64 burst; /* nanobits */
	u64 fill_ns; /* an empty bucket is full after so long */
	u64 bound_ns;
	u32 max_frame; /* wire bytes */
	u32 overhead; /* bytes of the longest stack; wire bytes are more than the frame by this and 24 */
	u32 holder; /* the interface where packets wait for their tokens; 0: they are dropped */
	u32 limit; /* wire bytes that may wait */
	u64 stale_ns; /* nothing waits that has not moved for so long: what was there is lost */
	struct route routes[MAX_ROUTES]; /* fewest tags first */
};

struct bucket {
	u64 tokens; /* nanobits */
	u64 last;
	u64 packets;
	u64 bytes; /* wire bytes */
	u64 shaped; /* packets dropped because the bucket was too low, or as many waited as may */
	u64 oversized;
	u32 waiting; /* packets */
	u32 waiting_bytes;
	u64 moved; /* when the first of those that wait came, or the last one left */
	u64 delayed; /* packets that waited and were sent */
	u64 waited_us; /* all of them together */
	u64 waits[WAITS]; /* in the first up to 125 us, in each further one up to twice as long */
	u16 first_early; /* of the packets that left their class too early: the number of the oldest that still waits */
	u16 next_early; /* the number of the next one; equal if there are none */
	u32 padding;
};

struct mac {
	u8 of[6];
	u16 padding;
};

/* Those who get a copy of what an endpoint asks all: ARP, DHCP, neighbours and routers of IPv6. Those on its own host first, then those with
 * fewest tags, because a frame can grow from one copy to the next, but not shrink. */
struct group {
	u32 n;
	u32 padding;
	u64 due; /* by when all that were carried are paid for, at one each CARRY_EVERY_NS */
	struct mac of[MAX_GROUP];
};

#define CARRY_EVERY_NS 10000000ull
#define CARRY_AHEAD_NS 320000000ull /* a host that boots asks some ten times at once */

/* Somebody whose packets are not as they were declared. */
enum strange { WRONG_MAC = 1, UNNAMED_SOURCE };

struct stranger {
	u32 ifindex;
	u8 mac[6];
	u8 why;
	u8 is_ip; /* 0, 4 or 6 */
	u32 source[4];
};

struct pair {
	u8 source[6];
	u8 destination[6];
};

struct routes {
	u32 n;
	struct route of[MAX_ROUTES];
};

/* IEEE 802.1CB-2017, 7.4.3.4; crates/admission/schemes/src/duplicates is the model. */
struct filter {
	struct bpf_spin_lock lock;
	u16 highest;
	u8 running;
	u8 padding;
	u64 accepted;
	u64 passed;
	u64 discarded;
	u64 out_of_order;
	u64 rogue;
	u64 resets;
	u64 history[HISTORY_BITS / 64];
};

/* A filter that has seen nothing. (Without the lock, or the verifier would not let it be copied.) */
struct blank {
	u64 words[sizeof(struct filter) / 8];
};

struct sent {
	u64 at;
	u64 serial;
	u64 bound_ns;
};

struct measured {
	u64 packets;
	u64 late;
	u64 worst_ns;
};

#endif
