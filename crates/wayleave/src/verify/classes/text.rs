//! Results of classes as a table and a summary.

use std::io::Write;

use wayleave_adversary::ClassReport;
use wayleave_explain::human::{Human, count};
use wayleave_explain::table::{TableLayout, plain_table, write_table};
use wayleave_topology::LinkId;
use wayleave_units::Time;

use super::{ClassFaultOutcome, ClassVerification};
use crate::error::Error;

impl ClassVerification {
    /// Per contract: what is promised, and the worst that was seen.
    fn rows(&self) -> Vec<KindRow> {
        let mut rows: Vec<KindRow> = Vec::new();
        let claim = &self.claim.whole;
        for (promise, tested) in claim.minima.iter().zip(&self.report.minima) {
            let place = rows.iter().position(|row| row.name == promise.service);
            let place = place.unwrap_or_else(|| {
                rows.push(KindRow {
                    name: promise.service.clone(),
                    hosts: 0,
                    within: Some(promise.within),
                    lag: Some(Time::ZERO),
                    could: tested.could,
                });
                rows.len() - 1
            });
            rows[place].hosts += 1;
            // A minimum of which one host was not tested was not tested.
            rows[place].lag = rows[place].lag.zip(tested.lag).map(|(one, other)| one.max(other));
            rows[place].could = rows[place].could.min(tested.could);
        }
        for promise in &claim.weights {
            match rows.iter_mut().find(|row| row.name == promise.service) {
                Some(row) => row.hosts += 1,
                None => {
                    let (name, could) = (promise.service.clone(), Time::ZERO);
                    rows.push(KindRow { name, hosts: 1, within: None, lag: None, could });
                }
            }
        }
        rows
    }

