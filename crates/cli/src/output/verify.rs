//! `verify` for people and programs: the worst that was seen of every promise.

use std::io::Write;

use comfy_table::{Cell, Color};
use serde::Serialize;
use wayleave_units::Time;
use wayleave_verify::{Attack, Claim, Effort, Report};

use super::human::{Human, count};
use super::table::{plain_table, write_table};
use super::{is_colourful, out};
use crate::commands::verify::fingerprint;
use crate::failure::Failure;

/// How many contracts are shown unless all are asked for.
const SHOWN: usize = 40;

/// A verification, and what it is about.
pub(crate) struct Verified<'a> {
    pub(crate) topology: &'a str,
    pub(crate) claim: &'a Claim,
    pub(crate) report: &'a Report,
    pub(crate) effort: Effort,
    /// Whom the search was for, if somebody was named.
    pub(crate) chosen: Option<usize>,
    /// What was broken on purpose.
    pub(crate) fault: Option<String>,
    /// How the command was called.
    pub(crate) command: Vec<String>,
}

impl Verified<'_> {
    /// The command that makes an attack again.
    pub(crate) fn replay(&self, attack: &Attack) -> String {
        let mut words: Vec<String> = self.command.iter().map(|word| quoted(word)).collect();
        words.push(format!("--replay {attack}"));
        words.join(" ")
    }

    /// The numbers of the promises: the one that was named, then those that came closest to their limits.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.claim.promises.len()).collect();
        let share = |number| self.report.share(self.claim, number);
        order.sort_by(|&a, &b| share(b).total_cmp(&share(a)));
        // False comes before true, and the sort is stable.
        order.sort_by_key(|&number| Some(number) != self.chosen);
        order
    }

    fn shares(&self) -> (f64, f64) {
        let shares: Vec<f64> = self.order().into_iter().map(|number| self.report.share(self.claim, number)).collect();
        let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
        (mean, shares.into_iter().fold(0.0, f64::max))
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=:,./@+%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// What is left of a bound, in percent; below zero if it is exceeded.
fn margin(bound: Time, delay_ps: u64) -> f64 {
    let bound = bound.as_nanos().max(1) as f64 * 1e3;
    100.0 * (bound - delay_ps as f64) / bound
}

/// Prints a table, and what sums it up.
pub(crate) fn table(verified: &Verified<'_>, show_all: bool) -> Result<(), Failure> {
    let Verified { claim, report, .. } = verified;
    let mut out = out();
    let shown = if show_all { usize::MAX } else { SHOWN };
    let order = verified.order();
    if !order.is_empty() {
        let headings = ["contract", "bound", "worst seen", "margin", "calculus", "seen of it", "drops", "by"];
        let mut table = plain_table(&headings);
        for &number in order.iter().take(shown) {
            table.add_row(row(verified, number));
        }
        write_table(&mut out, &mut table)?;
    }
    if let Some(more) = order.len().checked_sub(shown).filter(|&more| more > 0) {
        writeln!(out, "... and {more} that stayed further below (--all shows them, -o json has everything)")?;
    }
    let packets: u64 = report.findings.iter().map(|finding| finding.packets).sum();
    let runs = count(usize::try_from(report.runs).unwrap_or(usize::MAX), "run");
    writeln!(
        out,
        "{}{}, {runs}, {packets} of their packets: {}",
        if order.is_empty() { "" } else { "\n" },
        count(claim.promises.len(), "contract"),
        match report.violations.len() {
            0 => "every promise held".to_owned(),
            broken => count(broken, "broken promise"),
        }
    )?;
    if !order.is_empty() {
        let (mean, most) = verified.shares();
        let limit = match claim.promises.iter().any(|promise| promise.today.is_some()) {
            true => "the calculus says for this set",
            false => "was promised",
        };
        writeln!(
            out,
            "the worst delays seen are {:.0} % of what {limit} on average, {:.1} % at most",
            100.0 * mean,
            100.0 * most
        )?;
    }
    Ok(out.flush()?)
}

fn row(verified: &Verified<'_>, number: usize) -> Vec<Cell> {
    let (promise, finding) = (&verified.claim.promises[number], &verified.report.findings[number]);
    let left = margin(promise.bound, finding.delay_ps);
    let margin = Cell::new(format!("{left:.1} %"));
    let is_late = finding.delay_ps > promise.bound.as_nanos() * 1_000;
    let seen = finding.attack.is_some();
    vec![
        Cell::new(shortened(&promise.name)),
        Cell::new(promise.bound.up()),
        Cell::new(if seen { finding.delay().up() } else { "nothing".to_owned() }),
        if is_late && is_colourful() { margin.fg(Color::Red) } else { margin },
        Cell::new(promise.today.map_or_else(|| "-".to_owned(), Human::up)),
        Cell::new(format!("{:.1} %", 100.0 * verified.report.share(verified.claim, number))),
        Cell::new(finding.drops),
        Cell::new(finding.attack.as_ref().map_or_else(String::new, pattern)),
    ]
}

/// An attack without its shifts, which -o json has.
fn pattern(attack: &Attack) -> String {
    let text = attack.to_string();
    let mut parts = text.splitn(3, ',');
    let (pattern, seed) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    format!("{pattern},{seed}{}", if parts.next().is_some() { " searched" } else { "" })
}

/// A name that leaves room for other columns.
fn shortened(name: &str) -> String {
    const LONGEST: usize = 20;
    let mut shown: String = name.chars().take(LONGEST).collect();
    if name.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}

#[derive(Serialize)]
struct Shape<'a> {
    wayleave: &'static str,
    topology: &'a str,
    /// Of the network and all promises.
    input_hash: String,
    effort: EffortShape,
    /// What was broken on purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<&'a str>,
    contracts: Vec<ContractShape<'a>>,
    violations: Vec<ViolationShape<'a>>,
    summary: SummaryShape,
}

