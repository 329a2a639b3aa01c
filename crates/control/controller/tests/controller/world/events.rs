//! Events of the simulated world.

use wayleave_agent::machine::{AgentCall, AgentReply};
use wayleave_contracts::ContractRequest;
use wayleave_controller::{Command, CommandError, Effect, ElementName, ItemResult, Mode, Precondition, Reply};

/// Something that happens at its time.
#[derive(Clone)]
pub(crate) enum Event {
    /// A client thinks of something to ask.
    NextRequest,
    /// A client's request reaches the controller.
    Asked(Box<Wanted>),
    /// An agent's request reaches the controller.
    FromAgent { node: String, life: u64, request: AgentCall },
    /// The controller's answer reaches an agent.
    ToAgent { node: String, life: u64, number: u64, answer: AgentReply },
    /// The changes up to now are put on disk.
    Commit { life: u64 },
    /// Something fails.
    Failure,
    /// A host or switch has power again.
    Power { node: String },
    /// A link has no carrier at a node, or has it again.
    Carrier { node: String, link: String, is_down: bool },
}

/// A client's request.
#[derive(Clone)]
pub(crate) struct Wanted {
    /// Its key, if it may be repeated.
    pub(crate) key: Option<String>,
    pub(crate) what: What,
    /// Number of retries without an answer.
    pub(crate) retries: u64,
}

#[derive(Clone)]
pub(crate) enum What {
    Apply {
        orders: Vec<(ContractRequest, Precondition)>,
        mode: Mode,
        effect: Effect,
    },
    Other(Command),
    /// An operator declares an element down, if it seems so, or up.
    Declare {
        element: ElementName,
        down: bool,
    },
    /// The agent of a node reports its cables without carrier.
    See {
        node: String,
    },
    /// The agent of a host reports its rules of shares in force.
    Report {
        node: String,
    },
    /// A measurement of a host.
    Late {
        node: String,
        serial: u64,
    },
}

/// A client that waits until its change is on disk.
pub(crate) enum Waiting {
    Client { wanted: Box<Wanted>, done: Done, from_memory: bool },
    Agent { node: String, life: u64, number: u64, answer: Option<AgentReply> },
}

/// Result of a client's request.
#[derive(Clone, Debug)]
pub(crate) enum Done {
    Applied {
        orders: Vec<(ContractRequest, Precondition)>,
        mode: Mode,
        effect: Effect,
        applied: Vec<ItemResult>,
    },
    Deleted(Vec<ItemResult>),
    Other(Result<Reply, CommandError>),
    /// From memory: what was answered then.
    Again(String),
}

impl What {
    pub(crate) fn text(&self) -> String {
        let one = |(order, check): &(ContractRequest, Precondition)| {
            let Some(contract) = order.as_latency() else { return format!("{order:?} {check:?}") };
            let tenant = contract.tenant.as_deref().unwrap_or("default");
            let (rate, burst, deadline) = (contract.rate, contract.burst, contract.deadline);
            let mut text = format!(
                "{tenant}:{} {}->{} {rate} {burst} {deadline} {check:?}",
                contract.name,
                order.from(),
                order.to()
            );
            if let Some(starts) = order.starts {
                text += &format!(" from {starts}");
            }
            if let Some(ends) = order.ends {
                text += &format!(" to {ends}");
            }
            text
        };
        match self {
            Self::Apply { orders, mode, effect } => {
                let orders: Vec<String> = orders.iter().map(one).collect();
                format!("apply {mode:?} {effect:?}: {}", orders.join("; "))
            }
            Self::Other(command) => format!("{command:?}"),
            Self::Declare { element, down } => format!("{element} is declared {}", if *down { "down" } else { "up" }),
            Self::See { node } => format!("{node} says what it sees of its cables"),
            Self::Report { node } => format!("{node} says which rules of shares are in force"),
            Self::Late { node, serial } => format!("{node} measures that #{serial} is late"),
        }
    }
}

impl Done {
    pub(crate) fn short(&self) -> String {
        match self {
            Self::Applied { applied, .. } | Self::Deleted(applied) => {
                applied.iter().map(|one| format!("{} {:?}; ", one.id, one.result)).collect()
            }
            _ => self.text(),
        }
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Self::Applied { applied, .. } | Self::Deleted(applied) => format!("{applied:?}"),
            Self::Other(result) => format!("{result:?}"),
            Self::Again(text) => text.clone(),
        }
    }
}
