use proptest::prelude::*;

use super::*;
use wayleave_units::Time;

const LINE: u64 = 1_000_000_000;

const T: Time = Time::from_micros(300);

fn terms(weight: u64) -> TunnelTerms {
    TunnelTerms { weight, floor: 1, needed: 0, line: LINE }
}

fn period(marked: u64) -> Period {
    Period::of((100, marked, 0), 0).unwrap()
}

/// One that has met a mark, at level 1.
fn steady() -> TunnelControl {
    let mut control = TunnelControl::new(T);
    control.on_period(period(100), T, TunnelUse::Full, terms(1), &Params::default());
    control
}

fn level(control: &TunnelControl) -> f64 {
    control.level as f64 / ONE as f64
}

#[test]
fn the_control_law_is_linear_in_the_fraction_of_marks() {
    let params = Params::default();
    // 1 % without marks; -4 % with nothing else; half of both between them.
    for (marked, expected) in [(0, 1.01), (100, 0.96), (50, 1.0 + 0.005 - 0.02), (25, 1.0 + 0.0075 - 0.01)] {
        let mut control = steady();
        control.on_period(period(marked), T, TunnelUse::Full, terms(250_000_000), &params);
        assert!((level(&control) - expected).abs() < 1e-6, "{marked}: {}", level(&control));
    }
}

/// Catches: a brake that holds who is at its weight, or below it.
#[test]
fn a_tunnel_above_its_weight_yields_sooner() {
    for (level, expected) in
        [(0.5, 0.48), (1.0, 0.96), (1.5, 1.5 - 0.06 - 0.05), (2.0, 2.0 - 0.08 - 0.1), (4.0, 4.0 - 0.16 - 0.1)]
    {
        let mut control = steady();
        control.level = (level * ONE as f64) as u64;
        control.on_period(period(100), T, TunnelUse::Full, terms(250_000_000), &Params::default());
        let found = control.level as f64 / ONE as f64;
        assert!((found - expected).abs() < 1e-6, "{level}: {found}");
    }
}

/// Catches: steps that grow before the path was free for long, or without end, or by parts of the level so soon that ratios stay as they are.
#[test]
fn steps_grow_after_a_long_time_without_marks() {
    for (clear, expected) in [(11, 0.01), (12, 0.01), (13, 0.02), (27, 0.16), (31, 0.16), (32, 0.25)] {
        let mut control = steady();
        control.level = 8 * ONE;
        let quiet = Period::of((100, 0, 0), clear).unwrap();
        control.on_period(quiet, T, TunnelUse::Full, terms(1_000_000), &Params::default());
        let grown = level(&control) - 8.0;
        assert!((grown - expected).abs() < 1e-6, "{clear}: {grown}");
    }
    let (mut control, params) = (steady(), Params::below_classes(T));
    control.on_period(Period::of((100, 0, 0), 50).unwrap(), T, TunnelUse::Full, terms(1_000_000), &params);
    assert!((level(&control) - 1.01).abs() < 1e-6, "where steps do not grow: {}", level(&control));
}

/// At a quarter of its weight a tunnel grows by 4 % of that rate in a period, and at a tenth by no more than an eighth.
#[test]
fn a_tunnel_below_its_weight_recovers_sooner() {
    for (part, step) in [(2, 0.02), (4, 0.04), (10, 0.04)] {
        let mut control = steady();
        control.level = ONE / part;
        control.on_period(period(0), T, TunnelUse::Full, terms(250_000_000), &Params::default());
        let grown = level(&control) - 1.0 / part as f64;
        assert!((grown - f64::min(step, 1.0 / part as f64 / 8.0)).abs() < 1e-6, "{part}: {grown}");
    }
}

#[test]
fn a_rate_is_weight_times_level_without_the_relief_of_its_marks() {
    let (params, mut control) = (Params::default(), steady());
    assert_eq!(control.rate(terms(200_000_000), &params), 150_000_000, "all was marked: a quarter is forgone");
    control.marks = WHOLE / 2;
    assert_eq!(control.rate(terms(200_000_000), &params), 175_000_000);
    control.marks = 0;
    assert_eq!(control.rate(terms(200_000_000), &params), 200_000_000);
    assert_eq!(control.rate(terms(2 * LINE), &params), LINE, "not above the line");
    assert_eq!(control.rate(TunnelTerms { weight: 0, floor: 100_000, needed: 0, line: LINE }, &params), 100_000);
}

