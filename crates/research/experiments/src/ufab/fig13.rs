//! Fig. 13: Memcached beside MongoDB (section 5.3).

use wayleave_scenarios::{
    Endpoint, FlowArrivals, FlowEndpoints, FlowSizes, Reliable, Rpc, RpcServer, ScenarioVm, Traffic,
};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use super::systems::System;
use super::testbed::{Tenant, flows, network, scenario, servers, settings};
use crate::catalogue::{Entry, UFAB};
use crate::checkpoint::stored;
use crate::data::{Axis, Figure, Form, Panel, Point, Series, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

pub(crate) const ENTRY: Entry = Entry {
    id: "ufab-fig13",
    runs: "memcached",
    paper: &UFAB,
    place: "Fig. 13",
    title: "Memcached beside MongoDB",
    full_runs: 5,
    full_seconds: 500,
    quick_seconds: 9,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// The mean of values that the text gives (5.3); those of its source, ETC of Atikoglu et al., have 199 B, and are longer here by one factor.
const MEAN_VALUE: f64 = 2_000.0;
/// "continuously fetches 500KB data from a random DB server" (5.3).
const DOCUMENT: Bytes = Bytes::new(500_000);
/// Of a request of either. Ours.
const REQUEST: Bytes = Bytes::new(100);
/// Minima of Memcached and MongoDB at each of their hosts in Gbit/s, which the text does not give: these first, the others to see how much they
/// matter. Each pair fits: four hosts of a pod have at most 36 of the 38 Gbit/s of its links.
const MINIMA: [[u64; 2]; 4] = [[2, 6], [1, 5], [4, 4], [8, 1]];
/// Number of outstanding requests of a Memcached client: the workloads.
const LOADS: [u32; 2] = [1, 4];
const TAIL: f64 = 99.0;
/// Ratios that were measured on hardware are met within a factor of two; the text prints no interval.
const FACTOR: f64 = 2.0;
/// "similar to the ideal case": as near as links are filled (5.1: 95 %), since the text prints no number.
const SIMILAR: f64 = 0.05;

/// uFAB, and the alternatives over the transports that the text names and over CUBIC, which virtual machines have.
const SERVED: [System; 6] =
    [System::Ufab, System::Pwc, System::PwcCubic, System::Elastic, System::ElasticCubic, System::Unbounded];
/// Changes of uFAB.
const EXPERIMENTS: [System; 5] = [System::Probed, System::Hasty, System::Sparse, System::Printed, System::UfabCubic];

/// Configurations of the other workload: "with different workloads" (5.3).
const AT_OTHER_LOADS: [Beside; 4] = [
    Beside::NothingOverTcp,
    Beside::Mongo(System::Ufab),
    Beside::Mongo(System::PwcCubic),
    Beside::Mongo(System::ElasticCubic),
];

/// Configuration of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// Without MongoDB, under uFAB: the ideal case.
    Nothing,
    /// Without MongoDB, over plain TCP: the ideal case in another reading.
    NothingOverTcp,
    /// With MongoDB, under a system.
    Mongo(System),
}

impl Beside {
    fn name(self) -> String {
        match self {
            Self::Nothing => "without MongoDB".to_owned(),
            Self::NothingOverTcp => "without MongoDB, plain TCP".to_owned(),
            Self::Mongo(system) => system.name().to_owned(),
        }
    }

    fn all() -> Vec<Self> {
        let under = SERVED.into_iter().chain(EXPERIMENTS).map(Self::Mongo);
        [Self::Nothing, Self::NothingOverTcp].into_iter().chain(under).collect()
    }
}

/// One run.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// Thousands of queries a second.
    kqps: f64,
    /// Of a query, in us: mean and tail.
    times: [f64; 2],
    /// Traffic that MongoDB's clients receive together, in Gbit/s of payload.
    mongo: f64,
}

stored!(Case { kqps, times, mongo });

/// One configuration, with these minima and a number of requests at once.
#[derive(Clone, Debug)]
struct Row {
    beside: Beside,
    minima: [u64; 2],
    load: u32,
    cases: Vec<Case>,
}

