//! The text of `wayleave demo`: at most 100 columns, and colour only where it was asked for.

use std::fmt::Write;

use wayleave_units::Human;

use super::findings::{BoundTerms, Contender, Findings, LinkTier};
use super::scale::ShareOfWhole;
use super::{numbers, tables};

/// The widest line.
const WIDTH: usize = 100;
/// Number of contracts shown that came contract.
const CLOSEST: usize = 5;
/// The length of a bar.
const BAR: usize = 12;

/// Use of colours in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Text only.
    Plain,
    /// With ANSI escape sequences.
    Ansi,
}

/// Kind of painted text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Heading,
    Bar,
    Good,
    Bad,
    Quiet,
}

impl Paint {
    fn paint(self, style: Style, text: &str) -> String {
        let code = match (self, style) {
            (Self::Plain, _) => return text.to_owned(),
            (Self::Ansi, Style::Heading) => "1",
            (Self::Ansi, Style::Bar) => "36",
            (Self::Ansi, Style::Good) => "32",
            (Self::Ansi, Style::Bad) => "1;31",
            (Self::Ansi, Style::Quiet) => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// A text that grows.
struct Text {
    paint: Paint,
    text: String,
}

impl Text {
    fn line(&mut self, line: &str) {
        // Writing to a String does not fail.
        let _ = writeln!(self.text, "{}", line.trim_end());
    }

    fn heading(&mut self, heading: &str) {
        self.line("");
        let heading = self.paint.paint(Style::Heading, heading);
        self.line(&heading);
    }

    fn paragraph(&mut self, text: &str, first: &str, rest: &str) {
        for line in wrapped(text, first, rest) {
            self.line(&line);
        }
    }
}

/// The text. `report` and `picture` are where the files are.
pub fn render(findings: &Findings, report: &str, picture: &str, paint: Paint) -> String {
    let mut text = Text { paint, text: String::new() };
    let title = paint.paint(Style::Heading, "Wayleave: admission report for latency contracts");
    text.line(&title);
    text.paragraph(&numbers::introduction(findings), "", "");
    comparison(&mut text, findings);
    first_refusals(&mut text, findings);
    reasons(&mut text, findings);
    utilisation(&mut text, findings);
    if let Some(bound) = &findings.proof {
        proof(&mut text, bound);
    }
    recheck(&mut text, findings);
    verification(&mut text, findings);
    text.line("");
    text.line(&format!("Report:  {report}"));
    text.line(&format!("Picture: {picture}"));
    text.heading("Try next (after `make demo` the command is target/release/wayleave)");
    for (what, command) in numbers::next_steps(findings) {
        let what = paint.paint(Style::Quiet, &format!("# {what}"));
        text.line(&format!("  {what}"));
        text.line(&format!("  {command}"));
    }
    text.text
}

fn comparison(text: &mut Text, findings: &Findings) {
    let heads = ["", "admitted before", "admitted", "busiest", "mean time", "mean time"];
    let of_all = format!("of {}", numbers::count(findings.setting.requests));
    let second = ["", "the first refusal", of_all.as_str(), "link", "to admit", "to refuse"];
    let mut rows = vec![heads.map(str::to_owned), second.map(str::to_owned)];
    rows.extend(findings.contenders.iter().map(|contender| {
        [
            contender.name.to_owned(),
            numbers::count(contender.before_refusal),
            numbers::count(contender.admitted),
            numbers::percent(findings.busiest_share(contender)),
            numbers::duration(contender.time_to_admit),
            numbers::duration(contender.time_to_refuse),
        ]
    }));
    text.heading("Admitted requests by scheme");
    table(text, &rows, 2);
    let note = text.paint.paint(Style::Quiet, "  (The time to refuse includes the search for the reason.)");
    text.line(&note);
    text.line("");
    for contender in &findings.contenders {
        let name = format!("  {}: ", contender.name);
        text.paragraph(contender.about, &name, "    ");
    }
}

/// Columns of text, the first to the left and the others to the right; the first rows are heads.
fn table<const N: usize>(text: &mut Text, rows: &[[String; N]], heads: usize) {
    let widths: [usize; N] = std::array::from_fn(|at| rows.iter().map(|row| columns(&row[at])).max().unwrap_or(0));
    for (index, row) in rows.iter().enumerate() {
        let mut line = String::from("  ");
        for (at, cell) in row.iter().enumerate() {
            let space = " ".repeat(widths[at] - columns(cell));
            line += &if at == 0 { format!("{cell}{space}") } else { format!("   {space}{cell}") };
        }
        let line = if index < heads { text.paint.paint(Style::Quiet, &line) } else { line };
        text.line(&line);
    }
}

fn first_refusals(text: &mut Text, findings: &Findings) {
    text.heading("First refusal of each scheme");
    for contender in &findings.contenders {
        let name = format!("  {}: ", contender.name);
        text.paragraph(&numbers::first_refusal(contender), &name, "    ");
    }
}

fn reasons(text: &mut Text, findings: &Findings) {
    text.heading("All refusals, by reason");
    for contender in &findings.contenders {
        let reason = |code: &&str| {
            let count = contender.reasons.iter().find(|(reason, _)| reason == code).map_or(0, |reason| reason.1);
            format!("{code} {}", numbers::count(count))
        };
        let of: Vec<String> = tables::codes(findings).iter().map(reason).collect();
        let of = if contender.refused() == 0 { "none".to_owned() } else { of.join("   ") };
        text.line(&format!("  {:<24}{of}", contender.name));
    }
}

fn utilisation(text: &mut Text, findings: &Findings) {
    text.heading("Reserved rate of the links, tier by tier: mean (bar) and busiest");
    let names = findings.contenders.iter().map(|contender| format!("{:<28}", contender.name));
    let names = text.paint.paint(Style::Quiet, format!("  {:<14}{}", "", names.collect::<String>()).trim_end());
    text.line(&names);
    for tier in LinkTier::ALL {
        let cell = |contender: &Contender| {
            let mean = findings.tier_share(contender, tier);
            let busiest = numbers::percent(findings.tier_busiest(contender, tier));
            format!("{}{:>7}{busiest:>7}  ", text.paint.paint(Style::Bar, &bar(mean)), numbers::percent(mean))
        };
        let cells: String = findings.contenders.iter().map(cell).collect();
        text.line(&format!("  {:<14}{cells}", tier.name()));
    }
}

/// A bar in eighths of a character, on a ground of dots.
fn bar(share: ShareOfWhole) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = share.length((BAR * 8) as f64).round() as usize;
    let filled = format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8]);
    format!("{filled}{}", "·".repeat(BAR - columns(&filled)))
}

