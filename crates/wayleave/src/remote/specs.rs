//! Contracts of files, as a controller is asked for them.

use wayleave_contracts::ContractKind;
use wayleave_formats::{API_VERSION, ContractField, Source, Written, WrittenBody, WrittenList, read_written};
use wayleave_protocol::contract::{BandwidthSpec, BestEffortSpec, ContractSpec, Match, ObjectiveSpec, Protocol};
use wayleave_protocol::problem::Problem;

use super::trouble::{Trouble, in_file};
use super::wire::Text;
use crate::error::Error;

/// A file of contracts on its way to a controller, which says what is wrong with it in lines of what it gets.
pub enum Document {
    /// YAML or JSON goes as it is.
    AsItIs(Source),
    /// CSV becomes JSON, with each contract on a line of its own.
    Rows(WrittenList, String),
}

/// The first contract of a CSV file stands on this line of the JSON.
const FIRST_LINE: usize = 2;

impl Document {
    /// Of a file: CSV if its name ends in `.csv`.
    pub fn of(source: &Source) -> Result<Self, Error> {
        if !source.name().to_ascii_lowercase().ends_with(".csv") {
            return Ok(Self::AsItIs(source.clone()));
        }
        let list = read_written(source)?;
        let lines = list.written().iter().map(|written| serde_json::to_string(&spec(written)));
        let lines = lines.collect::<Result<Vec<_>, _>>()?;
        let head = format!(r#"{{"apiVersion":"{API_VERSION}","kind":"Contracts","spec":{{"contracts":["#);
        Ok(Self::Rows(list, format!("{head}\n{}\n]}}}}\n", lines.join(",\n"))))
    }

    /// What is sent.
    pub fn text(&self) -> Text {
        match self {
            Self::AsItIs(source) => Text { media: "application/yaml", text: source.text().to_owned() },
            Self::Rows(_, text) => Text { media: "application/json", text: text.clone() },
        }
    }

    /// What a controller says, at its place in the file if it has one there.
    pub fn locate(&self, trouble: Trouble) -> Error {
        let found = trouble.problem().and_then(|problem| match self {
            Self::AsItIs(source) => in_file(problem, source),
            Self::Rows(list, _) => in_rows(problem, list),
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

/// All contracts of a file.
pub fn read(source: &Source) -> Result<Vec<ContractSpec>, Error> {
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
