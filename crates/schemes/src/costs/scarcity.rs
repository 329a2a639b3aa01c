//! The convex cost of scarce resources: what a flow uses up of queues that others will need.
//!
//! Fast queues are few, and most flows do not need them. A flow that takes the fastest route with room, as with the
//! delay as cost, fills them until a flow with a tight deadline finds none: that is how most fillings end. So using a
//! resource costs `phi(u') - phi(u)`, where `u` is the share of it that is used up before and `u'` after, and `phi` is
//! so convex that the last tenth of a queue costs more than all of an empty one. The resources that a flow touches on a
//! link are the line's rate, the queue that it enters, and every lower queue, which it delays.
//!
//! A queue's `u` mixes its utilisation with the one that it would have if no line bounded its inputs: shaping hides a burst
//! that comes over one line until a second input appears, and then it is too late to have spread the bursts.
//!
//! Not from a publication. The form follows exponential-cost admission for virtual circuits (Awerbuch, Azar, Plotkin,
//! "Throughput-competitive on-line routing", FOCS 1993), which prices an edge exponentially in its utilisation.

use wayleave_ledger::{Gauge, Ledger, Utilisation};
use wayleave_topology::LinkId;

/// How a resource's price rises with its use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scarcity {
    /// `phi(u) = exp(steepness u)` up to `u` = 1, and its tangent beyond.
    pub steepness: f64,
    /// The weight of the utilisation without line shaping, from 0 to 1.
    pub dormant: f64,
    /// From this share of its host link's rate on a flow takes the fastest queues along its way whatever they cost: its
    /// burst grows so much in slow ones that it would be scarce queues further on that pay for them.
    pub large: f64,
}

impl Default for Scarcity {
    /// Measured on the mixes of Chameleon's Table 2 (docs/performance.md): between 12 and 24 the steepness, and between
    /// 0.1 and 0.6 the dormant part, make differences below those between seeds.
    fn default() -> Self {
        Self { steepness: 24.0, dormant: 0.3, large: 0.06 }
    }
}

/// `phi` of a resource that nobody uses.
const EMPTY: f64 = 1.0;

/// What resources cost, kept until they change.
#[derive(Clone, Debug, Default)]
pub struct Prices {
    scarcity: Scarcity,
    links: Vec<LinkPrice>,
    /// `phi` of the utilisation of each queue of all links, one after another; 1 if it is empty.
    queues: Vec<f64>,
}

/// What is kept of a link.
#[derive(Clone, Copy, Debug)]
struct LinkPrice {
    /// The changes of the link at that time, and one: zero for never.
    seen: u64,
    first: u32,
    /// The share of its rate that is reserved, `phi` of it, and what a bit/s more adds to the share.
    used: f64,
    reserved: f64,
    per_rate: f64,
    /// The sum over its queues.
    pressure: f64,
}

impl Prices {
    /// For a ledger's network.
    pub fn new(ledger: &Ledger, scarcity: Scarcity) -> Self {
        let mut first = 0;
        let links = ledger.network().links().map(|(link, of)| {
            let per_rate = 1.0 / of.rate.bits_per_second() as f64;
            let price = LinkPrice { seen: 0, first, used: 0.0, reserved: EMPTY, per_rate, pressure: 0.0 };
            first += ledger.gauges(link).len() as u32;
            price
        });
        let links = links.collect();
        Self { scarcity, links, queues: vec![0.0; first as usize] }
    }

    /// What sets them.
    pub fn scarcity(&self) -> Scarcity {
        self.scarcity
    }

