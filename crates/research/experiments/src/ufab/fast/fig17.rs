//! Fig. 17: flows of a web search between tenants on the fabric: dissatisfaction, round trips, slowdown (section 5.5).

use std::sync::Arc;

use rand::RngExt;
use wayleave_scenarios::{FlowArrivals, FlowEndpoints, FlowSizes, Reliable, Scenario};
use wayleave_topology::{Network, NodeId};
use wayleave_units::{Rate, Time};

use super::{Contender, fabric, generator, most, pods_of, round_trip_us, shuffle, times};
use crate::catalogue::{Entry, UFAB};
use crate::checkpoint::stored;
use crate::data::{Axis, Figure, Form, Panel, Point, Series, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::mean;
use crate::ufab::testbed::{Tenant, flows, policy};

pub(crate) const ENTRY: Entry = Entry {
    id: "ufab-fig17",
    runs: "real workload",
    paper: &UFAB,
    place: "Fig. 17",
    title: "Web-search flows on the fabric",
    full_runs: 5,
    full_seconds: 3_000,
    quick_seconds: 10,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

const SIZES: &str = "web-search";

/// Values that the text does not give: number of hosts of a tenant, where each host has two tenants, and minima in
/// Gbit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tenancy {
    members: usize,
    minima: [u32; 2],
}

const HEAVY: Place = Place { cores: 8, load: 0.7 };
const USUAL: Tenancy = Tenancy { members: 8, minima: [10, 20] };
/// Varied at 1:1 and 0.7: servers that send to more others; to one only, so that a hose is a pipe; and nearly all of each server's line promised to such pipes.
const OTHERS: [Tenancy; 3] =
    [Tenancy { members: 16, ..USUAL }, Tenancy { members: 2, ..USUAL }, Tenancy { members: 2, minima: [40, 45] }];

impl Tenancy {
    fn name(self) -> String {
        let [least, most] = self.minima;
        format!("{} servers a tenant, {least} to {most} Gbit/s", self.members)
    }
}

/// From which to which size, in bytes.
const CLASSES: [(u64, u64, &str); 4] = [
    (0, 10_000, "to 10 kB"),
    (10_000, 100_000, "to 100 kB"),
    (100_000, 1_000_000, "to 1 MB"),
    (1_000_000, u64::MAX, "above"),
];

/// An oversubscription and a load.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    cores: u64,
    load: f64,
}

impl Place {
    fn name(self) -> String {
        format!("{}, {}", if self.cores == 8 { "1:1" } else { "1:2" }, self.load)
    }
}

#[derive(Clone, Debug)]
struct Row {
    place: Place,
    tenancy: Tenancy,
    system: Contender,
    runs: Vec<Measured>,
}

#[derive(Clone, Debug)]
struct Measured {
    /// Shortfall of guarantees to transmit, relative to the owed amount.
    missed: f64,
    /// 99 % of round trips.
    tail_us: f64,
    /// Mean completion time over that at the minimum, of all flows, and by class of sizes.
    slowdown: f64,
    by_size: [f64; CLASSES.len()],
    /// Flows that would finish within 100 us at their minimum, of all.
    short: f64,
}

