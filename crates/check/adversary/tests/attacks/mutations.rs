//! Wrong promises are detected. A small separate calculator evaluates the formulas of `docs/theory/admission.md`,
//! once unchanged and once with one of them changed; its results are promised, and the attacks decide.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::common::{Plan, claim, constant, demand, ledger, route, star};
use wayleave_adversary::{AdmittedClaim, Breach, Effort, Fault, verify};
use wayleave_contracts::BucketDemand;
use wayleave_ledger::{JitterModel, Ledger, Model};
use wayleave_topology::{LinkId, Network, NodeKind, Route};
use wayleave_units::{Bytes, Rate, Time};

/// Something that is wrong with the formulas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mutation {
    None,
    /// No frame is lost to blocking, none to packetisation.
    NoDebt,
    /// One frame is lost, for either.
    OneFrameOfDebt,
    /// Blocking by the largest frame of the admitted flows, not of the link.
    BlockingByAdmittedFrames,
    /// Higher queues take nothing.
    NoHigherArrivals,
    /// Of the queues above only the highest takes something.
    OnlyHighestArrivals,
    /// At later hops bursts are as they were at the first.
    BurstNotGrown,
    /// The line caps what starts at the node itself, too.
    LineCapsLocal,
    /// The delay is taken where the first bits come, not at the last knee.
    DelayAtTheStart,
    /// Only the busiest input counts.
    OneInput,
    /// Propagation is not added.
    NoPropagation,
    /// Processing is not added.
    NoProcessing,
    /// The variable part of a switch's overhead is ignored.
    NoJitter,
    /// The last queue does not count.
    LastHopForgotten,
}

/// Burst and rate per input of a queue; the input is `None` without a link.
type Inputs = BTreeMap<Option<LinkId>, (f64, f64)>;

/// `frame + rate t`, where a line caps what comes.
type Cap = Option<(f64, f64)>;

/// Calculates in bits, seconds and floating point; rounding is far below what mutations change.
struct Calculator<'a> {
    ledger: &'a Ledger,
    mutation: Mutation,
    loads: BTreeMap<(LinkId, u8), Inputs>,
}

impl<'a> Calculator<'a> {
    fn new(ledger: &'a Ledger, mutation: Mutation) -> Self {
        let mut loads: BTreeMap<(LinkId, u8), Inputs> = BTreeMap::new();
        for (_, flow) in ledger.flows() {
            let (rate, mut burst) = (bits(flow.demand.rate), flow.demand.burst.bits() as f64);
            let mut input = None;
            for hop in &flow.route.hops {
                let place = loads.entry((hop.link, hop.queue)).or_default().entry(input).or_default();
                *place = (place.0 + burst, place.1 + rate);
                if mutation != Mutation::BurstNotGrown {
                    burst += rate * seconds(ledger.budget(*hop));
                }
                input = Some(hop.link);
            }
        }
        Self { ledger, mutation, loads }
    }

    fn network(&self) -> &Network {
        self.ledger.network()
    }

    /// Returns the arrivals of every input, as a bucket and a cap.
    fn arrivals(&self, link: LinkId, queue: u8) -> Vec<((f64, f64), Cap)> {
        let cap = |input: Option<LinkId>| match (input, self.mutation) {
            (Some(input), _) => Some(self.line(input)),
            (None, Mutation::LineCapsLocal) => Some(self.line(link)),
            (None, _) => None,
        };
        let inputs = self.loads.get(&(link, queue)).cloned().unwrap_or_default();
        let mut arrivals: Vec<_> = inputs.into_iter().map(|(input, bucket)| (bucket, cap(input))).collect();
        if self.mutation == Mutation::OneInput {
            arrivals.sort_by(|a, b| b.0.0.total_cmp(&a.0.0));
            arrivals.truncate(1);
        }
        arrivals
    }

    fn line(&self, link: LinkId) -> (f64, f64) {
        (self.ledger.largest_frame(link).bits() as f64, bits(self.network().link(link).rate))
    }

