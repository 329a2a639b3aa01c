//! Sums of a statement: minutes of contracts, and of their tenant.

use wayleave_protocol::load::StatementMinutes;
use wayleave_store::RecordedContract;

/// Minutes of a tenant, and of each contract in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) tenant: StatementMinutes,
    pub(crate) contracts: Vec<StatementMinutes>,
}

/// Numbers of contracts in each minute, as differences to the minute before.
struct Counts(Vec<i64>);

impl Counts {
    fn add(&mut self, (from, to): (u64, u64), first: u64) {
        for (minute, by) in [(from, 1), (to, -1)] {
            let at = usize::try_from(minute - first).unwrap_or(usize::MAX);
            if let Some(count) = self.0.get_mut(at) {
                *count += by;
            }
        }
    }

    fn sums(&self) -> impl Iterator<Item = i64> {
        self.0.iter().scan(0, |sum, by| {
            *sum += by;
            Some(*sum)
        })
    }
}

/// Returns the sums of the minutes from `from` until before `to`. A minute of the tenant is broken if one contract was
/// broken, kept if all contracts were kept, and otherwise unknown; minutes without a contract are not counted.
pub(crate) fn sums(contracts: &[RecordedContract], from: u64, to: u64) -> Sums {
    let length = usize::try_from(to.saturating_sub(from)).unwrap_or(0);
    let counts = || Counts(vec![0; length]);
    let (mut existing, mut kept, mut broken) = (counts(), counts(), counts());
    let within = |begin: u64, end: u64| {
        let (begin, end) = (begin.max(from), end.min(to));
        (begin < end).then_some((begin, end))
    };
    let mut sums = Sums::default();
    for contract in contracts {
        let mut minutes = StatementMinutes::default();
        let end = contract.ended.unwrap_or(to);
        if let Some(exists) = within(contract.begun, end) {
            existing.add(exists, from);
            minutes.unknown = exists.1 - exists.0;
        }
        for &(begin, interval_end, is_kept) in &contract.intervals {
            let Some(interval) = within(begin.max(contract.begun), interval_end.min(end)) else { continue };
            let (counts, sum) =
                if is_kept { (&mut kept, &mut minutes.kept) } else { (&mut broken, &mut minutes.broken) };
            counts.add(interval, from);
            *sum += interval.1 - interval.0;
        }
        minutes.unknown = minutes.unknown.saturating_sub(minutes.kept + minutes.broken);
        sums.contracts.push(minutes);
    }
    for ((existing, kept), broken) in existing.sums().zip(kept.sums()).zip(broken.sums()) {
        let minute = match existing {
            0 => continue,
            _ if broken > 0 => &mut sums.tenant.broken,
            _ if kept == existing => &mut sums.tenant.kept,
            _ => &mut sums.tenant.unknown,
        };
        *minute += 1;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_repo_checks::Random;

    /// The reference inspects every minute of every contract.
    fn reference(contracts: &[RecordedContract], from: u64, to: u64) -> Sums {
        let mut sums = Sums { contracts: vec![StatementMinutes::default(); contracts.len()], ..Sums::default() };
        for minute in from..to {
            let mut seen = Vec::new();
            for (contract, sum) in contracts.iter().zip(&mut sums.contracts) {
                if minute < contract.begun || contract.ended.is_some_and(|ended| minute >= ended) {
                    continue;
                }
                let found = contract.intervals.iter().find(|(begin, end, _)| (*begin..*end).contains(&minute));
                seen.push(found.map(|(_, _, kept)| *kept));
                match found {
                    Some((_, _, true)) => sum.kept += 1,
                    Some(_) => sum.broken += 1,
                    None => sum.unknown += 1,
                }
            }
            match () {
                () if seen.is_empty() => {}
                () if seen.contains(&Some(false)) => sums.tenant.broken += 1,
                () if seen.contains(&None) => sums.tenant.unknown += 1,
                () => sums.tenant.kept += 1,
            }
        }
        sums
    }

    #[test]
    fn sums_equal_those_of_single_minutes_for_random_intervals() {
        for seed in 1..300 {
            let mut random = Random::new(seed);
            let contracts: Vec<RecordedContract> = (0..random.below(5))
                .map(|_| {
                    let begun = random.below(150);
                    let ended = Some(begun + random.below(150)).filter(|end| end % 3 > 0);
                    let (mut at, mut intervals) = (begun, Vec::new());
                    while at < 220 {
                        let end = at + 1 + random.below(30);
                        intervals.push((at, end, !random.one_in(3)));
                        at = end + random.below(3);
                    }
                    RecordedContract { begun, ended, intervals, ..RecordedContract::default() }
                })
                .collect();
            let (from, to) = (random.below(120), 100 + random.below(120));
            assert_eq!(sums(&contracts, from, to), reference(&contracts, from, to), "seed {seed}: {contracts:?}");
        }
        assert_eq!(sums(&[], 5, 5), Sums::default());
    }
}