stored!(Measured { missed, tail_us, slowdown, by_size, short });

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 1);
    let pods = run.servers().and_then(pods_of).unwrap_or_else(|| run.choose(4, 1));
    let (warmup, duration) =
        run.choose((Time::from_millis(10), Time::from_millis(25)), (Time::from_millis(1), Time::from_millis(4)));
    let places: Vec<Place> = [8, 4].iter().flat_map(|&cores| [0.5, 0.7].map(|load| Place { cores, load })).collect();
    let mut cases: Vec<(Place, Tenancy, Contender)> =
        places.iter().flat_map(|&place| Contender::ALL.map(|system| (place, USUAL, system))).collect();
    cases.extend(EXPERIMENTS.map(|system| (HEAVY, USUAL, system)));
    for tenancy in OTHERS {
        cases.extend(COMPARED.map(|system| (HEAVY, tenancy, system)));
    }
    let figure = format!("{}, {pods} pods, {warmup} to {duration}", ENTRY.id);
    let found = run
        .gather(&figure, (&cases, &seeds), |&case, seed| one(run.simulator(), pods, case, (warmup, duration), seed))?;
    let row = |((place, tenancy, system), runs)| Row { place, tenancy, system, runs };
    let rows: Vec<Row> = cases.into_iter().zip(found).map(row).collect();
    let notes = vec![
        format!(
            "The text gives neither numbers of VMs nor guarantees. Here a tenant has {} servers and each server two tenants, with minima of 10 to 20 Gbit/s each: at most 40 Gbit/s a server, which a fabric of 1:2 carries too (50), so all minima \
             can be satisfied. Every flow goes between two random servers of its tenant; sizes are those of a web search, one of CONGA's two workloads. Other tenants are tried \
             at 1:1 and 0.7 (table).",
            USUAL.members
        ),
        "Loads are those of the narrowest links: of servers at 1:1, of cores at 1:2, where servers send half as much. The slowdown is the text's: completion time over size by minimum, class by class and tenant by tenant.".to_owned(),
        "The full run has 128 servers and five seeds; `--servers 512` is the text's network. Simulated time follows the baselines, which need 10 ms and more to converge: nothing of the warm-up counts.".to_owned(),
    ];
    let figure = Figure {
        statements: statements(&rows),
        panels: panels(&rows),
        tables: vec![table(&rows)],
        seeds,
        notes,
        ..Figure::default()
    };
    Ok(figure.with("network", format!("{} servers, 1:1 and 1:2", pods * 32)).with(
        "time",
        format!("{} ms, of which {} ms of warm-up", duration.as_nanos() / 1_000_000, warmup.as_nanos() / 1_000_000),
    ))
}

/// Tenants of hosts that are drawn twice.
fn tenants(network: &Arc<Network>, tenancy: Tenancy, seed: u64) -> Vec<Tenant> {
    let mut random = generator(seed);
    let mut tenants = Vec::new();
    for round in 0..2 {
        let mut hosts: Vec<NodeId> = network.hosts().collect();
        shuffle(&mut hosts, &mut random);
        for (at, members) in hosts.chunks(tenancy.members).enumerate() {
            let [least, most] = tenancy.minima.map(|gbit| u64::from(gbit) * 1_000);
            let min = Rate::from_mbit(random.random_range(least..=most));
            tenants.push(Tenant { name: format!("t{round}-{at}"), min, hosts: members.to_vec() });
        }
    }
    tenants
}

fn one(
    simulator: &Simulator,
    pods: u64,
    (place, tenancy, system): (Place, Tenancy, Contender),
    (warmup, duration): (Time, Time),
    seed: u64,
) -> Result<Measured, Failed> {
    let network = fabric(pods, place.cores)?;
    let tenants = tenants(&network, tenancy, seed);
    let sizes = FlowSizes::published(SIZES).ok_or_else(|| Failed::broken("no sizes of flows"))?;
    let mut scenario = Scenario::new("fabric", network.clone(), duration);
    scenario.warmup = warmup;
    scenario.record.series = Some(Time::from_micros(250));
    system.share(&mut scenario, policy(&network, &tenants)?);
    // Two tenants a server; the cores of 1:2 carry half of the servers' traffic.
    let load = place.load / 2.0 * place.cores as f64 / 8.0;
    scenario.traffic = tenants
        .iter()
        .map(|tenant| {
            let ends = FlowEndpoints::Random(tenant.hosts.clone(), tenant.hosts.clone());
            flows(&tenant.name, ends, Reliable::new(FlowArrivals::Load(load), Some(sizes.clone())))
        })
        .collect();
    system.on_testbed().open_pairs(&mut scenario);
    let outcome = simulator.run(&scenario, seed)?;
    let (mut owed, mut missed) = (0, 0);
    for share in outcome.sharing.iter().flat_map(|sharing| &sharing.services) {
        for shortfall in share.machines.iter().filter_map(|machine| machine.transmit_shortfall.as_ref()) {
            owed += shortfall.owed();
            missed += shortfall.missed();
        }
    }
    // Flows, and the sum of their slowdowns.
    let mut classes = [(0.0, 0.0); CLASSES.len()];
    for (tenant, traffic) in tenants.iter().zip(&outcome.traffic) {
        for (class, &(above, to, _)) in classes.iter_mut().zip(&CLASSES) {
            let found = traffic.completions.sizes(above, to);
            let (count, bits) = (found.finished() as f64, found.bytes as f64 * 8.0);
            if let Some(mean_ps) = found.times.mean().filter(|_| bits > 0.0) {
                let at_minimum_ps = bits / count / tenant.min.bits_per_second() as f64 * 1e12;
                class.0 += count;
                class.1 += count * mean_ps / at_minimum_ps;
            }
        }
    }
    let all = classes.iter().fold((0.0, 0.0), |sum, class| (sum.0 + class.0, sum.1 + class.1));
    let short: Vec<f64> =
        tenants.iter().map(|tenant| within(&sizes, tenant.min.bits_per_second() as f64 / 8.0 * 100e-6)).collect();
    Ok(Measured {
        missed: missed as f64 / (owed.max(1)) as f64,
        tail_us: round_trip_us(&outcome, 99.0),
        slowdown: all.1 / all.0,
        by_size: classes.map(|(count, sum)| sum / count),
        short: mean(&short),
    })
}

