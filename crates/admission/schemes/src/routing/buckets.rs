//! A priority queue for few distinct keys: last in, first out among equals.

/// Sums of budgets take few distinct values, so a sorted list of stacks beats a heap; and taking the newest of equal
/// entries first leads a goal-directed search straight to its goal.
#[derive(Clone, Debug)]
pub(super) struct Buckets<T> {
    /// Largest key first.
    stacks: Vec<(u64, Vec<T>)>,
    spare: Vec<Vec<T>>,
}

impl<T> Default for Buckets<T> {
    fn default() -> Self {
        Self { stacks: Vec::new(), spare: Vec::new() }
    }
}

impl<T> Buckets<T> {
    pub(super) fn push(&mut self, key: u64, entry: T) {
        let mut at = self.stacks.len();
        while at > 0 && self.stacks[at - 1].0 < key {
            at -= 1;
        }
        if at > 0 && self.stacks[at - 1].0 == key {
            self.stacks[at - 1].1.push(entry);
            return;
        }
        let mut stack = self.spare.pop().unwrap_or_default();
        stack.push(entry);
        self.stacks.insert(at, (key, stack));
    }

    pub(super) fn pop(&mut self) -> Option<(u64, T)> {
        loop {
            let (key, stack) = self.stacks.last_mut()?;
            if let Some(entry) = stack.pop() {
                return Some((*key, entry));
            }
            if let Some((_, empty)) = self.stacks.pop() {
                self.spare.push(empty);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        for (_, mut stack) in self.stacks.drain(..) {
            stack.clear();
            self.spare.push(stack);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_key_comes_first_and_the_newest_of_equals() {
        let mut buckets = Buckets::default();
        for (key, entry) in [(3, 'a'), (1, 'b'), (2, 'c'), (1, 'd'), (3, 'e')] {
            buckets.push(key, entry);
        }
        let order: Vec<_> = std::iter::from_fn(|| buckets.pop()).collect();
        assert_eq!(order, [(1, 'd'), (1, 'b'), (2, 'c'), (3, 'e'), (3, 'a')]);
    }
}