    fn debt(&self, link: LinkId) -> f64 {
        let frame = self.ledger.largest_frame(link).bits() as f64;
        let node = self.network().node(self.network().link(link).from);
        let jitter = match self.mutation {
            Mutation::NoJitter => 0.0,
            _ => bits(self.network().link(link).rate) * seconds(node.jitter),
        };
        let on_link =
            |(_, flow): &(_, &wayleave_ledger::Reservation)| flow.route.hops.iter().any(|hop| hop.link == link);
        let frames = match self.mutation {
            Mutation::NoDebt => 0.0,
            Mutation::OneFrameOfDebt => frame,
            Mutation::BlockingByAdmittedFrames => {
                let largest = |(_, flow): (_, &wayleave_ledger::Reservation)| flow.demand.max_frame.unwrap();
                2.0 * self.ledger.flows().filter(on_link).map(largest).max().unwrap().bits() as f64
            }
            _ => 2.0 * frame,
        };
        frames + jitter
    }

    /// The longest delay in a queue, in seconds.
    fn delay(&self, link: LinkId, queue: u8) -> f64 {
        let own = self.arrivals(link, queue);
        let above = match self.mutation {
            Mutation::NoHigherArrivals => 0..0,
            Mutation::OnlyHighestArrivals => 0..queue.min(1),
            _ => 0..queue,
        };
        let above: Vec<_> = above.flat_map(|queue| self.arrivals(link, queue)).collect();
        let (rate, debt) = (bits(self.network().link(link).rate), self.debt(link));
        let service = |t: f64| rate * t - debt - all(&above, t);
        // Knees of the curves; those of the queues above bend the service.
        let mut knees: Vec<f64> = own.iter().chain(&above).filter_map(|&(bucket, cap)| knee(bucket, cap)).collect();
        knees.push(0.0);
        if self.mutation == Mutation::DelayAtTheStart {
            knees = vec![0.0];
        }
        let later = |&t: &f64| served(&service, all(&own, t)) - t;
        knees.iter().map(later).fold(0.0, f64::max)
    }

    /// Returns the promise to a flow.
    fn bound(&self, route: &Route) -> Time {
        let mut hops = route.hops.as_slice();
        if self.mutation == Mutation::LastHopForgotten {
            hops = &hops[..hops.len() - 1];
        }
        let waits: f64 = hops.iter().map(|hop| self.delay(hop.link, hop.queue)).sum();
        let links = || route.hops.iter().map(|hop| self.network().link(hop.link));
        let constants: Time = match self.mutation {
            Mutation::NoPropagation => links().map(|link| self.network().node(link.from).processing).sum(),
            Mutation::NoProcessing => links().map(|link| link.propagation).sum(),
            _ => constant(self.network(), route),
        };
        constants + Time::from_nanos((waits * 1e9 - 0.01).ceil() as u64)
    }
}

fn bits(rate: Rate) -> f64 {
    rate.bits_per_second() as f64
}

fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}

fn all(arrivals: &[((f64, f64), Cap)], t: f64) -> f64 {
    let of = |&((burst, rate), cap): &((f64, f64), Cap)| {
        let bucket = burst + rate * t;
        cap.map_or(bucket, |(frame, line)| bucket.min(frame + line * t))
    };
    arrivals.iter().map(of).sum()
}

fn knee((burst, rate): (f64, f64), cap: Cap) -> Option<f64> {
    cap.map(|(frame, line)| ((burst - frame) / (line - rate)).max(0.0))
}

/// Returns the time when the service has permanently reached an amount: the service is convex, so from there on it is
/// above.
fn served(service: &impl Fn(f64) -> f64, amount: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let middle = (low + high) / 2.0;
        if service(middle) >= amount { high = middle } else { low = middle }
    }
    high
}

/// The ledger's promises with the bounds of the formulas, changed or not.
fn promised(ledger: &Ledger, mutation: Mutation) -> AdmittedClaim {
    let calculator = Calculator::new(ledger, mutation);
    let mut claim = claim(ledger);
    for promise in &mut claim.promises {
        (promise.bound, promise.today) = (calculator.bound(&promise.route), None);
    }
    claim
}