impl Row {
    fn each(&self, of: impl Fn(&Case) -> f64) -> Vec<f64> {
        self.cases.iter().map(of).collect()
    }
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let duration = Time::from_millis(run.choose(100, 20));
    let loads = run.choose(&LOADS[..], &LOADS[..1]);
    let at = |load: u32| move |beside: Beside| (beside, MINIMA[0], load);
    let everything = Beside::all()
        .into_iter()
        .map(at(LOADS[0]))
        .chain(loads[1..].iter().flat_map(|&load| AT_OTHER_LOADS.into_iter().map(at(load))));
    // Other minima under uFAB and the alternatives over CUBIC in a full run, and under uFAB in a short one. Plain TCP has no minima.
    let others = [System::Ufab, System::PwcCubic, System::ElasticCubic].into_iter();
    let others = others.take(run.choose(3, 1)).map(Beside::Mongo);
    let other_minima =
        MINIMA[1..].iter().flat_map(|&minima| others.clone().map(move |beside| (beside, minima, LOADS[0])));
    let cases: Vec<_> = everything.chain(other_minima).collect();
    let figure = format!("{}, {duration}", ENTRY.id);
    let found = run.gather(&figure, (&cases, &seeds), |&how, seed| case(run.simulator(), how, duration, seed))?;
    let row = |((beside, minima, load), cases)| Row { beside, minima, load, cases };
    let rows: Vec<Row> = cases.into_iter().zip(found).map(row).collect();
    let figure = Figure {
        statements: statements(&rows),
        panels: vec![panel(&rows)],
        tables: vec![table(&rows)],
        seeds,
        notes: NOTES.map(str::to_owned).to_vec(),
        ..Figure::default()
    };
    Ok(settings(figure)
        .with("virtual machines", "Memcached: 24 servers at S7 and S8, 12 clients at S1 to S4. MongoDB: 24 servers at S5 to S8, 24 clients at S1 to S4")
        .with("time", format!("{} ms after 20 ms of warm-up", duration.as_nanos() / 1_000_000)))
}

const NOTES: [&str; 3] = [
    "The text gives no guarantees. At each of its hosts Memcached has 2 Gbit/s and MongoDB 6; the table has others as well.",
    "\"Periodically\" is read as a closed loop without pause, one query at a time of each client, so that queries a second say how long they take; the table has four at a time as well.",
    "Values follow the ETC pool of [10], longer by a factor so that their mean is the text's 2 kB.",
];

/// ETC's values, with the text's mean.
fn values() -> Result<FlowSizes, Failed> {
    let Some(FlowSizes::Empirical(points)) = FlowSizes::published("key-value") else {
        return Err(Failed::broken("the sizes of a key-value store are missing"));
    };
    let factor = MEAN_VALUE / FlowSizes::Empirical(points.clone()).mean();
    FlowSizes::from_points(points.into_iter().map(|(size, share)| (size * factor, share)).collect())
        .map_err(Failed::broken)
}

/// Adds `each` virtual machines of a tenant at each of these hosts.
fn machines(vms: &mut Vec<ScenarioVm>, tenant: &str, what: &str, hosts: &[NodeId], each: usize) -> Vec<Endpoint> {
    let mut all = Vec::new();
    for &host in hosts {
        for number in 1..=each {
            let name = format!("{tenant}-{what}-{}-{number}", host.0);
            vms.push(ScenarioVm { name, host, service: Some(tenant.to_owned()) });
            all.extend(Endpoint::of_vm(vms, vms.len() - 1));
        }
    }
    all
}

fn loops(tenant: &str, clients: Vec<Endpoint>, servers: Vec<Endpoint>, answer: FlowSizes, outstanding: u32) -> Traffic {
    let rpc = Rpc { outstanding, server: RpcServer::Drawn, ..Rpc::new(answer) };
    let reliable = Reliable::new(FlowArrivals::Rpc(rpc), Some(FlowSizes::Fixed(REQUEST)));
    flows(tenant, FlowEndpoints::Random(clients, servers), reliable)
}

