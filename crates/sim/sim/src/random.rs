//! Random numbers: one generator for each purpose, seeded by the run's seed, so that more of one thing changes no other.

use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;

use crate::clock::Instant;

/// The generator of a purpose.
pub(crate) fn generator(seed: u64, purpose: u64) -> ChaCha8Rng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&purpose.to_le_bytes());
    ChaCha8Rng::from_seed(bytes)
}

/// Uniform in [0, 1).
pub(crate) fn unit(rng: &mut impl rand::Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Exponential with this mean, in whole ps.
pub(crate) fn exponential(rng: &mut impl rand::Rng, mean: f64) -> Instant {
    (-(1.0 - unit(rng)).ln() * mean) as Instant
}

/// Uniform from zero up to a bound, without it.
pub(crate) fn uniform(rng: &mut impl rand::Rng, bound: Instant) -> Instant {
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as Instant
}

/// Below `bound`, which must not be zero; the bias is below 2^-32 for bounds below 2^32.
pub(crate) fn below(rng: &mut impl rand::Rng, bound: u32) -> u32 {
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u32
}
