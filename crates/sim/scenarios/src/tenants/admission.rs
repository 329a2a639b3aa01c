//! Admission of a scenario's contracts: by the scheme `fabric`, in their order.

use std::sync::Arc;

use wayleave_contracts::Contract;
use wayleave_scheme_api::Admission;
use wayleave_schemes::admission::chameleon::Params;
use wayleave_schemes::admission::fabric::{Fabric, Settings};
use wayleave_topology::Network;

use super::{LatencyTenant, SharingTenant, Tenants, TenantsError};

impl Tenants {
    /// Admits contracts of every kind in their order by the scheme `fabric` with these settings; the names of those that do not fit. Contracts over several
    /// routes send on the first.
    ///
    /// # Errors
    /// If the queues of the network are not divided among classes, or have other budgets than the scheme can allocate.
    pub fn admit(
        network: &Arc<Network>,
        contracts: &[Contract],
        settings: &Settings,
    ) -> Result<(Self, Vec<String>), TenantsError> {
        if network.classes().is_none() {
            return Err(TenantsError::NoClasses);
        }
        let model = Default::default();
        let params = Params { allocation: settings.allocation(Default::default()), ..Params::default() };
        let fabric = Fabric::new(network.clone(), model, params, settings);
        let mut fabric = fabric.map_err(|error| TenantsError::Queues(error.to_string()))?;
        let (mut latency, mut sharing, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for contract in contracts {
            let is_admitted = match contract {
                Contract::Latency(contract) => {
                    let request = wayleave_schemes::request(contract, &model);
                    let (rate, burst) = (request.rate, request.burst);
                    let decision = fabric.admit(&request).ok();
                    latency.extend(decision.as_ref().map(|decision| LatencyTenant {
                        contract: contract.clone(),
                        route: decision.route.clone(),
                        rate,
                        burst,
                    }));
                    decision.is_some()
                }
                other => {
                    let decision = wayleave_schemes::share_request(other)
                        .map(|request| fabric.admit_share(&request))
                        .transpose()
                        .ok();
                    sharing.extend(decision.as_ref().map(|decision| SharingTenant {
                        contract: other.clone(),
                        within: decision.as_ref().and_then(|decision| decision.within),
                        route: decision.as_ref().and_then(|decision| decision.route.clone()),
                    }));
                    decision.is_some()
                }
            };
            if !is_admitted {
                refused.push(contract.name().to_owned());
            }
        }
        let ledger = fabric.placement().ledger();
        let link = |(id, _)| Some((*ledger.shared_link(id)?, ledger.residual(id)));
        let links = network.links().map(link).collect::<Option<_>>().ok_or(TenantsError::NoClasses)?;
        let mut tenants = Self::new(network, links)?;
        latency.into_iter().for_each(|tenant| tenants.add_latency(tenant));
        sharing.into_iter().for_each(|tenant| tenants.add(tenant));
        Ok((tenants, refused))
    }
}
