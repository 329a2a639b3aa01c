//! Fields of a contract in a file, and their places.

use crate::location::Span;

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

    /// Returns the key in files (`minFrame`).
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

    /// Returns `true` if its value is a mapping, which fits into no cell of a CSV file.
    pub(crate) const fn is_mapping(self) -> bool {
        matches!(self, Self::Match | Self::Labels | Self::Bandwidth | Self::Objective | Self::BestEffort)
    }

    /// Returns the fields that can be columns of a CSV file.
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
    pub(super) fn has(&self, key: &str) -> bool {
        ContractField::from_key(key).is_some_and(|field| self.fields[field as usize] != ABSENT)
    }

    /// The value of a field; the contract's name where the field is absent or no field.
    pub(crate) fn of(&self, key: &str) -> Span {
        let span = |field: ContractField| Some(self.fields[field as usize]).filter(|span| *span != ABSENT);
        ContractField::from_key(key).and_then(span).or_else(|| span(ContractField::Name)).unwrap_or(self.whole)
    }
}

impl ContractField {
    pub(crate) const fn is_required(self) -> bool {
        matches!(self, Self::Name | Self::From | Self::To | Self::Rate | Self::Burst | Self::Deadline)
    }
}
