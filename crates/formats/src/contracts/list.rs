//! Contracts with the places that they were read from.

use wayleave_contracts::Contract;

use crate::location::{Location, Span};
use crate::problem::{Problem, ProblemKind};
use crate::source::Source;
use crate::words::quoted;

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
}

impl ContractField {
    pub(crate) const COUNT: usize = 12;
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
        }
    }

    /// The field with this key.
    pub fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.key() == key)
    }
}

/// Where the fields of one contract stand: 96 bytes, so that a million contracts can be pointed at.
#[derive(Clone, Debug)]
pub(crate) struct FieldSpans {
    pub(crate) whole: Span,
    /// By [`ContractField`]; empty where the field is absent.
    pub(crate) fields: [Option<Span>; ContractField::COUNT],
}

impl FieldSpans {
    /// The value of a field; the contract's name where the field is absent or no field.
    pub(crate) fn of(&self, key: &str) -> Span {
        let span = |field: ContractField| self.fields[field as usize];
        ContractField::from_key(key).and_then(span).or_else(|| span(ContractField::Name)).unwrap_or(self.whole)
    }
}

/// The contracts of a file, in its order, and where each of their fields stands.
#[derive(Clone, Debug)]
pub struct ContractList {
    name: String,
    source: Source,
    contracts: Vec<Contract>,
    spans: Vec<FieldSpans>,
}

impl ContractList {
    pub(crate) fn new(name: String, source: Source, contracts: Vec<Contract>, spans: Vec<FieldSpans>) -> Self {
        Self { name, source, contracts, spans }
    }

    /// `metadata.name`, or the name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it was read from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The contracts, in order of the file.
    pub fn contracts(&self) -> &[Contract] {
        &self.contracts
    }

    /// The contracts, without their places.
    pub fn into_contracts(self) -> Vec<Contract> {
        self.contracts
    }

    /// Where a field of the contract with this index stands: `field` is a key of the file, such as what
    /// `ContractError::field` returns. If the contract does not have the field, where its name stands.
    ///
    /// # Panics
    /// If there is no contract with this index.
    pub fn locate(&self, index: usize, field: &str) -> Location {
        Location::new(self.source.text(), self.spans[index].of(field))
    }

    /// Something that was found out about a contract after it was read (an impossible deadline, say), as a problem at
    /// its place in the file.
    ///
    /// # Panics
    /// If there is no contract with this index.
    pub fn finding(&self, index: usize, field: &str, message: &str) -> Problem {
        finding(&self.source, &self.spans[index], field, message, &self.contracts[index].name)
    }
}

pub(crate) fn finding(source: &Source, spans: &FieldSpans, field: &str, message: &str, name: &str) -> Problem {
    Problem::at(source, spans.of(field), ProblemKind::Finding, message)
        .with_context(&format!("contract {}", quoted(name)))
}
