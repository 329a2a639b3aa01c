//! Helpers that read files of other tools, with remarks.

use wayleave_formats::{ImportOptions, Imported, InputErrors, Source, read_network};
use wayleave_topology::{Network, NodeKind};

pub(crate) fn options() -> ImportOptions {
    ImportOptions::default()
}

pub(crate) fn with_rate() -> ImportOptions {
    options().with_default_rate("10Gbit".parse::<wayleave_units::Rate>().ok())
}

#[track_caller]
pub(crate) fn read(name: &str, text: &str, options: &ImportOptions) -> Imported {
    read_network(&Source::new(name, text), options).unwrap_or_else(|errors| panic!("{errors}"))
}

/// `LINE:COLUMN MESSAGE` of everything that is wrong.
#[track_caller]
pub(crate) fn wrong(name: &str, text: &str, options: &ImportOptions) -> Vec<String> {
    let errors: InputErrors = read_network(&Source::new(name, text), options).expect_err("something is wrong");
    let message_of = |problem: &wayleave_formats::Problem| {
        let at = problem.location().expect("a place");
        format!("{}:{} {}", at.line, at.column, problem.message())
    };
    errors.problems().iter().map(message_of).collect()
}

pub(crate) fn remarks(imported: &Imported) -> Vec<String> {
    imported.remarks.iter().map(ToString::to_string).collect()
}

pub(crate) fn names(network: &Network, kind: NodeKind) -> Vec<&str> {
    network.nodes().filter(|(_, node)| node.kind == kind).map(|(_, node)| node.name.as_str()).collect()
}

/// `NAME RATE DELAY` of every link.
pub(crate) fn links(network: &Network) -> Vec<String> {
    network.links().map(|(_, link)| format!("{} {} {}", link.name, link.rate, link.propagation)).collect()
}
