//! Shares of the classes below the latency queues: what they come to on each link, what they leave, and taking them back.
use std::sync::Arc;

use proptest::prelude::*;
use wayleave_contracts::BucketDemand;
use wayleave_ledger::{
    Denial, HoseCharge, Ledger, Model, PathSpread, PortInput, QueueLimitKind, ReservedShare, ShareDenial,
};
use wayleave_repo_checks::Random;
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{Class, Classes, Hop, HopDistances, LinkId, Network, NodeId, Route, ShareId};
use wayleave_units::{Bytes, Rate, Time};

const BUDGET: Time = Time::from_micros(250);

/// A fat tree with k = 4 at 10 Gbit/s.
fn network() -> Arc<Network> {
    let cabling = Cabling { rate: Rate::from_gbit(10), propagation: Time::from_micros(1), ..Cabling::default() };
    let network = build::fat_tree(&FatTree { k: 4, cabling, ..FatTree::default() }).unwrap();
    Arc::new(network.with_classes(Classes::default()).unwrap())
}

fn ledger(network: &Arc<Network>) -> Ledger {
    let model = Model::default();
    let budgets = |link| vec![Time::from_micros(100); model.contract_queues(network, link)];
    let budgets = network.links().map(|(_, link)| budgets(link)).collect();
    Ledger::new(network.clone(), model, budgets).unwrap().with_shares(BUDGET, HoseCharge::Split)
}

fn hosts(network: &Network, numbers: &[usize]) -> Vec<NodeId> {
    numbers.iter().map(|number| network.find_node(&format!("h{number}")).unwrap()).collect()
}

fn hose(members: Vec<NodeId>, mbit: u64, spread: PathSpread) -> ReservedShare {
    ReservedShare::Hose { min: Rate::from_mbit(mbit), members, spread, is_timed: false }
}

/// One of the shortest routes: the `choice`-th link at each node.
fn route(network: &Network, from: NodeId, to: NodeId, choice: usize) -> Route {
    let distances = HopDistances::to(network, to);
    let (mut at, mut hops) = (from, Vec::new());
    while at != to {
        let nearer =
            |link: &&LinkId| distances.from(network.link(**link).to).map(|hops| hops + 1) == distances.from(at);
        let links: Vec<LinkId> = network.links_from(at).iter().filter(nearer).copied().collect();
        let link = links[choice % links.len()];
        hops.push(Hop { link, queue: 5 });
        at = network.link(link).to;
    }
    Route { hops }
}

/// Rates that have been promised on the links up from a host, up from its rack, and up from its pod.
fn upwards(ledger: &Ledger, host: NodeId) -> [u64; 3] {
    let network = ledger.network();
    let mbit = |link| ledger.promised_to(link, Class::Guaranteed).bits_per_second() / 1_000_000;
    let first = network.links_from(host)[0];
    let up = |node: NodeId, below: NodeId| {
        let links = network.links_to_switches(node).iter();
        links.copied().find(|&link| network.link(link).to != below && network.link(link).to != node).unwrap()
    };
    let tor = network.link(first).to;
    let rack = up(tor, host);
    let aggregation = network.link(rack).to;
    let cores = network.links_to_switches(aggregation).iter().copied();
    let mut from_core = cores.filter(|&link| {
        let core = network.link(link).to;
        network.links_from(core).iter().all(|&down| network.links_to_switches(network.link(down).to).len() == 4)
    });
    [mbit(first), mbit(rack), mbit(from_core.next().unwrap())]
}

