//! Complete explanation of a contract of another kind than latency: its promise and the assumption, the links with
//! the least room or the blocking link, with the holders of shares there, and the nearest request that would fit.

use std::cmp::Reverse;
use std::io::{self, Write};

use comfy_table::Cell;
use serde::Serialize;
use wayleave_contracts::{Contract, Endpoints};
use wayleave_ledger::{Ledger, ReservedShare};
use wayleave_scheme_api::{Admission, Certainty, Refusal};
use wayleave_schemes::registry::Scheme;
use wayleave_schemes::share_request;
use wayleave_topology::{Class, LinkId, ShortBuffer};
use wayleave_units::{Rate, Time};

use crate::context::Context;
use crate::human::Human;
use crate::sentences;
use crate::shapes::{self, ShortBufferJson};
use crate::share::{DecidedShare, ShareJson};
use crate::table::{TableLayout, plain_table, write_table, write_wrapped};

/// Maximum number of links, and of holders of a link, that are shown: those with the least room come first.
const SHOWN: usize = 8;

/// A contract of another kind than latency, with the explanation of its decision.
#[derive(Clone, Copy)]
pub struct ExplainedShare<'a> {
    /// The contract and its decision.
    pub decided: DecidedShare<'a>,
    /// Its share, if it was admitted and has a promise.
    pub share: Option<&'a ReservedShare>,
    /// For a refusal: the nearest that would fit.
    pub nearest: Option<NearestShare>,
}

/// Requests that would fit in place of a refused one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NearestShare {
    /// With this minimum, if any would fit.
    #[serde(rename = "min_bps", serialize_with = "bits", skip_serializing_if = "Option::is_none")]
    pub min: Option<Rate>,
    /// With this time.
    #[serde(rename = "within_ns", serialize_with = "nanos", skip_serializing_if = "Option::is_none")]
    pub within: Option<Time>,
    /// Without a time.
    pub without_within: bool,
}

#[expect(clippy::ref_option, reason = "serde calls it so")]
fn bits<S: serde::Serializer>(rate: &Option<Rate>, serializer: S) -> Result<S::Ok, S::Error> {
    rate.map(Rate::bits_per_second).serialize(serializer)
}

#[expect(clippy::ref_option, reason = "serde calls it so")]
fn nanos<S: serde::Serializer>(time: &Option<Time>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(Time::as_nanos).serialize(serializer)
}

impl NearestShare {
    /// Returns the requests that would fit in place of a refused contract, given the admitted contracts.
    pub fn of(scheme: &Scheme, contract: &Contract, refusal: &Refusal) -> Self {
        let without = || {
            let request = share_request(contract).filter(|request| request.within.is_some());
            request.is_some_and(|request| {
                scheme.would_admit_share(&wayleave_scheme_api::ShareRequest { within: None, ..request }).is_ok()
            })
        };
        match *refusal {
            Refusal::ClassRate { fits, .. } => {
                Self { min: Some(fits).filter(|&fits| fits > Rate::ZERO), ..Self::default() }
            }
            Refusal::SlowMinimum { bound, .. } => {
                Self { within: Some(bound), without_within: without(), ..Self::default() }
            }
            Refusal::ClassDelay { .. } => Self { without_within: without(), ..Self::default() },
            _ => Self::default(),
        }
    }

    /// In one clause; `None` if nothing is known to fit.
    pub fn sentence(&self) -> Option<String> {
        let min = self.min.map(|min| format!("a minimum of {}", min.down()));
        let within = self.within.map(|within| format!("within {}", within.up()));
        let without = self.without_within.then(|| "the requested minimum without `within`".to_owned());
        let all: Vec<String> = [min, within, without].into_iter().flatten().collect();
        (!all.is_empty()).then(|| all.join(", or "))
    }
}

