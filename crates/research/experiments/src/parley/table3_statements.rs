//! Statements of section 6.3 about Table 3, compared with the measurements.

use super::table3_data::{BEYOND, CONTROLS, Data, LOADS, OTHERS, READINGS, text};
use super::testbed::System;
use crate::statement::Statement;
use crate::stats::mean;

/// A and B with a bound, in ms, as printed.
const BOUNDS: [[f64; 4]; 2] = [[9.01, 15.32, 25.53, 38.30], [9.77, 16.60, 27.67, 0.0]];
/// B's 9.34 ms under Parley beside 7.89 ms without, at 15 %: the largest difference of Table 3 that the text does not call significant.
const INSIGNIFICANT: f64 = 9.34 / 7.89;
/// Mean of 16.07 and 15.54 ms, the runs beyond 100 % load without crashes; "84.62 ms" with crashes is five times as much.
const TAIL_MS: f64 = (16.07 + 15.54) / 2.0;
/// "The standard deviation was less than 0.3 ms."
const DEVIATION_MS: f64 = 0.3;

/// All of them.
pub(super) fn statements(data: &Data) -> Vec<Statement> {
    let mut all = vec![unprotected(data)];
    for system in READINGS {
        all.push(protected(data, system));
        all.push(tail(data, system));
        all.push(limited(data, system));
        all.extend([0, 1].map(|service| unaffected(data, system, service)));
        all.push(growing(data, system));
        all.push(crashed(data, system));
    }
    all.push(deviations(data));
    all.extend([0, 1].map(|service| bounds(data, service)));
    all
}

fn list(tails: &[f64]) -> String {
    tails.iter().map(|&tail| text(tail)).collect::<Vec<_>>().join(", ")
}

/// A's percentiles beyond 100 % load.
fn beyond(data: &Data, system: System) -> Vec<f64> {
    data.tails(system, BEYOND, 0)
}

fn unprotected(data: &Data) -> Statement {
    let tails: Vec<f64> = OTHERS.iter().flat_map(|&system| beyond(data, system)).collect();
    let measured: Vec<String> =
        OTHERS.iter().map(|&system| format!("{}: {}", system.name(), list(&beyond(data, system)))).collect();
    Statement::within(
        "6.3",
        "beyond 100 % load neither nothing nor EyeQ, which hears of no marks, keeps A's tail below the bound of equation 2 (939.79 and 701.26 ms)",
        data.bounds[0][3]..=f64::INFINITY,
        &tails,
        measured.join("; "),
    )
    .remark(format!("A control: EyeQ with marks as printed, and no brokers, has {}.", list(&beyond(data, CONTROLS[0].0))))
}

fn protected(data: &Data, system: System) -> Statement {
    let tails = beyond(data, system);
    Statement::mean_within(
        "6.3",
        "beyond 100 % load Parley keeps A's tail below the bound of equation 2, 38.30 ms",
        0.0..=data.bounds[0][3],
        &tails,
        list(&tails),
    )
    .reading(system.name())
}

fn tail(data: &Data, system: System) -> Statement {
    let tails = beyond(data, system);
    Statement::mean_within(
        "6.3, remark",
        "beyond 100 % load A's tail is 16.07 and 15.54 ms with Parley, in the runs without crashes",
        TAIL_MS / 2.0..=TAIL_MS * 2.0,
        &tails,
        list(&tails),
    )
    .reading(system.name())
}

fn limited(data: &Data, system: System) -> Statement {
    let received: Vec<f64> = data.runs(system, BEYOND, 0).iter().map(|run| run.received).collect();
    let shown: Vec<String> = received.iter().map(|rate| format!("{rate:.1}")).collect();
    let by = READINGS.map(|system| {
        let received: Vec<f64> = data.runs(system, BEYOND, 0).iter().map(|run| run.received).collect();
        format!("{} {:.1} Gbit/s", system.name(), mean(&received))
    });
    Statement::mean_within(
        "6.3",
        "the load at the rack is limited to 60 Gbit/s, whatever is offered",
        0.0..=60.5,
        &received,
        format!("{} Gbit/s", shown.join(", ")),
    )
    .reading(system.name())
    .supposed(format!(
        "what machine shapers know of marks. The same requests under the same brokers: {}.",
        by.join(", ")
    ))
}

