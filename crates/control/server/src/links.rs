//! Figures of links and queues as the engine last computed them, for readers and metrics.

use std::collections::BTreeSet;

use wayleave_ledger::{Capacity, Ledger, QueueReport};
use wayleave_topology::{Class, LinkId, Network};
use wayleave_units::Time;

/// Classes that contracts reserve rate in, in the order in which they are shown.
const CLASSES: [Class; 3] = [Class::Latency, Class::Guaranteed, Class::Objective];

/// Reservations on a link.
#[derive(Clone, Debug)]
pub(crate) struct LinkFigures {
    /// Number of routes of latency contracts.
    pub(crate) routes: u64,
    /// Reserved and available rate of each class that contracts may use on it.
    pub(crate) capacity: Vec<(Class, Capacity)>,
    /// Its queues that contracts may use, with their numbers.
    pub(crate) queues: Vec<QueueFigures>,
}

impl LinkFigures {
    /// Returns the reserved part of the class that has least left, in millionths.
    pub(crate) fn used_ppm(&self) -> u64 {
        self.capacity.iter().map(|(_, capacity)| capacity.used_ppm()).max().unwrap_or(0)
    }

    /// Returns the capacity for a class; `None` if the link has no queue for it.
    pub(crate) fn of(&self, class: Class) -> Option<Capacity> {
        self.capacity.iter().find(|(of, _)| *of == class).map(|(_, capacity)| *capacity)
    }

    /// Returns the figures of a queue by its number; `None` if contracts may not use it.
    pub(crate) fn queue(&self, number: u8) -> Option<&QueueFigures> {
        self.queues.iter().find(|queue| queue.number == number)
    }
}

/// Load of a queue that contracts may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueFigures {
    pub(crate) number: u8,
    pub(crate) class: Class,
    /// Longest wait that admission allows; `None` if it promises none, as for minima without a time.
    pub(crate) budget: Option<Time>,
    pub(crate) delay: Option<Time>,
    pub(crate) backlog_bytes: Option<u64>,
}

/// Returns the figures of a link as the ledger has them now.
pub(crate) fn compute(ledger: &Ledger, link: LinkId) -> LinkFigures {
    let flows = ledger.flows_on(link).len();
    let mut queues: Vec<QueueFigures> = if flows == 0 {
        // Most links of a large network are so: their curves need not be computed.
        let unused = |(number, budget)| QueueFigures {
            number,
            class: Class::Latency,
            budget: Some(budget),
            delay: None,
            backlog_bytes: None,
        };
        (0..).zip(ledger.budgets(link)).map(unused).collect()
    } else {
        ledger.report(link).iter().map(latency_queue).collect()
    };
    queues.extend(shared_queues(ledger, link));
    let capacity = CLASSES.into_iter().filter_map(|class| Some((class, ledger.capacity(link, class)?))).collect();
    LinkFigures { routes: flows as u64, capacity, queues }
}

fn latency_queue(report: &QueueReport) -> QueueFigures {
    let is_used = report.flows > 0;
    QueueFigures {
        number: report.queue,
        class: Class::Latency,
        budget: Some(report.budget),
        delay: report.delay_bound().filter(|_| is_used),
        backlog_bytes: report.backlog_bound().filter(|_| is_used).map(|bytes| bytes.get()),
    }
}

/// Returns the queues of minima and of objectives; of objectives, no delay is promised.
fn shared_queues(ledger: &Ledger, link: LinkId) -> Vec<QueueFigures> {
    let Some(shared) = ledger.shared_link(link) else { return Vec::new() };
    let of = |class| {
        let is_guaranteed = class == Class::Guaranteed;
        QueueFigures {
            number: shared.classes.queue_of(class),
            class,
            budget: ledger.share_budget(link).filter(|_| is_guaranteed && ledger.is_timed(link)),
            delay: ledger.share_wait(link).filter(|_| is_guaranteed),
            backlog_bytes: ledger.share_backlog(link).filter(|_| is_guaranteed).map(|bytes| bytes.get()),
        }
    };
    vec![of(Class::Guaranteed), of(Class::Objective)]
}

/// Links whose figures are outdated.
#[derive(Debug, Default)]
pub(crate) struct OutdatedLinks(BTreeSet<LinkId>);

impl OutdatedLinks {
    /// Returns all links of a network.
    pub(crate) fn all(network: &Network) -> Self {
        Self(network.links().map(|(link, _)| link).collect())
    }

    pub(crate) fn add(&mut self, links: impl IntoIterator<Item = LinkId>) {
        self.0.extend(links);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Computes the figures of some of them.
    pub(crate) fn look(&mut self, ledger: &Ledger, most: usize) -> Vec<(LinkId, LinkFigures)> {
        let mut looked = Vec::new();
        while looked.len() < most {
            let Some(link) = self.0.pop_first() else { break };
            looked.push((link, compute(ledger, link)));
        }
        looked
    }
}
