//! Addresses that follow from names: whoever knows the name of a VM or host knows its address, without asking.

use wayleave_contracts::Mac;

/// Of a VM (`tenant:name`).
pub(crate) fn of(id: &str) -> Mac {
    default(id)
}

/// Of a host's own interface.
pub(crate) fn of_host(name: &str) -> Mac {
    default(&format!("host:{name}"))
}

fn default(id: &str) -> Mac {
    let hash =
        id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let [a, b, c, d, e, _, _, _] = hash.to_be_bytes();
    Mac::new([2, a, b, c, d, e]).unwrap_or_else(|| unreachable!("the first octet is 2"))
}
