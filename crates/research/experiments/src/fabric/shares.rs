//! Comparison of divisions with their shares: the shares that the weights of their tunnels give on the tunnels'
//! paths.
//!
//! SCC promises a part of every full link, by the weights of the tunnels on it. The resulting share of a division in
//! a network depends on all links together: the weighted max-min allocation, in which each tunnel has a full link
//! where no other tunnel has more for its weight. A tunnel divides its traffic over its paths as in the run. The
//! capacity of a link for divisions is their traffic in the run plus the idle capacity.

use std::collections::BTreeMap;

use wayleave_sim::{CarriedBytes, LinkOutcome};
use wayleave_topology::{LinkId, Network, NodeId};

/// A tunnel: what a division sends from one host to another.
#[derive(Clone, Debug, Default)]
struct Tunnel {
    division: usize,
    weight: f64,
    bytes: f64,
    /// Share of its carried traffic on each link.
    parts: BTreeMap<LinkId, f64>,
}

/// Carried and due traffic of each division, in bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Shares {
    pub(super) got: Vec<f64>,
    pub(super) due: Vec<f64>,
}

/// Returns the carried and due traffic of divisions of these names. `seconds` is the counted time.
pub(super) fn shares(
    divisions: &[&str],
    carried: &[CarriedBytes],
    (network, links): (&Network, &[LinkOutcome]),
    seconds: f64,
) -> Shares {
    let mut tunnels: BTreeMap<(usize, NodeId, NodeId), Tunnel> = BTreeMap::new();
    for path in carried {
        let own = |name: &&str| path.service.as_deref() == Some(name);
        let Some(division) = divisions.iter().position(own) else { continue };
        let tunnel = tunnels.entry((division, path.from, path.to)).or_default();
        let bytes = path.bytes.get() as f64;
        (tunnel.division, tunnel.weight) = (division, path.weight as f64);
        tunnel.bytes += bytes;
        path.links.iter().for_each(|&link| *tunnel.parts.entry(link).or_default() += bytes);
    }
    let mut tunnels: Vec<Tunnel> = tunnels.into_values().collect();
    let mut room: BTreeMap<LinkId, f64> = BTreeMap::new();
    for tunnel in &mut tunnels {
        for (&link, part) in &mut tunnel.parts {
            *room.entry(link).or_default() += *part;
            *part /= tunnel.bytes;
        }
    }
    for link in links {
        if let Some(room) = room.get_mut(&link.link) {
            let line = network.link(link.link).rate.bits_per_second() as f64 / 8.0 * seconds;
            *room += line * (1.0 - link.utilisation).max(0.0);
        }
    }
    let rates = max_min(&tunnels, room);
    let mut shares = Shares { got: vec![0.0; divisions.len()], due: vec![0.0; divisions.len()] };
    for (tunnel, rate) in tunnels.iter().zip(rates) {
        shares.got[tunnel.division] += tunnel.bytes;
        shares.due[tunnel.division] += rate;
    }
    shares
}

/// All rise together, by their weights, until a link is full; who is on it stays as it is.
fn max_min(tunnels: &[Tunnel], mut room: BTreeMap<LinkId, f64>) -> Vec<f64> {
    let mut rates = vec![0.0; tunnels.len()];
    let mut rising: Vec<usize> = (0..tunnels.len()).collect();
    while !rising.is_empty() {
        let mut load: BTreeMap<LinkId, f64> = BTreeMap::new();
        for &at in &rising {
            for (&link, part) in &tunnels[at].parts {
                *load.entry(link).or_default() += part * tunnels[at].weight;
            }
        }
        let by = |(link, load): (&LinkId, &f64)| room.get(link).map(|room| (room / load, *link));
        let Some((step, full)) = load.iter().filter_map(by).min_by(|one, other| one.0.total_cmp(&other.0)) else {
            break;
        };
        let step = step.max(0.0);
        rising.iter().for_each(|&at| rates[at] += step * tunnels[at].weight);
        for (link, load) in &load {
            room.entry(*link).and_modify(|room| *room -= step * load);
        }
        rising.retain(|&at| !tunnels[at].parts.contains_key(&full));
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_topology::builders::{Cabling, build};
    use wayleave_units::{Bytes, Rate};

    fn carried(service: &str, ends: (NodeId, NodeId), links: &[LinkId], bytes: u64, weight: u64) -> CarriedBytes {
        let service = Some(service.to_owned());
        CarriedBytes { from: ends.0, to: ends.1, service, links: links.to_vec(), bytes: Bytes::new(bytes), weight }
    }

    /// Two tunnels with weights of 3 and 1 share the line to a receiver; a third with weight 1 shares the line of the second's sender.
    #[test]
    fn a_tunnel_gets_its_part_of_its_bottleneck_and_others_the_remainder() {
        let network = build::star(4, Cabling { rate: Rate::from_mbit(8), ..Cabling::default() }).unwrap();
        let hosts: Vec<NodeId> = network.hosts().collect();
        let up = |host: usize| network.links_from(hosts[host])[0];
        let down = |host: usize| network.links_into(hosts[host])[0];
        // In a second each line carries 1,000,000 B. It was divided equally.
        let all = [
            carried("a", (hosts[0], hosts[2]), &[up(0), down(2)], 500_000, 3),
            carried("b", (hosts[1], hosts[2]), &[up(1), down(2)], 500_000, 1),
            carried("c", (hosts[1], hosts[3]), &[up(1), down(3)], 500_000, 1),
        ];
        let used = |link: LinkId| if link == up(1) || link == down(2) { 1.0 } else { 0.5 };
        let link = |(id, _)| LinkOutcome {
            link: id,
            sent: Bytes::ZERO,
            utilisation: used(id),
            lost_silently: 0,
            backlog: None,
        };
        let links: Vec<LinkOutcome> = network.links().map(link).collect();
        let shares = shares(&["a", "b", "c"], &all, (&network, &links), 1.0);
        assert_eq!(shares.got, [500_000.0; 3]);
        let due: Vec<u64> = shares.due.iter().map(|bytes| bytes.round() as u64).collect();
        assert_eq!(due, [750_000, 250_000, 750_000]);
    }
}
