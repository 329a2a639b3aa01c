//! Output of the consequences of a change, actual or hypothetical.

use std::collections::BTreeMap;
use std::io::Write;

use comfy_table::Cell;
use wayleave_explain::human::count;
use wayleave_protocol::health::HealthLevel;
use wayleave_protocol::network::StateChangeResult;
use wayleave_protocol::what_if::{BrokenContract, MovedContract, WhatIfResult};
use wayleave_units::escaped;

use super::{cell, cell_of_lines, short, time, write_rows};
use crate::failure::Failure;

/// Writes the consequences of a failure or a repair.
pub(crate) fn consequences(out: &mut impl Write, came: &StateChangeResult) -> Result<(), Failure> {
    let parts = [
        ("rerouted: reserved on a new route", &came.rerouted),
        ("degraded: guarantee lost", &came.degraded),
        ("restored: reserved again", &came.restored),
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

/// Number of guarantees by the name of their level.
pub(crate) type Levels = BTreeMap<String, u64>;

/// Writes the consequences of a hypothetical change. They are changes of the present state, whose guarantees may be lost
/// or unknown already: `before` has their numbers, if there is a present state.
pub(crate) fn what_if(out: &mut impl Write, would: &WhatIfResult, before: Option<&Levels>) -> Result<(), Failure> {
    let mut parts = Parts { out, is_first: true };
    parts.broken("would lose their guarantee", &would.degraded)?;
    parts.broken("refused", &would.refused)?;
    parts.moved("would be rerouted", &would.rerouted)?;
    parts.moved("would be restored: reserved again", &would.restored)?;
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
    let not_held = before.map(not_held).unwrap_or_default();
    match (parts.is_first, not_held.is_empty()) {
        (true, true) => writeln!(out, "no contract affected")?,
        (true, false) => writeln!(out, "no further guarantee would be lost; before the change, {not_held}")?,
        (false, true) => {}
        (false, false) => writeln!(out, "\nbefore the change, {not_held}")?,
    }
    Ok(())
}

/// Returns the guarantees that do not hold, or are not known to hold: `4 guarantees are unknown`.
fn not_held(levels: &Levels) -> String {
    let states = [
        (HealthLevel::Violated, "violated or lost"),
        (HealthLevel::Unknown, "unknown"),
        (HealthLevel::Unconfirmed, "not confirmed by hosts"),
        (HealthLevel::Pending, "pending"),
    ];
    let text = states.into_iter().filter_map(|(level, state)| {
        let many = levels.get(level.name()).copied().filter(|&many| many > 0)?;
        let guarantees = count(many, "guarantee");
        Some(format!("{guarantees} {} {state}", if many == 1 { "is" } else { "are" }))
    });
    text.collect::<Vec<_>>().join(", ")
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
        what_if(&mut out, would, None).unwrap();
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

    /// Catches: a claim that a contract keeps its guarantee, or has it again: agents may be silent, packets late.
    #[test]
    fn a_new_route_is_no_claim_about_the_guarantee() {
        let moved = |id: &str| MovedContract { id: id.into(), bound_ns: None, certainty: None, routes: Vec::new() };
        let would = WhatIfResult { rerouted: vec![moved("a")], restored: vec![moved("b")], ..WhatIfResult::default() };
        let mut came = Vec::new();
        let change = StateChangeResult {
            rerouted: vec!["a".into()],
            restored: vec!["b".into()],
            ..StateChangeResult::default()
        };
        consequences(&mut came, &change).unwrap();
        for text in [shown(&would), String::from_utf8(came).unwrap()] {
            assert!(text.contains("rerouted") && text.contains("restored"), "{text}");
            assert!(!text.contains("guarantee"), "{text}");
        }
    }

    #[test]
    fn guarantees_that_are_lost_or_unknown_before_the_change_are_counted() {
        let after = |levels: [(&str, u64); 3], would: &WhatIfResult| {
            let levels = levels.map(|(level, many)| (level.to_owned(), many)).into();
            let mut out = Vec::new();
            what_if(&mut out, would, Some(&levels)).unwrap();
            String::from_utf8(out).unwrap()
        };
        let none = WhatIfResult::default();
        let text = after([("violated", 4), ("unknown", 18), ("ok", 1)], &none);
        let before = "before the change, 4 guarantees are violated or lost, 18 guarantees are unknown";
        assert_eq!(text, format!("no further guarantee would be lost; {before}\n"));
        assert_eq!(after([("violated", 0), ("unknown", 0), ("ok", 8)], &none), "no contract affected\n");
        let broken = BrokenContract { id: "acme:b".into(), reason: "FAILURE".into(), message: "no route".into() };
        let text =
            after([("violated", 1), ("pending", 0), ("ok", 1)], &WhatIfResult { degraded: vec![broken], ..none });
        assert!(text.ends_with("\nbefore the change, 1 guarantee is violated or lost\n"), "{text}");
    }
}
