//! Convex cost of scarce resources: the amount that a flow uses up of queues that others will need.
//!
//! Fast queues are few, and most flows do not need them. With the delay as cost, a flow takes the fastest route with
//! room. Such flows fill the fast queues until a flow with a tight deadline finds none. Most filling experiments end
//! like this. Therefore the use of a resource costs `phi(u') - phi(u)`, where `u` is its used share before and `u'`
//! after. `phi` is so convex that the last tenth of a queue costs more than all of an empty one. The resources that a
//! flow touches on a link are the line's rate, the queue that it enters, and every lower queue, which it delays.
//!
//! A queue's `u` mixes its utilisation with the one that it would have if no line bounded its inputs. Shaping hides a
//! burst that arrives over one line until a second input appears, and then it is too late to have spread the bursts.
//!
//! Not from a publication. The form follows exponential-cost admission for virtual circuits (Awerbuch, Azar, Plotkin,
//! "Throughput-competitive on-line routing", FOCS 1993), which prices an edge exponentially in its utilisation.

use wayleave_ledger::{Gauge, Gauges, Ledger, TOGETHER, Utilisations};
use wayleave_topology::{LinkId, MAX_QUEUES};

/// Parameters of the price of a resource as a function of its use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scarcity {
    /// `phi(u) = exp(steepness u)` up to `u` = 1, and its tangent beyond.
    pub steepness: f64,
    /// The weight of the utilisation without line shaping, from 0 to 1.
    pub dormant: f64,
    /// From this share of its host link's rate on, a flow takes the fastest queues along its path at any cost. In
    /// slow queues its burst would grow and use up scarce queues further on.
    pub large: f64,
}

impl Default for Scarcity {
    /// Measured on the mixes of Chameleon's Table 2 (docs/operate/performance.md): between 12 and 24 the steepness, and between
    /// 0.1 and 0.6 the dormant part, make differences below those between seeds.
    fn default() -> Self {
        Self { steepness: 24.0, dormant: 0.3, large: 0.06 }
    }
}

/// `phi` of an unused resource.
const EMPTY: f64 = 1.0;

/// Cost of entering each queue of a link, in grains; further queues are 0.
pub type QueueCosts = [u64; MAX_QUEUES];

/// Prices of resources, cached until they change.
#[derive(Clone, Debug)]
pub struct Prices {
    scarcity: Scarcity,
    curve: Curve,
    links: Vec<LinkPrice>,
    /// `phi` of the utilisation of each queue, for all links in order, grouped as in a gauge; 1 if a queue is empty
    /// or missing.
    queues: Vec<[f64; TOGETHER]>,
}

