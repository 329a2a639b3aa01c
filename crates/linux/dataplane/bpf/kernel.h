/* Kernel interfaces of the programs: types of the UAPI, and helpers by number (include/uapi/linux/bpf.h). */
#ifndef WAYLEAVE_KERNEL_H
#define WAYLEAVE_KERNEL_H

#include <linux/bpf.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static __attribute__((always_inline)) inline
/* A separate function, which the verifier checks once for any arguments; inlined code is checked again on every
 * path. The verifier assumes that pointers may be null, and requires that their targets are initialised. */
#define CHECKED_ONCE __attribute__((noinline))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COPY(to, from, size) __builtin_memcpy(to, from, size)
#define ZERO(what, size) __builtin_memset(what, 0, size)

/* Fields of a map, as BTF describes them. */
#define UINT(name, value) int(*name)[value]
#define TYPE(name, value) typeof(value) *name
#define MAP(name, kind, entries, flags, key_type, value_type)                                                          \
	struct {                                                                                                       \
		UINT(type, kind);                                                                                      \
		UINT(max_entries, entries);                                                                            \
		UINT(map_flags, flags);                                                                                \
		TYPE(key, key_type);                                                                                   \
		TYPE(value, value_type);                                                                               \
	} name SEC(".maps")
/* Number of libbpf for pinning: the map is found again under its name. */
#define PIN_BY_NAME 1

static void *(*map_lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;
static long (*map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)BPF_FUNC_map_update_elem;
static long (*map_delete)(void *map, const void *key) = (void *)BPF_FUNC_map_delete_elem;
static u64 (*clock_ns)(void) = (void *)BPF_FUNC_ktime_get_ns;
static long (*load_bytes)(const void *skb, u32 offset, void *to, u32 size) = (void *)BPF_FUNC_skb_load_bytes;
static long (*pull_data)(struct __sk_buff *skb, u32 size) = (void *)BPF_FUNC_skb_pull_data;
static long (*grow_head)(struct __sk_buff *skb, u32 size, u64 flags) = (void *)BPF_FUNC_skb_change_head;
static long (*vlan_pop)(struct __sk_buff *skb) = (void *)BPF_FUNC_skb_vlan_pop;
static long (*vlan_push)(struct __sk_buff *skb, u16 protocol, u16 tci) = (void *)BPF_FUNC_skb_vlan_push;
static long (*redirect)(u32 ifindex, u64 flags) = (void *)BPF_FUNC_redirect;
static long (*clone_redirect)(struct __sk_buff *skb, u32 ifindex, u64 flags) = (void *)BPF_FUNC_clone_redirect;
static long (*ring_output)(void *ring, void *data, u64 size, u64 flags) = (void *)BPF_FUNC_ringbuf_output;
static long (*lock)(struct bpf_spin_lock *lock) = (void *)BPF_FUNC_spin_lock;
static long (*unlock)(struct bpf_spin_lock *lock) = (void *)BPF_FUNC_spin_unlock;

/* include/uapi/linux/pkt_cls.h */
#define ACT_OK 0
#define ACT_SHOT 2
#define ACT_STOLEN 4

/* Numbers in network byte order; the supported machines are little-endian. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "bpf is compiled for little-endian machines"
#endif
#define BE16(x) ((u16)__builtin_bswap16(x))

/* IEEE 802 numbers (EtherTypes). */
#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd
#define TYPE_ARP 0x0806
#define TYPE_TAG 0x8100 /* 802.1Q: one for each switch of the route */
#define TYPE_SEQUENCE 0x88a8 /* 802.1ad: the sequence number of a packet with copies */

/* EtherTypes that some switches treat as a VLAN tag, in network byte order. */
INLINE int is_tag(u16 type)
{
	return type == BE16(TYPE_TAG) || type == BE16(TYPE_SEQUENCE) || type == BE16(0x9100) || type == BE16(0x9200) ||
	       type == BE16(0x9300);
}

#endif
