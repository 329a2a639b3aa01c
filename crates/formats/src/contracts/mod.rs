//! Contracts: `kind: Contracts` in YAML or JSON, and CSV.

mod csv;
mod list;
mod terms;

pub use list::{ContractField, ContractList};
pub(crate) use list::{FieldSpans, finding};
#[cfg(test)]
pub(crate) use terms::CONTRACT;
pub(crate) use terms::{Terms, Text, hop, text_of};

use std::borrow::Cow;
use std::collections::HashMap;

use wayleave_contracts::Contract;
use wayleave_topology::Network;

use crate::document::{self, Kind};
use crate::fields::{Fields, Shape};
use crate::location::Span;
use crate::problem::{InputErrors, ProblemKind, Problems};
use crate::source::Source;
use crate::tree::{Node, Value};
use crate::words::quoted;

pub(crate) const CONTRACTS_SPEC: Shape = Shape { what: "the spec of Contracts", keys: &["contracts"] };

/// Reads contracts: CSV if the name of the source ends in `.csv`, otherwise YAML or JSON.
///
/// ```
/// use wayleave_formats::{Source, parse_builder, read_contracts};
/// let network = parse_builder("star:hosts=2")?.network;
/// let csv = "name,from,to,rate,burst,deadline\nptp,h1,h2,220kbit,300B,2ms\n";
/// let list = read_contracts(&Source::new("contracts.csv", csv), &network)?;
/// assert_eq!(list.contracts()[0].name, "ptp");
/// assert_eq!((list.locate(0, "deadline").line, list.locate(0, "deadline").column), (2, 24));
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the file, in order of place.
pub fn read_contracts(source: &Source, network: &Network) -> Result<ContractList, InputErrors> {
    let mut problems = Problems::new(source);
    let mut collector = Collector::new(network);
    let name = if source.ends_in("csv") {
        csv::read(source, &mut problems, &mut collector)
    } else {
        read_document(source, &mut problems, &mut collector)
    };
    let list = name.map(|name| ContractList::new(name, source.clone(), collector.contracts, collector.spans));
    problems.finish(list)
}

fn read_document<'a>(
    source: &'a Source,
    problems: &mut Problems<'_>,
    collector: &mut Collector<'a, '_>,
) -> Option<String> {
    let document = document::read(source.text(), Kind::Contracts, problems, |item, problems| {
        collector.add_node(&item, problems);
    })?;
    let spec = Fields::read(&document.spec, &CONTRACTS_SPEC, problems)?;
    let list = spec.require("contracts", problems)?;
    if !matches!(list.value, Value::Streamed) {
        // An alias to a list elsewhere, or no list at all.
        for item in list.expect_list("contracts", problems)? {
            collector.add_node(item, problems);
        }
    }
    Some(document.name)
}

/// Checks contracts one by one and keeps those that are right.
pub(crate) struct Collector<'a, 'n> {
    network: &'n Network,
    contracts: Vec<Contract>,
    spans: Vec<FieldSpans>,
    names: HashMap<Cow<'a, str>, Span>,
    /// How many were looked at, right or wrong.
    seen: usize,
}

impl<'a, 'n> Collector<'a, 'n> {
    fn new(network: &'n Network) -> Self {
        Self { network, contracts: Vec::new(), spans: Vec::new(), names: HashMap::new(), seen: 0 }
    }

    fn add_node(&mut self, node: &Node<'a>, problems: &mut Problems<'_>) {
        let mark = problems.mark();
        match Terms::from_node(node, problems) {
            Some(terms) => self.add(&terms, problems, mark),
            None => self.seen += 1,
        }
    }

    /// Checks a contract; the problems since `mark` are about it.
    fn add(&mut self, terms: &Terms<'a>, problems: &mut Problems<'_>, mark: usize) {
        self.seen += 1;
        self.check_name(terms, problems);
        if let Some(contract) = terms.check(self.network, problems) {
            self.contracts.push(contract);
            self.spans.push(terms.spans());
        }
        if problems.mark() > mark {
            problems.explain_since(mark, || terms.context("contract", self.seen));
        }
    }

    fn check_name(&mut self, terms: &Terms<'a>, problems: &mut Problems<'_>) {
        let Some(name) = terms.get(ContractField::Name) else { return };
        if let Some(&first) = self.names.get(&*name.text) {
            let source = problems.source();
            problems.report(ProblemKind::DuplicateName, name.span, || {
                let line = source.line_of(first);
                format!("the name {} is taken: the first stands on line {line}", quoted(&name.text))
            });
        } else {
            self.names.insert(name.text.clone(), name.span);
        }
    }
}
