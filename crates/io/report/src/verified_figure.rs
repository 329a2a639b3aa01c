//! Figure of packet delays relative to their bounds: the distribution over all packets, and every contract's slowest
//! packet.

use super::findings::VerifiedSet;
use super::markup::MarkupElement;
use super::numbers;
use super::svg::{self, Anchor, FigureBackground, Position, number};

const PANEL: f64 = 560.0;
const GAP: f64 = 72.0;
const LEFT: f64 = 64.0;
/// Room for half of the last mark's text.
const RIGHT: f64 = 24.0;
const TOP: f64 = 44.0;
const HEIGHT: f64 = 280.0;
const BOTTOM: f64 = 52.0;
/// Marks of both axes of shares, in quarters.
const QUARTERS: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// The figure.
pub fn draw(verified: &VerifiedSet) -> MarkupElement {
    let size = (2.0 * PANEL + GAP, TOP + HEIGHT + BOTTOM);
    let title = "Packet delay relative to the bound";
    let figure = svg::figure("verified", size, FigureBackground::Page, title, &description(verified));
    let right = Position { x: PANEL + GAP, y: 0.0 };
    figure.children(distribution(verified)).child(svg::moved(right, contracts(verified)))
}

fn description(verified: &VerifiedSet) -> String {
    let largest =
        verified.contracts.first().map_or_else(|| "nothing".to_owned(), |first| numbers::percent(first.share()));
    format!(
        "Left: distribution of packet delay as a share of the bound. Right: one dot for each contract, with its bound and the delay of its slowest packet. The largest delay was {largest} of the bound."
    )
}

/// Returns the position of a share of the width and of the height.
fn at(x: f64, y: f64) -> Position {
    Position { x: LEFT + x * (PANEL - LEFT - RIGHT), y: TOP + (1.0 - y) * HEIGHT }
}

fn heading(text: &str) -> MarkupElement {
    svg::text(Position { x: 0.0, y: 18.0 }, Anchor::Start, "head", text)
}

fn below(text: &str) -> MarkupElement {
    let middle = at(0.5, 0.0);
    svg::text(Position { x: middle.x, y: middle.y + 40.0 }, Anchor::Middle, "quiet", text)
}

/// Rules at the marks of both axes, with their texts.
fn grid(x: &[(f64, String)], y: &[(f64, String)]) -> Vec<MarkupElement> {
    let mut parts = Vec::new();
    for (share, text) in x {
        let (low, high) = (at(*share, 0.0), at(*share, 1.0));
        parts.push(svg::line(low, high, 1.0, "rule"));
        parts.push(svg::text(Position { x: low.x, y: low.y + 18.0 }, Anchor::Middle, "quiet", text));
    }
    for (share, text) in y {
        let (left, right) = (at(0.0, *share), at(1.0, *share));
        parts.push(svg::line(left, right, 1.0, "rule"));
        parts.push(svg::text(Position { x: left.x - 8.0, y: left.y + 4.0 }, Anchor::End, "quiet", text));
    }
    parts
}

fn distribution(verified: &VerifiedSet) -> Vec<MarkupElement> {
    let marks = || QUARTERS.map(|share| (share, format!("{:.0} %", share * 100.0)));
    let mut parts =
        vec![heading("All packets"), below("packet delay as a share of the bound; the right edge is the bound")];
    parts.extend(grid(&marks(), &marks()));
    let mut d = String::new();
    let mut before = 0.0;
    for (index, &(share, fraction)) in verified.shares.iter().enumerate() {
        let (from, to) = (at(share.min(1.0), before), at(share.min(1.0), fraction));
        let command =
            if index == 0 { format!("M{} {}", number(from.x), number(from.y)) } else { format!("H{}", number(from.x)) };
        d += &format!("{command} V{} ", number(to.y));
        before = fraction;
    }
    if !d.is_empty() {
        d += &format!("H{}", number(at(1.0, 1.0).x));
        parts.push(curve(&d, 2.0));
    }
    let bound = |y| at(1.0, y);
    parts.push(svg::line(bound(0.0), bound(1.0), 2.0, "step4"));
    parts
}

fn curve(d: &str, width: f64) -> MarkupElement {
    let path = MarkupElement::new("path").class("s0").with("fill", "none").with("stroke-width", number(width));
    path.with("stroke-linecap", "round").with("d", d.trim_end())
}

/// Every contract on two logarithmic axes of the same length.
fn contracts(verified: &VerifiedSet) -> Vec<MarkupElement> {
    let times = || verified.contracts.iter().flat_map(|contract| [contract.bound, contract.worst]);
    let nanos = |time: wayleave_units::Time| time.as_nanos().max(1);
    let low = times().map(nanos).min().unwrap_or(1).ilog10();
    let high = times().map(nanos).max().unwrap_or(1).ilog10() + 1;
    let decades = f64::from(high - low);
    let share = |nanos: u64| ((nanos as f64).log10() - f64::from(low)) / decades;
    let marks: Vec<(f64, String)> = (low..=high)
        .map(|power| {
            (f64::from(power - low) / decades, wayleave_units::Time::from_nanos(10_u64.pow(power)).to_string())
        })
        .collect();
    let mut parts =
        vec![heading("Every contract"), below("x: bound; y: delay of the slowest packet; the line is the bound")];
    parts.extend(grid(&marks, &marks));
    parts.push(svg::line(at(0.0, 0.0), at(1.0, 1.0), 2.0, "step4"));
    let mut d = String::new();
    for contract in &verified.contracts {
        let dot = at(share(nanos(contract.bound)), share(nanos(contract.worst)));
        d += &format!("M{} {}h0 ", number(dot.x), number(dot.y));
    }
    parts.push(curve(&d, 3.5));
    parts
}
