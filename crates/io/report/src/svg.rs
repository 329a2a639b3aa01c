//! Shapes: short names for the few elements of SVG that the figures are made of.

use super::markup::MarkupElement;
use super::palette;

/// A place in a figure, in pixels from its upper left corner.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// To the right.
    pub x: f64,
    /// Downwards.
    pub y: f64,
}

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Its upper left corner.
    pub at: Position,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

/// Alignment of a text at its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// It begins there.
    Start,
    /// Its middle is there.
    Middle,
    /// It ends there.
    End,
}

/// Place of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureBackground {
    /// In a page, which brings the colours.
    Page,
    /// In a file of its own, with its colours and a background.
    File,
}

impl FigureBackground {
    /// The space on either side of a figure: a page has its own.
    pub const fn side(self) -> f64 {
        match self {
            Self::Page => 2.0,
            Self::File => 16.0,
        }
    }

    /// Returns the height of the space above the figure, and a title if the figure is in a file.
    pub fn title(self, title: &str) -> (f64, Option<MarkupElement>) {
        match self {
            Self::Page => (0.0, None),
            Self::File => {
                let at = Position { x: self.side(), y: 30.0 };
                (44.0, Some(text(at, Anchor::Start, "title", title)))
            }
        }
    }
}

/// A figure that can be read aloud: title and description come first.
pub fn figure(
    id: &str,
    size: (f64, f64),
    background: FigureBackground,
    title: &str,
    description: &str,
) -> MarkupElement {
    let (title_id, description_id) = (format!("{id}-title"), format!("{id}-desc"));
    let (width, height) = size;
    let figure = MarkupElement::new("svg")
        .with("xmlns", "http://www.w3.org/2000/svg")
        .class("figure")
        .with("viewBox", format!("0 0 {} {}", number(width), number(height)))
        .with("role", "img")
        .with("aria-labelledby", format!("{title_id} {description_id}"))
        .child(MarkupElement::new("title").with("id", &title_id).text(title))
        .child(MarkupElement::new("desc").with("id", &description_id).text(description));
    match background {
        FigureBackground::Page => figure,
        FigureBackground::File => {
            let paper = Area { at: Position { x: 0.0, y: 0.0 }, width, height };
            let figure = figure.with("width", number(width)).with("height", number(height));
            figure.child(MarkupElement::new("style").text(palette::stylesheet())).child(rect(paper, "paper"))
        }
    }
}

/// A figure as the text of a file.
pub fn file(figure: &MarkupElement) -> String {
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{figure}\n")
}

/// A group.
pub fn group(children: impl IntoIterator<Item = MarkupElement>) -> MarkupElement {
    MarkupElement::new("g").children(children)
}

/// A group that is moved.
pub fn moved(to: Position, children: impl IntoIterator<Item = MarkupElement>) -> MarkupElement {
    MarkupElement::new("g")
        .with("transform", format!("translate({} {})", number(to.x), number(to.y)))
        .children(children)
}

/// A rectangle.
pub fn rect(area: Area, class: &str) -> MarkupElement {
    MarkupElement::new("rect")
        .class(class)
        .with("x", number(area.at.x))
        .with("y", number(area.at.y))
        .with("width", number(area.width))
        .with("height", number(area.height))
}

/// A straight line of a width.
pub fn line(from: Position, to: Position, width: f64, class: &str) -> MarkupElement {
    MarkupElement::new("line")
        .class(class)
        .with("x1", number(from.x))
        .with("y1", number(from.y))
        .with("x2", number(to.x))
        .with("y2", number(to.y))
        .with("stroke-width", number(width))
}

/// One line of text; `at` is on its baseline.
pub fn text(at: Position, anchor: Anchor, class: &str, text: impl Into<String>) -> MarkupElement {
    let element = MarkupElement::new("text").class(class).with("x", number(at.x)).with("y", number(at.y));
    let element = match anchor {
        Anchor::Start => element,
        Anchor::Middle => element.with("text-anchor", "middle"),
        Anchor::End => element.with("text-anchor", "end"),
    };
    element.text(text)
}

/// Two decimals are below what is seen.
pub fn number(value: f64) -> String {
    let rounded = format!("{value:.2}");
    let trimmed = rounded.trim_end_matches('0').trim_end_matches('.');
    if trimmed == "-0" { "0".to_owned() } else { trimmed.to_owned() }
}

impl Area {
    /// Returns `true` if two rectangles share any point.
    #[cfg(test)]
    pub fn overlaps(&self, other: &Area) -> bool {
        self.at.x < other.at.x + other.width
            && other.at.x < self.at.x + self.width
            && self.at.y < other.at.y + other.height
            && other.at.y < self.at.y + self.height
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let short = [(1.0, "1"), (0.5, "0.5"), (10.0, "10"), (1.234_5, "1.23"), (-0.001, "0"), (100.0, "100")];
        for (value, expected) in short {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn areas_that_only_touch_do_not_overlap() {
        let area = |x: f64| Area { at: Position { x, y: 0.0 }, width: 10.0, height: 5.0 };
        assert!(!area(0.0).overlaps(&area(10.0)));
        assert!(area(0.0).overlaps(&area(9.9)));
    }
}
