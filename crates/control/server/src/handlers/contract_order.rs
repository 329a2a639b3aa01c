//! Orders of the list of contracts: by a column, then by tenant and name.

use std::cmp::Ordering;
use std::sync::Arc;

use wayleave_contracts::Contract;
use wayleave_controller::{AdmittedContract, Id, State};
use wayleave_protocol::contract::Kind;
use wayleave_protocol::problem::Problem;

use crate::http::call::AuthorizedRequest;
use crate::http::page::no_cursor;
use crate::rendered::ContractObject;

/// All of a deadline, in millionths.
const WHOLE_PPM: u128 = 1_000_000;

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident $text:literal),* $(,)?) => {
        /// Column by which contracts are sorted.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub(crate) enum Column { $($(#[$doc])* $name),* }

        impl Column {
            const ALL: &[Self] = &[$(Self::$name),*];

            /// Names of the columns in queries.
            pub(crate) const NAMES: &[&str] = &[$($text),*];
        }
    };
}

columns! {
    /// Tenant, then name.
    #[default]
    Id "id",
    /// The tenant; contracts of a tenant by name.
    Tenant "tenant",
    /// Latency, bandwidth, objective, best effort.
    Kind "kind",
    /// In the order of the states of a contract: pending first, released last.
    State "state",
    /// Proven delay bound.
    Bound "bound",
    /// Reserved rate: rate, minimum, or weight.
    Rate "rate",
    /// Sending rate as agents have counted it.
    Measured "measured",
    /// Part of the deadline that the bound leaves.
    Headroom "headroom",
}

/// Direction of a sorted list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Direction {
    #[default]
    Ascending,
    Descending,
}

impl Direction {
    /// Names of the directions in queries.
    pub(crate) const NAMES: &[&str] = &["asc", "desc"];
}

/// Requested order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContractOrder {
    pub(crate) column: Column,
    direction: Direction,
}

/// Place of a contract in an order. Contracts without a value of the column are last in both directions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    order: ContractOrder,
    value: Option<u64>,
    pub(crate) id: Arc<Id>,
}

impl ContractOrder {
    /// Reads `sort` and `order`, whose values the route has checked.
    pub(crate) fn read(call: &AuthorizedRequest) -> Self {
        let number = |name, names: &[&str]| {
            let given = call.query.text(name)?;
            names.iter().position(|known| *known == given)
        };
        let column = number("sort", Column::NAMES).and_then(|at| Column::ALL.get(at).copied());
        let direction = match number("order", Direction::NAMES) {
            Some(1) => Direction::Descending,
            _ => Direction::Ascending,
        };
        Self { column: column.unwrap_or_default(), direction }
    }

    /// Returns `true` if it is the order in which contracts are stored: no contract after the page is read.
    pub(crate) fn is_stored(self) -> bool {
        self.direction == Direction::Ascending && matches!(self.column, Column::Id | Column::Tenant)
    }

    /// Returns the place of a contract with this measured rate.
    pub(crate) fn place(self, contract: &ContractObject, measured: impl FnOnce() -> Option<u64>) -> Place {
        let grant = contract.grant();
        let value = match self.column {
            Column::Id | Column::Tenant => None,
            Column::Kind => Kind::ALL.iter().position(|kind| *kind == contract.kind()).map(|at| at as u64),
            Column::State => State::ALL.iter().position(|state| *state == contract.state()).map(|at| at as u64),
            Column::Bound => grant.valid_bound().map(|bound| bound.as_nanos()),
            Column::Rate => reserved_bps(&grant.order.contract),
            Column::Measured => measured(),
            Column::Headroom => headroom_ppm(grant),
        };
        Place { order: self, value, id: contract.id().clone() }
    }

    fn name(self) -> String {
        let column = Column::ALL.iter().position(|column| *column == self.column).unwrap_or(0);
        format!("{}-{}", Column::NAMES[column], Direction::NAMES[self.direction as usize])
    }

    /// Reads a place in this order from the `after` of a page.
    pub(crate) fn parse(self, text: &str, tenant: &str) -> Result<Place, Box<Problem>> {
        let wrong = || no_cursor(text);
        let mut parts = text.splitn(3, '.');
        let (order, value, id) = (parts.next(), parts.next(), parts.next());
        order.filter(|order| *order == self.name()).ok_or_else(wrong)?;
        let value = match value {
            Some("") => None,
            Some(value) => Some(value.parse().map_err(|_| wrong())?),
            None => return Err(wrong()),
        };
        let id = id.and_then(|id| Id::parse(id, tenant).ok()).ok_or_else(wrong)?;
        Ok(Place { order: self, value, id: Arc::new(id) })
    }
}

