//! The upper bound of admission: cases that are clear without a program.

use wayleave_calculus::lp::{CapacityLink, MAX_VARIABLES, RequestedRate, UpperBoundError, admitted_upper_bound};
use wayleave_calculus::rational::{ratio, whole};
use wayleave_repo_checks::Random;
use wayleave_units::Rate;

fn both(a: usize, b: usize, mbit: u64) -> [CapacityLink; 2] {
    let capacity = Rate::from_mbit(mbit);
    [CapacityLink { from: a, to: b, capacity }, CapacityLink { from: b, to: a, capacity }]
}

fn demand(source: usize, sink: usize, mbit: u64) -> RequestedRate {
    RequestedRate { source, sink, rate: Rate::from_mbit(mbit), weight: 1 }
}

/// Hosts 0 and 1 at switch 2, hosts 4 and 5 at switch 3, two routes between the switches: over 6 and over 7.
fn two_paths() -> Vec<CapacityLink> {
    [(0, 2, 100), (1, 2, 100), (4, 3, 100), (5, 3, 100), (2, 6, 60), (6, 3, 60), (2, 7, 30), (7, 3, 50)]
        .into_iter()
        .flat_map(|(a, b, mbit)| both(a, b, mbit))
        .collect()
}

#[test]
fn both_paths_are_used_and_the_narrowest_links_count() {
    // 60 + 30 between the switches for 100 from each of two hosts.
    let bound = admitted_upper_bound(8, &two_paths(), &[demand(0, 4, 100), demand(1, 5, 100)]).unwrap();
    assert_eq!(bound.weight, ratio(90, 100).unwrap());
    assert!(!bound.is_loose);
    // Beside them, traffic of the other direction and of one switch: 0 -> 1 has what its links have left.
    let demands = [demand(0, 4, 90), demand(4, 0, 10), demand(0, 1, 20)];
    assert_eq!(admitted_upper_bound(8, &two_paths(), &demands).unwrap().weight, whole(2) + ratio(8, 9).unwrap());
}

#[test]
fn a_link_of_a_host_bounds_its_demands_in_sum() {
    let demands = vec![demand(0, 1, 7); 30];
    assert_eq!(admitted_upper_bound(8, &two_paths(), &demands).unwrap().weight, ratio(100, 7).unwrap());
}

#[test]
fn demands_without_a_path_are_not_admitted() {
    let links = both(0, 1, 10);
    let demands = [demand(0, 1, 5), demand(0, 2, 5)];
    assert_eq!(admitted_upper_bound(3, &links, &demands).unwrap().weight, whole(1));
}

#[test]
fn too_large_or_unknown_input_is_an_error() {
    assert_eq!(
        admitted_upper_bound(1, &[], &[demand(0, 3, 1)]),
        Err(UpperBoundError::UnknownNode { node: 3, nodes: 1 })
    );
    let ring: Vec<CapacityLink> = (0..200).flat_map(|node| both(node, (node + 1) % 200, 10)).collect();
    let demands: Vec<RequestedRate> = (1..200).map(|sink| demand(0, sink, 1)).collect();
    let error = admitted_upper_bound(200, &ring, &demands).unwrap_err();
    assert!(matches!(error, UpperBoundError::TooLarge { variables } if variables > MAX_VARIABLES));
    assert!(error.to_string().contains("are solved at most"));
}

/// A fat tree of k = 4 with 40 hosts under each edge switch and two thousand demands between random hosts: no more than the
/// links of edge switches upwards carry.
#[test]
fn a_fat_tree_with_thousands_of_demands_is_solved() {
    let (cores, pods, hosts) = (4, 4, 40);
    let (edge, aggregation) = (|pod: usize, n: usize| 4 + 4 * pod + n, |pod: usize, n: usize| 4 + 4 * pod + 2 + n);
    let mut links = Vec::new();
    let mut ends = Vec::new();
    for pod in 0..pods {
        for n in 0..2 {
            links.extend((0..2).flat_map(|core| both(aggregation(pod, n), 2 * n + core, 1000)));
            links.extend((0..2).flat_map(|up| both(edge(pod, n), aggregation(pod, up), 1000)));
            for _ in 0..hosts {
                let host = cores + 4 * pods + ends.len();
                ends.push(host);
                links.extend(both(host, edge(pod, n), 1000));
            }
        }
    }
    let mut random = Random::new(1);
    let demands: Vec<RequestedRate> = (0..2000)
        .map(|_| demand(ends[random.index(ends.len())], ends[random.index(ends.len())], [5, 10, 20][random.index(3)]))
        .collect();
    let bound = admitted_upper_bound(cores + 4 * pods + ends.len(), &links, &demands).unwrap();
    assert!(!bound.is_loose);
    assert!(bound.weight < whole(2000) && bound.weight > whole(1000), "{}", bound.weight);
}
