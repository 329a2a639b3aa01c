//! The estimator of hidden demand: its table of transitions, and a broker that uses it.

use wayleave_sharing::{DemandEstimator, EstimatorParams, ServiceTerms, Shares, Tree, UsageObservation};
use wayleave_units::{Rate, Time};

fn mbit(rate: u64) -> Rate {
    Rate::from_mbit(rate)
}

fn at(milliseconds: u64) -> Time {
    Time::from_millis(milliseconds)
}

/// Every row: its demand at 10 s, the time of the observation, the observation, the estimate.
#[test]
fn the_table_of_transitions() {
    let free = |usage| UsageObservation { usage: mbit(usage), limit: None };
    let limited = |usage, limit| UsageObservation { usage: mbit(usage), limit: Some(mbit(limit)) };
    let table = [
        // Without a limit, usage is demand, at any earlier estimate and after any time.
        (800, 11_000, free(900), mbit(900)),
        (800, 11_000, free(0), mbit(0)),
        (800, 10_001, free(100), mbit(100)),
        // It fills its limit: twice the limit, not twice the estimate.
        (800, 11_000, limited(400, 400), mbit(800)),
        (800, 11_000, limited(360, 400), mbit(800)),
        (800, 11_000, limited(100, 100), mbit(200)),
        (800, 10_001, limited(500, 400), mbit(800)),
        // A limit of almost nothing is left.
        (800, 11_000, limited(0, 0), mbit(1)),
        // It does not fill it, and so wants less than it: halfway down from there for each second, and nothing before one is over.
        (800, 11_000, limited(200, 400), mbit(300)),
        (800, 12_000, limited(200, 400), mbit(250)),
        (800, 10_999, limited(200, 400), mbit(400)),
        (800, 11_000_000, limited(200, 400), mbit(200)),
        // Never below what it uses.
        (100, 11_000, limited(200, 400), mbit(200)),
        // An observation from before the last one.
        (800, 9_000, limited(200, 400), mbit(400)),
    ];
    for (before, now, seen, expected) in table {
        let mut service = DemandEstimator::new(EstimatorParams::RACK);
        assert_eq!(service.demand(), Rate::ZERO);
        service.observe(at(10_000), free(before));
        assert_eq!(service.observe(at(now), seen), expected, "{before} Mbit/s before, {seen:?} at {now} ms");
        assert_eq!(service.demand(), expected);
    }
}

#[test]
fn observations_more_often_than_the_period_decay_no_faster() {
    let fill = |step: u64| {
        let mut service = DemandEstimator::new(EstimatorParams::RACK);
        service.observe(at(0), UsageObservation { usage: mbit(800), limit: None });
        let seen = UsageObservation { usage: Rate::ZERO, limit: Some(mbit(400)) };
        (step..=3_000).step_by(step as usize).map(|now| service.observe(at(now), seen)).last().unwrap()
    };
    assert_eq!(fill(1_000), mbit(50));
    assert_eq!(fill(10), mbit(50));
    // The last one is at 2.8 s.
    assert_eq!(fill(700), mbit(100));
}

/// Services that really want these rates, and a broker that sees only their usage.
#[test]
fn a_broker_that_sees_only_usage_converges_to_the_shares_of_real_demands() {
    let mut tree = Tree::new(ServiceTerms::default()).unwrap();
    let leaves = [0; 3].map(|_| tree.add(Tree::ROOT, ServiceTerms::default()).unwrap());
    let capacity = mbit(9_000);
    let mut shares = Shares::default();
    let mut estimators = [const { DemandEstimator::new(EstimatorParams::RACK) }; 3];
    let mut limits = [None; 3];
    let mut demands = [Rate::ZERO; 4];
    let mut round = |now: u64, real: [u64; 3]| {
        for (index, leaf) in leaves.into_iter().enumerate() {
            let usage = limits[index].map_or(mbit(real[index]), |limit: Rate| limit.min(mbit(real[index])));
            demands[leaf.index()] =
                estimators[index].observe(at(now * 1_000), UsageObservation { usage, limit: limits[index] });
        }
        shares.compute(&tree, capacity, &demands);
        limits = leaves.map(|leaf| shares.limit(leaf));
        limits
    };
    // 7 + 5 + 1 Gbit/s do not fit: both large ones get 4.
    assert_eq!(round(1, [7_000, 5_000, 1_000]), [Some(mbit(4_000)), Some(mbit(4_000)), None]);
    for now in 2..20 {
        assert_eq!(round(now, [7_000, 5_000, 1_000]), [Some(mbit(4_000)), Some(mbit(4_000)), None], "round {now}");
    }
    // One leaves: the other takes what it wants, within four rounds, and then no limit is left.
    let last = (20..24).map(|now| round(now, [7_000, 0, 1_000])).last().unwrap();
    assert_eq!(last, [None; 3]);
    // It comes back: fair again in one round.
    assert_eq!(round(24, [7_000, 5_000, 1_000])[..2], [Some(mbit(4_000)), Some(mbit(4_000))]);
}
