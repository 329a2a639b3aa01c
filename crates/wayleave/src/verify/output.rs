//! `verify` for people and programs: the worst that was seen of every promise.

use std::collections::BTreeSet;
use std::io::Write;

use comfy_table::Cell;
use serde::Serialize;
use wayleave_adversary::{AdmittedClaim, Attack, Fault};
use wayleave_explain::human::{Human, count};
use wayleave_explain::table::{Style, TableLayout, plain_table, styled, write_table};
use wayleave_topology::Network;
use wayleave_units::Time;

use super::class_document::KindsJson;
use super::classes::ClassVerification;
use super::left_out::LeftOutJson;
use super::{Derived, FaultOutcome, VerifyReport};
use crate::error::Error;

/// Default number of contracts that are shown.
const SHOWN: usize = 40;

impl VerifyReport {
    /// Writes a table of the promises, those closest to their limits first, and a summary; without `show_all` only
    /// the first 40.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_text(&self, out: &mut impl Write, layout: TableLayout, show_all: bool) -> Result<(), Error> {
        table(self, out, layout, show_all)?;
        if let Some(left_out) = &self.left_out {
            writeln!(out, "{left_out}")?;
        }
        self.kinds.as_ref().map_or(Ok(()), |kinds| kinds.write_text(out, layout))
    }

    /// Writes one document of JSON, contracts in the order in which they were admitted.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_json(&self, out: &mut impl Write, topology: &str) -> Result<(), Error> {
        json(self, out, topology)
    }

    /// The command that makes an attack again.
    pub fn replay(&self, attack: &Attack) -> String {
        let mut words: Vec<String> = self.command.iter().map(|word| quoted(word)).collect();
        words.push(format!("--replay {attack}"));
        words.join(" ")
    }

    /// The numbers of the promises: the one that was named, then those that came closest to their limits.
    fn order(&self) -> Vec<usize> {
        // Without tests there is nothing to sort.
        let mut order: Vec<usize> = (0..self.report.findings.len()).collect();
        let share = |number| self.report.share(&self.claim, number);
        order.sort_by(|&a, &b| share(b).total_cmp(&share(a)));
        // False comes before true, and the sort is stable.
        order.sort_by_key(|&number| Some(number) != self.chosen);
        // The first of several routes represents the contract.
        let mut shown = BTreeSet::new();
        order.retain(|&number| self.protected(number).is_none_or(|group| shown.insert(group)));
        order
    }

    /// The protected contract that a promise is a route of.
    fn protected(&self, number: usize) -> Option<usize> {
        self.claim.protected.iter().position(|protected| protected.routes.contains(&number))
    }

    /// Returns the number of contracts.
    fn contracts(&self) -> usize {
        let further: usize = self.claim.protected.iter().map(|protected| protected.routes.len() - 1).sum();
        self.claim.promises.len() - further
    }

    /// Returns the number of tested cuts of protected contracts, and their cost to other contracts.
    fn cuts(&self) -> Option<String> {
        let tried: Vec<_> = self.report.protected.iter().filter(|finding| finding.cuts > 0).collect();
        let cuts: u64 = tried.iter().map(|finding| finding.cuts).sum();
        let untried = self.untried();
        let untried = match untried {
            0 => String::new(),
            _ => format!("{} not tested: no failure was tried", count(untried, "protected contract")),
        };
        if tried.is_empty() {
            return Some(untried).filter(|text| !text.is_empty());
        }
        let lost: u64 = tried.iter().map(|finding| finding.lost).sum();
        let lost = if lost == 0 { "no packet lost".to_owned() } else { count(lost as usize, "packet") + " lost" };
        let protected = count(tried.len(), "protected contract");
        let mut text = format!("{protected}, cut {} while packets were in flight: {lost}", count_times(cuts));
        let others = self.report.unprotected_losses;
        if others > 0 {
            let others = count(others as usize, "packet");
            text += &format!(" ({others} of unprotected contracts lost on failed links, as expected)");
        }
        if !untried.is_empty() {
            text += &format!("; {untried}");
        }
        Some(text)
    }

    /// Returns the result of the tests of latency contracts, in a few words.
    fn verdict(&self) -> String {
        if let (0, Some(planned)) = (self.report.violations.len(), self.report.stopped_of) {
            let left = planned.saturating_sub(self.report.runs);
            return format!("no violations until the stop, {left} of {planned} runs not made");
        }
        match (self.report.violations.len(), self.untested()) {
            (0, 0) if self.is_replay => "no violations in this attack; other attacks were not made".to_owned(),
            (0, 0) if !self.discrepancies().is_empty() => "no violations".to_owned(),
            (0, 0) => "all guarantees held".to_owned(),
            (0, untested) => format!("no violations, {untested} not tested"),
            (broken, _) => count(broken, "violation"),
        }
    }

    /// Returns the mean and the largest share of the limit that was seen; `None` if no packet arrived.
    fn shares(&self) -> Option<(f64, f64)> {
        // A contract without packets has no delay.
        let seen = self.order().into_iter().filter(|&number| self.report.findings[number].packets > 0);
        let shares: Vec<f64> = seen.map(|number| self.report.share(&self.claim, number)).collect();
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        (!shares.is_empty()).then(|| (mean, shares.into_iter().fold(0.0, f64::max)))
    }
}

