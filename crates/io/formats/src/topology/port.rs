//! The queues of a port: a count with one buffer size, or a list.

use wayleave_topology::builders::Cabling;
use wayleave_topology::{MAX_BUDGET, MAX_QUEUES, NodeKind, PortQueue, PortSpec};
use wayleave_units::{Bytes, Time, count};

use crate::fields::{Fields, Shape};
use crate::location::Span;
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Node, Value};

pub(crate) const QUEUE: Shape = Shape { what: "a queue", keys: &["budget", "buffer"] };

/// Keys that describe the queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    /// `queues`, `buffer`, `budgets`.
    Plain,
    /// `hostQueues`, `hostBuffer`, `hostBudgets`.
    Host,
}

impl Keys {
    const fn queues(self) -> &'static str {
        match self {
            Self::Plain => "queues",
            Self::Host => "hostQueues",
        }
    }

    const fn buffer(self) -> &'static str {
        match self {
            Self::Plain => "buffer",
            Self::Host => "hostBuffer",
        }
    }

    const fn budgets(self) -> &'static str {
        match self {
            Self::Plain => "budgets",
            Self::Host => "hostBudgets",
        }
    }

    /// All three.
    pub(super) const fn all(self) -> [&'static str; 3] {
        [self.queues(), self.buffer(), self.budgets()]
    }
}

/// Returns the default buffer of each of `count` queues: the publications' sizes in switches; hosts queue in memory.
fn usual_buffer(owner: NodeKind, count: usize) -> Bytes {
    let cabling = Cabling::default();
    let default = |port: &PortSpec| port.queues.first().map_or(Bytes::MAX, |queue| queue.buffer);
    match owner {
        NodeKind::Switch => Cabling::published_buffer(count).unwrap_or_else(|| default(&cabling.switch_port)),
        NodeKind::Host => default(&cabling.host_port),
    }
}

/// Returns `true` if a mapping states the number of a port's queues, by itself or by its budgets.
pub(super) fn states_count(fields: &Fields<'_, '_>, keys: Keys) -> bool {
    [keys.queues(), keys.budgets()].into_iter().any(|key| fields.get(key).is_some())
}

/// Reads the port that a mapping describes; `inherited` contains the values of absent keys.
///
/// A mapping with a count begins anew: it inherits neither buffers nor budgets, which belong to another count.
pub(super) fn read(
    fields: &Fields<'_, '_>,
    keys: Keys,
    owner: NodeKind,
    inherited: &PortSpec,
    problems: &mut Problems<'_>,
) -> Option<PortSpec> {
    let buffer = match fields.get(keys.buffer()) {
        Some(node) => Some(node.quantity::<Bytes>(problems)?),
        None => None,
    };
    let budgets = match fields.get(keys.budgets()) {
        Some(node) => Some(read_budgets(node, problems)?),
        None => None,
    };
    let mut port = match fields.get(keys.queues()) {
        None => inherited.clone(),
        Some(Node { value: Value::Sequence(items), span }) => {
            return read_list(items, *span, fields, keys, owner, problems);
        }
        Some(node) => {
            let count = queue_count(node.count(problems)?, node.span, problems)?;
            PortSpec::uniform(count, usual_buffer(owner, count))
        }
    };
    if let Some(buffer) = buffer {
        port.queues.iter_mut().for_each(|queue| queue.buffer = buffer);
    }
    if let Some(budgets) = budgets {
        // Queues of a host are in its memory: without a count there is one for each budget.
        if keys == Keys::Host
            && fields.get(keys.queues()).is_none()
            && let Some(last) = port.queues.last().cloned()
        {
            port.queues.resize(port.queues.len().max(budgets.len().min(MAX_QUEUES)), last);
        }
        let queues = port.queues.len();
        if budgets.len() > queues {
            let span = fields.value_span(keys.budgets());
            let given = budgets.len();
            problems.report(ProblemKind::Impossible, span, || {
                format!("{given} budgets for {}: expected at most one for each", count(queues, "queue"))
            });
            return None;
        }
        port.queues.iter_mut().for_each(|queue| queue.budget = None);
        port.queues.iter_mut().zip(budgets).for_each(|(queue, budget)| queue.budget = Some(budget));
    }
    Some(port)
}

fn read_list(
    items: &[Node<'_>],
    span: Span,
    fields: &Fields<'_, '_>,
    keys: Keys,
    owner: NodeKind,
    problems: &mut Problems<'_>,
) -> Option<PortSpec> {
    for key in [keys.buffer(), keys.budgets()].into_iter().filter(|key| fields.get(key).is_some()) {
        let message = || format!("{} lists every queue: it cannot be combined with {key}", keys.queues());
        problems.report(ProblemKind::WrongType, fields.key_span(key), message);
    }
    let count = queue_count(items.len() as u64, span, problems)?;
    let queues: Vec<_> = items.iter().map(|item| read_queue(item, usual_buffer(owner, count), problems)).collect();
    queues.into_iter().collect::<Option<Vec<_>>>().map(|queues| PortSpec { queues })
}

fn read_queue(node: &Node<'_>, usual: Bytes, problems: &mut Problems<'_>) -> Option<PortQueue> {
    let fields = Fields::read(node, &QUEUE, problems)?;
    let budget = match fields.get("budget") {
        Some(node) => Some(read_budget(node, problems)?),
        None => None,
    };
    let buffer = match fields.get("buffer") {
        Some(node) => node.quantity(problems)?,
        None => usual,
    };
    Some(PortQueue { buffer, budget })
}

fn read_budgets(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Vec<Time>> {
    let items = node.expect_list("times, highest priority first,", problems)?;
    let budgets: Vec<_> = items.iter().map(|item| read_budget(item, problems)).collect();
    budgets.into_iter().collect()
}

fn read_budget(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Time> {
    let budget = node.quantity(problems)?;
    if budget > Time::ZERO && budget <= MAX_BUDGET {
        return Some(budget);
    }
    let message = || format!("a budget of {budget}: expected more than zero and at most {MAX_BUDGET}");
    problems.report(ProblemKind::Impossible, node.span, message);
    None
}

fn queue_count(count: u64, span: Span, problems: &mut Problems<'_>) -> Option<usize> {
    if (1..=MAX_QUEUES as u64).contains(&count) {
        return Some(count as usize);
    }
    let message = || format!("{count} queues: expected 1 to {MAX_QUEUES}");
    problems.report(ProblemKind::Impossible, span, message);
    None
}
