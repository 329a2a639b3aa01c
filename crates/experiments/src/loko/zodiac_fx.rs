//! Steps 1 and 2 on a simulated Zodiac FX: what a benchmark measures, and the two allocations that follow.

use wayleave_schemes::loko::{Allocation, Model, Share};
use wayleave_topology::devices::{Case, ENTRIES, MatchType, Scenario, SoftwareSwitch};

use super::panel;
use crate::data::{Axis, Figure, Form, Point, Series, Table};
use crate::low_cost::{benchmark, measure as measure_case};
use crate::run::{Failed, Run};
use crate::statement::Statement;

const SLIDE: &str = "slide \"Proof-of-Concept\"";

/// Measures it: nothing here is random, so it needs no seeds.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let scenario = Scenario::proof_of_concept();
    let table = benchmark(&SoftwareSwitch::ZODIAC_FX, &scenario, |_| {}).map_err(Failed::broken)?;
    let model = Model::of(&table, &scenario).map_err(Failed::broken)?;
    let allocation = |share| Allocation::new(&model, share).map_err(Failed::broken);
    let (full, fifth) = (allocation(Share::FullRate)?, allocation(Share::FifthRate)?);
    let case = scenario.cases().next().ok_or_else(|| Failed::broken("the scenario has no combination"))?;
    let [delays, rates] = by_entries(run, case)?;
    let entries = || Axis::linear("flow entries", "");
    let figure = Figure {
        statements: statements(&model, &full, &fifth),
        panels: vec![
            panel("delay", "Delay of a single packet", (entries(), Axis::linear("delay", "us")), Form::Joined, delays),
            panel("throughput", "Throughput", (entries(), Axis::linear("throughput", "Mbit/s")), Form::Joined, rates),
        ],
        tables: vec![allocations(&model, &[("full rate", full), ("fifth rate", fifth)])],
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

fn statements(model: &Model, full: &Allocation, fifth: &Allocation) -> Vec<Statement> {
    let near = |value: f64, printed: f64, half_digit: f64| (value - printed).abs() <= half_digit;
    let processing = model.processing.as_nanos() as f64 / 1e6;
    let measured = format!("R = {:.2} Mbit/s, T = {processing:.3} ms", mbit(model.rate));
    // The slides round to the digits that they print.
    let is_so = near(mbit(model.rate), 11.8, 0.05) && near(processing, 0.46, 0.005);
    let says = "R = 11.8 Mbit/s, T = 0.46 ms";
    let calibrated = match is_so {
        true => Statement::not_compared(SLIDE, says, measured),
        false => Statement::claim(SLIDE, says, false, measured),
    };
    let row = |says: &str, of: &Allocation, printed: (f64, f64), (rate, rate_half): (f64, f64)| {
        let (kib, ms) = (of.burst.get() as f64 / 1024.0, of.delay.as_nanos() as f64 / 1e6);
        let measured = format!("{:.2} Mbit/s, {kib:.3} KiB, {ms:.3} ms", mbit(of.rate));
        let is_so = near(mbit(of.rate), rate, rate_half) && near(kib, printed.0, 0.005) && near(ms, printed.1, 0.005);
        Statement::claim(SLIDE, says, is_so, measured).remark(
            "It follows from R, T and one whole number, the packets in the buffer. The slide's kB are read as KiB.",
        )
    };
    vec![
        calibrated.remark(CALIBRATED),
        row("full rate: 11.8 Mbit/s, 2.02 kB, 1.86 ms", full, (2.02, 1.86), (11.8, 0.05)),
        row("fifth rate: 2.37 Mbit/s, 2.32 kB, 2.07 ms", fifth, (2.32, 2.07), (2.37, 0.005)),
    ]
}

fn allocations(model: &Model, of: &[(&str, Allocation)]) -> Table {
    let row = |(name, allocation): &(&str, Allocation)| {
        let Allocation { rate, burst, delay } = allocation;
        vec![(*name).to_owned(), rate.to_string(), burst.to_string(), delay.to_string()]
    };
    Table {
        name: "allocations".to_owned(),
        title: format!("Allocations with R = {}, T = {}, buffer {}", model.rate, model.processing, model.buffer),
        columns: ["allocation", "max. rate", "max. burst", "max. delay"].map(str::to_owned).to_vec(),
        rows: of.iter().map(row).collect(),
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
