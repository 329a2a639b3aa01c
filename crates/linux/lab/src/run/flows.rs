//! From contracts to flows: the most that each contract lets its sender send.

use std::collections::BTreeMap;

use wayleave_contracts::{BucketDemand, ContractKind, LONGEST_WAIT, QueueLimit, WireOverhead};
use wayleave_units::{Bytes, Rate, Time};

use super::operator::ReportedContract;
use super::options::RunOptions;
use crate::error::LabError;
use crate::plan::{EndpointPlan, LabPlan};
use crate::traffic::{HEADERS, LabFlow, LabLoad, PAYLOAD};

/// Wire bytes around a frame with the longest stack of tags: no route has more, so no sender exceeds its bucket.
const OVERHEAD: WireOverhead = WireOverhead::Counted { tags: 6 };
/// Of a best-effort packet of a flood: a large one, behind which others wait longest.
const FLOOD_PAYLOAD: usize = 1458;
/// Ports at which floods are received; contracts have those of their match.
const FLOOD_PORT: u16 = 9;

/// A contract that was offered to the controller, and the port of UDP that its match names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedContract {
    /// `tenant:name`.
    pub id: String,
    /// The endpoint that sends: a VM, or `host:h1`.
    pub from: String,
    /// The endpoint that receives.
    pub to: String,
    /// The token bucket in wire bytes.
    pub demand: BucketDemand,
    /// Deadline of a packet.
    pub deadline: Time,
    /// The receiver's port.
    pub port: u16,
    /// The sender's port, if the match names one.
    pub source_port: Option<u16>,
    /// Load that its sender offers.
    pub sends: SenderLoad,
}

impl OfferedContract {
    /// As a controller would show it if nothing had been admitted.
    pub(super) fn as_best_effort(&self) -> ReportedContract {
        let (id, state) = (self.id.clone(), "best effort".to_owned());
        ReportedContract {
            id,
            serial: 0,
            kind: ContractKind::Latency,
            state,
            reason: None,
            message: None,
            bound: self.deadline,
            routes: Vec::new(),
        }
    }
}

/// Load of a contract's sender, within the contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SenderLoad {
    /// The most that the contract allows: the whole burst at instants that all contracts share, then the rate.
    #[default]
    Everything,
    /// Whole bursts, and nothing while the bucket fills.
    Trains,
    /// A packet at even distances.
    Requests {
        /// From one to the next.
        every: Time,
    },
    /// A packet for each that arrives of a contract further up in the list.
    Answers {
        /// `tenant:name` of that contract.
        to: String,
    },
}

/// Flows of a run, in order.
pub(super) struct Flows {
    pub(super) specs: Vec<LabFlow>,
    /// The contract of each; none for floods.
    pub(super) contracts: Vec<Option<ReportedContract>>,
    /// Contracts whose bucket is too small for a packet that carries its time of sending.
    pub(super) silent: Vec<String>,
    /// The contract whose sender ignores its bucket, and the longest that its packets wait for tokens on their host.
    waits: Option<(String, Time)>,
}

impl Flows {
    pub(super) fn plan(
        plan: &LabPlan,
        promised: &[OfferedContract],
        shown: &[ReportedContract],
        options: &RunOptions,
    ) -> Result<Self, LabError> {
        let shown: BTreeMap<&str, &ReportedContract> = shown.iter().map(|one| (one.id.as_str(), one)).collect();
        let mut flows = Self { specs: Vec::new(), contracts: Vec::new(), silent: Vec::new(), waits: None };
        for one in promised {
            // A refused contract sends nothing.
            let Some(&contract) = shown.get(one.id.as_str()) else { continue };
            let Some(payload) = payload(&one.demand) else {
                flows.silent.push(one.id.clone());
                continue;
            };
            let load = match &options.adversary {
                Some((name, rate)) if *name == one.id => {
                    let longest = QueueLimit::of(one.demand.rate, largest(&one.demand), LONGEST_WAIT).longest;
                    flows.waits = Some((name.clone(), longest));
                    LabLoad::Constant { rate: *rate }
                }
                _ => flows.load(one, options.period)?,
            };
            flows.specs.push(LabFlow {
                name: one.id.clone(),
                from: endpoint(plan, &one.id, &one.from)?,
                to: endpoint(plan, &one.id, &one.to)?,
                port: one.port,
                source_port: one.source_port,
                payload,
                overhead: OVERHEAD.per_frame().get(),
                load,
                bound: Some(contract.bound + flows.wait(&one.id)),
            });
            flows.contracts.push(Some(contract.clone()));
        }
        if let Some((name, _)) =
            options.adversary.as_ref().filter(|(name, _)| flows.specs.iter().all(|one| one.name != *name))
        {
            return Err(LabError::Controller(format!(
                "contract {name} was not admitted, so it cannot be the adversary"
            )));
        }
        flows.flood(plan, options.flood);
        Ok(flows)
    }

