//! Exact numbers and curves as JSON: whole numbers stay whole, the others are the nearest double.

use num_traits::ToPrimitive;
use serde::{Serialize, Serializer};
use wayleave_calculus::{ArrivalCurve, Rational, ServiceCurve, rational};

/// A number.
pub struct Number(pub(crate) Rational);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_integer().to_u64().filter(|_| self.0.is_integer()) {
            Some(whole) => serializer.serialize_u64(whole),
            None => serializer.serialize_f64(rational::to_f64(&self.0)),
        }
    }
}

/// Nanobits as bytes.
pub fn bytes(nanobits: &Rational) -> Number {
    Number(nanobits / rational::whole(8_000_000_000))
}

/// One token bucket of an arrival curve.
#[derive(Serialize)]
pub struct CurveBucket {
    rate_bps: Number,
    burst_bytes: Number,
}

/// The token buckets whose minimum a curve is.
pub fn arrival(curve: &ArrivalCurve) -> Vec<CurveBucket> {
    let pieces = curve.pieces().iter();
    pieces.map(|piece| CurveBucket { rate_bps: Number(piece.rate.clone()), burst_bytes: bytes(&piece.burst) }).collect()
}

/// One rate-latency function of a service curve.
#[derive(Serialize)]
pub struct Piece {
    rate_bps: Number,
    latency_ns: Option<Number>,
}

/// The rate-latency functions whose maximum a curve is.
pub fn service(curve: &ServiceCurve) -> Vec<Piece> {
    let pieces = curve.pieces().iter();
    pieces
        .map(|piece| Piece { rate_bps: Number(piece.rate.clone()), latency_ns: piece.latency().map(Number) })
        .collect()
}