/// The ratios to the same requests without guarantees, by load.
fn ratios(data: &Data, system: System, service: usize) -> Vec<Vec<f64>> {
    let of = |load: u64| {
        let pairs = data.tails(system, load, service).into_iter().zip(data.tails(System::Nothing, load, service));
        // Both may be longer than the run.
        pairs.map(|(with, without)| if with == without { 1.0 } else { with / without }).collect()
    };
    LOADS[..3].iter().map(|&load| of(load)).collect()
}

fn unaffected(data: &Data, system: System, service: usize) -> Statement {
    let name = ["A", "B"][service];
    let ratios = ratios(data, system, service);
    let off = |ratios: &Vec<f64>| mean(ratios).ln().abs();
    let farthest = ratios.iter().max_by(|one, other| off(one).total_cmp(&off(other)));
    let shown: Vec<String> = ratios.iter().map(|ratios| format!("{:.2}", mean(ratios))).collect();
    let marks: Vec<String> = READINGS
        .into_iter()
        .chain([CONTROLS[1].0])
        .map(|system| {
            let marked: Vec<f64> = data.runs(system, 70, 0).iter().map(|run| run.marked).collect();
            let tails = data.tails(system, 70, service);
            format!("{} has {} with {:.0} % of packets marked", system.name(), text(mean(&tails)), mean(&marked))
        })
        .collect();
    let eyeq = mean(&data.tails(OTHERS[1], 70, service));
    Statement::mean_within(
        "6.3",
        format!(
            "below 100 % load Parley does not significantly affect latency, by no more than a factor of {INSIGNIFICANT:.2} (the largest of Table 3): \
             {name}"
        ),
        1.0 / INSIGNIFICANT..=INSIGNIFICANT,
        farthest.map_or(&[], Vec::as_slice),
        format!("{name}'s tail is {} times that without guarantees, at 15, 50 and 70 %", shown.join(", ")),
    )
    .reading(system.name())
    .supposed(format!(
        "the same requests at 70 %: {}; EyeQ without marks and without brokers has {}, and nothing has {}.",
        marks.join("; "),
        text(eyeq),
        text(mean(&data.tails(System::Nothing, 70, service)))
    ))
}

fn growing(data: &Data, system: System) -> Statement {
    let rising: Vec<Vec<f64>> = LOADS[..3].iter().map(|&load| data.tails(system, load, 0)).collect();
    let steps = (0..rising[0].len()).map(|run| (rising[1][run] - rising[0][run]).min(rising[2][run] - rising[1][run]));
    let steps: Vec<f64> = steps.collect();
    let shown: Vec<String> = rising.iter().map(|tails| text(mean(tails))).collect();
    let without: Vec<String> = LOADS[..3].iter().map(|&load| text(mean(&data.tails(READINGS[0], load, 0)))).collect();
    Statement::mean_within(
        "6.3",
        "A's latency grows with the total load, though its own is constant",
        0.0..=f64::INFINITY,
        &steps,
        format!("{} at 15, 50 and 70 %", shown.join(", ")),
    )
    .reading(system.name())
    .supposed(format!("marks: the same requests under the same brokers take {} without them.", without.join(", ")))
}

fn crashed(data: &Data, system: System) -> Statement {
    let (with, without) = (data.runs(system, BEYOND, 2), data.runs(system, BEYOND, 0));
    let ratios: Vec<f64> = with.iter().zip(without).map(|(with, without)| with.tails[0] / without.tails[0]).collect();
    let tails: Vec<f64> = with.iter().map(|run| run.tails[0]).collect();
    Statement::mean_within(
        "6.3, remark",
        "with two crashed rack brokers A's tail is five times as long (84.62 ms)",
        2.5..=10.0,
        &ratios,
        format!("{}, {:.1} times as long as without a crash", list(&tails), mean(&ratios)),
    )
    .reading(system.name())
}

/// Of the percentiles of the runs.
fn deviations(data: &Data) -> Statement {
    let cells = OTHERS.into_iter().chain([READINGS[0]]).flat_map(|system| {
        LOADS[..3].iter().flat_map(move |&load| [0, 1].map(|service| data.tails(system, load, service)))
    });
    let worst = cells.map(|tails| deviation(&tails)).fold(f64::NEG_INFINITY, f64::max);
    let claim_text = "below 100 % load the standard deviation of the percentiles over the runs is less than 0.3 ms";
    let worst = if worst.is_finite() { format!("at most {worst:.2} ms") } else { "one run each".to_owned() };
    let measured = format!("{worst}, of nothing, EyeQ and Parley without marks");
    Statement::not_compared("6.3, remark", claim_text, measured).remark(format!(
        "The paper's runs are 20 minutes each, less than {DEVIATION_MS} ms apart. Percentiles of windows as short as ours vary more, whatever the system."
    ))
}

