//! The registers of uFAB-C in eBPF against the model that simulations and tests of the scheme use, probe by probe.

use std::collections::BTreeMap;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_dataplane::switch::{ProbeFor, ProbeRequest, RegisterSettings, Registers};
use wayleave_scheme_api::{HopWindow, IntHop, Probe, ProbeAt, ProbeKind, Switch};
use wayleave_schemes::switch::ufab_core::{Params, UfabCore};
use wayleave_units::{Bytes, Time};

use crate::world::World;

/// Probes; fewer queues and pairs than in a network, so that they meet.
const PROBES: usize = 20_000;
const QUEUES: u32 = 3;
const PAIRS: u64 = 40;

/// State of a pair at a queue, as its sender knows it.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    counted: (u64, u64),
    period: Option<bool>,
    change: u16,
}

pub(crate) fn the_registers_in_the_kernel_equal_those_of_the_model() {
    let world = World::new();
    // Short, so that filters turn and periods end many times.
    let (dedup_window, pair_expiry) = (Time::from_micros(900), Time::from_micros(7_000));
    let params = Params { dedup_window, pair_expiry, ..Params::default() };
    let set = RegisterSettings { dedup_window, pair_expiry, measurement_interval: params.measurement_interval };
    let mut kernel = Registers::open(&world.pins.join("ufab"), set).unwrap();
    let mut models: Vec<UfabCore> = (0..QUEUES).map(|_| UfabCore::new(params)).collect();
    let mut known: BTreeMap<(u32, u64), Known> = BTreeMap::new();
    let mut random = ChaCha8Rng::seed_from_u64(19);
    let (mut now, mut sent) = (1, [0_u64; QUEUES as usize]);
    let (mut turns, mut repeats, mut seen_twice) = (0, 0, 0);
    for at in 0..PROBES {
        now += 10_u64.pow(random.random_range(0..6)) * random.random_range(0..8);
        // Sometimes no probe is sent for whole periods.
        now += if random.random_range(0..500) == 0 { random.random_range(0..30_000_000) } else { 0 };
        let queue = random.random_range(0..QUEUES);
        sent[queue as usize] += 1 << random.random_range(0..31);
        let pair = random.random_range(0..PAIRS);
        let knows = known.entry((queue, pair)).or_default();
        let kind = [ProbeFor::Candidate, ProbeFor::Active, ProbeFor::Active, ProbeFor::Active, ProbeFor::Finish]
            [random.random_range(0..5)];
        let is_repeated = random.random_range(0..4) == 0;
        knows.change = if is_repeated { knows.change } else { knows.change.wrapping_add(1) };
        let wanted = (random.random_range(0..1 << 16), random.random_range(0..1 << 24));
        let output = ProbeRequest {
            queue,
            pair,
            kind,
            wanted: (wanted.0, Bytes::new(wanted.1)),
            counted: (knows.counted.0, Bytes::new(knows.counted.1)),
            period: knows.period,
            change: knows.change,
            is_repeated,
            sent: sent[queue as usize],
        };
        let time = Time::from_nanos(now);
        let reported = kernel.probe(time, &output).unwrap();

        let probe = Probe {
            counted: knows.counted.0,
            change: knows.change,
            is_repeated,
            ..Probe::new(pair, kind_of(kind), wanted.0)
        };
        let output =
            HopWindow { window: Bytes::new(wanted.1), counted: Bytes::new(knows.counted.1), period: knows.period };
        let mut hop = IntHop { sent: Bytes::new(sent[queue as usize]), ..IntHop::default() };
        models[queue as usize].on_telemetry(time, Some(&ProbeAt { probe, window: output }), &mut hop);
        assert_eq!(
            (reported.tokens, reported.windows, reported.rate, reported.period),
            (hop.tokens, hop.windows, hop.tx, hop.period),
            "probe {at} of seed 19, at {now}: {output:?} {probe:?}"
        );
        turns += usize::from(knows.period.is_some_and(|period| period != reported.period));
        repeats += usize::from(is_repeated);
        seen_twice += usize::from(is_repeated && kind == ProbeFor::Active);
        // Most answers come back.
        if kind != ProbeFor::Candidate && random.random_range(0..5) > 0 {
            let is_active = kind == ProbeFor::Active;
            knows.counted = if is_active { wanted } else { (0, 0) };
            knows.period = is_active.then_some(reported.period);
        }
    }
    assert!(turns > 100 && repeats > 1_000 && seen_twice > 100, "{turns} {repeats} {seen_twice}");
    let nowhere = ProbeRequest {
        queue: 64,
        pair: 1,
        kind: ProbeFor::Active,
        wanted: (0, Bytes::ZERO),
        counted: (0, Bytes::ZERO),
        period: None,
        change: 1,
        is_repeated: false,
        sent: 0,
    };
    assert!(kernel.probe(Time::from_nanos(now), &nowhere).is_err());
}

const fn kind_of(kind: ProbeFor) -> ProbeKind {
    match kind {
        ProbeFor::Candidate => ProbeKind::Candidate,
        ProbeFor::Active => ProbeKind::Active,
        ProbeFor::Finish => ProbeKind::Finish,
    }
}
