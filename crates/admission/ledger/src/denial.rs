//! Reasons of refusals: the first promise that one more flow would break.

use wayleave_calculus::{Rational, rational};
use wayleave_topology::LinkId;
use wayleave_units::{Amount, Bytes, Rate, Time};

use crate::kernel::{AMOUNT_LIMIT, Denial, QueueLimitKind, fast};
use crate::ledger::{Ledger, entering};
use crate::port::PortInput;
use crate::report::reports;

impl Ledger {
    /// Returns the reason why [`Self::fits`] is false; `None` if it is true.
    pub fn denial(&self, link: LinkId, queue: u8, input: PortInput, rate: Rate, burst: Amount) -> Option<Denial> {
        if self.fits(link, queue, input, rate, burst) {
            return None;
        }
        if self.is_closed(link) {
            return Some(Denial { queue, limit: QueueLimitKind::Closed });
        }
        self.share_limit(link, rate, burst)
            .or_else(|| self.quick_denial(link, queue, input, rate, burst))
            .or_else(|| exact_denial(self, link, queue, (input, rate, burst)))
    }

    /// Returns the reason from the constant-time kernel, where it applies.
    fn quick_denial(&self, link: LinkId, queue: u8, input: PortInput, rate: Rate, burst: Amount) -> Option<Denial> {
        let gate = self.gates[link.index()];
        if !gate.quick || !self.has_rate(link, rate) {
            return None;
        }
        let queues = self.queues_of(link);
        let target = usize::from(queue);
        let burst = entering(gate, rate, burst).nanobits();
        let rate = i128::from(rate.bits_per_second());
        let joined = self.joined(link, &queues[target], input, rate, burst)?;
        let mut service = queues[target].service;
        for (index, queue) in (0u8..).zip(queues).skip(target) {
            let is_target = usize::from(index) == target;
            let load = if is_target { joined } else { queue.load };
            let is_used = is_target || queue.flows > 0;
            if is_used && !fast::keeps(&load, service, queue.wait(), queue.buffer, self.model().comparison) {
                let limit = queue.broken_limit(&load, service, self.model().comparison)?;
                return Some(Denial { queue: index, limit });
            }
            service = service.below(&load);
        }
        None
    }
}

/// The first promise, from the queue that the flow would enter downwards, that it would break.
fn exact_denial(ledger: &Ledger, link: LinkId, queue: u8, flow: (PortInput, Rate, Amount)) -> Option<Denial> {
    let (input, rate, burst) = flow;
    let comparison = ledger.model().comparison;
    let too_fast = |queue, asked, left| Some(Denial { queue, limit: QueueLimitKind::Rate { asked, left } });
    if !ledger.has_rate(link, rate) {
        return too_fast(queue, rate, ledger.spare(link));
    }
    for report in reports(ledger, link, Some((queue, input, rate, burst))) {
        if report.queue < queue || report.flows == 0 {
            continue;
        }
        let (Some(delay), Some(backlog)) = (&report.delay, &report.backlog) else {
            let left = rational::rate_rounded_down(&report.service.ultimate_rate()).unwrap_or(Rate::ZERO);
            let asked = rational::rate_rounded_up(&report.arrival.long_term_rate()).unwrap_or(Rate::MAX);
            return too_fast(report.queue, asked, left);
        };
        if !comparison.holds(delay, &rational::from_time(report.budget)) || report.arrival.burst() > whole_limit() {
            let bound = report.delay_bound().unwrap_or(Time::MAX);
            return Some(Denial { queue: report.queue, limit: QueueLimitKind::Delay { bound, budget: report.budget } });
        }
        if !comparison.holds(backlog, &rational::from_amount(report.buffer.into())) {
            let backlog = report.backlog_bound().unwrap_or(Bytes::MAX);
            return Some(Denial {
                queue: report.queue,
                limit: QueueLimitKind::Buffer { backlog, buffer: report.buffer },
            });
        }
    }
    None
}

fn whole_limit() -> Rational {
    rational::whole(AMOUNT_LIMIT)
}
