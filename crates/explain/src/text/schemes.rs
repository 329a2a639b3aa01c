//! What is said of schemes that reserve no queues: what their promises rest on instead.

use std::io::{self, Write};

use wayleave_roles::{Decision, Refusal, Request};
use wayleave_schemes::loko::Loko;
use wayleave_schemes::qjump::{Level, Qjump};
use wayleave_schemes::registry::Scheme;
use wayleave_schemes::standing::{Standing, Term};
use wayleave_topology::{FlowId, Hop};
use wayleave_units::{Rate, Time};

use super::Page;
use crate::human::{Human, count};
use crate::sentences;
use crate::table::{write_table, write_wrapped};

/// The name of a term, and its time.
pub(super) fn term(page: &Page<'_>, term: Term) -> (String, Time) {
    let network = page.context.network;
    match term {
        Term::Processing(node, time) => (format!("processing in {}", network.node(node).name), time),
        Term::Propagation(link, time) => (format!("propagation on {}", network.link(link).name), time),
        Term::Queue(hop, time) => (sentences::queue(network, hop.link, hop.queue), time),
        Term::Service(node, time) => {
            (format!("service of {}, with all that it accepts", network.node(node).name), time)
        }
        Term::Line(link, time) => (format!("line {}", network.link(link).name), time),
        Term::Contention(time) => match page.context.scheme {
            Scheme::Qjump(qjump) => (contention(qjump), time),
            _ => ("packets of others".to_owned(), time),
        },
        Term::Epsilon(time) => ("epsilon, the processing on the way".to_owned(), time),
        Term::Shaper { epochs, time } => {
            (format!("{} in the shaper before the last packet", count(epochs as usize, "epoch")), time)
        }
    }
}

/// `2 n P / R` with its values.
fn contention(qjump: &Qjump) -> String {
    let params = qjump.params();
    let rate = qjump.epoch().rate();
    format!("2 n P / R, with n = {}, P = {}, R = {rate}", params.applications, params.packet)
}

/// The bound, term by term.
pub(super) fn terms(out: &mut impl Write, page: &Page<'_>, decision: &Decision) -> io::Result<()> {
    let mut table = page.table(&["  term", "promised"]);
    for own in page.context.scheme.terms(decision.flow) {
        let (what, time) = term(page, own);
        table.add_row([format!("  {what}"), time.to_string()]);
    }
    table.add_row(["  total".to_owned(), decision.bound.to_string()]);
    write_table(out, &mut table)
}

/// What an admitted flow has taken, beside its bound.
pub(super) fn admitted(out: &mut impl Write, page: &Page<'_>, request: &Request, flow: FlowId) -> io::Result<()> {
    if let Scheme::Loko(loko) = page.context.scheme {
        let switches = loko.held(flow).into_iter().flat_map(|held| held.route.hops.iter().copied()).collect::<Vec<_>>();
        services(out, page, loko, &switches)?;
    }
    if let Scheme::Qjump(qjump) = page.context.scheme {
        shares(out, qjump, Some(flow))?;
        if let Some(held) = qjump.held(flow).filter(|held| held.demand.rate < request.rate) {
            let (held, asked) = (held.demand.rate.down(), request.rate.up());
            let only =
                format!("Its shaper lets {held} of {asked} through: what is promised is the latency, not the rate.");
            write_wrapped(out, &only)?;
        }
    }
    Ok(())
}

/// What a scheme without queues adds to a refusal.
pub(super) fn refused(out: &mut impl Write, page: &Page<'_>, refusal: &Refusal) -> io::Result<()> {
    if let (Scheme::Loko(loko), Refusal::Allocation { route, .. }) = (page.context.scheme, refusal) {
        services(out, page, loko, &route.hops)?;
    }
    let Scheme::Qjump(qjump) = page.context.scheme else { return Ok(()) };
    shares(out, qjump, None)?;
    if let Refusal::UnitRate { asked, .. } = refusal {
        let Level { factor, limit, .. } = qjump.epoch().level_for(*asked);
        let limit = limit.map_or_else(|| "any rate".to_owned(), |limit| limit.down());
        let level = format!("A level with throughput factor {factor} lets {limit} through, and bounds no latency.");
        write_wrapped(out, &level)?;
    }
    Ok(())
}

/// What is in use of the services on the way, against what they were allocated.
fn services(out: &mut impl Write, page: &Page<'_>, loko: &Loko, hops: &[Hop]) -> io::Result<()> {
    let (model, allocation) = (&loko.params().model, loko.allocation());
    let (rate, time) = (model.rate.down(), model.processing.up());
    writeln!(out, "\nServices on its way: R = {rate}, T = {time}, a buffer of {}", model.buffer)?;
    let (rate, burst, delay) = (allocation.rate.down(), allocation.burst, allocation.delay.up());
    writeln!(out, "  each accepts {rate} and bursts of {burst} in sum, and keeps no packet longer than {delay}")?;
    let mut table = page.table(&["  switch", "rate in use", "burst in use", "flows"]);
    for &hop in hops.iter().skip(1) {
        let used = loko.in_use(hop);
        let switch = &page.context.network.node(page.context.network.link(hop.link).from).name;
        let rate = Rate::from_bits_per_second(used.rate).up();
        table.add_row([format!("  {switch}"), rate, used.burst.to_string(), used.flows.to_string()]);
    }
    write_table(out, &mut table)
}

fn shares(out: &mut impl Write, qjump: &Qjump, flow: Option<FlowId>) -> io::Result<()> {
    let (unit, packet) = (qjump.epoch().unit().down(), qjump.params().packet);
    let (left, all) = (qjump.shares_left(), qjump.shares());
    writeln!(out, "\nShares of the epoch, each {packet} an epoch of {}, which is {unit}", qjump.epoch().length())?;
    let own = flow.and_then(|flow| qjump.shares_of(flow)).map_or_else(String::new, |own| format!("{own} for it, "));
    writeln!(out, "  {own}{} of {all} taken, {left} left", all - left)?;
    Ok(())
}
