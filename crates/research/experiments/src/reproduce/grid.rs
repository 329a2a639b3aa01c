//! A table as a part of a picture: text that is wrapped into cells.

use crate::Table;

use wayleave_report::markup::MarkupElement;
use wayleave_report::svg::{self, Anchor, Position};

/// A line of text.
const LINE: f64 = 17.0;
/// The space around the text of a cell.
const PAD: f64 = 8.0;
/// The mean width of a character, generously: text is wrapped by it.
const CHARACTER: f64 = 6.9;
/// The same of a head, which is bold.
const STRONG_CHARACTER: f64 = 7.8;
/// The space of the title and the heads.
const HEAD: f64 = 52.0;

/// A table that is laid out.
pub(super) struct Grid {
    /// Its height.
    pub(super) height: f64,
    /// Parts of the picture.
    pub(super) parts: Vec<MarkupElement>,
}

/// Lays a table out in a width.
pub(super) fn lay(table: &Table, width: f64) -> Grid {
    let widths = widths(table, width);
    let lefts: Vec<f64> = widths
        .iter()
        .scan(0.0, |at, width| {
            let left = *at;
            *at += width;
            Some(left)
        })
        .collect();
    let mut parts = vec![svg::text(Position { x: 0.0, y: 16.0 }, Anchor::Start, "head", &table.title)];
    let heads: Vec<Vec<String>> = in_columns(&table.columns, &widths, STRONG_CHARACTER);
    for (&x, lines) in lefts.iter().zip(&heads) {
        for (at, line) in (0..).zip(lines) {
            parts.push(svg::text(Position { x, y: HEAD - 10.0 + f64::from(at) * LINE }, Anchor::Start, "strong", line));
        }
    }
    let mut top = HEAD + heads.iter().map(Vec::len).max().unwrap_or(1).saturating_sub(1) as f64 * LINE;
    for row in &table.rows {
        parts.push(svg::line(Position { x: 0.0, y: top - 4.0 }, Position { x: width, y: top - 4.0 }, 1.0, "rule"));
        let cells = in_columns(row, &widths, CHARACTER);
        for (&x, lines) in lefts.iter().zip(&cells) {
            for (at, line) in (0..).zip(lines) {
                let y = top + 11.0 + f64::from(at) * LINE;
                parts.push(svg::text(Position { x, y }, Anchor::Start, "", line));
            }
        }
        top += cells.iter().map(Vec::len).max().unwrap_or(1) as f64 * LINE + 6.0;
    }
    Grid { height: top, parts }
}

/// Width of a capital relative to other characters.
const CAPITAL: f64 = 1.35;

/// The width of a text, generously.
fn length(text: &str, character: f64) -> f64 {
    let of = |letter: char| if letter.is_uppercase() || "+%&@".contains(letter) { CAPITAL } else { 1.0 };
    text.chars().map(of).sum::<f64>() * character
}

/// Texts in columns of these widths, line by line.
fn in_columns(texts: &[String], widths: &[f64], character: f64) -> Vec<Vec<String>> {
    let cell = |(text, width): (&String, &f64)| {
        let mut lines = vec![String::new()];
        for word in text.split_whitespace() {
            let Some(line) = lines.last_mut() else { continue };
            let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
            match line.is_empty() || length(&longer, character) <= width - PAD {
                true => *line = longer,
                false => lines.push(word.to_owned()),
            }
        }
        lines
    };
    texts.iter().zip(widths).map(cell).collect()
}

/// Returns columns as wide as their longest cell, if there is room; the widest are reduced first, down to their
/// longest word.
fn widths(table: &Table, width: f64) -> Vec<f64> {
    let widest = |at: usize, of: &dyn Fn(&str, f64) -> f64| {
        let head = table.columns.get(at).map_or(0.0, |head| of(head, STRONG_CHARACTER));
        let cells = table.rows.iter().filter_map(|row| row.get(at)).map(|cell| of(cell, CHARACTER));
        cells.fold(head, f64::max)
    };
    let word = |text: &str, character: f64| {
        text.split_whitespace().map(|word| length(word, character)).fold(0.0, f64::max) + PAD
    };
    let columns = 0..table.columns.len();
    // Heads are wrapped sooner than cells: they are longer than the cells below them.
    let cell = |text: &str, character: f64| length(text, character.min(CHARACTER)) + 2.0 * PAD;
    let mut widths: Vec<f64> = columns.clone().map(|at| widest(at, &cell)).collect();
    let wanted: f64 = widths.iter().sum();
    if wanted > width {
        let words: Vec<f64> = columns.map(|at| widest(at, &word)).collect();
        // Narrow columns are kept; the others share the rest in proportion to their wanted width.
        let fair = width / widths.len().max(1) as f64;
        let narrow: f64 = widths.iter().filter(|&&of| of <= fair).sum();
        let wide = wanted - narrow;
        widths.iter_mut().filter(|of| **of > fair).for_each(|of| *of *= (width - narrow) / wide);
        // A word that is longer than its column would reach into the next one: those with space give it.
        let lacks = |widths: &[f64]| widths.iter().zip(&words).map(|(of, word)| (word - of).max(0.0)).sum::<f64>();
        let spare = |widths: &[f64]| widths.iter().zip(&words).map(|(of, word)| (of - word).max(0.0)).sum::<f64>();
        let part = (lacks(&widths) / spare(&widths).max(1e-9)).min(1.0);
        if words.iter().sum::<f64>() > width {
            return widths;
        }
        for (of, word) in widths.iter_mut().zip(&words) {
            *of = if *of < *word { *word } else { *of - part * (*of - word) };
        }
    }
    widths
}

/// Wraps a text into lines of at most `most` characters.
pub(super) fn wrapped(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { continue };
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > most {
            lines.push(word.to_owned());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_wrapped_between_words_and_nothing_is_lost() {
        assert_eq!(wrapped("one two three four", 9), ["one two", "three", "four"]);
        assert_eq!(wrapped("", 9), [""]);
        assert_eq!(wrapped("unbreakable", 4), ["", "unbreakable"][1..]);
    }

    #[test]
    fn names_in_capitals_do_not_reach_into_the_next_column() {
        let row = |name: &str| [name, "304 of 304", "220; 2.73 of its deadline; 0 lost"].map(str::to_owned).to_vec();
        let table = Table {
            name: "t".to_owned(),
            title: "t".to_owned(),
            columns: ["system", "latency contracts admitted", "violations; slowest packet"].map(str::to_owned).to_vec(),
            rows: vec![row("one fabric"), row("ECMP+DCTCP")],
        };
        // Ten capitals of DejaVu Sans at 12 px take 92 px.
        let widths = widths(&table, 300.0);
        assert!(widths[0] > 92.0, "{widths:?}");
        assert!((widths.iter().sum::<f64>() - 300.0).abs() < 1e-6, "{widths:?}");
    }

    #[test]
    fn narrow_columns_stay_and_wide_ones_share_the_remaining_width() {
        let cell = |length: usize| "x".repeat(length);
        let table = Table {
            name: "t".to_owned(),
            title: "t".to_owned(),
            columns: vec![cell(3), cell(4), cell(4)],
            rows: vec![vec![cell(3), cell(200), cell(100)]],
        };
        let widths = widths(&table, 600.0);
        assert!((widths.iter().sum::<f64>() - 600.0).abs() < 1e-6, "{widths:?}");
        assert!(widths[0] < 40.0 && widths[1] > 1.8 * widths[2], "{widths:?}");
    }
}
