//! Results of maxima.

use std::collections::BTreeSet;
use std::io::Write;

use wayleave_adversary::{MaximumThroughput, TestedMaximum};

use super::super::class_document::MaximumJson;
use super::{ClassVerification, count_of};
use crate::error::Error;

impl ClassVerification {
    /// Returns the number of maxima that no run tested in some direction.
    pub fn untested_maxima(&self) -> usize {
        let untested = self.report.maxima.iter().filter(|tested| !tested.is_tested());
        untested.map(|tested| tested.promise).collect::<BTreeSet<_>>().len()
    }

    /// Writes the maxima that no run approached, and the closest throughput.
    pub(super) fn write_untested_maxima(&self, out: &mut impl Write) -> Result<(), Error> {
        let untested = || self.report.maxima.iter().filter(|tested| !tested.is_tested());
        let carried = |tested: &&TestedMaximum| tested.throughput.map(|throughput| throughput.carried);
        let Some(closest) = untested().max_by_key(carried) else { return Ok(()) };
        let promise = &self.claim.whole.maxima[closest.promise];
        let host = &self.network.node(promise.host).name;
        let observed = match closest.throughput {
            Some(MaximumThroughput { carried, able }) => format!(
                "{} at {host} {} {:.0} % of its maximum, and links could have carried {:.0} %, without bursts and whole frames; a test needs 90 % and 110 %",
                promise.service,
                closest.direction,
                carried as f64 / 10.0,
                able as f64 / 10.0
            ),
            None => "nothing was sent".to_owned(),
        };
        let maxima = count_of(self.untested_maxima(), "maximum", "maxima");
        Ok(writeln!(out, "maxima: {maxima} not tested: with unlimited demand, {observed}")?)
    }

    /// Returns every maximum in each direction, for documents.
    pub(super) fn maximum_shapes(&self) -> Vec<MaximumJson> {
        let of = |tested: &TestedMaximum| {
            let promise = &self.claim.whole.maxima[tested.promise];
            MaximumJson {
                contract: promise.service.clone(),
                host: self.network.node(promise.host).name.clone(),
                direction: tested.direction.to_string(),
                max_bps: promise.max.bits_per_second(),
                largest_per_mille: tested.throughput.map(|throughput| throughput.carried),
                links_per_mille: tested.throughput.map(|throughput| throughput.able),
                tested: tested.is_tested(),
            }
        };
        self.report.maxima.iter().map(of).collect()
    }
}
