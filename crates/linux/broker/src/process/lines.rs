//! Lines of JSON between the broker of a machine and any kind of data plane there. All schemes use these lines.
//!
//! ```json
//! {"at_ns": 1000000000, "services": {"dfs": {"sent": 125000000, "received": 0}}, "limits": {}}
//! {"limits": {"dfs": {"transmit_bits_per_second": 500000000}}, "machines": 4, "leader": "h1"}
//! ```
//!
//! The first is read, once for each interval; the second is the answer. Counters are bytes since an arbitrary time; a
//! service without a limit is not named. The first line sets the initial counters and has no answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wayleave_scheme_api::ClassId;
use wayleave_schemes::services::Services;
use wayleave_schemes::usage_report::{Limited, MeteredUsage, ServiceUsageReport, UsageReport};
use wayleave_units::{Bytes, Rate, Time};

/// Name of the traffic that belongs to no service.
pub(super) const OTHER: &str = "other";

/// Traffic of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportLine {
    /// Time of the report, by a monotonic clock of the machine. Default: the time at which the line arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ns: Option<u64>,
    /// By service; `other` belongs to none. A service that is not named counts as before.
    pub services: BTreeMap<String, ServiceCounters>,
    /// Limits in force. Default: those of the last answer. A restarted broker continues from them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<BTreeMap<String, ServiceLimit>>,
}

/// Bytes of a service since any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceCounters {
    /// Sent.
    #[serde(default)]
    pub sent: u64,
    /// Received.
    #[serde(default)]
    pub received: u64,
    /// Part of `sent` that left the rack. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_outside: Option<u64>,
    /// Part of `received` that came from outside the rack. Default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received_outside: Option<u64>,
    /// Intervals in which something was received, as far as the data plane meters it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub metered: u64,
    /// Of them, those in which each sender was held below what the service may receive.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The limit of a service on all that it sends or receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceLimit {
    /// Limit on transmitted traffic. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmit_bits_per_second: Option<u64>,
    /// Limit on received traffic. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_bits_per_second: Option<u64>,
}

/// Limits of services until the next line. A data plane that receives no line for the time-out lifts all limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitsLine {
    /// By service; a service that is not named is not limited.
    pub limits: BTreeMap<String, ServiceLimit>,
    /// Number of machines of the rack that count.
    pub machines: usize,
    /// The machine whose broker speaks for the rack.
    pub leader: Option<String>,
}

/// Reason for which a line is not a report.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum LineError {
    /// It is no JSON, or other JSON.
    #[error("malformed report: {0}")]
    Json(String),
    /// No policy names this service.
    #[error("no policy names the service \"{0}\": use \"{OTHER}\" for traffic of other services")]
    Service(String),
}

impl ReportLine {
    /// A line as it came.
    ///
    /// # Errors
    /// [`LineError::Json`].
    pub fn parse(line: &str) -> Result<Self, LineError> {
        serde_json::from_str(line).map_err(|error| LineError::Json(error.to_string()))
    }

    /// Converts the line to a report.
    ///
    /// # Errors
    /// [`LineError::Service`].
    pub fn read(&self, services: &Services, now: Time) -> Result<UsageReport, LineError> {
        let line = self;
        let usage = line.services.iter().map(|(name, counters)| {
            let total = [counters.sent, counters.received].map(Bytes::new);
            let outside = [counters.sent_outside, counters.received_outside];
            let uplink =
                [0, 1].map(|side| outside[side].map_or(total[side], |outside| Bytes::new(outside).min(total[side])));
            let metered = MeteredUsage { intervals: counters.metered, held: counters.held.min(counters.metered) };
            Ok(ServiceUsageReport { class: class(services, name)?, total, uplink, metered })
        });
        let limits = line.limits.as_ref().map(|limits| {
            let limits = limits.iter().map(|(name, limit)| {
                let limit = [limit.transmit_bits_per_second, limit.receive_bits_per_second];
                Ok(Limited {
                    class: class(services, name)?,
                    limit: limit.map(|rate| rate.map(Rate::from_bits_per_second)),
                })
            });
            limits.collect::<Result<_, LineError>>()
        });
        Ok(UsageReport {
            at: line.at_ns.map_or(now, Time::from_nanos),
            services: usage.collect::<Result<_, LineError>>()?,
            limits: limits.transpose()?,
        })
    }
}

impl LimitsLine {
    /// The line of all limits of a machine.
    pub(super) fn of(limits: &[Limited], services: &Services, machines: usize, leader: Option<String>) -> Self {
        let limits = limits.iter().map(|limited| {
            let [transmit, receive] = limited.limit.map(|rate| rate.map(Rate::bits_per_second));
            let limit = ServiceLimit { transmit_bits_per_second: transmit, receive_bits_per_second: receive };
            (services.name(limited.class).unwrap_or(OTHER).to_owned(), limit)
        });
        Self { limits: limits.collect(), machines, leader }
    }
}

fn class(services: &Services, name: &str) -> Result<ClassId, LineError> {
    let known = if name == OTHER { services.class(name).or(Some(Services::OTHER)) } else { services.class(name) };
    known.ok_or_else(|| LineError::Service(name.to_owned()))
}
