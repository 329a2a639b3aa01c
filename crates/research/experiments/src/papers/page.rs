//! The page of a paper, and the overview of all papers, in Markdown.

use super::results::Results;
use super::{HEADLINES, Headline};
use crate::catalogue::CATALOGUE;
use crate::digits::{mark, number};
use crate::entry::Paper;
use crate::reproduce::markdown::{Align, by_verdict, escaped, paragraph, row, table};
use crate::reproduce::{MeasuredBy, Tally};
use crate::statement::{Check, Claim, Effect, Statement, Verdict, claims};

/// Texts around the tables of the overview.
const OVERVIEW: &str = include_str!("overview.md.in");
/// Text above the table of all figures.
const FIGURES: &str = "# Figures\n\nThe last full measurement of each figure that was recorded, and its claims by verdict. A figure that is not measured since has the claims of that version.\n";
/// First line of each page.
const MARK: &str = "<!-- Made by `make reproduction` from results.json. Do not edit. -->\n";
/// Unit of a reduction in per cent.
const LESS: &str = "% less";
/// Number of characters of an explanation in a cell.
const MAX_EXPLANATION: usize = 150;
/// Number of characters of a measurement in words in a cell.
const MAX_MEASURED: usize = 80;

/// Returns the page of a paper.
pub(super) fn of(paper: &Paper, results: &Results) -> String {
    let heads =
        ["claim", "paper", "here", "verdict", "what would make it hold", "`wayleave reproduce`"].map(str::to_owned);
    let rows: Vec<Vec<String>> =
        HEADLINES.iter().filter(|headline| headline.paper == paper).map(|headline| cells(headline, results)).collect();
    let mut figures: Vec<&str> =
        HEADLINES.iter().filter(|headline| headline.paper == paper).map(|headline| headline.figure).collect();
    figures.dedup();
    let measured = origins(&figures, results);
    format!(
        "{MARK}# {}\n\n{}\n{}\n{}\n{}",
        paper.name,
        paragraph(&format!("{}.", escaped(paper.citation))),
        table(&heads, &rows, Align::Left),
        paragraph(&format!(
            "The last column names the figure: `wayleave reproduce FIGURE` measures it again. `wayleave reproduce claims {}` prints this page. [Method](README.md): ranges, intervals, verdicts.",
            paper.slug
        )),
        paragraph(&if measured.is_empty() { String::new() } else { format!("Measured {}.", measured.join("; ")) })
    )
}

/// Returns the versions, commits and dates of measurements, each with its figures and the number of their runs.
fn origins(figures: &[&str], results: &Results) -> Vec<String> {
    let mut all: Vec<(&MeasuredBy, Vec<String>)> = Vec::new();
    for (figure, record) in figures.iter().filter_map(|figure| Some((figure, results.figure(figure)?))) {
        let runs = record.seeds().map_or_else(String::new, |runs| format!(" ({} of {} seeds)", runs.made, runs.needed));
        let text = format!("{figure}{runs}");
        match all.iter_mut().find(|(origin, _)| **origin == record.origin) {
            Some((_, figures)) => figures.push(text),
            None => all.push((&record.origin, vec![text])),
        }
    }
    let text = |(origin, figures): (&MeasuredBy, Vec<String>)| {
        let commit = origin.commit.as_ref().map_or_else(String::new, |commit| format!(" (commit {commit})"));
        let date = origin.date.as_ref().map_or_else(String::new, |date| format!(" on {date}"));
        format!("by {}{commit}{date}: {}", origin.version, figures.join(", "))
    };
    all.into_iter().map(text).collect()
}

fn cells(headline: &Headline, results: &Results) -> Vec<String> {
    let statements = results.statements(headline);
    let claim = claims(statements.iter().copied()).into_iter().next();
    let (here, verdict, closes) = match &claim {
        None => (String::new(), missing(headline, results), headline.open.to_owned()),
        Some(claim) => (here(claim, headline), claim.verdict().name(), closes(claim, headline)),
    };
    let text = format!("{} ({})", headline.claim, headline.section);
    [&text, headline.paper_value, &here, verdict, &closes, headline.figure].map(escaped).to_vec()
}

/// Returns the reason why a claim has no measurement.
fn missing(headline: &Headline, results: &Results) -> &'static str {
    match results.figure(headline.figure) {
        Some(_) => "not measured since its definition changed",
        None => "not measured",
    }
}

/// Returns the measurement of the default reading, and that of the reading under which the claim holds. Readings are named where there
/// are several.
fn here(claim: &Claim<'_>, headline: &Headline) -> String {
    let [first, others @ ..] = &claim.readings[..] else { return String::new() };
    let named = |of: &Statement| named(of, headline.unit);
    let decisive = claim.decisive();
    match others {
        [] => shown(first, headline.unit),
        _ if decisive.reading != first.reading => format!("{}; {}", named(first), named(decisive)),
        _ => named(first),
    }
}

/// Returns the mean with its interval, or the least and the largest number where a claim is about all of them; words where only a truth
/// was measured.
pub(super) fn shown(statement: &Statement, unit: &str) -> String {
    let with_unit = |text: String| match unit {
        "" => text,
        "x" => format!("{text}x"),
        LESS => format!("{text} %"),
        _ => format!("{text} {unit}"),
    };
    let text = |value: f64| match unit {
        _ if !value.is_finite() => "never".to_owned(),
        // A reduction is shown as the text prints it: -40 % is 40 % less.
        LESS if value < 0.0 => format!("+{}", mark(-value)),
        LESS => mark(-value),
        _ => mark(value),
    };
    let numbers = statement.estimate;
    let middle = with_unit(text(numbers.value));
    let interval = numbers.interval.map(|[low, high]| if unit == LESS { [high, low] } else { [low, high] });
    match interval.map(|ends| ends.map(text)) {
        _ if unit == "words" => short(&statement.measured, MAX_MEASURED),
        Some([low, high]) if low != high && statement.check == Check::Mean => format!("{middle} ({low} to {high})"),
        Some([low, high]) if high == "never" => format!("{} to {high}", with_unit(low)),
        Some([low, high]) if low != high => with_unit(format!("{low} to {high}")),
        _ => middle,
    }
}