fn case(
    simulator: &Simulator,
    (beside, minima, load): (Beside, [u64; 2], u32),
    duration: Time,
    seed: u64,
) -> Result<Case, Failed> {
    let network = network(Rate::from_gbit(10))?;
    let hosts = servers(&network);
    let (left, right) = hosts.split_at(hosts.len() / 2);
    let tenant =
        |name: &str, min, hosts: Vec<NodeId>| Tenant { name: name.to_owned(), min: Rate::from_gbit(min), hosts };
    let memcached = [left, &right[2..]].concat();
    let tenants = [tenant("memcached", minima[0], memcached), tenant("mongodb", minima[1], hosts.clone())];
    let warmup = Time::from_millis(20);
    let system = match beside {
        Beside::Nothing => System::Ufab,
        Beside::NothingOverTcp => System::Plain,
        Beside::Mongo(system) => system,
    };
    let mut run = scenario("memcached", &network, system, &tenants, (warmup + duration, Time::from_millis(1)))?;
    run.warmup = warmup;
    let caches = machines(&mut run.vms, "memcached", "server", &right[2..], 12);
    let clients = machines(&mut run.vms, "memcached", "client", left, 3);
    run.traffic = vec![loops("memcached", clients, caches, values()?, load)];
    if matches!(beside, Beside::Mongo(_)) {
        let databases = machines(&mut run.vms, "mongodb", "server", right, 6);
        let readers = machines(&mut run.vms, "mongodb", "client", left, 6);
        run.traffic.push(loops("mongodb", readers, databases, FlowSizes::Fixed(DOCUMENT), 1));
    }
    if system == System::Plain {
        // Without a policy there are no tenants.
        run.vms.iter_mut().for_each(|vm| vm.service = None);
        run.traffic.iter_mut().for_each(|traffic| traffic.service = None);
    }
    let outcome = simulator.run(&run, seed)?;
    let seconds = duration.as_nanos() as f64 / 1e9;
    let times = outcome.traffic[0].completions.times();
    let mongo = outcome.traffic.get(1).map_or(0, |mongo| mongo.completions.all().bytes);
    Ok(Case {
        kqps: outcome.traffic[0].completions.finished() as f64 / seconds / 1e3,
        times: [times.mean(), times.percentile(TAIL).map(|ps| ps as f64)].map(|ps| ps.map_or(f64::NAN, |ps| ps / 1e6)),
        mongo: mongo as f64 * 8.0 / seconds / 1e9,
    })
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let find = |minima: [u64; 2], beside: Beside, load: u32, value: fn(&Case) -> f64| -> Vec<f64> {
        let of = rows.iter().find(|row| row.beside == beside && row.minima == minima && row.load == load);
        of.map(|row| row.each(value)).unwrap_or_default()
    };
    let with = |minima, beside, value| find(minima, beside, LOADS[0], value);
    let busy = |beside, value| find(MINIMA[0], beside, LOADS[1], value);
    let is_busy = rows.iter().any(|row| row.load == LOADS[1]);
    let of = |beside: Beside, value: fn(&Case) -> f64| with(MINIMA[0], beside, value);
    let queries: fn(&Case) -> f64 = |case| case.kqps;
    let tail: fn(&Case) -> f64 = |case| case.times[1];
    let ufab = Beside::Mongo(System::Ufab);
    // The text gives neither the minima nor the time after which a pair without data returns its part.
    let experiments = |statement: Statement, compare: &dyn Fn([u64; 2], System) -> Vec<f64>| {
        let by_system = EXPERIMENTS.map(|system| (system.name().to_owned(), compare(MINIMA[0], system)));
        let name = |minima: [u64; 2]| format!("minima of {} and {} Gbit/s", minima[0], minima[1]);
        let by_minimum = MINIMA[1..].iter().map(|&minima| (name(minima), compare(minima, System::Ufab)));
        let all = by_system.into_iter().chain(by_minimum).filter(|(_, values)| !values.is_empty());
        all.fold(statement, |statement, (name, values)| {
            statement.tested(format!("{name}: {:.2}", mean(&values)), &values)
        })
    };
    let mut statements = Vec::new();
    for (claim_text, value) in SAME.into_iter().zip([queries, tail]) {
        let over = |minima, beside, ideal| ratio_of_means(&with(minima, beside, value), &of(ideal, value));
        let statement = |reading: &str, ratios: &[f64]| {
            let measured = format!("{:.2} times", mean(ratios));
            Statement::mean_within("5.3, Fig. 13", claim_text, 1.0 - SIMILAR..=1.0 + SIMILAR, ratios, measured)
                .reading(reading)
        };
        let first = statement(IDEALS[0], &over(MINIMA[0], ufab, Beside::NothingOverTcp));
        let compare = |minima, system| over(minima, Beside::Mongo(system), Beside::NothingOverTcp);
        statements.push(experiments(first, &compare));
        statements.push(statement(IDEALS[1], &over(MINIMA[0], ufab, Beside::Nothing)));
        if is_busy {
            let ratios = ratio_of_means(&busy(ufab, value), &busy(Beside::NothingOverTcp, value));
            statements.push(statement(&format!("{}, {BUSY}", IDEALS[0]), &ratios));
        }
    }
    for (system, over) in ALTERNATIVES {
        let name = if matches!(system, System::Pwc | System::PwcCubic) { System::Pwc } else { System::Elastic }.name();
        let fewer = |minima, ufab| {
            ratio_of_means(&with(minima, Beside::Mongo(ufab), queries), &with(minima, Beside::Mongo(system), queries))
        };
        let longer = |minima, ufab| {
            ratio_of_means(&with(minima, Beside::Mongo(system), tail), &with(minima, Beside::Mongo(ufab), tail))
        };
        let claim_text = format!("with {name} {FEWER}");
        statements.push(experiments(ratio(claim_text, over, 2.5, &fewer(MINIMA[0], System::Ufab)), &fewer));
        let claim_text = format!("with {name} {LONGER}");
        statements.push(experiments(ratio(claim_text, over, 20.0, &longer(MINIMA[0], System::Ufab)), &longer));
        let is_measured = is_busy && AT_OTHER_LOADS.contains(&Beside::Mongo(system));
        for (what, times, value) in [(FEWER, 2.5, queries), (LONGER, 20.0, tail)].into_iter().filter(|_| is_measured) {
            let [theirs, ours] = [Beside::Mongo(system), ufab].map(|beside| busy(beside, value));
            let ratios = if what == FEWER { ratio_of_means(&ours, &theirs) } else { ratio_of_means(&theirs, &ours) };
            statements.push(ratio(format!("with {name} {what}"), &format!("{over}, {BUSY}"), times, &ratios));
        }
    }
    statements
}

