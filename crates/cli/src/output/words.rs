//! Sentences: why a request was refused, and what can be said against it whatever else is admitted.

use wayleave_contracts::Contract;
use wayleave_ledger::Ledger;
use wayleave_policy::{Binding, Refusal};
use wayleave_topology::{LinkId, Network, NodeId, Route};

use super::human::Human;

/// A route as one reads it: `h1 -[0]- s1 -[2]- h2`, with the queue of each link in brackets.
pub(crate) fn route(network: &Network, route: &Route) -> String {
    let Some(first) = route.hops.first() else { return String::new() };
    let mut text = network.node(network.link(first.link).from).name.clone();
    for hop in &route.hops {
        let link = network.link(hop.link);
        text += &format!(" -[{}]- {}", hop.queue, network.node(link.to).name);
        // Parallel links differ only by their number.
        if let Some((_, number)) = link.name.split_once('#') {
            text += &format!("#{number}");
        }
    }
    text
}

/// `queue 2 of s1->h2`.
pub(crate) fn queue(network: &Network, link: LinkId, queue: u8) -> String {
    format!("queue {queue} of {}", network.link(link).name)
}

/// Why a request was refused, in one clause.
pub(crate) fn refusal(ledger: &Ledger, contract: &Contract, refusal: &Refusal) -> String {
    let network = ledger.network();
    let (from, to) = (name(network, contract.from), name(network, contract.to));
    match refusal {
        Refusal::Disconnected => {
            format!("no sequence of links with queues for contracts leads from {from} to {to}")
        }
        Refusal::TooManySwitches { limit } => {
            format!(
                "no path in time was found from {from} to {to} with {limit} switches or fewer, as many as a packet has tags (--tags)"
            )
        }
        Refusal::FrameTooLarge { frame } => {
            let path =
                if contract.route.is_some() { "a link of the pinned route does not carry" } else { "no path carries" };
            format!("{path} the contract's largest frame, {frame} on the wire")
        }
        Refusal::Deadline { fastest, deadline } if fastest > deadline => {
            let fastest = fastest.up();
            format!(
                "the deadline {deadline} can never be met: even in an empty network {from} -> {to} takes {fastest} \
                 (the sum of the smallest budgets on its fastest route)"
            )
        }
        Refusal::Deadline { deadline, .. } => {
            format!("no route that a packet has tags for meets the deadline {deadline}")
        }
        Refusal::NoSuchQueue { link, queue, queues } => no_such_queue(network, *link, *queue, *queues),
        Refusal::Blocked { route, binding, .. } => blocked(network, route, binding),
        Refusal::TooSlow { bound, deadline, .. } => {
            let which = if contract.route.is_some() { "the pinned route" } else { "the fastest route with room" };
            format!("{which} takes {}, longer than the deadline {deadline}", bound.up())
        }
    }
}

fn no_such_queue(network: &Network, link: LinkId, queue: u8, queues: u8) -> String {
    let name = &network.link(link).name;
    match queues {
        0 => format!("contracts may use no queue of {name}, and the pinned route names queue {queue}"),
        1 => format!("contracts may use only queue 0 of {name}, and the pinned route names queue {queue}"),
        _ => {
            format!("contracts may use queues 0 to {} of {name}, and the pinned route names queue {queue}", queues - 1)
        }
    }
}

/// Which promise would break at a queue, by how much.
pub(crate) fn blocked(network: &Network, route: &Route, binding: &Binding) -> String {
    let what = promise(network, binding);
    let entered = entered(route, binding);
    if entered == binding.queue() {
        return what;
    }
    format!("{what}, if the flow entered queue {entered} above it")
}

/// The queue that a flow enters at the link where a promise would break: that queue's promise, or one below it.
pub(crate) fn entered(route: &Route, binding: &Binding) -> u8 {
    route.hops.iter().find(|hop| hop.link == binding.link()).map_or(binding.queue(), |hop| hop.queue)
}

/// The broken promise alone.
pub(crate) fn promise(network: &Network, binding: &Binding) -> String {
    format!("{} {}", queue(network, binding.link(), binding.queue()), shortfall(binding))
}

/// What a queue lacks: `could delay packets by 132us, longer than its budget of 100us`.
pub(crate) fn shortfall(binding: &Binding) -> String {
    match binding {
        Binding::Rate { asked, left, .. } => format!("has {} left, and {} would be needed", left.down(), asked.up()),
        Binding::Delay { bound, budget, .. } if bound > budget => {
            format!("could delay packets by {}, longer than its budget of {budget}", bound.up())
        }
        Binding::Delay { budget, .. } => {
            format!("could delay packets by its whole budget of {budget}, and has to stay below it")
        }
        Binding::Buffer { backlog, buffer, .. } if backlog > buffer => {
            format!("could have to hold {}, more than its buffer of {buffer}", backlog.up())
        }
        Binding::Buffer { buffer, .. } => {
            format!("could have to hold its whole buffer of {buffer}, and has to stay below it")
        }
    }
}

/// What can be said against a refused contract whatever else is admitted: the field that it is about, and the sentence.
pub(crate) fn finding(ledger: &Ledger, contract: &Contract, refused: &Refusal) -> Option<(&'static str, String)> {
    let field = match refused {
        Refusal::Disconnected | Refusal::TooManySwitches { .. } => "to",
        Refusal::FrameTooLarge { .. } => "maxFrame",
        Refusal::Deadline { .. } => "deadline",
        Refusal::NoSuchQueue { .. } => "route",
        // A pinned route takes as long as it takes.
        Refusal::TooSlow { .. } if contract.route.is_some() => "deadline",
        Refusal::Blocked { .. } | Refusal::TooSlow { .. } => return None,
    };
    Some((field, refusal(ledger, contract, refused)))
}

/// A sentence with its capital letter and its full stop.
pub(crate) fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).chain(['.']).collect()
}

/// The known name that was probably meant.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let accepted = 1 + word.chars().count() / 4;
    let distance = |name: &'a str| (strsim::osa_distance(&word.to_lowercase(), &name.to_lowercase()), name);
    let near = known.filter(|name| name.len().abs_diff(word.len()) <= accepted).map(distance);
    near.min_by_key(|&(distance, _)| distance).filter(|&(distance, _)| distance <= accepted).map(|(_, name)| name)
}

/// A node's name.
pub(crate) fn name(network: &Network, node: NodeId) -> &str {
    &network.node(node).name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_a_letter_or_two_away_or_none() {
        let known = || ["ptp-1", "hadoop-a-12", "scada-3"].into_iter();
        assert_eq!(nearest("pttp-1", known()), Some("ptp-1"));
        assert_eq!(nearest("Hadoop-a-21", known()), Some("hadoop-a-12"));
        assert_eq!(nearest("backup", known()), None);
    }

    #[test]
    fn a_sentence_begins_with_a_capital_and_ends() {
        assert_eq!(sentence("no path"), "No path.");
        assert_eq!(sentence(""), ".");
    }
}