/// Three members in three pods, 1 Gbit/s each: 1000 on the host's link, half of this on each of two links of the
/// rack, a quarter on each of four of the pod. With a fourth member in the first rack, 2 Gbit/s may leave the rack.
#[test]
fn a_hose_is_charged_the_maximum_that_may_cross_each_cut() {
    let network = network();
    let mut ledger = ledger(&network);
    let first = ledger.reserve_share(hose(hosts(&network, &[1, 5, 9]), 1_000, PathSpread::AllPaths)).unwrap();
    let h1 = hosts(&network, &[1])[0];
    assert_eq!(upwards(&ledger, h1), [1_000, 500, 250]);
    ledger.release_share(first);
    ledger.reserve_share(hose(hosts(&network, &[1, 2, 5, 9]), 1_000, PathSpread::AllPaths)).unwrap();
    assert_eq!(upwards(&ledger, h1), [1_000, 1_000, 500]);
    // Three in the first rack and pod, one outside: it can take no more than 1 Gbit/s.
    let few = hosts(&network, &[1, 2, 3, 9]);
    ledger.reserve_share(hose(few, 1_000, PathSpread::AllPaths)).unwrap();
    assert_eq!(upwards(&ledger, h1), [2_000, 2_000, 750]);
}

/// A pair with one path takes all of its minimum over one link, whichever: the largest is counted besides, once.
#[test]
fn pairs_with_one_path_are_counted_beside_the_largest_matching() {
    let network = network();
    let mut ledger = ledger(&network);
    let h1 = hosts(&network, &[1])[0];
    ledger.reserve_share(hose(hosts(&network, &[1, 2, 5, 9]), 600, PathSpread::OnePath)).unwrap();
    assert_eq!(upwards(&ledger, h1), [600, 1_200, 900], "all of 1200, as 600 + 600 is; a quarter and 600");
    ledger.reserve_share(hose(hosts(&network, &[1, 2, 6, 10]), 200, PathSpread::OnePath)).unwrap();
    assert_eq!(upwards(&ledger, h1), [800, 1_400, 1_000]);
}

#[test]
fn objectives_count_their_weight_on_every_link_between_members() {
    let network = network();
    let mut ledger = ledger(&network);
    let members = hosts(&network, &[1, 3]);
    let share = ReservedShare::Objective { weight: Rate::from_mbit(700), members: members.clone() };
    ledger.reserve_share(share).unwrap();
    let objective = |link| ledger.promised_to(link, Class::Objective).bits_per_second() / 1_000_000;
    let loaded = network.links().filter(|&(link, _)| objective(link) > 0).count();
    // Both hosts' links and two of each rack, in both directions: h1 and h3 are in one pod.
    assert_eq!(loaded, 2 * (2 + 2 * 2));
    assert!(network.links().all(|(link, _)| [0, 700].contains(&objective(link))));
}

/// 85 % of 6 of 10 Gbit/s can be promised: 5.1 Gbit/s. With 1 Gbit/s of this promised, 1.961 Gbit/s of the line are
/// needed.
#[test]
fn latency_contracts_and_minima_keep_their_capacity_beside_each_other() {
    let network = network();
    let mut ledger = ledger(&network);
    let [h1, h2] = hosts(&network, &[1, 2])[..] else { panic!() };
    let route = route(&network, h1, h2, 0);
    let up = route.hops[0].link;
    assert_eq!(ledger.left_for(up, Class::Guaranteed), Rate::from_mbit(5_100));
    assert_eq!(ledger.left_for(up, Class::Objective), Rate::from_mbit(2_550));
    let pair = |mbit| ReservedShare::Pair { min: Rate::from_mbit(mbit), route: route.clone(), is_timed: false };
    let share = ledger.reserve_share(pair(1_000)).unwrap();
    assert_eq!(ledger.spare(up).bits_per_second(), 10_000_000_000 - 1_960_784_314);
    let denied = ledger.share_denial(&pair(4_101));
    let (asked, left) = (Rate::from_mbit(4_101), Rate::from_mbit(4_100));
    assert_eq!(denied, Some(ShareDenial::Rate { link: up, asked, left }));
    assert_eq!(ledger.share_denial(&pair(4_100)), None);
    let demand = |mbit| BucketDemand { rate: Rate::from_mbit(mbit), burst: Bytes::new(1_562), max_frame: None };
    let fits =
        |ledger: &Ledger, mbit| ledger.fits(up, 0, PortInput::LOCAL, demand(mbit).rate, demand(mbit).burst.into());
    assert!(fits(&ledger, 8_039) && !fits(&ledger, 8_040));
    let denial = ledger.denial(up, 0, PortInput::LOCAL, demand(8_040).rate, demand(8_040).burst.into());
    let left = ledger.spare(up);
    assert_eq!(denial, Some(Denial { queue: 0, limit: QueueLimitKind::Rate { asked: Rate::from_mbit(8_040), left } }));
    // And the reverse: 5 Gbit/s of latency contracts leave 2.55 Gbit/s to minima.
    ledger.reserve(demand(5_000), Route { hops: vec![Hop { link: up, queue: 0 }] });
    assert_eq!(ledger.left_for(up, Class::Guaranteed), Rate::from_mbit(1_550));
    ledger.release_share(share).unwrap();
    assert_eq!(ledger.left_for(up, Class::Guaranteed), Rate::from_mbit(2_550));
}

