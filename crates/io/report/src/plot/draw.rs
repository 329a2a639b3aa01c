//! A figure of lines with its title, its legend and its frame.

use super::frame::{self, Frame};
use super::{Band, CHARACTER, Join, LEGEND_SAMPLE, Plot, PlotSize, TITLE, path, shortened};
use crate::markup::MarkupElement;
use crate::svg::{self, Anchor, Area, FigureBackground, Position, number};

impl Band {
    /// In a line of the legend.
    fn legend(&self, Position { x, y }: Position) -> [MarkupElement; 2] {
        let sample = Area { at: Position { x, y: y - 10.0 }, width: 28.0, height: 12.0 };
        [svg::rect(sample, "band"), svg::text(Position { x: x + 36.0, y }, Anchor::Start, "", &self.label)]
    }
}

impl Plot {
    /// The figure, for a page.
    pub fn draw(&self) -> MarkupElement {
        svg::figure(&self.id, (self.width, self.height()), FigureBackground::Page, &self.title, &self.description)
            .children(self.parts())
    }

    /// Returns the parts of the plot, for a figure of several plots.
    pub fn parts(&self) -> Vec<MarkupElement> {
        let lines = self.drawn();
        let frame = Frame { top: self.top(), plot: self, lines: lines.len() };
        let title = |(line, text): (usize, &String)| {
            let class = if self.size == PlotSize::Panel { "strong" } else { "head" };
            svg::text(Position { x: 0.0, y: 16.0 + TITLE * line as f64 }, Anchor::Start, class, text)
        };
        let mut parts: Vec<MarkupElement> = self.titles().iter().enumerate().map(title).collect();
        let named = if self.size == PlotSize::Panel { &[] } else { lines };
        parts.extend(named.iter().enumerate().flat_map(|(index, line)| self.legend(index, &line.name)));
        parts.extend((lines.len()..).zip(&self.bands).flat_map(|(index, band)| band.legend(self.legend_at(index))));
        if !self.y_name.is_empty() {
            let at = Position { x: 0.0, y: self.top() - 14.0 };
            parts.push(svg::text(at, Anchor::Start, "quiet", &self.y_name));
        }
        parts.extend(frame.bands());
        parts.extend(frame.uncounted());
        parts.extend(frame.grid());
        parts.extend(lines.iter().enumerate().flat_map(|(index, line)| frame.line(index, line)));
        parts
    }

    fn legend(&self, index: usize, name: &str) -> Vec<MarkupElement> {
        let Position { x, y } = self.legend_at(index);
        let most = ((self.width - LEGEND_SAMPLE) / CHARACTER) as usize;
        let style = self.style(index);
        let line = path(&format!("M{} {} H{}", number(x), number(y - 4.0), number(x + 28.0)), &style.class("line"));
        let mark = frame::mark(style, Position { x: x + 14.0, y: y - 4.0 });
        let sample = match self.join {
            Join::Apart | Join::Marks => vec![mark],
            Join::Dots => vec![line, mark],
            Join::Steps | Join::Straight => vec![line],
        };
        let text = svg::text(Position { x: x + 36.0, y }, Anchor::Start, "", shortened(name, most));
        sample.into_iter().chain([text]).collect()
    }
}
