//! Contracts of files, as a controller is asked for them.

use wayleave_contracts::ContractKind;
use wayleave_formats::{ContractField, Source, Written, WrittenBody, WrittenList, read_written};
use wayleave_protocol::contract::{BandwidthSpec, BestEffortSpec, ContractSpec, Match, ObjectiveSpec, Protocol};
use wayleave_protocol::problem::Problem;

use super::trouble::{Trouble, in_file};
use super::wire::Text;
use crate::error::Error;
use crate::listing::{self, FIRST_LINE, Listing, lines, located};

/// A file of contracts on its way to a controller, which says what is wrong with it in lines of what it gets.
pub enum Document {
    /// YAML or JSON goes as it is.
    AsItIs(Source),
    /// CSV becomes JSON, with each contract on a line of its own.
    Rows(WrittenList, String),
    /// Reads the output of `get contracts -o json` in the same way, without the fields that the server has written.
    Listed(Listed),
}

/// A listing on its way to a controller.
pub struct Listed {
    source: Source,
    listing: Listing,
    text: String,
}

impl Document {
    /// Of a file: CSV if its name ends in `.csv`, a listing if it is what `get contracts -o json` prints.
    pub fn of(source: &Source) -> Result<Self, Error> {
        if let Some(listing) = listing::read(source) {
            let listing = listing?;
            let text = lines(&listing.specs)?;
            return Ok(Self::Listed(Listed { source: source.clone(), listing, text }));
        }
        if !is_csv(source) {
            return Ok(Self::AsItIs(source.clone()));
        }
        let list = read_written(source)?;
        let specs: Vec<ContractSpec> = list.written().iter().map(spec).collect();
        let text = lines(&specs)?;
        Ok(Self::Rows(list, text))
    }

    /// Returns its contracts.
    pub fn specs(&self) -> Result<Vec<ContractSpec>, Error> {
        match self {
            Self::AsItIs(source) => read(source),
            Self::Rows(list, _) => Ok(list.written().iter().map(spec).collect()),
            Self::Listed(listed) => Ok(listed.listing.specs.clone()),
        }
    }

    /// Returns the identities of contracts that are left out: those of a listing that are released.
    pub fn left_out(&self) -> &[String] {
        match self {
            Self::Listed(listed) => &listed.listing.released,
            Self::AsItIs(_) | Self::Rows(..) => &[],
        }
    }

    /// Returns `true` if it is a listing without contracts that could be applied.
    pub fn is_empty_listing(&self) -> bool {
        matches!(self, Self::Listed(listed) if listed.listing.specs.is_empty())
    }

    /// What is sent.
    pub fn text(&self) -> Text {
        match self {
            Self::AsItIs(source) => Text { media: "application/yaml", text: source.text().to_owned() },
            Self::Rows(_, text) | Self::Listed(Listed { text, .. }) => {
                Text { media: "application/json", text: text.clone() }
            }
        }
    }

    /// What a controller says, at its place in the file if it has one there.
    pub fn locate(&self, trouble: Trouble) -> Error {
        let found = trouble.problem().and_then(|problem| match self {
            Self::AsItIs(source) => in_file(problem, source),
            Self::Rows(list, _) => in_rows(problem, list),
            Self::Listed(listed) => in_listing(problem, listed),
        });
        found.map_or_else(|| trouble.into(), Error::Located)
    }
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
fn in_listing(problem: &Problem, Listed { source, listing, .. }: &Listed) -> Option<String> {
    let found = problem.errors.iter().filter_map(|error| {
        let spec = listing.specs.get(error.line?.checked_sub(FIRST_LINE)?)?;
        let id = [spec.tenant.as_deref(), spec.name.as_deref()].map(Option::unwrap_or_default).join(":");
        Some(located(source, &format!("\"{id}\""), &error.detail).to_string())
    });
    let found: Vec<String> = found.collect();
    (!found.is_empty()).then(|| found.join("\n\n"))
}

fn is_csv(source: &Source) -> bool {
    source.name().to_ascii_lowercase().ends_with(".csv")
}

/// All contracts of a file, or of a listing without those that are released.
pub fn read(source: &Source) -> Result<Vec<ContractSpec>, Error> {
    if let Some(listing) = listing::read(source) {
        return Ok(listing?.specs);
    }
    Ok(read_written(source)?.written().iter().map(spec).collect())
}

fn spec(written: &Written) -> ContractSpec {
    let text = |field| written.text(field).map(str::to_owned);
    let body = |kind| written.body.as_ref().filter(|body| body.kind == kind);
    // A number that is none goes as one that nobody accepts, so that it is the controller who says what is expected.
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
        best_effort: body(ContractKind::BestEffort).map(|body| BestEffortSpec { members: members(body) }),
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
        // Nobody accepts a weight of zero.
        weight: text("weight").map(|weight| weight.parse().unwrap_or(0)),
        within: text("within"),
    }
}

fn objective(body: &WrittenBody) -> ObjectiveSpec {
    let text = |key| body.text(key).map(str::to_owned);
    let (aim, deadline, min) = (text("aim"), text("deadline"), text("min").unwrap_or_default());
    ObjectiveSpec { aim, deadline, members: members(body), min }
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
    fn what_is_wrong_with_a_row_is_shown_in_the_row() {
        let document = Document::of(&Source::new("c.csv", CSV)).unwrap();
        let text = document.text().text;
        assert!(text.lines().nth(FIRST_LINE).unwrap().contains(r#""to":"hx""#), "{text}");
        assert!(text.contains(r#""route":["h1->s1:0","s1->h2:0"]"#), "{text}");
        let mut problem = Problem::new(Code::Invalid, "one");
        let (line, column) = (Some(FIRST_LINE + 1), Some(30));
        problem.errors = vec![FieldError { line, column, field: None, detail: "there is no hx".into() }];
        let said = document.locate(Trouble::Problem(Box::new(problem), None)).to_string();
        assert!(said.starts_with("c.csv:4:1: there is no hx\n   4 | b,h1,hx"), "{said}");
    }
}