#[test]
fn a_minimum_with_a_delay_bound_limits_latency_contracts() {
    let network = network();
    let mut ledger = ledger(&network);
    let [h1, h2] = hosts(&network, &[1, 2])[..] else { panic!() };
    let route = route(&network, h1, h2, 0);
    let down = route.hops[1].link;
    let timed = ReservedShare::Pair { min: Rate::from_mbit(100), route, is_timed: true };
    let large =
        |ledger: &Ledger| ledger.denial(down, 4, PortInput::LOCAL, Rate::from_mbit(1), Bytes::new(97_000).into());
    // 97 kB of a queue of 100 us are too much for that queue alone; 60 kB are not.
    let burst = Bytes::new(60_000).into();
    assert_eq!(ledger.denial(down, 4, PortInput::LOCAL, Rate::from_mbit(1), burst), None);
    let hop = |queue| Route { hops: vec![Hop { link: down, queue }] };
    for queue in 0..2 {
        ledger
            .reserve(BucketDemand { rate: Rate::from_mbit(1), burst: Bytes::new(50_000), max_frame: None }, hop(queue));
    }
    let share = ledger.reserve_share(timed.clone()).unwrap();
    let denial = ledger.denial(down, 4, PortInput::LOCAL, Rate::from_gbit(5), burst).unwrap();
    assert!(
        matches!(denial, Denial { queue: 5, limit: QueueLimitKind::Delay { bound, budget: BUDGET } } if bound > BUDGET),
        "{denial:?}"
    );
    assert!(ledger.keeps(down));
    ledger.release_share(share);
    let without = ledger.denial(down, 4, PortInput::LOCAL, Rate::from_gbit(5), burst);
    assert!(without.as_ref().is_none_or(|denial| denial.queue < 5), "{without:?}");
    assert!(large(&ledger).is_some());
    // And the reverse: where latency contracts leave too little, the minimum with a time is refused, and the denial
    // gives the excess.
    ledger.reserve(BucketDemand { rate: Rate::from_gbit(5), burst: Bytes::new(60_000), max_frame: None }, hop(4));
    let denied = ledger.share_denial(&timed).unwrap();
    assert!(
        matches!(denied, ShareDenial::Delay { link, bound, budget: BUDGET } if link == down && bound > BUDGET),
        "{denied:?}"
    );
}

/// Each pair may have a packet of its minimum in flight that no window holds back. This limits the number of pairs
/// that fit beside one that has a time.
#[test]
fn every_pair_adds_delay_to_pairs_with_a_delay_bound() {
    let network = network();
    let mut ledger = ledger(&network);
    let [h1, h2] = hosts(&network, &[1, 2])[..] else { panic!() };
    let route = route(&network, h1, h2, 0);
    let (up, min) = (route.hops[0].link, Rate::from_bits_per_second(1_000));
    let pair = |is_timed| ReservedShare::Pair { min, route: route.clone(), is_timed };
    ledger.reserve_share(pair(true)).unwrap();
    let mut pairs = 1;
    while ledger.share_denial(&pair(false)).is_none() {
        ledger.reserve_share(pair(false)).unwrap();
        pairs += 1;
    }
    let wait = |pairs| ledger.shared_link(up).unwrap().longest_wait(&ledger.residual(up), pairs).unwrap();
    assert!(wait(pairs) <= BUDGET && wait(pairs + 1) > BUDGET, "{pairs} pairs");
    assert!(pairs > 10, "{pairs}");
    let denied = ledger.share_denial(&pair(false));
    assert_eq!(denied, Some(ShareDenial::Delay { link: up, bound: wait(pairs + 1), budget: BUDGET }));
}

