//! Pairs of hosts that a traffic stands for.

use rand::Rng;
use wayleave_scenarios::Ends;
use wayleave_topology::NodeId;

use crate::random;

/// Who sends to whom.
#[derive(Clone, Debug)]
pub(crate) enum Pairs {
    /// These.
    Fixed(Vec<(NodeId, NodeId)>),
    /// One of the first to another of the second, drawn anew each time.
    Drawn(Vec<NodeId>, Vec<NodeId>),
}

impl Pairs {
    /// Permutations are drawn once.
    pub(crate) fn new(ends: &Ends, rng: &mut impl Rng) -> Self {
        match ends {
            Ends::Pairs(pairs) => Self::Fixed(pairs.clone()),
            Ends::Permutation(hosts) => Self::Fixed(derangement(hosts, rng)),
            Ends::AllToAll(from, to) => {
                let all = from.iter().flat_map(|&from| to.iter().map(move |&to| (from, to)));
                Self::Fixed(all.filter(|(from, to)| from != to).collect())
            }
            Ends::Random(from, to) => Self::Drawn(from.clone(), to.clone()),
        }
    }

    /// One pair.
    pub(crate) fn draw(&self, rng: &mut impl Rng) -> Option<(NodeId, NodeId)> {
        match self {
            Self::Fixed(pairs) if pairs.is_empty() => None,
            Self::Fixed(pairs) => Some(pairs[random::below(rng, pairs.len() as u32) as usize]),
            Self::Drawn(from, to) => loop {
                if !from.iter().any(|from| to.iter().any(|to| from != to)) {
                    return None;
                }
                let from = from[random::below(rng, from.len() as u32) as usize];
                let to = to[random::below(rng, to.len() as u32) as usize];
                if from != to {
                    return Some((from, to));
                }
            },
        }
    }

    /// All pairs that are known from the beginning; one that is drawn where they are not.
    pub(crate) fn all(&self, rng: &mut impl Rng) -> Vec<(NodeId, NodeId)> {
        match self {
            Self::Fixed(pairs) => pairs.clone(),
            Self::Drawn(..) => self.draw(rng).into_iter().collect(),
        }
    }

    /// Everybody who can send.
    pub(crate) fn senders(&self) -> Vec<NodeId> {
        let mut senders: Vec<NodeId> = match self {
            Self::Fixed(pairs) => pairs.iter().map(|pair| pair.0).collect(),
            Self::Drawn(from, _) => from.clone(),
        };
        senders.sort_unstable();
        senders.dedup();
        senders
    }
}

/// One random cycle through all hosts (Sattolo's algorithm): nobody sends to himself.
fn derangement(hosts: &[NodeId], rng: &mut impl Rng) -> Vec<(NodeId, NodeId)> {
    let mut to = hosts.to_vec();
    for last in (1..to.len()).rev() {
        to.swap(last, random::below(rng, last as u32) as usize);
    }
    hosts.iter().copied().zip(to).filter(|(from, to)| from != to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_a_permutation_everybody_sends_to_one_other_and_receives_from_one() {
        for seed in 0..20 {
            let hosts: Vec<NodeId> = (0..16).map(NodeId).collect();
            let pairs = Pairs::new(&Ends::Permutation(hosts.clone()), &mut random::generator(seed, 0));
            let Pairs::Fixed(pairs) = pairs else { unreachable!() };
            assert!(pairs.iter().all(|(from, to)| from != to), "seed {seed}");
            let mut receivers: Vec<NodeId> = pairs.iter().map(|pair| pair.1).collect();
            receivers.sort_unstable();
            assert_eq!(receivers, hosts, "seed {seed}");
        }
    }
}
