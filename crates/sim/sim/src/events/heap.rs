//! A heap of keys. It has four children a node, which halves its depth.

use super::key::NONE;

/// The place of the least key. Three places stay empty before it, so that the children of each are an array of their own: those of place `at` are
/// array `at - 2`.
const TOP: usize = 3;

/// Keys, the least first.
#[derive(Debug)]
pub(super) struct Heap {
    /// Four places each, [`NONE`] in those that are free.
    families: Vec<[u64; 4]>,
    /// Places from [`TOP`] on that are in use.
    count: usize,
    /// The least key, or [`NONE`].
    first: u64,
}

impl Default for Heap {
    fn default() -> Self {
        Self { families: Vec::new(), count: 0, first: NONE }
    }
}

impl Heap {
    /// The least key; [`NONE`] if there is none.
    #[inline(always)]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Puts a key.
    #[inline(never)]
    pub(super) fn put(&mut self, key: u64) {
        let mut at = TOP + self.count;
        self.count += 1;
        if at / 4 >= self.families.len() {
            self.families.push([NONE; 4]);
        }
        let keys = self.families.as_flattened_mut();
        while at > TOP {
            let parent = at / 4 + 2;
            if keys[parent] <= key {
                break;
            }
            keys[at] = keys[parent];
            at = parent;
        }
        keys[at] = key;
        self.first = keys[TOP];
    }

    /// Takes the least key; [`NONE`] if there is none.
    #[inline(never)]
    pub(super) fn take(&mut self) -> u64 {
        if self.count == 0 {
            return NONE;
        }
        self.count -= 1;
        let least = self.first;
        let last = std::mem::replace(&mut self.families.as_flattened_mut()[TOP + self.count], NONE);
        if self.count > 0 {
            self.sink(last);
        }
        self.first = self.families[0][TOP];
        least
    }

    /// Takes all keys, in no order.
    pub(super) fn take_all(&mut self) -> Vec<u64> {
        let all = std::mem::take(self);
        all.families.into_iter().flatten().filter(|&key| key != NONE).collect()
    }

    /// Reduces all keys by `by`; no key is smaller.
    #[cold]
    pub(super) fn rebase(&mut self, by: u64) {
        let keys = self.families.as_flattened_mut().iter_mut().chain([&mut self.first]);
        keys.filter(|key| **key != NONE).for_each(|key| *key -= by.min(*key));
    }

    /// Puts a key at the top and lets it sink to its place.
    #[inline]
    fn sink(&mut self, key: u64) {
        let mut at = TOP;
        while let Some(&[a, b, c, d]) = self.families.get(at - 2) {
            let left = if b < a { (1, b) } else { (0, a) };
            let right = if d < c { (3, d) } else { (2, c) };
            let (child, least) = if right.1 < left.1 { right } else { left };
            if key <= least {
                break;
            }
            self.families.as_flattened_mut()[at] = least;
            at = 4 * (at - 2) + child;
        }
        self.families.as_flattened_mut()[at] = key;
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.families.capacity() * size_of::<[u64; 4]>()
    }
}
