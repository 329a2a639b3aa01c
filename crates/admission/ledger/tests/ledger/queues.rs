//! The kernels against the exact curves, and the ledger against itself after a long life.
use std::sync::Arc;

use proptest::prelude::*;
use wayleave_calculus::rational;
use wayleave_contracts::BucketDemand;
use wayleave_ledger::{
    Comparison, Denial, JitterModel, Ledger, Model, PortInput, QueueBounds, QueueLimitKind, QueueReport, Residual,
    Shaping, TrialFlow,
};
use wayleave_repo_checks::Random;
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_topology::{FlowId, Hop, LinkSpec, Network, NetworkBuilder, Node, NodeKind, PortSpec, Route};
use wayleave_units::{Amount, Bytes, Rate, Time};

/// Three hosts of the given rates on a switch, and one output of `out` with three queues.
fn funnel(inputs: [u64; 3], out: u64, buffer: u64) -> Arc<Network> {
    funnel_with_jitter(inputs, out, buffer, Time::ZERO)
}

/// That network, where the switch has jitter.
fn funnel_with_jitter(inputs: [u64; 3], out: u64, buffer: u64, jitter: Time) -> Arc<Network> {
    let mut builder = NetworkBuilder::default();
    let (name, kind, processing) = ("s".to_owned(), NodeKind::Switch, Time::ZERO);
    let switch = builder.add(Node { name, kind, processing, jitter }).unwrap();
    let sink = builder.add_node("sink", NodeKind::Host).unwrap();
    let cable = |from, to, mbit| LinkSpec {
        from,
        to,
        rate: Rate::from_mbit(mbit),
        propagation: Time::ZERO,
        mtu: Bytes::new(1500),
        port: PortSpec::uniform(4, Bytes::new(buffer)),
    };
    builder.add_link(cable(switch, sink, out)).unwrap();
    for (index, rate) in inputs.into_iter().enumerate() {
        let host = builder.add_node(&format!("h{index}"), NodeKind::Host).unwrap();
        builder.add_link(cable(host, switch, rate)).unwrap();
    }
    Arc::new(builder.build())
}

fn ledger(network: &Arc<Network>, model: Model, budgets: &[u64]) -> Ledger {
    let budgets: Vec<Time> = budgets.iter().map(|&us| Time::from_micros(us)).collect();
    Ledger::new(network.clone(), model, vec![budgets; network.links().len()]).unwrap()
}

fn demand(kbit: u64, bytes: u64) -> BucketDemand {
    BucketDemand { rate: Rate::from_bits_per_second(kbit * 1000), burst: Bytes::new(bytes), max_frame: None }
}

fn keeps_everything(model: &Model, report: &QueueReport) -> bool {
    let (budget, buffer) = (rational::from_time(report.budget), rational::from_amount(report.buffer.into()));
    let (Some(delay), Some(backlog)) = (&report.delay, &report.backlog) else { return false };
    match model.comparison {
        Comparison::NonStrict => *delay <= budget && *backlog <= buffer,
        Comparison::Strict => *delay < budget && *backlog < buffer,
    }
}

fn models() -> impl Strategy<Value = Model> {
    let residual = prop_oneof![Just(Residual::Full), Just(Residual::FirstSlope)];
    let shaping = prop_oneof![3 => Just(Shaping::InputLinks), 1 => Just(Shaping::Off)];
    let comparison = prop_oneof![Just(Comparison::Strict), Just(Comparison::NonStrict)];
    let jitter = prop_oneof![Just(JitterModel::Ordered), Just(JitterModel::Any)];
    (residual, shaping, comparison, jitter).prop_map(|(residual, shaping, comparison, jitter)| {
        Model::default().with_residual(residual).with_shaping(shaping).with_comparison(comparison).with_jitter(jitter)
    })
}

/// Number of cases in `PROPTEST_CASES`, or else `usual`.
fn cases(usual: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_some() { config } else { ProptestConfig { cases: usual, ..config } }
}