fn deviation(values: &[f64]) -> f64 {
    let middle = mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    if values.len() < 2 { f64::NAN } else { (squares / (values.len() - 1) as f64).sqrt() }
}

fn bounds(data: &Data, service: usize) -> Statement {
    let printed = BOUNDS[service].iter().filter(|bound| **bound > 0.0);
    let pairs = printed.zip(&data.bounds[service]);
    let off: Vec<f64> = pairs.clone().map(|(printed, bound)| bound - printed).collect();
    let shown: Vec<String> = pairs.map(|(_, bound)| format!("{bound:.2}")).collect();
    let claim_text = format!("Table 3's bounds of {}, by equation 2", ["A", "B"][service]);
    // To the digits that are printed, and the rounding up of ours.
    Statement::within("Table 3", claim_text, -0.01..=0.01, &off, format!("{} ms", shown.join(", ")))
        .remark("The range is that of the difference from what is printed, in ms.")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::table3_data::{Case, RunReadings};
    use super::*;
    use crate::statement::assert_each_can_change;

    fn seen(tails: [f64; 2]) -> RunReadings {
        RunReadings { tails, requests: 100, received: 59.0, marked: 3.0 }
    }

    /// Everything as the text has it; runs differ by a little.
    fn data() -> Data {
        let mut cells = Vec::new();
        let mut add = |system, load, crashed, tails: [f64; 2]| {
            let runs = [0.99, 1.01].map(|part| seen(tails.map(|tail| tail * part))).to_vec();
            cells.push((Case { system, load, crashed }, runs));
        };
        for system in OTHERS.into_iter().chain(READINGS) {
            add(system, 15, 0, [2.0, 7.0]);
            add(system, 50, 0, [3.0, 7.0]);
            add(system, 70, 0, [6.0, 14.0]);
        }
        OTHERS.into_iter().for_each(|system| add(system, BEYOND, 0, [700.0, 900.0]));
        for system in READINGS {
            add(system, BEYOND, 0, [16.0, 900.0]);
            add(system, BEYOND, 2, [80.0, 900.0]);
        }
        Data { cells, bounds: BOUNDS }
    }

    fn change(data: &mut Data, of: impl Fn(&Case) -> bool, to: impl Fn(&mut RunReadings)) {
        data.cells.iter_mut().filter(|(case, _)| of(case)).for_each(|(_, runs)| runs.iter_mut().for_each(&to));
    }

    fn is_parley(case: &Case) -> bool {
        READINGS.contains(&case.system)
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let low = |part: f64| {
            move |data: &mut Data| {
                change(
                    data,
                    |case| is_parley(case) && case.load < BEYOND,
                    |run| run.tails = run.tails.map(|tail| tail * part),
                );
            }
        };
        assert_each_can_change(
            &data(),
            statements,
            &[
                ("EyeQ protects A", &|data: &mut Data| {
                    change(data, |case| case.system == OTHERS[1] && case.load == BEYOND, |run| run.tails[0] = 30.0);
                }),
                ("Parley does not", &|data: &mut Data| {
                    change(data, |case| is_parley(case) && case.load == BEYOND, |run| run.tails[0] = f64::INFINITY);
                }),
                ("the rack receives more", &|data: &mut Data| change(data, is_parley, |run| run.received = 70.0)),
                ("Parley is slow", &low(2.0)),
                ("Parley is fast", &low(0.48)),
                ("the load does not matter", &|data: &mut Data| {
                    change(data, |case| case.load == 50, |run| run.tails[0] = 1.0);
                }),
                ("Parley has a short tail", &|data: &mut Data| {
                    change(
                        data,
                        |case| is_parley(case) && case.load == BEYOND && case.crashed == 0,
                        |run| run.tails[0] = 7.0,
                    );
                }),
                ("crashes do more harm", &|data: &mut Data| {
                    change(data, |case| case.crashed > 0, |run| run.tails[0] = 200.0)
                }),
                ("crashes do no harm", &|data: &mut Data| {
                    change(data, |case| case.crashed > 0, |run| run.tails[0] = 1.0)
                }),
                ("bounds are larger", &|data: &mut Data| data.bounds = BOUNDS.map(|row| row.map(|bound| bound + 0.1))),
                ("bounds are smaller", &|data: &mut Data| data.bounds = BOUNDS.map(|row| row.map(|bound| bound - 0.1))),
            ],
        );
    }
}
