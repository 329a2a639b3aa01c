//! The match of a contract: which packets it is for.

use std::net::IpAddr;
use std::num::NonZeroU16;
use std::str::FromStr;

use wayleave_contracts::{Match, Protocol};

use crate::fields::{Fields, Shape};
use crate::messages::{did_you_mean, nearest, quoted};
use crate::problem::{ProblemKind, Problems};
use crate::tree::Node;

pub(crate) const MATCH: Shape = Shape {
    what: "a match",
    keys: &["protocol", "sourceAddress", "sourcePort", "destinationAddress", "destinationPort"],
};

/// Reads a match; `None` if something is wrong with it.
pub(crate) fn read(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Match> {
    let mark = problems.mark();
    let fields = Fields::read(node, &MATCH, problems)?;
    let protocol = protocol(&fields, problems);
    let address = |key, problems: &mut _| value::<IpAddr>(&fields, key, "an IP address such as 10.0.0.1", problems);
    let port = |key, problems: &mut _| value::<NonZeroU16>(&fields, key, "a port from 1 to 65535", problems);
    let matching = Match {
        protocol,
        source_address: address("sourceAddress", problems),
        source_port: port("sourcePort", problems),
        destination_address: address("destinationAddress", problems),
        destination_port: port("destinationPort", problems),
    };
    // A field that could not be read is absent, so its consequences are not reported.
    if problems.mark() > mark {
        return None;
    }
    if let Err(error) = matching.validate() {
        let span = error.field().map_or(node.span, |field| fields.value_span(field));
        problems.report(ProblemKind::Impossible, span, || error.to_string());
        return None;
    }
    Some(matching)
}

fn protocol(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<Protocol> {
    let node = fields.get("protocol")?;
    let text = node.expect_text(problems)?;
    match text.parse() {
        Ok(protocol) => Some(protocol),
        Err(error) => {
            problems.report(ProblemKind::BadValue, node.span, || {
                let near = nearest(text, Protocol::NAMED.map(|(name, _)| name));
                (format!("unknown protocol {}{}", quoted(text), did_you_mean(near)), format!("{error}"))
            });
            None
        }
    }
}

fn value<T: FromStr>(fields: &Fields<'_, '_>, key: &str, expected: &str, problems: &mut Problems<'_>) -> Option<T> {
    let node = fields.get(key)?;
    let text = node.expect_text(problems)?;
    let value = text.parse().ok().filter(|_| !text.starts_with('+'));
    if value.is_none() {
        let message = || format!("{} is not accepted: expected {expected}", quoted(text));
        problems.report(ProblemKind::BadValue, node.span, message);
    }
    value
}