proptest! {
    #![proptest_config(cases(400))]

    /// Every answer of the kernels, on ports with slower, equal and faster inputs, is that of the exact curves.
    #[test]
    fn the_kernels_decide_as_the_exact_curves_do(
        model in models(),
        inputs in prop::array::uniform3(prop_oneof![Just(100u64), Just(1000), Just(1001), Just(10_000)]),
        (out, jitter) in (prop_oneof![Just(100u64), Just(1000), Just(10_000)], prop_oneof![Just(0u64), 0..150_000u64]),
        buffer in 10_000u64..200_000,
        flows in prop::collection::vec((0usize..3, 0u8..3, 1u64..90_000, 64u64..40_000), 1..25),
    ) {
        let network = funnel_with_jitter(inputs, out, buffer, Time::from_nanos(jitter));
        let mut ledger = ledger(&network, model, &[200, 1500, 6000]);
        let port = network.find_link("s->sink").unwrap();
        for (host, queue, kbit, bytes) in flows {
            let demand = demand(kbit, bytes);
            let uplink = network.find_link(&format!("h{host}->s")).unwrap();
            let hop = Hop { link: uplink, queue: 0 };
            if ledger.reserved(uplink) + demand.rate > network.link(uplink).rate {
                continue;
            }
            let burst = Amount::from(demand.burst) + demand.rate * ledger.budget(hop);
            let fits = ledger.fits(port, queue, PortInput::link(uplink), demand.rate, burst);
            let denial = ledger.denial(port, queue, PortInput::link(uplink), demand.rate, burst);
            prop_assert_eq!(denial.is_none(), fits, "{:?}", denial);
            let flow = ledger.reserve(demand, Route { hops: vec![hop, Hop { link: port, queue }] });
            let kept = ledger.report(port).iter().filter(|report| report.queue >= queue && report.flows > 0).all(|report| keeps_everything(&model, report));
            prop_assert_eq!(fits, kept, "{:?}", ledger.report(port));
            if let Some(QueueLimitKind::Delay { bound, .. }) = denial.as_ref().map(|denial| &denial.limit) {
                let broken = denial.as_ref().map_or(0, |denial| usize::from(denial.queue));
                prop_assert_eq!(Some(*bound), ledger.report(port)[broken].delay_bound());
            }
            if let Some(QueueLimitKind::Buffer { backlog, .. }) = denial.as_ref().map(|denial| &denial.limit) {
                let broken = denial.as_ref().map_or(0, |denial| usize::from(denial.queue));
                prop_assert_eq!(Some(*backlog), ledger.report(port)[broken].backlog_bound());
            }
            if !fits {
                ledger.release(flow).unwrap();
            }
            for link in [uplink, port] {
                let exact: Vec<_> = ledger.report(link).iter().map(QueueBounds::from).collect();
                prop_assert_eq!(ledger.bounds(link), exact);
            }
        }
    }

    #[test]
    fn a_first_slope_is_never_better_and_equal_with_equal_rates(
        flows in prop::collection::vec((0usize..3, 0u8..3, 1u64..90_000, 64u64..40_000), 1..25),
    ) {
        let network = funnel([1000; 3], 1000, 100_000);
        let port = network.find_link("s->sink").unwrap();
        let mut both = [Residual::Full, Residual::FirstSlope]
            .map(|residual| ledger(&network, Model::default().with_residual(residual), &[200, 1500, 6000]));
        for (host, queue, kbit, bytes) in flows {
            let uplink = network.find_link(&format!("h{host}->s")).unwrap();
            let hops = vec![Hop { link: uplink, queue: 0 }, Hop { link: port, queue }];
            for ledger in &mut both {
                ledger.reserve(demand(kbit, bytes), Route { hops: hops.clone() });
            }
            let [full, first] = both.each_ref().map(|ledger| ledger.report(port));
            prop_assert!(full.iter().zip(&first).all(|(full, first)| full.delay == first.delay && full.backlog == first.backlog));
        }
    }
}

