//! Why one contract is admitted, term by term, or refused, with what would fit instead.

use std::io::Write;

use serde::{Serialize, Serializer};
use wayleave_contracts::Contract;
use wayleave_explain::table::Layout;
use wayleave_explain::{Before, Explained, ExplanationShape, Refused, look_around, sentences, text};
use wayleave_formats::Problem;

use crate::contracts::{ContractIndex, Contracts};
use crate::error::Error;
use crate::network::Network;
use crate::plan::{Head, PlanOptions, SavedPlan};
use crate::progress::{Progress, Silent, Step};
use crate::session::{Session, Verdict};

/// Everything that there is to say about one decision. Serialised, it is what `wayleave explain -o json` prints.
pub struct Explanation {
    /// What was admitted before it, and the contract itself if it was.
    pub session: Session,
    /// What was asked.
    pub contract: Contract,
    /// What became of it.
    pub verdict: Verdict,
    /// What became of those before it.
    pub before: Before,
    /// For a refusal: the paths that were looked at, and the nearest request that fits.
    pub refused: Option<Refused>,
    /// What can be said against it whatever else is admitted, at its place in the file.
    pub finding: Option<Problem>,
}

/// Decides the contracts before the one that is named, and then that one.
///
/// # Errors
/// If there is no contract of that name, or the scheme cannot be set up on this network.
///
/// ```
/// use wayleave::{Contracts, Network, PlanOptions};
/// let network = Network::open("fat-tree:k=4")?;
/// let contracts = Contracts::drawn(&network, 8, 1, 20)?;
/// let name = contracts.iter().last().map(|(_, contract)| contract.name.clone()).ok_or("no contract")?;
/// let explanation = wayleave::explain(&network, &contracts, &name, &PlanOptions::default())?;
/// assert!(explanation.is_admitted() && explanation.text()?.contains(&name));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn explain(
    network: &Network,
    contracts: &Contracts,
    name: &str,
    options: &PlanOptions,
) -> Result<Explanation, Error> {
    let session = Session::open(network, options.model, options.scheme.clone())?;
    explain_in(session, contracts, name, &mut Silent)
}

/// The same in a session that may hold contracts already.
///
/// # Errors
/// If there is no contract of that name.
pub fn explain_in(
    mut session: Session,
    contracts: &Contracts,
    name: &str,
    progress: &mut dyn Progress,
) -> Result<Explanation, Error> {
    let (place, contract) = contracts.find(name)?;
    let before = decide_those_before(&mut session, contracts, place, progress);
    let verdict = session.admit(contract);
    Ok(look_at(session, contracts, (place, contract), verdict, before))
}

/// The same with what a plan says was decided before, which is put in place and not decided again. The session has admitted
/// nothing yet.
///
/// # Errors
/// If there is no contract of that name, or the plan is not one of these contracts on this network with these options, or the
/// contract is not decided as it says.
///
/// ```
/// use wayleave::{Contracts, Network, PlanOptions, SavedPlan, Session, Silent, Source};
/// let network = Network::open("fat-tree:k=4")?;
/// let contracts = Contracts::drawn(&network, 8, 1, 20)?;
/// let options = PlanOptions::default();
/// let text = serde_json::to_string(&wayleave::plan(&network, &contracts, &options)?)?;
/// let name = contracts.iter().last().map(|(_, contract)| contract.name.clone()).ok_or("no contract")?;
///
/// let session = Session::open(&network, options.model, options.scheme.clone())?;
/// let source = Source::new("plan.json", text);
/// let plan = SavedPlan::read(&source, &session)?;
/// let explanation = wayleave::explain_planned(session, &contracts, &name, &plan, &mut Silent)?;
/// assert_eq!(explanation.text()?, wayleave::explain(&network, &contracts, &name, &options)?.text()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn explain_planned(
    mut session: Session,
    contracts: &Contracts,
    name: &str,
    plan: &SavedPlan<'_>,
    progress: &mut dyn Progress,
) -> Result<Explanation, Error> {
    let (place, contract) = contracts.find(name)?;
    let before = plan.restore(&mut session, contracts, Some(place), progress)?;
    let verdict = session.admit(contract);
    plan.confirm(&session, contracts, place, &verdict)?;
    Ok(look_at(session, contracts, (place, contract), verdict, before))
}

/// Adds what there is to say about a verdict. The session is as the verdict has left it.
fn look_at(
    mut session: Session,
    contracts: &Contracts,
    (place, contract): (ContractIndex, &Contract),
    verdict: Verdict,
    before: Before,
) -> Explanation {
    let refusal = verdict.decision.as_ref().err();
    let (scheme, model) = (&mut session.scheme, &session.model);
    let refused = refusal.map(|refusal| look_around(scheme, model, contract, &verdict.request, refusal));
    let said = refusal.and_then(|refusal| sentences::finding(&session.network, contract, refusal));
    let finding = said.map(|(field, message)| contracts.finding(place, field, &message));
    let contract = contract.clone();
    Explanation { session, contract, verdict, before, refused, finding }
}

fn decide_those_before(
    session: &mut Session,
    contracts: &Contracts,
    place: ContractIndex,
    progress: &mut dyn Progress,
) -> Before {
    let before = || contracts.iter().take_while(|(at, _)| *at != place);
    let total = before().count() as u64;
    let mut admitted = 0;
    for (done, (_, contract)) in (1..).zip(before()) {
        admitted += u64::from(session.admit_or_not(contract));
        progress.step(Step::Items { done, total });
    }
    Before { admitted, refused: total - admitted }
}

impl Explanation {
    /// Whether the contract was admitted.
    pub fn is_admitted(&self) -> bool {
        self.verdict.decision.is_ok()
    }

    fn explained(&self) -> Explained<'_> {
        Explained {
            contract: &self.contract,
            request: &self.verdict.request,
            decision: &self.verdict.decision,
            starts: Some(&self.verdict.starts),
            before: Some(self.before),
            refused: self.refused.as_ref(),
        }
    }

    /// Writes it for people.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_text(&self, out: &mut impl Write, layout: Layout) -> Result<(), Error> {
        Ok(text::write(out, &self.session.context(), &self.explained(), layout)?)
    }

    /// The same as a string of lines of 100 columns.
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn text(&self) -> Result<String, Error> {
        let mut out = Vec::new();
        self.write_text(&mut out, Layout::default())?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

impl Serialize for Explanation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Document {
            head: Head::of(&self.session),
            before: self.before,
            explanation: ExplanationShape::of(&self.session.context(), &self.explained()),
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    before: Before,
    #[serde(flatten)]
    explanation: ExplanationShape<'a>,
}
