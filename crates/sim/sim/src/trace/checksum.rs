//! FNV-1a with 64 bits (Fowler, Noll and Vo; draft-eastlake-fnv, sections 2 and 5).
//!
//! It finds damage, not malice: every step is a bijection of the state, so a change of one byte always shows.

/// The offset basis (draft-eastlake-fnv, section 5).
const BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// The prime (draft-eastlake-fnv, section 5).
const PRIME: u64 = 0x100_0000_01b3;

/// An incremental checksum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checksum(u64);

impl Checksum {
    pub(super) fn new() -> Self {
        Self(BASIS)
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    }

    pub(super) fn value(self) -> u64 {
        self.0
    }
}

/// The FNV-1a hash of some bytes, such as those of an input file for [`Header::input_hash`](super::Header::input_hash).
///
/// ```
/// assert_eq!(wayleave_sim::trace::fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
/// ```
pub fn fnv1a(bytes: &[u8]) -> u64 {
    let mut checksum = Checksum::new();
    checksum.add(bytes);
    checksum.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_hashes_are_reproduced() {
        // draft-eastlake-fnv, appendix C.
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