/// Two flows into a port of 10 Gbit/s, over lines of 40 Gbit/s, at a switch with 20 us of jitter: 10 Mbit/s with a burst of
/// 1,562 B after a budget of 1 us, and 100 Mbit/s with 60,000 B after 13 us.
fn late_and_early(jitter: JitterModel) -> QueueReport {
    let network = funnel_with_jitter([40_000, 40_000, 40_000], 10_000, 200_000, Time::from_micros(20));
    let link = |name| network.find_link(name).unwrap();
    let budget = |name: &str| Time::from_micros(if name == "h0->s" { 1 } else { 13 });
    let budgets = network.links().map(|(_, link)| vec![budget(&link.name)]).collect();
    let mut ledger = Ledger::new(network.clone(), Model::default().with_jitter(jitter), budgets).unwrap();
    for (uplink, kbit, bytes) in [("h0->s", 10_000, 1562), ("h1->s", 100_000, 60_000)] {
        let hops = [uplink, "s->sink"].map(|name| Hop { link: link(name), queue: 0 }).to_vec();
        ledger.reserve(demand(kbit, bytes), Route { hops });
    }
    ledger.report(link("s->sink")).remove(0)
}

#[test]
fn jitter_that_does_not_preserve_order_delays_a_packet_twice() {
    // Two frames of 1,562 B at 10 Gbit/s are 2.4992 us; the bursts are 12,506 and 481,300 bits, the last knee is at
    // (481,300 - 12,496) / 39.9 Gbit/s = 11.7495 us. In order: 2.4992 + 20 + 49.3806 + 0.011 * 11.7495 - 11.7495 us.
    let ordered = late_and_early(JitterModel::Ordered);
    assert_eq!(ordered.delay_bound(), Some(Time::from_nanos(60_260)));
    // In any order what comes within 20 us enters at once, behind all knees: bursts grow by 2,200 bits, and the wait of
    // 2.4992 + 49.3806 + 0.22 us begins 20 us after the packet has come.
    let any = late_and_early(JitterModel::Any);
    assert_eq!(any.delay_bound(), Some(Time::from_nanos(72_100)));
    assert_eq!(
        any.backlog, ordered.backlog,
        "the service has lost the jitter in one, the arrivals have gained it in the other"
    );
}

#[test]
fn a_budget_below_the_jitter_admits_nothing() {
    let network = funnel_with_jitter([1000; 3], 1000, 200_000, Time::from_micros(201));
    let ledger = ledger(&network, Model::default(), &[200, 1500, 6000]);
    let port = network.find_link("s->sink").unwrap();
    let denial = |queue| ledger.denial(port, queue, PortInput::LOCAL, Rate::from_mbit(1), Bytes::new(100).into());
    // 201 us, two frames, 100 B, and the traffic that 1 Mbit/s brings in 201 us: 201 bits.
    let bound = Time::from_nanos(201_000 + 24_992 + 800 + 201);
    let limit = QueueLimitKind::Delay { bound, budget: Time::from_micros(200) };
    assert_eq!(denial(0), Some(Denial { queue: 0, limit }));
    assert_eq!(denial(1), None);
}

#[test]
fn an_input_that_fills_its_line_permanently_is_bounded_by_it() {
    // Rates add up to the input's line: its token bucket never takes over.
    let network = funnel([1000; 3], 1000, 1_000_000);
    let mut ledger = ledger(&network, Model::default(), &[200, 1500, 6000]);
    let (port, uplink) = (network.find_link("s->sink").unwrap(), network.find_link("h0->s").unwrap());
    let hops = vec![Hop { link: uplink, queue: 0 }, Hop { link: port, queue: 0 }];
    ledger.reserve(demand(1_000_000, 60_000), Route { hops });
    let bound = ledger.report(port)[0].delay_bound();
    // 1562 B from the line on top of two frames of debt, at 1 Gbit/s.
    assert_eq!(bound, Some(Time::from_nanos(3 * 1562 * 8)));
}

#[test]
fn a_refusal_names_the_lower_queue_that_would_break() {
    let network = funnel([1000; 3], 1000, 1_000_000);
    let mut ledger = ledger(&network, Model::default(), &[400, 400, 6000]);
    let (port, uplink) = (network.find_link("s->sink").unwrap(), network.find_link("h0->s").unwrap());
    let other = network.find_link("h1->s").unwrap();
    let low = Route { hops: vec![Hop { link: uplink, queue: 0 }, Hop { link: port, queue: 1 }] };
    ledger.reserve(demand(100, 40_000), low.clone());
    ledger.reserve(demand(100, 18_000), Route { hops: vec![Hop { link: other, queue: 0 }, low.hops[1]] });
    let denial = ledger.denial(port, 0, PortInput::LOCAL, Rate::from_mbit(1), Bytes::new(30_000).into()).unwrap();
    assert_eq!(denial.queue, 1);
    assert!(
        matches!(denial.limit, QueueLimitKind::Delay { bound, budget } if bound > budget && budget == Time::from_micros(400))
    );
}

