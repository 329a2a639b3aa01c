//! Delays of servers on cycles: each depends on the others, and a vector that is consistent with itself is a bound.
//!
//! Let F(D) be the delays that follow from delays D of all servers of the cycles. Source of the method: Thomas, Le
//! Boudec and Mifdaoui, RTSS 2019 (FP-TFA), after the stopped-time argument of Cruz (1991; Le Boudec and Thiran,
//! section 6.3.2).
//!
//! Claim: a vector x with F(x) < x in every component bounds all delays. Proof: stop every source at some time. Then
//! little data exists, all delays are finite, and the largest of them, b, satisfy b <= F(b). F rises, and it is
//! concave: arrival curves are concave in time and delays together, and the inverse of a convex service curve is
//! concave and rises. Suppose b is not below x. Take the largest s < 1 with s b <= x. With m > 0 the smallest
//! component of x - F(x), x - m >= F(x) >= F(s b) >= s F(b) + (1 - s) F(0) >= s b: s could have been larger. So b <=
//! x, for any time at which the sources stop.
//!
//! So the search for x needs no proof. The search iterates from zero, rounded up to a grid (the numerators of exact
//! iterates would double with every round), with occasional extrapolations of the geometric series. Once F(x) < x, x
//! falls with every further round and stays a bound.
//!
//! Where there is no bound, the search need not go through all of its rounds. F is concave, so F(x + v) >= F(x) +
//! G(v) for the slope G that F has far away, where no bucket and no line changes any more. Suppose G(v) >= v for some
//! v > 0, every component of F(0) is positive, and F(x) <= x. Take the largest s with s v <= x: x = s v + y, y >= 0,
//! and some component of y is 0. There F(x) >= F(y) + s G(v) >= F(0) + s v > s v = x. So there is no such x. The
//! directions in which the iteration rises are tried as v. And iterates are below every bound, but for the grid: once
//! they are beyond every representable time, nothing is lost by giving up.

use num_bigint::BigInt;
use num_traits::{One, Signed};
use wayleave_units::Time;

use super::delay::delay_of;
use super::propagation::Propagation;
use super::{BoundError, PortNetwork};
use crate::Rational;
use crate::rational::whole;

/// Points of the grid in a ns.
const GRID_PER_NS: i128 = 1 << 20;
/// Rounds upwards before giving up.
const ROUNDS: usize = 400;
/// Rounds downwards, which only tighten.
const ROUNDS_DOWN: usize = 200;
/// Number of rounds between extrapolations of the limit from three iterates.
const GUESS_EVERY: usize = 4;
/// So far away, as a power of two, is far away: knees of curves are bursts divided by rates.
const FAR: u32 = 100;

/// Sets the delays of the servers of `core`, or all of them to the reason why there are none.
pub(crate) fn resolve(state: &mut Propagation<'_>, core: &[usize]) {
    if let Err(reason) = overload(state.network, core).and_then(|()| search(state, core)) {
        core.iter().for_each(|&server| state.delays[server] = Err(reason.clone()));
    }
}

/// Returns an error for an overloaded server: it has no bound for any bursts, which is found without iteration.
fn overload(network: &PortNetwork, core: &[usize]) -> Result<(), BoundError> {
    for &server in core {
        let rates = network.visitors(server).iter().map(|&flow| network.flows()[flow].arrival.long_term_rate());
        if rates.sum::<Rational>() > network.servers()[server].service.ultimate_rate() {
            return Err(BoundError::Overload { server });
        }
    }
    Ok(())
}

fn search(state: &mut Propagation<'_>, core: &[usize]) -> Result<(), BoundError> {
    let mut history: Vec<Vec<Rational>> = vec![vec![whole(0); core.len()]];
    for round in 1..=ROUNDS {
        let last = history[history.len() - 1].clone();
        let next = step(state, core, &last)?;
        if next == last {
            return Ok(());
        }
        history.push(next);
        if round % GUESS_EVERY == 0
            && let Some(bound) = try_guesses(state, core, &history)?
        {
            set(state, core, &bound);
            return Ok(());
        }
        if round % GUESS_EVERY == 0 && has_no_end(state, core, &history)? {
            return Err(BoundError::NoFixedPoint { server: core[0], rounds: round });
        }
        if history.len() > GUESS_EVERY {
            history.remove(0);
        }
    }
    Err(BoundError::NoFixedPoint { server: core[0], rounds: ROUNDS })
}

