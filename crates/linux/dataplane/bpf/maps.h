/* Data shared by a host's programs and its agent. crates/linux/dataplane/src/layout.rs writes and reads these
 * bytes; a test compares the sizes. */
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

/* Counters, in the order of Reason in crates/linux/dataplane/src/counters.rs. */
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
	u64 reset_ns; /* after this time without an accepted packet a filter accepts any number */
	u32 window; /* length of a filter's history, in sequence numbers */
	u32 unmatched; /* packets without a contract: 0 best effort, 1 dropped */
	u32 measure; /* 1: record sent packets, and compare them at their arrival */
	u32 splitter; /* the interface that cuts super-frames into frames; 0: they are dropped */
	u32 sample; /* 0: no samples; otherwise one more than the number of zero bits at the end of a sample's number */
	u32 padding;
};

/* An interface of a tenant. */
struct endpoint {
	u8 mac[6];
	u8 n_masks;
	u8 names_source; /* 1 if a contract of it names the source address of its packets */
	u8 masks[MAX_MASKS]; /* most fields first */
	u8 fields[MAX_MASKS]; /* number of fields of each mask */
	u16 vlan; /* the VLAN of the tenant's frames, on its interface only; 0: untagged */
	u16 padding;
};

/* Interface of an address of this host. */
struct target {
	u32 ifindex;
	u16 vlan;
	u16 padding;
};

/* Fields of a class that are compared. */
#define MASK_PROTOCOL 1
#define MASK_SOURCE_PORT 2
#define MASK_DESTINATION_PORT 4
#define MASK_SOURCE 8
#define MASK_DESTINATION 16
#define MASK_MAC 32
#define MASK_IP (MASK_PROTOCOL | MASK_SOURCE_PORT | MASK_DESTINATION_PORT | MASK_SOURCE | MASK_DESTINATION)
#define MASK_PORTS (MASK_SOURCE_PORT | MASK_DESTINATION_PORT)
#define MASK_ADDRESSES (MASK_SOURCE | MASK_DESTINATION)

/* Packets of one kind from one endpoint. Fields that are not compared are 0. */
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

/* A class with IPv6 addresses. Most packets are IPv4, and a short key is found faster. */
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

/* The contract of a class, and its successors. */
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
	u32 largest; /* largest frame that its links carry, in bytes without tags */
	u16 tags[MAX_TAGS]; /* TCI in network byte order, first switch first */
};

/* Agents write it with BPF_F_LOCK: a packet sees one consistent rule. */
struct rule {
	struct bpf_spin_lock lock; /* also of the bucket of this slot */
	u32 n_routes; /* 0: to an endpoint of this host */
	u64 serial; /* 0: the slot is empty */
	u64 version;
	u64 rate; /* bit/s */
	u64 burst; /* nanobits */
	u64 fill_ns; /* time after which an empty bucket is full */
	u64 bound_ns;
	u32 max_frame; /* wire bytes */
	u32 overhead; /* bytes of the longest stack; wire bytes are the frame plus this plus 24 */
	u32 holder; /* the interface where packets wait for their tokens; 0: they are dropped */
	u32 limit; /* limit of waiting packets, in wire bytes */
	u64 stale_ns; /* waiting packets without progress for this time are lost */
	struct route routes[MAX_ROUTES]; /* fewest tags first */
};

struct bucket {
	u64 tokens; /* nanobits */
	u64 last;
	u64 packets;
	u64 bytes; /* wire bytes */
	u64 shaped; /* packets dropped because the bucket was too low or the queue full */
	u64 oversized;
	u32 waiting; /* packets */
	u32 waiting_bytes;
	u64 moved; /* when the first waiting packet arrived, or the last one left */
	u64 delayed; /* packets that waited and were sent */
	u64 waited_us; /* sum of all of them */
	u64 waits[WAITS]; /* in the first up to 125 us, in each further one up to twice as long */
	u16 first_early; /* number of the oldest waiting packet that left its class too early */
	u16 next_early; /* the next such number; equal if there are none */
	u32 padding;
};

struct mac {
	u8 of[6];
	u16 padding;
};

/* Receivers of copies of an endpoint's ARP, DHCP and IPv6 neighbour discovery. Receivers on this host are first,
 * then those with the fewest tags, because a frame can grow from one copy to the next, but not shrink. */
struct group {
	u32 n;
	u32 padding;
	u64 due; /* time at which all copied frames are paid for, at one each CARRY_EVERY_NS */
	struct mac of[MAX_GROUP];
};

#define CARRY_EVERY_NS 10000000ull
#define CARRY_AHEAD_NS 320000000ull /* a booting host sends about ten requests at once */

/* Kinds of spoofing, and the key of a report. */
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

/* An unused filter, without the lock: the verifier would not let it be copied. */
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
