//! Steps 1 and 2 on a simulated Zodiac FX: what a benchmark measures, and the two allocations that follow.

use wayleave_schemes::admission::loko::{AcceptedRate, Allocation, ServiceModel};
use wayleave_topology::devices::{
    Action, Case, ENTRIES, MatchType, PACKETS, PacketScenario, Priorities, SoftwareSwitch, UsedEntry,
};

use super::panel;
use crate::data::{Axis, Figure, Form, Point, Series, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use wayleave::switch_benchmark::{benchmark, measure as measure_case};

const SLIDE: &str = "slide \"Proof-of-Concept\"";

/// Measures it: nothing here is random, so it needs no seeds.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let scenario = PacketScenario::proof_of_concept();
    let table =
        benchmark(&SoftwareSwitch::ZODIAC_FX, &scenario, &mut wayleave::Watch::none()).map_err(Failed::broken)?;
    let model = ServiceModel::of(&table, &scenario).map_err(Failed::broken)?;
    let allocation = |share| Allocation::new(&model, share).map_err(Failed::broken);
    let (full, fifth) = (allocation(AcceptedRate::FullRate)?, allocation(AcceptedRate::FifthRate)?);
    let case = scenario.cases().next().ok_or_else(|| Failed::broken("the scenario has no combination"))?;
    let [delays, rates] = by_entries(run, case)?;
    let data = Data { model, full, fifth, dimensions: dimensions(run, case)? };
    let entries = || Axis::linear("flow entries", "");
    let figure = Figure {
        statements: statements(&data),
        panels: vec![
            panel("delay", "Delay of a single packet", (entries(), Axis::linear("delay", "us")), Form::Joined, delays),
            panel("throughput", "Throughput", (entries(), Axis::linear("throughput", "Mbit/s")), Form::Joined, rates),
        ],
        tables: vec![allocations(&data), table_of_dimensions(&data)],
        notes: vec![
            CALIBRATED.to_owned(),
            "Pictures: the scenario's combination with other numbers of entries and match types. Their shape is that of the modelled \
             loop, with costs of our choice; only the point at 17 entries and five-tuple is calibrated."
                .to_owned(),
        ],
        ..Figure::default()
    };
    Ok(figure.with("scenario", case.to_string()).with("device", "a model of the Zodiac FX, seen only through packets"))
}

const CALIBRATED: &str = "The modelled device was calibrated once to the two published measurements R and T, so their agreement is no \
                          result. The numbers of the allocations follow from them and from a buffer of 8 packets of 306 B, \
                          the only whole number that gives both of the slide's rows.";

fn mbit(rate: wayleave_units::Rate) -> f64 {
    rate.bits_per_second() as f64 / 1e6
}

/// Measurements.
#[derive(Clone, Debug)]
struct Data {
    model: ServiceModel,
    full: Allocation,
    fifth: Allocation,
    dimensions: Vec<Dimension>,
}

/// One of the six dimensions of the benchmark, the others as in the scenario.
#[derive(Clone, Debug)]
struct Dimension {
    name: &'static str,
    values: Vec<Value>,
}

/// One value of a dimension, with its measurements.
#[derive(Clone, Debug)]
struct Value {
    name: String,
    delay_us: f64,
    mbit: f64,
    /// Packets that fit the buffer.
    packets: u32,
}

impl Dimension {
    /// Returns `true` if the measurements distinguish its values.
    fn matters(&self) -> bool {
        self.values.windows(2).any(|pair| pair[0].delay_us != pair[1].delay_us)
    }

    fn packets(&self) -> Vec<u32> {
        self.values.iter().map(|value| value.packets).collect()
    }
}

/// Every value of each dimension, one dimension at a time.
fn dimensions(run: &Run, case: Case) -> Result<Vec<Dimension>, Failed> {
    let measured = |name, cases: Vec<(String, Case)>| -> Result<Dimension, Failed> {
        let all =
            run.map(&cases, |(_, case)| measure_case(&SoftwareSwitch::ZODIAC_FX, *case).map_err(Failed::broken))?;
        let value = |((name, _), measured): ((String, Case), wayleave_topology::devices::Measurement)| Value {
            name,
            delay_us: measured.delay.as_nanos() as f64 / 1e3,
            mbit: mbit(measured.throughput),
            packets: measured.buffer,
        };
        Ok(Dimension { name, values: cases.into_iter().zip(all).map(value).collect() })
    };
    let named = |name: &dyn std::fmt::Display, case| (name.to_string(), case);
    Ok(vec![
        measured("entries", ENTRIES.iter().map(|&entries| named(&entries, Case { entries, ..case })).collect())?,
        measured(
            "match type",
            MatchType::ALL.iter().map(|&match_type| named(&match_type, Case { match_type, ..case })).collect(),
        )?,
        measured("action", Action::ALL.iter().map(|&action| named(&action, Case { action, ..case })).collect())?,
        measured("used entry", UsedEntry::ALL.iter().map(|&used| named(&used, Case { used, ..case })).collect())?,
        measured(
            "priorities",
            // Their direction only matters if entries follow the matching one.
            Priorities::ALL
                .iter()
                .map(|&priorities| named(&priorities, Case { priorities, used: UsedEntry::First, ..case }))
                .collect(),
        )?,
        measured(
            "packet size",
            PACKETS.iter().map(|&packet| (format!("{} B", packet.get()), Case { packet, ..case })).collect(),
        )?,
    ])
}

