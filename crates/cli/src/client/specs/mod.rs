//! Contracts of files in the types of the REST interface, and the controller's errors at their places in a file.

mod file;

use std::fmt::Write;

use wayleave_contracts::ContractKind;
use wayleave_formats::{
    ContractField, FIRST_LINE, Listing, Source, WrittenBody, WrittenContract, WrittenList, contracts_document, located,
    read_listing, read_written,
};
use wayleave_protocol::contract::{BandwidthSpec, BestEffortSpec, ContractSpec, Match, ObjectiveSpec, Protocol};
use wayleave_protocol::problem::{FieldError, Problem};

use super::{RequestError, Text};
use crate::failure::Failure;

pub(crate) use file::write;

/// A file of contracts to be sent to a controller; it maps errors to lines of the user's file.
pub(crate) enum Document {
    /// YAML or JSON goes as it is.
    AsItIs(Source),
    /// CSV becomes JSON, with each contract on a line of its own.
    Rows(WrittenList, String),
    /// Output of `get contracts -o json`, without the fields that the server has written.
    Listed(SpecListing),
}

/// A listing to be sent to a controller.
pub(crate) struct SpecListing {
    source: Source,
    listing: Listing,
    text: String,
}

impl Document {
    /// Reads a file: CSV if its name ends in `.csv`, a listing if it is output of `get contracts -o json`.
    pub(crate) fn of(source: &Source) -> Result<Self, Failure> {
        if let Some(listing) = read_listing(source) {
            let listing = listing?;
            let text = listing.document();
            return Ok(Self::Listed(SpecListing { source: source.clone(), listing, text }));
        }
        if !is_csv(source) {
            return Ok(Self::AsItIs(source.clone()));
        }
        let list = read_written(source)?;
        let specs = list.written().iter().map(|written| serde_json::to_string(&spec(written)));
        let text = contracts_document(specs.collect::<Result<Vec<_>, _>>()?);
        Ok(Self::Rows(list, text))
    }

    /// Returns its contracts.
    pub(crate) fn specs(&self) -> Result<Vec<ContractSpec>, Failure> {
        match self {
            Self::AsItIs(source) => read(source),
            Self::Rows(list, _) => Ok(list.written().iter().map(spec).collect()),
            Self::Listed(listed) => specs(&listed.listing, &listed.source),
        }
    }

    /// Returns the identities of contracts that are left out: those of a listing that are released.
    pub(crate) fn left_out(&self) -> &[String] {
        match self {
            Self::Listed(listed) => &listed.listing.released,
            Self::AsItIs(_) | Self::Rows(..) => &[],
        }
    }

    /// Returns `true` if it is a listing without contracts that could be applied.
    pub(crate) fn is_empty_listing(&self) -> bool {
        matches!(self, Self::Listed(listed) if listed.listing.contracts.is_empty())
    }

    /// Returns the body of a request that carries the document.
    pub(crate) fn text(&self) -> Text {
        let (media, text) = match self {
            Self::AsItIs(source) => ("application/yaml", source.text()),
            Self::Rows(_, text) | Self::Listed(SpecListing { text, .. }) => ("application/json", text.as_str()),
        };
        Text { media, text: text.to_owned() }
    }

    /// Returns the error of a request that carried the document, at its place in the file if the controller names one.
    pub(crate) fn locate(&self, error: RequestError) -> Failure {
        let found = error.problem().and_then(|problem| match self {
            Self::AsItIs(source) => in_file(problem, source),
            Self::Rows(list, _) => in_rows(problem, list),
            Self::Listed(listed) => in_listing(problem, listed),
        });
        found.map_or_else(|| error.into(), Failure::Located)
    }
}

/// Returns the contracts of a listing in the types of the interface.
///
/// # Errors
/// The first contract with a value of another type than the server writes, at its identity.
fn specs(listing: &Listing, source: &Source) -> Result<Vec<ContractSpec>, Failure> {
    let spec = |(place, contract): (usize, &serde_json::Map<String, serde_json::Value>)| {
        serde_json::from_value(contract.clone().into()).map_err(|error| {
            let id = listing.id(place).unwrap_or_default();
            Failure::Located(located(source, &format!("\"{id}\""), &format!("contract {id}: {error}")).to_string())
        })
    };
    listing.contracts.iter().enumerate().map(spec).collect()
}

/// Returns what a controller has found in a file, at its places, or `None` if it names no place there.
fn in_file(problem: &Problem, source: &Source) -> Option<String> {
    let found: Vec<&FieldError> = problem.errors.iter().filter(|error| error.line.is_some()).collect();
    if found.is_empty() {
        return None;
    }
    let mut text = String::new();
    for (index, error) in found.into_iter().enumerate() {
        let (line, column) = (error.line.unwrap_or(1), error.column.unwrap_or(1));
        let gap = if index == 0 { "" } else { "\n\n" };
        // Writing to a string does not fail.
        let _ = write!(text, "{gap}{}", source.finding_at(line, column, &error.detail));
    }
    Some(text)
}

fn in_rows(problem: &Problem, list: &WrittenList) -> Option<String> {
    let found = problem.errors.iter().filter_map(|error| {
        let row = error.line?.checked_sub(FIRST_LINE).filter(|row| *row < list.written().len())?;
        Some(list.finding(row, "name", &error.detail).to_string())
    });
    let found: Vec<String> = found.collect();
    (!found.is_empty()).then(|| found.join("\n\n"))
}

