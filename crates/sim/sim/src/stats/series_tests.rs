//! Series and levels against their definitions, evaluated picosecond by picosecond or amount by amount.

use super::{Bin, LevelBin, Levels, Series};
use proptest::collection::vec;
use proptest::prelude::*;

#[test]
fn an_interval_doubles_when_time_exceeds_the_last_bin_and_nothing_is_lost() {
    let mut series = Series::new(10);
    (0..1_024).for_each(|index| series.add(index * 10, index));
    assert_eq!((series.interval_ps(), series.bins(10_240).count()), (10, 1_024));
    series.add(10_240, 7);
    assert_eq!(series.interval_ps(), 20);
    let bins: Vec<Bin> = series.bins(10_241).collect();
    assert_eq!(bins.len(), 513);
    assert_eq!(bins[1], Bin { start_ps: 20, end_ps: 40, amount: 2 + 3 });
    assert_eq!(bins[512], Bin { start_ps: 10_240, end_ps: 10_241, amount: 7 });
    assert_eq!(series.total(), 1_023 * 1_024 / 2 + 7);
}

#[test]
fn memory_and_bins_are_bounded_at_the_end_of_time() {
    let mut series = Series::new(1);
    series.add(0, 1);
    series.add(u64::MAX, 2);
    assert_eq!(series.interval_ps(), 1 << 54);
    assert!(series.memory() <= 64 + 8 * 1_024);
    assert_eq!((series.bins(u64::MAX).count(), series.total()), (1_024, 3));
    let mut levels = Levels::new(1);
    levels.set(1, 1);
    levels.set(u64::MAX, 2);
    assert!(levels.memory() <= 64 + 64 + 24 * 1_024);
    assert_eq!(levels.bins(u64::MAX).map(|bin| bin.area).sum::<u128>(), u128::from(u64::MAX) - 1);
}

#[test]
fn a_report_long_after_the_last_amount_has_no_more_bins() {
    let mut series = Series::new(1_000);
    series.add(5, 9);
    let bins: Vec<Bin> = series.bins(1 << 40).collect();
    assert!(bins.len() <= 1_024 && bins.len() > 512, "{} bins", bins.len());
    assert_eq!((bins[0].amount, bins.last().unwrap().end_ps), (9, 1 << 40));
    // The series itself is as it was.
    assert_eq!(series.interval_ps(), 1_000);
}

#[test]
fn a_run_of_no_time_has_no_bins() {
    assert_eq!(Series::new(5).bins(0).count(), 0);
    assert_eq!(Levels::new(5).bins(0).count(), 0);
}

#[test]
fn a_level_that_ends_where_an_interval_starts_does_not_count_there() {
    let mut levels = Levels::new(100);
    levels.set(40, 8);
    levels.set(100, 2);
    let bins: Vec<(u128, u64)> = levels.bins(200).map(|bin| (bin.area, bin.maximum)).collect();
    assert_eq!(bins, [(480, 8), (200, 2)]);
}

#[test]
fn a_level_without_duration_counts_for_the_maximum() {
    let mut levels = Levels::new(100);
    levels.set(50, 9);
    levels.set(50, 0);
    assert_eq!(levels.bins(100).next().map(|bin| (bin.area, bin.maximum)), Some((0, 9)));
}

#[test]
fn a_silence_keeps_its_level_over_many_intervals() {
    let mut levels = Levels::new(1);
    levels.set(3, 5);
    levels.set(1_000_003, 0);
    let bins: Vec<LevelBin> = levels.bins(1_000_003).collect();
    assert!(bins.len() <= 1_024);
    assert_eq!(bins.iter().map(|bin| bin.area).sum::<u128>(), 5_000_000);
    assert!(bins[1..].iter().all(|bin| bin.maximum == 5 && bin.mean() == 5.0));
}

/// The level at each picosecond, from changes in the order of time.
fn timeline(changes: &[(u64, u64)], end_ps: u64) -> Vec<u64> {
    let level = |time| changes.iter().rev().find(|&&(start, _)| start <= time).map_or(0, |&(_, level)| level);
    (0..end_ps).map(level).collect()
}

proptest! {
    #[test]
    fn every_amount_is_in_its_interval(
        interval in 1..50u64,
        amounts in vec((0..20_000u64, 0..1_000u64), 0..100),
        end in 1..25_000u64,
    ) {
        let mut series = Series::new(interval);
        amounts.iter().for_each(|&(time, amount)| series.add(time, amount));
        prop_assert_eq!(series.total(), amounts.iter().map(|&(_, amount)| amount).sum::<u64>());
        let bins: Vec<Bin> = series.bins(end).collect();
        prop_assert!(bins.len() <= 1_024);
        // A report may have longer intervals than the series.
        let length = bins.get(1).map_or(series.interval_ps(), |second| second.start_ps);
        let mut next = 0;
        for bin in bins {
            prop_assert_eq!(bin.start_ps, next);
            next = bin.end_ps;
            // The last interval is cut at the end, but not what came in it.
            let expected = amounts.iter().filter(|(time, _)| (bin.start_ps..bin.start_ps + length).contains(time));
            prop_assert_eq!(bin.amount, expected.map(|&(_, amount)| amount).sum::<u64>(), "{:?}", bin);
        }
        prop_assert_eq!(next, end);
    }

    #[test]
    fn mean_and_maximum_are_those_of_the_timeline(
        interval in 1..20u64,
        steps in vec((1..600u64, 0..100u64), 0..30),
        rest in 1..3_000u64,
    ) {
        let mut levels = Levels::new(interval);
        let (mut time, mut changes) = (0, Vec::new());
        for (step, level) in steps {
            time += step;
            levels.set(time, level);
            changes.push((time, level));
        }
        let end = time + rest;
        let timeline = timeline(&changes, end);
        let mut next = 0;
        for bin in levels.bins(end) {
            prop_assert_eq!(bin.start_ps, next);
            next = bin.end_ps;
            let part = &timeline[bin.start_ps as usize..bin.end_ps as usize];
            prop_assert_eq!(bin.area, u128::from(part.iter().sum::<u64>()), "{:?}", bin);
            prop_assert_eq!(bin.maximum, part.iter().copied().max().unwrap(), "{:?}", bin);
        }
        prop_assert_eq!(next, end);
    }
}
