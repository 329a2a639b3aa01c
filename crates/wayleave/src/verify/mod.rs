//! Tests of an admitted set: its bounds are derived again, and then it sends the worst traffic that its contracts
//! allow, packet by packet. The set is everything that a session has admitted, or the contracts of a saved plan.

mod class_document;
mod classes;
mod left_out;
mod output;
mod plan;
mod promises;

use wayleave_adversary::{
    AdmittedClaim, Attack, Derivation, Discrepancy, Effort, Fault, FaultNotInjected, Layer, Verification,
    derive_watched, replay_until, verify_until,
};
use wayleave_topology::ShortBuffer;

use crate::error::Error;
use crate::progress::{ProgressStep, Watch};

pub use classes::{ClassContracts, ClassFaultOutcome, ClassVerification, verify_kinds};
pub use left_out::{LeftOutClasses, LeftOutReason};
pub use plan::{PlanFile, PlannedClasses, StatedPlan, read as read_plan};
pub use promises::{History, Promises, of_session};

/// Parameters of a verification: effort, target, injected fault.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifyOptions {
    effort: Effort,
    flow: Option<String>,
    replay: Option<Attack>,
    fault: Option<Fault>,
    command: Vec<String>,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        let command = ["wayleave", "verify"].map(str::to_owned).to_vec();
        Self { effort: Effort::USUAL, flow: None, replay: None, fault: None, command }
    }
}

impl VerifyOptions {
    /// Sets the number and size of the attacks. The seed of the effort determines every random number.
    #[must_use]
    pub fn with_effort(self, effort: Effort) -> Self {
        Self { effort, ..self }
    }

    /// Searches for worse phases against the contract of this name. Without one, the search is for the contract that came closest to its limit.
    #[must_use]
    pub fn with_flow(self, flow: impl Into<Option<String>>) -> Self {
        Self { flow: flow.into(), ..self }
    }

    /// Replays this attack and makes no other.
    #[must_use]
    pub fn with_replay(self, replay: impl Into<Option<Attack>>) -> Self {
        Self { replay: replay.into(), ..self }
    }

    /// Injects a fault after admission, to show that the check can fail.
    #[must_use]
    pub fn with_fault(self, fault: impl Into<Option<Fault>>) -> Self {
        Self { fault: fault.into(), ..self }
    }

    /// Sets the first words of the commands that replay an attack; `--replay ATTACK` is appended.
    #[must_use]
    pub fn with_command(self, command: Vec<String>) -> Self {
        Self { command, ..self }
    }
}

/// A verification and its subject.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Promises that packets were to confirm, including the injected fault.
    pub claim: AdmittedClaim,
    /// Derived values; `None` for a scheme that makes no statements about queues.
    pub derived: Option<Derived>,
    /// Observations.
    pub report: Verification,
    /// Effort of the tests.
    pub effort: Effort,
    /// The number of the promise that the search was for, if a contract was named.
    pub chosen: Option<usize>,
    /// Injected fault.
    pub fault: Option<Fault>,
    /// Reason why the fault has no effect here; no test was run then.
    pub no_effect: Option<&'static str>,
    /// Observations about minima and objectives, if there are any.
    pub kinds: Option<ClassVerification>,
    /// Contracts of classes below latency that were not tested, if there are any.
    pub left_out: Option<LeftOutClasses>,
    command: Vec<String>,
    is_replay: bool,
}

/// Results of the independent derivation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Derived {
    /// Queues that hold flows.
    pub queues: usize,
    /// Routes of contracts.
    pub flows: usize,
    /// Minima and weights of the classes below latency.
    pub shares: usize,
    /// Switch ports whose buffers may be too small for the queued traffic of minima.
    pub short_buffers: Vec<ShortBuffer>,
    /// Moves of flows.
    pub moves: usize,
    /// Statements that differ from the derivation.
    pub discrepancies: Vec<Discrepancy>,
}

/// Derives all statements again, and tests promises packet by packet with the worst traffic that the contracts allow.
///
/// # Errors
/// If a named contract is not among the promises, or the attack does not fit them.
pub fn verify(promises: &Promises, options: &VerifyOptions, watch: &mut Watch<'_>) -> Result<VerifyReport, Error> {
    let (claim, derived, no_effect) = prepared(promises, options.fault, watch)?;
    let chosen = options.flow.as_ref().map(|name| number_of(&claim, name)).transpose()?;
    let effort = options.effort;
    watch.step(ProgressStep::ResultsBegin);
    let cancel = watch.cancel();
    let is_stopped = || cancel.is_cancelled();
    let step = |done, total: u64| {
        watch.step(ProgressStep::Items { done, total });
        !is_stopped()
    };
    let report = match &options.replay {
        _ if no_effect.is_some() => Ok(Verification::default()),
        Some(attack) => replay_until(&claim, &effort, attack, &is_stopped),
        None => verify_until(&claim, &effort, chosen, &is_stopped, step),
    };
    let report = report.map_err(|error| Error::Usage(error.to_string()))?;
    let (fault, command) = (options.fault, options.command.clone());
    let is_replay = options.replay.is_some();
    let (kinds, left_out) = (None, None);
    Ok(VerifyReport { claim, derived, report, effort, chosen, fault, no_effect, kinds, left_out, command, is_replay })
}

