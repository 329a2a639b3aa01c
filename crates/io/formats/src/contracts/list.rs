//! Contracts with the places that they were read from.

use wayleave_contracts::{Contract, DataPlane, LatencyContract, NotCarriedOut, Order};

use super::written::Written;
use crate::location::{Location, Span};
use crate::messages::quoted;
use crate::problem::{Problem, ProblemKind};
use crate::source::Source;

/// A field of a contract in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "each is the key of its name: see `ContractField::key`")]
pub enum ContractField {
    Name,
    Tenant,
    From,
    To,
    Rate,
    Burst,
    Deadline,
    Accounting,
    MinFrame,
    MaxFrame,
    Route,
    Protection,
    Priority,
    Starts,
    Ends,
    Match,
    Labels,
    Excess,
    Bandwidth,
    Objective,
    BestEffort,
}

impl ContractField {
    pub(crate) const COUNT: usize = 21;
    /// All of them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Name,
        Self::Tenant,
        Self::From,
        Self::To,
        Self::Rate,
        Self::Burst,
        Self::Deadline,
        Self::Accounting,
        Self::MinFrame,
        Self::MaxFrame,
        Self::Route,
        Self::Protection,
        Self::Priority,
        Self::Starts,
        Self::Ends,
        Self::Match,
        Self::Labels,
        Self::Excess,
        Self::Bandwidth,
        Self::Objective,
        Self::BestEffort,
    ];

    /// As it stands in files (`minFrame`).
    pub const fn key(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Tenant => "tenant",
            Self::From => "from",
            Self::To => "to",
            Self::Rate => "rate",
            Self::Burst => "burst",
            Self::Deadline => "deadline",
            Self::Accounting => "accounting",
            Self::MinFrame => "minFrame",
            Self::MaxFrame => "maxFrame",
            Self::Route => "route",
            Self::Protection => "protection",
            Self::Priority => "priority",
            Self::Starts => "starts",
            Self::Ends => "ends",
            Self::Match => "match",
            Self::Labels => "labels",
            Self::Excess => "excess",
            Self::Bandwidth => "bandwidth",
            Self::Objective => "objective",
            Self::BestEffort => "bestEffort",
        }
    }

    /// The field with this key.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.key() == key)
    }

    /// Whether its value is a mapping, which fits into no cell of a CSV file.
    pub(crate) const fn is_mapping(self) -> bool {
        matches!(self, Self::Match | Self::Labels | Self::Bandwidth | Self::Objective | Self::BestEffort)
    }

    /// Those that can be columns of a CSV file.
    pub(crate) fn columns() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|field| !field.is_mapping())
    }
}

/// Places of the fields of one contract: 176 bytes, so that a million contracts can be pointed at.
#[derive(Clone, Debug)]
pub(crate) struct FieldSpans {
    whole: Span,
    /// By [`ContractField`]; [`ABSENT`] where a contract does not have it.
    fields: [Span; ContractField::COUNT],
}

/// No place: an `Option` would need half as much again.
const ABSENT: Span = Span::nowhere();

impl FieldSpans {
    /// Of a contract that has no fields.
    pub(crate) fn new(whole: Span) -> Self {
        Self { whole, fields: [ABSENT; ContractField::COUNT] }
    }

    pub(crate) fn set(&mut self, field: ContractField, span: Span) {
        self.fields[field as usize] = span;
    }

    /// Returns `true` if the contract has the field of this key.
    fn has(&self, key: &str) -> bool {
        ContractField::from_key(key).is_some_and(|field| self.fields[field as usize] != ABSENT)
    }

    /// The value of a field; the contract's name where the field is absent or no field.
    pub(crate) fn of(&self, key: &str) -> Span {
        let span = |field: ContractField| Some(self.fields[field as usize]).filter(|span| *span != ABSENT);
        ContractField::from_key(key).and_then(span).or_else(|| span(ContractField::Name)).unwrap_or(self.whole)
    }
}

/// What a file lists, in its order, and where the fields of each item stand.
#[derive(Clone, Debug)]
pub struct Listed<T> {
    name: String,
    source: Source,
    items: Vec<T>,
    spans: Vec<FieldSpans>,
}

/// The contracts of a file.
pub type ContractList = Listed<LatencyContract>;

/// The contracts of a file, of whatever kinds.
pub type MixedList = Listed<Contract>;

/// The contracts of a file as they are written.
pub type WrittenList = Listed<Written>;

