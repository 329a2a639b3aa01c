//! How full links and queues are, as it was when the engine had time to look: what readers and metrics are given.

use std::collections::BTreeSet;

use wayleave_ledger::{Ledger, QueueReport};
use wayleave_topology::{Class, LinkId, Network};
use wayleave_units::Time;

/// How full a link is.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkFigures {
    pub(crate) reserved_bps: u64,
    pub(crate) routes: u64,
    /// Promised to the guaranteed class and to the objective class; nothing where queues are not divided.
    pub(crate) promised_bps: Option<(u64, u64)>,
    pub(crate) queues: Vec<QueueFigures>,
}

/// How full a queue is that contracts can use.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueFigures {
    pub(crate) budget: Time,
    pub(crate) delay: Option<Time>,
    pub(crate) backlog_bytes: Option<u64>,
}

/// Of this link, as it is now.
pub(crate) fn look(ledger: &Ledger, link: LinkId) -> LinkFigures {
    let flows = ledger.flows_on(link).len();
    let reserved_bps = ledger.reserved(link).bits_per_second();
    let queues = if flows == 0 {
        // Nothing to reckon: most links of a large network are so.
        ledger.budgets(link).map(|budget| QueueFigures { budget, delay: None, backlog_bytes: None }).collect()
    } else {
        ledger.report(link).iter().map(queue).collect()
    };
    let promised = |class| ledger.promised_to(link, class).bits_per_second();
    let promised_bps = ledger.has_shares().then(|| (promised(Class::Guaranteed), promised(Class::Objective)));
    LinkFigures { reserved_bps, routes: flows as u64, promised_bps, queues }
}

fn queue(report: &QueueReport) -> QueueFigures {
    let is_used = report.flows > 0;
    QueueFigures {
        budget: report.budget,
        delay: report.delay_bound().filter(|_| is_used),
        backlog_bytes: report.backlog_bound().filter(|_| is_used).map(|bytes| bytes.get()),
    }
}

/// The links whose figures are old.
#[derive(Debug, Default)]
pub(crate) struct Stale(BTreeSet<LinkId>);

impl Stale {
    /// All of a network.
    pub(crate) fn all(network: &Network) -> Self {
        Self(network.links().map(|(link, _)| link).collect())
    }

    pub(crate) fn add(&mut self, links: impl IntoIterator<Item = LinkId>) {
        self.0.extend(links);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Looks at some of them.
    pub(crate) fn look(&mut self, ledger: &Ledger, most: usize) -> Vec<(LinkId, LinkFigures)> {
        let mut looked = Vec::new();
        while looked.len() < most {
            let Some(link) = self.0.pop_first() else { break };
            looked.push((link, look(ledger, link)));
        }
        looked
    }
}
