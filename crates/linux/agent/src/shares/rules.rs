//! From a contract of another kind than latency to the rules of its pairs that begin at a host.

use wayleave_dataplane::switch::queue_of;
use wayleave_protocol::agent::{Rule, ShareRule};
use wayleave_protocol::contract::{Hop, Kind};
use wayleave_scheme_api::Share;
use wayleave_schemes::host::eyeq::{LineParams, Params};
use wayleave_topology::{Class, LinkId, Network, NodeId};
use wayleave_units::Rate;

use super::division::{MemberTerms, PairRate};
use crate::best_effort::Routes;

/// Numbers of rules that belong to pairs: those of contracts never have this bit, so latency contracts come first where both match.
const PAIR: u64 = 1 << 63;
/// Numbers of rules of best effort: rules of all other contracts come first where both match.
const LAST: u64 = 1 << 62;
/// Maximum number of members that can be distinguished.
const MEMBERS: u32 = 16;
/// No delay is promised.
const NO_BOUND: u64 = u64::MAX;

/// Returns the number of a pair's rule: of this contract, to the member at this index. `None` if there are no more
/// numbers, or if the contract needs no rules.
pub fn rule_number(contract: &ShareRule, member: usize) -> Option<u64> {
    let order = if class_of(contract)? == Class::BestEffort { LAST } else { 0 };
    let fits = contract.serial < 1 << (62 - MEMBERS) && member < 1 << MEMBERS;
    fits.then_some(PAIR | order | contract.serial << MEMBERS | member as u64)
}

/// The contract to whose pair a rule belongs; `None` if it is a latency contract's.
pub fn contract_of(rule: u64) -> Option<u64> {
    (rule & PAIR != 0).then_some((rule & !(PAIR | LAST)) >> MEMBERS)
}

/// Returns the class whose queues a contract's packets use; `None` for best effort without a maximum, which needs no
/// rules: packets without a rule are best effort.
pub fn class_of(rule: &ShareRule) -> Option<Class> {
    match rule.kind {
        Kind::Bandwidth => Some(Class::Guaranteed),
        Kind::Objective => Some(Class::Objective),
        Kind::BestEffort => rule.max_bps.map(|_| Class::BestEffort),
        Kind::Latency => None,
    }
}

/// Returns the terms of a contract's member on a host; `None` if no member is there, or there is nothing to divide.
pub fn terms(rule: &ShareRule, network: &Network, host: NodeId) -> Option<MemberTerms> {
    let is_best_effort = class_of(rule)? == Class::BestEffort;
    let hosts: Vec<Option<NodeId>> = rule.members.iter().map(|member| network.find_node(&member.host)).collect();
    let place = hosts.iter().position(|&one| one == Some(host))?;
    let others = hosts.iter().copied().flatten().filter(|&other| other != host);
    let is_pair = rule.route.is_some();
    // Of a pair, the first member sends.
    let to = others.clone().filter(|_| !is_pair || place == 0).collect();
    // Best effort is limited where it is sent, by no receiver.
    let from = others.filter(|_| !is_best_effort && (!is_pair || place == 1)).collect();
    let share = Share {
        min: Rate::from_bits_per_second(rule.min_bps).min(Rate::MAX),
        max: rule.max_bps.map(|max| Rate::from_bits_per_second(max).min(Rate::MAX)),
        weight: rule.weight,
    };
    let pairs = rule.members.len().saturating_sub(1).max(1) as u64;
    let sure = Rate::from_bits_per_second(rule.min_bps / pairs).min(Rate::MAX);
    let sure = if is_best_effort { PairRate::Reserve } else { PairRate::Sure(sure) };
    let tenant = rule.id.split(':').next().unwrap_or_default().to_owned();
    Some(MemberTerms { serial: rule.serial, tenant, transmit: share, receive: share, sure, to, from })
}

/// Returns `true` if a host sends to the member at this index: of a pair only the first member sends, and no member
/// sends to itself.
pub fn sends(rule: &ShareRule, network: &Network, host: NodeId, member: usize) -> bool {
    let place = rule.members.iter().position(|one| network.find_node(&one.host) == Some(host));
    let is_direction = |place: usize| rule.route.is_none() || (place, member) == (0, 1);
    class_of(rule).is_some() && place.is_some_and(|place| place != member && is_direction(place))
}

/// The rule of the pair from a host to the member at this place; `None` if it sends nothing there. `rate_bps` and `burst_bytes` are its bucket.
pub fn rule(
    rule: &ShareRule,
    routes: &Routes<'_>,
    host: NodeId,
    member: usize,
    rate_bps: u64,
    burst_bytes: u64,
) -> Option<Rule> {
    let network = routes.network();
    let class = class_of(rule)?;
    let place = rule.members.iter().position(|member| network.find_node(&member.host) == Some(host))?;
    let to = rule.members.get(member)?;
    if !sends(rule, network, host, member) {
        return None;
    }
    let links: Vec<LinkId> = match &rule.route {
        Some(hops) => hops.iter().map(|hop| network.find_link(&hop.link)).collect::<Option<_>>()?,
        // Pairs of a contract are spread over equal routes; each keeps to one, so its packets stay in order.
        None => {
            let all = routes.to(network.find_node(&to.host)?);
            let at = (rule.serial as usize).wrapping_add(member) % all.len().max(1);
            all.into_iter().nth(at)?
        }
    };
    let hop = |&link: &LinkId| Hop { link: network.link(link).name.clone(), queue: queue_of(network, link, class) };
    Some(Rule {
        id: rule.id.clone(),
        from: rule.members[place].name.clone(),
        to: to.name.clone(),
        matching: None,
        rate_bps,
        burst_bytes,
        max_frame_bytes: None,
        routes: vec![links.iter().map(hop).collect()],
        bound_ns: NO_BOUND,
    })
}

/// Returns the line to divide, such that hosts fill no more of their links than the target of the topology's classes:
/// EyeQ shares out [`Params::receive_percent`] of a host's receive rate.
pub fn filled(line: LineParams, network: &Network) -> LineParams {
    let most = u64::from(Params::default().receive_percent);
    let target = network.classes().map_or(most, |classes| u64::from(classes.target).min(most));
    let receive = u128::from(line.receive.bits_per_second()) * u128::from(target) / u128::from(most.max(1));
    LineParams { receive: Rate::from_bits_per_second(u64::try_from(receive).unwrap_or(u64::MAX)), ..line }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_topology::Classes;
    use wayleave_topology::builders::{Cabling, build};

    #[test]
    fn a_target_below_nine_tenths_limits_the_receive_rate() {
        let line = LineParams::both(Rate::from_gbit(1));
        let network = |target, promise| {
            build::star(2, Cabling::default()).unwrap().with_classes(Classes { target, promise, ..Classes::default() })
        };
        assert_eq!(filled(line, &network(95, 85).unwrap()), line);
        let half = filled(line, &network(45, 40).unwrap());
        assert_eq!((half.receive, half.transmit), (Rate::from_mbit(500), line.transmit));
        assert_eq!(filled(line, &build::star(2, Cabling::default()).unwrap()), line, "no classes");
    }
}
