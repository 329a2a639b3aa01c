//! Contracts of any kind, from their terms.

use wayleave_contracts::{Contract, ContractError, ContractRequest, OrderError};
use wayleave_topology::Network;

use super::field::ContractField;
use super::kinds::{EndpointLookup, KindBody};
use super::places::VmLocations;
use super::terms::{ExtraTerms, Terms};
use crate::location::Span;
use crate::problem::{ProblemKind, Problems};

impl Terms<'_> {
    /// Returns the contract of any kind, if every field can be read and all together make sense.
    pub(crate) fn check_any(&self, network: &Network, problems: &mut Problems<'_>) -> Option<Contract> {
        let Some(body) = &self.body else { return self.check(network, problems).map(Contract::Latency) };
        let named = self.check_names(problems);
        let extra = self.check_extra_terms(problems);
        let contract = self.shared(body, network, network, problems)?;
        if extra && named { self.validated_any(body, contract, network, problems) } else { None }
    }

    /// Returns the contract as an order, with members that may be VMs.
    pub(crate) fn order(
        &self,
        network: &Network,
        places: &dyn VmLocations,
        problems: &mut Problems<'_>,
    ) -> Option<ContractRequest> {
        let Some(body) = &self.body else { return self.latency_order(network, places, problems) };
        let named = self.check_names(problems);
        let extra = self.extra_terms(problems);
        let contract = self.shared(body, network, places, problems)?;
        let ExtraTerms { priority, starts, ends, labels, .. } = extra?;
        let order = ContractRequest { contract, members: body.names(), priority, starts, ends, labels, matching: None };
        if let Err(error) = named.then(|| order.validate())? {
            let member = match &error {
                OrderError::SameHost { to, .. } => body.member_spans().find(|(name, _)| name == to),
                _ => None,
            };
            let span = member.map_or_else(|| self.spans().of(error.field()), |(_, span)| span);
            problems.report(ProblemKind::Impossible, span, || error.to_string());
            return None;
        }
        let ContractRequest { contract, .. } = order;
        let contract = self.validated_any(body, contract, network, problems)?;
        Some(ContractRequest { contract, ..order })
    }

    /// Returns the value of the key of its kind, if there are no keys beside it that do not belong there.
    fn shared(
        &self,
        body: &KindBody<'_>,
        network: &Network,
        places: &dyn VmLocations,
        problems: &mut Problems<'_>,
    ) -> Option<Contract> {
        let alone = self.refuse_latency_fields(body, problems);
        let named = (self.name()?.to_owned(), self.tenant().map(str::to_owned));
        let ends = EndpointLookup { network, places, tenant: self.tenant() };
        body.contract(named, &ends, problems).filter(|_| alone)
    }

    fn validated_any(
        &self,
        body: &KindBody<'_>,
        contract: Contract,
        network: &Network,
        problems: &mut Problems<'_>,
    ) -> Option<Contract> {
        match contract.validate(network) {
            Ok(()) => Some(contract),
            Err(error) => {
                let span = self.span_of_error(body, &error);
                problems.report(ProblemKind::Impossible, span, || error.to_string());
                None
            }
        }
    }

    fn span_of_error(&self, body: &KindBody<'_>, error: &ContractError) -> Span {
        let field = error.field();
        let member = match error {
            // The second occurrence.
            ContractError::TwiceMember { host, .. } => body.members.iter().rev().find(|member| member.text == *host),
            ContractError::NotAHost { node, .. } => body.members.iter().find(|member| member.text == *node),
            _ => None,
        };
        let span = member.map(|member| member.span).or_else(|| body.span_of(field));
        span.unwrap_or_else(|| self.spans().of(field))
    }

    /// Returns `true` if the body has no fields of latency contracts beside it.
    fn refuse_latency_fields(&self, body: &KindBody<'_>, problems: &mut Problems<'_>) -> bool {
        let mark = problems.mark();
        for field in LATENCY_ONLY.into_iter().chain([ContractField::Excess]) {
            let Some(text) = self.get(field) else { continue };
            problems.report(ProblemKind::WrongType, text.span, || {
                let message = format!(
                    "{} is a term of latency contracts, and this one is about {}",
                    field.key(),
                    body.kind.name()
                );
                (message, format!("remove it, or remove {}", body.key))
            });
        }
        problems.mark() == mark
    }

    /// Reports that this is no latency contract, where only those are read.
    pub(super) fn refuse_body(&self, problems: &mut Problems<'_>) -> bool {
        let Some(body) = &self.body else { return false };
        problems.report(ProblemKind::WrongType, body.span, || {
            let message =
                format!("this contract is of kind {}, and only latency contracts are read here", body.kind.name());
            (message, "a latency contract has from, to, rate, burst and deadline")
        });
        true
    }
}

/// Fields of latency contracts that other kinds do not have.
const LATENCY_ONLY: [ContractField; 11] = [
    ContractField::From,
    ContractField::To,
    ContractField::Rate,
    ContractField::Burst,
    ContractField::Deadline,
    ContractField::Accounting,
    ContractField::MinFrame,
    ContractField::MaxFrame,
    ContractField::Route,
    ContractField::Protection,
    ContractField::Match,
];
