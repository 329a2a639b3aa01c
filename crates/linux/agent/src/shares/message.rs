//! Format of messages between agents.
//!
//! ```text
//! version (1 B, 1)  n, m (2 B each)  n times: contract (8 B) bytes that were sent to you (8 B)  m times: contract (8 B) rate in bit/s that you may send (8 B)
//! ```
//! All numbers are big-endian. A datagram in any other format is ignored.

/// The version of the format.
const VERSION: u8 = 1;
/// Bytes before the entries, and of one of them.
const HEAD: usize = 5;
const ENTRY: usize = 16;
/// Entries of a datagram: with the signature and its headers less than 1,280 B, which every path of IPv6 takes (RFC 8200).
pub const MAX: usize = 72;

/// A message between agents. It holds the complete current state, so a lost message only delays the next update.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PeerMessage {
    /// For each contract, bytes on the wire that its pair has sent since any time.
    pub sent: Vec<(u64, u64)>,
    /// For each contract, bit/s that its pair may send.
    pub rates: Vec<(u64, u64)>,
}

impl PeerMessage {
    /// Encodes the message as datagrams with at most [`MAX`] entries each. An empty message is one datagram without
    /// entries.
    pub fn datagrams(&self) -> Vec<Vec<u8>> {
        let (sent, rates) = (self.sent.iter().map(|&one| (true, one)), self.rates.iter().map(|&one| (false, one)));
        let all: Vec<_> = sent.chain(rates).collect();
        if all.is_empty() {
            return vec![encode(&[])];
        }
        all.chunks(MAX).map(encode).collect()
    }

    /// Parses a datagram; `None` if it is malformed.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (head, entries) = bytes.split_at_checked(HEAD)?;
        let sent = usize::from(u16::from_be_bytes([head[1], head[2]]));
        let rates = usize::from(u16::from_be_bytes([head[3], head[4]]));
        if head[0] != VERSION || entries.len() != ENTRY * (sent + rates) {
            return None;
        }
        let number = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes).ok();
        let entry = |entry: &[u8]| Some((number(&entry[..8])?, number(&entry[8..])?));
        let all: Option<Vec<(u64, u64)>> = entries.chunks_exact(ENTRY).map(entry).collect();
        let mut message = Self { sent: all?, rates: Vec::new() };
        message.rates = message.sent.split_off(sent);
        Some(message)
    }
}

fn encode(entries: &[(bool, (u64, u64))]) -> Vec<u8> {
    // At most `MAX`.
    let sent = entries.iter().filter(|(is_sent, _)| *is_sent).count() as u16;
    let mut bytes = vec![VERSION];
    bytes.extend(sent.to_be_bytes());
    bytes.extend((entries.len() as u16 - sent).to_be_bytes());
    for (_, (contract, number)) in entries {
        bytes.extend(contract.to_be_bytes());
        bytes.extend(number.to_be_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests assert by panicking")]

    use super::*;

    #[test]
    fn messages_of_any_size_are_decoded_back() {
        for count in [0, 1, MAX as u64, 3 * MAX as u64 + 1] {
            let message =
                PeerMessage { sent: (0..count).map(|at| (at, 2 * at)).collect(), rates: vec![(7, u64::MAX); 5] };
            let mut read = PeerMessage::default();
            for datagram in message.datagrams() {
                assert!(datagram.len() <= HEAD + MAX * ENTRY);
                let part = PeerMessage::read(&datagram).unwrap();
                read.sent.extend(part.sent);
                read.rates.extend(part.rates);
            }
            assert_eq!(read, message);
        }
    }

    #[test]
    fn malformed_datagrams_are_ignored() {
        let good = PeerMessage { sent: vec![(1, 2)], rates: vec![(3, 4)] }.datagrams().remove(0);
        for length in 0..good.len() {
            assert_eq!(PeerMessage::read(&good[..length]), None, "{length} B of {}", good.len());
        }
        assert_eq!(PeerMessage::read(&[good.as_slice(), &[0]].concat()), None);
        assert_eq!(PeerMessage::read(&[&[2], &good[1..]].concat()), None, "another version");
        assert!(PeerMessage::read(&good).is_some());
    }
}