/// Returns the number of readings that hold, and the first one that does not.
fn by_reading(claim: &Claim<'_>, headline: &Headline) -> String {
    let (hold, others): (Vec<&Statement>, Vec<&Statement>) = claim.readings.iter().partition(|of| of.is_held());
    if others.is_empty() {
        return format!("it holds in all {} readings", claim.readings.len());
    }
    let more = if others.len() > 1 { format!(", and {} more", others.len() - 1) } else { String::new() };
    let first = named(others[0], headline.unit);
    format!("it holds in {} of {} readings; not: {first}{more}", hold.len(), claim.readings.len())
}

/// Returns the measurement with its reading.
fn named(of: &Statement, unit: &str) -> String {
    let reading = if of.reading.is_empty() { "default" } else { &of.reading };
    format!("{reading}: {}", shown(of, unit))
}

/// Returns the reading, the experiment or the runs that the verdict depends on.
fn closes(claim: &Claim<'_>, headline: &Headline) -> String {
    let statement = claim.decisive();
    match claim.verdict() {
        Verdict::Holds if claim.readings.len() > 1 => by_reading(claim, headline),
        Verdict::Holds | Verdict::NotCompared => String::new(),
        Verdict::HoldsUnderReading => match (statement.is_held(), claim.named_reading()) {
            (true, _) => {
                let hold = claim.readings.iter().filter(|of| of.is_held()).count();
                format!("the second reading; {hold} of {} hold", claim.readings.len())
            }
            (_, name) => format!("experiment: {}", short(name.unwrap_or_default(), MAX_EXPLANATION)),
        },
        Verdict::Undecided => statement.undecided_because().unwrap_or_default(),
        Verdict::PartlyExplained => match statement.explanation() {
            Some((experiment, Effect::Moves { by, of })) => {
                let part = match 100.0 * by / of {
                    percent if percent.is_finite() => {
                        format!("moves it by {} of {} ({percent:.0} %)", number(by), number(of))
                    }
                    _ => "ends, where it does not end without".to_owned(),
                };
                let open = Some(headline.open).filter(|open| !open.is_empty()).map(|open| format!("; {open}"));
                format!("{}; {part}{}", short(&experiment.name, MAX_EXPLANATION), open.unwrap_or_default())
            }
            _ => String::new(),
        },
        Verdict::Unexplained => {
            match [headline.open, &statement.hypothesis].into_iter().find(|text| !text.is_empty()) {
                Some(hypothesis) => format!("hypothesis: {}", short(hypothesis, MAX_EXPLANATION)),
                None => "unknown".to_owned(),
            }
        }
    }
}

/// Returns the first part of a text that is too long for a cell.
fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let cut: String = text.chars().take(most).collect();
    // The point of an abbreviation ends no sentence.
    let sentence = cut.rmatch_indices(". ").map(|(at, _)| at).find(|&at| !cut[..at].ends_with("Fig"));
    let part = ["; ", ": ", ", "].iter().filter_map(|mark| cut.rfind(mark)).max();
    let end = sentence.max(part).unwrap_or(cut.len());
    cut[..end].to_owned()
}

/// Returns the overview: the method, and the headline claims of each paper by verdict.
pub(super) fn overview(papers: &[&Paper], results: &Results) -> String {
    let tally = |paper: &Paper| {
        let of_paper = HEADLINES.iter().filter(|headline| headline.paper == paper);
        Tally::of(of_paper.flat_map(|headline| results.statements(headline)))
    };
    let rows: Vec<Vec<String>> =
        papers.iter().map(|paper| row(&format!("[{}]({}.md)", paper.name, paper.slug), &tally(paper))).collect();
    format!("{MARK}{OVERVIEW}\n{}", by_verdict("headline claims", &rows))
}

/// Returns the page of all figures: the last full measurement of each, and its claims by verdict.
pub(super) fn figures(results: &Results) -> String {
    let rows = CATALOGUE.iter().map(|entry| match results.figure(entry.id) {
        None => [entry.id, "no record"].map(str::to_owned).into_iter().chain(vec![String::new(); 8]).collect(),
        Some(record) => {
            let commit = record.origin.commit.as_deref().unwrap_or("unknown");
            let seeds = record.seeds().map_or_else(String::new, |runs| format!("{} of {}", runs.made, runs.needed));
            let measured = [record.origin.version.clone(), commit.to_owned(), seeds];
            let counts = record.claims.map_or_else(|| vec![String::new(); 6], |tally| tally.cells().to_vec());
            [entry.id.to_owned()].into_iter().chain(measured).chain(counts).collect()
        }
    });
    let heads = ["figure", "version", "commit", "seeds"].into_iter().chain(Verdict::ALL.map(Verdict::name));
    let heads: Vec<String> = heads.map(str::to_owned).collect();
    let rows: Vec<Vec<String>> = rows.collect();
    format!("{MARK}{FIGURES}\n{}", table(&heads, &rows, Align::NumbersRight))
}