#[test]
fn an_empty_lower_queue_refuses_nothing() {
    let network = funnel([1000; 3], 1000, 1_000_000);
    // The second queue's budget is below its latency behind a 12 kB burst, but no flow uses it.
    let ledger = ledger(&network, Model::default(), &[200, 30, 6000]);
    let port = network.find_link("s->sink").unwrap();
    assert!(ledger.fits(port, 0, PortInput::LOCAL, Rate::from_mbit(1), Bytes::new(12_000).into()));
}

/// A seeded walk of additions, moves and releases; prints the seed that replays it.
fn random_life(steps: u32, seed: u64) {
    let network = Arc::new(build::fat_tree(&FatTree { cabling: Cabling::default(), ..FatTree::default() }).unwrap());
    let budgets = [100, 500, 1000, 1500, 3000, 6000, 12_000];
    let all = network.links().map(|(_, link)| {
        let usable = Model::default().contract_queues(&network, link);
        budgets[..usable].iter().map(|&us| Time::from_micros(us)).collect()
    });
    let mut ledger = Ledger::new(network.clone(), Model::default(), all.collect()).unwrap();
    let empty = ledger.clone();
    let mut random = Random::new(seed);
    let hosts: Vec<_> = network.hosts().collect();
    let walk = |random: &mut Random| {
        let mut at = hosts[random.index(hosts.len())];
        let mut hops = Vec::new();
        for _ in 0..=random.below(5) {
            let links = network.links_from(at);
            let link = links[random.index(links.len())];
            hops.push(Hop { link, queue: random.below(empty.budgets(link).len() as u64) as u8 });
            at = network.link(link).to;
        }
        Route { hops }
    };
    let mut alive: Vec<FlowId> = Vec::new();
    for _ in 0..steps {
        let pick = random.index(alive.len().max(1));
        match random.below(5) {
            0 | 1 if alive.len() < 300 => {
                let demand = demand(1 + random.below(200_000), 1 + random.below(60_000));
                alive.push(ledger.reserve(demand, walk(&mut random)));
            }
            2 if !alive.is_empty() => {
                let old = ledger.also_reserve(alive[pick], walk(&mut random)).unwrap();
                ledger.leave(alive[pick], &old);
            }
            3 if !alive.is_empty() => {
                let old = ledger.also_reserve(alive[pick], walk(&mut random)).unwrap();
                ledger.leave(alive[pick], &old);
                ledger.restore(alive[pick], old);
            }
            _ if !alive.is_empty() => {
                ledger.release(alive.swap_remove(pick)).unwrap();
            }
            _ => {}
        }
    }
    let mut fresh = empty.clone();
    for (_, flow) in ledger.flows() {
        fresh.reserve(flow.demand, flow.route.clone());
    }
    assert!(fresh == ledger, "the ledger is not what its flows make it");
    for flow in alive {
        ledger.release(flow).unwrap();
    }
    assert!(empty == ledger, "the empty ledger is not what it was");
}

#[test]
fn after_a_million_random_steps_the_ledger_equals_one_rebuilt_from_its_flows() {
    random_life(1_000_000, 20_261_121);
}

#[test]
fn a_budget_that_no_queue_can_have_is_refused() {
    let network = funnel([1000; 3], 1000, 1_000_000);
    let with = |budgets: Vec<Time>| {
        let all = vec![budgets; network.links().len()];
        Ledger::new(network.clone(), Model::default(), all).map(drop).map_err(|error| error.to_string())
    };
    let error = |budgets| with(budgets).unwrap_err();
    assert!(error(vec![Time::ZERO]).contains("queue 0 of link s->sink has a delay budget of 0ns"));
    assert!(error(vec![Time::from_millis(1), Time::from_millis(10_001)]).contains("queue 1"));
    assert!(error(vec![Time::from_millis(1); 5]).contains("has 3 queues for contracts, but 5"));
    assert_eq!(with(Vec::new()), Ok(()));
}

