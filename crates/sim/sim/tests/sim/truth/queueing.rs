//! Mean waits of queueing theory, with the error that several seeds leave.

use wayleave_scenarios::{Buffering, Discipline, Scenario, Traffic};
use wayleave_sim::Outcome;
use wayleave_units::{Bytes, Rate, Time};

use crate::truth::networks::{Cables, Star, poisson, ports, queue, run, star, star_of};

const LINE: Rate = Rate::from_gbit(10);

/// Enough that four standard errors are hardly ever exceeded by chance (Student's t with 15 degrees: 0.1 %).
const SEEDS: u64 = 16;

/// The mean wait at one port over some seeds in ps, and the standard error of that mean.
fn mean_wait(scenario: &Scenario, seeds: std::ops::Range<u64>, wait: impl Fn(&Outcome) -> f64) -> (f64, f64) {
    let waits: Vec<f64> = seeds.map(|seed| wait(&run(scenario, seed))).collect();
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    let variance = waits.iter().map(|wait| (wait - mean).powi(2)).sum::<f64>() / (waits.len() - 1) as f64;
    (mean, (variance / waits.len() as f64).sqrt())
}

/// Asserts that the theory lies within four standard errors, and that the error is small enough to separate theories.
#[track_caller]
fn assert_agrees((measured, error): (f64, f64), theory: f64, what: &str) {
    assert!(error < 0.03 * theory, "{what}: an error of {error} ps in {theory} ps says nothing");
    let bound = 4.0 * error + 0.005 * theory;
    let claim = format!("measured {measured} +- {error} ps with seeds 0 to {}, theory says {theory} ps", SEEDS - 1);
    assert!((measured - theory).abs() < bound, "{what}: {claim}");
}

/// Pollaczek-Khinchine: the mean wait in ps at a line, from sources of (frame, rate).
fn pollaczek_khinchine(sources: &[(u64, Rate)], line: Rate) -> f64 {
    let ps_per_byte = 8e12 / line.bits_per_second() as f64;
    let moment = |power: i32| -> f64 {
        let of = |&(frame, rate): &(u64, Rate)| {
            let per_ps = rate.bits_per_second() as f64 / (frame as f64 * 8e12);
            per_ps * (frame as f64 * ps_per_byte).powi(power)
        };
        sources.iter().map(of).sum()
    };
    moment(2) / (2.0 * (1.0 - moment(1)))
}

/// All sources at one host, whose port is the queue.
fn one_port(sources: &[(u64, Rate)], mtu: u64, milliseconds: u64) -> (Scenario, Star) {
    let mut cables = Cables::new();
    cables.mtu = Bytes::new(mtu);
    let star = star_of(cables, &[LINE, Rate::from_gbit(100)], 0);
    let mut scenario = Scenario::new("one port", star.network.clone(), Time::from_millis(milliseconds));
    scenario.hosts.buffering = Buffering::Unlimited;
    let (from, to) = (star.hosts[0], star.hosts[1]);
    let all = sources.iter().enumerate();
    let traffic: Vec<Traffic> =
        all.map(|(index, &(frame, rate))| poisson(&format!("p{index}"), from, to, frame, rate)).collect();
    scenario.traffic = traffic;
    (scenario, star)
}

fn wait_at(outcome: &Outcome, link: wayleave_topology::LinkId) -> f64 {
    queue(outcome, link, 0).wait.mean().unwrap()
}

/// Catches gaps that are not exponential, waits that leave out or add the packet being sent, and packets that find the
/// port idle but are not counted. M/D/1: rho S / 2(1 - rho).
#[test]
fn packets_of_one_size_wait_as_in_m_d_1() {
    for percent in [30, 60, 80] {
        let sources = [(1_250, Rate::from_mbit(100 * percent))];
        let (scenario, star) = one_port(&sources, 1500, 100);
        let load = percent as f64 / 100.0;
        // 1,250 B take 1 us at 10 Gbit/s.
        let theory = load * 1e6 / (2.0 * (1.0 - load));
        let measured = mean_wait(&scenario, 0..SEEDS, |outcome| wait_at(outcome, star.up[0]));
        assert_agrees(measured, theory, &format!("M/D/1 at {percent} %"));
        let same = pollaczek_khinchine(&sources, LINE);
        assert!((same - theory).abs() < 1e-6 * theory);
    }
}