/// `once`, `2 times`.
fn count_times(number: u64) -> String {
    if number == 1 { "once".to_owned() } else { format!("{number} times") }
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

/// Returns the margin to a bound, in percent; below zero if it is exceeded.
fn margin(bound: Time, delay_ps: u64) -> f64 {
    let bound = bound.as_nanos().max(1) as f64 * 1e3;
    100.0 * (bound - delay_ps as f64) / bound
}

fn table(verified: &VerifyReport, out: &mut impl Write, layout: TableLayout, show_all: bool) -> Result<(), Error> {
    let VerifyReport { claim, report, .. } = verified;
    if let (Some(fault), Some(why)) = (verified.fault, verified.no_effect) {
        return Ok(writeln!(out, "{} has no effect here: {why}; nothing was tested", fault.name())?);
    }
    let shown = if show_all { usize::MAX } else { SHOWN };
    let order = verified.order();
    if !order.is_empty() {
        let mut headings = vec![
            "contract",
            "bound",
            "worst observed",
            "margin",
            "current bound",
            "observed / current",
            "drops",
            "worst-case run",
        ];
        if !claim.protected.is_empty() {
            headings.insert(7, "cuts");
        }
        let mut table = plain_table(&headings, layout);
        for &number in order.iter().take(shown) {
            table.add_row(row(verified, number, layout));
        }
        write_table(out, &mut table)?;
    }
    if let Some(more) = order.len().checked_sub(shown).filter(|&more| more > 0) {
        writeln!(out, "... and {more} with lower delays (--all shows them, -o json has everything)")?;
    }
    if let Some(derived) = &verified.derived {
        writeln!(out, "{}{}", if order.is_empty() { "" } else { "\n" }, derived_text(derived))?;
    }
    if order.is_empty() && (verified.kinds.is_some() || verified.left_out.is_some()) {
        return Ok(());
    }
    if order.is_empty() {
        return Ok(writeln!(out, "no guarantees: nothing was tested")?);
    }
    let packets: u64 = report.findings.iter().map(|finding| finding.packets).sum();
    let runs = count(report.runs, "run");
    writeln!(
        out,
        "{}{}, {runs}, {packets} of their packets: {}",
        if verified.derived.is_some() { "" } else { "\n" },
        count(verified.contracts(), "contract"),
        verified.verdict()
    )?;
    if !order.is_empty() {
        let limit = match claim.promises.iter().any(|promise| promise.today.is_some()) {
            true => "the current bound",
            false => "the guarantee",
        };
        let observed = match verified.shares() {
            Some((mean, most)) => format!("{:.0} % on average, maximum {:.1} %", 100.0 * mean, 100.0 * most),
            None => "not observed".to_owned(),
        };
        writeln!(out, "worst observed delays relative to {limit}: {observed}")?;
    }
    if let Some(cuts) = verified.cuts() {
        writeln!(out, "{cuts}")?;
    }
    Ok(())
}

/// `312 queues, 40 routes and 5 shares recomputed independently, 3 moves followed: no discrepancies`.
fn derived_text(derived: &Derived) -> String {
    let &Derived { queues, flows, shares, moves, ref discrepancies, ref short_buffers } = derived;
    let short = match short_buffers.len() {
        0 => String::new(),
        ports => format!(
            "\nthe buffers of {} may be too small for minima: the time to reach these minima is unknown",
            count(ports, "port")
        ),
    };
    let moves = if moves == 0 { String::new() } else { format!(", {} followed", count(moves, "move")) };
    let verdict = match discrepancies.len() {
        0 => "no discrepancies".to_owned(),
        1 => "1 discrepancy".to_owned(),
        many => format!("{many} discrepancies"),
    };
    let (queues, routes) = (count(queues, "queue"), count(flows, "route"));
    let what = match shares {
        0 => format!("{queues} and {routes}"),
        shares => format!("{queues}, {routes} and {} of classes", count(shares, "share")),
    };
    format!("{what} recomputed independently{moves}: {verdict}{short}")
}

fn row(verified: &VerifyReport, number: usize, layout: TableLayout) -> Vec<Cell> {
    let (promise, finding) = (&verified.claim.promises[number], &verified.report.findings[number]);
    let left = margin(promise.bound, finding.delay_ps);
    let margin = Cell::new(format!("{left:.1} %"));
    let is_late = finding.delay_ps > promise.bound.as_nanos() * 1_000;
    let seen = finding.attack.is_some();
    let mut cells = vec![
        Cell::new(shortened(&promise.name)),
        Cell::new(promise.bound.up()),
        Cell::new(if seen { finding.delay().up() } else { "not tested".to_owned() }),
        match seen {
            false => Cell::new("-"),
            true if is_late && layout.bold => styled(margin, Style::Red),
            true => margin,
        },
        Cell::new(promise.today.map_or_else(|| "-".to_owned(), Human::up)),
        Cell::new(match seen {
            true => format!("{:.1} %", 100.0 * verified.report.share(&verified.claim, number)),
            false => "-".to_owned(),
        }),
        Cell::new(finding.drops),
        Cell::new(finding.attack.as_ref().map_or_else(String::new, pattern)),
    ];
    if !verified.claim.protected.is_empty() {
        let protected = verified.protected(number).map(|group| verified.report.protected[group].cuts.to_string());
        cells.insert(7, Cell::new(protected.unwrap_or_else(|| "-".to_owned())));
    }
    cells
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
    effort: EffortJson,
    /// Injected fault.
    #[serde(skip_serializing_if = "Option::is_none")]
    broken: Option<BrokenJson>,
    /// Derived values; absent for a scheme that makes no statements about queues.
    #[serde(skip_serializing_if = "Option::is_none")]
    derived: Option<DerivedJson>,
    contracts: Vec<ContractJson<'a>>,
    violations: Vec<ViolationJson<'a>>,
    /// Minima and objectives; absent where all contracts are about latency.
    #[serde(skip_serializing_if = "Option::is_none")]
    classes: Option<KindsJson>,
    /// Contracts of classes below latency that were not tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    untested_classes: Option<LeftOutJson>,
    summary: SummaryJson,
}

#[derive(Serialize)]
struct BrokenJson {
    fault: &'static str,
    /// `derivation` or `packets`; `null` if nothing showed it.
    noticed_by: Option<&'static str>,
    /// Reason why the fault has no effect here.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_effect: Option<&'static str>,
}

fn broken(verified: &VerifyReport, fault: Fault) -> BrokenJson {
    let noticed_by = match verified.noticed() {
        Some(FaultOutcome::ByDerivation) => Some("derivation"),
        Some(FaultOutcome::ByPackets) => Some("packets"),
        Some(FaultOutcome::ByNobody) | None => None,
    };
    BrokenJson { fault: fault.name(), noticed_by, no_effect: verified.no_effect }
}

#[derive(Serialize)]
struct DerivedJson {
    queues: usize,
    routes: usize,
    /// Minima and weights of classes.
    shares: usize,
    /// Number of switch ports whose buffers may be too small for the queued traffic of minima.
    short_buffers: usize,
    moves: usize,
    /// Statements that differ from the derivation.
    discrepancies: Vec<String>,
}

impl DerivedJson {
    fn of(derived: &Derived) -> Self {
        let &Derived { queues, flows, shares, moves, ref discrepancies, ref short_buffers } = derived;
        let discrepancies = discrepancies.iter().map(ToString::to_string).collect();
        Self { queues, routes: flows, shares, short_buffers: short_buffers.len(), moves, discrepancies }
    }
}

#[derive(Serialize)]
struct EffortJson {
    seed: u64,
    seeds: u32,
    victims: usize,
    rounds: u32,
    searched: usize,
    /// Of each protected contract; `None` is all.
    cuts: Option<u32>,
    packet_hops: u64,
}

#[derive(Serialize)]
struct ContractJson<'a> {
    name: &'a str,
    bound_ns: u64,
    /// Bound that the calculus gives for the present set.
    today_ns: Option<u64>,
    /// Worst observed delay; `None` if no packet arrived.
    worst_ps: Option<u64>,
    /// Absent without packets.
    margin_percent: Option<f64>,
    packets: u64,
    drops: u64,
    attack: Option<String>,
    /// Results of a protected contract; equal on each of its routes.
    #[serde(skip_serializing_if = "Option::is_none")]
    protected: Option<ProtectedJson>,
}

