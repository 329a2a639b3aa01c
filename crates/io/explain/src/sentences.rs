//! Sentences: the reason for a refusal, and findings that hold regardless of the admitted contracts.

use wayleave_contracts::{Contract, LatencyContract};
use wayleave_scheme_api::{Binding, Refusal, RefusalCode};
use wayleave_schemes::registry;
use wayleave_topology::{FailureElement, LinkId, Network, NodeId, NodeKind, Route, ShortBuffer};

use wayleave_units::{Rate, Time};

use crate::human::Human;

/// A buffer that may be too small for minima, in one clause.
pub fn short_buffer(network: &Network, short: &ShortBuffer) -> String {
    let (link, ShortBuffer { buffer, needed, .. }) = (&network.link(short.link).name, short);
    format!(
        "{link} has a buffer of {} for guaranteed bandwidth, and its worst-case backlog is {}",
        buffer.down(),
        needed.up()
    )
}

/// A route as one reads it: `h1 -[0]- s1 -[2]- h2`, with the queue of each link in brackets.
pub fn route(network: &Network, route: &Route) -> String {
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
pub fn queue(network: &Network, link: LinkId, queue: u8) -> String {
    format!("queue {queue} of {}", network.link(link).name)
}

/// Returns the reason for a refusal in one clause.
pub fn refusal(network: &Network, contract: &LatencyContract, refusal: &Refusal) -> String {
    let (from, to) = (name(network, contract.from), name(network, contract.to));
    match refusal {
        Refusal::Disconnected => {
            format!("no route exists from {from} to {to} over links with queues for contracts")
        }
        Refusal::TooManySwitches { limit } => {
            format!(
                "no route from {from} to {to} within the deadline has {limit} switches or fewer, the number of tags in a packet (--tags)"
            )
        }
        Refusal::FrameTooLarge { frame } => {
            let path =
                if contract.route.is_some() { "a link of the pinned route cannot carry" } else { "no path can carry" };
            format!("{path} the contract's largest frame, {frame:#} on the wire")
        }
        Refusal::Deadline { least, deadline, .. } if least > deadline => {
            let least = least.down();
            format!(
                "the deadline {deadline:#} can never be met: even in an empty network {from} -> {to} takes at least {least} with any delay budgets (largest frames, burst, propagation and processing)"
            )
        }
        Refusal::Deadline { fastest, least, deadline } if fastest > deadline => {
            let (fastest, least) = (fastest.up(), least.up());
            format!(
                "the deadline {deadline:#} is not possible with the configured delay budgets: the fastest route {from} -> {to} has a bound of {fastest}, the sum of its smallest budgets, propagation and processing; the links alone need {least}, so smaller `budgets` or `hostBudgets` in the topology can help"
            )
        }
        Refusal::Deadline { deadline, .. } => {
            format!("no route within the tag limit (--tags) meets the deadline {deadline:#}")
        }
        Refusal::NoSuchQueue { link, queue, queues } => no_such_queue(network, *link, *queue, *queues),
        Refusal::Blocked { route, binding, .. } => blocked(network, route, binding),
        Refusal::TooSlow { bound, deadline, .. } => {
            let which =
                if contract.route.is_some() { "the pinned route" } else { "the fastest route with free capacity" };
            format!("{which} has a bound of {}, above the deadline {deadline:#}", bound.up())
        }
        Refusal::TooFewDisjoint { asked, most, cut } => {
            let there_are = if *most == 1 { "is only 1".to_owned() } else { format!("are only {most}") };
            let passes = if cut.len() == 1 { "passes" } else { "passes one of" };
            let cut = elements(network, cut);
            format!(
                "{asked} disjoint routes were requested from {from} to {to}, but there {there_are}: every route {passes} {cut}"
            )
        }
        Refusal::Copy { copy, of, refusal } => {
            let placed = match copy - 1 {
                0 => format!("the first of {of} disjoint routes does not fit"),
                1 => format!("one of {of} disjoint routes fits, but the next does not"),
                some => format!("{of} disjoint routes were requested and {some} fit, but the next does not"),
            };
            format!("{placed}: {}", copy_refusal(network, contract, refusal))
        }
        Refusal::NoProtection { scheme } => {
            let others = registry::admission_schemes(|entry| entry.places_disjoint_routes);
            format!("{scheme} does not support disjoint routes: leave out protection, or use --scheme {others}")
        }
        Refusal::Stated { text, .. } => text.clone(),
        // Schemes explain refusals that only they have.
        own => class_refusal(network, own),
    }
}

/// Reason of a refusal in one clause, for a contract of any kind.
pub fn refusal_of(network: &Network, contract: &Contract, refused: &Refusal) -> String {
    match contract {
        Contract::Latency(latency) => refusal(network, latency, refused),
        _ => class_refusal(network, refused),
    }
}

/// The same without anything that others have reserved: no link, no load, no bound of a queue.
pub fn refusal_of_to_tenant(network: &Network, contract: &Contract, refused: &Refusal) -> String {
    match contract {
        Contract::Latency(latency) => refusal_to_tenant(network, latency, refused),
        _ => class_refusal_to_tenant(network, refused),
    }
}

/// The codes of refusals, each with its meaning in one clause. Every message that names a code takes its words from here.
pub const REFUSALS: [(RefusalCode, &str); 6] = [
    (RefusalCode::NoPath, "no usable route joins its ends"),
    (RefusalCode::Rate, "too little rate is left"),
    (RefusalCode::Latency, "a delay bound would exceed its limit"),
    (RefusalCode::Buffer, "a buffer could overflow"),
    (RefusalCode::Quota, "a quota is used up"),
    (RefusalCode::Policy, "it asks for something that is not supported"),
];

/// Returns a clause about a contract that found no other place, for the code of the refusal. A code of an earlier
/// version is named without words.
///
/// ```
/// use wayleave_explain::sentences::no_other_place;
/// assert_eq!(no_other_place("NO_PATH"), "no other usable route exists (NO_PATH)");
/// assert_eq!(no_other_place("BUFFER"), "no other route fits: a buffer could overflow (BUFFER)");
/// ```
pub fn no_other_place(code: &str) -> String {
    match REFUSALS.iter().find(|(known, _)| known.code() == code) {
        Some((RefusalCode::NoPath, _)) => format!("no other usable route exists ({code})"),
        Some((_, clause)) => format!("no other route fits: {clause} ({code})"),
        None => format!("no other route was found ({code})"),
    }
}

/// Returns the meaning of a refusal's code, with the code.
pub fn refusal_clause(code: &str) -> String {
    match REFUSALS.iter().find(|(known, _)| known.code() == code) {
        Some((_, clause)) => format!("{clause} ({code})"),
        None => code.to_owned(),
    }
}

/// Reason for which a contract of another kind than latency was refused, in one clause.
pub fn class_refusal(network: &Network, refusal: &Refusal) -> String {
    let link_name = |link| network.link(link).name.as_str();
    match refusal {
        Refusal::OnlyLatency => {
            let fabric = wayleave_schemes::admission::fabric::DESCRIPTOR.name;
            debug_assert!(registry::admission(fabric).is_some());
            format!(
                "this scheme admits latency contracts only: use --scheme {fabric}, the default for a topology with `classes` (`classes: {{}}` for the default classes)"
            )
        }
        Refusal::NoClasses => {
            "the queues of this network are not divided among classes: its topology needs `classes`".to_owned()
        }
        Refusal::Disconnected => "no path joins two of the hosts".to_owned(),
        Refusal::LinkDown { link } => format!("{} is down, and the guarantee depends on it", link_name(*link)),
        Refusal::ClassRate { class, link, asked, left, fits } => {
            let fits = match *fits {
                Rate::ZERO => "no minimum would fit".to_owned(),
                fits => format!("a minimum of {} would fit", fits.down()),
            };
            format!(
                "the {} class has {} left on {}, but {} is required; {fits}",
                class.name(),
                left.down(),
                link_name(*link),
                asked.up()
            )
        }
        Refusal::ClassDelay { link, bound, budget } => format!(
            "packets of the guaranteed class could be queued for {} on {}, above the {budget:#} assumed by its time guarantees",
            bound.up(),
            link_name(*link)
        ),
        Refusal::SlowMinimum { bound, within } => {
            format!("the minimum can be reached within {}, but not within {within:#}", bound.up())
        }
        other => registry::refusal_words(network, other).unwrap_or_else(|| refusal_clause(other.reason().code())),
    }
}

/// Returns the reason for a refusal of a share in one clause that reveals no reservations of others.
pub fn class_refusal_to_tenant(network: &Network, refusal: &Refusal) -> String {
    match refusal {
        // The rate that would fit reveals the reservations of others.
        Refusal::ClassRate { .. } => "the network cannot guarantee this rate between these hosts now".to_owned(),
        Refusal::ClassDelay { .. } => "the network cannot guarantee a time between these hosts now".to_owned(),
        Refusal::LinkDown { .. } => "a required link or node is down, and no other route fits".to_owned(),
        other => class_refusal(network, other),
    }
}

/// Returns the reason for a refusal without information about others' reservations: no link, no load, no bound of a
/// queue.
pub fn refusal_to_tenant(network: &Network, contract: &LatencyContract, refused: &Refusal) -> String {
    let (from, to) = (name(network, contract.from), name(network, contract.to));
    match refused {
        // These follow from the network and the request alone.
        Refusal::Disconnected
        | Refusal::TooManySwitches { .. }
        | Refusal::FrameTooLarge { .. }
        | Refusal::NoProtection { .. }
        | Refusal::NoSuchQueue { .. }
        | Refusal::RateCap { .. }
        | Refusal::Rounds { .. }
        | Refusal::ShortRound { .. }
        | Refusal::PacketTooLarge { .. }
        | Refusal::Stated { field: Some(_), .. }
        | Refusal::Deadline { .. } => refusal(network, contract, refused),
        Refusal::TooSlow { .. } if contract.route.is_some() => refusal(network, contract, refused),
        Refusal::TooFewDisjoint { asked, most, .. } => {
            let there_are = if *most == 1 { "is only 1".to_owned() } else { format!("are only {most}") };
            format!("{asked} disjoint routes were requested from {from} to {to}, but there {there_are}")
        }
        _ if is_down(refused) => match contract.route {
            Some(_) => "a link or node on the pinned route is down".to_owned(),
            None if contract.protection > 1 => {
                format!("not enough disjoint routes from {from} to {to} are usable: a link or node is down")
            }
            None => {
                format!("no route from {from} to {to} is usable: a link or node is down, and no other route fits")
            }
        },
        _ => {
            let routes = if contract.route.is_some() { "the pinned route has not" } else { "no usable route has" };
            let routes = if contract.protection > 1 { "not enough disjoint routes have" } else { routes };
            let what = match refused.reason() {
                RefusalCode::Rate => "rate",
                RefusalCode::Latency => "time",
                RefusalCode::Buffer => "buffer",
                _ => "room",
            };
            format!("{routes} enough {what} left from {from} to {to} after existing reservations")
        }
    }
}

/// Returns `true` if a request was refused since something is down.
fn is_down(refused: &Refusal) -> bool {
    matches!(refused.innermost(), Refusal::LinkDown { .. } | Refusal::Blocked { binding: Binding::Down { .. }, .. })
}

/// Returns the reason for which one of several disjoint routes is blocked.
fn copy_refusal(network: &Network, contract: &LatencyContract, refused: &Refusal) -> String {
    match refused {
        Refusal::Deadline { fastest, deadline, .. } => {
            format!("its fastest queues have a bound of {}, above the deadline {deadline:#}", fastest.up())
        }
        Refusal::TooManySwitches { limit } => {
            format!("it has more than {limit} switches, the number of tags in a packet (--tags)")
        }
        Refusal::TooSlow { bound, deadline, .. } => {
            format!(
                "its fastest queues with free capacity have a bound of {}, above the deadline {deadline:#}",
                bound.up()
            )
        }
        other => refusal(network, contract, other),
    }
}

/// `leaf1->spine1 and spine2`.
pub fn elements(network: &Network, elements: &[FailureElement]) -> String {
    let names: Vec<&str> = elements.iter().map(|&element| network.element_name(element)).collect();
    match names.as_slice() {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// Returns the failures that a contract with these routes survives: `survives any single failure between s1 and s4`,
/// and those that it does not survive.
pub fn survived(network: &Network, contract: &LatencyContract, routes: &[Route]) -> String {
    let shared = wayleave_schemes::protection::shared(network, routes);
    let failures = match routes.len() {
        0..=2 => "any single failure of a link or switch".to_owned(),
        many => format!("any {} failures of links and switches at once", many - 1),
    };
    let switch = |element: &FailureElement| match element {
        FailureElement::Switch(node) => Some(*node),
        FailureElement::Cable(_) => None,
    };
    let at = |end, beside: Option<NodeId>| name(network, beside.unwrap_or(end)).to_owned();
    let is_at = |element: &&FailureElement, host| match element {
        FailureElement::Switch(node) => touches(network, host, *node),
        FailureElement::Cable(_) => false,
    };
    let first = shared.iter().find(|element| is_at(element, contract.from)).and_then(switch);
    let last = shared.iter().rfind(|element| is_at(element, contract.to)).and_then(switch);
    let (from, to) = (at(contract.from, first), at(contract.to, last));
    let mut text = format!("survives {failures} between {from} and {to}");
    let not = |element: &FailureElement| {
        let name = network.element_name(*element).to_owned();
        let FailureElement::Cable(link) = *element else { return name };
        let host = [contract.from, contract.to].into_iter().find(|&host| {
            let link = network.link(link);
            link.from == host || link.to == host
        });
        host.map_or(name.clone(), |host| format!("{name} ({} has one link)", self::name(network, host)))
    };
    if let Some((first, others)) = shared.split_first() {
        text += &format!("; not of {}", not(first));
        others.iter().for_each(|other| text += &format!(", nor of {}", not(other)));
    }
    text
}

/// Returns `true` if a link connects a host and a switch.
fn touches(network: &Network, host: NodeId, switch: NodeId) -> bool {
    network.links_from(host).iter().any(|&link| network.link(link).to == switch)
        || network.links_into(host).iter().any(|&link| network.link(link).from == switch)
}

fn no_such_queue(network: &Network, link: LinkId, queue: u8, queues: u8) -> String {
    let name = &network.link(link).name;
    match queues {
        0 => format!("{name} has no queue for contracts, but the pinned route names queue {queue}"),
        1 => format!("contracts may only use queue 0 of {name}, but the pinned route names queue {queue}"),
        _ => {
            format!(
                "contracts may only use queues 0 to {} of {name}, but the pinned route names queue {queue}",
                queues - 1
            )
        }
    }
}

/// Describes the promise that would break at a queue, and by which amount.
pub fn blocked(network: &Network, route: &Route, binding: &Binding) -> String {
    let what = promise(network, binding);
    let entered = entered(route, binding);
    // A link that is down is so for every queue.
    if entered == binding.queue() || matches!(binding, Binding::Down { .. }) {
        return what + &budget_remedy(network, binding);
    }
    format!("{what}, if the flow used queue {entered}, which has priority over it")
}

/// Returns the budget with which a queue would admit a flow, for a person to state in the topology: the bound of a queue
/// does not depend on its own budget.
fn budget_remedy(network: &Network, binding: &Binding) -> String {
    let Binding::Delay { link, bound, budget, .. } = binding else { return String::new() };
    let is_host = network.node(network.link(*link).from).kind == NodeKind::Host;
    let (port, key) = if is_host { ("host", "hostBudgets") } else { ("switch", "budgets") };
    // A bound that equals the budget is refused where it has to be below.
    let needed = Time::from_nanos(bound.as_nanos() + u64::from(bound == budget));
    format!("; it needs a {port} budget of {} (`{key}` in the topology)", needed.up())
}

/// The queue that a flow enters at the link where a promise would break: that queue's promise, or one below it.
pub fn entered(route: &Route, binding: &Binding) -> u8 {
    route.hops.iter().find(|hop| hop.link == binding.link()).map_or(binding.queue(), |hop| hop.queue)
}

/// The broken promise alone.
pub fn promise(network: &Network, binding: &Binding) -> String {
    match binding {
        Binding::Down { link, .. } => format!("link {} is down", network.link(*link).name),
        _ => format!("{} {}", queue(network, binding.link(), binding.queue()), shortfall(binding)),
    }
}

/// Describes the shortfall of a queue: `would have a worst-case delay of 132 us, above its budget of 100 us`.
pub fn shortfall(binding: &Binding) -> String {
    match binding {
        Binding::Down { .. } => "is down".to_owned(),
        Binding::Rate { asked, left, .. } => format!("has {} left, but {} is required", left.down(), asked.up()),
        Binding::Delay { bound, budget, .. } if bound > budget => {
            format!("would have a worst-case delay of {}, above its budget of {budget:#}", bound.up())
        }
        Binding::Delay { budget, .. } => {
            format!("would have a worst-case delay equal to its budget of {budget:#}, and must stay below it")
        }
        Binding::Buffer { backlog, buffer, .. } if backlog > buffer => {
            format!("would have a worst-case backlog of {}, above its buffer of {buffer:#}", backlog.up())
        }
        Binding::Buffer { buffer, .. } => {
            format!("would have a worst-case backlog equal to its buffer of {buffer:#}, and must stay below it")
        }
    }
}

/// Returns a finding against a refused contract that holds regardless of the admitted contracts: its field and the
/// sentence.
pub fn finding(network: &Network, contract: &LatencyContract, refused: &Refusal) -> Option<(&'static str, String)> {
    let field = match refused {
        Refusal::Disconnected | Refusal::TooManySwitches { .. } => "to",
        Refusal::FrameTooLarge { .. } | Refusal::PacketTooLarge { .. } => "maxFrame",
        Refusal::Deadline { .. } | Refusal::Rounds { .. } => "deadline",
        Refusal::RateCap { .. } => "rate",
        Refusal::NoSuchQueue { .. } => "route",
        Refusal::TooFewDisjoint { .. } | Refusal::NoProtection { .. } => "protection",
        Refusal::Copy { refusal, .. } => match **refusal {
            Refusal::Deadline { .. } => "deadline",
            Refusal::TooManySwitches { .. } => "protection",
            _ => return None,
        },
        // A pinned route takes as long as it takes.
        Refusal::TooSlow { .. } if contract.route.is_some() => "deadline",
        Refusal::Stated { field: Some(field), .. } => field,
        Refusal::Blocked { .. }
        | Refusal::TooSlow { .. }
        | Refusal::Stated { .. }
        | Refusal::Shares { .. }
        | Refusal::ShortRound { .. }
        | Refusal::Allocation { .. }
        | Refusal::OnlyLatency
        | Refusal::NoClasses
        | Refusal::LinkDown { .. }
        | Refusal::ClassRate { .. }
        | Refusal::ClassDelay { .. }
        | Refusal::SlowMinimum { .. } => return None,
    };
    Some((field, refusal(network, contract, refused)))
}

/// A sentence with its capital letter and its full stop. A name at its beginning (`h3->leaf1`) stays as it is written.
///
/// ```
/// use wayleave_explain::sentences::sentence;
/// assert_eq!(sentence("link h3->s1 is down"), "Link h3->s1 is down.");
/// assert_eq!(sentence("h3->s1 is down"), "h3->s1 is down.");
/// ```
pub fn sentence(clause: &str) -> String {
    let first_word = clause.split_whitespace().next().unwrap_or_default();
    let is_inner = |char: char| char.is_alphabetic() || "'-,:;".contains(char);
    if first_word.contains("->") || !first_word.chars().all(is_inner) {
        return format!("{clause}.");
    }
    let mut letters = clause.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).chain(['.']).collect()
}

/// The known name that was probably meant.
pub fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let accepted = 1 + word.chars().count() / 4;
    let distance = |name: &'a str| (strsim::osa_distance(&word.to_lowercase(), &name.to_lowercase()), name);
    let near = known.filter(|name| name.len().abs_diff(word.len()) <= accepted).map(distance);
    near.min_by_key(|&(distance, _)| distance).filter(|&(distance, _)| distance <= accepted).map(|(_, name)| name)
}

/// The known names that were probably meant: the nearest ones, at most `most`.
///
/// ```
/// use wayleave_explain::sentences::nearest_names;
/// let known = ["core1", "core2", "edge1", "h1"];
/// assert_eq!(nearest_names("core", known.into_iter(), 3), ["core1", "core2"]);
/// assert_eq!(nearest_names("cor1", known.into_iter(), 3), ["core1"]);
/// ```
pub fn nearest_names<'a>(word: &str, known: impl Iterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    let accepted = 1 + word.chars().count() / 4;
    let word = word.to_lowercase();
    let near = known.filter(|name| name.len().abs_diff(word.len()) <= accepted);
    let near = near.map(|name| (strsim::osa_distance(&word, &name.to_lowercase()), name));
    let mut near: Vec<(usize, &str)> = near.filter(|&(distance, _)| distance <= accepted).collect();
    near.sort_unstable();
    let least = near.first().map(|&(distance, _)| distance);
    near.into_iter().filter(|&(distance, _)| Some(distance) == least).take(most).map(|(_, name)| name).collect()
}

/// A contract's name, with the number of its route if it is a further one.
pub fn route_name(contract: &str, route: usize) -> String {
    if route == 0 { contract.to_owned() } else { format!("{contract}, route {}", route + 1) }
}

/// A node's name.
pub fn name(network: &Network, node: NodeId) -> &str {
    &network.node(node).name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_differs_by_one_or_two_letters() {
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