fn statements(Data { model, full, fifth, dimensions }: &Data) -> Vec<Statement> {
    let near = |value: f64, printed: f64, half_digit: f64| (value - printed).abs() <= half_digit;
    let processing = model.processing.as_nanos() as f64 / 1e6;
    let measured = format!("R = {:.2} Mbit/s, T = {processing:.3} ms", mbit(model.rate));
    // The slides round to the digits that they print.
    let is_so = near(mbit(model.rate), 11.8, 0.05) && near(processing, 0.46, 0.005);
    let claim_text = "R = 11.8 Mbit/s, T = 0.46 ms";
    let calibrated = match is_so {
        true => Statement::not_compared(SLIDE, claim_text, measured),
        false => Statement::claim(SLIDE, claim_text, false, measured),
    };
    let row = |claim_text: &str, of: &Allocation, printed: (f64, f64), (rate, rate_half): (f64, f64)| {
        let (kib, ms) = (of.burst.get() as f64 / 1024.0, of.delay.as_nanos() as f64 / 1e6);
        let measured = format!("{:.2} Mbit/s, {kib:.3} KiB, {ms:.3} ms", mbit(of.rate));
        let is_so = near(mbit(of.rate), rate, rate_half) && near(kib, printed.0, 0.005) && near(ms, printed.1, 0.005);
        Statement::claim(SLIDE, claim_text, is_so, measured).remark(
            "It follows from R, T and one whole number, the packets in the buffer. The slide's kB are read as KiB.",
        )
    };
    vec![
        calibrated.remark(CALIBRATED),
        row("full rate: 11.8 Mbit/s, 2.02 kB, 1.86 ms", full, (2.02, 1.86), (11.8, 0.05)),
        row("fifth rate: 2.37 Mbit/s, 2.32 kB, 2.07 ms", fifth, (2.32, 2.07), (2.37, 0.005)),
        buffers(dimensions),
        trends(dimensions),
        Statement::not_compared(
            "slide \"Step 1: Benchmarking\"",
            "the throughput of the control plane is measured as well as that of the data plane",
            "the simulated switch has no control plane",
        )
        .remark("The slides print no number for it."),
    ]
}

/// The published ends of the buffer went into the model, so they can only be contradicted.
fn buffers(dimensions: &[Dimension]) -> Statement {
    const SLIDE: &str = "slide \"Buffer capacity\"";
    let claim_text = "the buffer depends only on the packet size: from 3 packets of 1516 B to 25 of 64 B";
    let sizes: Vec<u32> =
        dimensions.iter().filter(|one| one.name == "packet size").flat_map(Dimension::packets).collect();
    let is_same =
        |one: &Dimension| one.name == "packet size" || one.packets().windows(2).all(|pair| pair[0] == pair[1]);
    let is_so = (sizes.first(), sizes.last()) == (Some(&25), Some(&3)) && dimensions.iter().all(is_same);
    let measured = format!(
        "{sizes:?} packets of 64 B to 1516 B; the same in every other dimension: {}",
        dimensions.iter().all(is_same)
    );
    match is_so {
        true => Statement::not_compared(SLIDE, claim_text, measured)
            .remark("Built into the modelled device, so that it comes out is no result."),
        false => Statement::claim(SLIDE, claim_text, false, measured),
    }
}