#[test]
fn line_rates_of_hundreds_of_fast_inputs_do_not_overflow_the_general_check() {
    hundreds_of_fast_inputs(Time::ZERO, Rate::from_gbit(500));
    // With a jitter of this length, the traffic that comes over all lines within it would be more than any product
    // holds.
    hundreds_of_fast_inputs(Time::from_millis(5_000), Rate::from_gbit(50));
}

fn hundreds_of_fast_inputs(jitter: Time, large: Rate) {
    let inputs = 300;
    let mut builder = NetworkBuilder::default();
    let (name, kind, processing) = ("s".to_owned(), NodeKind::Switch, Time::ZERO);
    let switch = builder.add(Node { name, kind, processing, jitter }).unwrap();
    let port = PortSpec::uniform(2, Bytes::MAX);
    let mut cable = |name: &str, rate| {
        let host = builder.add_node(name, NodeKind::Host).unwrap();
        let mtu = Bytes::new(1500);
        let spec = LinkSpec { from: host, to: switch, rate, propagation: Time::ZERO, mtu, port: port.clone() };
        builder.add_cable(spec, port.clone()).unwrap()
    };
    let (_, down) = cable("sink", Rate::MAX);
    // One slow input takes the port off the constant-time kernel.
    let slow = cable("slow", Rate::from_gbit(1)).0;
    let fast: Vec<_> = (0..inputs).map(|i| cable(&format!("h{i}"), Rate::MAX).0).collect();
    let network = Arc::new(builder.build());
    let budgets = vec![vec![wayleave_topology::MAX_BUDGET]; network.links().len()];
    let mut ledger = Ledger::new(network, Model::default(), budgets).unwrap();
    let mut admit = |uplink, demand: BucketDemand| {
        let hops = [Hop { link: uplink, queue: 0 }, Hop { link: down, queue: 0 }];
        let burst = Amount::from(demand.burst) + demand.rate * wayleave_topology::MAX_BUDGET;
        let fits = ledger.fits(down, 0, PortInput::link(uplink), demand.rate, burst);
        if fits {
            ledger.reserve(demand, Route { hops: hops.to_vec() });
        }
        let reports = ledger.report(down);
        assert!(reports.iter().all(|report| keeps_everything(&Model::default(), report)));
        fits
    };
    assert!(admit(slow, demand(1, 2000)));
    let elephant = BucketDemand { rate: large, burst: Bytes::new(1600), max_frame: None };
    assert!(admit(fast[0], elephant));
    for &uplink in &fast[1..] {
        assert!(admit(uplink, demand(1, 2000)), "a tiny flow beside an elephant");
    }
}

/// Reservations stay when a link is closed, and can be taken back; nothing more is let in until it is opened.
#[test]
fn a_closed_link_admits_nothing_and_keeps_its_reservations() {
    let network = funnel([1000, 1000, 1000], 1000, 400_000);
    let mut ledger = ledger(&network, Model::default(), &[300, 2000, 9000]);
    let (link, small) = (network.find_link("s->sink").unwrap(), demand(100, 64));
    let route = Route { hops: vec![Hop { link, queue: 1 }] };
    let flow = ledger.reserve(small, route.clone());
    let asked = |ledger: &Ledger| ledger.denial(link, 1, PortInput::LOCAL, small.rate, small.burst.into());
    let before = (ledger.changes(link), ledger.releases(link));
    ledger.close(link);
    assert!(before.0 != ledger.changes(link) && before.1 != ledger.releases(link), "memories of searches are void");
    assert_eq!(asked(&ledger).map(|denial| denial.limit), Some(QueueLimitKind::Closed));
    assert!(!ledger.might_fit(link, 0, small.rate, small.burst.into()));
    assert_eq!(ledger.reserved(link), small.rate);
    assert!(ledger.release(flow).is_some());
    assert!(asked(&ledger).is_some(), "an empty link is closed all the same");
    ledger.open(link);
    assert_eq!(asked(&ledger), None);
}

