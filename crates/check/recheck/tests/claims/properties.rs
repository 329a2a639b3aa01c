//! Properties that hold for any flows.

use num_rational::BigRational;
use num_traits::Zero;
use proptest::prelude::*;
use wayleave_recheck::{Claim, JitterTerm, PacketiserTerm, RecheckReport, check};
use wayleave_topology::LinkId;
use wayleave_units::{Bytes, Rate, Time};

use crate::build::{Sender, Star, claim, downlink};

/// A star and its traffic; overload happens.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) star: Star,
    pub(crate) senders: Vec<Sender>,
    pub(crate) frames: Vec<Bytes>,
    pub(crate) packetiser: PacketiserTerm,
    pub(crate) shaping: bool,
    pub(crate) jitter: JitterTerm,
}

impl Scene {
    pub(crate) fn claim<'a>(&self, network: &'a wayleave_topology::Network) -> Claim<'a> {
        let mut claim = claim(network, &self.senders);
        claim.max_frame.clone_from(&self.frames);
        claim.packetiser = self.packetiser;
        claim.shaping = self.shaping;
        claim.jitter = self.jitter;
        claim
    }

    fn report(&self) -> RecheckReport {
        check(&self.claim(&self.star.build()))
    }
}

pub(crate) fn scenes() -> impl Strategy<Value = Scene> {
    let rate = || prop::sample::select(vec![100, 400, 1000, 2500, 10_000]).prop_map(Rate::from_mbit);
    let sender =
        (0..3usize, 0..3u8, 0..3u8, 1..50_000u64, 0..20_000u64).prop_map(|(host, uplink_queue, queue, kbit, burst)| {
            let (rate, burst) = (Rate::from_bits_per_second(kbit * 1000), Bytes::new(burst));
            Sender { host, uplink_queue, queue, rate, burst }
        });
    let frames = proptest::collection::vec((64..9100u64).prop_map(Bytes::new), 4);
    let packetiser = prop::sample::select(vec![PacketiserTerm::Subtracted, PacketiserTerm::Omitted]);
    let jitter = prop::sample::select(vec![JitterTerm::Ordered, JitterTerm::Any]);
    let network = (proptest::collection::vec(rate(), 3), rate(), (0..90u64, jitter));
    (network, proptest::collection::vec(sender, 1..12), frames, packetiser, any::<bool>()).prop_map(
        |((uplinks, downlink, (most, jitter)), senders, frames, packetiser, shaping)| {
            let switch = (Time::ZERO, Time::from_micros(most));
            let star = Star { switch, ..Star::new(&uplinks, downlink) };
            Scene { star, senders, frames, packetiser, shaping, jitter }
        },
    )
}

/// Delay and backlog of a queue, 0 where it is empty; `None` is without bound.
fn figures(report: &RecheckReport, link: u32, queue: u8) -> [Option<BigRational>; 2] {
    match report.queue(LinkId(link), queue) {
        Some(found) => [found.delay_ns.clone(), found.backlog_bytes.clone()],
        None => [Some(BigRational::zero()), Some(BigRational::zero())],
    }
}

fn is_at_most(a: &Option<BigRational>, b: &Option<BigRational>) -> bool {
    match (a, b) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(a), Some(b)) => a <= b,
    }
}

fn none_is_larger(less: &RecheckReport, more: &RecheckReport) -> bool {
    let queues = (0..4).flat_map(|link| (0..3).map(move |queue| (link, queue)));
    queues.into_iter().all(|(link, queue)| {
        let pairs = figures(less, link, queue).into_iter().zip(figures(more, link, queue));
        pairs.into_iter().all(|(less, more)| is_at_most(&less, &more))
    })
}

proptest! {
    #[test]
    fn removing_a_flow_never_raises_a_delay_or_a_backlog(scene in scenes(), at in any::<prop::sample::Index>()) {
        let mut less = scene.clone();
        less.senders.remove(at.index(scene.senders.len()));
        prop_assert!(none_is_larger(&less.report(), &scene.report()));
    }

    #[test]
    fn adding_flows_never_lowers_a_delay_or_a_backlog(scene in scenes(), added in scenes()) {
        let mut more = scene.clone();
        more.senders.extend(added.senders);
        prop_assert!(none_is_larger(&scene.report(), &more.report()));
    }

    #[test]
    fn a_flow_does_not_affect_higher_queues(scene in scenes(), added in scenes()) {
        let mut more = scene.clone();
        more.senders.extend(added.senders.iter().map(|sender| Sender { queue: 2, ..*sender }));
        let link = downlink(&scene.star.build()).0;
        let (before, after) = (scene.report(), more.report());
        for queue in 0..2 {
            prop_assert_eq!(figures(&before, link, queue), figures(&after, link, queue));
        }
    }

    #[test]
    fn shaping_never_raises_a_delay_and_a_packetiser_never_lowers_one(scene in scenes()) {
        let with = |shaping, packetiser| Scene { shaping, packetiser, ..scene.clone() }.report();
        let (omitted, subtracted) = (PacketiserTerm::Omitted, PacketiserTerm::Subtracted);
        prop_assert!(none_is_larger(&with(true, omitted), &with(false, omitted)));
        prop_assert!(none_is_larger(&with(true, omitted), &with(true, subtracted)));
    }

    #[test]
    fn jitter_in_any_order_costs_at_most_itself_once_more_and_no_buffer(scene in scenes()) {
        let with = |jitter| Scene { jitter, ..scene.clone() }.report();
        let (ordered, any) = (with(JitterTerm::Ordered), with(JitterTerm::Any));
        prop_assert!(none_is_larger(&ordered, &any));
        let most = BigRational::from_integer(scene.star.switch.1.as_nanos().into());
        for (ordered, any) in ordered.queues.iter().zip(&any.queues) {
            prop_assert_eq!(&ordered.backlog_bytes, &any.backlog_bytes);
            let once_more = ordered.delay_ns.as_ref().map(|delay| delay + &most);
            prop_assert!(is_at_most(&any.delay_ns, &once_more), "{:?} and {:?}", ordered, any);
        }
    }

    #[test]
    fn bursts_and_times_scale_together(scene in scenes(), by in 2..6u64) {
        let network = scene.star.build();
        let before = check(&scene.claim(&network));

        let mut scaled = scene.clone();
        scaled.star.switch.1 = scene.star.switch.1 * by;
        scaled.frames.iter_mut().for_each(|frame| *frame = *frame * by);
        scaled.senders.iter_mut().for_each(|sender| sender.burst = sender.burst * by);
        let network = scaled.star.build();
        let mut claim = scaled.claim(&network);
        claim.budgets.iter_mut().flatten().for_each(|budget| *budget = *budget * by);
        let after = check(&claim);

        let by = BigRational::from_integer(by.into());
        prop_assert_eq!(before.queues.len(), after.queues.len());
        for (before, after) in before.queues.iter().zip(&after.queues) {
            prop_assert_eq!(before.delay_ns.as_ref().map(|delay| delay * &by), after.delay_ns.clone());
            prop_assert_eq!(before.backlog_bytes.as_ref().map(|held| held * &by), after.backlog_bytes.clone());
        }
    }
}
