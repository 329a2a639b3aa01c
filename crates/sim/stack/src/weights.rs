//! Weighted fair queues of classes in front of a network interface
//! ([`Weighted::Class`](wayleave_scheme_api::Weighted::Class)).
//!
//! WF2Q+ (Bennett and Zhang, "Hierarchical packet fair queueing algorithms", SIGCOMM 1996): of the classes whose next
//! item has started by virtual time, the one whose item ends first has its turn. No class is more than a frame behind
//! its part of the line, with any weight and any number of others. That matters to a class whose window rarely
//! releases an item. With deficit round robin it waits until others have sent bytes worth their whole weight. With
//! start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996) it waits for an item of each class of small weight
//! that started with it.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::turns::BYTE;

/// Classes with their waiting items.
#[derive(Debug)]
pub struct FairQueues<I> {
    classes: Vec<Queue<I>>,
    /// The sum of all weights.
    weights: u64,
    /// Non-empty classes whose next item has not started: the least start first.
    early: BinaryHeap<Reverse<(u128, u32)>>,
    /// Non-empty classes whose next item has started: the earliest end first, then the order of arrival.
    due: BinaryHeap<Reverse<(u128, u64, u32)>>,
    /// Virtual time, by which a class of weight 1 has sent a byte when it has advanced by [`BYTE`].
    now: u128,
    /// The class of the last item that went: if it has another one before the next goes, it made no pause.
    last: Option<u32>,
    /// Number of those that have become due.
    came: u64,
    /// The bytes of an item by which ends are compared: what an item has is known when it goes.
    frame: u32,
    len: usize,
}

#[derive(Debug)]
struct Queue<I> {
    weight: u32,
    /// Earliest start of the next item: the end of the one before.
    start: u128,
    items: VecDeque<I>,
}

impl<I> FairQueues<I> {
    /// No classes yet; all have weight 1 until they get another.
    pub fn new(largest_frame: u32) -> Self {
        Self {
            classes: Vec::new(),
            weights: 0,
            early: BinaryHeap::new(),
            due: BinaryHeap::new(),
            now: 0,
            last: None,
            came: 0,
            frame: largest_frame.max(1),
            len: 0,
        }
    }

    fn class(&mut self, class: u32) -> &mut Queue<I> {
        let at = class as usize;
        if let Some(more) = (at + 1).checked_sub(self.classes.len()) {
            self.weights += more as u64;
            self.classes.resize_with(at + 1, || Queue { weight: 1, start: 0, items: VecDeque::new() });
        }
        &mut self.classes[at]
    }

    /// Another weight, at least 1, from the next item on.
    pub fn set_weight(&mut self, class: u32, weight: u32) {
        let weight = weight.max(1);
        let before = std::mem::replace(&mut self.class(class).weight, weight);
        self.weights = self.weights - u64::from(before) + u64::from(weight);
    }

    /// Returns the number of waiting items.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if no item waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the items that wait in a class, in order.
    pub fn items(&self, class: u32) -> impl Iterator<Item = &I> {
        self.classes.get(class as usize).into_iter().flat_map(|queue| &queue.items)
    }

    /// An item waits at the end of its class.
    pub fn push(&mut self, class: u32, item: I) {
        let queue = self.class(class);
        let is_first = queue.items.is_empty();
        queue.items.push_back(item);
        self.len += 1;
        if is_first {
            self.enqueue(class);
        }
    }

    /// Queues a class for its next item. A pause gives it no credit.
    fn enqueue(&mut self, class: u32) {
        let queue = &mut self.classes[class as usize];
        if self.last != Some(class) {
            queue.start = queue.start.max(self.now);
        }
        self.early.push(Reverse((queue.start, class)));
    }

    /// Takes the next item. `bytes` returns its size on the wire; an item that has become empty costs nothing.
    pub fn pop(&mut self, mut bytes: impl FnMut(&I) -> u32) -> Option<I> {
        if self.due.is_empty()
            && let Some(&Reverse((start, _))) = self.early.peek()
        {
            self.now = self.now.max(start);
        }
        while let Some(&Reverse((start, class))) = self.early.peek()
            && start <= self.now
        {
            self.early.pop();
            self.came += 1;
            let end = start + u128::from(self.frame) * BYTE / u128::from(self.classes[class as usize].weight);
            self.due.push(Reverse((end, self.came, class)));
        }
        let Reverse((_, _, class)) = self.due.pop()?;
        let queue = &mut self.classes[class as usize];
        let item = queue.items.pop_front()?;
        let cost = u128::from(bytes(&item)) * BYTE;
        queue.start += cost / u128::from(queue.weight);
        self.now += cost / u128::from(self.weights);
        self.len -= 1;
        self.last = Some(class);
        if !queue.items.is_empty() {
            self.enqueue(class);
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes that each class sends out of `total` bytes, when all have an endless supply of items of
    /// their own size.
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
    fn classes_share_by_weight_for_any_packet_size() {
        let sent = shares(&[1, 2, 5], &[1_538, 84, 700], 80_000_000);
        for (sent, weight) in sent.into_iter().zip([1_u64, 2, 5]) {
            // A quantum and a packet more or less.
            assert!(sent.abs_diff(10_000_000 * weight) <= 1_538 * (weight + 1), "{sent} of weight {weight}");
        }
    }

    #[test]
    fn a_lone_class_gets_everything_and_a_pause_accumulates_no_credit() {
        let mut queues = FairQueues::new(100);
        queues.set_weight(0, 50);
        for _ in 0..1_000 {
            queues.push(0, 'a');
            assert_eq!([queues.pop(|_| 100), queues.pop(|_| 100)], [Some('a'), None]);
        }
        // The other one owes nothing for the time in which it was not there, and has saved nothing.
        for _ in 0..60 {
            queues.push(1, 'b');
            queues.push(0, 'a');
        }
        let order: Vec<char> = std::iter::from_fn(|| queues.pop(|_| 100)).collect();
        assert_eq!(order[..50].iter().filter(|&&class| class == 'b').count(), 1, "{order:?}");
        assert!(queues.is_empty());
    }

    /// A hundred classes of weight 1 have always something, and another of weight 100 has one item now and then: it waits for none but the one that goes.
    #[test]
    fn a_rarely_active_class_waits_for_at_most_one_item() {
        let mut queues = FairQueues::new(1_538);
        queues.set_weight(100, 100);
        (0..100).for_each(|class| queues.push(class, class));
        for turn in 0..1_000 {
            // As often as its weight is worth.
            if turn % 2 == 0 {
                queues.push(100, 100);
            }
            let class = queues.pop(|_| 1_538).unwrap();
            assert_eq!(class == 100, turn % 2 == 0, "turn {turn}: {class}");
            if class < 100 {
                queues.push(class, class);
            }
        }
    }
}
