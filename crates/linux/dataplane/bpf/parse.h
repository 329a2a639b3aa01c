/* Parses frames, as crates/core/packet-format/src/frame.rs does. */
#ifndef WAYLEAVE_PARSE_H
#define WAYLEAVE_PARSE_H

#include "maps.h"

enum parsed { PARSED, TAGGED_FRAME, BROKEN };

struct packet {
	u32 ifindex;
	u8 is_ip; /* 0, 4 or 6 */
	u8 has_ports;
	u8 protocol;
	u8 padding;
	u16 source_port; /* in network byte order */
	u16 destination_port;
	u8 mac[8];
	u32 source[4];
	u32 destination[4];
};

#define TCP 6
#define UDP 17
#define SCTP 132

/* Extension headers of IPv6 (RFC 8200, section 4). */
#define HOP_BY_HOP 0
#define ROUTING 43
#define FRAGMENT 44
#define AUTHENTICATION 51
#define OPTIONS 60
#define MAX_EXTENSIONS 8
#define BROKEN_WALK 256 /* not the number of any header */

INLINE int same_mac(const u8 *a, const u8 *b)
{
	return *(u16 *)a == *(u16 *)b && *(u16 *)(a + 2) == *(u16 *)(b + 2) && *(u16 *)(a + 4) == *(u16 *)(b + 4);
}

INLINE int has_ports(u8 protocol)
{
	return protocol == TCP || protocol == UDP || protocol == SCTP;
}

/* Reads the ports, if the protocol has any; `end` is the end of the IP packet. */
CHECKED_ONCE int ports(struct __sk_buff *skb, struct packet *packet, u32 at, u32 end)
{
	u16 both[2];

	if (!packet)
		return BROKEN;
	if (!has_ports(packet->protocol))
		return PARSED;
	if (at + 4 > end || load_bytes(skb, at, both, 4))
		return BROKEN;
	packet->source_port = both[0];
	packet->destination_port = both[1];
	packet->has_ports = 1;
	return PARSED;
}

INLINE enum parsed ipv4(struct __sk_buff *skb, struct packet *packet, const u8 *ip, const u8 *end, u32 length)
{
	const u8 *end_of_ports = ip + 24;
	u32 header = 4 * (ip[0] & 15), total = (u32)ip[2] << 8 | ip[3];

	if (ip[0] >> 4 != 4 || header < 20 || total < header || total + 14 > length)
		return BROKEN;
	packet->is_ip = 4;
	packet->protocol = ip[9];
	packet->source[3] = *(u32 *)(ip + 12);
	packet->destination[3] = *(u32 *)(ip + 16);
	/* No part of a fragmented packet has ports, so that all parts take one path. 0x3f: more fragments, and the
	 * offset. */
	if ((ip[6] & 0x3f) | ip[7])
		return PARSED;
	if (LIKELY(header == 20 && end_of_ports <= end && total >= 24 && has_ports(packet->protocol))) {
		packet->source_port = *(u16 *)(ip + 20);
		packet->destination_port = *(u16 *)(ip + 22);
		packet->has_ports = 1;
		return PARSED;
	}
	return ports(skb, packet, 14 + header, 14 + total);
}

/* Position within the extension headers of a packet. */
struct walk {
	u32 at;
	u32 end; /* of the packet */
	u32 next; /* type of the header at this position */
	u32 is_fragment;
};

/* Skips one extension header. Returns false if there is none. */
CHECKED_ONCE int extension(struct __sk_buff *skb, struct walk *walk)
{
	u32 at, next;
	u8 head[2];

	if (!walk)
		return 0;
	at = walk->at;
	next = walk->next;
	if (next != HOP_BY_HOP && next != ROUTING && next != FRAGMENT && next != AUTHENTICATION && next != OPTIONS)
		return 0;
	walk->next = BROKEN_WALK;
	if (at + 8 > walk->end || load_bytes(skb, at, head, 2))
		return 0;
	if (next == FRAGMENT) {
		walk->is_fragment = 1;
		walk->next = head[0];
		return 0;
	}
	at += next == AUTHENTICATION ? 4 * (head[1] + 2) : 8 * (head[1] + 1);
	if (at > walk->end)
		return 0;
	walk->at = at;
	walk->next = head[0];
	return 1;
}

