//! Output of the consequences of a change, actual or hypothetical.

use std::io::Write;

use comfy_table::Cell;
use wayleave_explain::human::count;
use wayleave_protocol::network::StateChangeResult;
use wayleave_protocol::what_if::{BrokenContract, MovedContract, WhatIfResult};
use wayleave_units::escaped;

use super::{cell, cell_of_lines, short, time, write_rows};
use crate::failure::Failure;

/// Writes the consequences of a failure or a repair.
pub(crate) fn consequences(out: &mut impl Write, came: &StateChangeResult) -> Result<(), Failure> {
    let parts = [
        ("rerouted: guaranteed on a new route", &came.rerouted),
        ("degraded: guarantee lost", &came.degraded),
        ("restored: guaranteed again", &came.restored),
    ];
    if parts.iter().all(|(_, ids)| ids.is_empty()) {
        writeln!(out, "no contract affected")?;
    }
    for (title, ids) in parts.into_iter().filter(|(_, ids)| !ids.is_empty()) {
        writeln!(out, "{title} ({})", count(ids.len(), "contract"))?;
        for id in ids {
            writeln!(out, "  {}", escaped(short(id)))?;
        }
    }
    Ok(())
}

/// Writes the consequences of a hypothetical change.
pub(crate) fn what_if(out: &mut impl Write, would: &WhatIfResult) -> Result<(), Failure> {
    let mut parts = Parts { out, is_first: true };
    parts.broken("would lose their guarantee", &would.degraded)?;
    parts.broken("refused", &would.refused)?;
    parts.moved("would be rerouted and keep their guarantee", &would.rerouted)?;
    parts.moved("would be restored", &would.restored)?;
    parts.moved("admitted", &would.admitted)?;
    let certainty = would.certainty.iter();
    let certainty = certainty.map(|one| vec![cell(short(&one.id)), cell(&one.from), cell(&one.to)]);
    parts.part("certainty of the guarantee would change", &["contract", "now", "then"], certainty.collect())?;
    let deleted: Vec<Vec<Cell>> = would.deleted.iter().map(|id| vec![cell(short(id))]).collect();
    parts.part("deleted", &["contract"], deleted)?;
    let placed = would.placed.iter().map(|vm| {
        let to = vm.to.as_deref().unwrap_or("nowhere: no other host is available");
        vec![cell(short(&vm.id)), cell(&vm.from), cell(to)]
    });
    parts.part("VMs that would move", &["VM", "from", "to"], placed.collect())?;
    if parts.is_first {
        writeln!(out, "no contract affected")?;
    }
    Ok(())
}

struct Parts<'a, W> {
    out: &'a mut W,
    is_first: bool,
}

impl<W: Write> Parts<'_, W> {
    fn part(&mut self, title: &str, headings: &[&str], rows: Vec<Vec<Cell>>) -> Result<(), Failure> {
        if rows.is_empty() {
            return Ok(());
        }
        if !std::mem::take(&mut self.is_first) {
            writeln!(self.out)?;
        }
        writeln!(self.out, "{title} ({})", rows.len())?;
        write_rows(self.out, headings, rows, "")
    }

    fn moved(&mut self, title: &str, moved: &[MovedContract]) -> Result<(), Failure> {
        let rows = moved.iter().map(|one| {
            let routes: Vec<String> = one.routes.iter().map(|links| path(links)).collect();
            let bound = one.bound_ns.map(time).or_else(|| one.certainty.clone()).unwrap_or_else(|| "-".to_owned());
            vec![cell(short(&one.id)), cell(bound), cell_of_lines(&routes)]
        });
        self.part(title, &["contract", "bound", "route"], rows.collect())
    }

    fn broken(&mut self, title: &str, broken: &[BrokenContract]) -> Result<(), Failure> {
        let rows = broken.iter().map(|one| vec![cell(short(&one.id)), cell(&one.reason), cell(&one.message)]);
        self.part(title, &["contract", "reason", "why"], rows.collect())
    }
}

/// `h1 - s1 - h2` from the names of links.
fn path(links: &[String]) -> String {
    let mut text = String::new();
    for link in links {
        match link.split_once("->") {
            Some((from, to)) if text.is_empty() => text = format!("{from} - {to}"),
            Some((_, to)) => text += &format!(" - {to}"),
            None => text += &format!(" {link}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(would: &WhatIfResult) -> String {
        let mut out = Vec::new();
        what_if(&mut out, would).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn broken_contracts_are_listed_first() {
        let moved = MovedContract {
            id: "default:a".into(),
            bound_ns: Some(1500),
            certainty: None,
            routes: vec![vec!["h1->s1".into(), "s1->h2".into()]],
        };
        let broken = BrokenContract { id: "acme:b".into(), reason: "FAILURE".into(), message: "no other route".into() };
        let text = shown(&WhatIfResult { rerouted: vec![moved], degraded: vec![broken], ..WhatIfResult::default() });
        let [degraded, rerouted] = ["would lose", "would be rerouted"].map(|word| text.find(word).unwrap());
        assert!(degraded < rerouted, "{text}");
        assert!(text.contains("h1 - s1 - h2") && text.contains("1.5 us"), "{text}");
        assert_eq!(shown(&WhatIfResult::default()), "no contract affected\n");
    }
}
