//! A port as exact curves: the figures that `plan` prints, that explain a refusal, and that the kernels are tested
//! against.

use wayleave_calculus::{ArrivalCurve, Rational, ServiceCurve, rational};
use wayleave_calculus::{horizontal_deviation, residual_service, vertical_deviation};
use wayleave_topology::LinkId;
use wayleave_units::{Amount, Bytes, Rate, Time};

use crate::ledger::Ledger;
use crate::model::{Residual, Shaping};
use crate::port::{Port, PortInput, Queue};

/// Traffic that enters a queue from one input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputReport {
    /// The link, or `None` for traffic of the node itself.
    pub link: Option<LinkId>,
    /// Number of flows.
    pub flows: u32,
    /// Their rates' sum.
    pub rate: Rate,
    /// Sum of their bursts, as grown along their routes and by the jitter of this node, where it keeps no order.
    pub burst: Amount,
    /// Bound of the flows: the token bucket of the sums, capped by the link's line.
    pub arrival: ArrivalCurve,
}

/// The promises of a queue, and the bounds that it can keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueReport {
    /// The link.
    pub link: LinkId,
    /// The queue, 0 highest.
    pub queue: u8,
    /// The delay that every flow through it counts with.
    pub budget: Time,
    /// Amount that it can hold.
    pub buffer: Bytes,
    /// Number of flows.
    pub flows: u32,
    /// By input.
    pub inputs: Vec<InputReport>,
    /// The sum over the inputs.
    pub arrival: ArrivalCurve,
    /// Service that the queues above leave.
    pub service: ServiceCurve,
    /// Time by which a packet may enter the queue late: the jitter of a node that keeps no order. It is part of
    /// `delay`; jitter that keeps the order is part of `service` instead.
    pub spread: Time,
    /// No packet takes longer from its arrival at the node, in ns; zero for an empty queue, `None` if unbounded.
    pub delay: Option<Rational>,
    /// It never holds more, in nanobits; `None` if unbounded.
    pub backlog: Option<Rational>,
}

impl QueueReport {
    /// The delay bound in whole ns, rounded up.
    pub fn delay_bound(&self) -> Option<Time> {
        rational::time_rounded_up(self.delay.as_ref()?)
    }

    /// The backlog bound in whole bytes, rounded up.
    pub fn backlog_bound(&self) -> Option<Bytes> {
        let nanobits = rational::amount_rounded_up(self.backlog.as_ref()?)?;
        u64::try_from(nanobits.bytes_rounded_up()).ok().map(Bytes::new)
    }
}

/// The bounds that a queue can keep, in whole units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueBounds {
    /// The link.
    pub link: LinkId,
    /// The queue, 0 highest.
    pub queue: u8,
    /// As [`QueueReport::delay_bound`].
    pub delay: Option<Time>,
    /// As [`QueueReport::backlog_bound`].
    pub backlog: Option<Bytes>,
}

impl From<&QueueReport> for QueueBounds {
    fn from(report: &QueueReport) -> Self {
        let (delay, backlog) = (report.delay_bound(), report.backlog_bound());
        Self { link: report.link, queue: report.queue, delay, backlog }
    }
}

impl Ledger {
    /// The bounds of every queue of a link that contracts may use, highest priority first: as [`Self::report`] has them, and
    /// without its curves where the constant-time kernel applies.
    pub fn bounds(&self, link: LinkId) -> Vec<QueueBounds> {
        if !self.is_quick(link) {
            return self.report(link).iter().map(QueueBounds::from).collect();
        }
        let bounds = |(number, queue): (u8, &Queue)| {
            let (delay, backlog) = queue.bounds();
            QueueBounds { link, queue: number, delay, backlog }
        };
        (0u8..).zip(self.queues_of(link)).map(bounds).collect()
    }

    /// Every queue of a link that contracts may use, highest priority first.
    pub fn report(&self, link: LinkId) -> Vec<QueueReport> {
        reports(self, link, None)
    }
}

/// One more flow: the queue that it enters, from where, its rate and its burst.
type Extra = (u8, PortInput, Rate, Amount);

pub(crate) fn reports(ledger: &Ledger, link: LinkId, extra: Option<Extra>) -> Vec<QueueReport> {
    let port = ledger.port(link);
    let debt = Amount::from_nanobits(port.debt);
    let line = ledger.network().link(link).rate;
    let spread = Time::from_nanos(port.spread as u64);
    let mut service = ServiceCurve::constant_rate(line).subtract_amount(debt);
    let mut reports = Vec::new();
    for (index, queue) in (0u8..).zip(ledger.queues_of(link)) {
        let entering =
            extra.filter(|&(target, ..)| target == index).map(|(_, input, rate, burst)| (input, rate, burst));
        let inputs = inputs(ledger, port, queue, entering);
        let arrival = inputs.iter().fold(ArrivalCurve::zero(), |sum, input| &sum + &input.arrival);
        let flows = queue.flows + u32::from(entering.is_some());
        let mut left = residual_service(&service, &arrival);
        if ledger.model().residual == Residual::FirstSlope {
            left = left.first_slope();
        }
        let empty = Some(rational::whole(0)).filter(|_| flows == 0);
        reports.push(QueueReport {
            link,
            queue: index,
            budget: Time::from_nanos(queue.budget as u64),
            buffer: Bytes::new(Amount::from_nanobits(queue.buffer).bytes_rounded_up() as u64),
            flows,
            spread,
            delay: empty
                .clone()
                .or_else(|| Some(horizontal_deviation(&arrival, &service)? + rational::from_time(spread))),
            backlog: empty.or_else(|| vertical_deviation(&arrival, &service)),
            inputs,
            arrival,
            service: std::mem::replace(&mut service, left),
        });
    }
    reports
}

fn inputs(ledger: &Ledger, port: &Port, queue: &Queue, extra: Option<(PortInput, Rate, Amount)>) -> Vec<InputReport> {
    let spread = Time::from_nanos(port.spread as u64);
    let mut shares: Vec<(PortInput, u32, Rate, Amount)> = queue
        .shares
        .iter()
        .map(|share| {
            let rate = Rate::from_bits_per_second(share.rate as u64);
            (share.input, share.flows, rate, Amount::from_nanobits(share.burst))
        })
        .collect();
    if let Some((input, rate, burst)) = extra {
        let burst = burst + rate * spread;
        match shares.iter_mut().find(|share| share.0 == input) {
            Some(share) => *share = (input, share.1 + 1, share.2 + rate, share.3 + burst),
            None => shares.push((input, 1, rate, burst)),
        }
    }
    let report = |(input, flows, rate, burst): (PortInput, u32, Rate, Amount)| {
        let bucket = ArrivalCurve::token_bucket(rate, burst);
        let line = input
            .as_link()
            .filter(|_| ledger.model().shaping == Shaping::InputLinks)
            .map(|link| (ledger.network().link(link).rate, Amount::from(ledger.largest_frame(link))))
            .map(|(rate, frame)| ArrivalCurve::token_bucket(rate, frame + rate * spread));
        let arrival = line.map_or(bucket.clone(), |line| bucket.minimum(&line));
        InputReport { link: input.as_link(), flows, rate, burst, arrival }
    };
    shares.into_iter().map(report).collect()
}
