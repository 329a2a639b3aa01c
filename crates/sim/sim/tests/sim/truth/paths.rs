//! Paths of equal length: their discovery, and the spreading of traffic over them.

use std::collections::HashSet;
use std::sync::Arc;

use wayleave_scenarios::{Buffering, Discipline, FlowArrivals, FlowEndpoints, FlowSizes, Routing, Scenario, Traffic};
use wayleave_schemes::path::flowlet;
use wayleave_schemes::path::presto;
use wayleave_sim::Outcome;
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{LinkId, Network, NodeId};
use wayleave_units::{Bytes, Rate, Time};

use crate::truth::networks::{finished, fixed_window, flow, listed, ports, run};

fn fat_tree() -> (Arc<Network>, Vec<NodeId>) {
    let cabling = Cabling { rate: Rate::from_gbit(10), propagation: Time::from_nanos(500), ..Cabling::default() };
    let network = Arc::new(build::fat_tree(&FatTree { k: 4, cabling, ..FatTree::default() }).unwrap());
    let hosts = network.hosts().collect();
    (network, hosts)
}

/// Returns the bytes sent to each core over each link that enters one.
fn into_cores(network: &Network, outcome: &Outcome) -> Vec<u64> {
    let is_core = |link: LinkId| network.node(network.link(link).to).name.starts_with("core");
    outcome.links.iter().filter(|link| is_core(link.link)).map(|link| link.sent.get()).collect()
}

fn scenario(routing: Routing, traffic: Vec<Traffic>) -> Scenario {
    let (network, _) = fat_tree();
    let mut scenario = Scenario::new("paths", network, Time::from_millis(20));
    scenario.routing = routing;
    scenario.switches = ports(Discipline::Fifo, Buffering::Unlimited);
    scenario.transport = fixed_window(20);
    scenario.traffic = traffic;
    scenario
}

/// Catches paths that are not found: all pairs of hosts in two pods send one small flow, and all sixteen links into
/// the cores of a k = 4 fat tree carry some of them.
#[test]
fn flows_between_pods_use_every_core_link() {
    let (network, hosts) = fat_tree();
    let all = FlowEndpoints::AllToAll(hosts.clone(), hosts);
    let sizes = FlowSizes::Fixed(Bytes::new(10_000));
    let outcome = run(&scenario(Routing::ecmp(), vec![Traffic::flows("all", all, FlowArrivals::Once, sizes)]), 1);
    let cores = into_cores(&network, &outcome);
    assert_eq!((cores.len(), finished(&outcome, 0)), (16, 240));
    assert!(cores.iter().all(|&bytes| bytes > 0), "{cores:?}");
}

/// Catches a hash that sends all flows over the same path. Of a permutation between pods, whose sixteen flows draw
/// from four paths each, several links into cores are used, and mostly more than half.
#[test]
fn a_permutation_spreads_over_the_cores() {
    let (network, hosts) = fat_tree();
    let mut used = 0;
    for seed in 0..10 {
        let sizes = FlowSizes::Fixed(Bytes::new(1_000_000));
        let traffic = Traffic::flows("p", FlowEndpoints::Permutation(hosts.clone()), FlowArrivals::Once, sizes);
        let outcome = run(&scenario(Routing::ecmp(), vec![traffic]), seed);
        assert_eq!(finished(&outcome, 0), 16, "seed {seed}");
        // Data is 1 MB per flow; acknowledgements are 5 % of that.
        let busy = into_cores(&network, &outcome).iter().filter(|&&bytes| bytes > 500_000).count();
        assert!(busy >= 4, "seed {seed}: only {busy} of 16 links");
        used += busy;
    }
    // About thirteen flows cross cores; thirteen balls into sixteen boxes fill nine.
    assert!((60..=120).contains(&used), "{used} of 160");
}