/// Derives the statements, and injects a fault before or after.
fn prepared(
    promises: &Promises,
    fault: Option<Fault>,
    watch: &mut Watch<'_>,
) -> Result<(AdmittedClaim, Option<Derived>, Option<&'static str>), Error> {
    let mut no_effect = None;
    let (in_words, in_packets) = match fault.map(|fault| (fault, fault.layer())) {
        Some((fault, Layer::Statement)) => (Some(fault), None),
        Some((fault, Layer::Packets)) => (None, Some(fault)),
        None => (None, None),
    };
    let (claim, derived) = match promises {
        Promises::Claimed(claim) => {
            let broken = in_words.map(|fault| claim.broken_by(fault)).transpose();
            no_effect = excuse(broken)?.1;
            (claim.clone(), None)
        }
        Promises::Stated(statement) => {
            let (broken, excuse) = excuse(in_words.map(|fault| statement.broken_by(fault)).transpose())?;
            no_effect = no_effect.or(excuse);
            let derivation = derive_watched(broken.as_ref().unwrap_or(statement), &mut |done, total| {
                watch.step(ProgressStep::Items { done, total });
            });
            let Derivation { claim, discrepancies, queues, flows, shares, short_buffers, moves, .. } =
                derivation.map_err(|error| Error::Usage(error.to_string()))?;
            (claim, Some(Derived { queues, flows, shares, short_buffers, moves, discrepancies }))
        }
    };
    let (broken, excuse) = excuse(in_packets.map(|fault| claim.broken_by(fault)).transpose())?;
    Ok((broken.unwrap_or(claim), derived, no_effect.or(excuse)))
}

/// Returns the injected fault, or the reason why none was injected.
fn excuse<T>(broken: Result<Option<T>, FaultNotInjected>) -> Result<(Option<T>, Option<&'static str>), Error> {
    match broken {
        Ok(broken) => Ok((broken, None)),
        Err(FaultNotInjected::NoEffect(why)) => Ok((None, Some(why))),
        Err(FaultNotInjected::Network(error)) => {
            Err(Error::Internal(format!("the network cannot be rebuilt: {error}")))
        }
    }
}

/// The number of the promise of a contract.
fn number_of(claim: &AdmittedClaim, name: &str) -> Result<usize, Error> {
    if let Some(number) = claim.promises.iter().position(|promise| promise.name == name) {
        return Ok(number);
    }
    let names = claim.promises.iter().map(|promise| promise.name.as_str());
    let hint = wayleave_explain::sentences::nearest(name, names).map(|near| format!("; did you mean \"{near}\"?"));
    Err(Error::Usage(format!("no contract \"{name}\" is admitted{}", hint.unwrap_or_default())))
}

/// Outcome of a fault that was injected on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultOutcome {
    /// The derivation differs from the statements.
    ByDerivation,
    /// A packet was late or lost.
    ByPackets,
    /// Nothing showed it.
    ByNobody,
}

impl VerifyReport {
    /// Promises that no run tested: of latency contracts that sent nothing or were cut from no route, of minima that
    /// are longer than a run, of maxima that no run approached or links may have enforced, and of given weights that
    /// decided nothing.
    pub fn untested(&self) -> usize {
        if self.no_effect.is_some() {
            return 0;
        }
        let silent = self.report.findings.iter().filter(|finding| finding.packets == 0).count();
        silent + self.untried() + self.kinds.as_ref().map_or(0, ClassVerification::untested)
    }

    /// Returns the number of protected contracts without a tried failure. A replay is about one attack only.
    fn untried(&self) -> usize {
        match self.is_replay {
            true => 0,
            false => self.report.protected.iter().filter(|finding| finding.cuts == 0).count(),
        }
    }

    /// Returns `true` if nothing at all was promised: objectives, and best effort without a maximum, have no guarantee.
    pub fn promises_nothing(&self) -> bool {
        let is_none_below = self.kinds.as_ref().is_none_or(|kinds| kinds.promises() == 0);
        self.claim.promises.is_empty() && is_none_below && self.left_out.is_none()
    }

    /// Returns `true` if the verification was stopped before its end: every promise is tested in part, or not at all.
    pub fn is_stopped(&self) -> bool {
        let is_left_out = self.left_out.is_some_and(|left_out| left_out.reason == LeftOutReason::Stopped);
        let is_stopped = self.kinds.as_ref().is_some_and(ClassVerification::is_stopped);
        self.report.stopped_of.is_some() || is_stopped || is_left_out
    }

    /// Returns `true` if all statements are correct, and no promise was broken.
    pub fn is_sound(&self) -> bool {
        self.report.is_sound() && self.discrepancies().is_empty()
    }

    /// Returns switch ports whose buffers may be too small for the queued traffic of minima.
    pub fn short_buffers(&self) -> &[ShortBuffer] {
        self.derived.as_ref().map_or(&[], |derived| &derived.short_buffers)
    }

    /// Returns the statements that differ from the derivation.
    pub fn discrepancies(&self) -> &[Discrepancy] {
        self.derived.as_ref().map_or(&[], |derived| &derived.discrepancies)
    }

    /// Returns the outcome of the injected fault; `None` if no fault was injected.
    pub fn noticed(&self) -> Option<FaultOutcome> {
        let fault = self.fault?;
        let in_words = fault.layer() == Layer::Statement;
        Some(match (self.no_effect.is_none(), in_words && !self.discrepancies().is_empty()) {
            (true, true) => FaultOutcome::ByDerivation,
            (true, false) if !self.report.is_sound() => FaultOutcome::ByPackets,
            _ => FaultOutcome::ByNobody,
        })
    }
}