#[test]
fn a_closed_link_has_no_capacity_left() {
    let network = network();
    let mut ledger = ledger(&network);
    let ends = hosts(&network, &[1, 5]);
    let route = route(&network, ends[0], ends[1], 0);
    let up = route.hops[1].link;
    ledger.close(up);
    assert_eq!(ledger.left_for(up, Class::Guaranteed), Rate::ZERO);
    let pair = ReservedShare::Pair { min: Rate::from_mbit(1), route, is_timed: false };
    assert_eq!(ledger.share_denial(&pair), Some(ShareDenial::Closed(up)));
    assert_eq!(ledger.share_denial_once_open(&pair), None);
    assert!(ledger.is_parted(&pair));
    ledger.open(up);
    assert_eq!(ledger.share_denial(&pair), None);
}

/// A rack has two links up: 500 of 1000 Mbit/s on each. When one is closed, all 1000 count on the other and on the
/// closed one; both directions alike. With the second closed as well the rack is cut off.
#[test]
fn traffic_across_a_cut_uses_its_open_links() {
    let network = network();
    let mut ledger = ledger(&network);
    let members = hosts(&network, &[1, 5, 9]);
    let share = hose(members.clone(), 1_000, PathSpread::AllPaths);
    ledger.reserve_share(share.clone()).unwrap();
    let before = ledger.clone();
    assert!(ledger.is_proven(&share));
    let tor = network.link(network.links_from(members[0])[0]).to;
    let ups = network
        .links_from(tor)
        .iter()
        .copied()
        .filter(|&link| network.links_to_switches(network.link(link).to).len() == 4);
    let [one, two] = ups.collect::<Vec<_>>()[..] else { panic!("two links up") };
    let down = network.reverse(two).unwrap();
    ledger.close(one);
    let mbit = |ledger: &Ledger, link| ledger.promised_to(link, Class::Guaranteed).bits_per_second() / 1_000_000;
    assert_eq!([one, two, down].map(|link| mbit(&ledger, link)), [500, 1_000, 500], "what enters still has two links");
    assert!(ledger.is_proven(&share), "it splits evenly over what is open");
    assert_eq!(ledger.share_denial(&share), None, "one link is enough");
    assert!(!ledger.is_parted(&share));
    // Of 5.1 Gbit/s 4.1 are left: in two steps, as with both links 8.2 would be.
    assert_eq!(ledger.share_denial(&hose(members.clone(), 4_100, PathSpread::AllPaths)), None);
    assert!(ledger.share_denial(&hose(members.clone(), 4_101, PathSpread::AllPaths)).is_some());
    ledger.close(two);
    assert!(ledger.is_parted(&share));
    assert_eq!(ledger.share_denial(&share), Some(ShareDenial::Closed(one)));
    let weights = ReservedShare::Objective { weight: Rate::from_mbit(1), members };
    assert_eq!(ledger.share_denial(&weights), Some(ShareDenial::Closed(one)));
    ledger.open(one);
    ledger.open(two);
    assert!(ledger == before, "every bit is as it was");
}

