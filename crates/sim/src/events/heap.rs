//! A heap of keys. It has four children a node, which halves its depth; a key that is taken leaves a hole at the top, which the next
//! one that is put fills: most events put one other.

/// No key: behind all others.
const NONE: u64 = u64::MAX;

/// The place of the least key. Three places stay empty before it, so that the children of each are an array of their own: those of place `at` are
/// array `at - 2`.
const TOP: usize = 3;

/// Keys, the least first.
#[derive(Debug, Default)]
pub(super) struct Heap {
    /// Four places each, [`NONE`] in those that are free.
    families: Vec<[u64; 4]>,
    /// Places from [`TOP`] on that are in use.
    count: usize,
    top: Top,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Top {
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
        if self.top == Top::Hole {
            self.top = Top::Filled;
            self.sink(key);
        } else {
            self.add(key);
        }
    }

    /// The least key.
    #[inline(always)]
    pub(super) fn first(&mut self) -> Option<u64> {
        self.fill();
        self.families.first().map(|family| family[TOP]).filter(|&key| key != NONE)
    }

    /// Takes the least key, if there is one.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<u64> {
        self.fill();
        let &[.., key] = self.families.first()?;
        self.top = Top::Hole;
        if key == NONE { self.nothing_taken() } else { Some(key) }
    }

    #[cold]
    fn nothing_taken(&mut self) -> Option<u64> {
        self.top = Top::Filled;
        None
    }

    /// Takes all keys, in no order.
    pub(super) fn take_all(&mut self) -> Vec<u64> {
        self.fill();
        self.count = 0;
        std::mem::take(&mut self.families).into_iter().flatten().filter(|&key| key != NONE).collect()
    }

    /// All keys become less by so much, which none is below but that of a hole.
    #[cold]
    pub(super) fn rebase(&mut self, by: u64) {
        let keys = self.families.as_flattened_mut().iter_mut().filter(|key| **key != NONE);
        keys.for_each(|key| *key -= by.min(*key));
    }

    /// Closes the hole with the last key.
    #[inline]
    fn fill(&mut self) {
        if self.top == Top::Hole {
            self.top = Top::Filled;
            self.count -= 1;
            let last = std::mem::replace(&mut self.families.as_flattened_mut()[TOP + self.count], NONE);
            if self.count > 0 {
                self.sink(last);
            }
        }
    }

    /// Puts a key where there is no hole.
    fn add(&mut self, key: u64) {
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
