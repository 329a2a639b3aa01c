//! A tournament of keys (D. Knuth, The Art of Computer Programming 3, 5.4.1): each actor has a place of its own, every node above has the
//! lesser of two keys. A key is changed by one walk to the root that compares without branches: the processor guesses nothing, where
//! a heap makes it guess wrong about once for each event.

/// No event of an actor.
const NONE: u64 = u64::MAX;

/// One key for each actor.
#[derive(Debug, Default)]
pub(super) struct Tournament {
    /// The root is 1, the children of a node are twice its number and the next one. Empty without actors.
    nodes: Vec<u64>,
    /// The leaf whose key was taken, and that has got no other one yet; 0 is none.
    taken: usize,
}

impl Tournament {
    /// For so many actors.
    pub(super) fn new(actors: usize) -> Self {
        Self { nodes: vec![NONE; 2 * actors.max(1).next_power_of_two()], taken: 0 }
    }

    /// An actor gets a key, in place of the one that it has.
    #[inline]
    pub(super) fn put(&mut self, actor: u32, key: u64) {
        let leaf = self.nodes.len() / 2 + actor as usize;
        if leaf == self.taken {
            self.taken = 0;
        }
        self.set(leaf, key);
    }

    /// The least key, if there is one.
    #[inline]
    pub(super) fn first(&mut self) -> u64 {
        if self.taken != 0 {
            let leaf = std::mem::take(&mut self.taken);
            self.set(leaf, NONE);
        }
        self.nodes[1]
    }

    /// Takes the least key, which is that of this actor.
    #[inline]
    pub(super) fn take(&mut self, actor: u32) {
        self.taken = self.nodes.len() / 2 + actor as usize;
    }

    #[inline]
    fn set(&mut self, leaf: usize, key: u64) {
        debug_assert!(leaf < self.nodes.len(), "an actor without a place");
        let nodes = self.nodes.as_mut_slice();
        nodes[leaf] = key;
        let (mut at, mut least) = (leaf, key);
        while at > 1 {
            least = least.min(nodes[at ^ 1]);
            at /= 2;
            nodes[at] = least;
        }
    }

    /// All keys become less by so much, which none is below but one that was taken.
    #[cold]
    pub(super) fn rebase(&mut self, by: u64) {
        let keys = self.nodes.iter_mut().filter(|key| **key != NONE);
        keys.for_each(|key| *key -= by.min(*key));
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<u64>()
    }
}