/// F(x), moved to the first point of the grid that is above it in every component. A point that this maps to itself, or
/// downwards, is above its F, as the proof wants it.
fn step(state: &mut Propagation<'_>, core: &[usize], delays: &[Rational]) -> Result<Vec<Rational>, BoundError> {
    set(state, core, delays);
    core.iter().map(|&server| delay_of(state, server).map(|delay| above(&delay))).collect()
}

fn set(state: &mut Propagation<'_>, core: &[usize], delays: &[Rational]) {
    for (&server, delay) in core.iter().zip(delays) {
        state.delays[server] = Ok(delay.clone());
    }
}

fn above(delay: &Rational) -> Rational {
    let point = (delay * whole(GRID_PER_NS)).floor().to_integer() + BigInt::one();
    Rational::new(point, BigInt::from(GRID_PER_NS))
}

/// A bound near the end of the geometric series through the last iterates, if it is one.
fn try_guesses(
    state: &mut Propagation<'_>,
    core: &[usize],
    history: &[Vec<Rational>],
) -> Result<Option<Vec<Rational>>, BoundError> {
    let (Some(last), Some(left)) = (history.last(), left_to_rise(history)) else { return Ok(None) };
    // The nearer it is, the fewer rounds are left to go down.
    for part in [1 << 20, 1 << 10, 1] {
        let more = whole(1) + Rational::new(BigInt::one(), BigInt::from(part));
        let guess = last.iter().map(|delay| above(&(delay + &left * &more))).collect();
        if let Some(bound) = descend(state, core, guess)? {
            return Ok(Some(bound));
        }
    }
    Ok(None)
}

/// Returns `true` if it is certain that no vector is consistent with itself, or that it would exceed every
/// representable time.
fn has_no_end(state: &mut Propagation<'_>, core: &[usize], history: &[Vec<Rational>]) -> Result<bool, BoundError> {
    let [.., before, last] = history else { return Ok(false) };
    if last.iter().any(|delay| *delay > whole(i128::from(Time::MAX.as_nanos()))) {
        return Ok(true);
    }
    let rise: Vec<Rational> = last.iter().zip(before).map(|(last, before)| last - before).collect();
    Ok(rises_for_ever(state, core, &rise)? || rises_for_ever(state, core, last)?)
}

/// Returns `true` if F far away rises by at least as much as its argument, in a direction.
fn rises_for_ever(state: &mut Propagation<'_>, core: &[usize], direction: &[Rational]) -> Result<bool, BoundError> {
    if !direction.iter().all(Signed::is_positive) {
        return Ok(false);
    }
    let far = Rational::from_integer(BigInt::one() << FAR);
    let mut at = |times: i128| {
        let delays: Vec<Rational> = direction.iter().map(|part| part * &far * whole(times)).collect();
        set(state, core, &delays);
        core.iter().map(|&server| delay_of(state, server)).collect::<Result<Vec<_>, _>>()
    };
    let (once, twice) = (at(1)?, at(2)?);
    let rises = once.iter().zip(&twice).zip(direction);
    if !rises.into_iter().all(|((once, twice), part)| twice - once >= part * &far) {
        return Ok(false);
    }
    let start = at(0)?;
    Ok(start.iter().all(Signed::is_positive))
}

/// Returns the distance by which a geometric series through the last three iterates rises beyond them, in its fastest
/// component. Components without change may follow. `None` if the series does not converge.
fn left_to_rise(history: &[Vec<Rational>]) -> Option<Rational> {
    let [.., first, second, third] = history else { return None };
    let rise = |from: &[Rational], to: &[Rational]| to.iter().zip(from).map(|(to, from)| to - from).collect::<Vec<_>>();
    let (before, now) = (rise(first, second), rise(second, third));
    let ratios = now.iter().zip(&before).filter(|(_, before)| before.is_positive()).map(|(now, before)| now / before);
    let ratio = ratios.max()?;
    let largest = now.iter().max()?;
    if ratio >= whole(1) {
        return None;
    }
    Some(largest * &ratio / (whole(1) - &ratio))
}

/// The smallest vector that a few rounds from `start` downwards reach; `None` if `start` is not above its F.
fn descend(
    state: &mut Propagation<'_>,
    core: &[usize],
    start: Vec<Rational>,
) -> Result<Option<Vec<Rational>>, BoundError> {
    let mut bound = start;
    for round in 0..ROUNDS_DOWN {
        let next = step(state, core, &bound)?;
        if next.iter().zip(&bound).any(|(next, bound)| next > bound) {
            debug_assert!(round == 0, "F rises, so that a bound stays one");
            return Ok(None);
        }
        if next == bound {
            break;
        }
        bound = next;
    }
    Ok(Some(bound))
}