    /// The longest that packets of a contract wait for tokens on their host: its bound counts from then. Nothing where the sender conforms.
    pub(super) fn wait(&self, contract: &str) -> Time {
        self.waits.as_ref().filter(|(id, _)| id == contract).map_or(Time::ZERO, |&(_, longest)| longest)
    }

    /// Returns the load of a contract's sender.
    fn load(&self, one: &OfferedContract, period: Time) -> Result<LabLoad, LabError> {
        let BucketDemand { rate, burst, .. } = one.demand;
        Ok(match &one.sends {
            SenderLoad::Everything => LabLoad::Bursts { rate, burst, period },
            SenderLoad::Trains => LabLoad::Trains { rate, burst },
            SenderLoad::Requests { every } => LabLoad::Requests { every: *every },
            SenderLoad::Answers { to } => {
                let asked = self.specs.iter().position(|spec| spec.name == *to);
                let missing = || {
                    LabError::Controller(format!(
                        "contract {} is a reply to {to}, which was not admitted before it",
                        one.id
                    ))
                };
                LabLoad::Answers { to: asked.ok_or_else(missing)? }
            }
        })
    }

    /// Every host sends best effort to the host that is half of all hosts further.
    fn flood(&mut self, plan: &LabPlan, rate: Option<Rate>) {
        let Some(rate) = rate else { return };
        let hosts: Vec<&EndpointPlan> = plan.endpoints.iter().filter(|one| one.id.starts_with("host:")).collect();
        for (index, from) in hosts.iter().enumerate() {
            let to = hosts[(index + hosts.len() / 2) % hosts.len()];
            self.specs.push(LabFlow {
                name: format!("flood of {}", from.id),
                from: (*from).clone(),
                to: to.clone(),
                port: FLOOD_PORT,
                source_port: None,
                payload: FLOOD_PAYLOAD,
                overhead: OVERHEAD.per_frame().get(),
                load: LabLoad::Constant { rate },
                bound: None,
            });
            self.contracts.push(None);
        }
    }
}

/// Bytes behind the header of UDP, so that whole packets fill the bucket; `None` if not even the smallest packet fits.
fn payload(demand: &BucketDemand) -> Option<usize> {
    let around = HEADERS + OVERHEAD.per_frame().get();
    let largest = largest(demand);
    let packets = demand.burst.get().div_ceil(largest.get()).max(1);
    let payload = (demand.burst.get() / packets).checked_sub(around)?;
    usize::try_from(payload).ok().filter(|&payload| payload >= PAYLOAD)
}

/// Its largest frame, in bytes of the wire.
fn largest(demand: &BucketDemand) -> Bytes {
    demand.max_frame.unwrap_or(Bytes::new(1_500 + 14 + OVERHEAD.per_frame().get()))
}

fn endpoint(plan: &LabPlan, contract: &str, id: &str) -> Result<EndpointPlan, LabError> {
    let found = plan.endpoint(id).cloned();
    found.ok_or_else(|| {
        LabError::Controller(format!(
            "contract {contract} has endpoint {id}, which this lab does not have: create it with `wayleave lab up --endpoint`"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(burst: u64, max_frame: Option<u64>) -> BucketDemand {
        BucketDemand { rate: Rate::from_mbit(1), burst: Bytes::new(burst), max_frame: max_frame.map(Bytes::new) }
    }

    #[test]
    fn packets_fill_the_bucket_and_are_no_larger_than_they_may_be() {
        // Headers 42 B, 48 B around the frame.
        assert_eq!(payload(&demand(1562, None)), Some(1472));
        assert_eq!(payload(&demand(3124, None)), Some(1472));
        // Three packets of 1042 B.
        assert_eq!(payload(&demand(3126, None)), Some(1042 - 90));
        assert_eq!(payload(&demand(3000, Some(300))), Some(300 - 90));
        assert_eq!(payload(&demand(114, None)), Some(24));
        assert_eq!((payload(&demand(113, None)), payload(&demand(80, None))), (None, None));
    }
}