#[derive(Serialize)]
struct ProtectedJson {
    /// The number of its routes.
    routes: usize,
    /// Runs in which some of them were cut, and some were left.
    cuts: u64,
    /// Packets in these of which no copy arrived.
    lost: u64,
}

#[derive(Serialize)]
struct ViolationJson<'a> {
    name: &'a str,
    message: String,
    attack: String,
    replay: String,
}

#[derive(Serialize)]
struct SummaryJson {
    contracts: usize,
    /// Stopped before its end: no guarantee is tested completely.
    stopped: bool,
    runs: u64,
    /// Number of runs of a complete verification; absent if none was left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    planned_runs: Option<u64>,
    packet_hops: u64,
    violations: usize,
    /// `null` if no packet arrived, as the next one.
    mean_share_of_calculus: Option<f64>,
    most_share_of_calculus: Option<f64>,
    /// Packets lost where nothing was promised: what failed was the only route.
    #[serde(skip_serializing_if = "Option::is_none")]
    unprotected_losses: Option<u64>,
}

fn json(verified: &VerifyReport, out: &mut impl Write, topology: &str) -> Result<(), Error> {
    let VerifyReport { claim, report, effort, .. } = verified;
    let protected = |number: usize| {
        let group = verified.protected(number)?;
        let finding = report.protected[group];
        let routes = claim.protected[group].routes.len();
        Some(ProtectedJson { routes, cuts: finding.cuts, lost: finding.lost })
    };
    let promises = claim.promises.iter().zip(&report.findings).enumerate();
    let contracts = promises.map(|(number, (promise, finding))| ContractJson {
        name: &promise.name,
        bound_ns: promise.bound.as_nanos(),
        today_ns: promise.today.map(|today| today.as_nanos()),
        worst_ps: finding.attack.as_ref().map(|_| finding.delay_ps),
        margin_percent: finding.attack.as_ref().map(|_| margin(promise.bound, finding.delay_ps)),
        packets: finding.packets,
        drops: finding.drops,
        attack: finding.attack.as_ref().map(ToString::to_string),
        protected: protected(number),
    });
    let violations = report.violations.iter().map(|violation| ViolationJson {
        name: &claim.promises[violation.promise].name,
        message: violation.breach.to_string(),
        attack: violation.attack.to_string(),
        replay: verified.replay(&violation.attack),
    });
    let (mean, most) = verified.shares().unzip();
    let shape = Shape {
        wayleave: env!("CARGO_PKG_VERSION"),
        topology,
        input_hash: fingerprint(claim),
        effort: EffortJson {
            seed: effort.seed,
            seeds: effort.seeds,
            victims: effort.victims.min(claim.promises.len()),
            rounds: effort.rounds,
            searched: effort.searched,
            cuts: Some(effort.cuts).filter(|&cuts| cuts < u32::MAX),
            packet_hops: effort.packet_hops,
        },
        broken: verified.fault.map(|fault| broken(verified, fault)),
        derived: verified.derived.as_ref().map(DerivedJson::of),
        contracts: contracts.collect(),
        violations: violations.collect(),
        classes: verified.kinds.as_ref().map(ClassVerification::shape),
        untested_classes: verified.left_out.as_ref().map(LeftOutJson::of),
        summary: SummaryJson {
            contracts: verified.contracts(),
            stopped: verified.is_stopped(),
            runs: report.runs,
            planned_runs: report.stopped_of,
            packet_hops: report.packet_hops,
            violations: report.violations.len(),
            mean_share_of_calculus: mean,
            most_share_of_calculus: most,
            unprotected_losses: Some(report.unprotected_losses).filter(|_| !claim.protected.is_empty()),
        },
    };
    serde_json::to_writer(&mut *out, &shape)?;
    Ok(writeln!(out)?)
}

/// A short name for a network with all its promises: FNV-1a (Fowler, Noll, Vo; draft-eastlake-fnv) over their text.
fn fingerprint(claim: &AdmittedClaim) -> String {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let network: &Network = &claim.network;
    let mut hash = OFFSET;
    let mut add = |text: String| {
        for byte in text.bytes().chain([b'\n']) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    };
    network.nodes().for_each(|(_, node)| add(format!("{node:?}")));
    network.links().for_each(|(id, link)| add(format!("{link:?} {:?}", network.queues(id))));
    add(format!("{:?}", claim.background));
    claim.promises.iter().for_each(|promise| add(format!("{promise:?}")));
    claim.protected.iter().for_each(|protected| add(format!("{protected:?}")));
    format!("{hash:016x}")
}
