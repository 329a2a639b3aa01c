//! Explanation of one decision: the terms of an admitted contract's bound, or the reason for a refusal with the
//! nearest request that fits.

use std::io::Write;

use serde::{Serialize, Serializer};
use wayleave_contracts::{Contract, LatencyContract};
use wayleave_explain::table::{TableLayout, write_wrapped};
use wayleave_explain::{
    DecidedShare, EarlierDecisions, Explained, ExplainedShare, ExplanationJson, NearestShare, Refused,
    SharedExplanation, inspect_links, sentences, text, write_share,
};
use wayleave_formats::Problem;
use wayleave_scheme_api::{Refusal, ShareDecision};
use wayleave_units::Human as _;

use crate::contracts::{ContractIndex, Contracts};
use crate::error::Error;
use crate::network::Network;
use crate::plan::{BudgetPlace, BudgetRemedy, Head, SavedPlan};
use crate::progress::{ProgressStep, Watch};
use crate::schemes::PlanOptions;
use crate::session::{RequestOutcome, Session};

/// Complete explanation of one decision. Serialised, it is the output of `wayleave explain -o json`.
#[non_exhaustive]
pub struct Explanation {
    /// Contracts admitted before this one, and the contract itself if it was admitted.
    pub session: Session,
    /// The request and its outcome.
    pub matter: ExplainTarget,
    /// Outcomes of the earlier requests.
    pub before: EarlierDecisions,
    /// Problem of the contract that does not depend on other admitted contracts, at its position in the file.
    pub finding: Option<Problem>,
    /// Delay budgets that admit a refused contract, and where they are stated ([`Explanation::search_budgets`]).
    pub remedy: Option<(BudgetPlace, BudgetRemedy)>,
}

/// A contract with the decision that is explained.
pub enum ExplainTarget {
    /// About latency.
    Latency {
        /// The request.
        contract: Box<LatencyContract>,
        /// Outcome of the request.
        verdict: Box<RequestOutcome>,
        /// For a refusal: the paths that were inspected, and the nearest request that fits.
        refused: Option<Box<Refused>>,
    },
    /// About something else.
    Shared {
        /// The request.
        contract: Box<Contract>,
        /// Outcome of the request; nothing is reserved for best effort.
        decision: Result<Option<ShareDecision>, Refusal>,
        /// For a refusal: the nearest that would fit.
        nearest: Option<NearestShare>,
    },
}

/// Decides the contracts before the one that is named, and then that one.
///
/// # Errors
/// If there is no contract of that name, or the scheme cannot be set up on this network.
///
/// ```
/// use wayleave::{Contracts, Network, PlanOptions, Watch};
/// let network = Network::open("fat-tree:k=4")?;
/// let contracts = Contracts::drawn(&network, 8, 1, 20, &mut Watch::none())?;
/// let name = contracts.iter().last().map(|(_, contract)| contract.name.clone()).ok_or("no contract")?;
/// let explanation = wayleave::explain(&network, &contracts, &name, &PlanOptions::default(), &mut Watch::none())?;
/// assert!(explanation.is_admitted() && explanation.text()?.contains(&name));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn explain(
    network: &Network,
    contracts: &Contracts,
    name: &str,
    options: &PlanOptions,
    watch: &mut Watch<'_>,
) -> Result<Explanation, Error> {
    let session = Session::open(network, options)?;
    explain_in(session, contracts, name, watch)
}

/// The same in a session that may hold contracts already.
///
/// # Errors
/// If there is no contract of that name, or [`Error::Stopped`].
pub fn explain_in(
    mut session: Session,
    contracts: &Contracts,
    name: &str,
    watch: &mut Watch<'_>,
) -> Result<Explanation, Error> {
    let (place, contract) = contracts.find(name)?;
    let before = decide_those_before(&mut session, contracts, place, watch);
    if watch.is_cancelled() {
        return Err(Error::Stopped);
    }
    match contract.as_latency() {
        Some(contract) => {
            let verdict = session.admit(contract);
            Ok(explain_flow(session, contracts, (place, contract), verdict, before))
        }
        None => Ok(explain_share(session, contract, before)),
    }
}