fn is_sound(claim: &AdmittedClaim) -> bool {
    let report = verify(claim, &Effort::QUICK.with_seeds(4), None, |_, _| true).unwrap();
    for violation in &report.violations {
        assert!(matches!(violation.breach, Breach::Late { .. } | Breach::Dropped { .. }), "{violation:?}");
    }
    report.is_sound()
}

/// Asserts that the unchanged formulas hold for this set, and that this change of them does not.
#[track_caller]
fn assert_caught(ledger: &Ledger, mutation: Mutation) {
    for (mine, theirs) in promised(ledger, Mutation::None).promises.iter().zip(claim(ledger).promises) {
        let (mine, theirs) = (mine.bound.as_nanos(), theirs.today.unwrap().as_nanos());
        // Each queue is rounded up there, and once here.
        assert!(mine <= theirs && theirs - mine <= 10, "the calculator here says {mine} ns, the ledger {theirs} ns");
    }
    assert!(is_sound(&promised(ledger, Mutation::None)), "the formulas as they stand");
    assert!(!is_sound(&promised(ledger, mutation)), "{mutation:?} is not caught");
}

fn reserve(ledger: &mut Ledger, network: &Arc<Network>, nodes: &str, queue: u8, mbit: u64, burst: u64) {
    ledger.reserve(demand(Rate::from_mbit(mbit), burst), route(network, nodes, queue));
}

/// Four hosts into one port: two in the first queue, two in the second.
fn two_priorities() -> Ledger {
    let network = star(5);
    let mut ledger = ledger(&network, Model::default(), Time::from_millis(5));
    for host in 1..=4 {
        reserve(&mut ledger, &network, &format!("h{host} s1 h5"), u8::from(host > 2), 5, 30_000);
    }
    ledger
}

/// Returns contracts with single packets of `bytes` bytes.
fn single_packets(bytes: u64) -> Ledger {
    let network = star(2);
    let mut ledger = ledger(&network, Model::default(), Time::from_millis(1));
    let demand = BucketDemand { max_frame: Some(Bytes::new(bytes)), ..demand(Rate::from_mbit(1), bytes) };
    ledger.reserve(demand, route(&network, "h1 s1 h2", 0));
    ledger
}

/// Over 200 km, or through switches that take 300 us of which 250 us vary.
fn far_or_slow(propagation: Time, processing: Time, jitter: Time) -> Ledger {
    far_or_slow_of(JitterModel::Ordered, propagation, processing, jitter)
}

/// Returns the far or slow case for a packet order under jitter.
pub(crate) fn far_or_slow_of(order: JitterModel, propagation: Time, processing: Time, jitter: Time) -> Ledger {
    let plan = Plan::default().cable("h1", "s1", Rate::from_gbit(1), propagation);
    let plain = plan.cable("h2", "s1", Rate::from_gbit(1), Time::ZERO).build();
    let mut builder = wayleave_topology::NetworkBuilder::default();
    for (_, node) in plain.nodes() {
        let (processing, jitter) = match node.kind {
            NodeKind::Switch => (processing, jitter),
            NodeKind::Host => (Time::ZERO, Time::ZERO),
        };
        builder.add(wayleave_topology::Node { processing, jitter, ..node.clone() }).unwrap();
    }
    for (id, link) in plain.links() {
        let port = wayleave_topology::PortSpec { queues: plain.queues(id).to_vec() };
        let (rate, propagation, mtu) = (link.rate, link.propagation, link.mtu);
        builder
            .add_link(wayleave_topology::LinkSpec { from: link.from, to: link.to, rate, propagation, mtu, port })
            .unwrap();
    }
    let network = Arc::new(builder.build());
    let mut ledger = ledger(&network, Model::default().with_jitter(order), Time::from_millis(5));
    reserve(&mut ledger, &network, "h1 s1 h2", 0, 5, 3_000);
    ledger
}

/// Returns a fast contract that another one's burst delays at its host, and that catches up on its path to the
/// victim.
fn squeezed() -> Ledger {
    let network = star(4);
    let mut ledger = ledger(&network, Model::default(), Time::from_micros(600));
    reserve(&mut ledger, &network, "h1 s1 h3", 0, 400, 1_562);
    reserve(&mut ledger, &network, "h1 s1 h4", 0, 1, 60_000);
    reserve(&mut ledger, &network, "h2 s1 h3", 0, 1, 40_000);
    ledger
}

