//! Capacity of links by class: the figures that every view shows are those that admission decides by.

use std::sync::Arc;

use wayleave_contracts::BucketDemand;
use wayleave_ledger::{Capacity, HoseCharge, Ledger, Model, PortInput, ReservedShare};
use wayleave_topology::builders::{Cabling, build};
use wayleave_topology::{Class, Classes, Hop, LinkId, Network, Route};
use wayleave_units::{Bytes, Rate, Time};

fn mbit(rate: u64) -> Rate {
    Rate::from_mbit(rate)
}

/// Four hosts at 10 Gbit/s.
fn network() -> Network {
    let cabling = Cabling { rate: Rate::from_gbit(10), propagation: Time::from_micros(1), ..Cabling::default() };
    build::star(4, cabling).unwrap()
}

fn ledger(network: Network) -> Ledger {
    let (network, model) = (Arc::new(network), Model::default());
    let budgets = |link| vec![Time::from_micros(100); model.contract_queues(&network, link)];
    let budgets = network.links().map(|(_, link)| budgets(link)).collect();
    Ledger::new(network.clone(), model, budgets).unwrap().with_shares(Time::from_micros(250), HoseCharge::Split)
}

fn route(ledger: &Ledger) -> Route {
    let network = ledger.network();
    let [from, to] = ["h1", "h2"].map(|name| network.find_node(name).unwrap());
    let into = network.links_into(to)[0];
    Route { hops: [network.links_from(from)[0], into].map(|link| Hop { link, queue: 5 }).to_vec() }
}

fn pair(ledger: &Ledger, min: Rate) -> ReservedShare {
    ReservedShare::Pair { min, route: route(ledger), is_timed: false }
}

fn figures(ledger: &Ledger, link: LinkId) -> [[u64; 3]; 3] {
    [Class::Latency, Class::Guaranteed, Class::Objective].map(|class| {
        let Capacity { reserved, available, limit } = ledger.capacity(link, class).unwrap();
        [reserved, available, limit].map(|rate| rate.bits_per_second())
    })
}

const M: u64 = 1_000_000;

/// Of 10 Gbit/s, 85 % of 6 and of 3 tenths can be promised below latency; a promise of `p` to a class of weight `w` takes `10 p / (0.85 w)`
/// of the line from latency contracts.
#[test]
fn capacity_figures_of_every_class_are_those_that_admission_uses() {
    let mut ledger = ledger(network().with_classes(Classes::default()).unwrap());
    let up = route(&ledger).hops[0].link;
    assert_eq!(
        figures(&ledger, up),
        [[0, 10_000 * M, 10_000 * M], [0, 5_100 * M, 5_100 * M], [0, 2_550 * M, 2_550 * M]]
    );
    ledger.reserve_share(pair(&ledger, mbit(1_020))).unwrap();
    let members = ["h1", "h3"].map(|name| ledger.network().find_node(name).unwrap()).to_vec();
    ledger.reserve_share(ReservedShare::Objective { weight: mbit(255), members }).unwrap();
    let demand = BucketDemand { rate: mbit(5_000), burst: Bytes::new(1_562), max_frame: None };
    ledger.reserve(demand, Route { hops: vec![Hop { link: up, queue: 0 }] });
    // Latency: 2 Gbit/s of the line are needed for 1.02 of minima. Of the 5 Gbit/s left, minima may have 2.55 and weights 1.275.
    assert_eq!(
        figures(&ledger, up),
        [[5_000 * M, 3_000 * M, 8_000 * M], [1_020 * M, 1_530 * M, 2_550 * M], [255 * M, 1_020 * M, 1_275 * M]]
    );
    let used = |class| ledger.capacity(up, class).unwrap().used_ppm();
    assert_eq!([Class::Latency, Class::Guaranteed, Class::Objective].map(used), [625_000, 400_000, 200_000]);
    // Exactly what is available fits.
    let one_more = |rate: Rate| Rate::from_bits_per_second(rate.bits_per_second() + 1);
    let left = ledger.capacity(up, Class::Guaranteed).unwrap().available;
    assert!(ledger.share_denial(&pair(&ledger, left)).is_none());
    assert!(ledger.share_denial(&pair(&ledger, one_more(left))).is_some());
    let left = ledger.capacity(up, Class::Latency).unwrap().available;
    let fits = |rate| ledger.fits(up, 0, PortInput::LOCAL, rate, Bytes::new(1_562).into());
    assert!(fits(left) && !fits(one_more(left)));
    // A closed link has nothing left, and holds what it held.
    ledger.close(up);
    assert_eq!(figures(&ledger, up), [[5_000 * M, 0, 8_000 * M], [1_020 * M, 0, 2_550 * M], [255 * M, 0, 1_275 * M]]);
}

#[test]
fn a_link_without_classes_has_capacity_for_latency_contracts_only() {
    let ledger = ledger(network());
    let up = route(&ledger).hops[0].link;
    assert_eq!(ledger.capacity(up, Class::Latency).unwrap().available, Rate::from_gbit(10));
    let others = [Class::Guaranteed, Class::Objective, Class::BestEffort];
    assert_eq!(others.map(|class| ledger.capacity(up, class)), [None; 3]);
}