    /// The prices of a link, brought up to date.
    pub fn of<'a>(&'a mut self, ledger: &'a Ledger, link: LinkId) -> Tariff<'a> {
        let gauges = ledger.gauges(link);
        let price = &mut self.links[link.index()];
        let queues = &mut self.queues[price.first as usize..][..gauges.len()];
        let seen = u64::from(ledger.changes(link)) + 1;
        if price.seen != seen {
            price.seen = seen;
            price.used = ledger.reserved(link).bits_per_second() as f64 * price.per_rate;
            price.reserved = self.scarcity.phi(price.used);
            for (pressure, gauge) in queues.iter_mut().zip(gauges) {
                *pressure = if gauge.is_used() { self.scarcity.price(gauge.utilisation()) } else { EMPTY };
            }
            price.pressure = queues.iter().sum();
        }
        Tariff { scarcity: self.scarcity, link: price, gauges, pressures: queues }
    }
}

/// What one link costs.
#[derive(Clone, Copy, Debug)]
pub struct Tariff<'a> {
    scarcity: Scarcity,
    link: &'a LinkPrice,
    gauges: &'a [Gauge],
    pressures: &'a [f64],
}

impl Tariff<'_> {
    /// What a flow's rate (bit/s) costs on the link, whichever queue it takes.
    pub fn of_rate(&self, rate: f64) -> f64 {
        let more = rate * self.link.per_rate;
        let small = self.scarcity.steepness * more;
        if small < 0.02 && self.link.used + more <= 1.0 {
            // The first terms of the same, without an exponential.
            return self.link.reserved * small * (1.0 + 0.5 * small);
        }
        self.scarcity.phi(self.link.used + more) - self.link.reserved
    }

    /// What it costs to enter a queue with a rate and a burst (nanobits): there and in the queues below.
    pub fn of_queue(&self, queue: u8, rate: f64, burst: f64) -> f64 {
        let at = usize::from(queue);
        let mut sum = self.scarcity.price(self.gauges[at].with_here(rate, burst)) - self.pressures[at];
        for (gauge, pressure) in self.gauges[at + 1..].iter().zip(&self.pressures[at + 1..]) {
            if gauge.is_used() {
                sum += self.scarcity.price(gauge.with_above(rate, burst)) - pressure;
            }
        }
        sum.max(0.0)
    }

    /// How much of all its queues is used up, as a price.
    pub fn pressure(&self) -> f64 {
        self.link.pressure
    }
}

impl Scarcity {
    fn price(&self, utilisation: Utilisation) -> f64 {
        self.phi((1.0 - self.dormant) * utilisation.now + self.dormant * utilisation.dormant)
    }

    fn phi(&self, used: f64) -> f64 {
        let binary = self.steepness * std::f64::consts::LOG2_E;
        if used <= 1.0 { exp2(binary * used) } else { exp2(binary) * (1.0 + self.steepness * (used - 1.0)) }
    }
}

/// A cost as a whole number of grains; `phi` of an empty resource is 1.
pub fn whole(cost: f64) -> u64 {
    const GRAIN: f64 = 1.0 / 1_048_576.0;
    // A sum of so many hops stays below 2^64.
    const MOST: f64 = (1u64 << 56) as f64;
    (cost / GRAIN).clamp(0.0, MOST) as u64
}

/// `2^x` for `x` from 0 to 1000, to a few parts in 10^8, by the four operations alone: the same on every machine.
fn exp2(x: f64) -> f64 {
    let whole = x.clamp(0.0, 1000.0) as u32;
    let t = (x - f64::from(whole)).clamp(0.0, 1.0) * std::f64::consts::LN_2;
    // The series of e^t; the first term left out is below 0.7^9 / 9!.
    let series = [1.0 / 40_320.0, 1.0 / 5_040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0];
    let fraction = 1.0 + t * series.iter().fold(0.0, |sum, term| sum * t + term);
    f64::from_bits(u64::from(1023 + whole) << 52) * fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_near_enough() {
        for step in 0..4_000 {
            let x = f64::from(step) / 100.0;
            let error = (exp2(x) / x.exp2() - 1.0).abs();
            assert!(error < 1e-7, "2^{x} is off by {error}");
        }
    }
}
