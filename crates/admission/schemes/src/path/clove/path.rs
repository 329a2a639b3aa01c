//! State of one path at a sender.

use wayleave_scheme_api::IntHop;
use wayleave_units::Time;

/// One path of those that are used.
#[derive(Clone, Debug)]
pub(super) struct KnownPath {
    /// In the driver's list.
    pub(super) number: u32,
    /// Only ratios count; 1 at first.
    pub(super) weight: f64,
    /// Time at which marks last took a part of the weight.
    pub(super) reduced_at: Option<Time>,
    /// The record from which utilisation is measured, by hop: what was sent, in bytes, and when that was.
    since: Vec<(u64, Time)>,
    /// Utilisation of the busiest link, and the time of its record.
    used: Option<(f64, Time)>,
}

impl KnownPath {
    /// Nothing yet.
    pub(super) fn new(number: u32) -> Self {
        Self { number, weight: 1.0, reduced_at: None, since: Vec::new(), used: None }
    }

    /// Returns the utilisation of its busiest link, from 0 to 1; 0 if the last record is older than `age`.
    pub(super) fn utilisation(&self, now: Time, age: Time) -> f64 {
        self.used.filter(|&(_, at)| now.saturating_sub(at) < age).map_or(0.0, |(used, _)| used)
    }

    /// Processes the records that ports wrote into a packet. The busiest link is computed if the previous record is
    /// at least `measurementInterval` old; one that is older than `recordExpiry` is ignored.
    pub(super) fn on_telemetry(&mut self, now: Time, hops: &[IntHop], interval: Time, age: Time) {
        let elapsed = match (self.since.first(), hops.first()) {
            (Some(&(_, since)), Some(hop)) if self.since.len() == hops.len() => hop.at.saturating_sub(since),
            _ => age,
        };
        if elapsed < interval {
            return;
        }
        if elapsed < age {
            let used = self.since.iter().zip(hops).map(|(&since, hop)| used_since(since, hop));
            self.used = Some((used.fold(0.0, f64::max), now));
        }
        self.since.clear();
        self.since.extend(hops.iter().map(|hop| (hop.sent.get(), hop.at)));
    }
}

/// The part of a link that was used between two records, at most 1.
fn used_since((sent, at): (u64, Time), hop: &IntHop) -> f64 {
    let could = hop.rate.bits_per_second() as f64 * hop.at.saturating_sub(at).as_nanos() as f64 / 8e9;
    let did = hop.sent.get().saturating_sub(sent) as f64;
    if could > 0.0 { (did / could).min(1.0) } else { 0.0 }
}
