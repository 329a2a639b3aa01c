//! Weighted fair queues of classes in front of a network interface
//! ([`Weighted::Class`](wayleave_roles::Weighted::Class)).
//!
//! Deficit round robin (Shreedhar and Varghese, SIGCOMM 1995): each class in its turn sends as many bytes as its weight
//! is worth, and keeps what it could not use while it has more to send.

use std::collections::VecDeque;

/// Classes with what waits in them.
#[derive(Debug)]
pub struct FairQueues<I> {
    classes: Vec<Queue<I>>,
    /// Those that hold something, the one whose turn it is first; that one stays until the next item is asked for, so that
    /// a flow which comes back at once goes on with its turn.
    turns: VecDeque<u32>,
    /// Whether the first of them has been given its quantum.
    is_paid: bool,
    /// Bytes that a weight of 1 is worth in a round: one largest frame, so that every turn sends something (their
    /// section 4).
    quantum: u32,
    len: usize,
}

#[derive(Debug)]
struct Queue<I> {
    weight: u32,
    credit: u64,
    items: VecDeque<I>,
    /// Whether it is among `turns`.
    has_turn: bool,
}

impl<I> FairQueues<I> {
    /// No classes yet; all have weight 1 until they get another.
    pub fn new(largest_frame: u32) -> Self {
        let quantum = largest_frame.max(1);
        Self { classes: Vec::new(), turns: VecDeque::new(), is_paid: false, quantum, len: 0 }
    }

    fn class(&mut self, class: u32) -> &mut Queue<I> {
        let at = class as usize;
        if self.classes.len() <= at {
            self.classes.resize_with(at + 1, || Queue {
                weight: 1,
                credit: 0,
                items: VecDeque::new(),
                has_turn: false,
            });
        }
        &mut self.classes[at]
    }

    /// Another weight, at least 1, from the next turn on.
    pub fn set_weight(&mut self, class: u32, weight: u32) {
        self.class(class).weight = weight.max(1);
    }

    /// How many items wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// What waits in a class, the first first.
    pub fn items(&self, class: u32) -> impl Iterator<Item = &I> {
        self.classes.get(class as usize).into_iter().flat_map(|queue| &queue.items)
    }

    /// An item waits at the end of its class.
    pub fn push(&mut self, class: u32, item: I) {
        let queue = self.class(class);
        queue.items.push_back(item);
        if !std::mem::replace(&mut queue.has_turn, true) {
            self.turns.push_back(class);
        }
        self.len += 1;
    }

    /// The next item. `bytes` says how large it is on the wire; what has become of size zero costs nothing.
    pub fn pop(&mut self, mut bytes: impl FnMut(&I) -> u32) -> Option<I> {
        loop {
            let &class = self.turns.front()?;
            let queue = &mut self.classes[class as usize];
            if queue.items.is_empty() {
                // Credit is not saved up while there is nothing to send.
                (queue.credit, queue.has_turn) = (0, false);
                self.turns.pop_front();
                self.is_paid = false;
                continue;
            }
            if !std::mem::replace(&mut self.is_paid, true) {
                queue.credit += u64::from(self.quantum) * u64::from(queue.weight);
            }
            let cost = queue.items.front().map_or(0, |item| u64::from(bytes(item)));
            if let Some(left) = queue.credit.checked_sub(cost)
                && let Some(item) = queue.items.pop_front()
            {
                queue.credit = left;
                self.len -= 1;
                return Some(item);
            }
            self.turns.rotate_left(1);
            self.is_paid = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each class sends of so many bytes, when all have items of their own size without end.
    fn shares(weights: &[u32], sizes: &[u32], total: u64) -> Vec<u64> {
        let mut queues = FairQueues::new(1_538);
        for (class, &weight) in (0..).zip(weights) {
            queues.set_weight(class, weight);
            queues.push(class, class);
        }
        let mut sent = vec![0; weights.len()];
        while sent.iter().sum::<u64>() < total {
            let class = queues.pop(|&class| sizes[class as usize]).unwrap();
            queues.push(class, class);
            sent[class as usize] += u64::from(sizes[class as usize]);
        }
        sent
    }

    #[test]
    fn classes_share_by_weight_whatever_the_size_of_their_packets() {
        let sent = shares(&[1, 2, 5], &[1_538, 84, 700], 80_000_000);
        for (sent, weight) in sent.into_iter().zip([1_u64, 2, 5]) {
            // A quantum and a packet more or less.
            assert!(sent.abs_diff(10_000_000 * weight) <= 1_538 * (weight + 1), "{sent} of weight {weight}");
        }
    }

    #[test]
    fn a_class_alone_gets_everything_and_an_idle_one_saves_nothing() {
        let mut queues = FairQueues::new(100);
        queues.set_weight(0, 50);
        queues.push(0, 'a');
        assert_eq!(queues.pop(|_| 100), Some('a'));
        for _ in 0..3 {
            queues.push(1, 'b');
            queues.push(0, 'a');
        }
        let order: Vec<char> = std::iter::from_fn(|| queues.pop(|_| 100)).collect();
        assert_eq!(order, ['b', 'a', 'a', 'a', 'b', 'b']);
        assert!(queues.is_empty());
    }
}
