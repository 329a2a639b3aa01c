//! Observation of a contract, as a column of the file.

/// Observation of a contract in an interval of minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// The contract was broken.
    Broken,
    /// The contract was kept.
    Kept,
    /// It is unknown whether the contract was kept, for the reason with this number.
    Unknown(u8),
}

impl Observed {
    pub(super) const fn to_column(self) -> i64 {
        match self {
            Self::Broken => 0,
            Self::Kept => 1,
            Self::Unknown(reason) => 2 + reason as i64,
        }
    }

    pub(super) fn of_column(column: i64) -> Self {
        match column {
            0 => Self::Broken,
            1 => Self::Kept,
            other => Self::Unknown(u8::try_from(other.saturating_sub(2)).unwrap_or(u8::MAX)),
        }
    }
}