/// Returns the assumption of a promise; docs/theory/admission.md, section 14.
pub fn assumption(contract: &Contract, certainty: Option<Certainty>) -> Option<&'static str> {
    match (contract, certainty?) {
        (Contract::Bandwidth(bandwidth), certainty) => Some(match (&bandwidth.between, certainty) {
            (Endpoints::Pair(..), Certainty::Proven) => {
                "senders respect their congestion window and use this route, and buffers hold all packets in flight"
            }
            (Endpoints::Pair(..), Certainty::Measured) => {
                "senders respect their congestion window and use this route, and hoses that share links with it spread their pairs over the paths (measured, not guaranteed)"
            }
            (Endpoints::Hose(_), Certainty::Proven) => {
                "packets take shortest paths, senders respect their congestion window, and buffers hold all packets in flight"
            }
            (Endpoints::Hose(_), Certainty::Measured) => {
                "hosts spread their pairs over the paths (measured, not guaranteed)"
            }
        }),
        (Contract::Objective(_), _) => Some("hosts share links by these weights"),
        (Contract::Latency(_) | Contract::BestEffort(_), _) => None,
    }
}

/// The same as JSON.
#[derive(Serialize)]
pub struct SharedExplanation<'a> {
    contract: ShareJson<'a>,
    /// Promise or reason for the refusal, as a sentence.
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    assumption: Option<&'static str>,
    links: Vec<SharedLinkJson<'a>>,
    /// Buffers on its paths that may be too small for the queued traffic of minima.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    short_buffers: Vec<ShortBufferJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nearest: Option<NearestShare>,
}

/// A link that a share uses, or would.
#[derive(Serialize)]
struct SharedLinkJson<'a> {
    link: &'a str,
    class: &'static str,
    line_bps: u64,
    /// By latency contracts.
    reserved_bps: u64,
    /// To the class, this contract included if it was admitted.
    promised_bps: u64,
    /// That could still be promised to the class.
    left_bps: u64,
    /// Of the class, by name.
    holders: Vec<&'a str>,
    /// Of the class, how many more.
    #[serde(skip_serializing_if = "is_zero")]
    more_holders: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl<'a> SharedExplanation<'a> {
    /// Of a contract as it is decided now.
    pub fn of(context: &Context<'a>, explained: &ExplainedShare<'a>) -> Self {
        let ExplainedShare { decided, nearest, .. } = *explained;
        let certainty = decided.decision.as_ref().ok().and_then(|decision| Some(decision.as_ref()?.certainty));
        Self {
            contract: ShareJson::of(context.network, &decided),
            message: sentences::sentence(&decided.sentence(context.network)),
            assumption: assumption(decided.contract, certainty),
            links: links(context, explained),
            short_buffers: short_buffers(context, explained)
                .iter()
                .map(|short| shapes::short_buffer(context.network, short))
                .collect(),
            nearest,
        }
    }
}

/// Returns buffers on the paths of a minimum that may be too small, the largest shortfall first.
fn short_buffers(context: &Context<'_>, explained: &ExplainedShare<'_>) -> Vec<ShortBuffer> {
    let Some((ledger, share)) = context.ledger().zip(explained.share) else { return Vec::new() };
    if share.class() != Class::Guaranteed || explained.decided.decision.is_err() {
        return Vec::new();
    }
    let mut short: Vec<_> =
        ledger.links_of_share(share).into_iter().filter_map(|link| ledger.short_buffer(link)).collect();
    short.sort_by_key(|short| (Reverse(short.needed.saturating_sub(short.buffer)), short.link));
    short.truncate(SHOWN);
    short
}

/// The link that keeps a contract out, or those of its own where least is left.
fn links<'a>(context: &Context<'a>, explained: &ExplainedShare<'a>) -> Vec<SharedLinkJson<'a>> {
    let Some(ledger) = context.ledger() else {
        return Vec::new();
    };
    let class = explained.decided.contract.kind().class();
    let binding = match explained.decided.decision {
        Err(Refusal::ClassRate { link, .. } | Refusal::ClassDelay { link, .. } | Refusal::LinkDown { link }) => {
            Some(*link)
        }
        _ => None,
    };
    let mut links: Vec<LinkId> = binding.into_iter().collect();
    links.extend(explained.share.map(|share| ledger.links_of_share(share)).unwrap_or_default());
    links.sort_by_key(|&link| (ledger.left_for(link, class), link));
    links.dedup();
    links.truncate(SHOWN);
    links.into_iter().map(|link| link_shape(context, ledger, link, class)).collect()
}

