//! Times between segments of a flow, and the time after which several flows are in step again. It determines when a
//! state may be repeated, not that it is.

use crate::clock::Instant;

/// Progress of a flow at a look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ProgressSample {
    /// Time of the latest acknowledgement, by the clock of the sender.
    pub(super) at: Instant,
    /// Segments acknowledged.
    pub(super) acknowledged: u32,
}

/// Time of a segment between two looks, if that is whole ps.
pub(super) fn period(before: ProgressSample, now: ProgressSample) -> Option<Instant> {
    let segments = u64::from(now.acknowledged.wrapping_sub(before.acknowledged));
    let time = now.at.saturating_sub(before.at);
    (segments > 0 && time > 0 && time.is_multiple_of(segments)).then(|| time / segments)
}

/// The least common multiple, if it is not longer than `longest`.
pub(super) fn common(mut periods: impl Iterator<Item = Instant>, longest: Instant) -> Option<Instant> {
    periods.try_fold(1, |common: Instant, period| {
        let (mut one, mut other) = (common, period);
        while other != 0 {
            (one, other) = (other, one % other);
        }
        (common / one).checked_mul(period).filter(|&common| common <= longest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_complete_or_none() {
        let from = ProgressSample { at: 100, acknowledged: u32::MAX };
        let after = |time: Instant, segments: u32| ProgressSample {
            at: 100 + time,
            acknowledged: u32::MAX.wrapping_add(segments),
        };
        assert_eq!(period(from, after(2_460_800, 2)), Some(1_230_400));
        assert_eq!(period(from, after(2_460_801, 2)), None);
        assert_eq!(period(from, after(2_460_800, 0)), None);
        assert_eq!(period(from, after(0, 1)), None);
    }

    #[test]
    fn flows_are_in_step_after_the_least_common_multiple() {
        assert_eq!(common([4, 6, 10].into_iter(), 60), Some(60));
        assert_eq!(common([4, 6, 10].into_iter(), 59), None);
        assert_eq!(common([u64::MAX, u64::MAX - 1].into_iter(), u64::MAX), None);
    }
}
