//! Fig. 8b: how many flows are reconfigured, by category, and how rate, burst and deadline matter (5.1.3).

use std::sync::Arc;

use wayleave_contracts::Category;

use super::filling::{Fate, Filling};
use super::{System, small_cases, small_seeds, small_settings};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series};
use crate::run::{Failed, Run};
use crate::statement::Statement;
use crate::stats::mean;

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = small_seeds(run);
    let fillings = run.fillings(&small_cases(System::Rerouting, &seeds))?;
    let by_category = |name: &str, of: &dyn Fn(&Filling, Category) -> Option<f64>| {
        let point = |category: Category| {
            Point::of(category.short(), fillings.iter().filter_map(|filling| of(filling, category)).collect())
        };
        Series { name: name.to_owned(), points: Category::ALL.into_iter().map(point).collect() }
    };
    let counts =
        by_category(
            "all scenarios",
            &|filling, category| Some(moved(filling, |fate| fate.category == category) as f64),
        );
    let shares = by_category("all scenarios", &|filling, category| share(filling, |fate| fate.category == category));
    let panel = |name: &str, title: &str, x: Axis, y: Axis, series| Panel {
        name: name.to_owned(),
        title: title.to_owned(),
        x,
        y,
        form: Form::Apart,
        centre: Centre::Mean,
        is_timing: false,
        bands: Vec::new(),
        series: vec![series],
    };
    let of_flows = || Axis::linear("admitted flows that were reconfigured", "%");
    let figure = Figure {
        statements: statements(&fillings, &shares, &counts),
        panels: vec![
            panel("count", "Reconfigured flows", Axis::categories("category"), Axis::linear("flows in a run", "flows"), counts),
            panel("share", "Reconfigured share of each category", Axis::categories("category"), of_flows(), shares),
            panel("by-rate", "By rate", Axis::categories("rate, up to"), of_flows(), by(&fillings, &RATES)),
            panel("by-burst", "By burst", Axis::categories("burst, up to"), of_flows(), by(&fillings, &BURSTS)),
            panel("by-deadline", "By deadline", Axis::categories("deadline, up to"), of_flows(), by(&fillings, &DEADLINES)),
        ],
        seeds,
        notes: vec![
            "A flow counts once, however often it is moved; runs of all eight scenarios together. Dots are means over the \
             runs, thick bars their 95 % confidence intervals (Student's t), thin ones 1 % to 99 %."
                .to_owned(),
        ],
        ..Figure::default()
    };
    Ok(small_settings(figure))
}

/// Bins of a quantity: the largest value of each, with its text.
struct Bins {
    of: fn(&Fate) -> u64,
    up_to: &'static [(u64, &'static str)],
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

fn by(fillings: &[Arc<Filling>], bins: &Bins) -> Series {
    let mut low = 0;
    let mut points = Vec::new();
    for &(high, text) in bins.up_to {
        let is_in = |fate: &Fate| (low..=high).contains(&(bins.of)(fate));
        let values = fillings.iter().filter_map(|filling| share(filling, is_in)).collect();
        points.push(Point::of(text, values));
        low = high.saturating_add(1);
    }
    Series { name: "all scenarios".to_owned(), points }
}

fn moved(filling: &Filling, is_meant: impl Fn(&Fate) -> bool) -> usize {
    filling.fates.iter().filter(|fate| fate.moves > 0 && is_meant(fate)).count()
}

/// In per cent; none where no such flow was admitted.
fn share(filling: &Filling, is_meant: impl Fn(&Fate) -> bool) -> Option<f64> {
    let all = filling.fates.iter().filter(|fate| is_meant(fate)).count();
    (all > 0).then(|| 100.0 * moved(filling, is_meant) as f64 / all as f64)
}

fn statements(fillings: &[Arc<Filling>], shares: &Series, counts: &Series) -> Vec<Statement> {
    let total: Vec<f64> = fillings.iter().map(|filling| moved(filling, |_| true) as f64).collect();
    let per_run: Vec<f64> = fillings.iter().filter_map(|filling| share(filling, |_| true)).collect();
    let means = |series: &Series| series.points.iter().map(|point| point.summary.mean).collect::<Vec<f64>>();
    let text = |values: &[f64], unit: &str| {
        let named = Category::ALL.into_iter().zip(values);
        named.map(|(category, value)| format!("{} {value:.1}{unit}", category.short())).collect::<Vec<_>>().join(", ")
    };
    let (share_of, count_of) = (means(shares), means(counts));
    let measured = format!("flows: {}; shares: {}", text(&count_of, ""), text(&share_of, " %"));
    let is_least = |values: &[f64]| values[3] < values[0] && values[3] < values[1] && values[3] < values[2];
    let is_clock_less = |values: &[f64]| values[1] < values[0] && values[1] < values[2];
    vec![
        Statement::claim(
            "5.1.3",
            "bandwidth-hungry flows (BH) are reconfigured less than the other types",
            is_least(&count_of),
            measured.clone(),
        )
        .because("By number it depends on how many of them there are."),
        Statement::claim(
            "5.1.3",
            "clock synchronization (CS) is reconfigured less than IA and CPS, for its tight deadlines",
            is_clock_less(&count_of),
            measured,
        )
        .because(
            "The candidates are the oldest flows on the shortest paths, whatever their kind, and a CS flow that stands in the \
             fast queues still finds another fast path in the small network.",
        ),
        Statement::within(
            "5.1.3",
            "fewer than 100 flows are reconfigured on average",
            0.0..=100.0,
            &[mean(&total)],
            format!("{:.0} flows on average", mean(&total)),
        ),
        Statement::within(
            "5.1.3",
            "that is a few per cent of the accepted flows",
            0.0..=10.0,
            &[mean(&per_run)],
            format!("{:.1} % on average", mean(&per_run)),
        ),
    ]
}
