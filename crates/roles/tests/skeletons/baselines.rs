//! The shapes of Swift (SIGCOMM 2020), Clove (CoNEXT 2017) and Presto (SIGCOMM 2015).

use wayleave_roles::{
    Absent, Ack, Departure, Flow, Host, HostAction, HostInput, IntHop, LocalFlow, Loss, Mark, Path, PathIndex,
    PathReport, QueueState, RouteFacts, Switch, Weighted,
};
use wayleave_units::{Bytes, Time};

use crate::stack::{Layers, PLAIN, Reorder, Stack};
use crate::transports::Fixed;

/// Swift: a target that grows with the hops, delays of fabric and host apart, and a weight (uFAB, 2.2).
#[derive(Debug)]
struct Swift {
    window: u64,
    weight: u64,
    target: Time,
}

impl Flow for Swift {
    fn on_route(&mut self, _now: Time, route: RouteFacts) {
        self.target = route.round_trip + Time::from_micros(u64::from(route.hops));
    }
    fn on_weight(&mut self, _now: Time, weight: u32) {
        self.weight = weight.into();
    }
    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        let fabric = ack.round_trip.unwrap().saturating_sub(ack.host_delay.unwrap());
        if fabric < self.target {
            self.window += ack.newly * self.weight;
        }
    }
    fn on_loss(&mut self, _now: Time, _loss: Loss) {}
    fn window(&self) -> u64 {
        self.window
    }
}

/// The host side of weighted Swift: a class's weight becomes that of its pairs.
struct Weights;

impl Host for Weights {
    type Message = ();
    type Timer = ();
    fn on(&mut self, _: Time, input: HostInput<'_, (), ()>, act: &mut impl FnMut(HostAction<'_, (), ()>)) {
        if let HostInput::Opened { pair, .. } = input {
            act(HostAction::SetWeight { of: Weighted::Pair(pair), weight: 3 });
        }
    }
}

/// Clove for one destination: a flowlet per flow, and the path that is not congested.
#[derive(Debug, Default)]
struct Clove {
    avoided: Option<u32>,
    flowlets: Vec<(LocalFlow, u32)>,
    most_queued: Bytes,
}

impl Path for Clove {
    fn choose(&mut self, _now: Time, departure: Departure) -> u32 {
        (0..departure.paths).find(|path| Some(*path) != self.avoided).unwrap_or(0)
    }
    fn choose_for(&mut self, now: Time, flow: LocalFlow, departure: Departure) -> u32 {
        let path = self.choose(now, departure);
        self.flowlets.push((flow, path));
        path
    }
    fn on_report(&mut self, _now: Time, report: PathReport) {
        self.avoided = (report.marked > 0).then_some(report.path);
    }
    fn on_telemetry(&mut self, _now: Time, _path: u32, hops: &[IntHop]) {
        self.most_queued = hops.iter().map(|hop| hop.queue).max().unwrap();
    }
}

#[derive(Clone, Copy)]
struct Marks;

impl Switch for Marks {
    fn on_arrival(&mut self, _now: Time, queue: QueueState, _bytes: u32) -> Mark {
        if queue.queued > Bytes::ZERO { Mark::Congestion } else { Mark::No }
    }
}

#[test]
fn weighted_swift_grows_by_its_weight_and_clove_avoids_the_path_that_marked() {
    let mut stack = Stack::new(Layers {
        flow: Swift { window: 14_600, weight: 1, target: Time::ZERO },
        tunnel: Absent,
        hosts: [Weights, Weights],
        path: Clove::default(),
        reorder: Absent,
        ports: [[Marks; 2]; 2],
    });
    stack.queued[0] = Bytes::new(9_000);
    stack.open();
    assert_eq!(stack.log(), ["Sender: pair weight 3"]);
    stack.carry().unwrap();
    let log = stack.log();
    assert_eq!(log[4], "ports of path 0: mark Congestion");
    assert_eq!(log[6], "transport: hears of 1460 B marked, window 18980");
    assert_eq!(stack.layers.path.most_queued, Bytes::new(9_000));
    stack.carry().unwrap();
    assert_eq!(stack.log()[4], "ports of path 1: mark No");
    assert_eq!(stack.layers.path.flowlets, [(LocalFlow(5), 0), (LocalFlow(5), 1)]);
}

/// Presto: flowcells in turn, here of one packet; and the receiver's buffer at their boundaries.
#[derive(Debug, Default)]
struct Presto {
    cell: u32,
}

impl Path for Presto {
    fn choose(&mut self, _now: Time, departure: Departure) -> u32 {
        self.cell += 1;
        (self.cell - 1) % departure.paths
    }
}

#[derive(Debug, Default)]
struct Boundary {
    last: Option<PathIndex>,
}

impl Reorder for Boundary {
    fn on_packet(&mut self, _now: Time, path: PathIndex) -> &'static str {
        let is_boundary = self.last.replace(path).is_some_and(|last| last != path);
        if is_boundary { "waits at the boundary of a flowcell" } else { "delivers" }
    }
}

#[test]
fn presto_takes_paths_in_turn_and_its_receiver_puts_flowcells_in_order() {
    let mut stack = Stack::new(Layers {
        flow: Fixed(14_600),
        tunnel: Absent,
        hosts: [Absent, Absent],
        path: Presto::default(),
        reorder: Boundary::default(),
        ports: PLAIN,
    });
    stack.open();
    stack.carry().unwrap();
    assert_eq!(stack.log()[4..6], ["ports of path 0: mark No", "reordering buffer: delivers"]);
    stack.carry().unwrap();
    assert_eq!(
        stack.log()[4..6],
        ["ports of path 1: mark No", "reordering buffer: waits at the boundary of a flowcell"]
    );
}
