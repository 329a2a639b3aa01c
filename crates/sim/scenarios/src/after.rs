//! Flows that follow others: chains of tasks.

/// Flows that begin when one of another traffic is complete, at the endpoint that received it.
///
/// All flows that follow one are a task, which is over with the last of them. Beside its own time, from its beginning, a run counts the time since the first flow
/// of its chain began: a traffic that follows one that follows another has a chain of three tasks.
///
/// ```
/// use wayleave_scenarios::{DependentFlows, Onward};
/// // Storage: what a block server has received it sends to three chunk servers.
/// let replicas = DependentFlows { traffic: "writes".to_owned(), to: Onward::Drawn(3) };
/// assert_eq!(replicas.to.flows(), 3);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependentFlows {
    /// Name of the other traffic; it must come earlier in the list.
    pub traffic: String,
    /// Receivers of the next flows.
    pub to: Onward,
}

/// Receivers to which the receiver of a flow sends next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onward {
    /// Back to the sender.
    Sender,
    /// This number of the receivers, all different, drawn each time; at least 1.
    Drawn(u32),
}

impl Onward {
    /// Returns the number of flows that follow one.
    pub fn flows(self) -> u32 {
        match self {
            Self::Sender => 1,
            Self::Drawn(count) => count,
        }
    }
}
