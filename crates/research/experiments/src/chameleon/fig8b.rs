//! Fig. 8b: number of reconfigured flows by category, and influence of rate, burst and deadline (5.1.3).

use wayleave_contracts::Category;

use super::filling::{AdmittedFlowFate, FillResult};
use super::{RerouteSettings, System, all_means_within, small_cases, small_seeds, small_settings};
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::mean;

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = small_seeds(run);
    let fillings = run.fillings(&small_cases(System::Rerouting(RerouteSettings::OLDEST), &seeds))?;
    let data = Data { runs: fillings.iter().map(|filling| Counted::of(filling)).collect() };
    let figure = Figure {
        statements: statements(&data),
        panels: panels(&data),
        seeds,
        notes: vec![
            "A flow counts once, however often it is moved; runs of all eight scenarios together. Dots are means over the \
             runs, thick bars their 95 % confidence intervals (Student's t), thin ones 1 % to 99 %."
                .to_owned(),
            format!(
                "A range for \"a few per cent\": from 1 % to less than 10 %. \"The very first\" of {} candidates: the first {FIRST}.",
                RerouteSettings::LIMIT
            ),
        ],
        ..Figure::default()
    };
    Ok(small_settings(figure))
}

/// The very first candidates: a quarter of the 20 that are tried (4.1.3).
const FIRST: u32 = 5;

/// Flows of one kind, and the number of them that were moved.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    moved: u32,
    all: u32,
}

impl Share {
    /// In per cent; none where no such flow was admitted.
    fn percent(self) -> Option<f64> {
        (self.all > 0).then(|| 100.0 * f64::from(self.moved) / f64::from(self.all))
    }
}

/// Counts of one run.
#[derive(Clone, Debug)]
struct Counted {
    total: Share,
    /// In the order of [`Category::ALL`]: IA, CS, CPS, BH.
    categories: [Share; 4],
    rates: Vec<Share>,
    bursts: Vec<Share>,
    deadlines: Vec<Share>,
    /// Requests that were admitted once flows had moved: of them, those for which at most [`FIRST`] had to.
    rerouted: Share,
}

impl Counted {
    fn of(filling: &FillResult) -> Self {
        let share = |is_meant: &dyn Fn(&AdmittedFlowFate) -> bool| {
            let meant = || filling.fates.iter().filter(|fate| is_meant(fate));
            Share { moved: meant().filter(|fate| fate.moves > 0).count() as u32, all: meant().count() as u32 }
        };
        let by = |bins: &Bins| bins.ranges().map(|range| share(&|fate| range.contains(&(bins.of)(fate)))).collect();
        let rerouted = || filling.moved.iter().filter(|&&moved| moved > 0);
        Self {
            total: share(&|_| true),
            categories: Category::ALL.map(|category| share(&|fate| fate.category == category)),
            rates: by(&RATES),
            bursts: by(&BURSTS),
            deadlines: by(&DEADLINES),
            rerouted: Share {
                moved: rerouted().filter(|&&moved| moved <= FIRST).count() as u32,
                all: rerouted().count() as u32,
            },
        }
    }
}

/// One entry for each run.
#[derive(Clone, Debug)]
struct Data {
    runs: Vec<Counted>,
}

impl Data {
    fn each(&self, of: impl Fn(&Counted) -> Option<f64>) -> Vec<f64> {
        self.runs.iter().filter_map(of).collect()
    }

    /// Of runs that have flows of both kinds, what is moved of one kind less what is moved of the other, in points of a per cent.
    fn less(&self, one: impl Fn(&Counted) -> Share, other: impl Fn(&Counted) -> Share) -> Vec<f64> {
        self.each(|run| Some(other(run).percent()? - one(run).percent()?))
    }
}

/// Bins of a quantity: the largest value of each, with its text.
struct Bins {
    of: fn(&AdmittedFlowFate) -> u64,
    up_to: &'static [(u64, &'static str)],
}

impl Bins {
    fn ranges(&self) -> impl Iterator<Item = std::ops::RangeInclusive<u64>> {
        let lows = std::iter::once(0).chain(self.up_to.iter().map(|(high, _)| high.saturating_add(1)));
        lows.zip(self.up_to).map(|(low, &(high, _))| low..=high)
    }
}