/// The orders of a file: contracts with everything that a controller needs.
pub type OrderList = Listed<Order>;

impl<T> Listed<T> {
    pub(crate) fn new(name: String, source: Source, items: Vec<T>, spans: Vec<FieldSpans>) -> Self {
        Self { name, source, items, spans }
    }

    /// `metadata.name`, or the name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it was read from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Where a field of the contract with this index stands: `field` is a key of the file, such as what
    /// `ContractError::field` returns. If the contract does not have the field, where its name stands.
    ///
    /// # Panics
    /// If there is no contract with this index.
    pub fn locate(&self, index: usize, field: &str) -> Location {
        Location::new(self.source.text(), self.spans[index].of(field))
    }

    fn problem(&self, index: usize, field: &str, message: &str, name: &str) -> Problem {
        finding(&self.source, &self.spans[index], field, message, name)
    }
}

impl ContractList {
    /// The contracts, in order of the file.
    pub fn contracts(&self) -> &[LatencyContract] {
        &self.items
    }

    /// The contracts, without their places.
    pub fn into_contracts(self) -> Vec<LatencyContract> {
        self.items
    }

    /// Something that was found out about a contract after it was read (an impossible deadline, say), as a problem at
    /// its place in the file.
    ///
    /// # Panics
    /// If there is no contract with this index.
    pub fn finding(&self, index: usize, field: &str, message: &str) -> Problem {
        self.problem(index, field, message, &self.items[index].name)
    }
}

impl From<ContractList> for MixedList {
    fn from(list: ContractList) -> Self {
        let Listed { name, source, items, spans } = list;
        Self { name, source, items: items.into_iter().map(Contract::Latency).collect(), spans }
    }
}

impl MixedList {
    /// The contracts, in order of the file.
    pub fn contracts(&self) -> &[Contract] {
        &self.items
    }

    /// The contracts, without their places.
    pub fn into_contracts(self) -> Vec<Contract> {
        self.items
    }

    /// Returns the keys that a data plane does not carry out, each with the name of its contract.
    pub fn not_carried_out(&self, by: DataPlane) -> impl Iterator<Item = (&str, NotCarriedOut)> {
        self.items.iter().zip(&self.spans).flat_map(move |(contract, spans)| {
            let found = by.not_carried_out(contract, &|key| spans.has(key));
            found.into_iter().map(|what| (contract.name(), what))
        })
    }

    /// The same list, if all its contracts are about latency.
    ///
    /// # Errors
    /// The list as it is, if another kind is among them.
    pub fn only_latency(self) -> Result<ContractList, Box<Self>> {
        if self.items.iter().any(|contract| contract.as_latency().is_none()) {
            return Err(Box::new(self));
        }
        let latency = |contract| if let Contract::Latency(contract) = contract { Some(contract) } else { None };
        let Self { name, source, items, spans } = self;
        Ok(Listed { name, source, items: items.into_iter().filter_map(latency).collect(), spans })
    }

    /// Something that was found out about a contract after it was read, as a problem at its place in the file.
    ///
    /// # Panics
    /// If there is no contract with this index.
    pub fn finding(&self, index: usize, field: &str, message: &str) -> Problem {
        self.problem(index, field, message, self.items[index].name())
    }
}

impl WrittenList {
    /// The contracts, in order of the file.
    pub fn written(&self) -> &[Written] {
        &self.items
    }

    /// Something that was found out about a contract by who knows the network, as a problem at its place in the file.
    ///
    /// # Panics
    /// If there is no contract with this index.
    pub fn finding(&self, index: usize, field: &str, message: &str) -> Problem {
        let name = self.items[index].text(ContractField::Name).unwrap_or_default();
        self.problem(index, field, message, name)
    }
}

impl OrderList {
    /// The orders, in order of the file.
    pub fn orders(&self) -> &[Order] {
        &self.items
    }

    /// The orders, without their places.
    pub fn into_orders(self) -> Vec<Order> {
        self.items
    }

    /// Something that was found out about an order after it was read, as a problem at its place in the file.
    ///
    /// # Panics
    /// If there is no order with this index.
    pub fn finding(&self, index: usize, field: &str, message: &str) -> Problem {
        self.problem(index, field, message, self.items[index].name())
    }
}

pub(crate) fn finding(source: &Source, spans: &FieldSpans, field: &str, message: &str, name: &str) -> Problem {
    Problem::at(source, spans.of(field), ProblemKind::Finding, message)
        .with_context(&format!("contract {}", quoted(name)))
}
