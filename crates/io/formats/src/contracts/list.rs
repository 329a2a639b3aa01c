//! Contracts with the places that they were read from.

use wayleave_contracts::{Contract, ContractRequest, DataPlane, LatencyContract, UnsupportedKey};

use super::field::{ContractField, FieldSpans};
use super::written::WrittenContract;
use crate::location::SourceLocation;
use crate::messages::quoted;
use crate::problem::{Problem, ProblemKind};
use crate::source::Source;

/// Items of a file in their order, with the positions of their fields.
#[derive(Clone, Debug)]
pub struct ContractItems<T> {
    name: String,
    source: Source,
    items: Vec<T>,
    spans: Vec<FieldSpans>,
}

/// The contracts of a file.
pub type ContractList = ContractItems<LatencyContract>;

/// The contracts of a file, of any kinds.
pub type MixedList = ContractItems<Contract>;

/// The contracts of a file as they are written.
pub type WrittenList = ContractItems<WrittenContract>;

/// The orders of a file: contracts with everything that a controller needs.
pub type OrderList = ContractItems<ContractRequest>;

impl<T> ContractItems<T> {
    pub(crate) fn new(name: String, source: Source, items: Vec<T>, spans: Vec<FieldSpans>) -> Self {
        Self { name, source, items, spans }
    }

    /// `metadata.name`, or the name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the source from which it was read.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the position of a field of the contract with this index: `field` is a key of the file, such as the
    /// result of `ContractError::field`. If the contract does not have the field, returns the position of its name.
    ///
    /// # Panics
    /// If there is no contract with this index.
    pub fn locate(&self, index: usize, field: &str) -> SourceLocation {
        SourceLocation::new(self.source.text(), self.spans[index].of(field))
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

    /// Returns a later finding about a contract (for example an impossible deadline) as a problem at its position in
    /// the file.
    ///
    /// # Panics
    /// If there is no contract with this index.
    pub fn finding(&self, index: usize, field: &str, message: &str) -> Problem {
        self.problem(index, field, message, &self.items[index].name)
    }
}

impl From<ContractList> for MixedList {
    fn from(list: ContractList) -> Self {
        let ContractItems { name, source, items, spans } = list;
        Self { name, source, items: items.into_iter().map(Contract::Latency).collect(), spans }
    }
}

impl MixedList {
    /// The contracts, in order of the file.
    pub fn contracts(&self) -> &[Contract] {
        &self.items
    }

    /// Returns the keys that a data plane does not carry out, each with the name of its contract.
    pub fn not_carried_out(&self, by: DataPlane) -> impl Iterator<Item = (&str, UnsupportedKey)> {
        self.items.iter().zip(&self.spans).flat_map(move |(contract, spans)| {
            let found = by.not_carried_out(contract, &|key| spans.has(key));
            found.into_iter().map(|what| (contract.name(), what))
        })
    }

    /// Returns the contracts that have no `match`, in order of the file.
    pub fn without_match(&self) -> impl Iterator<Item = &Contract> {
        self.items.iter().zip(&self.spans).filter(|(_, spans)| !spans.has("match")).map(|(contract, _)| contract)
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
    pub fn written(&self) -> &[WrittenContract] {
        &self.items
    }

    /// Returns a later finding about a contract, made with the network at hand, as a problem at its position in the
    /// file.
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
    pub fn orders(&self) -> &[ContractRequest] {
        &self.items
    }

    /// The orders, without their places.
    pub fn into_orders(self) -> Vec<ContractRequest> {
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