/// Cached values of a link.
#[derive(Clone, Copy, Debug)]
struct LinkPrice {
    /// The changes of the link at that time, and one: zero for never.
    seen: u64,
    first: u32,
    /// Reserved share of the link's rate, `phi` of that share, and the increase of the share per bit/s.
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
            first += ledger.gauges(link).count().div_ceil(TOGETHER) as u32;
            price
        });
        let links = links.collect();
        Self { scarcity, curve: Curve::new(scarcity), links, queues: vec![[EMPTY; TOGETHER]; first as usize] }
    }

    /// Returns the parameters of the prices.
    pub fn scarcity(&self) -> Scarcity {
        self.scarcity
    }

    /// Returns a measure of a link's load: the cost of a flow's rate (bit/s) there in any queue, plus the used share
    /// of all its queues.
    #[inline]
    pub fn of_link(&mut self, ledger: &Ledger, link: LinkId, rate: f64) -> f64 {
        self.refresh(ledger, link);
        let price = &self.links[link.index()];
        self.curve.of_rate(price, rate) + price.pressure
    }

    /// Returns the cost of entering each of a link's queues with a rate (bit/s) and a burst (nanobits).
    pub fn of_queues(&mut self, ledger: &Ledger, link: LinkId, rate: f64, burst: f64) -> QueueCosts {
        self.refresh(ledger, link);
        let pressures = &self.queues[self.links[link.index()].first as usize..];
        let mut costs = QueueCosts::default();
        match ledger.gauges(link) {
            Gauges::One(gauge) => {
                let [here] = self.curve.prices(&gauge.with_flow(rate, burst));
                costs[0] = whole((here - pressures[0][0]).max(0.0));
            }
            Gauges::Many([gauge], _) => {
                let (here, above) = self.curve.added(gauge, &pressures[0], rate, burst);
                costs[..TOGETHER].copy_from_slice(&with_lower(&here, &above));
            }
            Gauges::Many(gauges, _) => {
                let (mut here, mut above) = ([0.0; MAX_QUEUES], [0.0; MAX_QUEUES]);
                let places = here.as_chunks_mut().0.iter_mut().zip(above.as_chunks_mut().0);
                for ((gauge, pressures), (here, above)) in gauges.iter().zip(pressures).zip(places) {
                    (*here, *above) = self.curve.added(gauge, pressures, rate, burst);
                }
                costs = with_lower(&here, &above);
            }
        }
        costs
    }

    /// Brings what is kept of a link up to date.
    #[inline]
    pub fn refresh(&mut self, ledger: &Ledger, link: LinkId) {
        if self.links[link.index()].seen != u64::from(ledger.changes(link)) + 1 {
            self.work_out(ledger, link);
        }
    }

    #[inline(never)]
    fn work_out(&mut self, ledger: &Ledger, link: LinkId) {
        let gauges = ledger.gauges(link);
        let price = &mut self.links[link.index()];
        let queues = &mut self.queues[price.first as usize..][..gauges.count().div_ceil(TOGETHER)];
        price.seen = u64::from(ledger.changes(link)) + 1;
        price.used = ledger.reserved(link).bits_per_second() as f64 * price.per_rate;
        price.reserved = self.curve.phi(price.used);
        match gauges {
            Gauges::One(gauge) => queues[0][0] = self.curve.pressures(gauge)[0],
            Gauges::Many(gauges, _) => {
                for (gauge, queues) in gauges.iter().zip(&mut *queues) {
                    *queues = self.curve.pressures(gauge);
                }
            }
        }
        price.pressure = queues.as_flattened()[..gauges.count()].iter().sum();
    }
}

/// The cost of entering each queue, in grains: what a flow adds to the price there, and to those of lower queues.
#[inline]
fn with_lower<const N: usize>(here: &[f64; N], above: &[f64; N]) -> [u64; N] {
    let mut costs = [0; N];
    for queue in 0..N {
        let mut sum = here[queue];
        for lower in above.iter().skip(queue + 1) {
            sum += lower;
        }
        costs[queue] = whole(sum.max(0.0));
    }
    costs
}

/// [`Scarcity`] as it is calculated with.
#[derive(Clone, Copy, Debug)]
struct Curve {
    steepness: f64,
    dormant: f64,
    /// The steepness to the base of 2, and `phi(1)`.
    binary: f64,
    top: f64,
}

impl Curve {
    fn new(scarcity: Scarcity) -> Self {
        let Scarcity { steepness, dormant, .. } = scarcity;
        let binary = steepness * std::f64::consts::LOG2_E;
        Self { steepness, dormant, binary, top: exp2(binary) }
    }

    #[inline]
    fn of_rate(&self, link: &LinkPrice, rate: f64) -> f64 {
        let more = rate * link.per_rate;
        let small = self.steepness * more;
        if small < 0.02 && link.used + more <= 1.0 {
            // The first terms of the same function, without an exponential.
            return link.reserved * small * (1.0 + 0.5 * small);
        }
        self.of_much_rate(link, more)
    }

    #[cold]
    #[inline(never)]
    fn of_much_rate(&self, link: &LinkPrice, more: f64) -> f64 {
        self.phi(link.used + more) - link.reserved
    }