impl Place {
    /// As `next` of a page has it.
    pub(crate) fn text(&self) -> String {
        let value = self.value.map(|value| value.to_string()).unwrap_or_default();
        format!("{}.{value}.{}", self.order.name(), self.id)
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Self) -> Ordering {
        let is_descending = self.order.direction == Direction::Descending;
        let directed = |ordering: Ordering| if is_descending { ordering.reverse() } else { ordering };
        let by_value = match (self.value, other.value) {
            (Some(one), Some(other)) => directed(one.cmp(&other)),
            // A known value is first.
            (one, other) => other.is_some().cmp(&one.is_some()),
        };
        let by_column = match self.order.column {
            Column::Id => directed(self.id.cmp(&other.id)),
            Column::Tenant => directed(self.id.tenant.cmp(&other.id.tenant)),
            _ => by_value,
        };
        by_column.then_with(|| self.id.cmp(&other.id))
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns the rate that a contract reserves: of the pair, or of each member; `None` for best effort.
pub(crate) fn reserved_bps(contract: &Contract) -> Option<u64> {
    match contract {
        Contract::Latency(terms) => Some(terms.rate.bits_per_second()),
        Contract::Bandwidth(terms) => Some(terms.min.bits_per_second()),
        Contract::Objective(terms) => Some(terms.min.bits_per_second()),
        Contract::BestEffort(_) => None,
    }
}

/// Returns the part of the deadline that the bound leaves, in millionths; `None` without a bound in force.
pub(crate) fn headroom_ppm(grant: &AdmittedContract) -> Option<u64> {
    if matches!(grant.state, State::Degraded | State::Released) {
        return None;
    }
    let (bound, deadline) = (grant.valid_bound()?.as_nanos(), grant.terms()?.deadline.as_nanos());
    let left = u128::from(deadline.saturating_sub(bound)) * WHOLE_PPM / u128::from(deadline.max(1));
    u64::try_from(left).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(column: Column, direction: Direction) -> Vec<String> {
        let order = ContractOrder { column, direction };
        let place = |(id, value): (&str, Option<u64>)| {
            let id = Arc::new(Id::parse(id, "default").unwrap());
            Place { order, value, id }
        };
        let contracts = [("b:x", Some(5)), ("a:y", None), ("a:z", Some(7)), ("b:a", Some(7)), ("a-b:q", None)];
        let mut places: Vec<Place> = contracts.into_iter().map(place).collect();
        places.sort();
        let written = places.iter().map(Place::text);
        let read: Vec<Place> = written.map(|text| order.parse(&text, "default").unwrap()).collect();
        assert_eq!(read, places, "a place survives being written");
        places.iter().map(|place| place.id.to_string()).collect()
    }

    #[test]
    fn unknown_values_are_last_in_both_directions_and_ties_are_by_name() {
        let ids = |column, direction| sorted(column, direction).join(" ");
        assert_eq!(ids(Column::Rate, Direction::Ascending), "b:x a:z b:a a:y a-b:q");
        assert_eq!(ids(Column::Rate, Direction::Descending), "a:z b:a b:x a:y a-b:q");
        assert_eq!(ids(Column::Id, Direction::Descending), "b:x b:a a-b:q a:z a:y");
        assert_eq!(ids(Column::Tenant, Direction::Descending), "b:a b:x a-b:q a:y a:z");
        assert_eq!(ids(Column::Tenant, Direction::Ascending), "a:y a:z a-b:q b:a b:x");
    }

    #[test]
    fn the_token_of_another_order_and_forged_tokens_are_refused() {
        let order = ContractOrder { column: Column::Rate, direction: Direction::Descending };
        assert!(order.parse("rate-desc.5.a:b.c", "default").is_ok(), "names have dots");
        for text in
            ["", "a:b", "rate-asc.5.a:b", "bound-desc.5.a:b", "rate-desc.-5.a:b", "rate-desc.5", "rate-desc.5.a:b:c"]
        {
            assert!(order.parse(text, "default").is_err(), "{text}");
        }
    }
}