/// Errors that a controller has found in a listing, at the identities of the contracts.
fn in_listing(problem: &Problem, SpecListing { source, listing, .. }: &SpecListing) -> Option<String> {
    let found = problem.errors.iter().filter_map(|error| {
        let id = listing.id(error.line?.checked_sub(FIRST_LINE)?)?;
        Some(located(source, &format!("\"{id}\""), &error.detail).to_string())
    });
    let found: Vec<String> = found.collect();
    (!found.is_empty()).then(|| found.join("\n\n"))
}

fn is_csv(source: &Source) -> bool {
    source.name().to_ascii_lowercase().ends_with(".csv")
}

/// All contracts of a file, or of a listing without those that are released.
pub(crate) fn read(source: &Source) -> Result<Vec<ContractSpec>, Failure> {
    if let Some(listing) = read_listing(source) {
        return specs(&listing?, source);
    }
    Ok(read_written(source)?.written().iter().map(spec).collect())
}

fn spec(written: &WrittenContract) -> ContractSpec {
    let text = |field| written.text(field).map(str::to_owned);
    let body = |kind| written.body.as_ref().filter(|body| body.kind == kind);
    // A malformed number is sent as an invalid one, so that the controller reports the expected form.
    let number = |field| text(field).map(|text| text.parse::<u32>().unwrap_or(u32::MAX));
    ContractSpec {
        name: text(ContractField::Name),
        tenant: text(ContractField::Tenant),
        from: text(ContractField::From),
        to: text(ContractField::To),
        rate: text(ContractField::Rate),
        burst: text(ContractField::Burst),
        deadline: text(ContractField::Deadline),
        accounting: text(ContractField::Accounting),
        min_frame: text(ContractField::MinFrame),
        max_frame: text(ContractField::MaxFrame),
        route: written.route.clone(),
        protection: number(ContractField::Protection),
        excess: text(ContractField::Excess),
        priority: number(ContractField::Priority).map(|number| u8::try_from(number).unwrap_or(u8::MAX)),
        starts: text(ContractField::Starts),
        ends: text(ContractField::Ends),
        labels: written.labels.clone(),
        matching: written.matching.map(matching),
        bandwidth: body(ContractKind::Bandwidth).map(bandwidth),
        objective: body(ContractKind::Objective).map(objective),
        best_effort: body(ContractKind::BestEffort)
            .map(|body| BestEffortSpec { members: members(body), max: body.text("max").map(str::to_owned) }),
    }
}

fn members(body: &WrittenBody) -> Vec<String> {
    body.members.as_ref().map(|(_, names)| names.clone()).unwrap_or_default()
}

fn bandwidth(body: &WrittenBody) -> BandwidthSpec {
    let text = |key| body.text(key).map(str::to_owned);
    BandwidthSpec {
        from: text("from"),
        to: text("to"),
        hose: body.members.as_ref().map(|(_, names)| names.clone()),
        min: text("min").unwrap_or_default(),
        max: text("max"),
        // A weight of zero is always refused.
        weight: text("weight").map(|weight| weight.parse().unwrap_or(0)),
        within: text("within"),
    }
}

fn objective(body: &WrittenBody) -> ObjectiveSpec {
    let text = |key| body.text(key).map(str::to_owned);
    let (goal, deadline, weight) = (text("goal"), text("deadline"), text("weight").unwrap_or_default());
    ObjectiveSpec { goal, deadline, members: members(body), weight }
}

fn matching(one: wayleave_contracts::Match) -> Match {
    let protocol = |protocol: wayleave_contracts::Protocol| Protocol::Number(protocol.number());
    Match {
        protocol: one.protocol.map(protocol),
        source_address: one.source_address.map(|address| address.to_string()),
        source_port: one.source_port.map(std::num::NonZeroU16::get),
        destination_address: one.destination_address.map(|address| address.to_string()),
        destination_port: one.destination_port.map(std::num::NonZeroU16::get),
    }
}

#[cfg(test)]
mod tests {
    use wayleave_protocol::problem::{Code, FieldError};

    use super::*;

    const CSV: &str =
        "name,from,to,rate,burst,deadline,route\na,h1,h2,1Mbit,300B,2ms,\n\nb,h1,hx,1Mbit,300B,2ms,h1->s1:0 s1->h2:0\n";

    #[test]
    fn an_error_in_a_row_is_shown_in_the_row() {
        let document = Document::of(&Source::new("c.csv", CSV)).unwrap();
        let text = document.text().text;
        assert!(text.lines().nth(FIRST_LINE).unwrap().contains(r#""to":"hx""#), "{text}");
        assert!(text.contains(r#""route":["h1->s1:0","s1->h2:0"]"#), "{text}");
        let mut problem = Problem::new(Code::Invalid, "one");
        let (line, column) = (Some(FIRST_LINE + 1), Some(30));
        problem.errors = vec![FieldError { line, column, field: None, detail: "there is no hx".into() }];
        let message = document.locate(RequestError::Problem(Box::new(problem), None)).to_string();
        assert!(message.starts_with("c.csv:4:1: there is no hx\n   4 | b,h1,hx"), "{message}");
    }

    /// A value of another type is bad input with a place, and no failure of the program.
    #[test]
    fn a_wrong_type_in_a_listing_is_refused_at_the_identity_of_its_contract() {
        let contract = r#"{ "id": "t:a", "name": "a", "tenant": "t", "bestEffort": { "members": ["h1", "h2"] }, "priority": "7", "status": {} }"#;
        let source = Source::new("c.json", format!("{{ \"items\": [\n  {contract}\n] }}"));
        for refused in [read(&source).unwrap_err(), Document::of(&source).unwrap().specs().unwrap_err()] {
            let text = refused.to_string();
            assert!(matches!(refused, Failure::Located(_)), "{refused:?}");
            assert!(text.starts_with("c.json:2:11: contract t:a: invalid type"), "{text}");
        }
    }
}
