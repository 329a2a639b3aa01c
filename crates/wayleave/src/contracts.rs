//! Requests: lists of contracts, and events.

use std::collections::HashMap;

use wayleave_contracts::{Contract, DataPlane, LatencyContract, RequestMix, Unusable, WireOverhead};
use wayleave_explain::{human, sentences};
use wayleave_formats::{
    EventList, InputErrors, MixedList, Problem, Source, read_contracts, read_contracts_of_all_kinds, read_events,
    write_contracts,
};

use crate::error::Error;
use crate::findings::MAX_FINDINGS;
use crate::network::Network;
use crate::progress::{ProgressStep, Watch};
use wayleave_topology::NodeId;

/// Contracts from one text or several, in order, with no name twice.
#[derive(Clone, Debug)]
pub struct Contracts {
    lists: Vec<MixedList>,
}

/// Contracts that are drawn and read at a time, so that a caller can stop in between: 0.1 s of work.
const DRAWN_TOGETHER: usize = 16_384;

/// Index of a contract in [`Contracts`]: the list, and the index in that list.
pub type ContractIndex = (usize, usize);

impl Contracts {
    /// Reads files in YAML, JSON or CSV, or the output of `get contracts -o json`; `-` is the standard input.
    ///
    /// # Errors
    /// If a file cannot be read or is malformed, or two files contain one name.
    pub fn read(files: &[String], network: &Network) -> Result<Self, Error> {
        Self::of(files.iter().map(Source::read), |source| Ok(read_contracts(source, &network.graph)?.into()))
    }

    /// The same with contracts of every kind: [`Contracts::all`] has them all, and [`Contracts::iter`] those about latency.
    ///
    /// # Errors
    /// As for [`Contracts::read`].
    pub fn read_all_kinds(files: &[String], network: &Network) -> Result<Self, Error> {
        Self::of(files.iter().map(Source::read), |source| read_contracts_of_all_kinds(source, &network.graph))
    }

    /// Parses texts from memory: CSV if the name of a text ends in `.csv`, otherwise YAML or JSON.
    ///
    /// # Errors
    /// If a text is malformed, or two texts contain one name.
    pub fn parse(sources: &[Source], network: &Network) -> Result<Self, Error> {
        Self::of(sources.iter().cloned().map(Ok), |source| Ok(read_contracts(source, &network.graph)?.into()))
    }

    /// The same with contracts of every kind.
    ///
    /// # Errors
    /// As for [`Contracts::parse`].
    pub fn parse_all_kinds(sources: &[Source], network: &Network) -> Result<Self, Error> {
        Self::of(sources.iter().cloned().map(Ok), |source| read_contracts_of_all_kinds(source, &network.graph))
    }

    fn of(
        sources: impl Iterator<Item = Result<Source, InputErrors>>,
        read: impl Fn(&Source) -> Result<MixedList, InputErrors>,
    ) -> Result<Self, Error> {
        let lists = sources.map(|source| Ok(read(&wayleave_formats::listing_as_document(source?)?)?));
        let contracts = Self { lists: lists.collect::<Result<_, Error>>()? };
        contracts.check_names()?;
        Ok(contracts)
    }

    /// Returns random contracts in a mix of Chameleon's evaluation (CoNEXT 2020, Table 2: scenarios 1 to 8). Equal
    /// seeds give equal contracts.
    ///
    /// # Errors
    /// If the network has fewer than two hosts, there is no such scenario, or [`Error::Stopped`].
    pub fn drawn(
        network: &Network,
        scenario: usize,
        seed: u64,
        count: usize,
        watch: &mut Watch<'_>,
    ) -> Result<Self, Error> {
        if network.graph.hosts().count() < 2 {
            return Err(Error::Usage("contracts need at least two hosts, but the network has fewer".into()));
        }
        if !(1..=8).contains(&scenario) {
            return Err(Error::Usage(format!("no scenario {scenario}: expected 1 to 8")));
        }
        let name = format!("scenario-{scenario}-seed-{seed}");
        let mut left = RequestMix::new(&network.graph, scenario, seed).take(count);
        let (mut lists, mut done) = (Vec::new(), 0);
        loop {
            if watch.is_cancelled() {
                return Err(Error::Stopped);
            }
            let contracts: Vec<LatencyContract> = left.by_ref().take(DRAWN_TOGETHER).collect();
            if contracts.is_empty() && !lists.is_empty() {
                break;
            }
            let source = Source::new(&name, write_contracts(&contracts, &network.graph, &name));
            lists.push(read_contracts(&source, &network.graph)?.into());
            done += contracts.len();
            watch.step(ProgressStep::Items { done: done as u64, total: count as u64 });
        }
        let drawn = Self { lists };
        drawn.check_names()?;
        Ok(drawn)
    }

    /// Returns warnings about contracts to which no packet conforms: one about bursts and one about rates, each with the
    /// first five contracts and a count.
    pub fn warnings(&self, overhead: WireOverhead) -> Vec<String> {
        let (mut bursts, mut rates) = (Vec::new(), Vec::new());
        for (_, contract) in self.iter() {
            match contract.unusable(overhead) {
                Some(Unusable::Burst { burst, frame }) => bursts.push((&contract.name, burst.to_string(), frame)),
                Some(Unusable::Rate { rate, frame }) => rates.push((&contract.name, rate.to_string(), frame)),
                None => {}
            }
        }
        let bursts = bursts.first().map(|&(.., frame)| {
            let which = first_of("burst", &bursts);
            format!("{which} below the smallest frame, {frame} on the wire: none of the packets conforms")
        });
        let rates = rates.first().map(|&(.., frame)| {
            let which = first_of("rate", &rates);
            format!("{which} below one frame of {frame} a day")
        });
        bursts.into_iter().chain(rates).collect()
    }

