//! Explanations of schemes that reserve no queues: the grounds of their promises.

use std::io::{self, Write};

use wayleave_scheme_api::{Decision, Refusal, Request};
use wayleave_schemes::admitted::{AdmittedSet, Term};
use wayleave_schemes::explanation::Section;
use wayleave_topology::FlowId;
use wayleave_units::Time;

use super::page::Page;
use crate::human::Human;
use crate::sentences;
use crate::table::{write_table, write_wrapped};

/// The name of a term, and its time.
pub(super) fn term(page: &Page<'_>, term: Term) -> (String, Time) {
    let network = page.context.network;
    let words = || page.context.scheme.term_words(term);
    match term {
        Term::Processing(node, time) => (format!("processing in {}", network.node(node).name), time),
        Term::Propagation(link, time) => (format!("propagation on {}", network.link(link).name), time),
        Term::Queue(hop, time) => (sentences::queue(network, hop.link, hop.queue), time),
        Term::Own(name, time) => (words().unwrap_or_else(|| name.to_owned()), time),
        Term::OwnOfNode(name, node, time) => {
            (words().unwrap_or_else(|| format!("{name} of {}", network.node(node).name)), time)
        }
        Term::OwnOfLink(name, link, time) => {
            (words().unwrap_or_else(|| format!("{name} of {}", network.link(link).name)), time)
        }
    }
}

/// The bound, term by term.
pub(super) fn terms(out: &mut impl Write, page: &Page<'_>, decision: &Decision) -> io::Result<()> {
    let mut table = page.table(&["  term", "guaranteed"]);
    for own in page.context.scheme.terms(decision.flow) {
        let (what, time) = term(page, own);
        table.add_row([format!("  {what}"), time.up()]);
    }
    table.add_row(["  total".to_owned(), decision.bound.up()]);
    write_table(out, &mut table)
}

/// Writes the resources of an admitted flow, beside its bound.
pub(super) fn admitted(out: &mut impl Write, page: &Page<'_>, request: &Request, flow: FlowId) -> io::Result<()> {
    sections(out, page, &page.context.scheme.explain_admitted(request, flow))
}

/// Writes the additions of a scheme without queues to a refusal.
pub(super) fn refused(out: &mut impl Write, page: &Page<'_>, refusal: &Refusal) -> io::Result<()> {
    sections(out, page, &page.context.scheme.explain_refused(refusal))
}

fn sections(out: &mut impl Write, page: &Page<'_>, sections: &[Section]) -> io::Result<()> {
    for Section { title, lines, table, sentence } in sections {
        writeln!(out, "\n{title}")?;
        for line in lines {
            writeln!(out, "  {line}")?;
        }
        if let Some(rows) = table {
            let mut head: Vec<String> = rows.head.iter().map(|&head| head.to_owned()).collect();
            indent(&mut head);
            let mut table = page.table(&head.iter().map(String::as_str).collect::<Vec<_>>());
            for row in &rows.rows {
                let mut row = row.clone();
                indent(&mut row);
                table.add_row(row);
            }
            write_table(out, &mut table)?;
        }
        if let Some(sentence) = sentence {
            write_wrapped(out, sentence)?;
        }
    }
    Ok(())
}

/// The first column begins below the title's third letter.
fn indent(row: &mut [String]) {
    if let Some(first) = row.first_mut() {
        first.insert_str(0, "  ");
    }
}