/* The first 54 bytes are contiguous. */
CHECKED_ONCE int ipv6(struct __sk_buff *skb, struct packet *packet)
{
	u8 *data = (u8 *)(long)skb->data, *end = (u8 *)(long)skb->data_end, *ip = data + 14;
	struct walk walk;
	u32 extensions = 0;

	if (!packet || data + 54 > end)
		return BROKEN;
	walk.at = 54;
	walk.is_fragment = 0;
	walk.end = 54 + ((u32)ip[4] << 8 | ip[5]);
	walk.next = ip[6];
	if (ip[0] >> 4 != 6 || walk.end > skb->len)
		return BROKEN;
	packet->is_ip = 6;
	COPY(packet->source, ip + 8, 16);
	COPY(packet->destination, ip + 24, 16);
	while (extensions < MAX_EXTENSIONS && extension(skb, &walk))
		extensions++;
	if (extensions == MAX_EXTENSIONS || walk.next == BROKEN_WALK)
		return BROKEN;
	packet->protocol = walk.next;
	return walk.is_fragment ? PARSED : ports(skb, packet, walk.at, walk.end);
}

INLINE enum parsed parse(struct __sk_buff *skb, struct packet *packet, struct pair *macs)
{
	u8 *data = (u8 *)(long)skb->data, *end = (u8 *)(long)skb->data_end;
	u32 length = skb->len, wanted;
	u16 type;

	ZERO(packet, sizeof(*packet));
	if (length < 14)
		return BROKEN;
	/* Headers in contiguous memory: 54 bytes are the longest that are read in place. */
	wanted = length < 54 ? length : 54;
	if (UNLIKELY(data + wanted > end)) {
		if (pull_data(skb, wanted))
			return BROKEN;
		data = (u8 *)(long)skb->data;
		end = (u8 *)(long)skb->data_end;
	}
	if (data + 14 > end)
		return BROKEN;
	COPY(macs->destination, data, 6);
	COPY(macs->source, data + 6, 6);
	COPY(packet->mac, data, 6);
	type = *(u16 *)(data + 12);
	if (skb->vlan_present || is_tag(type))
		return TAGGED_FRAME;
	if (LIKELY(type == BE16(TYPE_IPV4)))
		return data + 34 > end ? BROKEN : ipv4(skb, packet, data + 14, end, length);
	if (type == BE16(TYPE_IPV6))
		return ipv6(skb, packet);
	return PARSED;
}

/* Returns all ones for a field that is compared, and 0 for others. The compiler must not turn this into a branch:
 * the verifier would follow both outcomes of each field. */
INLINE u32 counts(u32 mask, u32 field)
{
	u32 bits = -((mask & field) / field);

	asm("" : "+r"(bits));
	return bits;
}

/* Copies the fields of a mask except addresses, for both kinds of classes. */
#define MASKED(class, packet, fields)                                                                                  \
	do {                                                                                                           \
		u32 mac_ = counts(fields, MASK_MAC);                                                                   \
		(class)->ifindex = (packet)->ifindex;                                                                  \
		(class)->mask = fields;                                                                                \
		(class)->protocol = (packet)->protocol & counts(fields, MASK_PROTOCOL);                                \
		(class)->source_port = (packet)->source_port & counts(fields, MASK_SOURCE_PORT);                       \
		(class)->destination_port = (packet)->destination_port & counts(fields, MASK_DESTINATION_PORT);        \
		*(u16 *)(class)->mac = *(u16 *)(packet)->mac & mac_;                                                   \
		*(u16 *)((class)->mac + 2) = *(u16 *)((packet)->mac + 2) & mac_;                                       \
		*(u16 *)((class)->mac + 4) = *(u16 *)((packet)->mac + 4) & mac_;                                       \
	} while (0)

INLINE void masked(struct class *class, const struct packet *packet, u32 mask)
{
	MASKED(class, packet, mask);
	class->source = packet->source[3] & counts(mask, MASK_SOURCE);
	class->destination = packet->destination[3] & counts(mask, MASK_DESTINATION);
}

INLINE void masked6(struct class6 *class, const struct packet *packet, u32 mask)
{
	ZERO(class, sizeof(*class));
	MASKED(class, packet, mask);
	for (int i = 0; i < 4; i++) {
		class->source[i] = packet->source[i] & counts(mask, MASK_SOURCE);
		class->destination[i] = packet->destination[i] & counts(mask, MASK_DESTINATION);
	}
}

/* Computes FNV-1a over words (Fowler, Noll, Vo), which selects the route of a flow without a contract. */
INLINE u32 flow_hash(const struct packet *packet)
{
	u32 hash = 2166136261u;

#define MIX(word) hash = (hash ^ (word)) * 16777619u
	for (int i = 0; i < 4; i++)
		MIX(packet->source[i]);
	for (int i = 0; i < 4; i++)
		MIX(packet->destination[i]);
	MIX((u32)packet->source_port | (u32)packet->destination_port << 16);
	MIX(packet->protocol);
#undef MIX
	return hash ^ hash >> 16;
}

#endif
