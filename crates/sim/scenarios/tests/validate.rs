//! Everything that no run could mean is refused, with the values that explain it and its place in a file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

use std::sync::Arc;

use wayleave_scenarios::{
    Buffering, Congestion, Copies, Deadline, Discipline, Ecn, Element, ElementChange, FlowArrivals, FlowEndpoints,
    FlowSizes, FlowSpec, MAX_ACTORS, OnOff, Outage, PacketKind, PortEcn, Red, Routing, Rpc, Scenario, ScenarioError,
    SharedService, StartPhase, Traffic, TransportConfig, Workload,
};
use wayleave_schemes::path::flowlet;
use wayleave_schemes::path::presto;
use wayleave_topology::builders::{Cabling, build};
use wayleave_topology::{Hop, LinkSpec, NetworkBuilder, NodeId, NodeKind, PortSpec, Route};
use wayleave_units::{Bytes, Rate, Time};

/// Four hosts on one switch, `s1`; ports of the switch have four queues.
fn star() -> Scenario {
    let switch_port = PortSpec::uniform(4, Bytes::new(97_000));
    let network = build::star(4, Cabling { switch_port, ..Cabling::default() }).unwrap();
    Scenario::new("x", Arc::new(network), Time::from_millis(10))
}

fn node(scenario: &Scenario, name: &str) -> NodeId {
    scenario.network.find_node(name).unwrap()
}

fn hosts(scenario: &Scenario) -> Vec<NodeId> {
    scenario.network.hosts().collect()
}

/// Returns a valid scenario: every host sends 1 MB to every other.
fn good() -> Scenario {
    let mut scenario = star();
    let ends = FlowEndpoints::AllToAll(hosts(&scenario), hosts(&scenario));
    scenario.traffic.push(Traffic::flows("a", ends, FlowArrivals::Once, FlowSizes::Fixed(Bytes::new(1_000_000))));
    scenario
}

/// Changes a valid scenario and asserts the error message and its path.
#[track_caller]
fn assert_refused(path: &str, message: &str, change: impl FnOnce(&mut Scenario)) {
    let mut scenario = good();
    change(&mut scenario);
    let error = scenario.validate().expect_err("nothing was found wrong");
    assert_eq!((error.path().as_str(), error.to_string().as_str()), (path, message));
}

/// The same for the ends of its traffic.
#[track_caller]
fn assert_ends_refused(path: &str, message: &str, ends: impl FnOnce(&Scenario) -> FlowEndpoints) {
    assert_refused(path, message, |scenario| scenario.traffic[0].ends = ends(scenario).into());
}

/// Changes the workload of a valid scenario and asserts the error message and its path.
#[track_caller]
fn assert_workload_refused(path: &str, message: &str, change: impl FnOnce(&mut Workload)) {
    assert_refused(path, message, |scenario| change(&mut scenario.traffic[0].workload));
}

#[test]
fn a_valid_scenario_is_accepted() {
    assert_eq!(good().validate(), Ok(()));
}

#[test]
fn times_and_records_that_show_nothing_are_refused() {
    let duration = "the duration is 0ns: expected a duration above zero";
    assert_refused("duration", duration, |scenario| scenario.duration = Time::ZERO);
    let warmup = "the warm-up of 10ms does not end before the run of 10ms";
    assert_refused("warmup", warmup, |scenario| scenario.warmup = scenario.duration);
    let series = "a series of zero records nothing: leave it out, or above zero";
    assert_refused("record.series", series, |scenario| scenario.record.series = Some(Time::ZERO));
    let trace = "a trace of zero records nothing: leave it out, or above zero";
    assert_refused("record.trace", trace, |scenario| scenario.record.trace = Some(0));
}

