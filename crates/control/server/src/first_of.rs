//! The first of many items in an order, kept while all are looked through: what is ordered by figures of every second is in no table.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// The first items by key, at most `limit`.
pub(crate) struct FirstOf<K, T> {
    limit: usize,
    /// The last of them is on top.
    kept: BinaryHeap<Keyed<K, T>>,
}

impl<K: Ord, T> FirstOf<K, T> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, kept: BinaryHeap::new() }
    }

    /// Keeps an item if it is among the first so far.
    pub(crate) fn add(&mut self, key: K, item: impl FnOnce() -> T) {
        let is_first = self.kept.len() < self.limit || self.kept.peek().is_some_and(|last| key < last.key);
        if is_first {
            self.kept.push(Keyed { key, item: item() });
        }
        if self.kept.len() > self.limit {
            self.kept.pop();
        }
    }

    /// Returns the items with their keys, in order.
    pub(crate) fn into_sorted(self) -> Vec<(K, T)> {
        self.kept.into_sorted_vec().into_iter().map(|one| (one.key, one.item)).collect()
    }
}

/// An item that is compared by its key.
struct Keyed<K, T> {
    key: K,
    item: T,
}

impl<K: Ord, T> PartialEq for Keyed<K, T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<K: Ord, T> Eq for Keyed<K, T> {}

impl<K: Ord, T> PartialOrd for Keyed<K, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord, T> Ord for Keyed<K, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_entries_are_kept_in_order_for_any_order_of_arrival() {
        for limit in [0, 1, 3, 9] {
            let mut first = FirstOf::new(limit);
            [5, 1, 4, 2, 3].into_iter().for_each(|key| first.add(key, || key * 10));
            let expected: Vec<(i32, i32)> = (1..=5).map(|key| (key, key * 10)).take(limit).collect();
            assert_eq!(first.into_sorted(), expected, "{limit}");
        }
    }
}
