//! Meaning of scenarios.

use std::sync::Arc;

use crate::common::scenarios::{SPEC, read, read_with, with_traffic};
use wayleave_formats::{Source, beside, parse_builder, read_scenario, write_topology};
use wayleave_scenarios::{
    BrokerAt, Buffering, Congestion, Deadline, Discipline, Ecn, Element, ElementChange, Endpoint, Eyeq, FabricBrokerAt,
    FlowArrivals, FlowEndpoints, FlowSizes, HostSchemeConfig, MessageFaults, OnOff, Onward, Pacing, PacketKind, Parley,
    Period, PortEcn, Red, Reliable, Routing, Rpc, RpcServer, Scenario, Schedule, SendSchedule, SharingChange,
    StartPhase, Traffic, TransportConfig, Workload,
};
use wayleave_schemes::host::eyeq::{Marks, Staleness};
use wayleave_schemes::path::flowlet;
use wayleave_schemes::path::presto;
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

fn example(path: &str) -> wayleave_formats::ScenarioFile {
    let source = Source::read(format!("{}/../../../{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    read_scenario(&source, &|name| beside(&source, name)).unwrap_or_else(|errors| panic!("{errors}"))
}

fn only(spec: &str) -> Arc<Scenario> {
    let file = read(spec).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(file.runs.len(), 1);
    Arc::clone(&file.runs[0].scenario)
}

fn traffic(text: &str) -> Traffic {
    let file = with_traffic(text).unwrap_or_else(|errors| panic!("{text}: {errors}"));
    file.runs[0].scenario.traffic[0].clone()
}

/// Of several, each on a line of its own.
fn all_traffic(text: &str) -> Vec<Traffic> {
    let file = with_traffic(text).unwrap_or_else(|errors| panic!("{text}: {errors}"));
    file.runs[0].scenario.traffic.clone()
}

fn flows(text: &str) -> Reliable {
    match traffic(text).workload {
        Workload::Flows(reliable) => reliable,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_shortest_scenario_has_the_defaults_of_the_types() {
    let scenario = only(SPEC);
    let usual = Scenario::new("s", Arc::clone(&scenario.network), Time::from_millis(10));
    assert_eq!(scenario.name, "s");
    assert_eq!(
        (scenario.warmup, &scenario.routing, &scenario.transport),
        (Time::ZERO, &Routing::ecmp(), &usual.transport)
    );
    assert_eq!((&scenario.switches, &scenario.hosts), (&usual.switches, &usual.hosts));
    assert_eq!((scenario.outages.len(), scenario.shared_services.len(), scenario.record), (0, 0, usual.record));
    let hosts: Vec<NodeId> = scenario.network.hosts().collect();
    let ends = FlowEndpoints::AllToAll(hosts.clone(), hosts);
    let expected = Traffic::flows("a", ends, FlowArrivals::Once, FlowSizes::Fixed(Bytes::new(1_000_000)));
    assert_eq!(scenario.traffic, [expected]);
    assert_eq!(read(SPEC).unwrap().runs[0].seed, 1);
}

#[test]
fn every_field_of_a_scenario_can_be_written() {
    let file = example("schemas/examples/scenario.yaml");
    assert_eq!((file.name.as_str(), file.runs.len()), ("everything", 27));
    let scenario = &file.runs[0].scenario;
    let millis = Time::from_millis;
    assert_eq!((scenario.duration, scenario.warmup), (millis(20), millis(2)));
    assert_eq!(scenario.switches.discipline, Discipline::DeficitRoundRobin { weights: vec![8, 4, 2, 1] });
    assert_eq!(scenario.switches.buffering, Buffering::Shared { total: Bytes::new(4_000_000), alpha: 1.0 });
    assert!(scenario.switches.telemetry && !scenario.hosts.telemetry);
    assert_eq!(scenario.hosts.buffering, Buffering::Unlimited);
    let service = scenario.shared_services[0];
    assert_eq!(Some(service.switch), scenario.network.find_node("core4"));
    assert_eq!((service.rate, service.processing), (Rate::from_gbit(1), Time::from_micros(1)));
    assert_eq!(scenario.transport.congestion, Congestion::dctcp());
    assert_eq!(scenario.record.series, Some(Time::from_micros(100)));
    assert_eq!(scenario.record.trace, Some(100_000));
    assert_eq!(scenario.traffic.len(), 10);
    let route = scenario.traffic[5].route.as_ref().unwrap();
    assert_eq!(route.hops.len(), 6);
    // One item of the file is two outages.
    assert_eq!(scenario.outages.len(), 5);
    let link = scenario.network.find_link("pod1-agg1->core2").unwrap();
    assert_eq!((scenario.outages[1].what, scenario.outages[1].change), (Element::Link(link), ElementChange::Fails));
    assert_eq!(
        (scenario.outages[3].change, scenario.outages[4].change),
        (ElementChange::Works, ElementChange::FailsSilently)
    );
    assert_eq!(scenario.hosts.discipline, Discipline::StrictOverWeighted { strict: 1, weights: vec![2, 1, 1] });
    let (min, max) = (Bytes::new(30_000), Bytes::new(90_000));
    let red = Ecn::Red(Red { min, max, probability: 0.1, weight: 1.0 });
    let queues = vec![None, Some(Ecn::above(max)), None, Some(red)];
    assert_eq!(scenario.switches.ecn, PortEcn::PerQueue(queues));
}

#[test]
fn workloads_have_the_documented_meaning() {
    let rate = Rate::from_mbit(1);
    let packets = |text: &str| match traffic(text).workload {
        Workload::Packets { kind, frame } => (kind, frame.get()),
        other => panic!("{other:?}"),
    };
    let bucket = |burst, phase| PacketKind::TokenBucket { rate, burst: Bytes::new(burst), phase };
    let on_off = OnOff { rate, on: Time::from_millis(1), off: Time::ZERO };
    for (text, expected) in [
        ("constantRate: 1Mbit", (PacketKind::ConstantRate { rate }, 1538)),
        (
            "constantRate: { rate: 1Mbit, jitter: 2us }",
            (PacketKind::Jittered { rate, jitter: Time::from_micros(2) }, 1538),
        ),
        ("poisson: 1Mbit, frame: 84B", (PacketKind::Poisson { rate }, 84)),
        ("onOff: { rate: 1Mbit, on: 1ms, off: 0ms }", (PacketKind::OnOff(on_off), 1538)),
        ("tokenBucket: { rate: 1Mbit, burst: 300B }", (bucket(300, StartPhase::Together), 300)),
        ("tokenBucket: { rate: 1Mbit, burst: 9kB, phase: colliding }", (bucket(9000, StartPhase::Colliding), 1538)),
        ("tokenBucket: { rate: 1Mbit, burst: 9kB, phase: random }", (bucket(9000, StartPhase::Random), 1538)),
    ] {
        assert_eq!(packets(&format!("{{ name: a, {text} }}")), expected, "{text}");
    }
    let size = |bytes| FlowSizes::Fixed(Bytes::new(bytes));
    let rpc = Rpc::new(FlowSizes::published("key-value").unwrap());
    let drawn = Rpc { server: RpcServer::Drawn, ..Rpc::new(size(1)) };
    for (text, expected) in [
        ("load: 0.5, sizes: 1B", FlowArrivals::Load(0.5)),
        ("perSecond: 1e3, sizes: 1B", FlowArrivals::PerSecond(1000.0)),
        ("every: 2ms, sizes: 1B", FlowArrivals::Every(Time::from_millis(2))),
        ("periodic: 2ms, sizes: 1B", FlowArrivals::Periodic(Time::from_millis(2))),
        ("rpc: { answer: key-value }, sizes: 1B", FlowArrivals::Rpc(rpc)),
        ("rpc: { answer: 1B, servers: kept }, sizes: 1B", FlowArrivals::Rpc(Rpc::new(size(1)))),
        ("rpc: { answer: 1B, servers: drawn }, sizes: 1B", FlowArrivals::Rpc(drawn.clone())),
        ("rpc: { answer: 1B, chain: 3 }, sizes: 1B", FlowArrivals::Rpc(Rpc { chain: 3, ..drawn.clone() })),
        ("rpc: { answer: 1B, fanOut: 2 }, sizes: 1B", FlowArrivals::Rpc(Rpc { fan_out: 2, ..drawn })),
    ] {
        let reliable = flows(&format!("{{ name: a, {text} }}"));
        assert_eq!((reliable.arrivals, reliable.sizes), (expected, Some(size(1))), "{text}");
    }
    assert_eq!(flows("{ name: a, sizes: endless }").sizes, None);
    let scenario = |after: &str| {
        format!(
            "{{ name: w, from: h1, to: h2, periodic: 1ms, sizes: 1kB }}\n    - {{ name: a, from: h2, to: [h1, h3, h4], after: {after} }}"
        )
    };
    let onward = |after: &str| {
        let traffic = all_traffic(&scenario(after)).pop().unwrap();
        let Workload::Flows(reliable) = traffic.workload else { panic!("no flows") };
        match reliable.arrivals {
            FlowArrivals::After(after) => (after.traffic, after.to, reliable.sizes),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(onward("w"), ("w".to_owned(), Onward::Drawn(1), None));
    assert_eq!(onward("{ traffic: w, fanOut: 3 }").1, Onward::Drawn(3));
    assert_eq!(onward("{ traffic: w, to: sender }, sizes: 9B"), ("w".to_owned(), Onward::Sender, Some(size(9))));
    let ms = Time::from_millis;
    for (text, expected) in [
        ("3ms", Deadline::Fixed(ms(3))),
        ("{ uniform: [5ms, 25ms] }", Deadline::Uniform(ms(5), ms(25))),
        ("{ exponential: { mean: 20ms, min: 3ms } }", Deadline::Exponential { mean: ms(20), min: ms(3) }),
        ("{ values: [1ms, 2ms] }", Deadline::Values(vec![ms(1), ms(2)])),
    ] {
        assert_eq!(flows(&format!("{{ name: a, sizes: 1B, deadline: {text} }}")).deadline, Some(expected), "{text}");
    }
}

#[test]
fn ends_may_be_virtual_machines() {
    let with = |ends: &str| {
        format!(
            "  topology: star:hosts=4\n  duration: 10ms\n  vms:\n    - {{ name: a1, host: h1 }}\n    - {{ name: a2, host: \
             h2 }}\n    - {{ name: b, host: h1 }}\n  traffic:\n    - {{ name: t, sizes: 1B, {ends} }}\n"
        )
    };
    let scenario = only(&with("from: [a1..a2, h3], to: b, pairs: random"));
    let host = |name: &str| scenario.network.find_node(name).unwrap();
    let end = |name: &str, number| Endpoint { host: host(name), number };
    let from = vec![end("h1", 1), end("h2", 2), end("h3", 0)];
    assert_eq!(scenario.traffic[0].ends, FlowEndpoints::Random(from, vec![end("h1", 3)]));
    assert_eq!([0, 1, 2].map(|vm| scenario.vms[vm].name.as_str()), ["a1", "a2", "b"]);
    let messages = |ends: &str| crate::common::scenarios::messages(read(&with(ends)));
    let within = "are on the same host: traffic within a host is not simulated";
    assert_eq!(messages("pairs: [[a1, b]]"), [format!("11:36 a1 and b {within}")]);
    assert_eq!(messages("pairs: permutation, from: [a1, a2, b]"), [format!("11:55 a1 and b {within}")]);
    assert_eq!(messages("from: a1, to: b"), ["11:35 no pair has two different hosts"]);
    assert_eq!(messages("from: [a1, a1]"), ["11:40 a1 is given twice"]);
    let listed = "  topology: star:hosts=4\n  duration: 10ms\n  vms: [ VM ]\n  traffic: [ { name: t, sizes: 1B } ]\n";
    let vm = |vm: &str| crate::common::scenarios::messages(read(&listed.replace("VM", vm)));
    assert_eq!(vm("{ name: h1, host: h1 }"), ["6:18 the name is already used by a node or another virtual machine"]);
    assert_eq!(vm("{ name: a, host: s1 }"), ["6:27 s1 is a switch: hosts send and receive"]);
    assert_eq!(vm("{ name: a, host: h1, service: x }"), ["6:40 no policy of sharing has a service x"]);
    assert_eq!(vm("{ name: a }"), ["6:10 a virtual machine needs the key \"host\""]);
}

#[test]
fn active_periods_of_traffic_and_writes_of_applications_are_read() {
    let ms = Time::from_millis;
    let active = |text: &str| traffic(&format!("{{ name: a, sizes: 1B, start: 1ms, {text} }}")).active;
    assert_eq!(active("stop: 9ms"), None);
    assert_eq!(active("active: { on: 2ms, off: 3ms }"), Some(Schedule::periodic(ms(1), ms(2), ms(3))));
    let periods =
        vec![Period { from: ms(1), on: ms(2), off: None }, Period { from: ms(4), on: ms(1), off: Some(ms(0)) }];
    assert_eq!(active("active: [{ on: 2ms }, { from: 4ms, on: 1ms, off: 0ms }]"), Some(Schedule { periods }));
    let offer = |text: &str| flows(&format!("{{ name: a, sizes: endless, sendSchedule: {text} }}")).send_schedule;
    assert_eq!(offer("300Mbit"), Some(SendSchedule::Rate(Rate::from_mbit(300))));
    let writes = SendSchedule::Writes { bytes: Bytes::new(64_000), every: ms(1) };
    assert_eq!(offer("{ write: 64kB, every: 1ms }"), Some(writes));
}

#[test]
fn sizes_are_a_size_a_name_or_a_distribution() {
    let sizes = |text: &str| flows(&format!("{{ name: a, sizes: {text} }}")).sizes.unwrap();
    let bytes = Bytes::new;
    assert_eq!(sizes("{ uniform: [1kB, 2kB] }"), FlowSizes::Uniform(bytes(1000), bytes(2000)));
    assert_eq!(sizes("{ exponential: 10kB }"), FlowSizes::Exponential(bytes(10_000)));
    assert_eq!(sizes("hadoop"), FlowSizes::published("hadoop").unwrap());
    let points = FlowSizes::from_points(vec![(100.0, 0.3), (300.0, 1.0)]).unwrap();
    assert_eq!(sizes("{ points: [[100B, 0.3], [300B, 1]] }"), points);
    let spec = SPEC.replace("1MB", "{ cdf: mine.txt }");
    let file = read_with(&spec, &[("mine.txt", "100 30\n300 100\n")]).unwrap();
    let Workload::Flows(reliable) = &file.runs[0].scenario.traffic[0].workload else { panic!() };
    assert_eq!(reliable.sizes, Some(points));
    assert_eq!(file.sources.iter().map(Source::name).collect::<Vec<_>>(), ["s.yaml", "mine.txt"]);
}

#[test]
fn ends_are_groups_of_hosts_and_a_pattern() {
    let network = parse_builder("star:hosts=4").unwrap().network;
    let host = |number: usize| network.find_node(&format!("h{number}")).unwrap();
    let hosts = |numbers: &[usize]| numbers.iter().map(|&number| host(number)).collect::<Vec<_>>();
    let all = hosts(&[1, 2, 3, 4]);
    for (text, expected) in [
        ("sizes: 1B", FlowEndpoints::AllToAll(all.clone(), all.clone())),
        ("load: 0.5, sizes: 1B", FlowEndpoints::Random(all.clone(), all.clone())),
        ("load: 0.5, sizes: 1B, pairs: all-to-all", FlowEndpoints::AllToAll(all.clone(), all.clone())),
        ("sizes: 1B, from: h2..h4, to: h1", FlowEndpoints::AllToAll(hosts(&[2, 3, 4]), hosts(&[1]))),
        ("sizes: 1B, from: [h4, h1..h2], pairs: random", FlowEndpoints::Random(hosts(&[4, 1, 2]), all.clone())),
        ("sizes: 1B, pairs: permutation", FlowEndpoints::Permutation(all.clone())),
        ("sizes: 1B, pairs: permutation, from: [h1, h2]", FlowEndpoints::Permutation(hosts(&[1, 2]))),
        ("sizes: 1B, pairs: [[h1, h2], [h1, h3]]", FlowEndpoints::Pairs(vec![(host(1), host(2)), (host(1), host(3))])),
    ] {
        assert_eq!(traffic(&format!("{{ name: a, {text} }}")).ends, expected.into(), "{text}");
    }
}

#[test]
fn a_traffic_inherits_the_transport_of_its_scenario() {
    let spec = "  topology: star:hosts=2\n  duration: 1ms\n  transport: { congestion: cubic, minTimeout: 1ms, firstTimeout: 3ms }\n  traffic:\n    \
                - { name: a, sizes: 1MB, transport: dctcp }\n    - { name: b, sizes: 1MB, transport: { maxWindow: 20 } }\n    \
                - { name: c, sizes: 1MB, transport: { congestion: { fixed: 3 }, pacing: window } }\n    - { name: d, sizes: 1MB }\n";
    let scenario = only(spec);
    let usual = TransportConfig {
        congestion: Congestion::cubic(),
        min_timeout: Time::from_millis(1),
        first_timeout: Time::from_millis(3),
        ..TransportConfig::default()
    };
    let own: Vec<Option<TransportConfig>> = scenario
        .traffic
        .iter()
        .map(|traffic| match &traffic.workload {
            Workload::Flows(reliable) => reliable.transport.clone(),
            other => panic!("{other:?}"),
        })
        .collect();
    let expected = [
        Some(TransportConfig { congestion: Congestion::dctcp(), ..usual.clone() }),
        Some(TransportConfig { max_window: 20, ..usual.clone() }),
        Some(TransportConfig { congestion: Congestion::fixed_window(3), pacing: Pacing::Window, ..usual }),
        None,
    ];
    assert_eq!(own, expected);
}

#[test]
fn ports_and_routing_have_short_forms() {
    let with = |text: &str| only(&SPEC.replacen("10ms", &format!("10ms\n  {text}"), 1));
    assert_eq!(with("routing: packet").routing, Routing::spraying());
    assert_eq!(
        with("routing: { flowlet: 50us }").routing,
        Routing::Flowlet(flowlet::Params { gap: Time::from_micros(50) })
    );
    assert_eq!(
        with("routing: { flowcell: 64KiB }").routing,
        Routing::Flowcells(presto::Spreading { size: Bytes::new(65_536), path_timeout: None })
    );
    assert_eq!(
        with("routing: { flowcell: { size: 1460B, pathTimeout: 2ms } }").routing,
        Routing::Flowcells(presto::Spreading { size: Bytes::new(1_460), path_timeout: Some(Time::from_millis(2)) })
    );
    assert_eq!(with("switches: { buffer: 97kB }").switches.buffering, Buffering::EachQueue(Bytes::new(97_000)));
    assert_eq!(with("switches: { discipline: strict-priority }").switches.discipline, Discipline::StrictPriority);
    let smallest = with("switches: { discipline: smallest-remaining-first }").switches.discipline.clone();
    assert_eq!(smallest, Discipline::SmallestRemainingFirst);
    let red = with("hosts: { ecn: { min: 10kB, max: 30kB, probability: 0.1 } }").hosts.ecn.clone();
    let (min, max) = (Bytes::new(10_000), Bytes::new(30_000));
    assert_eq!(red, Ecn::Red(Red { min, max, probability: 0.1, weight: 1.0 }).into());
    assert_eq!(with("hosts: { ecn: { red: { min: 10kB, max: 30kB, probability: 0.1 } } }").hosts.ecn, red);
    let above: PortEcn = Ecn::above(Bytes::new(9_000)).into();
    for threshold in ["9kB", "{ threshold: 9kB }", "[{ threshold: { size: 9kB } }]"] {
        let ecn = with(&format!("hosts: {{ ecn: {threshold} }}")).hosts.ecn.clone();
        assert_eq!(ecn.of(0), above.of(0), "{threshold}");
    }
    assert_eq!(with("transport: dctcp").transport.congestion, Congestion::dctcp());
    let services = with("sharedServices: [ { switch: all, rate: 1Gbit, buffer: 9kB } ]").shared_services.clone();
    assert_eq!(services.len(), 1);
}

#[test]
fn a_topology_is_a_builder_a_file_or_written_in_place() {
    let network = parse_builder("star:hosts=4").unwrap().network;
    let text = write_topology(&network, "mine");
    let spec = text.split_once("spec:\n").unwrap().1.replace("\n  ", "\n    ").replacen("  ", "    ", 1);
    for (topology, files) in [
        ("mine.yaml".to_owned(), vec![("mine.yaml", text.as_str())]),
        ("{ file: mine.net }".to_owned(), vec![("mine.net", text.as_str())]),
        (format!("\n{spec}"), vec![]),
        ("{ builder: { kind: star, hosts: 4 } }".to_owned(), vec![]),
        ("star:hosts=4".to_owned(), vec![]),
    ] {
        let file = read_with(&SPEC.replace("star:hosts=4", &topology), &files);
        let file = file.unwrap_or_else(|errors| panic!("{topology}: {errors}"));
        assert_eq!(write_topology(&file.runs[0].scenario.network, "mine"), text, "{topology}");
    }
}

#[test]
fn a_file_is_read_once_for_all_runs() {
    use std::cell::Cell;
    let text = SPEC
        .replace("star:hosts=4", "{ hpcc: t.txt }")
        .replace("10ms", "10ms\n  sweep: { vary: { warmup: [0ms, 1ms] } }");
    let source = Source::new("s.yaml", format!("apiVersion: wayleave/v1\nkind: Scenario\nspec:\n{text}"));
    let count = Cell::new(0);
    let open = |name: &str| {
        count.set(count.get() + 1);
        Ok(Source::new(name, "3 1 2\n0\n0 1 1Gbps 1us 0\n0 2 10Gbps 1us 0\n"))
    };
    let file = read_scenario(&source, &open).unwrap();
    assert_eq!((file.runs.len(), count.get()), (2, 1));
    assert!(Arc::ptr_eq(&file.runs[0].scenario.network, &file.runs[1].scenario.network));
}

#[test]
fn a_sweep_is_every_combination_with_the_seed_changing_fastest() {
    let sweep = "10ms\n  sweep: { seeds: [7, 9], vary: { traffic.a.sizes: [1kB, { uniform: [1B,  2B] }], transport: [cubic] } }";
    let file = read(&SPEC.replacen("10ms", sweep, 1)).unwrap();
    let runs: Vec<(String, u64)> = file
        .runs
        .iter()
        .map(|run| {
            let labels: Vec<String> = run.labels.iter().map(|(path, value)| format!("{path}={value}")).collect();
            (labels.join(" "), run.seed)
        })
        .collect();
    let first = "traffic.a.sizes=1kB transport=cubic".to_owned();
    let second = "traffic.a.sizes={ uniform: [1B, 2B] } transport=cubic".to_owned();
    assert_eq!(runs, [(first.clone(), 7), (first, 9), (second.clone(), 7), (second, 9)]);
    assert!(Arc::ptr_eq(&file.runs[0].scenario, &file.runs[1].scenario), "seeds share a scenario");
    assert_eq!(file.runs[0].scenario.transport.congestion, Congestion::cubic());
    let Workload::Flows(reliable) = &file.runs[3].scenario.traffic[0].workload else { panic!() };
    assert_eq!(reliable.sizes, Some(FlowSizes::Uniform(Bytes::new(1), Bytes::new(2))));
}

#[test]
fn a_sweep_can_vary_the_network_and_the_items_of_lists_by_number() {
    let sweep = "10ms\n  sweep: { vary: { topology: [star:hosts=2, star:hosts=3], traffic.0.queue: [0, 7] } }";
    let file = read(&SPEC.replacen("10ms", sweep, 1)).unwrap();
    let seen: Vec<(usize, Option<u8>)> =
        file.runs.iter().map(|run| (run.scenario.network.hosts().count(), run.scenario.traffic[0].queue)).collect();
    assert_eq!(seen, [(2, Some(0)), (2, Some(7)), (3, Some(0)), (3, Some(7))]);
    assert!(Arc::ptr_eq(&file.runs[0].scenario.network, &file.runs[1].scenario.network));
}

#[test]
fn a_path_finds_names_with_dots_and_adds_missing_keys() {
    let sweep = "10ms\n  sweep: { vary: { traffic.a.b.queue: [2], hosts.ecn: [9kB] } }";
    let spec = SPEC.replacen("10ms", sweep, 1).replace("{ name: a,", "{ name: a, sizes: 1B }, { name: a.b,");
    let scenario = &read(&spec).unwrap_or_else(|errors| panic!("{errors}")).runs[0].scenario;
    assert_eq!(scenario.traffic.iter().map(|traffic| traffic.queue).collect::<Vec<_>>(), [None, Some(2)]);
    assert_eq!(scenario.hosts.ecn, Ecn::above(Bytes::new(9000)).into());
}

#[test]
fn a_queue_cannot_have_marking_that_conflicts_with_ufab() {
    let spec = "  topology: star:hosts=2
  duration: 1ms
  switches: { ecn: 80kB }
  sharing: { scheme: ufab, machine: { services: [{ name: a, match: { protocol: tcp, destinationPort: 1 } }] } }
  traffic: []";
    let errors = read(spec).unwrap_err().to_string();
    assert!(errors.contains("cannot mark beside ufab") && errors.contains("leave the marks out"), "{errors}");
    let without = read(&spec.replace("  switches: { ecn: 80kB }\n", ""));
    assert!(!without.is_err_and(|errors| errors.to_string().contains("mark")));
    // Hosts repeat a change for 4 ms: switches that forget it before count it twice.
    for (remember, is_short) in [("4ms", true), ("5ms", false)] {
        let core = format!("ecn: {{ ufabCore: {{ dedupWindow: {remember} }} }}");
        let errors = read(&spec.replace("ecn: 80kB", &core)).map(drop).unwrap_err().to_string();
        assert_eq!(errors.contains("dedupWindow has to be as long"), is_short, "{errors}");
    }
}

#[test]
fn the_documented_examples_are_scenarios() {
    for name in [
        "scenario-incast",
        "scenario-sweep",
        "scenario-mixed",
        "scenario-shared-service",
        "scenario-sharing",
        "scenario-silent-failure",
        "scenario-switched",
        "scenario-applications",
        "scenario-deadlines",
        "scenario-requests",
        "scenario-vms",
        "scenario-ufab",
        "scenario-pwc",
        "scenario-baselines",
        "scenario-baselines-incast",
        "scenario-objectives",
        "scenario-pfabric",
    ] {
        assert!(!example(&format!("docs/examples/{name}.yaml")).runs.is_empty(), "{name}");
    }
    assert_eq!(example("schemas/examples/scenario-short.yaml").runs.len(), 1);
}

/// Every key of sharing, with values that are none of the defaults.
#[test]
fn every_key_of_sharing_is_read() {
    let spec = "  topology: leaf-spine:leaves=2,spines=2,hosts=2
  duration: 10ms
  sharing:
    scheme:
      parley:
        shaper: { interval: 500us, alpha: 0.25, marks: released, markBytes: 80kB, minRate: 10Mbit, sample: 20kB, staleFeedback: timed,
                  receivePercent: 80, pairBurst: 1kB, classBurst: 2kB, bursts: { a: 3kB }, senderWeights: { a: 4 } }
        rackInterval: 10ms
        rackTimeout: 30ms
        fabricInterval: 20ms
        fabricTimeout: 50ms
        limitSaturation: 0.8
        rackReportThreshold: 1Mbit
        fabricReportThreshold: 2Mbit
        fabricBroker: h2
    otherSchemes: [ { scheme: { staticLimits: { pairRate: 5Mbit } }, services: [ b ] } ]
    machine: { services: [ { name: a, endpoints: [h1, h3], max: 1Gbit }, { name: b, endpoints: [h2] } ] }
    rack: { level: rack, peak: 5Gbit, services: [ { name: a } ] }
    idleTimeout: 7ms
    packetQueue: 9kB
    queue: 1
    faults: { loss: 0.1, duplicate: 0.2, delay: 3ms, probeLoss: 0.4 }
    events:
      - { at: 1ms, stop: h1 }
      - { at: 2ms, start: fabric }
      - { at: 3ms, interval: 1ms }
      - { at: 4ms, policy: { level: rack, services: [ { name: a, max: 2Gbit } ] } }
  traffic:
    - { name: rpc, service: a, toService: a, from: h1, to: h3, uniform: { mean: 5ms, connections: 24 }, sizes: 1MB }
";
    let scenario = &read(spec).unwrap_or_else(|errors| panic!("{errors}")).runs[0].scenario;
    let host = |name: &str| scenario.network.find_node(name).unwrap();
    let sharing = scenario.sharing.as_ref().unwrap();
    let HostSchemeConfig::Parley(parley) = &sharing.scheme else { panic!("{:?}", sharing.scheme) };
    let shaper = Eyeq {
        interval: Time::from_micros(500),
        alpha_percent: 25,
        marks: Marks::Released,
        mark_bytes: Bytes::new(80_000),
        floor: Rate::from_mbit(10),
        sample: Bytes::new(20_000),
        feedback: Staleness::Timed,
        receive_percent: 80,
        pair_burst: Bytes::new(1_000),
        class_burst: Bytes::new(2_000),
        bursts: vec![("a".to_owned(), Bytes::new(3_000))],
        sender_weights: vec![("a".to_owned(), 4)],
    };
    let expected = Parley {
        shaper,
        rack_interval: Time::from_millis(10),
        rack_timeout: Some(Time::from_millis(30)),
        fabric_interval: Some(Time::from_millis(20)),
        fabric_timeout: Some(Time::from_millis(50)),
        limit_saturation_percent: 80,
        rack_report_threshold: Rate::from_mbit(1),
        fabric_report_threshold: Rate::from_mbit(2),
        fabric_broker: FabricBrokerAt::Host(host("h2")),
    };
    assert_eq!(parley, &expected);
    assert_eq!(sharing.machine.services()[0].bandwidth.transmit.max, Some(Rate::from_gbit(1)));
    assert_eq!(sharing.rack.as_ref().unwrap().peak(), Some(Rate::from_gbit(5)));
    assert!(sharing.fabric.is_none());
    assert_eq!((sharing.idle_timeout, sharing.packet_queue), (Time::from_millis(7), Bytes::new(9_000)));
    assert_eq!(sharing.queue, Some(1));
    let faults = MessageFaults { loss: 0.1, duplicate: 0.2, delay: Time::from_millis(3), probe_loss: 0.4 };
    assert_eq!((sharing.other_schemes.len(), sharing.scheme_of("a"), sharing.scheme_of("b")), (1, 0, 1));
    let HostSchemeConfig::StaticLimits(limits) = &sharing.other_schemes[0].scheme else {
        panic!("{:?}", sharing.other_schemes)
    };
    assert_eq!(limits.pair_rate, Some(Rate::from_mbit(5)));
    assert_eq!(sharing.faults, faults);
    let changes: Vec<_> = sharing.events.iter().map(|event| (event.at, &event.what)).collect();
    assert_eq!(changes[0], (Time::from_millis(1), &SharingChange::Stops(BrokerAt::Machine(host("h1")))));
    assert_eq!(changes[1], (Time::from_millis(2), &SharingChange::Starts(BrokerAt::Fabric)));
    assert_eq!(changes[2], (Time::from_millis(3), &SharingChange::Interval(Time::from_millis(1))));
    assert!(
        matches!(changes[3].1, SharingChange::Policy(policy) if policy.services()[0].bandwidth.receive.max.is_some())
    );
    let traffic = &scenario.traffic[0];
    assert_eq!((traffic.service.as_deref(), traffic.to_service.as_deref()), (Some("a"), Some("a")));
    let Workload::Flows(flows) = &traffic.workload else { panic!("{traffic:?}") };
    assert_eq!(flows.arrivals, FlowArrivals::Uniform { mean: Time::from_millis(5), connections: Some(24) });
}

#[test]
fn json_is_read_as_well() {
    let text = r#"{"apiVersion":"wayleave/v1","kind":"Scenario","spec":{"topology":"star:hosts=2","duration":"1ms",
        "switches":{"telemetry":true},"traffic":[{"name":"a","load":0.5,"sizes":"1kB"}]}}"#;
    let source = Source::new("s.json", text);
    let file = read_scenario(&source, &|name| beside(&source, name)).unwrap();
    assert!(file.runs[0].scenario.switches.telemetry);
}

/// Contracts of every kind: the admitted ones determine the behaviour of ports and hosts, and contracts without
/// traffic of their own send.
#[test]
fn contracts_of_every_kind_make_a_scenario() {
    let file = example("docs/examples/scenario-fabric.yaml");
    let scenario = &file.runs[0].scenario;
    let order = Discipline::StrictOverWeighted { strict: 5, weights: vec![6, 3, 1] };
    assert_eq!((&scenario.switches.discipline, &scenario.hosts.discipline), (&order, &order));
    let reserved = scenario.reserved.iter().max().copied().unwrap();
    assert!(reserved >= Rate::from_mbit(520), "both latency contracts end at h8: {reserved}");
    let sharing = scenario.sharing.as_ref().unwrap();
    let schemes: Vec<&str> = sharing.schemes().map(HostSchemeConfig::name).collect();
    assert_eq!(schemes, ["scc", "ufab", "static-limits"]);
    let names: Vec<&str> = scenario.traffic.iter().map(|traffic| traffic.name.as_str()).collect();
    assert!(names.contains(&"bursts") && names.contains(&"robot 0") && names.contains(&"db to one"), "{names:?}");
    assert!(!names.contains(&"bulk"), "it has traffic of its own: {names:?}");
    let bursts = scenario.traffic.iter().find(|traffic| traffic.name == "bursts").unwrap();
    assert_eq!((bursts.service.as_deref(), bursts.queue), (Some("bulk"), Some(7)));
}

/// Traffic of a contract has its queue, its ends and, for a latency contract, its route, and no forbidden properties.
#[test]
fn traffic_of_a_contract_follows_its_route() {
    let with = |traffic: &str| {
        let text = format!(
            "apiVersion: wayleave/v1\nkind: Scenario\nspec:\n  topology: network-fabric.yaml\n  contracts: contracts-fabric.yaml\n  \
             duration: 2ms\n  traffic: [{{ name: own, {traffic} }}]\n"
        );
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/examples/own.yaml");
        let source = Source::new(directory, text);
        read_scenario(&source, &|name| beside(&source, name))
    };
    let own = |traffic: &str| {
        let scenario = with(traffic).unwrap().runs[0].scenario.clone();
        let find = |name: &str| scenario.traffic.iter().filter(|traffic| traffic.name.starts_with(name)).count();
        (scenario.traffic.iter().find(|traffic| traffic.name == "own").unwrap().clone(), find("robot "), find("copy"))
    };
    let (robot, others, _) = own("contract: robot, tokenBucket: { rate: 10Mbit, burst: 3kB }");
    assert_eq!((robot.queue, robot.route.unwrap().hops.len(), others), (Some(1), 4, 0), "in the place of its bursts");
    let (copy, _, others) = own("contract: copy, sizes: endless");
    let FlowEndpoints::Pairs(pairs) = &copy.ends else { panic!("{:?}", copy.ends) };
    assert_eq!((copy.queue, pairs.len(), others), (Some(5), 1, 0));
    let (db, ..) = own("contract: db, sizes: 20kB, load: 0.1");
    assert!(matches!(&db.ends, FlowEndpoints::Random(from, _) if from.len() == 4), "{:?}", db.ends);
    let wrong = |traffic: &str, message: &str| {
        let errors = with(traffic).unwrap_err().to_string();
        assert!(errors.contains(message), "{errors}");
    };
    wrong("contract: rowbot, sizes: endless", "did you mean");
    wrong("contract: robot, tokenBucket: { rate: 30Mbit, burst: 3kB }", "a shaper holds the contract to 20Mbit");
    wrong("contract: robot, sizes: endless", "give `tokenBucket:");
    wrong("contract: copy, pairs: [[h7, h3]], sizes: endless", "what h3 sends to h7");
    wrong(
        "contract: db, pairs: [[h1, h2]], sizes: endless",
        "h2 is not a member of the contract: expected h1, h4, h6, h8",
    );
    wrong("contract: db, queue: 5, sizes: endless", "queue does not apply to traffic with a contract");
}

#[test]
fn reserved_capacity_is_a_rate_or_a_list_of_links() {
    let with = |text: &str| only(&SPEC.replacen("10ms", &format!("10ms\n  {text}"), 1)).reserved.clone();
    let all = with("reserved: 100Mbit");
    assert!(!all.is_empty() && all.iter().all(|&rate| rate == Rate::from_mbit(100)), "{all:?}");
    let one = with("reserved: [{ link: s1->h1, rate: 20Mbit }]");
    assert_eq!(one.iter().filter(|&&rate| rate == Rate::from_mbit(20)).count(), 1, "{one:?}");
}