    /// Returns a note about contracts that agents cannot distinguish: they have an end to send from and one to send to in common with
    /// another contract of their tenant, and neither has a `match`. Best effort is what belongs to no other contract. Beyond a million pairs,
    /// contracts are not compared.
    pub fn indistinguishable(&self) -> Option<String> {
        const MAX_PAIRS: usize = 1_000_000;
        let all = || self.lists.iter().flat_map(MixedList::without_match);
        // The order in which agents choose.
        let (latency, others): (Vec<_>, Vec<_>) = all().partition(|contract| contract.as_latency().is_some());
        let others = others.into_iter().filter(|contract| !matches!(contract, Contract::BestEffort(_)));
        let mut owners: HashMap<(Option<&str>, NodeId, NodeId), &str> = HashMap::new();
        let mut found: Vec<(&str, &str)> = Vec::new();
        for contract in latency.into_iter().chain(others) {
            if owners.len() + contract.hosts().len().pow(2) > MAX_PAIRS {
                continue;
            }
            let key = |(from, to): (NodeId, NodeId)| (contract.tenant(), from, to);
            let pairs: Vec<_> = contract.directed_pairs().into_iter().map(key).collect();
            let owner = pairs.iter().find_map(|pair| owners.get(pair));
            found.extend(owner.map(|owner| (contract.name(), *owner)));
            for pair in pairs {
                owners.entry(pair).or_insert(contract.name());
            }
        }
        let (name, owner) = *found.first()?;
        let whose = match found.len() {
            1 => format!("\"{name}\" also belong to \"{owner}\""),
            count => format!("{count} contracts also belong to another one (\"{name}\": \"{owner}\", ...)"),
        };
        Some(format!(
            "packets of {whose}: agents carry out one contract for each packet; a latency contract with a `match`, or VMs as ends, distinguish them"
        ))
    }

    /// One file's own duplicates are found when it is read; these are those of different files.
    fn check_names(&self) -> Result<(), Error> {
        let mut seen: HashMap<&str, ContractIndex> = HashMap::new();
        let mut problems = Vec::new();
        for (place, contract) in self.all().filter(|_| self.lists.len() > 1) {
            let Some(&(list, index)) = seen.get(contract.name()) else {
                seen.insert(contract.name(), place);
                continue;
            };
            if problems.len() < MAX_FINDINGS {
                let first = &self.lists[list];
                let at = format!("{}:{}", first.source().name(), first.locate(index, "name").line);
                problems.push(self.finding(place, "name", &format!("the name is already used at {at}")));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(Error::Problems(problems)) }
    }

    /// Every latency contract with its place.
    pub fn iter(&self) -> impl Iterator<Item = (ContractIndex, &LatencyContract)> {
        self.all().filter_map(|(place, contract)| Some((place, contract.as_latency()?)))
    }

    /// Returns `true` if a contract is of another kind than latency.
    pub fn has_other_kinds(&self) -> bool {
        self.all().any(|(_, contract)| contract.as_latency().is_none())
    }

    /// Returns every contract of every kind, with its index.
    pub fn all(&self) -> impl Iterator<Item = (ContractIndex, &Contract)> {
        self.lists.iter().enumerate().flat_map(|(list, contracts)| {
            contracts.contracts().iter().enumerate().map(move |(index, contract)| ((list, index), contract))
        })
    }

    /// Returns a sentence for each key that a data plane does not carry out.
    pub fn not_carried_out(&self, by: DataPlane) -> Vec<String> {
        wayleave_contracts::sentences(self.lists.iter().flat_map(|list| list.not_carried_out(by)))
    }

    /// Returns the number of contracts.
    pub fn len(&self) -> usize {
        self.lists.iter().map(|list| list.contracts().len()).sum()
    }

    /// Returns the names of the texts, in their order.
    pub fn sources(&self) -> Vec<&str> {
        self.lists.iter().map(|list| list.source().name()).collect()
    }

    /// Returns `true` if there are no contracts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The contract of a name, with its place.
    ///
    /// # Errors
    /// If there is none; the nearest name is in the message.
    pub fn find(&self, name: &str) -> Result<(ContractIndex, &Contract), Error> {
        self.all().find(|(_, contract)| contract.name() == name).ok_or_else(|| {
            let near = sentences::nearest(name, self.all().map(|(_, contract)| contract.name()));
            let near = near.map_or_else(String::new, |near| format!(", did you mean \"{near}\"?"));
            let count = human::count(self.len(), "contract");
            Error::Usage(format!("there is no contract \"{name}\" among the {count} that were read{near}"))
        })
    }

    /// Something that was found out about a contract after it was read.
    pub fn finding(&self, (list, index): ContractIndex, field: &str, message: &str) -> Problem {
        self.lists[list].finding(index, field, message)
    }
}

/// Reads a file of events: contracts that come, change and go at given times.
///
/// # Errors
/// If it cannot be read, or something in it is wrong.
pub fn read_event_file(file: &str, network: &Network) -> Result<EventList, Error> {
    Ok(read_events(&Source::read(file)?, &network.graph)?)
}

/// Returns the first contracts with a value: `the burst of a is 10B`, `the bursts of 7 contracts (a: 10B, ...) are`.
fn first_of<T>(what: &str, all: &[(&String, String, T)]) -> String {
    const SHOWN: usize = 5;
    if let [(name, value, _)] = all {
        return format!("the {what} of \"{name}\" is {value},");
    }
    let first: Vec<String> = all.iter().take(SHOWN).map(|(name, value, _)| format!("\"{name}\": {value}")).collect();
    let more = if all.len() > SHOWN { ", ..." } else { "" };
    format!("the {what}s of {} contracts ({}{more}) are", all.len(), first.join(", "))
}