/// Catches sizes that do not count for service, and sources whose packets come together. M/G/1 with three sizes.
#[test]
fn packets_of_three_sizes_wait_as_in_the_pollaczek_khinchine_formula() {
    let sources = [(84, Rate::from_mbit(500)), (500, Rate::from_gbit(2)), (1_538, Rate::from_mbit(4_500))];
    let (scenario, star) = one_port(&sources, 1500, 50);
    let measured = mean_wait(&scenario, 0..SEEDS, |outcome| wait_at(outcome, star.up[0]));
    assert_agrees(measured, pollaczek_khinchine(&sources, LINE), "M/G/1 at 70 %");
}

/// M/M/1: rho S / (1 - rho). A source has one size, so fifty sources of equal packet rate represent an exponential
/// distribution of size: each is the mean of its fiftieth. That loses 2 % of the second moment. The theory for the
/// actual sizes is therefore the tight check.
#[test]
fn packets_of_exponential_size_wait_as_in_m_m_1() {
    const SLICES: usize = 50;
    let (mean, load) = (2_000.0, 0.6);
    // The integral of -ln(1 - u) is (1 - u) ln(1 - u) - (1 - u).
    let integral = |share: f64| if share >= 1.0 { 0.0 } else { (1.0 - share) * ((1.0 - share).ln() - 1.0) };
    let sources: Vec<(u64, Rate)> = (0..SLICES)
        .map(|slice| {
            let ends = (slice as f64 / SLICES as f64, (slice + 1) as f64 / SLICES as f64);
            let frame = (mean * SLICES as f64 * (integral(ends.1) - integral(ends.0))).round();
            let rate = load * 10e9 * frame / (mean * SLICES as f64);
            (frame as u64, Rate::from_bits_per_second(rate as u64))
        })
        .collect();
    let (scenario, star) = one_port(&sources, 12_000, 150);
    let measured = mean_wait(&scenario, 0..SEEDS, |outcome| wait_at(outcome, star.up[0]));
    assert_agrees(measured, pollaczek_khinchine(&sources, LINE), "M/G/1, exponential sizes");
    let theory = load * mean * 800.0 / (1.0 - load);
    assert!((measured.0 / theory - 1.0).abs() < 0.05, "M/M/1: measured {} ps, theory says {theory} ps", measured.0);
}

/// Catches waits that appear or vanish between a host and a switch: twenty hosts on fast links are nearly a Poisson
/// process for the port behind the switch, in either form of port.
#[test]
fn a_switch_port_with_many_senders_is_m_d_1_too() {
    let mut rates = vec![Rate::from_gbit(400); 20];
    rates.push(LINE);
    let star = star(&rates, 1_000);
    for discipline in [Discipline::Fifo, Discipline::StrictPriority] {
        let mut scenario = Scenario::new("many", star.network.clone(), Time::from_millis(80));
        scenario.switches = ports(discipline.clone(), Buffering::Unlimited);
        let sources = star.hosts[..20].iter().enumerate();
        scenario.traffic = sources
            .map(|(index, &from)| poisson(&format!("p{index}"), from, star.hosts[20], 1_250, Rate::from_mbit(300)))
            .collect();
        let measured = mean_wait(&scenario, 0..SEEDS, |outcome| wait_at(outcome, star.down[20]));
        // Of one host no two packets come closer than 25 ns: a fortieth of the service, for a twentieth of the pairs.
        assert_agrees(measured, 0.6 * 1e6 / (2.0 * 0.4), &format!("{discipline:?}"));
    }
}