/// Catches flows whose packets change paths: one flow crosses exactly one link into a core in each direction, in
/// every routing that keeps it on a path. Its packets arrive in order (nothing is retransmitted).
#[test]
fn a_flow_stays_on_one_path() {
    let (network, hosts) = fat_tree();
    let gap = Time::from_millis(1);
    for routing in [Routing::ecmp(), Routing::Flowlet(flowlet::Params { gap })] {
        let outcome = run(&scenario(routing.clone(), vec![listed("f", &[(0, hosts[0], hosts[15], 3_000_000)])]), 1);
        let data = into_cores(&network, &outcome).into_iter().filter(|&bytes| bytes > 1_000_000).count();
        assert_eq!((data, flow(&outcome, 0).again, finished(&outcome, 0)), (1, 0, 1), "{routing:?}");
    }
}

/// Catches two flows between the same hosts that always share a path: forty of them use all four.
#[test]
fn flows_of_one_pair_take_different_paths() {
    let (network, hosts) = fat_tree();
    let flows: Vec<_> = (0..40).map(|index| (index * 200_000, hosts[0], hosts[15], 100_000)).collect();
    let outcome = run(&scenario(Routing::ecmp(), vec![listed("f", &flows)]), 1);
    // 4.2 MB of data; acknowledgements are 0.23 MB.
    let data = into_cores(&network, &outcome).into_iter().filter(|&bytes| bytes > 300_000).count();
    assert_eq!((data, finished(&outcome, 0)), (4, 40));
}

/// Catches paths that are drawn unevenly: with a path for each packet, the four links out of a pod that lead to cores
/// carry the same within a few per cent. 8,000 segments draw from four: a standard deviation of 2 %.
#[test]
fn packet_spraying_balances_the_cores() {
    let (network, hosts) = fat_tree();
    let mut scenario = scenario(Routing::spraying(), vec![listed("f", &[(0, hosts[0], hosts[15], 8_000 * 1_460)])]);
    scenario.transport = fixed_window(20);
    let outcome = run(&scenario, 1);
    let pod = network.node(hosts[0]).name.clone();
    assert_eq!(pod, "h1");
    let leaves_pod = |link: &LinkId| network.node(network.link(*link).from).name.starts_with("pod1-agg");
    let is_core = |link: &LinkId| network.node(network.link(*link).to).name.starts_with("core");
    let links: HashSet<LinkId> = network.links().map(|(id, _)| id).filter(|id| leaves_pod(id) && is_core(id)).collect();
    let bytes: Vec<u64> =
        outcome.links.iter().filter(|link| links.contains(&link.link)).map(|link| link.sent.get()).collect();
    let mean = bytes.iter().sum::<u64>() as f64 / 4.0;
    assert_eq!(bytes.len(), 4);
    assert!(bytes.iter().all(|&bytes| (bytes as f64 / mean - 1.0).abs() < 0.08), "{bytes:?}");
}

/// Presto (SIGCOMM 2015): cells use all paths in turn, and the receiver's buffer hides that they overtake each other.
/// Catches cells that are not balanced, and reordering that reaches the transport: nothing is lost here, so nothing
/// is retransmitted.
#[test]
fn flowcells_use_all_paths_and_arrive_in_order() {
    let (network, hosts) = fat_tree();
    let size = Bytes::new(64 * 1024);
    let flows = [(0, hosts[0], hosts[15], 6_000_000), (0, hosts[1], hosts[14], 6_000_000)];
    let outcome = run(
        &scenario(Routing::Flowcells(presto::Spreading { size, path_timeout: None }), vec![listed("f", &flows)]),
        1,
    );
    let data: Vec<u64> = into_cores(&network, &outcome).into_iter().filter(|&bytes| bytes > 500_000).collect();
    assert_eq!((data.len(), finished(&outcome, 0)), (4, 2));
    let mean = data.iter().sum::<u64>() as f64 / 4.0;
    assert!(data.iter().all(|&bytes| (bytes as f64 / mean - 1.0).abs() < 0.06), "{data:?}");
    assert_eq!((flow(&outcome, 0).again, flow(&outcome, 0).duplicates, flow(&outcome, 0).timeouts), (0, 0, 0));
}
