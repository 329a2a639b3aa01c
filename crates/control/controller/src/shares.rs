//! Work on many things that need nothing of one another.

use rayon::prelude::*;

/// As many things as are worth a thread.
const MIN_SHARE: usize = 1_000;

/// Maps every element, in order; uses several threads if there are many.
pub fn in_shares<T: Sync, U: Send>(all: &[T], make: impl Fn(&T) -> U + Sync) -> Vec<U> {
    all.par_iter().with_min_len(MIN_SHARE).map(&make).collect()
}

#[cfg(test)]
mod tests {
    use super::{MIN_SHARE, in_shares};

    #[test]
    fn the_order_is_stable() {
        for count in [0, 1, MIN_SHARE, 5 * MIN_SHARE + 7] {
            let all: Vec<usize> = (0..count).collect();
            assert_eq!(in_shares(&all, |number| number + 1), (1..=count).collect::<Vec<_>>());
        }
    }
}