/// The part of flows that are no larger.
fn within(sizes: &FlowSizes, bytes: f64) -> f64 {
    const STEPS: u32 = 1_000;
    let is_short = |&step: &u32| sizes.quantile(f64::from(step) / f64::from(STEPS)) as f64 <= bytes;
    (0..STEPS).filter(is_short).count() as f64 / f64::from(STEPS)
}

fn of(rows: &[Row], place: Place, system: Contender, what: impl Fn(&Measured) -> f64) -> Vec<f64> {
    varied(rows, (place, USUAL), system, what)
}

fn varied(
    rows: &[Row],
    (place, tenancy): (Place, Tenancy),
    system: Contender,
    what: impl Fn(&Measured) -> f64,
) -> Vec<f64> {
    let is_it = |row: &&Row| row.place == place && row.tenancy == tenancy && row.system == system;
    rows.iter().filter(is_it).flat_map(|row| row.runs.iter().map(&what)).collect()
}

/// uFAB and those that the text compares it with.
const COMPARED: [Contender; 3] = [Contender::Ufab, Contender::Elastic, Contender::Pwc];
/// Systems for experiments that rule out causes of differences, at 1:1 and 0.7.
const EXPERIMENTS: [Contender; 2] = [Contender::Probed, Contender::ElasticCubic];

/// Adds the other tenants as experiments, at 1:1 and 0.7: the numbers of each, and what they are in words. `tried` is another change that
/// does not matter.
fn by_tenants(statement: Statement, compare: impl Fn(Tenancy) -> (Vec<f64>, String), tried: &str) -> Statement {
    let statement = OTHERS.into_iter().fold(statement, |statement, tenancy| {
        let (values, shown) = compare(tenancy);
        let name = format!("the tenants, which the text does not give: {}, at 1:1 and 0.7: {shown}", tenancy.name());
        if values.is_empty() { statement } else { statement.tested(name, &values) }
    });
    if tried.is_empty() { statement } else { statement.ruled_out([tried]) }
}

/// A truth value as a number.
fn truth(is_so: bool) -> Vec<f64> {
    vec![f64::from(u8::from(is_so))]
}