fn proof(text: &mut Text, proof: &BoundTerms) {
    text.heading("One proven delay bound by hop");
    text.paragraph(&format!("{}: {}", proof.ask.name, numbers::terms(&proof.ask)), "  ", "  ");
    let heads = ["", "priority", "delay budget", "worst case today", "flows there"];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(proof.hops.iter().map(|hop| {
        [hop.link.clone(), hop.queue.to_string(), hop.budget.down(), hop.worst_now.up(), numbers::count(hop.flows)]
    }));
    let sum = |name: &str, time: String| [name.to_owned(), String::new(), time, String::new(), String::new()];
    rows.push(sum("propagation and processing", proof.constants.up()));
    rows.push(sum("end-to-end delay bound", proof.bound.up()));
    rows.push(sum("requested deadline", proof.ask.deadline.down()));
    table(text, &rows, 1);
    text.paragraph(&numbers::about_proof(proof), "  ", "  ");
}

fn recheck(text: &mut Text, findings: &Findings) {
    text.line("");
    verdict(text, &numbers::rechecked(findings), findings.unproven());
}

/// Writes a sentence, and the violations that contradict it.
fn verdict<'a>(text: &mut Text, sentence: &str, violations: impl Iterator<Item = &'a str>) {
    let shown: Vec<&str> = violations.take(5).collect();
    let style = if shown.is_empty() { Style::Good } else { Style::Bad };
    let sentence = text.paint.paint(style, sentence);
    text.line(&sentence);
    for violation in shown {
        text.paragraph(violation, "  ", "    ");
    }
}

fn verification(text: &mut Text, findings: &Findings) {
    text.heading("Packet-level verification");
    text.paragraph(&numbers::about_verification(findings), "  ", "  ");
    let mut rows = vec![["contract", "bound", "current bound", "worst observed", "of the bound"].map(str::to_owned)];
    rows.extend(findings.verified.contracts.iter().take(CLOSEST).map(|contract| {
        [
            contract.name.clone(),
            contract.bound.up(),
            contract.today.map_or_else(|| "-".to_owned(), Human::up),
            contract.worst.up(),
            numbers::percent(contract.share()),
        ]
    }));
    table(text, &rows, 1);
    text.paragraph(&numbers::closeness(&findings.verified), "  ", "  ");
    text.line("");
    verdict(text, &numbers::verified(&findings.verified), findings.verified.violations.iter().map(String::as_str));
}

/// Lines of at most [`WIDTH`] columns; a word that is longer has a line to itself.
fn wrapped(text: &str, first: &str, rest: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        let space = usize::from(!is_empty && !line.ends_with(' '));
        if !is_empty && columns(&line) + space + columns(word) > WIDTH {
            lines.push(std::mem::replace(&mut line, rest.to_owned()));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
    lines
}

/// Returns the number of columns of a text: every character written here takes one.
fn columns(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    fn plain() -> String {
        render(&sample::findings(), "out/report.html", "out/reservations.svg", Paint::Plain)
    }

    #[test]
    fn no_line_is_wider_than_a_hundred_columns() {
        for line in plain().lines() {
            assert!(columns(line) <= WIDTH, "{} columns: {line}", columns(line));
        }
    }

    #[test]
    fn colour_changes_nothing_but_escape_sequences() {
        let painted = render(&sample::findings(), "out/report.html", "out/reservations.svg", Paint::Ansi);
        let mut stripped = String::new();
        let mut rest = painted.as_str();
        while let Some((before, after)) = rest.split_once("\x1b[") {
            stripped.push_str(before);
            rest = after.split_once('m').unwrap().1;
        }
        stripped.push_str(rest);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert!(painted.contains('\x1b') && !plain().contains('\x1b'));
        assert_eq!(words(&stripped), words(&plain()));
    }

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        let of = |percent: f64| bar(ShareOfWhole::of(percent, 100.0));
        assert_eq!(of(0.0), "·".repeat(BAR));
        assert_eq!(of(100.0), "█".repeat(BAR));
        assert_eq!(of(50.0).chars().filter(|&character| character == '█').count(), BAR / 2);
        assert!([0.0, 0.4, 33.3, 99.9, 100.0].into_iter().all(|percent| columns(&of(percent)) == BAR));
    }

    #[test]
    fn text_is_wrapped_between_words() {
        let lines = wrapped(&"word ".repeat(40), "- ", "  ");
        assert!(lines.iter().all(|line| columns(line) <= WIDTH));
        assert_eq!(lines.join(" ").matches("word").count(), 40);
        assert!(lines[0].starts_with("- word") && lines[1].starts_with("  word"));
    }
}