/// Returns the statement about the dependence of throughput and delay on each dimension.
fn trends(dimensions: &[Dimension]) -> Statement {
    const SLIDE: &str = "slide \"Step 1: Benchmarking\"";
    let claim_text =
        "six dimensions influence the processing: entries, match type, action, used entry, priorities, packet size";
    let trend = |one: &Dimension| {
        let delays = || one.values.iter().map(|value| value.delay_us);
        let (low, high) = (delays().fold(f64::INFINITY, f64::min), delays().fold(0.0, f64::max));
        format!("{} {low:.1} to {high:.1} us", one.name)
    };
    let measured = format!("delay of a packet by {}", dimensions.iter().map(trend).collect::<Vec<_>>().join(", "));
    match dimensions.iter().all(Dimension::matters) {
        true => Statement::not_compared(SLIDE, claim_text, measured).remark(
            "The benchmark sees all six through packets alone. That they matter follows from the loop of the slides, which is modelled; how much, from costs of our \
             choice. The slides show it in pictures only.",
        ),
        false => Statement::claim(SLIDE, claim_text, false, measured),
    }
}

fn table_of_dimensions(data: &Data) -> Table {
    let row = |name: &str, value: &Value| {
        vec![
            name.to_owned(),
            value.name.clone(),
            format!("{:.1}", value.delay_us),
            format!("{:.2}", value.mbit),
            value.packets.to_string(),
        ]
    };
    let rows = data.dimensions.iter().flat_map(|one| one.values.iter().map(|value| row(one.name, value)));
    Table {
        name: "dimensions".to_owned(),
        title: "One dimension at a time, the others as in the scenario (priorities: first entry)".to_owned(),
        columns: ["dimension", "value", "delay (us)", "throughput (Mbit/s)", "buffer (packets)"]
            .map(str::to_owned)
            .to_vec(),
        rows: rows.collect(),
    }
}

fn allocations(Data { model, full, fifth, .. }: &Data) -> Table {
    let row = |(name, allocation): (&str, &Allocation)| {
        let Allocation { rate, burst, delay } = allocation;
        vec![name.to_owned(), rate.to_string(), burst.to_string(), delay.to_string()]
    };
    Table {
        name: "allocations".to_owned(),
        title: format!("Allocations with R = {:#}, T = {:#}, buffer {}", model.rate, model.processing, model.buffer),
        columns: ["allocation", "max. rate", "max. burst", "max. delay"].map(str::to_owned).to_vec(),
        rows: [("full rate", full), ("fifth rate", fifth)].into_iter().map(row).collect(),
    }
}

/// Delay in us and throughput in Mbit/s by number of entries, a series for each number of fields that are compared.
fn by_entries(run: &Run, case: Case) -> Result<[Vec<Series>; 2], Failed> {
    let (mut delays, mut rates) = (Vec::new(), Vec::new());
    for match_type in [MatchType::Port, MatchType::FiveTuple, MatchType::All] {
        let cases = ENTRIES.map(|entries| Case { entries, match_type, ..case });
        let measured =
            run.map(&cases, |&case| measure_case(&SoftwareSwitch::ZODIAC_FX, case).map_err(Failed::broken))?;
        let series = |value: &dyn Fn(usize) -> f64| Series {
            name: match_type.to_string(),
            points: (0..cases.len()).map(|at| Point::of(f64::from(ENTRIES[at]), vec![value(at)])).collect(),
        };
        delays.push(series(&|at| measured[at].delay.as_nanos() as f64 / 1e3));
        rates.push(series(&|at| mbit(measured[at].throughput)));
    }
    Ok([delays, rates])
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::run::Effort;
    use crate::statement::{Verdict, assert_each_can_change};
    use wayleave_units::{Bytes, Time};

    fn data() -> Data {
        let run = Run::new(Effort::Quick);
        let scenario = PacketScenario::proof_of_concept();
        let table = benchmark(&SoftwareSwitch::ZODIAC_FX, &scenario, &mut wayleave::Watch::none()).unwrap();
        let model = ServiceModel::of(&table, &scenario).unwrap();
        let [full, fifth] =
            [AcceptedRate::FullRate, AcceptedRate::FifthRate].map(|share| Allocation::new(&model, share).unwrap());
        Data { model, full, fifth, dimensions: dimensions(&run, scenario.cases().next().unwrap()).unwrap() }
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        assert_each_can_change(
            &data(),
            statements,
            &[
                ("a smaller burst", &|data| data.full.burst = Bytes::new(2_000)),
                ("a longer delay", &|data| data.fifth.delay = Time::from_millis(3)),
            ],
        );
    }

    #[test]
    fn a_built_in_result_can_only_be_contradicted() {
        let verdicts = |data: &Data| statements(data)[3..5].iter().map(|one| one.verdict).collect::<Vec<_>>();
        assert_eq!(verdicts(&data()), [Verdict::NotCompared; 2]);
        let mut other = data();
        other.dimensions[0].values[0].packets += 1;
        other.dimensions[2].values.iter_mut().for_each(|value| value.delay_us = 1.0);
        assert_eq!(verdicts(&other), [Verdict::Unexplained; 2]);
    }
}