/// A ledger that is filled from the reservations of another one is equal to it, in the order of placement too.
#[test]
fn restored_reservations_keep_their_order() {
    let network = funnel([1000, 1000, 1000], 1000, 400_000);
    let mut first = ledger(&network, Model::default(), &[300, 2000, 9000]);
    let link = network.find_link("s->sink").unwrap();
    let route = |queue| Route { hops: vec![Hop { link, queue }] };
    let flows: Vec<FlowId> =
        (0..3u8).map(|queue| first.reserve(demand(100, 64 + u64::from(queue)), route(queue))).collect();
    first.also_reserve(flows[0], route(2)).map(|old| first.leave(flows[0], &old)).unwrap();
    let mut second = ledger(&network, Model::default(), &[300, 2000, 9000]);
    for (_, held) in first.flows() {
        second.reserve_again(held.clone());
    }
    assert!(first == second);
    let order = |ledger: &Ledger| ledger.flows_on(link).iter().map(|&(placed, _)| placed).collect::<Vec<_>>();
    assert_eq!(order(&first), order(&second));
    assert_eq!(first.reserve(demand(1, 64), route(0)).index(), second.reserve(demand(1, 64), route(0)).index());
    assert_eq!(order(&first), order(&second), "what comes later is placed later");
}

proptest! {
    /// Gauges show cost functions the queues of the exact curves: shares of budget and buffer, now and with one flow
    /// more.
    #[test]
    fn gauges_agree_with_the_exact_curves(
        flows in prop::collection::vec((0usize..3, 0u8..3, 1u64..30_000, 64u64..9_000), 1..12),
        queue in 0u8..3, kbit in 1u64..20_000, bytes in 64u64..5_000, jitter in prop_oneof![Just(0u64), 0..50_000u64],
    ) {
        let network = funnel_with_jitter([1000, 1000, 1000], 1000, 400_000, Time::from_nanos(jitter));
        let mut ledger = ledger(&network, Model::default(), &[300, 2000, 9000]);
        let link = network.find_link("s->sink").unwrap();
        let route = |input: usize, queue| Route {
            hops: vec![Hop { link: network.find_link(&format!("h{input}->s")).unwrap(), queue: 0 }, Hop { link, queue }],
        };
        for (input, queue, kbit, bytes) in flows {
            ledger.reserve(demand(kbit, bytes), route(input, queue));
        }
        let share = |report: &QueueReport| {
            let of = |bound: Option<f64>, limit: f64| bound.map_or(16.0, |bound| bound / limit);
            let delay = of(report.delay_bound().map(|time| time.as_nanos() as f64), report.budget.as_nanos() as f64);
            let backlog = of(report.backlog_bound().map(|size| size.get() as f64), report.buffer.get() as f64);
            delay.max(backlog)
        };
        let close = |seen: f64, exact: f64| (seen - exact).abs() < 1e-3 || seen > 1.0 && exact > 1.0;
        for (seen, report) in ledger.gauges(link).each(TrialFlow::Here, 0.0, 0.0).into_iter().zip(ledger.report(link)) {
            if report.flows > 0 {
                prop_assert!(close(seen.now, share(&report)), "{seen:?} and {}", share(&report));
                prop_assert!(seen.dormant >= seen.now - 1e-9);
            }
        }
        // The last knee may move with the new flow, which only lowers the delay: a gauge never shows less.
        let (rate, burst) = ((kbit * 1000) as f64, (bytes * 8) as f64 * 1e9);
        let [here, above] = [TrialFlow::Here, TrialFlow::Above].map(|with| ledger.gauges(link).each(with, rate, burst));
        let grown = demand(kbit, bytes);
        ledger.reserve(grown, Route { hops: vec![Hop { link, queue }] });
        for (at, report) in (0u8..).zip(ledger.report(link)) {
            let exact = share(&report);
            if at < queue || (at > queue && report.flows == 0) {
                continue;
            }
            let seen = if at == queue { here[usize::from(at)] } else { above[usize::from(at)] };
            prop_assert!(close(seen.now, exact), "queue {at}: {seen:?} and {exact}");
        }
    }
}
