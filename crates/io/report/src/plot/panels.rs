//! Small multiples: a panel for each line of a figure whose lines are too many to distinguish, all with the same axes.

use super::axis::Axis;
use super::{LEFT, MAX_LINES, Plot, PlotSize, RIGHT, TITLE};
use crate::markup::MarkupElement;
use crate::svg::{self, Anchor, FigureBackground, Position};

/// Maximum number of lines in one area: beyond it, colours and dashes cannot be distinguished.
const MAX_TOGETHER: usize = 6;
/// Panels side by side: two have room for their marks on a phone.
const COLUMNS: usize = 2;
/// Distance between panels side by side.
const BETWEEN: f64 = 10.0;
/// Maximum number of marks on an axis of a panel.
const MAX_MARKS: usize = 3;
/// Line with the name of the axis to the right, below all panels.
const X_NAME: f64 = 22.0;

impl Plot {
    /// Returns the figure for a page: one area, or a panel for each line if there are many.
    pub fn draw_readable(&self) -> MarkupElement {
        if self.lines.len() <= MAX_TOGETHER {
            return self.draw();
        }
        let width = (self.width - BETWEEN * (COLUMNS - 1) as f64) / COLUMNS as f64;
        let panels: Vec<Plot> = (0..self.drawn().len()).map(|line| self.panel(line, width)).collect();
        let row = panels.first().map_or(0.0, Plot::height);
        let titles = self.titles();
        let top = 10.0 + TITLE * titles.len() as f64;
        let rows = panels.len().div_ceil(COLUMNS) as f64;
        let more = self.lines.len().saturating_sub(MAX_LINES);
        let notes = [(!self.x_name.is_empty()).then(|| self.x_name.clone()), (more > 0).then(|| more_text(more))];
        let notes: Vec<String> = notes.into_iter().flatten().collect();
        let height = top + row * rows + X_NAME * notes.len() as f64;
        let figure =
            svg::figure(&self.id, (self.width, height), FigureBackground::Page, &self.title, &self.description);
        let title = |(line, text): (usize, &String)| {
            svg::text(Position { x: 0.0, y: 16.0 + TITLE * line as f64 }, Anchor::Start, "head", text)
        };
        let place = |(index, panel): (usize, &Plot)| {
            let column = (index % COLUMNS) as f64;
            let at = Position { x: column * (width + BETWEEN), y: top + row * (index / COLUMNS) as f64 };
            svg::moved(at, panel.parts())
        };
        let note = |(line, text): (usize, String)| {
            let at = Position { x: self.width / 2.0, y: top + row * rows + 14.0 + X_NAME * line as f64 };
            svg::text(at, Anchor::Middle, "quiet", text)
        };
        figure
            .children(titles.iter().enumerate().map(title))
            .children(panels.iter().enumerate().map(place))
            .children(notes.into_iter().enumerate().map(note))
    }

    /// Returns the panel of a line: it has the axes of the figure, with few marks.
    fn panel(&self, line: usize, width: f64) -> Self {
        let (x, x_marks) = thinned(&self.x, &self.x_marks);
        let (y, y_marks) = thinned(&self.y, &self.y_marks);
        let line = &self.lines[line];
        Self {
            id: String::new(),
            title: line.name.clone(),
            description: String::new(),
            x,
            x_marks,
            x_name: String::new(),
            y,
            y_marks,
            y_name: String::new(),
            bands: Vec::new(),
            width: width.max(LEFT + RIGHT + 1.0),
            styles: Vec::new(),
            lines: vec![line.clone()],
            size: PlotSize::Panel,
            ..self.clone()
        }
    }
}

fn more_text(more: usize) -> String {
    format!("not drawn: {more} more series; the tables list all")
}

/// Returns an axis with few of its marks, the first and the last among them, and their texts.
fn thinned(axis: &Axis, texts: &[String]) -> (Axis, Vec<String>) {
    let last = axis.marks.len().saturating_sub(1);
    let steps = (1..=last.max(1)).filter(|step| last.is_multiple_of(*step) && last / step < MAX_MARKS);
    let step = steps.min().unwrap_or(last.max(1));
    let marks = axis.marks.iter().copied().step_by(step).collect();
    (axis.with_marks(marks), texts.iter().step_by(step).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::plot;
    use super::*;

    #[test]
    fn sixteen_lines_have_a_panel_each_and_six_share_one_area() {
        let (six, sixteen) = (plot("t", 6, &["a", "b"]).draw_readable(), plot("t", 16, &["a", "b"]).draw_readable());
        let lines = |figure: &MarkupElement| figure.to_string().matches("<g transform").count();
        assert_eq!((lines(&six), lines(&sixteen)), (0, 16));
        assert!(!sixteen.to_string().contains("not drawn"));
        assert!(plot("t", 18, &["a", "b"]).draw_readable().to_string().contains("not drawn: 2 more series"));
    }

    #[test]
    fn axes_of_a_panel_keep_their_ends() {
        let axis = Axis::between(0.0, 10.0);
        let texts: Vec<String> = axis.marks.iter().map(ToString::to_string).collect();
        let (thin, texts) = thinned(&axis, &texts);
        assert_eq!((thin.marks.first(), thin.marks.last()), (axis.marks.first(), axis.marks.last()));
        assert!(thin.marks.len() <= MAX_MARKS && texts.len() == thin.marks.len(), "{:?}", thin.marks);
    }
}
