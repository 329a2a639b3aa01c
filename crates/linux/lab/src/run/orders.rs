//! Conversion of orders to contracts whose packets a lab can send and distinguish.

use std::num::NonZeroU16;

use wayleave_contracts::{ContractRequest, Match, Protocol, WireOverhead};

use super::flows::{OfferedContract, SenderLoad};
use super::operator::DEFAULT_TENANT;
use crate::error::LabError;
use crate::plan::LabPlan;

/// The first port of contracts that have no match.
pub const FIRST_PORT: u16 = 20_000;

/// With a match by which its packets are known: packets of UDP to this port, unless it has one.
///
/// # Errors
/// If it is for another protocol: a lab sends nothing but UDP.
pub fn matched(mut order: ContractRequest, port: u16) -> Result<ContractRequest, LabError> {
    let wanted = order.matching.unwrap_or_default();
    if wanted.protocol.is_some_and(|protocol| protocol != Protocol::UDP) {
        let name = order.name();
        return Err(LabError::Controller(format!("contract {name} is not for UDP, the only protocol of lab traffic")));
    }
    let destination_port = wanted.destination_port.or_else(|| port.try_into().ok());
    order.matching = Some(Match { protocol: Some(Protocol::UDP), destination_port, ..wanted });
    Ok(order)
}

impl OfferedContract {
    /// Of an order of a latency contract that names its packets by a port of UDP ([`matched`]); `None` of another.
    pub fn of(plan: &LabPlan, order: &ContractRequest) -> Option<Self> {
        let terms = order.as_latency()?;
        let tenant = order.tenant().unwrap_or(DEFAULT_TENANT);
        let end = |name: &str| {
            let vm = format!("{tenant}:{name}");
            if plan.endpoint(&vm).is_some() { vm } else { format!("host:{name}") }
        };
        let matching = order.matching?;
        Some(Self {
            id: format!("{tenant}:{}", order.name()),
            from: end(order.from()),
            to: end(order.to()),
            demand: terms.demand(WireOverhead::Counted { tags: 6 }),
            deadline: terms.deadline,
            port: matching.destination_port?.get(),
            source_port: matching.source_port.map(NonZeroU16::get),
            sends: SenderLoad::default(),
        })
    }

    /// Replaces the load of its sender.
    #[must_use]
    pub fn sending(self, sends: SenderLoad) -> Self {
        Self { sends, ..self }
    }
}
