//! Turns by weight at one line.
//!
//! Self-clocked fair queueing (Golestani, INFOCOM 1994): a member that is queued with a packet gets a tag, the
//! virtual time plus the packet's length by the weight. The least tag is first, and is the virtual time then. Weights
//! may differ by any factor. Here every member is queued with one packet at a time, so that no earlier tag of a
//! member is later than the virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A byte of weight 1, in virtual time.
pub(crate) const BYTE: u128 = 1 << 40;

/// Members that are queued at a line that they share by weight.
#[derive(Debug)]
pub struct WeightedTurns<K> {
    /// Tag, and the order of those with the same one.
    line: BinaryHeap<Reverse<(u128, u64, K)>>,
    /// Virtual time.
    now: u128,
    /// Number of arrivals.
    came: u64,
}

impl<K: Copy + Ord> WeightedTurns<K> {
    /// Creates an empty queue.
    pub fn new() -> Self {
        Self { line: BinaryHeap::new(), now: 0, came: 0 }
    }

    /// Queues a member with a packet of `bytes` bytes.
    pub fn push(&mut self, who: K, bytes: u32, weight: u32) {
        let tag = self.now + u128::from(bytes) * BYTE / u128::from(weight.max(1));
        self.came += 1;
        self.line.push(Reverse((tag, self.came, who)));
    }

    /// Takes the member whose turn it is.
    pub fn pop(&mut self) -> Option<K> {
        let Reverse((tag, _, who)) = self.line.pop()?;
        self.now = tag;
        Some(who)
    }

    /// Returns `true` if no member is queued.
    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }
}

impl<K: Copy + Ord> Default for WeightedTurns<K> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes that each member sent after `packets` packets, when all are always backlogged.
    fn sent(everybody: &[(u32, u32)], packets: u32) -> Vec<u64> {
        let mut turns = WeightedTurns::new();
        for (who, &(bytes, weight)) in everybody.iter().enumerate() {
            turns.push(who, bytes, weight);
        }
        let mut sent = vec![0; everybody.len()];
        for _ in 0..packets {
            let who = turns.pop().unwrap();
            let (bytes, weight) = everybody[who];
            sent[who] += u64::from(bytes);
            turns.push(who, bytes, weight);
        }
        sent
    }

    /// No member is a packet ahead of or behind another by weight, also with weights that are far apart.
    #[test]
    fn bytes_follow_weights_within_a_packet_each() {
        let everybody = [(1_538, 3), (84, 1), (700, 1_000_000), (1_538, 250_000)];
        let sent = sent(&everybody, 3_000_000);
        for (one, &(one_bytes, one_weight)) in sent.iter().zip(&everybody) {
            for (other, &(other_bytes, other_weight)) in sent.iter().zip(&everybody) {
                let normal = |sent: u64, weight: u32| sent as f64 / f64::from(weight);
                let apart = normal(*one, one_weight) - normal(*other, other_weight);
                let most =
                    f64::from(one_bytes) / f64::from(one_weight) + f64::from(other_bytes) / f64::from(other_weight);
                assert!(apart.abs() <= most * 1.001, "{sent:?}: {apart} is more than {most}");
            }
        }
    }

    /// A member gets no credit for a pause.
    #[test]
    fn a_pause_accumulates_no_credit() {
        let mut turns = WeightedTurns::new();
        for _ in 0..100 {
            turns.push('a', 1_000, 1);
            assert_eq!(turns.pop(), Some('a'));
        }
        turns.push('a', 1_000, 1);
        turns.push('b', 1_000, 1);
        let order: Vec<char> = (0..4)
            .map(|_| {
                let who = turns.pop().unwrap();
                turns.push(who, 1_000, 1);
                who
            })
            .collect();
        assert_eq!(order, ['a', 'b', 'a', 'b']);
    }
}
