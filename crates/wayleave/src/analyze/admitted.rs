//! Admitted contracts as an output-port network: every queue that holds flows is a server.
//!
//! The service curve of a server comes from the ledger's report for the queue: the line minus the traffic of the
//! queues above it and a blocking packet. The bursts of that traffic have grown by budgets, not by delays. Since
//! every budget holds, the curve is valid, and admission used it for its promises. Queues are FIFO, but the service
//! that priorities leave over is no strict service curve, so analyses of arbitrary multiplexing do not apply. A queue
//! is not FIFO behind a node whose jitter does not preserve order: such sets are refused.

use std::collections::HashMap;

use num_traits::Zero;
use wayleave_calculus::network::{CurveServer, LineShaping, Options, PortNetwork, ServerFlow};
use wayleave_calculus::rational::{from_amount, from_rate, from_time};
use wayleave_calculus::{ArrivalCurve, BucketCurve, Rational};
use wayleave_ledger::Shaping as Lines;
use wayleave_schemes::admitted::{AdmittedSet, Term};
use wayleave_schemes::placement::Placement;
use wayleave_schemes::registry;
use wayleave_topology::Route;
use wayleave_units::{Amount, Time};

use super::subject::{AddedDelays, AnalysisSubject, ROUTE};
use crate::error::Error;
use crate::session::Session;

impl AnalysisSubject {
    /// Returns the contracts that a session has admitted as a network of servers: every queue that holds flows is a
    /// server with the service that the queues above it leave.
    ///
    /// # Errors
    /// If its scheme keeps no queues, or nothing was admitted.
    pub fn admitted(session: &Session) -> Result<Self, Error> {
        subject(session)
    }
}

fn subject(session: &Session) -> Result<AnalysisSubject, Error> {
    let shaping = match session.model.shaping {
        Lines::InputLinks => LineShaping::On,
        _ => LineShaping::Off,
    };
    let Some(placement) = session.scheme.queues() else {
        let scheme = session.scheme.name();
        return Err(Error::Usage(format!(
            "{scheme} has no queues to analyse: use --scheme {}",
            registry::admission_schemes(|entry| entry.keeps_queues)
        )));
    };
    let network = network(session, placement)?;
    let flows = placement.ledger().flows();
    let extras = flows.map(|(_, reservation)| extra(placement, &reservation.route)).collect();
    let options = Options { shaping, ..Options::default() };
    Ok(AnalysisSubject { name: session.topology.clone(), network, options, extras: Some(extras), remarks: Vec::new() })
}

fn network(session: &Session, placement: &Placement) -> Result<PortNetwork, Error> {
    let ledger = placement.ledger();
    let mut servers = Vec::new();
    let mut index = HashMap::new();
    for (id, link) in session.network.links() {
        for report in ledger.report(id).into_iter().filter(|report| report.flows > 0) {
            if report.spread > Time::ZERO {
                let node = &session.network.node(link.from).name;
                return Err(Error::Usage(format!(
                    "the jitter of {node} may reorder packets, and the analyses assume FIFO order: --jitter ordered assumes that order is preserved"
                )));
            }
            index.insert((id, report.queue), servers.len());
            let burst = from_amount(Amount::from(ledger.largest_frame(id)));
            servers.push(CurveServer {
                name: format!("{} q{}", link.name, report.queue),
                service: report.service,
                line: Some(BucketCurve { rate: from_rate(link.rate), burst }),
                port: Some(id.index()),
            });
        }
    }
    // A protected contract has a flow for each of its routes.
    let mut routes: HashMap<&str, usize> = HashMap::new();
    let flows = ledger.flows().map(|(id, reservation)| {
        let number = routes.entry(session.name_of(id)).or_default();
        *number += 1;
        let name = match *number {
            1 => session.name_of(id).to_owned(),
            number => format!("{}{ROUTE}{number})", session.name_of(id)),
        };
        let hops = &reservation.route.hops;
        let path = hops.iter().filter_map(|hop| index.get(&(hop.link, hop.queue)).copied()).collect();
        let demand = &reservation.demand;
        ServerFlow::unicast(&name, ArrivalCurve::token_bucket(demand.rate, demand.burst), path)
    });
    let flows: Vec<ServerFlow> = flows.collect();
    if flows.is_empty() {
        return Err(Error::Usage("no contract was admitted: nothing to analyse".to_owned()));
    }
    PortNetwork::new(servers, flows).map_err(|error| {
        Error::Internal(format!("the admitted contracts are not a valid output-port network: {error}"))
    })
}

/// Returns the delays that the curves of queues do not include.
fn extra(placement: &Placement, route: &Route) -> AddedDelays {
    let mut extra = AddedDelays { budgets: Rational::zero(), constants: Rational::zero() };
    for term in placement.terms(route) {
        match term {
            Term::Queue(_, budget) => extra.budgets += from_time(budget),
            Term::Processing(_, time) | Term::Propagation(_, time) => extra.constants += from_time(time),
            // Of schemes without queues.
            _ => {}
        }
    }
    extra
}
