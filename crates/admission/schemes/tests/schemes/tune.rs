//! The search for parameters, its judge, and the bound.

use std::sync::Arc;

use wayleave_contracts::{Contract, RequestMix};
use wayleave_ledger::Model;
use wayleave_scheme_api::Request;
use wayleave_schemes::admission::chameleon::Params;
use wayleave_schemes::tune::bound::Cuts;
use wayleave_schemes::tune::{
    ListLength, SearchBudget, TuneObjective, TuneSample, climb, fill, fill_all, judge, methods, starts,
};
use wayleave_topology::Network;
use wayleave_topology::builders::{FatTree, LeafSpine, build};
use wayleave_units::{Bytes, Rate, Time};

fn samples(
    network: &Arc<Network>,
    scenario: usize,
    seeds: std::ops::RangeInclusive<u64>,
    count: usize,
) -> Vec<TuneSample> {
    seeds
        .map(|seed| {
            TuneSample::new(
                network.clone(),
                Model::PUBLISHED,
                RequestMix::new(network, scenario, seed).take(count).map(Contract::Latency),
            )
        })
        .collect()
}

fn fat_tree() -> Arc<Network> {
    Arc::new(build::fat_tree(&FatTree::default()).unwrap())
}

#[test]
fn no_method_exceeds_the_cut_bound() {
    let network = fat_tree();
    for scenario in [1, 5, 8] {
        for sample in samples(&network, scenario, 1..=2, 4000) {
            let requests = || sample.requests.iter().filter_map(|(ask, _)| ask.latency().cloned());
            let most = Cuts::new(&network).until_refusal(requests()).unwrap();
            for (name, params) in methods() {
                let score = fill(&sample, &params.into(), ListLength::FirstRefusal).unwrap();
                assert!(score.was_refused && score.until_refusal <= most, "{name}: {} > {most}", score.until_refusal);
            }
        }
    }
}

#[test]
fn cuts_count_the_traffic_across_them() {
    // Two leaves with two hosts each and one spine: 1 Gbit/s a host, 1 Gbit/s a leaf.
    let spec = LeafSpine { leaves: 2, spines: 1, hosts_per_leaf: 2, ..LeafSpine::default() };
    let network = build::leaf_spine(&spec).unwrap();
    let host = |name| network.find_node(name).unwrap();
    let ask = |from, to, mbit| Request {
        from: host(from),
        to: host(to),
        rate: Rate::from_mbit(mbit),
        burst: Bytes::new(100),
        deadline: Time::from_millis(50),
        max_frame: None,
        route: None,
        protection: 1,
    };
    let until = |requests: &[Request]| Cuts::new(&network).until_refusal(requests.iter().cloned());
    // Within a leaf only the hosts' own links count: the fourth overflows h1's.
    assert_eq!(
        until(&[ask("h1", "h2", 400), ask("h1", "h2", 400), ask("h2", "h1", 900), ask("h1", "h2", 201)]),
        Some(3)
    );
    // Across, the leaf's uplink is full before any host's link.
    assert_eq!(until(&[ask("h1", "h3", 600), ask("h2", "h4", 400), ask("h2", "h4", 1)]), Some(2));
    assert_eq!(until(&[ask("h1", "h3", 600), ask("h2", "h4", 400)]), None);
}

#[test]
fn the_number_of_threads_does_not_change_scores() {
    let network = fat_tree();
    let samples = samples(&network, 8, 1..=3, 1500);
    let on = |threads| fill_all(&samples, &Params::default().into(), ListLength::Whole, threads).unwrap();
    assert_eq!(on(1), on(3));
    assert!(on(1).iter().all(|score| score.all.offered >= score.until_refusal));
}

#[test]
fn a_climb_never_ends_below_its_start_and_the_judge_never_below_the_paper() {
    let network = fat_tree();
    let (train, judging) = (samples(&network, 1, 1..=2, 600), samples(&network, 1, 3..=5, 600));
    for objective in [TuneObjective::UntilRefusal, TuneObjective::Rate] {
        let effort = SearchBudget { candidates: 12, threads: 2, list: 2 };
        let mut count = 0;
        let tried = climb(&train, starts(None), objective, effort, |at, _| count = at).unwrap();
        assert!(count == tried.len() && count <= 12);
        let value = |name: &str| tried.iter().find(|method| method.name == name).unwrap().value;
        assert!(methods().iter().all(|(name, _)| tried[0].value >= value(name)));
        assert!(tried.is_sorted_by(|a, b| a.value >= b.value));
        let mut candidates = starts(None);
        candidates.push(("tuned".to_owned(), tried[0].candidate.clone()));
        let verdict = judge(&judging, candidates, objective, (2, 2), |_| {}).unwrap();
        let of = |at: usize| match objective {
            TuneObjective::UntilRefusal => verdict.summaries[at].until_refusal.0,
            _ => verdict.summaries[at].rate.0,
        };
        assert!((0..verdict.summaries.len()).all(|at| of(verdict.choice) >= of(at)));
    }
}
