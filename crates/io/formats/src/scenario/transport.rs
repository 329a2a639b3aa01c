//! Transport of reliable flows.

use wayleave_scenarios::{Congestion, Pacing, TransportConfig};
use wayleave_schemes::transports::TRANSPORTS;

use super::scalars::{small, unknown_word};
use super::schemes::{self, SchemeChoice};
use crate::fields::{Fields, Shape};
use crate::problem::Problems;
use crate::tree::Node;

pub(crate) const TRANSPORT: Shape = Shape {
    what: "a transport",
    keys: &["congestion", "mtu", "initialWindow", "minTimeout", "firstTimeout", "maxWindow", "pacing"],
};
pub(crate) const CONGESTION: SchemeChoice =
    SchemeChoice { what: "a congestion control", word: "congestion control", all: TRANSPORTS };

const PACING: [&str; 2] = ["off", "window"];

/// Reads a transport: a congestion control, or a mapping; absent keys are as in `usual`.
pub(super) fn read(node: &Node<'_>, usual: &TransportConfig, problems: &mut Problems<'_>) -> Option<TransportConfig> {
    if node.text().is_some() {
        return Some(TransportConfig { congestion: read_congestion(node, problems)?, ..usual.clone() });
    }
    let fields = Fields::read(node, &TRANSPORT, problems)?;
    let congestion =
        fields.get("congestion").map_or(Some(usual.congestion.clone()), |node| read_congestion(node, problems));
    let mtu = fields.get("mtu").map_or(Some(usual.mtu), |node| node.quantity(problems));
    let initial = fields.get("initialWindow").map_or(Some(usual.initial_window), |node| small(node, problems));
    let timeout = fields.get("minTimeout").map_or(Some(usual.min_timeout), |node| node.quantity(problems));
    let first = fields.get("firstTimeout").map_or(Some(usual.first_timeout), |node| node.quantity(problems));
    let most = fields.get("maxWindow").map_or(Some(usual.max_window), |node| small(node, problems));
    let pacing = fields.get("pacing").map_or(Some(usual.pacing), |node| read_pacing(node, problems));
    Some(TransportConfig {
        congestion: congestion?,
        mtu: mtu?,
        initial_window: initial?,
        min_timeout: timeout?,
        first_timeout: first?,
        max_window: most?,
        pacing: pacing?,
    })
}

fn read_pacing(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Pacing> {
    match node.expect_text(problems)? {
        "off" => Some(Pacing::Off),
        "window" => Some(Pacing::Window),
        other => {
            unknown_word(node, "pacing", other, &PACING, problems);
            None
        }
    }
}

fn read_congestion(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Congestion> {
    let (scheme, given) = schemes::read(node, &CONGESTION, None, problems)?;
    Congestion::of(scheme.name, &given)
}