/// Promises over two links can be more than one of them has.
#[test]
fn closing_a_link_can_leave_too_little_capacity_on_the_others() {
    let network = network();
    let mut ledger = ledger(&network);
    let members = hosts(&network, &[1, 2, 5, 6]);
    ledger.reserve_share(hose(members, 3_000, PathSpread::AllPaths)).unwrap();
    let tor = network.link(network.links_from(hosts(&network, &[1])[0])[0]).to;
    let all = || network.links().map(|(link, _)| link);
    assert!(all().all(|link| ledger.keeps_shares(link)));
    let up = network
        .links_from(tor)
        .iter()
        .copied()
        .find(|&link| network.links_to_switches(network.link(link).to).len() == 4);
    ledger.close(up.unwrap());
    let broken: Vec<_> = all().filter(|&link| !ledger.is_closed(link) && !ledger.keeps_shares(link)).collect();
    // The other link up from the rack, and that down into the other rack from the same plane of cores: 6 of 5.1 Gbit/s.
    assert_eq!(broken.len(), 2);
}

/// The load of every link if everything is split evenly over all shortest paths, hop by hop.
fn even_split(network: &Network, matrix: &[(NodeId, NodeId, f64)]) -> Vec<f64> {
    let mut load = vec![0.0; network.links().len()];
    for &(from, to, rate) in matrix {
        let distances = HopDistances::to(network, to);
        let mut at = vec![(from, rate)];
        while let Some((node, rate)) = at.pop() {
            if node == to {
                continue;
            }
            let nearer =
                |link: &&LinkId| distances.from(network.link(**link).to).map(|hops| hops + 1) == distances.from(node);
            let links: Vec<LinkId> = network.links_from(node).iter().filter(nearer).copied().collect();
            for link in &links {
                load[link.index()] += rate / links.len() as f64;
                at.push((network.link(*link).to, rate / links.len() as f64));
            }
        }
    }
    load
}

