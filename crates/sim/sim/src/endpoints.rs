//! Pairs of endpoints of a traffic.

use rand::Rng;
use wayleave_scenarios::{Endpoint, FlowEndpoints};
use wayleave_topology::NodeId;

use crate::random;

/// Pairs of senders and receivers.
#[derive(Clone, Debug)]
pub(crate) enum Pairs {
    /// These.
    Fixed(Vec<(Endpoint, Endpoint)>),
    /// One of the first to one of the second at another host, drawn again each time.
    Drawn(Vec<Endpoint>, Vec<Endpoint>),
}

impl Pairs {
    /// Permutations are drawn once.
    pub(crate) fn new(ends: &FlowEndpoints<Endpoint>, rng: &mut impl Rng) -> Self {
        match ends {
            FlowEndpoints::Pairs(pairs) => Self::Fixed(pairs.clone()),
            FlowEndpoints::Permutation(hosts) => Self::Fixed(derangement(hosts, rng)),
            FlowEndpoints::AllToAll(from, to) => {
                let all = from.iter().flat_map(|&from| to.iter().map(move |&to| (from, to)));
                Self::Fixed(all.filter(|(from, to)| from.host != to.host).collect())
            }
            FlowEndpoints::Random(from, to) => Self::Drawn(from.clone(), to.clone()),
        }
    }

    /// One pair.
    pub(crate) fn draw(&self, rng: &mut impl Rng) -> Option<(Endpoint, Endpoint)> {
        match self {
            Self::Fixed(pairs) if pairs.is_empty() => None,
            Self::Fixed(pairs) => Some(pairs[random::below(rng, pairs.len() as u32) as usize]),
            Self::Drawn(from, to) => loop {
                if !from.iter().any(|from| to.iter().any(|to| from.host != to.host)) {
                    return None;
                }
                let from = from[random::below(rng, from.len() as u32) as usize];
                let to = to[random::below(rng, to.len() as u32) as usize];
                if from.host != to.host {
                    return Some((from, to));
                }
            },
        }
    }

    /// One of the receivers at another host, for one sender.
    pub(crate) fn draw_from(&self, from: Endpoint, rng: &mut impl Rng) -> Option<(Endpoint, Endpoint)> {
        let Self::Drawn(_, to) = self else { return None };
        let others: Vec<Endpoint> = to.iter().filter(|to| to.host != from.host).copied().collect();
        if others.is_empty() {
            return None;
        }
        Some((from, others[random::below(rng, others.len() as u32) as usize]))
    }

    /// All pairs that are known from the beginning; one that is drawn where they are not.
    pub(crate) fn all(&self, rng: &mut impl Rng) -> Vec<(Endpoint, Endpoint)> {
        match self {
            Self::Fixed(pairs) => pairs.clone(),
            Self::Drawn(..) => self.draw(rng).into_iter().collect(),
        }
    }

    /// Returns the hosts of all possible senders.
    pub(crate) fn senders(&self) -> Vec<NodeId> {
        let mut senders: Vec<NodeId> = match self {
            Self::Fixed(pairs) => pairs.iter().map(|pair| pair.0.host).collect(),
            Self::Drawn(from, _) => from.iter().map(|end| end.host).collect(),
        };
        senders.sort_unstable();
        senders.dedup();
        senders
    }
}

/// Returns one random cycle through all hosts (Sattolo's algorithm): no host sends to itself.
fn derangement(hosts: &[Endpoint], rng: &mut impl Rng) -> Vec<(Endpoint, Endpoint)> {
    let mut to = hosts.to_vec();
    for last in (1..to.len()).rev() {
        to.swap(last, random::below(rng, last as u32) as usize);
    }
    hosts.iter().copied().zip(to).filter(|(from, to)| from.host != to.host).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_permutation_every_host_sends_to_one_other_and_receives_from_one() {
        for seed in 0..20 {
            let hosts: Vec<Endpoint> = (0..16).map(|host| NodeId(host).into()).collect();
            let pairs = Pairs::new(&FlowEndpoints::Permutation(hosts.clone()), &mut random::generator(seed, 0));
            let Pairs::Fixed(pairs) = pairs else { unreachable!() };
            assert!(pairs.iter().all(|(from, to)| from != to), "seed {seed}");
            let mut receivers: Vec<Endpoint> = pairs.iter().map(|pair| pair.1).collect();
            receivers.sort_unstable();
            assert_eq!(receivers, hosts, "seed {seed}");
        }
    }
}
