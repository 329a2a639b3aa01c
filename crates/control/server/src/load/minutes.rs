//! Sums of a statement: minutes of contracts, and of their tenant.

use wayleave_protocol::load::{StatementMinutes, UnknownMinutes, UnknownReason};
use wayleave_store::{Observed, RecordedContract};

/// Minutes of a tenant, and of each contract in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) tenant: StatementMinutes,
    pub(crate) contracts: Vec<ContractMinutes>,
}

/// Minutes of a contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContractMinutes {
    pub(crate) sum: StatementMinutes,
    /// Unknown minutes with a recorded reason, by the number of the reason.
    reasons: [u64; UnknownReason::ALL.len()],
}

impl ContractMinutes {
    /// Returns the unknown minutes by reason. Those without a recorded reason were not observed.
    pub(crate) fn unknown(&self) -> Vec<UnknownMinutes> {
        let mut reasons = self.reasons;
        let recorded: u64 = reasons.iter().sum();
        reasons[UnknownReason::NotObserved as usize] += self.sum.unknown.saturating_sub(recorded);
        let all = UnknownReason::ALL.into_iter().zip(reasons).filter(|(_, minutes)| *minutes > 0);
        all.map(|(reason, minutes)| UnknownMinutes { reason, minutes }).collect()
    }
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
        let ContractMinutes { sum: mut minutes, mut reasons } = ContractMinutes::default();
        let end = contract.ended.unwrap_or(to);
        if let Some(exists) = within(contract.begun, end) {
            existing.add(exists, from);
            minutes.unknown = exists.1 - exists.0;
        }
        for &(begin, interval_end, observed) in &contract.intervals {
            let Some(interval) = within(begin.max(contract.begun), interval_end.min(end)) else { continue };
            let length = interval.1 - interval.0;
            match observed {
                Observed::Kept => {
                    kept.add(interval, from);
                    minutes.kept += length;
                }
                Observed::Broken => {
                    broken.add(interval, from);
                    minutes.broken += length;
                }
                Observed::Unknown(reason) => {
                    if let Some(sum) = reasons.get_mut(usize::from(reason)) {
                        *sum += length;
                    }
                }
            }
        }
        minutes.unknown = minutes.unknown.saturating_sub(minutes.kept + minutes.broken);
        sums.contracts.push(ContractMinutes { sum: minutes, reasons });
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
        let mut sums = Sums { contracts: vec![ContractMinutes::default(); contracts.len()], ..Sums::default() };
        for minute in from..to {
            let mut seen = Vec::new();
            for (contract, sum) in contracts.iter().zip(&mut sums.contracts) {
                if minute < contract.begun || contract.ended.is_some_and(|ended| minute >= ended) {
                    continue;
                }
                let found = contract.intervals.iter().find(|(begin, end, _)| (*begin..*end).contains(&minute));
                let observed = found.map(|(_, _, observed)| *observed);
                seen.push(observed.filter(|one| !matches!(one, Observed::Unknown(_))).map(|one| one == Observed::Kept));
                let ContractMinutes { sum, reasons } = sum;
                match observed {
                    Some(Observed::Kept) => sum.kept += 1,
                    Some(Observed::Broken) => sum.broken += 1,
                    Some(Observed::Unknown(reason)) => {
                        sum.unknown += 1;
                        reasons[usize::from(reason)] += 1;
                    }
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
                        let unknown = Observed::Unknown(random.below(8) as u8);
                        intervals.push((at, end, *random.pick(&[Observed::Kept, Observed::Broken, unknown])));
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

    #[test]
    fn unknown_minutes_by_reason_add_up() {
        let intervals = vec![(10, 13, Observed::Unknown(1)), (13, 14, Observed::Kept), (16, 18, Observed::Unknown(0))];
        let contract = RecordedContract { begun: 10, intervals, ..RecordedContract::default() };
        let of = &sums(&[contract], 10, 20).contracts[0];
        let unknown: Vec<(&str, u64)> = of.unknown().iter().map(|one| (one.reason.name(), one.minutes)).collect();
        assert_eq!(unknown, [("counters-incomplete", 2), ("rate-above-rule", 3), ("not-observed", 4)]);
        assert_eq!((of.sum.unknown, of.sum.kept), (9, 1));
        // Numbers are on disk.
        assert!(UnknownReason::ALL.iter().enumerate().all(|(number, reason)| *reason as usize == number));
    }
}