#[test]
fn unusable_ports_are_refused() {
    let weights = |weights: &[u32]| Discipline::DeficitRoundRobin { weights: weights.to_vec() };
    assert_refused(
        "switches.discipline",
        "2 weights, and the port of s1->h1 has 4 queues: expected one for each",
        |scenario| scenario.switches.discipline = weights(&[2, 1]),
    );
    assert_refused("switches.discipline", "queue 1 has a weight of 0: expected at least 1", |scenario| {
        scenario.switches.discipline = weights(&[2, 0, 1, 1]);
    });
    assert_refused("hosts.buffer", "a buffer of 0B holds no packet", |scenario| {
        scenario.hosts.buffering = Buffering::EachQueue(Bytes::ZERO);
    });
    for (alpha, shown) in [(0.0, "0"), (-1.0, "-1"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        let message = format!("an alpha of {shown}: expected a number above 0, such as 1");
        assert_refused("switches.buffer", &message, |scenario| {
            scenario.switches.buffering = Buffering::Shared { total: Bytes::new(1), alpha };
        });
    }
    let red = |min, max, probability, weight| {
        PortEcn::from(Ecn::Red(Red { min: Bytes::new(min), max: Bytes::new(max), probability, weight }))
    };
    assert_refused("switches.ecn", "min is 2kB and max is 1kB: min must be below max", |scenario| {
        scenario.switches.ecn = red(2000, 1000, 0.1, 1.0)
    });
    assert_refused("switches.ecn", "a probability of 1.5: expected above 0 and up to 1", |scenario| {
        scenario.switches.ecn = red(1000, 2000, 1.5, 1.0);
    });
    assert_refused("hosts.ecn", "a weight of 0: expected above 0 and up to 1", |scenario| {
        scenario.hosts.ecn = red(1000, 2000, 0.1, 0.0);
    });
}

#[test]
fn settings_per_queue_are_required_for_every_queue() {
    let over = |strict, weights: &[u32]| Discipline::StrictOverWeighted { strict, weights: weights.to_vec() };
    assert_refused(
        "switches.discipline",
        "2 strict queues, 1 weighted, and the port of s1->h1 has 4 queues: expected as many in total",
        |scenario| scenario.switches.discipline = over(2, &[1]),
    );
    assert_refused("switches.discipline", "queue 3 has a weight of 0: expected at least 1", |scenario| {
        scenario.switches.discipline = over(2, &[1, 0]);
    });
    let marks = PortEcn::PerQueue(vec![Some(Ecn::above(Bytes::new(9_000))), None]);
    let unequal = "2 entries, and the port of s1->h1 has 4 queues: expected one for each";
    assert_refused("switches.ecn", unequal, |scenario| {
        scenario.switches.discipline = Discipline::StrictPriority;
        scenario.switches.ecn = marks.clone();
    });
    let single = "2 entries, and the port of s1->h1 has 1 queue: expected one for each";
    assert_refused("switches.ecn", single, |scenario| scenario.switches.ecn = marks.clone());
    let share = "a probability of 0: expected above 0 and up to 1";
    assert_refused("switches.ecn", share, |scenario| {
        let (min, max) = (Bytes::new(1), Bytes::new(2));
        let red = Ecn::Red(Red { min, max, probability: 0.0, weight: 1.0 });
        scenario.switches.ecn = PortEcn::PerQueue(vec![Some(red)]);
    });
    let mut scenario = good();
    scenario.switches.discipline = over(2, &[3, 1]);
    scenario.switches.ecn = PortEcn::PerQueue(vec![None, None, marks.of(0).cloned(), None]);
    assert_eq!(scenario.validate(), Ok(()));
}

#[test]
fn routing_without_a_value_is_refused() {
    assert_refused("routing", "flowlets need a gap above zero", |scenario| {
        scenario.routing = Routing::Flowlet(flowlet::Params { gap: Time::ZERO });
    });
    assert_refused("routing", "flowcells need a size above zero", |scenario| {
        scenario.routing = Routing::Flowcells(presto::Spreading { size: Bytes::ZERO, path_timeout: None });
    });
}

#[test]
fn shared_services_need_different_usable_switches() {
    let service = |scenario: &Scenario, name: &str| SharedService {
        switch: node(scenario, name),
        rate: Rate::from_gbit(1),
        processing: Time::ZERO,
        buffer: Bytes::new(9000),
    };
    let refused = |message: &str, name: &str, change: &dyn Fn(&mut SharedService)| {
        assert_refused("sharedServices.0", message, |scenario| {
            let mut service = service(scenario, name);
            change(&mut service);
            scenario.shared_services.push(service);
        });
    };
    refused("h1 is not a switch: only a switch shares a service", "h1", &|_| {});
    refused("s1 serves packets at a rate of zero", "s1", &|service| service.rate = Rate::ZERO);
    refused("s1 has no buffer before its service", "s1", &|service| service.buffer = Bytes::ZERO);
    refused("s1 needs more than 2s for one packet", "s1", &|service| service.processing = Time::from_millis(2000));
    assert_refused("sharedServices.1", "s1 has two shared services: expected one", |scenario| {
        let service = service(scenario, "s1");
        scenario.shared_services = vec![service; 2];
    });
}

#[test]
fn a_link_that_is_slower_than_the_event_queue_reaches_is_refused() {
    let with = |rate: Rate, propagation: Time| {
        let network = build::star(2, Cabling { rate, propagation, ..Cabling::default() }).unwrap();
        let mut scenario = Scenario::new("x", Arc::new(network), Time::from_millis(1));
        let ends = FlowEndpoints::AllToAll(hosts(&scenario), hosts(&scenario));
        scenario.traffic.push(Traffic::flows("a", ends, FlowArrivals::Once, FlowSizes::Fixed(Bytes::new(1))));
        scenario.validate().map_err(|error| (error.path(), error.to_string()))
    };
    // 1500 B, 38 B around it and 24 B of tags last 12.496 us at 1 Gbit/s.
    assert_eq!(with(Rate::from_gbit(1), Time::from_nanos(1_999_987_504)), Ok(()));
    let slow = ("topology".to_owned(), "a packet takes 2.000000001s over h1->s1: up to 2s is simulated".to_owned());
    assert_eq!(with(Rate::from_gbit(1), Time::from_nanos(1_999_987_505)), Err(slow));
    assert!(with(Rate::from_bits_per_second(1), Time::MAX).unwrap_err().1.starts_with("a packet takes 100000000s"));
}

#[test]
fn traffic_needs_a_name_of_its_own_and_a_time() {
    assert_refused("traffic", "no traffic is defined", |scenario| scenario.traffic.clear());
    assert_refused("traffic.0.name", "a traffic needs a name", |scenario| scenario.traffic[0].name.clear());
    assert_refused("traffic.1.name", "the name is already used by another traffic", |scenario| {
        scenario.traffic.push(scenario.traffic[0].clone());
    });
    assert_refused("traffic.0.start", "it begins at 10ms, and the run is over at 10ms", |scenario| {
        scenario.traffic[0].start = scenario.duration;
    });
    assert_refused("traffic.0.stop", "it ends at 1ms, and begins at 1ms", |scenario| {
        (scenario.traffic[0].start, scenario.traffic[0].stop) = (Time::from_millis(1), Some(Time::from_millis(1)));
    });
    assert_refused("traffic.0.queue", "no port has a queue 4: they have up to 4, counted from 0", |scenario| {
        scenario.traffic[0].queue = Some(4);
    });
    // Ports with fewer use their last: those of hosts have one.
    let mut last = good();
    last.traffic[0].queue = Some(3);
    assert_eq!(last.validate(), Ok(()));
}

#[test]
fn the_two_endpoints_are_different_hosts() {
    assert_ends_refused("traffic.0.from", "no pair has two different hosts", |scenario| {
        let alone = vec![node(scenario, "h1")];
        FlowEndpoints::AllToAll(alone.clone(), alone)
    });
    let none = "no pair has two different hosts";
    assert_ends_refused("traffic.0.from", none, |scenario| FlowEndpoints::Random(Vec::new(), hosts(scenario)));
    assert_ends_refused("traffic.0.from", none, |scenario| FlowEndpoints::Permutation(vec![node(scenario, "h1")]));
    assert_ends_refused("traffic.0.from", none, |_| FlowEndpoints::Pairs(Vec::new()));
    assert_ends_refused("traffic.0.to", "s1 is a switch: hosts send and receive", |scenario| {
        FlowEndpoints::Random(hosts(scenario), vec![node(scenario, "s1")])
    });
    assert_ends_refused("traffic.0.pairs", "h1 would send to itself", |scenario| {
        FlowEndpoints::Pairs(vec![(node(scenario, "h1"), node(scenario, "h1"))])
    });
    assert_ends_refused("traffic.0.from", "h1 is given twice", |scenario| {
        FlowEndpoints::Permutation(vec![node(scenario, "h1"), node(scenario, "h2"), node(scenario, "h1")])
    });
}

#[test]
fn a_host_without_a_path_is_refused() {
    // h1 sends to s1 and h3 receives from it; h2 only sends to s2, which leads nowhere.
    let mut builder = NetworkBuilder::default();
    let [h1, h2, h3] = ["h1", "h2", "h3"].map(|name| builder.add_node(name, NodeKind::Host).unwrap());
    let [s1, s2] = ["s1", "s2"].map(|name| builder.add_node(name, NodeKind::Switch).unwrap());
    for (from, to) in [(h1, s1), (s1, h3), (h2, s2)] {
        let port = PortSpec::uniform(1, Bytes::new(97_000));
        let (rate, mtu) = (Rate::from_gbit(1), Bytes::new(1500));
        builder.add_link(LinkSpec { from, to, rate, propagation: Time::ZERO, mtu, port }).unwrap();
    }
    let network = Arc::new(builder.build());
    let checked = |traffic: Traffic| {
        let mut scenario = Scenario::new("x", Arc::clone(&network), Time::from_millis(1));
        scenario.traffic.push(traffic);
        scenario.validate().map_err(|error| error.to_string())
    };
    let packets = |ends: FlowEndpoints| {
        let kind =
            PacketKind::TokenBucket { rate: Rate::from_mbit(1), burst: Bytes::new(3_000), phase: StartPhase::Together };
        checked(Traffic::packets("a", ends, kind, Bytes::new(300)))
    };
    assert_eq!(packets(FlowEndpoints::Pairs(vec![(h1, h3)])), Ok(()));
    assert_eq!(packets(FlowEndpoints::Pairs(vec![(h2, h3)])), Err("no path leads from h2 to h3".to_owned()));
    assert_eq!(packets(FlowEndpoints::AllToAll(vec![h1], vec![h3])), Ok(()));
    assert_eq!(packets(FlowEndpoints::Random(vec![h1, h2], vec![h3])), Err("no path leads from h2 to h3".to_owned()));
    assert_eq!(packets(FlowEndpoints::Permutation(vec![h1, h3])), Err("no path leads from h3 to h1".to_owned()));
    // A flow whose acknowledgements find no reverse path would send nothing, or retransmit for ever.
    let flows =
        |ends: FlowEndpoints| checked(Traffic::flows("a", ends, FlowArrivals::Once, FlowSizes::Fixed(Bytes::new(1))));
    let no_return_path = Err("no path leads from h3 back to h1, and acknowledgements take one".to_owned());
    assert_eq!(flows(FlowEndpoints::Pairs(vec![(h1, h3)])), no_return_path);
    assert_eq!(flows(FlowEndpoints::AllToAll(vec![h1], vec![h3])), no_return_path);
    assert_eq!(flows(FlowEndpoints::Pairs(vec![(h2, h3)])), Err("no path leads from h2 to h3".to_owned()));
}

#[test]
fn a_path_that_does_not_pass_the_first_switch_is_found() {
    // Two islands: the second one is joined, independent of the nodes that the first switch reaches.
    let mut builder = NetworkBuilder::default();
    let mut ends = Vec::new();
    for island in 0..2 {
        let switch = builder.add_node(&format!("s{island}"), NodeKind::Switch).unwrap();
        for host in 0..2 {
            let from = builder.add_node(&format!("h{island}{host}"), NodeKind::Host).unwrap();
            let port = PortSpec::uniform(1, Bytes::new(97_000));
            let (rate, mtu) = (Rate::from_gbit(1), Bytes::new(1500));
            let spec = LinkSpec { from, to: switch, rate, propagation: Time::ZERO, mtu, port: port.clone() };
            builder.add_cable(spec, port).unwrap();
            ends.push(from);
        }
    }
    let network = Arc::new(builder.build());
    let mut scenario = Scenario::new("x", network, Time::from_millis(1));
    let pair = |from: usize, to: usize| FlowEndpoints::Pairs(vec![(ends[from], ends[to])]);
    scenario.traffic.push(Traffic::flows("a", pair(2, 3), FlowArrivals::Once, FlowSizes::Fixed(Bytes::new(1))));
    assert_eq!(scenario.validate(), Ok(()));
    scenario.traffic[0].ends = pair(1, 2).into();
    assert_eq!(scenario.validate().unwrap_err().to_string(), "no path leads from h01 to h10");
}

#[test]
fn a_route_connects_its_endpoints() {
    let route = |scenario: &Scenario, hops: &[(&str, u8)]| {
        let hop = |&(link, queue): &(&str, u8)| Hop { link: scenario.network.find_link(link).unwrap(), queue };
        Some(Route { hops: hops.iter().map(hop).collect() })
    };
    let pair = |scenario: &Scenario| FlowEndpoints::Pairs(vec![(node(scenario, "h1"), node(scenario, "h2"))]);
    let whole = [("h1->s1", 0), ("s1->h2", 3)];
    let mut fine = good();
    (fine.traffic[0].ends, fine.traffic[0].route) = (pair(&fine).into(), route(&fine, &whole));
    assert_eq!(fine.validate(), Ok(()));
    assert_refused("traffic.0.route", "a route is for one pair of hosts, and these are 16", |scenario| {
        scenario.traffic[0].route = route(scenario, &whole);
    });
    for (hops, message) in [
        (&whole[..1], "the route ends at s1, not at h2"),
        (&[("h1->s1", 1), ("s1->h2", 0)][..], "h1->s1 has no queue 1: its queues for contracts are 0 to 0"),
        (&[("h3->s1", 0), ("s1->h2", 0)][..], "hop 1 is h3->s1, but the route is at h1 there"),
    ] {
        assert_refused("traffic.0.route", message, |scenario| {
            (scenario.traffic[0].ends, scenario.traffic[0].route) = (pair(scenario).into(), route(scenario, hops));
        });
    }
}

#[test]
fn packets_need_a_rate_and_a_frame_that_fits() {
    let rate = Rate::from_mbit(1);
    let with =
        |kind, frame| move |workload: &mut Workload| *workload = Workload::Packets { kind, frame: Bytes::new(frame) };
    let bucket = |rate, burst| PacketKind::TokenBucket { rate, burst: Bytes::new(burst), phase: StartPhase::Together };
    let zero = "the rate has to be above zero";
    assert_workload_refused("traffic.0.tokenBucket", zero, with(bucket(Rate::ZERO, 1500), 100));
    assert_workload_refused("traffic.0.constantRate", zero, with(PacketKind::ConstantRate { rate: Rate::ZERO }, 100));
    assert_workload_refused("traffic.0.poisson", zero, with(PacketKind::Poisson { rate: Rate::ZERO }, 100));
    let on_off = |rate, on| PacketKind::OnOff(OnOff { rate, on, off: Time::ZERO });
    assert_workload_refused("traffic.0.onOff", zero, with(on_off(Rate::ZERO, Time::from_millis(1)), 100));
    let never = "the time of being on has to be above zero";
    assert_workload_refused("traffic.0.onOff", never, with(on_off(rate, Time::ZERO), 100));
    assert_workload_refused("traffic.0.frame", "a frame has to be above zero", with(PacketKind::Poisson { rate }, 0));
    let burst = "a burst of 99B lets no frame of 100B through";
    assert_workload_refused("traffic.0.tokenBucket", burst, with(bucket(rate, 99), 100));
    // A full packet, its Ethernet framing, and six tags of 4 B.
    let mut fits = good();
    with(PacketKind::Poisson { rate }, 1562)(&mut fits.traffic[0].workload);
    assert_eq!(fits.validate(), Ok(()));
    let large = "1.563kB on the wire, and h1->s1 carries up to 1.562kB";
    assert_workload_refused("traffic.0.frame", large, with(PacketKind::Poisson { rate }, 1563));
}

#[test]
fn flows_need_sizes_and_arrivals_in_range() {
    let change = |edit: fn(&mut wayleave_scenarios::Reliable)| {
        move |workload: &mut Workload| match workload {
            Workload::Flows(reliable) => edit(reliable),
            other => panic!("{other:?}"),
        }
    };
    let zero_size = "flows of 0B: expected a size of at least 1B";
    assert_workload_refused(
        "traffic.0.sizes",
        zero_size,
        change(|flows| {
            flows.sizes = Some(FlowSizes::Fixed(Bytes::ZERO));
        }),
    );
    assert_workload_refused(
        "traffic.0.sizes",
        "flows without end can only begin once",
        change(|flows| {
            (flows.arrivals, flows.sizes) = (FlowArrivals::Load(0.5), None);
        }),
    );
    assert_workload_refused(
        "traffic.0.deadline",
        "a deadline has to be above zero",
        change(|flows| {
            flows.deadline = Some(Deadline::Fixed(Time::ZERO));
        }),
    );
    assert_workload_refused(
        "traffic.0.load",
        "a load of 0: expected above 0 and up to 10",
        change(|flows| {
            flows.arrivals = FlowArrivals::Load(0.0);
        }),
    );
    assert_workload_refused(
        "traffic.0.load",
        "a load of 10.5: expected above 0 and up to 10",
        change(|flows| {
            flows.arrivals = FlowArrivals::Load(10.5);
        }),
    );
    assert_workload_refused(
        "traffic.0.load",
        "a load of NaN: expected above 0 and up to 10",
        change(|flows| {
            flows.arrivals = FlowArrivals::Load(f64::NAN);
        }),
    );
    let rate = "flows per second of inf: expected above 0 and up to 1000000000";
    assert_workload_refused(
        "traffic.0.perSecond",
        rate,
        change(|flows| {
            flows.arrivals = FlowArrivals::PerSecond(f64::INFINITY);
        }),
    );
    let every = "the time between two flows has to be above zero";
    assert_workload_refused("traffic.0.every", every, change(|flows| flows.arrivals = FlowArrivals::Every(Time::ZERO)));
    let rpc = "the number of requests that are outstanding has to be above zero";
    assert_workload_refused(
        "traffic.0.rpc",
        rpc,
        change(|flows| {
            let answer = FlowSizes::Fixed(Bytes::new(1));
            flows.arrivals = FlowArrivals::Rpc(Rpc { outstanding: 0, ..Rpc::new(answer) });
        }),
    );
    assert_workload_refused(
        "traffic.0.rpc",
        zero_size,
        change(|flows| {
            let answer = FlowSizes::Exponential(Bytes::ZERO);
            flows.arrivals = FlowArrivals::Rpc(Rpc::new(answer));
        }),
    );
}

#[test]
fn a_frame_fits_the_links_of_its_pinned_route() {
    let mut builder = NetworkBuilder::default();
    let [a, d] = ["a", "d"].map(|name| builder.add_node(name, NodeKind::Host).unwrap());
    let [wide, narrow] = ["wide", "narrow"].map(|name| builder.add_node(name, NodeKind::Switch).unwrap());
    let mut cable = |from, to, mtu| {
        let port = PortSpec::uniform(2, Bytes::new(97_000));
        let (rate, propagation, mtu) = (Rate::from_gbit(1), Time::ZERO, Bytes::new(mtu));
        builder.add_cable(LinkSpec { from, to, rate, propagation, mtu, port: port.clone() }, port).unwrap()
    };
    let [(up, _), (second, _), (_, down), (_, other)] =
        [cable(a, wide, 9000), cable(a, narrow, 1500), cable(d, wide, 9000), cable(d, narrow, 1500)];
    let mut scenario = Scenario::new("x", Arc::new(builder.build()), Time::from_millis(1));
    let kind = PacketKind::ConstantRate { rate: Rate::from_mbit(1) };
    let traffic = Traffic::packets("jumbo", FlowEndpoints::Pairs(vec![(a, d)]), kind, Bytes::new(9000));
    scenario.traffic.push(traffic);
    let refused = "9kB on the wire, and a->narrow carries up to 1.562kB";
    let text = |scenario: &Scenario| scenario.validate().map_err(|error| error.to_string());
    assert_eq!(text(&scenario), Err(refused.to_owned()), "it may take either way");
    let route = |links: [_; 2]| Route { hops: links.map(|link| Hop { link, queue: 0 }).to_vec() };
    scenario.traffic[0].route = Some(route([up, down]));
    assert_eq!(text(&scenario), Ok(()));
    let copies = Copies { routes: vec![route([second, other])], window: 8, reset: Time::from_millis(1) };
    scenario.traffic[0].copies = Some(copies);
    assert_eq!(text(&scenario), Err(refused.to_owned()), "its copies would be lost");
}

#[test]
fn transports_have_windows_and_segments_that_fit() {
    let with = |edit: fn(&mut TransportConfig)| move |scenario: &mut Scenario| edit(&mut scenario.transport);
    let mtu = "an MTU of 63B: expected 64B to 65535B (1500B is usual)";
    assert_refused("transport.mtu", mtu, with(|transport| transport.mtu = Bytes::new(63)));
    let window = "the first window has to be above zero";
    assert_refused("transport.initialWindow", window, with(|transport| transport.initial_window = 0));
    let windows = "the first window of 10 packets is larger than the largest of 9";
    assert_refused("transport.initialWindow", windows, with(|transport| transport.max_window = 9));
    let timeout = "the shortest time-out has to be above zero";
    assert_refused("transport.minTimeout", timeout, with(|transport| transport.min_timeout = Time::ZERO));
    let first = "the first time-out has to be above zero";
    assert_refused("transport.firstTimeout", first, with(|transport| transport.first_timeout = Time::ZERO));
    let fixed = "a fixed window has to be above zero";
    assert_refused("transport.congestion", fixed, with(|transport| transport.congestion = Congestion::fixed_window(0)));
    let large = "1.539kB on the wire, and h1->s1 carries up to 1.538kB";
    assert_refused("traffic.0.transport", large, with(|transport| transport.mtu = Bytes::new(1501)));
    // A transport that no flow uses may be anything that works.
    let mut own = good();
    own.transport.mtu = Bytes::new(9000);
    if let Workload::Flows(reliable) = &mut own.traffic[0].workload {
        reliable.transport = Some(TransportConfig::default());
    }
    assert_eq!(own.validate(), Ok(()));
}

#[test]
fn lists_of_flows_are_in_order_and_every_flow_can_be_sent() {
    let flow = |scenario: &Scenario, micros| FlowSpec {
        start: Time::from_micros(micros),
        from: node(scenario, "h1"),
        to: node(scenario, "h2"),
        size: Bytes::new(1),
        queue: None,
    };
    let refused = |path: &str, message: &str, edit: &dyn Fn(&Scenario, &mut Vec<FlowSpec>)| {
        assert_refused(path, message, |scenario| {
            let mut flows = vec![flow(scenario, 1), flow(scenario, 2)];
            edit(scenario, &mut flows);
            scenario.traffic[0].workload = Workload::Listed { flows, transport: None };
        });
    };
    refused("traffic.0.flows", "the list has no flows", &|_, flows| flows.clear());
    let order = "0ns is before 1us, the start of the flow above: flows must be in order of time";
    refused("traffic.0.flows.1.at", order, &|_, flows| flows[1].start = Time::ZERO);
    let late = "it begins at 10ms, and the run is over at 10ms";
    refused("traffic.0.flows.0.at", late, &|scenario, flows| {
        flows.iter_mut().for_each(|flow| flow.start = scenario.duration);
    });
    refused("traffic.0.flows.1.to", "h1 would send to itself", &|_, flows| flows[1].to = flows[1].from);
    let switch = "s1 is a switch: hosts send and receive";
    refused("traffic.0.flows.1.from", switch, &|scenario, flows| flows[1].from = node(scenario, "s1"));
    refused("traffic.0.flows.1.size", "the size of a flow has to be above zero", &|_, flows| {
        flows[1].size = Bytes::ZERO;
    });
    let queue = "no port has a queue 9: they have up to 4, counted from 0";
    refused("traffic.0.flows.1.queue", queue, &|_, flows| flows[1].queue = Some(9));
}

#[test]
fn outages_are_of_switches_and_links_in_order_of_time() {
    let outage = |millis, what| Outage { at: Time::from_millis(millis), what, change: ElementChange::Fails };
    let order = "1ms is before 2ms, the time of the outage above: outages must be in order of time";
    assert_refused("outages.1", order, |scenario| {
        let switch = Element::Switch(node(scenario, "s1"));
        scenario.outages = vec![outage(2, switch), outage(1, switch)];
    });
    assert_refused("outages.0", "h1 is a host: links and switches fail here", |scenario| {
        scenario.outages = vec![outage(1, Element::Switch(node(scenario, "h1")))];
    });
}

#[test]
fn more_flows_than_event_queue_numbers_are_refused() {
    let network = Arc::new(build::star(2500, Cabling::default()).unwrap());
    let mut scenario = Scenario::new("x", network, Time::from_millis(1));
    let ends = FlowEndpoints::AllToAll(hosts(&scenario), hosts(&scenario));
    scenario.traffic.push(Traffic::flows("a", ends, FlowArrivals::Once, FlowSizes::Fixed(Bytes::new(1))));
    let error = scenario.validate().unwrap_err();
    let message = "5000 links, which count twice, and 6247500 flows: together up to 4194303 are simulated";
    assert_eq!((error.path(), error.to_string()), ("topology".to_owned(), message.to_owned()));
    assert!(scenario.memory_estimate() > 6_247_500 * 4096, "and the estimate says how much it would take");
    // At random, the same hosts are no problem.
    scenario.traffic[0].ends = FlowEndpoints::Random(hosts(&scenario), hosts(&scenario)).into();
    if let Workload::Flows(reliable) = &mut scenario.traffic[0].workload {
        reliable.arrivals = FlowArrivals::Load(0.5);
    }
    assert_eq!(scenario.validate(), Ok(()));
}

#[test]
fn links_count_twice_among_the_numbers_of_the_event_queue() {
    let with = |outstanding: u64| {
        let mut scenario = star();
        let ends = FlowEndpoints::Pairs(vec![(node(&scenario, "h1"), node(&scenario, "h2"))]);
        let size = FlowSizes::Fixed(Bytes::new(1));
        let outstanding = u32::try_from(outstanding).unwrap();
        let arrivals = FlowArrivals::Rpc(Rpc { outstanding, ..Rpc::new(size.clone()) });
        scenario.traffic.push(Traffic::flows("a", ends, arrivals, size));
        scenario.validate()
    };
    // Eight directed links.
    assert_eq!(with(MAX_ACTORS - 16), Ok(()));
    assert_eq!(with(MAX_ACTORS - 15), Err(ScenarioError::TooLarge { links: 8, flows: MAX_ACTORS - 15 }));
}