#[test]
fn a_tunnel_starts_with_its_weight_and_doubles_until_the_first_mark() {
    let (params, mut control) = (Params::default(), TunnelControl::new(T));
    let of = |control: &TunnelControl| control.rate(terms(1_000_000), &params);
    assert_eq!(of(&control), 1_000_000);
    for expected in [2_000_000, 4_000_000, 8_000_000] {
        control.on_period(period(0), T, TunnelUse::Full, terms(1_000_000), &params);
        assert_eq!(of(&control), expected);
    }
    control.on_period(period(0), T, TunnelUse::Partial, terms(1_000_000), &params);
    assert_eq!(of(&control), 8_000_000, "what is not used does not grow");
    control.on_period(period(1), T, TunnelUse::Full, terms(1_000_000), &params);
    assert_eq!(level(&control), 1.0, "its weight");
}

#[test]
fn a_loss_halves_the_rate() {
    let mut control = steady();
    let lost = Period::of((900, 0, 100), 0).unwrap();
    control.on_period(lost, T, TunnelUse::Full, terms(1_000_000), &Params::default());
    assert_eq!(level(&control), 0.5);
    assert_eq!(Period::of((0, 0, 0), 0), None);
}

#[test]
fn a_tunnel_that_resumes_does_not_yield_for_ten_periods() {
    let (params, mut control) = (Params::default(), steady());
    control.wake(9);
    for _ in 0..10 {
        control.on_period(period(100), T, TunnelUse::Full, terms(1_000_000), &params);
        assert_eq!(level(&control), 1.0);
        assert_eq!(control.phase == Phase::Steady, control.rate(terms(1_000_000), &params) < 1_000_000);
    }
    control.on_period(period(100), T, TunnelUse::Full, terms(1_000_000), &params);
    assert!(level(&control) < 1.0);
}

/// Two tunnels at one bottleneck that marks everything when its load is above the line: `rounds` periods.
fn fluid(weights: [u64; 2], mut controls: [TunnelControl; 2], params: &Params, rounds: u32) -> [u64; 2] {
    let rates = |controls: &[TunnelControl; 2]| [0, 1].map(|at| controls[at].rate(terms(weights[at]), params));
    for _ in 0..rounds {
        let marked = if rates(&controls).iter().sum::<u64>() > LINE { 100 } else { 0 };
        for (control, weight) in controls.iter_mut().zip(weights) {
            control.on_period(period(marked), T, TunnelUse::Full, terms(weight), params);
        }
    }
    rates(&controls)
}

proptest! {
    /// The proof of docs/theory/scc.md in whole numbers: for any initial levels, the difference shrinks with every
    /// mark. The sum of the weights on the link is between a fifth of its rate and four times that rate.
    #[test]
    fn rates_converge_to_the_ratio_of_weights(light in 100_000_000_u64..400_000_000, times in 1_u64..10, far in 1_u64..50) {
        // A weight above its own line cannot get its part.
        prop_assume!(light * times <= LINE);
        let mut controls = [steady(), steady()];
        controls[0].level = ONE / far;
        controls[1].level = ONE / times;
        let rates = fluid([light, light * times], controls, &Params::default(), 3_000);
        let ratio = rates[1] as f64 / rates[0] as f64 / times as f64;
        prop_assert!((ratio - 1.0).abs() < 0.02, "{rates:?} for 1 to {times}");
    }
}

/// Part B of the earlier finding: rates that begin alike and change by factors of weights end far from them.
#[test]
fn the_printed_equations_never_share_by_weight() {
    let params = Params { rate_law: RateLaw::AsPrinted, ..Params::default() };
    // One period: 1 + W, and 1 - alpha W with W = 0.25.
    let mut control = steady();
    control.on_period(period(0), T, TunnelUse::Full, terms(250_000_000), &params);
    assert!((level(&control) - 1.25).abs() < 1e-6, "{}", level(&control));
    control.on_period(period(50), T, TunnelUse::Full, terms(250_000_000), &params);
    assert!((level(&control) - 1.25 * 0.875).abs() < 1e-6, "{}", level(&control));
    // Weights 0.01 and 0.03, both from 1 Mbit/s: R2 is R1 cubed, so about 10 and 990 Mbit/s.
    let (weights, mut controls) = ([10_000_000, 30_000_000], [steady(), steady()]);
    (controls[0].level, controls[1].level) = (ONE / 10, ONE / 30);
    let rates = fluid(weights, controls, &params, 3_000);
    assert!(rates[0] < 20_000_000 && rates[1] > 900_000_000, "{rates:?}");
}

/// Catches: a floor that changes the level, so that a long flow keeps the rate of its first packets.
#[test]
fn a_needed_rate_does_not_depend_on_the_level() {
    let (params, mut control) = (Params::default(), steady());
    let needed = TunnelTerms { needed: 400_000_000, ..terms(10_000_000) };
    assert_eq!(control.rate(needed, &params), 400_000_000);
    control.on_period(period(0), T, TunnelUse::Full, needed, &params);
    assert!((level(&control) - 1.01).abs() < 1e-6);
    assert_eq!(control.rate(terms(10_000_000), &params) / 1_000, 10_099);
}