/// A step of a random life.
#[derive(Clone, Debug)]
enum Step {
    Pair(usize, usize, u64, bool),
    Hose(Vec<usize>, u64, bool, bool),
    Objective(Vec<usize>, u64),
    Latency(usize, usize, u64),
    End(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let members =
        || proptest::collection::btree_set(1..17usize, 2..7).prop_map(|set| set.into_iter().collect::<Vec<_>>());
    prop_oneof![
        (1..17usize, 1..17usize, 1..2_000u64, any::<bool>())
            .prop_map(|(a, b, mbit, timed)| Step::Pair(a, b, mbit, timed)),
        (members(), 1..2_000u64, any::<bool>(), any::<bool>())
            .prop_map(|(m, mbit, one, t)| Step::Hose(m, mbit, one, t)),
        (members(), 1..500u64).prop_map(|(members, mbit)| Step::Objective(members, mbit)),
        (1..17usize, 1..17usize, 1..500u64).prop_map(|(a, b, mbit)| Step::Latency(a, b, mbit)),
        (0..20usize).prop_map(Step::End),
    ]
}

fn share_of(network: &Network, step: &Step, choice: usize) -> Option<ReservedShare> {
    match step {
        Step::Pair(a, b, mbit, is_timed) if a != b => {
            let ends = hosts(network, &[*a, *b]);
            let route = route(network, ends[0], ends[1], choice);
            Some(ReservedShare::Pair { min: Rate::from_mbit(*mbit), route, is_timed: *is_timed })
        }
        Step::Hose(members, mbit, one, is_timed) => {
            let spread = if *one { PathSpread::OnePath } else { PathSpread::AllPaths };
            let members = hosts(network, members);
            Some(ReservedShare::Hose { min: Rate::from_mbit(*mbit), members, spread, is_timed: *is_timed })
        }
        Step::Objective(members, mbit) => {
            Some(ReservedShare::Objective { weight: Rate::from_mbit(*mbit), members: hosts(network, members) })
        }
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// After any life a ledger is bit for bit what the remaining contracts alone would make it, and keeps everything.
    #[test]
    fn releasing_a_reservation_restores_every_bit(steps in proptest::collection::vec(step(), 1..60)) {
        let network = network();
        let mut ledger = ledger(&network);
        let (mut shares, mut flows): (Vec<ShareId>, Vec<_>) = (Vec::new(), Vec::new());
        for (choice, step) in steps.iter().enumerate() {
            match step {
                Step::End(at) if at % 2 == 0 && !shares.is_empty() => {
                    let share = shares.swap_remove(at % shares.len());
                    prop_assert!(ledger.release_share(share).is_some());
                    prop_assert!(ledger.release_share(share).is_none());
                }
                Step::End(at) if !flows.is_empty() => {
                    ledger.release(flows.swap_remove(at % flows.len()));
                }
                Step::Latency(a, b, mbit) if a != b => {
                    let ends = hosts(&network, &[*a, *b]);
                    let hops = route(&network, ends[0], ends[1], choice).hops;
                    let hops: Vec<Hop> = hops.into_iter().map(|hop| Hop { queue: 0, ..hop }).collect();
                    let demand = BucketDemand { rate: Rate::from_mbit(*mbit), burst: Bytes::new(3_000), max_frame: None };
                    let (mut burst, mut input, mut fits) = (demand.burst.into(), PortInput::LOCAL, true);
                    for hop in &hops {
                        fits &= ledger.fits(hop.link, 0, input, demand.rate, burst);
                        burst += demand.rate * ledger.budget(*hop);
                        input = PortInput::link(hop.link);
                    }
                    if fits {
                        flows.push(ledger.reserve(demand, Route { hops }));
                    }
                }
                _ => {
                    let Some(share) = share_of(&network, step, choice) else { continue };
                    if ledger.share_denial(&share).is_none() {
                        shares.push(ledger.reserve_share(share).unwrap());
                    }
                }
            }
        }
        for (link, description) in network.links() {
            prop_assert!(ledger.keeps(link), "{}", description.name);
        }
        let mut again = self::ledger(&network);
        for (_, share) in ledger.shares().collect::<Vec<_>>().into_iter().rev() {
            again.reserve_share(share.clone());
        }
        for (_, reservation) in ledger.flows() {
            again.reserve(reservation.demand, reservation.route.clone());
        }
        prop_assert_eq!(&ledger, &again);
        for (link, _) in network.links() {
            prop_assert_eq!(ledger.spare(link), again.spare(link));
        }
        for share in shares {
            ledger.release_share(share);
        }
        for flow in flows {
            ledger.release(flow);
        }
        prop_assert_eq!(&ledger, &self::ledger(&network));
    }

    /// With any traffic of the members of hoses within their minima, even splitting keeps every link within the load
    /// that was counted there.
    #[test]
    fn even_splitting_stays_within_the_charge(
        hoses in proptest::collection::vec((proptest::collection::btree_set(1..17usize, 2..9), 1..1_000u64), 1..5),
        seed in 0..u64::MAX,
    ) {
        let network = network();
        let mut ledger = ledger(&network);
        let mut matrix = Vec::new();
        let mut random = Random::new(seed);
        for (members, mbit) in &hoses {
            let members = hosts(&network, &members.iter().copied().collect::<Vec<_>>());
            ledger.reserve_share(hose(members.clone(), *mbit, PathSpread::AllPaths)).unwrap();
            // Pairs in random order take the whole rest of sender and receiver: the corners of the traffic that a
            // hose allows.
            let mut left = vec![(*mbit as f64, *mbit as f64); members.len()];
            for _ in 0..40 {
                let (a, b) = (random.index(members.len()), random.index(members.len()));
                let rate = left[a].0.min(left[b].1);
                if a != b && rate > 0.0 {
                    left[a].0 -= rate;
                    left[b].1 -= rate;
                    matrix.push((members[a], members[b], rate * 1e6));
                }
            }
        }
        for (link, load) in even_split(&network, &matrix).into_iter().enumerate() {
            let counted = ledger.promised_to(LinkId(link as u32), Class::Guaranteed).bits_per_second() as f64;
            prop_assert!(load <= counted + 1.0, "{}: {load} of {counted}", network.link(LinkId(link as u32)).name);
        }
    }
}