const RATES: Bins = Bins {
    of: |fate| fate.rate.bits_per_second(),
    up_to: &[
        (220_000, "220 kbit/s"),
        (550_000, "550 kbit/s"),
        (4_000_000, "4 Mbit/s"),
        (8_000_000, "8 Mbit/s"),
        (u64::MAX, "200 Mbit/s"),
    ],
};
const BURSTS: Bins = Bins {
    of: |fate| fate.burst.get(),
    up_to: &[(140, "140 B"), (300, "300 B"), (400, "400 B"), (3_000, "3 kB"), (u64::MAX, "5 kB")],
};
const DEADLINES: Bins = Bins {
    of: |fate| fate.deadline.as_nanos() / 1_000_000,
    up_to: &[(3, "4 ms"), (19, "20 ms"), (79, "80 ms"), (119, "120 ms"), (u64::MAX, "200 ms")],
};

fn panels(data: &Data) -> Vec<Panel> {
    let by_category = |of: &dyn Fn(Share) -> Option<f64>| {
        let point =
            |(at, category): (usize, Category)| Point::of(category.short(), data.each(|run| of(run.categories[at])));
        Series { name: "all scenarios".to_owned(), points: Category::ALL.into_iter().enumerate().map(point).collect() }
    };
    let by = |bins: &Bins, of: &dyn Fn(&Counted) -> &Vec<Share>| {
        let point =
            |(at, (_, text)): (usize, &(u64, &'static str))| Point::of(*text, data.each(|run| of(run)[at].percent()));
        Series { name: "all scenarios".to_owned(), points: bins.up_to.iter().enumerate().map(point).collect() }
    };
    let panel = |name: &str, title: &str, x: &str, y: Axis, series| {
        Panel::new(name, title, (Axis::categories(x), y), Form::Apart, vec![series])
    };
    let of_flows = || Axis::linear("admitted flows that were reconfigured", "%");
    let counts = by_category(&|share| Some(f64::from(share.moved)));
    vec![
        panel("count", "Reconfigured flows", "category", Axis::linear("flows in a run", "flows"), counts),
        panel(
            "share",
            "Reconfigured share of each category",
            "category",
            of_flows(),
            by_category(&|share| share.percent()),
        ),
        panel("by-rate", "By rate", "rate, up to", of_flows(), by(&RATES, &|run| &run.rates)),
        panel("by-burst", "By burst", "burst, up to", of_flows(), by(&BURSTS, &|run| &run.bursts)),
        panel("by-deadline", "By deadline", "deadline, up to", of_flows(), by(&DEADLINES, &|run| &run.deadlines)),
    ]
}

const ABOVE_ZERO: std::ops::RangeInclusive<f64> = 0.0..=f64::INFINITY;

fn statements(data: &Data) -> Vec<Statement> {
    let total = data.each(|run| Some(f64::from(run.total.moved)));
    let few = data.each(|run| run.total.percent());
    let of_first = data.each(|run| run.rerouted.percent());
    vec![
        by_number(data, "bandwidth-hungry flows (BH) are reconfigured less than the other types", 3, &[0, 1, 2]),
        by_number(data, "clock synchronization (CS) is reconfigured less than IA and CPS", 1, &[0, 2]),
        larger_flows(data),
        tight_deadlines(data),
        Statement::mean_within(
            "5.1.3",
            "fewer than 100 flows are reconfigured on average",
            0.0..=100.0,
            &total,
            format!("{:.0} flows on average", mean(&total)),
        ),
        Statement::mean_within(
            "5.1.3",
            "that is a few per cent of the accepted flows",
            1.0..=10.0,
            &few,
            format!("{:.1} % on average", mean(&few)),
        ),
        Statement::mean_within(
            "4.1.3",
            "most successful reroutings happen in the very first flows",
            50.0..=f64::INFINITY,
            &of_first,
            format!(
                "{:.0} % of the requests that rerouting admits need at most {FIRST} flows to move, of {} that are tried",
                mean(&of_first),
                RerouteSettings::LIMIT
            ),
        ),
    ]
}

/// A category has fewer flows that are moved than others.
fn by_number(data: &Data, claim_text: &str, one: usize, others: &[usize]) -> Statement {
    let moved = |run: &Counted, at: usize| f64::from(run.categories[at].moved);
    let less = |&other: &usize| data.each(|run| Some(moved(run, other) - moved(run, one)));
    let groups: Vec<Vec<f64>> = others.iter().map(less).collect();
    let text = |(at, category): (usize, Category)| {
        let percent = mean(&data.each(|run| run.categories[at].percent()));
        let flows = mean(&data.each(|run| Some(moved(run, at))));
        format!("{} {flows:.1} in a run ({percent:.1} % of them)", category.short())
    };
    let measured = Category::ALL.into_iter().enumerate().map(text).collect::<Vec<_>>().join(", ");
    all_means_within("5.1.3", claim_text, ABOVE_ZERO, &groups, measured)
}

/// The last bin of rates and bursts against all others together.
fn larger_flows(data: &Data) -> Statement {
    let last = |shares: &[Share]| shares.last().copied().unwrap_or_default();
    let others = |shares: &[Share]| {
        let add = |sum: Share, one: &Share| Share { moved: sum.moved + one.moved, all: sum.all + one.all };
        shares.split_last().map_or(Share::default(), |(_, rest)| rest.iter().fold(Share::default(), add))
    };
    let groups = [
        data.less(|run| last(&run.rates), |run| others(&run.rates)),
        data.less(|run| last(&run.bursts), |run| others(&run.bursts)),
    ];
    let percent = |of: &dyn Fn(&Counted) -> Share| mean(&data.each(|run| of(run).percent()));
    let flows = |at: usize| mean(&data.each(|run| Some(f64::from(run.categories[at].all))));
    all_means_within(
        "5.1.3",
        "flows of high rate and burst have less chance to be reconfigured",
        ABOVE_ZERO,
        &groups,
        format!(
            "above 8 Mbit/s {:.2} % are moved, of the others {:.2} %; above 3 kB {:.2} %, of the others {:.2} %",
            percent(&|run| last(&run.rates)),
            percent(&|run| others(&run.rates)),
            percent(&|run| last(&run.bursts)),
            percent(&|run| others(&run.bursts))
        ),
    )
    .supposed(format!(
        "divided by how many flows there are of a kind, those of high rate and burst are moved as often as others or more. They are moved less by number because \
         they are few: of a run's flows {:.0} are BH, {:.0} IA, {:.0} CS and {:.0} CPS.",
        flows(3),
        flows(0),
        flows(1),
        flows(2)
    ))
}

/// The first bin of deadlines is that of clock synchronization.
fn tight_deadlines(data: &Data) -> Statement {
    let less = data.less(|run| run.categories[1], |run| run.categories[0]);
    let and = data.less(|run| run.categories[1], |run| run.categories[2]);
    let percent = |at: usize| mean(&data.each(|run| run.categories[at].percent()));
    all_means_within(
        "5.1.3",
        "for its tight deadlines, a clock synchronization flow has less chance to be reconfigured than one of IA or CPS",
        ABOVE_ZERO,
        &[less, and],
        format!("CS {:.2} %, IA {:.2} %, CPS {:.2} %", percent(1), percent(0), percent(2)),
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    fn share(moved: u32) -> Share {
        Share { moved, all: 200 }
    }

    fn data() -> Data {
        let run = |more: u32| Counted {
            total: Share { moved: 16 + more, all: 800 },
            categories: [share(6 + more), share(3 + more), share(6 + more), share(1 + more)],
            rates: vec![share(5), share(5), share(1 + more)],
            bursts: vec![share(5), share(5), share(1 + more)],
            deadlines: vec![share(1), share(2)],
            rerouted: Share { moved: 8 + more % 2, all: 10 },
        };
        Data { runs: (0..3).map(run).collect() }
    }

    fn each(data: &mut Data, change: impl Fn(&mut Counted)) {
        data.runs.iter_mut().for_each(change);
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        assert_each_can_change(
            &data(),
            statements,
            &[
                ("many of BH", &|data| each(data, |run| run.categories[3].moved += 30)),
                ("many of CS", &|data| each(data, |run| run.categories[1].moved += 30)),
                ("large flows are moved", &|data| each(data, |run| run.rates[2].moved += 30)),
                ("few flows of CS, all of them moved", &|data| {
                    each(data, |run| run.categories[1] = Share { moved: 3, all: 10 });
                }),
                ("more than 100", &|data| each(data, |run| run.total = Share { moved: 110, all: 5_500 })),
                ("a tenth of a per cent", &|data| each(data, |run| run.total.all = 20_000)),
                ("a fifth of all flows", &|data| each(data, |run| run.total = Share { moved: 90, all: 400 })),
                ("the last of the candidates", &|data| each(data, |run| run.rerouted.moved = 2)),
            ],
        );
    }
}
