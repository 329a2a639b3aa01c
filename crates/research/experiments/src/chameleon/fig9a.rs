//! Fig. 9a: the distribution of link utilisation over all scenarios, links of hosts left out (5.1.4).

use super::{Qjump, RerouteSettings, Silo, System, all_means_within, small_cases, small_seeds, small_settings};
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::{mean, ratio_of_means};

const PLAIN: System = System::Chameleon;
const REROUTING: System = System::Rerouting(RerouteSettings::OLDEST);
const OTHERS: [System; 2] = [System::Silo(Silo::TEXT), System::Qjump(Qjump::FLAT)];
const SYSTEMS: [System; 7] = [
    PLAIN,
    REROUTING,
    OTHERS[0],
    System::Silo(Silo::AROUND),
    System::Silo(Silo::UNSHAPED),
    OTHERS[1],
    System::Wayleave,
];

/// Reservations in all runs of a system.
#[derive(Clone, Debug)]
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

    /// The mean of all links, for each seed, in per cent.
    fn means(&self) -> Vec<f64> {
        self.by_seed.iter().map(|links| 100.0 * mean(links)).collect()
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
    let panel = Panel::new(
        "utilisation",
        "Links between switches, all scenarios",
        (Axis::linear("reserved share of a link's rate", "%"), Axis::linear("links (cumulative)", "%")),
        Form::Steps,
        used.iter().map(Used::series).collect(),
    );
    let figure = Figure {
        statements: statements(&used),
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

fn statements(used: &[Used]) -> Vec<Statement> {
    // Every requested system was measured; an unmeasured one, which no figure has, would get the first result.
    let of = |system: System| used.iter().find(|used| used.system == system).unwrap_or(&used[0]);
    let text = |value: &dyn Fn(&Used) -> f64| {
        let named = used.iter().map(|used| format!("{} {:.1} %", used.system.name(), value(used)));
        named.collect::<Vec<_>>().join("; ")
    };
    let more = |one: System, other: System| ratio_of_means(&of(one).means(), &of(other).means());
    let groups: Vec<Vec<f64>> =
        [PLAIN, REROUTING].into_iter().flat_map(|one| OTHERS.map(|other| more(one, other))).collect();
    vec![
        all_means_within(
            "5.1.4",
            "Chameleon uses the links significantly more than Silo and QJump",
            1.0..=f64::INFINITY,
            &groups,
            format!("mean of all links: {}", text(&|used| mean(&used.means()))),
        ),
        Statement::within(
            "5.1.4",
            "it reaches close to line rate on some links",
            0.9..=1.0,
            &[of(REROUTING).most()],
            format!("busiest link of all runs: {}", text(&|used| 100.0 * used.most())),
        )
        .remark("\"Close to line rate\" is taken as 90 % or more; a link cannot have more than its rate reserved."),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let of = |system: System| {
            let most = if matches!(system, PLAIN | REROUTING) { 0.95 } else { 0.2 };
            Used { system, by_seed: vec![vec![0.1, most], vec![0.11, most]] }
        };
        let set = |used: &mut Used, most: f64| used.by_seed.iter_mut().for_each(|links| links[1] = most);
        assert_each_can_change(
            &SYSTEMS.map(of).to_vec(),
            |used| statements(used),
            &[
                ("less than Silo", &|used| set(&mut used[2], 2.0)),
                ("no link is full", &|used| set(&mut used[1], 0.5)),
                ("more than a link has", &|used| set(&mut used[1], 1.5)),
            ],
        );
    }
}