#[test]
fn a_forgotten_debt_of_a_port_is_caught() {
    assert_caught(&single_packets(200), Mutation::NoDebt);
}

#[test]
fn blocking_that_follows_the_admitted_frames_is_caught() {
    assert_caught(&single_packets(200), Mutation::BlockingByAdmittedFrames);
}

#[test]
fn omitted_arrivals_of_higher_queues_are_caught() {
    assert_caught(&two_priorities(), Mutation::NoHigherArrivals);
}

#[test]
fn one_omitted_higher_queue_is_caught() {
    let mut ledger = {
        let network = star(4);
        let queues = |link| if network.node(network.link(link).from).kind == NodeKind::Host { 3 } else { 2 };
        let budgets = network.links().map(|(link, _)| vec![Time::from_millis(5); queues(link)]).collect();
        Ledger::new(network.clone(), Model::default(), budgets).unwrap()
    };
    let network = ledger.network().clone();
    // All in one host's port, which has three queues for contracts.
    for queue in 0..3 {
        let mut path = route(&network, "h1 s1 h2", queue);
        path.hops[1].queue = 0;
        ledger.reserve(demand(Rate::from_mbit(5), 30_000), path);
    }
    assert_caught(&ledger, Mutation::OnlyHighestArrivals);
}

#[test]
fn bursts_that_do_not_grow_are_caught() {
    assert_caught(&squeezed(), Mutation::BurstNotGrown);
}

#[test]
fn a_line_that_caps_local_traffic_is_caught() {
    assert_caught(&two_priorities(), Mutation::LineCapsLocal);
}

#[test]
fn a_delay_before_the_last_knee_is_caught() {
    assert_caught(&two_priorities(), Mutation::DelayAtTheStart);
}

#[test]
fn inputs_that_are_not_added_up_are_caught() {
    assert_caught(&two_priorities(), Mutation::OneInput);
}

#[test]
fn forgotten_propagation_is_caught() {
    assert_caught(&far_or_slow(Time::from_millis(1), Time::ZERO, Time::ZERO), Mutation::NoPropagation);
}

#[test]
fn forgotten_processing_is_caught() {
    assert_caught(&far_or_slow(Time::ZERO, Time::from_micros(300), Time::ZERO), Mutation::NoProcessing);
}

#[test]
fn forgotten_jitter_is_caught() {
    assert_caught(&far_or_slow(Time::ZERO, Time::ZERO, Time::from_micros(300)), Mutation::NoJitter);
}

#[test]
fn a_forgotten_hop_is_caught() {
    assert_caught(&two_priorities(), Mutation::LastHopForgotten);
}

/// A difference that the check cannot detect: packets arrive and leave as a whole here, so that the frame of the
/// packetiser (section 2) is never used up, and blocking alone fits into either of the two.
#[test]
fn one_frame_of_debt_explains_every_observed_delay() {
    for ledger in [single_packets(200), single_packets(1_562), two_priorities(), squeezed()] {
        assert!(is_sound(&promised(&ledger, Mutation::OneFrameOfDebt)));
    }
}

#[test]
fn faults_after_admission_are_caught() {
    for ledger in [two_priorities(), squeezed()] {
        let sound = claim(&ledger);
        assert!(verify(&sound, &Effort::QUICK, None, |_, _| true).unwrap().is_sound());
        for fault in [Fault::BudgetHalved, Fault::ShaperOff] {
            let broken = sound.broken_by(fault).unwrap();
            let report = verify(&broken, &Effort::QUICK, None, |_, _| true).unwrap();
            assert!(!report.is_sound(), "{fault:?}");
        }
        let broken = sound.broken_by(Fault::BuffersGone).unwrap();
        let report = verify(&broken, &Effort::QUICK, None, |_, _| true).unwrap();
        let is_drop = |breach: &Breach| matches!(breach, Breach::Dropped { .. });
        assert!(report.violations.iter().any(|violation| is_drop(&violation.breach)), "{:?}", report.violations);
    }
}
