//! Rules in the words of the interface, and as the controller's types.

use wayleave_api::agent;
use wayleave_api::contract::{self, Hop as HopWord};
use wayleave_contracts::{Demand, Match, Protocol};
use wayleave_controller::{Operation, Rule, Work};
use wayleave_topology::{Hop, Network, Route};
use wayleave_units::{Bytes, Rate, Time};

/// An operation as the controller means it; an error if it speaks of what this network does not have.
///
/// # Errors
/// What cannot be understood.
pub fn operation(network: &Network, told: &agent::Operation) -> Result<Operation, String> {
    let work = match &told.work {
        agent::Work::SetUp => Work::SetUp,
        agent::Work::Remove => Work::Remove,
        agent::Work::Install { rule } => Work::Install(Box::new(rule_of(network, rule)?)),
    };
    Ok(Operation { serial: told.serial, version: told.version, work })
}

/// A rule as the controller means it.
///
/// # Errors
/// What cannot be understood.
pub fn rule_of(network: &Network, told: &agent::Rule) -> Result<Rule, String> {
    Ok(Rule {
        id: told.id.parse().map_err(|error| format!("{}: {error}", told.id))?,
        from: told.from.clone(),
        to: told.to.clone(),
        matching: told.matching.as_ref().map(matching).transpose()?,
        demand: Demand {
            rate: Rate::from_bits_per_second(told.rate_bps),
            burst: Bytes::new(told.burst_bytes),
            max_frame: told.max_frame_bytes.map(Bytes::new),
        },
        routes: told.routes.iter().map(|hops| route(network, hops)).collect::<Result<_, _>>()?,
        bound: Time::from_nanos(told.bound_ns),
    })
}

/// A rule in the words of the interface.
pub fn words_of(network: &Network, rule: &Rule) -> agent::Rule {
    let hop = |hop: &Hop| HopWord { link: network.link(hop.link).name.clone(), queue: hop.queue };
    agent::Rule {
        id: rule.id.to_string(),
        from: rule.from.clone(),
        to: rule.to.clone(),
        matching: rule.matching.map(words_of_match),
        rate_bps: rule.demand.rate.bits_per_second(),
        burst_bytes: rule.demand.burst.get(),
        max_frame_bytes: rule.demand.max_frame.map(Bytes::get),
        routes: rule.routes.iter().map(|route| route.hops.iter().map(hop).collect()).collect(),
        bound_ns: rule.bound.as_nanos(),
    }
}

fn route(network: &Network, hops: &[HopWord]) -> Result<Route, String> {
    let hop = |hop: &HopWord| {
        let link = network.find_link(&hop.link).ok_or_else(|| format!("there is no link {} here", hop.link))?;
        Ok(Hop { link, queue: hop.queue })
    };
    Ok(Route { hops: hops.iter().map(hop).collect::<Result<_, String>>()? })
}

fn matching(told: &contract::Match) -> Result<Match, String> {
    let address = |text: &String| text.parse().map_err(|_| format!("{text} is no address"));
    let protocol = |told: &contract::Protocol| match told {
        contract::Protocol::Number(number) => Ok(Protocol::new(*number)),
        contract::Protocol::Name(name) => name.parse().map_err(|_| format!("{name} is no protocol")),
    };
    Ok(Match {
        protocol: told.protocol.as_ref().map(protocol).transpose()?,
        source_address: told.source_address.as_ref().map(address).transpose()?,
        source_port: told.source_port.and_then(std::num::NonZeroU16::new),
        destination_address: told.destination_address.as_ref().map(address).transpose()?,
        destination_port: told.destination_port.and_then(std::num::NonZeroU16::new),
    })
}

fn words_of_match(matching: Match) -> contract::Match {
    contract::Match {
        protocol: matching.protocol.map(|protocol| contract::Protocol::Number(protocol.number())),
        source_address: matching.source_address.map(|address| address.to_string()),
        source_port: matching.source_port.map(std::num::NonZeroU16::get),
        destination_address: matching.destination_address.map(|address| address.to_string()),
        destination_port: matching.destination_port.map(std::num::NonZeroU16::get),
    }
}