/// Returns the statement that one system is below the other at every place, with the ratio of each run.
fn below(
    (section, claim_text): (&'static str, &str),
    rows: &[Row],
    [one, other]: [Contender; 2],
    what: impl Fn(&Measured) -> f64 + Copy,
    tried: &str,
) -> Statement {
    let mut places: Vec<Place> = Vec::new();
    for row in rows {
        if !places.contains(&row.place) {
            places.push(row.place);
        }
    }
    let ratio = |place: &Place| {
        let [one, other] = [one, other].map(|system| of(rows, *place, system, what));
        // A system that misses nothing is below any other.
        times(&other, &one.iter().map(|value| value.max(1e-6)).collect::<Vec<_>>())
    };
    let shown = places.iter().map(|place| {
        let [one, other] = [one, other].map(|system| mean(&of(rows, *place, system, what)));
        format!("{}: {one:.3} and {other:.3}", place.name())
    });
    let shown = shown.collect::<Vec<_>>().join("; ");
    let least = places.iter().map(ratio).min_by(|one, other| mean(one).total_cmp(&mean(other))).unwrap_or_default();
    let statement = Statement::mean_within(section, claim_text, 1.0..=f64::INFINITY, &least, shown).remark(format!(
        "{} and {}, means; the place decides at which they are nearest.",
        one.name(),
        other.name()
    ));
    let compare = |tenancy: Tenancy| {
        let [one, other] = [one, other].map(|system| varied(rows, (HEAVY, tenancy), system, what));
        let shown = format!("{:.3} and {:.3}", mean(&one), mean(&other));
        (times(&other, &one.iter().map(|value| value.max(1e-6)).collect::<Vec<_>>()), shown)
    };
    by_tenants(statement, compare, tried)
}

/// Returns the statement that uFAB misses at most half of the others' shortfall.
fn misses_much_less(rows: &[Row]) -> Statement {
    use Contender::{Elastic, Probed, Pwc, Ufab};
    let places: Vec<Place> =
        rows.iter().filter(|row| row.tenancy == USUAL && row.system == Ufab).map(|row| row.place).collect();
    let missed = |place, tenancy, system| mean(&varied(rows, (place, tenancy), system, |run| run.missed));
    let is_half = |system, place, tenancy| {
        [Elastic, Pwc].iter().all(|&other| missed(place, tenancy, system) <= 0.5 * missed(place, tenancy, other))
    };
    let worst = most(&places.iter().map(|&place| missed(place, USUAL, Ufab)).collect::<Vec<_>>());
    let statement = Statement::claim(
        "5.5, Fig. 17a",
        "uFAB misses much less than both: no more than half of what either does",
        places.iter().all(|&place| is_half(Ufab, place, USUAL)),
        format!("uFAB misses at most {:.2} % in the mean of a place", 100.0 * worst),
    );
    let compare = |tenancy| {
        let shown = COMPARED.map(|system| format!("{:.3}", missed(HEAVY, tenancy, system))).join(", ");
        (truth(is_half(Ufab, HEAVY, tenancy)), shown)
    };
    let name = format!(
        "pairs send after their candidates have answered (3.5): uFAB misses {:.2} %, {:.2} % on initial paths",
        100.0 * missed(HEAVY, USUAL, Probed),
        100.0 * missed(HEAVY, USUAL, Ufab)
    );
    let statement = statement.tested(name, &truth(is_half(Probed, HEAVY, USUAL)));
    by_tenants(statement, compare, "")
}

/// That uFAB is fastest for flows of each size.
fn fastest_for_each_size(rows: &[Row]) -> Statement {
    use Contender::{Elastic, Probed, Pwc, Ufab};
    let at = |tenancy, system, class: usize| mean(&varied(rows, (HEAVY, tenancy), system, |run| run.by_size[class]));
    let is_fastest = |system, tenancy| {
        (0..CLASSES.len())
            .all(|class| [Elastic, Pwc].iter().all(|&other| at(tenancy, system, class) < at(tenancy, other, class)))
    };
    let shown = |tenancy| {
        let class = |(class, (_, _, name)): (usize, &(u64, u64, &str))| {
            let slowdowns = COMPARED.map(|system| format!("{:.2}", at(tenancy, system, class)));
            format!("{name}: {}", slowdowns.join(", "))
        };
        CLASSES.iter().enumerate().map(class).collect::<Vec<_>>().join("; ")
    };
    let statement = Statement::claim(
        "5.5, Fig. 17d",
        "so they are for each size, at 1:1 and 0.7",
        is_fastest(Ufab, USUAL),
        shown(USUAL),
    );
    let name = format!(
        "pairs send after their candidates have answered (3.5): flows to 10 kB have {:.2}, {:.2} on initial paths",
        at(USUAL, Probed, 0),
        at(USUAL, Ufab, 0)
    );
    let statement = statement.tested(name, &truth(is_fastest(Probed, USUAL)));
    by_tenants(statement, |tenancy| (truth(is_fastest(Ufab, tenancy)), shown(tenancy)), "")
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    use Contender::{Elastic, ElasticCubic, Pwc, Ufab};
    let short: Vec<f64> = rows.iter().flat_map(|row| row.runs.iter().map(|run| 100.0 * run.short)).collect();
    let tail = |system| mean(&of(rows, HEAVY, system, |run| run.tail_us));
    let cubic = format!(
        "ElasticSwitch's transport: over CUBIC, which hears no marks, 99 % of round trips take {:.1} us, and {:.1} us over DCTCP",
        tail(ElasticCubic),
        tail(Elastic)
    );
    let claim_text = |what: &'static str| ("5.5, Fig. 17a", what);
    vec![
        Statement::within(
            "5.5",
            "over 40 % of flows would finish within 100 us at their minimum",
            40.0..=100.0,
            &short,
            format!("{:.0} % at least", short.iter().copied().fold(f64::NAN, f64::min)),
        ),
        below(
            claim_text("uFAB misses less of its guarantees than ElasticSwitch+Clove"),
            rows,
            [Ufab, Elastic],
            |run| run.missed,
            "",
        ),
        below(
            claim_text("ElasticSwitch+Clove misses less than PicNIC'+WCC+Clove"),
            rows,
            [Elastic, Pwc],
            |run| run.missed,
            "",
        ),
        misses_much_less(rows),
        below(
            ("5.5, Fig. 17b", "the tail of round trips is longer with ElasticSwitch+Clove than with PicNIC'+WCC+Clove"),
            rows,
            [Pwc, Elastic],
            |run| run.tail_us,
            &cubic,
        ),
        below(
            ("5.5, Fig. 17c", "flows are faster with uFAB than with ElasticSwitch+Clove"),
            rows,
            [Ufab, Elastic],
            |run| run.slowdown,
            "",
        ),
        below(("5.5, Fig. 17c", "and than with PicNIC'+WCC+Clove"), rows, [Ufab, Pwc], |run| run.slowdown, ""),
        fastest_for_each_size(rows),
    ]
}

/// Returns the results with other tenants.
fn table(rows: &[Row]) -> Table {
    let heavy = rows.iter().filter(|row| row.place == HEAVY);
    let cells = heavy.map(|row| {
        let each = |of: &dyn Fn(&Measured) -> f64| mean(&row.runs.iter().map(of).collect::<Vec<_>>());
        let numbers = [
            format!("{:.1} %", 100.0 * each(&|run| run.missed)),
            format!("{:.1} us", each(&|run| run.tail_us)),
            format!("{:.2}", each(&|run| run.slowdown)),
        ];
        let sizes = (0..CLASSES.len()).map(|class| format!("{:.2}", each(&|run| run.by_size[class])));
        [row.tenancy.name(), row.system.name().to_owned()].into_iter().chain(numbers).chain(sizes).collect()
    });
    let columns = ["tenants", "system", "missed", "p99 round-trip time", "slowdown"].into_iter();
    Table {
        name: "tenants".to_owned(),
        title: "At 1:1 and load 0.7: mean over other tenants; slowdown of all flows and by size".to_owned(),
        columns: columns.chain(CLASSES.map(|(_, _, name)| name)).map(str::to_owned).collect(),
        rows: cells.collect(),
    }
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let panel = |name: &str, title: &str, y: Axis, what: fn(&Measured) -> f64| {
        let points = |system: Contender| {
            (rows.iter().filter(|row| row.system == system && row.tenancy == USUAL))
                .map(|row| Point::of(row.place.name(), row.runs.iter().map(what).collect()))
                .collect()
        };
        let series = |&system: &Contender| Series { name: system.name().to_owned(), points: points(system) };
        let axes = (Axis::categories("oversubscription, load"), y);
        Panel::new(name, title, axes, Form::Apart, Contender::ALL.iter().map(series).collect())
    };
    let sizes = |row: &Row| Series {
        name: row.system.name().to_owned(),
        points: (CLASSES.iter().enumerate())
            .map(|(class, (_, _, name))| Point::of(*name, row.runs.iter().map(|run| run.by_size[class]).collect()))
            .collect(),
    };
    let heavy = rows.iter().filter(|row| row.place == HEAVY && row.tenancy == USUAL);
    let axes = (Axis::categories("size"), Axis::logarithmic("slowdown", ""));
    let by_size = Panel::new("by-size", "Slowdown by size, 1:1 and 0.7", axes, Form::Apart, heavy.map(sizes).collect());
    vec![
        panel("missed", "Missed guarantees", Axis::linear("missed", "%"), |run| 100.0 * run.missed),
        panel("round-trips", "p99 round-trip time", Axis::logarithmic("round-trip time", "us"), |run| run.tail_us),
        panel("slowdown", "Mean slowdown", Axis::logarithmic("slowdown", ""), |run| run.slowdown),
        by_size,
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::{Verdict, assert_each_can_change};

    /// If a server sends to one other only, ElasticSwitch misses less than PicNIC' does: that explains the difference. Where it misses
    /// more there as well, and comes nearer, it explains a part.
    #[test]
    fn other_tenants_explain_a_difference_as_far_as_their_numbers_do() {
        let row = |tenancy, system, missed| {
            let run = Measured { missed, tail_us: 1.0, slowdown: 1.0, by_size: [1.0; 4], short: 0.5 };
            Row { place: HEAVY, tenancy, system, runs: vec![run; 2] }
        };
        let with = |pipes| {
            let of = |tenancy, elastic| [row(tenancy, Contender::Elastic, elastic), row(tenancy, Contender::Pwc, 0.1)];
            let rows = [of(USUAL, 0.2), of(OTHERS[1], pipes)].concat();
            let orders = ("5.5", "in order");
            below(orders, &rows, [Contender::Elastic, Contender::Pwc], |run| run.missed, "").verdict
        };
        assert_eq!(with(0.05), Verdict::HoldsUnderReading);
        assert_eq!(with(0.15), Verdict::PartlyExplained);
        assert_eq!(with(0.3), Verdict::Unexplained);
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let row = |(system, missed, tail_us, slowdown)| {
            let run = Measured { missed, tail_us, slowdown, by_size: [slowdown; 4], short: 0.5 };
            Row { place: HEAVY, tenancy: USUAL, system, runs: vec![run] }
        };
        let all = [
            (Contender::Ufab, 0.01, 20.0, 0.5),
            (Contender::Unbounded, 0.01, 40.0, 0.5),
            (Contender::Elastic, 0.1, 400.0, 1.0),
            (Contender::Pwc, 0.2, 200.0, 2.0),
        ];
        let rows: Vec<Row> = all.into_iter().map(row).collect();
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("only long flows", &|rows: &mut Vec<Row>| rows[0].runs[0].short = 0.3),
                ("more than all", &|rows: &mut Vec<Row>| rows[0].runs[0].short = 1.3),
                ("uFAB misses more", &|rows: &mut Vec<Row>| rows[0].runs[0].missed = 0.15),
                ("ES misses most", &|rows: &mut Vec<Row>| rows[2].runs[0].missed = 0.3),
                ("ES has short queues", &|rows: &mut Vec<Row>| rows[2].runs[0].tail_us = 100.0),
                ("ES is faster", &|rows: &mut Vec<Row>| rows[2].runs[0].slowdown = 0.4),
                ("PWC is faster", &|rows: &mut Vec<Row>| rows[3].runs[0].slowdown = 0.4),
                ("for one size", &|rows: &mut Vec<Row>| rows[3].runs[0].by_size[2] = 0.4),
            ],
        );
    }
}