/// Explains a contract after a saved plan: the plan's earlier decisions are restored and not decided again. The
/// session has admitted nothing yet.
///
/// # Errors
/// If there is no contract of that name, the plan was not made of these contracts on this network with these options,
/// or the contract is not decided as in the plan.
///
/// ```
/// use wayleave::{Contracts, Network, PlanOptions, SavedPlan, Session, Source, Watch};
/// let network = Network::open("fat-tree:k=4")?;
/// let contracts = Contracts::drawn(&network, 8, 1, 20, &mut Watch::none())?;
/// let options = PlanOptions::default();
/// let text = serde_json::to_string(&wayleave::plan(&network, &contracts, &options, &mut Watch::none())?)?;
/// let name = contracts.iter().last().map(|(_, contract)| contract.name.clone()).ok_or("no contract")?;
///
/// let session = Session::open(&network, &options)?;
/// let source = Source::new("plan.json", text);
/// let plan = SavedPlan::read(&source, &session)?;
/// let explanation = wayleave::explain_planned(session, &contracts, &name, &plan, &mut Watch::none())?;
/// assert_eq!(explanation.text()?, wayleave::explain(&network, &contracts, &name, &options, &mut Watch::none())?.text()?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn explain_planned(
    mut session: Session,
    contracts: &Contracts,
    name: &str,
    plan: &SavedPlan<'_>,
    watch: &mut Watch<'_>,
) -> Result<Explanation, Error> {
    let (place, contract) = contracts.find(name)?;
    let before = plan.restore(&mut session, contracts, Some(place), watch)?;
    let Some(contract) = contract.as_latency() else {
        let explained = explain_share(session, contract, before);
        if let ExplainTarget::Shared { contract, decision, .. } = &explained.matter {
            let share = decision.as_ref().ok().and_then(|decision| Some(decision.as_ref()?.share));
            let start = share.and_then(|share| explained.session.share_start(share));
            let decided = DecidedShare { contract, decision, start, event: None };
            plan.confirm_share(&explained.session, contracts, place, &decided)?;
        }
        return Ok(explained);
    };
    let verdict = session.admit(contract);
    plan.confirm(&session, contracts, place, &verdict)?;
    Ok(explain_flow(session, contracts, (place, contract), verdict, before))
}

/// Decides a contract of another kind than latency, and explains the decision.
fn explain_share(mut session: Session, contract: &Contract, before: EarlierDecisions) -> Explanation {
    let (decision, _) = session.admit_share(contract);
    let nearest = decision.as_ref().err().map(|refusal| NearestShare::of(&session.scheme, contract, refusal));
    let matter = ExplainTarget::Shared { contract: Box::new(contract.clone()), decision, nearest };
    Explanation { session, matter, before, finding: None, remedy: None }
}

/// Explains a verdict. The session is in the state after the verdict.
fn explain_flow(
    mut session: Session,
    contracts: &Contracts,
    (place, contract): (ContractIndex, &LatencyContract),
    verdict: RequestOutcome,
    before: EarlierDecisions,
) -> Explanation {
    let refusal = verdict.decision.as_ref().err();
    let (scheme, model) = (&mut session.scheme, &session.model);
    let refused = refusal.map(|refusal| inspect_links(scheme, model, contract, &verdict.request, refusal));
    let given = refusal.and_then(|refusal| sentences::finding(&session.network, contract, refusal));
    let finding = given.map(|(field, message)| contracts.finding(place, field, &message));
    let (contract, verdict, refused) = (Box::new(contract.clone()), Box::new(verdict), refused.map(Box::new));
    let matter = ExplainTarget::Latency { contract, verdict, refused };
    Explanation { session, matter, before, finding, remedy: None }
}

fn decide_those_before(
    session: &mut Session,
    contracts: &Contracts,
    place: ContractIndex,
    watch: &mut Watch<'_>,
) -> EarlierDecisions {
    let before = || contracts.all().take_while(|(at, _)| *at != place);
    let total = before().count() as u64;
    let mut admitted = 0;
    for (done, (_, contract)) in (1..).zip(before()) {
        if watch.is_cancelled() {
            break;
        }
        let is_admitted = match contract.as_latency() {
            Some(contract) => session.try_admit(contract),
            None => session.admit_share(contract).0.is_ok(),
        };
        admitted += u64::from(is_admitted);
        watch.step(ProgressStep::Items { done, total });
    }
    EarlierDecisions { admitted, refused: total - admitted }
}

