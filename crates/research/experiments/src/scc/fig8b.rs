//! Fig. 8b: two tenants with deadlines; one is preferred over the other (section VI-B).

use wayleave_scenarios::{FlowEndpoints, Traffic};
use wayleave_units::{Rate, Time};

use super::fig1::TOGETHER;
use super::readings::{missed_by, ranges};
use super::systems::{System, Tenant};
use super::testbed::{Bottleneck, bottleneck, scenario, settings};
use super::workloads::{Application, Spacing, traffic};
use crate::catalogue::{Entry, SCC};
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

pub(crate) const ENTRY: Entry = Entry {
    id: "scc-fig8b",
    runs: "two tenants",
    paper: &SCC,
    place: "Fig. 8b",
    title: "Two tenants with deadlines, one of them with priority",
    full_runs: 10,
    full_seconds: 150,
    quick_seconds: 4,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// "both the tenants require 600 Mbps bandwidth", in Mbit/s.
const EACH: u32 = 600;

/// Of 1 Gbit/s for tenant A under SCC, in Mbit/s; "the rest" is for B. The first is compared.
const SHARES: [u64; 3] = [700, 650, 800];

/// "meets almost all": at most this many per cent are missed. The text has no number.
const ALMOST_NONE: f64 = 5.0;

const NAMES: [&str; 2] = ["A", "B"];

/// System that isolates the two tenants, and A's share under SCC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    system: System,
    share: u64,
}

impl Case {
    const DIRECT: Self = Self { system: System::Direct, share: TOGETHER as u64 / 2 };

    /// SCC with the share that is compared.
    const SCC: Self = Self::scc(SHARES[0]);

    /// An experiment.
    const TRANSPORTS: Self = Self { system: System::SccTransports, ..Self::SCC };

    const fn scc(share: u64) -> Self {
        Self { system: System::Scc, share }
    }

    fn name(self) -> String {
        let system = self.system.name();
        match self.system {
            System::Direct => system.to_owned(),
            _ => format!("{system}, {}:{}", self.share, u64::from(TOGETHER) - self.share),
        }
    }
}

/// One case: of each run what A and B missed, in per cent.
type Row = crate::run::CaseRuns<Case, [f64; 2]>;

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let duration = Time::from_millis(run.choose(20_000, 2_000));
    let cases: Vec<Case> = [Case::DIRECT, Case::TRANSPORTS].into_iter().chain(SHARES.map(Case::scc)).collect();
    let figure = format!("{}, {duration}", ENTRY.id);
    let rows = run.rows(&figure, cases, &seeds, |&case, seed| one(run.simulator(), case, duration, seed))?;
    let notes = vec![format!(
        "The text says neither the shares nor the deadlines. Here both send the DS flows of section II over 1 Gbit/s, {EACH} Mbit/s each, and A has {} of 1,000 parts; two other \
         divisions of the link are drawn. \"Almost all\" leaves at most {ALMOST_NONE} % of misses.",
        SHARES[0]
    )];
    let figure =
        Figure { statements: statements(&rows), panels: vec![panel(&rows)], seeds, notes, ..Figure::default() };
    Ok(settings(figure)
        .with("time", format!("{} s, of which the first tenth does not count", duration.as_nanos() / 1_000_000_000)))
}

fn one(simulator: &Simulator, case: Case, duration: Time, seed: u64) -> Result<[f64; 2], Failed> {
    let Bottleneck { network, pairs } = bottleneck(Rate::from_mbit(u64::from(TOGETHER)))?;
    let mut run = scenario("two tenants", &network, duration);
    let of = |(name, pair): (&str, _)| Traffic {
        name: name.to_owned(),
        ..traffic(Application::Deadline, FlowEndpoints::Pairs(vec![pair]), f64::from(EACH), Spacing::Random)
    };
    run.traffic = NAMES.into_iter().zip(pairs).map(of).collect();
    let shares = [case.share, u64::from(TOGETHER) - case.share].map(Rate::from_mbit);
    let tenant = |(name, share)| Tenant { name, application: Application::Deadline, share };
    let tenants: Vec<Tenant> = NAMES.into_iter().zip(shares).map(tenant).collect();
    case.system.carry(&mut run, &tenants)?;
    let outcome = simulator.run(&run, seed)?;
    Ok(NAMES.map(|name| missed_by(&outcome, name)))
}

fn each(rows: &[Row], case: Case, metric: fn(&[f64; 2]) -> f64) -> Vec<f64> {
    rows.iter().find(|row| row.case == case).map_or(Vec::new(), |row| row.runs.iter().map(metric).collect())
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let [direct, scc] = [Case::DIRECT, Case::SCC];
    let shown = |metric: fn(&[f64; 2]) -> f64| {
        let [without, with] = [direct, scc].map(|case| mean(&each(rows, case, metric)));
        format!("{without:.1} % missed without, {with:.1} % with SCC")
    };
    let times = |metric| ratio_of_means(&each(rows, scc, metric), &each(rows, direct, metric));
    let b = |case| mean(&each(rows, case, |run| run[1]));
    let scheduling = format!(
        "Both want {} % of the link together, so without SCC nearly every flow is late. In-tunnel scheduling serves as many flows of B as its share can: without it B misses {:.1} %.",
        2 * EACH / 10,
        b(Case::TRANSPORTS)
    );
    let almost_all = Statement::mean_within(
        "VI-B",
        "SCC meets almost all deadlines of tenant A",
        0.0..=ALMOST_NONE,
        &each(rows, scc, |run| run[0]),
        shown(|run| run[0]),
    );
    let by_share = SHARES.iter().fold(almost_all, |statement, &share| {
        let missed = each(rows, Case::scc(share), |run| run[0]);
        statement.tested(format!("A's part is {share} of 1,000: {:.1} % missed", mean(&missed)), &missed)
    });
    vec![
        by_share,
        Statement::mean_within(
            "VI-B",
            "tenant B is worse off",
            ranges::larger(),
            &times(|run| run[1]),
            shown(|run| run[1]),
        )
        .tested(
            scheduling,
            &ratio_of_means(&each(rows, Case::TRANSPORTS, |run| run[1]), &each(rows, direct, |run| run[1])),
        ),
        Statement::mean_within(
            "VI-B",
            "SCC meets more deadlines of both together",
            ranges::smaller(),
            &times(|run| f64::midpoint(run[0], run[1])),
            shown(|run| f64::midpoint(run[0], run[1])),
        ),
    ]
}

fn panel(rows: &[Row]) -> Panel {
    let of = |case: Case| Series {
        name: case.name(),
        points: vec![
            Point::of("A", each(rows, case, |run| run[0])),
            Point::of("B", each(rows, case, |run| run[1])),
            Point::of("both", each(rows, case, |run| f64::midpoint(run[0], run[1]))),
        ],
    };
    Panel::new(
        "misses",
        "Missed deadlines",
        (Axis::categories("tenant"), Axis::linear("missed", "%")),
        Form::Apart,
        rows.iter().map(|row| of(row.case)).collect(),
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let row = |case, missed| Row { case, runs: vec![missed; 2] };
        let rows = vec![row(Case::DIRECT, [60.0, 60.0]), row(Case::SCC, [2.0, 90.0])];
        let with = |missed: [f64; 2]| move |rows: &mut Vec<Row>| rows[1].runs.fill(missed);
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("A misses", &with([5.1, 90.0])),
                ("B is better off", &with([2.0, 59.0])),
                ("fewer deadlines are met", &with([31.0, 90.0])),
            ],
        );
    }
}