fn link_shape<'a>(context: &Context<'a>, ledger: &Ledger, link: LinkId, class: Class) -> SharedLinkJson<'a> {
    let of_class = |id| ledger.share(id).is_some_and(|share| share.class() == class);
    let holders: Vec<_> = ledger.shares_on(link).into_iter().filter(|&id| of_class(id)).collect();
    let shown = holders.iter().take(SHOWN).map(|&id| context.names.name_of_share(id));
    let capacity = ledger.capacity(link, class);
    SharedLinkJson {
        link: &context.network.link(link).name,
        class: class.name(),
        line_bps: context.network.link(link).rate.bits_per_second(),
        reserved_bps: ledger.reserved(link).bits_per_second(),
        promised_bps: capacity.map_or(0, |capacity| capacity.reserved.bits_per_second()),
        left_bps: capacity.map_or(0, |capacity| capacity.available.bits_per_second()),
        more_holders: holders.len().saturating_sub(SHOWN),
        holders: shown.collect(),
    }
}

/// The same for people.
///
/// # Errors
/// If it cannot be written.
pub fn write_share(
    out: &mut impl Write,
    context: &Context<'_>,
    explained: &ExplainedShare<'_>,
    layout: TableLayout,
) -> io::Result<()> {
    let SharedExplanation { message, assumption, links, nearest, .. } = SharedExplanation::of(context, explained);
    let decided = &explained.decided;
    let verdict = match decided.decision {
        Ok(Some(decision)) => format!("admitted, {}", decision.certainty.name()),
        Ok(None) => "admitted".to_owned(),
        Err(refusal) => format!("refused, {}", refusal.reason().code()),
    };
    let (name, kind) = (decided.contract.name(), decided.contract.kind().name());
    writeln!(out, "{name}: {verdict}\n  {kind} of {}\n\nWhy", decided.ends(context.network))?;
    write_wrapped(out, &message)?;
    if let Some(assumption) = assumption {
        writeln!(out, "\nAssumption")?;
        write_wrapped(out, &sentences::sentence(assumption))?;
    }
    let short = short_buffers(context, explained);
    if !short.is_empty() {
        writeln!(
            out,
            "\nBuffers that may be too small: if they drop packets, the time to reach the minimum is unknown"
        )?;
        for short in &short {
            writeln!(out, "  {}", sentences::short_buffer(context.network, short))?;
        }
    }
    if !links.is_empty() {
        let title = if decided.decision.is_ok() { "Fullest links" } else { "Limiting link" };
        writeln!(out, "\n{title}")?;
        write_links(out, &links, layout)?;
    }
    if let Some(nearest) = nearest.and_then(|nearest| nearest.sentence()) {
        writeln!(out, "\nNearest request that would fit\n  {nearest}")?;
    }
    Ok(())
}

fn write_links(out: &mut impl Write, links: &[SharedLinkJson<'_>], layout: TableLayout) -> io::Result<()> {
    let headings = ["link", "class", "line rate", "latency contracts", "reserved", "left", "held by"];
    let mut table = plain_table(&headings, layout);
    for link in links {
        let rate = |bits| Rate::from_bits_per_second(bits);
        let mut holders = link.holders.join(", ");
        if link.more_holders > 0 {
            holders += &format!(" and {} more", link.more_holders);
        }
        table.add_row([
            Cell::new(format!("  {}", link.link)),
            Cell::new(link.class),
            Cell::new(rate(link.line_bps).down()),
            Cell::new(rate(link.reserved_bps).up()),
            Cell::new(rate(link.promised_bps).up()),
            Cell::new(rate(link.left_bps).down()),
            Cell::new(holders),
        ]);
    }
    write_table(out, &mut table)
}
