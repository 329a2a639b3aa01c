//! A timing wheel (Varghese and Lauck, SOSP 1987) of events of the near future: a slot for each step of time, with
//! two keys at most. A key goes to a heap if its slot is full, or if it lies too far ahead; both are rare, since the
//! traffic determines the step length.
//!
//! One bit for each slot marks that it has a key, and one for each word of these that it has a bit: the first key is
//! found without a branch.

use super::key::{ACTOR_BITS, NONE};

/// Words of bits; as many as one word has bits.
const WORDS: usize = 64;

/// Slots.
const SLOTS: usize = 64 * WORDS;

/// Maximum number of slots that a key may be ahead: no key is in the same word as the present slot and before that
/// slot, where it would be taken for the first.
const MAX_AHEAD: u64 = (SLOTS - 64) as u64;

/// Minimum number of keys between two checks of the step length.
const INSPECT_AFTER: u64 = 1 << 11;

/// Another length is tried only if more than one key in this number did not fit.
const MISSES: u64 = 32;

/// Number of checks after which the misses of other lengths are forgotten: traffic may have changed.
const FORGET_AFTER: u32 = 64;

/// The binary logarithm of the longest step, in ps: at most 0.5 ms, so that the wheel ends before [`super::HORIZON`].
const LONGEST: u32 = 63 - ACTOR_BITS - SLOTS.trailing_zeros();

/// The keys of one slot, in no order: none, one in the first place, or two; [`NONE`] in places that are free.
#[derive(Clone, Copy, Debug)]
#[repr(align(16))]
struct Slot([u64; 2]);

const FREE: Slot = Slot([NONE; 2]);

/// Keys by time, the near ones.
#[derive(Debug)]
pub(super) struct Wheel {
    slots: Box<[Slot; SLOTS]>,
    /// One bit for each slot that has a key.
    occupied: [u64; WORDS],
    /// One bit for each word that is not zero.
    words: u64,
    /// The step in which the last key was taken, counted from the time that keys count from.
    present: u64,
    /// Number of bits by which a key is shifted to give its step: the bits of the actor and the length of a step.
    shift: u32,
    /// Number of keys taken at the last check of the step length; since then, number of keys too far ahead, and
    /// number of keys that found their slot full.
    looked_at: u64,
    too_far: u64,
    full: u64,
    /// With each length, by its logarithm: number of [`INSPECT_AFTER`] keys that did not fit, 0 if unknown; and the
    /// number of checks for which this is remembered.
    misses: [u64; LONGEST as usize + 1],
    until_forgotten: u32,
}

impl Default for Wheel {
    fn default() -> Self {
        Self {
            slots: Box::new([FREE; SLOTS]),
            occupied: [0; WORDS],
            words: 0,
            present: 0,
            // 1 ns.
            shift: ACTOR_BITS + 10,
            looked_at: 0,
            too_far: 0,
            full: 0,
            misses: [0; LONGEST as usize + 1],
            until_forgotten: FORGET_AFTER,
        }
    }
}

impl Wheel {
    /// Puts a key if there is a place for it; whether there is.
    #[inline(always)]
    pub(super) fn put(&mut self, key: u64) -> bool {
        let step = key >> self.shift;
        // A key before the present wraps far ahead.
        let ahead = step.wrapping_sub(self.present);
        if ahead > MAX_AHEAD {
            self.too_far += 1;
            return false;
        }
        let number = step as usize % SLOTS;
        let (slot, word) = (&mut self.slots[number], &mut self.occupied[number / 64]);
        if slot.0[1] != NONE {
            self.full += 1;
            return false;
        }
        slot.0[(*word >> (number % 64) & 1) as usize] = key;
        *word |= 1 << (number % 64);
        self.words |= 1 << (number / 64);
        true
    }

    /// The least key and the number of its slot; [`NONE`] if there is no key.
    #[inline(always)]
    pub(super) fn first(&self) -> (u64, usize) {
        let now = self.present as usize / 64;
        let word = (now + self.words.rotate_right(now as u32 % 64).trailing_zeros() as usize) % WORDS;
        // Without any key this is some slot, and all are free.
        let number = (64 * word + self.occupied[word].trailing_zeros() as usize) % SLOTS;
        let Slot([one, other]) = self.slots[number];
        (one.min(other), number)
    }

    /// Takes the least key of a slot.
    #[inline(always)]
    pub(super) fn take(&mut self, number: usize) {
        let (slot, word) = (&mut self.slots[number % SLOTS], number / 64 % WORDS);
        // NONE, if that is the only one.
        let rest = slot.0[0].max(slot.0[1]);
        slot.0 = [rest, NONE];
        self.occupied[word] &= !(u64::from(rest == NONE) << (number % 64));
        self.words &= !(u64::from(self.occupied[word] == 0) << word);
    }

    /// A key was taken, here or elsewhere, that is less than all others.
    #[inline(always)]
    pub(super) fn advance(&mut self, key: u64) {
        self.present = self.present.max(key >> self.shift);
    }

    /// Returns a better step length (its logarithm), if a check is due. `taken` is the number of keys taken until
    /// now.
    pub(super) fn better_width(&mut self, taken: u64) -> Option<u32> {
        let keys = taken.saturating_sub(self.looked_at);
        if keys < INSPECT_AFTER {
            return None;
        }
        self.looked_at = taken;
        self.until_forgotten -= 1;
        if self.until_forgotten == 0 {
            self.until_forgotten = FORGET_AFTER;
            self.misses.fill(0);
        }
        let (too_far, full) = (std::mem::take(&mut self.too_far), std::mem::take(&mut self.full));
        let misses = (too_far + full) * INSPECT_AFTER / keys;
        let width = self.width();
        let other = if too_far > full { (width + 1).min(LONGEST) } else { width.saturating_sub(1) };
        self.misses[width as usize] = misses;
        let is_better = misses > INSPECT_AFTER / MISSES && self.misses[other as usize] < misses;
        is_better.then_some(other)
    }

    /// Another length of steps from now on; there is no key.
    pub(super) fn set_width(&mut self, width: u32) {
        let present = self.present << self.shift;
        self.shift = ACTOR_BITS + width;
        self.present = present >> self.shift;
    }

    /// Takes all keys, in no order.
    pub(super) fn take_all(&mut self, keys: &mut Vec<u64>) {
        let slots = self.slots.iter_mut().flat_map(|slot| std::mem::replace(slot, FREE).0);
        keys.extend(slots.filter(|&key| key != NONE));
        (self.occupied, self.words) = ([0; WORDS], 0);
    }

    /// Moves the base of keys later by `by`, in ps; the wheel is empty.
    pub(super) fn rebase(&mut self, by: u64) {
        self.present = (((self.present << self.shift) >> ACTOR_BITS).saturating_sub(by) << ACTOR_BITS) >> self.shift;
    }

    /// The binary logarithm of a step, in ps.
    pub(super) fn width(&self) -> u32 {
        self.shift - ACTOR_BITS
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.slots)
    }
}
