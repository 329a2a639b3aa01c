//! A bar for each name.

use super::{CHARACTER, WIDTH, shortened};
use crate::markup::MarkupElement;
use crate::scale::ShareOfWhole;
use crate::svg::{self, Anchor, Area, FigureBackground, Position};

/// Returns a bar for each name, with its share and a text.
pub fn bars(id: &str, title: &str, description: &str, rows: &[(String, ShareOfWhole, String)]) -> MarkupElement {
    const ROW: f64 = 24.0;
    const BAR: f64 = 12.0;
    const NAME: f64 = 190.0;
    const VALUE: f64 = 64.0;
    let full = WIDTH - NAME - VALUE;
    let mut parts = vec![svg::text(Position { x: 0.0, y: 16.0 }, Anchor::Start, "head", title)];
    for (index, (name, share, text)) in rows.iter().enumerate() {
        let y = 34.0 + index as f64 * ROW;
        let area = |width| Area { at: Position { x: NAME, y }, width, height: BAR };
        let baseline = y + BAR - 2.0;
        let name = shortened(name, ((NAME - 8.0) / CHARACTER) as usize);
        parts.push(svg::text(Position { x: 0.0, y: baseline }, Anchor::Start, "", name));
        parts.push(svg::rect(area(full), "pipe"));
        parts.push(svg::rect(area(share.length(full)), "step2"));
        parts.push(svg::text(Position { x: WIDTH, y: baseline }, Anchor::End, "", text));
    }
    let height = 34.0 + rows.len() as f64 * ROW + 4.0;
    svg::figure(id, (WIDTH, height), FigureBackground::Page, title, description).children(parts)
}