    /// Writes a table of the contracts, and a summary.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_text(&self, out: &mut impl Write, layout: TableLayout) -> Result<(), Error> {
        if let Some((fault, false)) = self.fault {
            return Ok(writeln!(out, "\n{} has no effect here; nothing was tested", fault.name())?);
        }
        writeln!(out)?;
        let mut table = plain_table(&["contract", "guaranteed", "worst observed"], layout);
        for row in self.rows() {
            let hosts = count(row.hosts, "host");
            let (promised, seen) = match row.within {
                Some(within) => (
                    format!("its minimum at {hosts}, within {} of new demand", within.up()),
                    match row.lag {
                        Some(lag) => format!(
                            "lag {}, {:.0} % of that (detectable up to {})",
                            lag.up(),
                            percent(lag, within),
                            row.could.down()
                        ),
                        None => format!("not tested (detectable lag: up to {})", row.could.down()),
                    },
                ),
                None => (format!("none at {hosts}; its weight fits there"), "see below".to_owned()),
            };
            table.add_row([row.name.clone(), promised, seen]);
        }
        if table.row_count() > 0 {
            write_table(out, &mut table)?;
        }
        let held = |report: &ClassReport| report.largest_in_flight as f64 / 10.0;
        if let Some(least) = self.report.whole.smallest_weight {
            writeln!(out, "objectives: lowest throughput {:.0} % of a weight", least as f64 / 10.0)?;
        }
        if self.objectives > 0 {
            let objectives = count(self.objectives, "objective");
            writeln!(out, "objectives are not tested: deadlines and goals of {objectives} are not guaranteed")?;
        }
        if self.claim.untested_weights > 0 {
            let weights = count(self.claim.untested_weights, "weight");
            writeln!(out, "objectives: {weights} not tested: the run ends before their flows reach steady state")?;
        }
        if let Some(most) = self.largest_of_maximum() {
            writeln!(out, "maxima: highest throughput {:.0} % of a maximum", most as f64 / 10.0)?;
        }
        self.write_untested_maxima(out)?;
        if let [first, ..] = &self.unmet[..] {
            let weights = count(self.unmet.len(), "weight");
            writeln!(out, "weights: {weights} not tested: their contracts meet no other one at a receiver ({first})")?;
        }
        if let Some((host, farthest)) = self.farthest_from_part().filter(|_| self.parts() > self.blind_weights()) {
            let host = &self.network.node(host).name;
            let farthest = farthest as f64 / 10.0;
            writeln!(
                out,
                "weights: where bandwidth contracts meet at {host}, each is at most {farthest:.0} % below its fair share"
            )?;
        }
        if self.blind_weights() > 0 {
            let parts = count(self.blind_weights(), "weight");
            writeln!(
                out,
                "weights: {parts} not tested: a maximum or the minimum decides the rate, whole frames hide the share, or windows had no time to grow"
            )?;
        }
        if let Some(windows) = &self.report.windows {
            let (whole, windows) = (held(&self.report.whole), held(windows));
            writeln!(
                out,
                "in flight: at most {whole:.0} % of the bound of a link, {windows:.0} % where only windows send"
            )?;
        }
        let conditions = self.conditions();
        if let Some(first) = conditions.first() {
            let more = match conditions.len() - 1 {
                0 => String::new(),
                more => format!(" ({more} more of this kind)"),
            };
            writeln!(out, "unexpected, but not guaranteed: {first}{more}")?;
        }
        if let Some(attacked) = self.attacked() {
            writeln!(out, "{attacked}")?;
        }
        let runs = count(self.runs(), "run");
        if self.promises() == 0 {
            return Ok(writeln!(
                out,
                "no guarantees of the classes below latency, {runs}: nothing was tested (objectives, and best effort without a maximum, have none)"
            )?);
        }
        let verdict = match (self.breaches().len(), self.untested()) {
            (0, untested) if self.is_stopped() => format!("no violations until the stop, {untested} not tested"),
            (0, _) if self.noticed() == Some(ClassFaultOutcome::ByPackets) => {
                "no guarantee was violated, but the fault was detected".to_owned()
            }
            (0, 0) if self.unknown() > 0 => "no violations".to_owned(),
            (0, 0) if self.blind_weights() + self.claim.untested_weights > 0 => "all tested guarantees held".to_owned(),
            (0, 0) => "all guarantees held".to_owned(),
            (0, untested) => format!("no violations, {untested} not tested"),
            (broken, 0) => count(broken, "violation"),
            (broken, untested) => format!("{}, {untested} not tested", count(broken, "violation")),
        };
        Ok(writeln!(out, "{} of the classes below latency, {runs}: {verdict}", count(self.promises(), "guarantee"))?)
    }

    /// Describes the attacks on links, in one line; `None` if there was none.
    fn attacked(&self) -> Option<String> {
        let worst = self.report.links.iter().max_by_key(|attack| attack.report.largest_lag)?;
        let mut links: Vec<LinkId> = self.report.links.iter().map(|attack| attack.link).collect();
        links.dedup();
        let attacked = count(links.len(), "link");
        let lag = worst.report.largest_lag as f64 / 10.0;
        let (link, pattern) = (&self.network.link(worst.link).name, worst.pattern);
        let minima = &self.report.minima;
        let missed = minima.iter().filter(|tested| tested.by.is_none()).count();
        let rate = minima.iter().filter_map(|tested| tested.rate).min();
        let rate = rate.map_or_else(String::new, |rate| format!(", at least {:.0} % of a minimum", rate as f64 / 10.0));
        let missed =
            if missed == 0 { String::new() } else { format!("; {missed} of {} minima not attacked", minima.len()) };
        Some(format!(
            "worst-case demands on {attacked}: lag at most {lag:.0} % of the guarantee ({link}, {pattern}){rate}{missed}"
        ))
    }
}

fn percent(part: Time, of: Time) -> f64 {
    100.0 * part.as_nanos() as f64 / of.as_nanos().max(1) as f64
}

/// One contract.
struct KindRow {
    name: String,
    hosts: usize,
    /// Of a minimum.
    within: Option<Time>,
    /// The longest lag of a minimum; `None` where it was not tested.
    lag: Option<Time>,
    /// The longest lag that a run could have shown.
    could: Time,
}
