//! What schemes without queues have given away, as JSON.

use serde::Serialize;
use wayleave_schemes::registry::Scheme;

use crate::context::Context;

/// What Loko has measured, allocated and given away.
#[derive(Serialize)]
pub struct ServicesShape<'a> {
    rate_bps: u64,
    processing_ns: u64,
    buffer_bytes: u64,
    allocated_rate_bps: u64,
    allocated_burst_bytes: u64,
    delay_ns: u64,
    in_use: Vec<UseShape<'a>>,
}

#[derive(Serialize)]
struct UseShape<'a> {
    switch: &'a str,
    /// Of a service a port.
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<&'a str>,
    rate_bps: u64,
    burst_bytes: u64,
    flows: u32,
}

impl<'a> ServicesShape<'a> {
    /// `None` for other schemes.
    pub fn of(context: &Context<'a>) -> Option<Self> {
        let Scheme::Loko(loko) = context.scheme else { return None };
        let (model, allocation, network) = (&loko.params().model, loko.allocation(), context.network);
        let used = loko.in_use_by_switch().map(|(switch, link, used)| UseShape {
            switch: &network.node(switch).name,
            link: link.map(|link| network.link(link).name.as_str()),
            rate_bps: used.rate,
            burst_bytes: u64::try_from(used.burst.bytes_rounded_up()).unwrap_or(u64::MAX),
            flows: used.flows,
        });
        Some(Self {
            rate_bps: model.rate.bits_per_second(),
            processing_ns: model.processing.as_nanos(),
            buffer_bytes: model.buffer.get(),
            allocated_rate_bps: allocation.rate.bits_per_second(),
            allocated_burst_bytes: allocation.burst.get(),
            delay_ns: allocation.delay.as_nanos(),
            in_use: used.collect(),
        })
    }
}

/// What QJump has given away of its epoch.
#[derive(Serialize)]
pub struct EpochShape {
    length_ns: u64,
    contention_ns: u64,
    epsilon_ns: u64,
    unit_bps: u64,
    shares: u64,
    shares_left: u64,
}

impl EpochShape {
    /// `None` for other schemes.
    pub fn of(context: &Context<'_>) -> Option<Self> {
        let Scheme::Qjump(qjump) = context.scheme else { return None };
        let epoch = qjump.epoch();
        Some(Self {
            length_ns: epoch.length().as_nanos(),
            contention_ns: epoch.contention().as_nanos(),
            epsilon_ns: epoch.epsilon().as_nanos(),
            unit_bps: epoch.unit().bits_per_second(),
            shares: qjump.shares(),
            shares_left: qjump.shares_left(),
        })
    }
}