/// Claims that Memcached is served as without MongoDB.
const SAME: [&str; 2] =
    ["with uFAB Memcached has as many queries a second as without MongoDB", "and similar completion times at the tail"];

/// Claims about the alternatives.
const FEWER: &str = "queries a second are 2.5 times fewer than with uFAB";
const LONGER: &str = "completion times are 20 times longer at the tail than with uFAB";

/// The reading of the other workload.
const BUSY: &str = "four queries of a client at once";

/// The alternatives, by their transport.
const ALTERNATIVES: [(System, &str); 4] = [
    (System::Pwc, "over Swift (2.2)"),
    (System::PwcCubic, "CUBIC, the transport of virtual machines, in place of WCC"),
    (System::Elastic, "over DCTCP"),
    (System::ElasticCubic, "over CUBIC, the transport of virtual machines"),
];

/// Readings of "the ideal case, without MongoDB".
const IDEALS: [&str; 2] = ["the ideal case is plain TCP without MongoDB", "the ideal case is uFAB without MongoDB"];

fn ratio(claim_text: String, reading: &str, times: f64, ratios: &[f64]) -> Statement {
    let range = times / FACTOR..=times * FACTOR;
    let measured = format!("{:.2} times", mean(ratios));
    Statement::mean_within("5.3, Fig. 13", claim_text, range, ratios, measured).reading(reading)
}