#[derive(Serialize)]
struct EffortShape {
    seed: u64,
    seeds: u32,
    victims: usize,
    rounds: u32,
    searched: usize,
    packet_hops: u64,
}

#[derive(Serialize)]
struct ContractShape<'a> {
    name: &'a str,
    bound_ns: u64,
    /// What the calculus says for the present set.
    today_ns: Option<u64>,
    /// `None` if no packet of it arrived.
    worst_ps: Option<u64>,
    margin_percent: f64,
    packets: u64,
    drops: u64,
    attack: Option<String>,
}

#[derive(Serialize)]
struct ViolationShape<'a> {
    name: &'a str,
    message: String,
    attack: String,
    replay: String,
}

#[derive(Serialize)]
struct SummaryShape {
    contracts: usize,
    runs: u64,
    packet_hops: u64,
    violations: usize,
    mean_share_of_calculus: f64,
    most_share_of_calculus: f64,
}

/// Prints one document, contracts in the order in which they were admitted.
pub(crate) fn json(verified: &Verified<'_>) -> Result<(), Failure> {
    let Verified { claim, report, effort, .. } = verified;
    let contracts = claim.promises.iter().zip(&report.findings).map(|(promise, finding)| ContractShape {
        name: &promise.name,
        bound_ns: promise.bound.as_nanos(),
        today_ns: promise.today.map(|today| today.as_nanos()),
        worst_ps: finding.attack.as_ref().map(|_| finding.delay_ps),
        margin_percent: margin(promise.bound, finding.delay_ps),
        packets: finding.packets,
        drops: finding.drops,
        attack: finding.attack.as_ref().map(ToString::to_string),
    });
    let violations = report.violations.iter().map(|violation| ViolationShape {
        name: &claim.promises[violation.promise].name,
        message: violation.breach.to_string(),
        attack: violation.attack.to_string(),
        replay: verified.replay(&violation.attack),
    });
    let (mean, most) = verified.shares();
    let shape = Shape {
        wayleave: env!("CARGO_PKG_VERSION"),
        topology: verified.topology,
        input_hash: fingerprint(claim),
        effort: EffortShape {
            seed: effort.seed,
            seeds: effort.seeds,
            victims: effort.victims.min(claim.promises.len()),
            rounds: effort.rounds,
            searched: effort.searched,
            packet_hops: effort.packet_hops,
        },
        broken: verified.fault.as_deref(),
        contracts: contracts.collect(),
        violations: violations.collect(),
        summary: SummaryShape {
            contracts: claim.promises.len(),
            runs: report.runs,
            packet_hops: report.packet_hops,
            violations: report.violations.len(),
            mean_share_of_calculus: mean,
            most_share_of_calculus: most,
        },
    };
    let mut out = out();
    serde_json::to_writer(&mut out, &shape)?;
    writeln!(out)?;
    Ok(out.flush()?)
}
