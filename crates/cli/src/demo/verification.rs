//! Test of the first contender's promises, packet by packet.

use wayleave_adversary::{AdmittedClaim, Effort, Verification, verify};
use wayleave_sim::stats::Histogram;

use wayleave::Error;
use wayleave::Session;
use wayleave::of_session;
use wayleave_report::findings::{VerifiedContract, VerifiedSet};

/// Number of parts of a bound that the distribution distinguishes.
const PARTS: u128 = 10_000;

/// Puts everything that a session has admitted to the test.
pub(super) fn run(session: &Session) -> Result<VerifiedSet, Error> {
    let promises = of_session(session);
    let claim =
        promises.claim().map_err(|error| Error::Internal(format!("the guarantees contradict each other: {error}")))?;
    let report = verify(&claim, &Effort::QUICK, None, |_, _| true);
    let report = report.map_err(|error| Error::Internal(format!("the guarantees could not be verified: {error}")))?;
    let mut contracts: Vec<VerifiedContract> = claim
        .promises
        .iter()
        .zip(&report.findings)
        .filter(|(_, finding)| finding.packets > 0)
        .map(|(promise, finding)| VerifiedContract {
            name: promise.name.clone(),
            bound: promise.bound,
            today: promise.today,
            worst: finding.delay(),
            drops: finding.drops as usize,
        })
        .collect();
    contracts.sort_by(|a, b| b.share().get().total_cmp(&a.share().get()).then(a.name.cmp(&b.name)));
    Ok(VerifiedSet {
        contracts,
        runs: report.runs as usize,
        packets: report.findings.iter().map(|finding| finding.packets as usize).sum(),
        shares: shares(&claim, &report),
        violations: violations(&claim, &report),
    })
}

/// The distribution of delays as shares of bounds, over the packets of all contracts.
fn shares(claim: &AdmittedClaim, report: &Verification) -> Vec<(f64, f64)> {
    let mut shares = Histogram::new();
    for (promise, finding) in claim.promises.iter().zip(&report.findings) {
        let bound_ps = u128::from(promise.bound.as_nanos().max(1)) * 1_000;
        for bucket in finding.delays.iter() {
            let share = (u128::from(bucket.high) * PARTS).div_ceil(bound_ps);
            shares.record_many(u64::try_from(share).unwrap_or(u64::MAX), bucket.count);
        }
    }
    shares.cdf(200).into_iter().map(|point| (point.value as f64 / PARTS as f64, point.fraction)).collect()
}

fn violations(claim: &AdmittedClaim, report: &Verification) -> Vec<String> {
    let text = |violation: &wayleave_adversary::AttackViolation| {
        format!("{}: {}", claim.promises[violation.promise].name, violation.breach)
    };
    report.violations.iter().map(text).collect()
}
