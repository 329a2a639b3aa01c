//! A heap of keys. It has four children a node, which halves its depth; a key that is taken leaves a hole at the root, which the next
//! one that is put fills: most events put one other.

/// Keys, the least first.
#[derive(Debug, Default)]
pub(super) struct Heap {
    keys: Vec<u64>,
    root: Root,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Root {
    /// The least key.
    #[default]
    Filled,
    /// It was taken; its place is free.
    Hole,
}

impl Heap {
    /// Puts a key.
    #[inline(always)]
    pub(super) fn put(&mut self, key: u64) {
        if self.root == Root::Hole {
            self.root = Root::Filled;
            self.sink(key);
        } else {
            self.keys.push(key);
            self.rise(self.keys.len() - 1);
        }
    }

    /// The least key.
    #[inline]
    pub(super) fn first(&mut self) -> Option<u64> {
        self.fill();
        self.keys.first().copied()
    }

    /// Takes the least key.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u64> {
        let key = self.first()?;
        self.root = Root::Hole;
        Some(key)
    }

    /// Takes all keys, in no order.
    pub(super) fn take_all(&mut self) -> Vec<u64> {
        self.fill();
        std::mem::take(&mut self.keys)
    }

    /// All keys become less by so much, which none is below but that of a hole.
    #[cold]
    pub(super) fn rebase(&mut self, by: u64) {
        self.keys.iter_mut().for_each(|key| *key -= by.min(*key));
    }

    /// Closes the hole with the last key.
    #[inline]
    fn fill(&mut self) {
        if self.root == Root::Hole {
            self.root = Root::Filled;
            if let Some(last) = self.keys.pop()
                && !self.keys.is_empty()
            {
                self.sink(last);
            }
        }
    }

    #[inline]
    fn rise(&mut self, mut at: usize) {
        let keys = self.keys.as_mut_slice();
        let key = keys[at];
        while at > 0 {
            let parent = (at - 1) / 4;
            if keys[parent] <= key {
                break;
            }
            keys[at] = keys[parent];
            at = parent;
        }
        keys[at] = key;
    }

    /// Puts a key at the root and lets it sink to its place.
    #[inline]
    fn sink(&mut self, key: u64) {
        let keys = self.keys.as_mut_slice();
        let mut at = 0;
        loop {
            let first = 4 * at + 1;
            let (child, least) = match keys.get(first..first + 4) {
                Some(&[a, b, c, d]) => {
                    let left = if b < a { (first + 1, b) } else { (first, a) };
                    let right = if d < c { (first + 3, d) } else { (first + 2, c) };
                    if right.1 < left.1 { right } else { left }
                }
                _ => match (first..keys.len()).map(|child| (child, keys[child])).min_by_key(|&(_, key)| key) {
                    Some(least) => least,
                    None => break,
                },
            };
            if key <= least {
                break;
            }
            keys[at] = least;
            at = child;
        }
        keys[at] = key;
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.keys.capacity() * size_of::<u64>()
    }
}