fn panel(rows: &[Row]) -> Panel {
    let rows = || rows.iter().filter(|row| row.minima == MINIMA[0] && row.load == LOADS[0]);
    let series = |name: &str, of: fn(&Case) -> f64| Series {
        name: name.to_owned(),
        points: rows().map(|row| Point::of(row.beside.name(), row.each(of))).collect(),
    };
    let axes = (Axis::categories("beside MongoDB under"), Axis::logarithmic("completion time", "us"));
    let series = vec![series("mean", |case| case.times[0]), series("p99", |case| case.times[1])];
    Panel::new("times", "Completion times of Memcached's queries", axes, Form::Apart, series)
}

fn table(rows: &[Row]) -> Table {
    let cells = rows.iter().map(|row| {
        let each = |of: fn(&Case) -> f64| mean(&row.each(of));
        vec![
            format!("{} and {} Gbit/s", row.minima[0], row.minima[1]),
            row.load.to_string(),
            row.beside.name(),
            format!("{:.0}", each(|case| case.kqps)),
            format!("{:.0} us", each(|case| case.times[0])),
            format!("{:.0} us", each(|case| case.times[1])),
            format!("{:.1} Gbit/s", each(|case| case.mongo)),
        ]
    });
    Table {
        name: "queries".to_owned(),
        title: "Memcached queries (mean of the seeds)".to_owned(),
        columns: [
            "minima",
            "concurrent queries per client",
            "beside MongoDB under",
            "1,000 queries a second",
            "mean",
            "p99",
            "MongoDB throughput",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: cells.collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    /// Catches: clients that plain TCP does not serve, which has no tenants.
    #[test]
    fn plain_tcp_serves_queries_without_a_policy() {
        let case =
            case(&Simulator::default(), (Beside::NothingOverTcp, MINIMA[0], 1), Time::from_millis(2), 1).unwrap();
        assert!(case.kqps > 1.0 && case.times[0] > 0.0 && case.mongo == 0.0, "{case:?}");
    }

    #[test]
    fn values_have_the_mean_of_the_text() {
        assert!((values().unwrap().mean() / MEAN_VALUE - 1.0).abs() < 0.01);
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let of = |beside: Beside| match beside {
            Beside::Mongo(System::Pwc | System::PwcCubic | System::Elastic | System::ElasticCubic) => [40.0, 1_000.0],
            _ => [100.0, 50.0],
        };
        let row = |load: u32| {
            move |beside: Beside| {
                let [kqps, tail] = of(beside);
                let cases = vec![Case { kqps, times: [20.0, tail], mongo: 1.0 }; 3];
                Row { beside, minima: MINIMA[0], load, cases }
            }
        };
        let all = Beside::all().into_iter().map(row(LOADS[0]));
        let rows: Vec<Row> = all.chain(AT_OTHER_LOADS.map(row(LOADS[1]))).collect();
        let changed = |beside: Beside, by: f64| {
            move |rows: &mut Vec<Row>| {
                for case in rows.iter_mut().filter(|row| row.beside == beside).flat_map(|row| &mut row.cases) {
                    (case.kqps, case.times[1]) = (case.kqps / by, case.times[1] * by);
                }
            }
        };
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("the ideal is faster", &changed(Beside::Nothing, 0.5)),
                ("the ideal is slower", &changed(Beside::Nothing, 2.0)),
                ("plain TCP is faster", &changed(Beside::NothingOverTcp, 0.5)),
                ("plain TCP is slower", &changed(Beside::NothingOverTcp, 2.0)),
                ("PWC is faster", &changed(Beside::Mongo(System::Pwc), 0.3)),
                ("PWC is slower", &changed(Beside::Mongo(System::Pwc), 3.0)),
                ("PWC over CUBIC is faster", &changed(Beside::Mongo(System::PwcCubic), 0.3)),
                ("PWC over CUBIC is slower", &changed(Beside::Mongo(System::PwcCubic), 3.0)),
                ("ElasticSwitch is faster", &changed(Beside::Mongo(System::Elastic), 0.3)),
                ("ElasticSwitch is slower", &changed(Beside::Mongo(System::Elastic), 3.0)),
                ("ElasticSwitch over CUBIC is faster", &changed(Beside::Mongo(System::ElasticCubic), 0.3)),
                ("ElasticSwitch over CUBIC is slower", &changed(Beside::Mongo(System::ElasticCubic), 3.0)),
            ],
        );
    }
}
