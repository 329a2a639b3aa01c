//! Fig. 9a: the distribution of link utilisation over all scenarios, links of hosts left out (5.1.4).

use super::{Qjump, Silo, System, small_cases, small_seeds, small_settings};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series};
use crate::run::{Failed, Run};
use crate::statement::Statement;
use crate::stats::mean;

const SYSTEMS: [System; 6] = [
    System::Chameleon,
    System::Rerouting,
    System::Silo(Silo::SHAPED),
    System::Silo(Silo::UNSHAPED),
    System::Qjump(Qjump::FLAT),
    System::Wayleave,
];

/// What was reserved in all runs of a system.
struct Used {
    system: System,
    /// By seed, all scenarios and links together, sorted.
    by_seed: Vec<Vec<f64>>,
}

impl Used {
    fn measure(run: &Run, system: System, seeds: &[u64]) -> Result<Self, Failed> {
        let fillings = run.fillings(&small_cases(system, seeds))?;
        let of_seed = |at: usize| {
            let runs = fillings.iter().skip(at).step_by(seeds.len());
            let mut all: Vec<f64> = runs.flat_map(|filling| filling.utilisation.iter().copied()).collect();
            all.sort_unstable_by(f64::total_cmp);
            all
        };
        Ok(Self { system, by_seed: (0..seeds.len()).map(of_seed).collect() })
    }

    fn mean(&self) -> f64 {
        mean(&self.by_seed.concat())
    }

    /// The busiest link of all runs.
    fn most(&self) -> f64 {
        self.by_seed.iter().filter_map(|links| links.last()).copied().fold(0.0, f64::max)
    }

    fn series(&self) -> Series {
        let point = |percent: u32| {
            let at = f64::from(percent) / 100.0;
            let below = |links: &Vec<f64>| links.partition_point(|&link| link <= at) as f64 / links.len().max(1) as f64;
            Point::of(f64::from(percent), self.by_seed.iter().map(|links| 100.0 * below(links)).collect())
        };
        Series { name: self.system.name(), points: (0..=100).map(point).collect() }
    }
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = small_seeds(run);
    let cases: Vec<_> = SYSTEMS.iter().flat_map(|&system| small_cases(system, &seeds)).collect();
    run.fillings(&cases)?;
    let used: Vec<Used> = SYSTEMS.iter().map(|&system| Used::measure(run, system, &seeds)).collect::<Result<_, _>>()?;
    let panel = Panel {
        name: "utilisation".to_owned(),
        title: "Links between switches, all scenarios".to_owned(),
        x: Axis::linear("reserved share of a link's rate", "%"),
        y: Axis::linear("links with no more", "%"),
        form: Form::Steps,
        centre: Centre::Mean,
        is_timing: false,
        bands: Vec::new(),
        series: used.iter().map(Used::series).collect(),
    };
    let text = |of: &[&Used], value: fn(&Used) -> f64| {
        let named = of.iter().map(|used| format!("{}: {:.1} %", used.system.name(), 100.0 * value(used)));
        named.collect::<Vec<_>>().join("; ")
    };
    let [plain, rerouting, shaped, unshaped, qjump, _] = &used[..] else {
        return Err(Failed::broken("six systems"));
    };
    let all = [plain, rerouting, shaped, unshaped, qjump];
    let figure = Figure {
        statements: vec![
            Statement::claim(
                "5.1.4",
                "Chameleon uses the links significantly more than the others",
                plain.mean() > 2.0 * shaped.mean().max(qjump.mean()) && rerouting.mean() > plain.mean(),
                format!("mean of all links: {}", text(&all, Used::mean)),
            ),
            Statement::within(
                "5.1.4",
                "it reaches close to line rate on some links",
                0.9..=1.0,
                &[rerouting.most()],
                format!("busiest link of all runs: {}", text(&all, Used::most)),
            ),
        ],
        panels: vec![panel],
        seeds,
        notes: vec![
            "Reserved rate over line rate when the first request is refused. Every line is the mean over the seeds of the \
             share of links; the links of hosts are left out in both directions."
                .to_owned(),
        ],
        ..Figure::default()
    };
    Ok(small_settings(figure))
}