    /// The prices of queues as they are.
    fn pressures<const N: usize>(&self, gauge: &Gauge<N>) -> [f64; N] {
        let mut prices = self.prices(&gauge.with_flow(0.0, 0.0));
        for (price, is_used) in prices.iter_mut().zip(gauge.is_used()) {
            *price = if *is_used { *price } else { EMPTY };
        }
        prices
    }

    /// Returns the amounts that a flow adds to the price of each queue: if it enters that queue, and if it enters a
    /// higher one. The latter is zero if the queue is empty.
    #[inline]
    fn added<const N: usize>(
        &self,
        gauge: &Gauge<N>,
        pressures: &[f64; N],
        rate: f64,
        burst: f64,
    ) -> ([f64; N], [f64; N]) {
        let mut here = self.prices(&gauge.with_flow(rate, burst));
        let mut above = self.prices(&gauge.with_above(rate, burst));
        for at in 0..N {
            here[at] -= pressures[at];
            above[at] = if gauge.is_used()[at] { above[at] - pressures[at] } else { 0.0 };
        }
        (here, above)
    }

    /// The price of several queues.
    #[inline]
    #[allow(clippy::needless_range_loop, reason = "the same loop as in gauges, which the compiler turns into vectors")]
    fn prices<const N: usize>(&self, utilisations: &Utilisations<N>) -> [f64; N] {
        let mut prices = [0.0; N];
        for at in 0..N {
            let used = (1.0 - self.dormant) * utilisations.now[at] + self.dormant * utilisations.dormant[at];
            prices[at] = self.phi(used);
        }
        prices
    }

    /// Both branches are computed, so that several values can be computed at once.
    #[inline]
    fn phi(&self, used: f64) -> f64 {
        let (below, beyond) = (exp2(self.binary * used), self.top * (1.0 + self.steepness * (used - 1.0)));
        if used <= 1.0 { below } else { beyond }
    }
}

/// A cost as a whole number of grains; `phi` of an empty resource is 1.
fn whole(cost: f64) -> u64 {
    const GRAIN: f64 = 1.0 / 1_048_576.0;
    // A sum over a route's hops stays below 2^64.
    const MAX: f64 = (1u64 << 56) as f64;
    (cost / GRAIN).clamp(0.0, MAX) as i64 as u64
}

/// Computes `2^x` for `x` from 0 to 1000, to a few parts in 10^8. It uses only the four operations, so every machine
/// returns the same value. It has no branch, so that several values can be computed at once.
#[inline]
fn exp2(x: f64) -> f64 {
    // From here on numbers are whole, so a sum with it is rounded to the nearest whole number, which its low bits hold.
    const WHOLE: f64 = (1u64 << 52) as f64;
    let limited = x.clamp(0.0, 1000.0);
    let nearest = (limited + WHOLE) - WHOLE;
    let whole = if nearest > limited { nearest - 1.0 } else { nearest };
    let t = (x - whole).clamp(0.0, 1.0) * std::f64::consts::LN_2;
    // The series of e^t; the first term left out is below 0.7^9 / 9!.
    let series = [1.0 / 5_040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0];
    let fraction = 1.0 + t * series.iter().fold(1.0 / 40_320.0, |sum, term| sum * t + term);
    let exponent = (whole + WHOLE).to_bits().wrapping_sub(WHOLE.to_bits());
    f64::from_bits(exponent.wrapping_add(1023) << 52) * fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_powers_are_exact_and_their_neighbours_are_continuous() {
        for whole in 0..145 {
            let x = f64::from(whole);
            assert_eq!(exp2(x).to_bits(), x.exp2().to_bits(), "2^{x}");
            let below = exp2(x.next_down().max(0.0)) / x.exp2();
            assert!((below - 1.0).abs() < 1e-7, "just below 2^{x}: {below}");
        }
    }

    #[test]
    fn powers_of_two_are_accurate_enough() {
        for step in 0..4_000 {
            let x = f64::from(step) / 100.0;
            let error = (exp2(x) / x.exp2() - 1.0).abs();
            assert!(error < 1e-7, "2^{x} is off by {error}");
        }
    }
}