impl Explanation {
    /// Returns `true` if the contract was admitted.
    pub fn is_admitted(&self) -> bool {
        match &self.matter {
            ExplainTarget::Latency { verdict, .. } => verdict.decision.is_ok(),
            ExplainTarget::Shared { decision, .. } => decision.is_ok(),
        }
    }

    /// Searches delay budgets with which a refused contract is admitted after the same contracts.
    ///
    /// # Errors
    /// If the network cannot be rebuilt, which would be a mistake here.
    pub fn search_budgets(&mut self, contracts: &Contracts, place: BudgetPlace) -> Result<(), Error> {
        let ExplainTarget::Latency { contract, verdict, .. } = &self.matter else { return Ok(()) };
        let Err(refusal) = &verdict.decision else { return Ok(()) };
        let (at, _) = contracts.find(&contract.name)?;
        let before: Vec<&Contract> =
            contracts.all().take_while(|(other, _)| *other != at).map(|(_, contract)| contract).collect();
        let (before, admitted) = (before.as_slice(), self.before.admitted);
        let remedy = BudgetRemedy::search(&self.session, (before, admitted), (contract, refusal), place)?;
        self.remedy = remedy.map(|remedy| (place, remedy));
        Ok(())
    }

    fn explained(&self) -> ExplainedContract<'_> {
        match &self.matter {
            ExplainTarget::Latency { contract, verdict, refused } => ExplainedContract::Latency(Explained {
                contract,
                request: &verdict.request,
                decision: &verdict.decision,
                starts: Some(&verdict.starts),
                before: Some(self.before),
                refused: refused.as_deref(),
            }),
            ExplainTarget::Shared { contract, decision, nearest } => {
                let admitted = decision.as_ref().ok().and_then(Option::as_ref);
                let share = admitted.and_then(|decision| self.session.ledger()?.share(decision.share));
                let decided = DecidedShare { contract, decision, start: None, event: None };
                ExplainedContract::Shared(ExplainedShare { decided, share, nearest: *nearest })
            }
        }
    }

    /// Writes it for people.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_text(&self, out: &mut impl Write, layout: TableLayout) -> Result<(), Error> {
        let context = self.session.context();
        match self.explained() {
            ExplainedContract::Latency(explained) => text::write(out, &context, &explained, layout)?,
            ExplainedContract::Shared(explained) => write_share(out, &context, &explained, layout)?,
        }
        let Some((place, remedy)) = &self.remedy else { return Ok(()) };
        writeln!(out, "\nDelay budgets that admit it")?;
        remedy.lines(*place).iter().try_for_each(|line| writeln!(out, "  {line}"))?;
        let earlier = remedy.admitted;
        let bound = remedy.bound.up();
        let checked =
            format!("Checked: its bound is then {bound}, and as many earlier contracts are admitted ({earlier}).");
        Ok(write_wrapped(out, &checked)?)
    }

    /// The same as a string of lines of 100 columns.
    ///
    /// # Errors
    /// None that can happen in memory.
    pub fn text(&self) -> Result<String, Error> {
        let mut out = Vec::new();
        self.write_text(&mut out, TableLayout::default())?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }
}

impl Serialize for Explanation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (head, before, context) = (Head::of(&self.session), self.before, self.session.context());
        match self.explained() {
            ExplainedContract::Latency(explained) => {
                let explanation = ExplanationJson::of(&context, &explained);
                let budget_remedy = self.remedy.as_ref().map(|(_, remedy)| remedy);
                Document { head, before, explanation, budget_remedy }.serialize(serializer)
            }
            ExplainedContract::Shared(explained) => {
                let explanation = SharedExplanation::of(&context, &explained);
                Document { head, before, explanation, budget_remedy: None }.serialize(serializer)
            }
        }
    }
}

/// The explained decision: about a latency contract, or about another kind.
enum ExplainedContract<'a> {
    Latency(Explained<'a>),
    Shared(ExplainedShare<'a>),
}

#[derive(Serialize)]
struct Document<'a, T> {
    #[serde(flatten)]
    head: Head<'a>,
    before: EarlierDecisions,
    #[serde(flatten)]
    explanation: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_remedy: Option<&'a BudgetRemedy>,
}
