//! Work on many things that need nothing of one another.

/// As many things as are worth a thread.
const LEAST_SHARE: usize = 1_000;

/// What becomes of each of them, in their order; several threads do it if there are many.
pub fn in_shares<T: Sync, U: Send>(all: &[T], make: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = all.len().div_ceil(threads).max(LEAST_SHARE);
    if all.len() <= share {
        return all.iter().map(make).collect();
    }
    let make = &make;
    std::thread::scope(|scope| {
        let work = |share: &'_ [T]| share.iter().map(make).collect::<Vec<U>>();
        let threads: Vec<_> = all.chunks(share).map(|share| scope.spawn(move || work(share))).collect();
        let ended =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ended.flatten().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::{LEAST_SHARE, in_shares};

    #[test]
    fn the_order_stays() {
        for count in [0, 1, LEAST_SHARE, 5 * LEAST_SHARE + 7] {
            let all: Vec<usize> = (0..count).collect();
            assert_eq!(in_shares(&all, |number| number + 1), (1..=count).collect::<Vec<_>>());
        }
    }
}
