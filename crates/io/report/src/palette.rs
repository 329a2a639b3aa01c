//! The colours, for light and dark, and the stylesheet of the figures.
//!
//! One hue from less to more, in even steps of lightness, so that it also reads without colour; the tests hold every
//! text and every shape to the contrast that WCAG 2.2 asks of them (4.5 and 3). Explicit rules rather than variables:
//! viewers that are no browsers know no variables, and show the light colours.

use std::fmt::Write;

/// A colour in each scheme, as `#rrggbb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// On light paper, and in print.
    pub light: &'static str,
    /// On dark paper.
    pub dark: &'static str,
}

const fn colour(light: &'static str, dark: &'static str) -> Colour {
    Colour { light, dark }
}

/// The background.
pub const PAPER: Colour = colour("#ffffff", "#13171c");
/// Text.
pub const INK: Colour = colour("#1b2733", "#e6ebf0");
/// Text of less importance.
pub const QUIET: Colour = colour("#55636f", "#9fb0bf");
/// Capacity of a link: the pipe around the reserved rate.
pub const PIPE: Colour = colour("#e2e7eb", "#272f38");
/// Outlines and rules.
pub const RULE: Colour = colour("#c3ccd4", "#3a4550");
/// The body of a node.
pub const NODE: Colour = colour("#ffffff", "#1c232a");
/// The ground behind a pod.
pub const POD: Colour = colour("#f7f8fa", "#181d23");

/// From less to more.
pub const STEPS: [Colour; 5] = [
    colour("#5b94c6", "#4e7fae"),
    colour("#3d7cb4", "#6699c8"),
    colour("#24639c", "#86b4dc"),
    colour("#114a80", "#abcfee"),
    colour("#06305c", "#d8ebfb"),
];

/// Distinct colours of lines; each line also has its own dashes and marks for readers who see no colours.
pub const LINES: [Colour; 8] = [
    colour("#0b5cad", "#7ab8f5"),
    colour("#b34700", "#f2a65a"),
    colour("#1a7a3c", "#6cc98a"),
    colour("#8a3ab9", "#c9a0ee"),
    colour("#b0256b", "#f08bbd"),
    colour("#5f6b76", "#b6c2cc"),
    colour("#00737d", "#5fc7d0"),
    colour("#7a5b00", "#d9b84a"),
];
/// The ground of a range that a text names.
pub const BAND: Colour = colour("#f4ead2", "#3a3320");

/// The rules that do not depend on the scheme.
const SHAPES: &str = "\
svg text { font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif; \
font-size: 12px; font-variant-numeric: tabular-nums; }
svg text.head { font-size: 16px; font-weight: 600; }
svg text.title { font-size: 19px; font-weight: 650; }
svg text.label { font-size: 10.5px; }
svg text.strong { font-weight: 600; }
svg line { stroke-linecap: butt; }
svg .node { stroke-width: 1; }
svg path.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg path.spread { fill: none; stroke-width: 1.2; opacity: 0.75; }
svg path.interval { fill: none; stroke-width: 3.6; }
svg path.line.second { stroke-width: 1; }
svg path.mark.second { stroke-width: 1.2; }
svg path.line.s1 { stroke-dasharray: 7 3; }
svg path.line.s2 { stroke-dasharray: 2 3; }
svg path.line.s3 { stroke-dasharray: 9 3 2 3; }
svg path.line.s4 { stroke-dasharray: 4 2; }
svg path.line.s5 { stroke-dasharray: 12 4; }
svg path.line.s6 { stroke-dasharray: 3 3 8 3; }
svg path.line.s7 { stroke-dasharray: 1 2; }
";

/// Class, property and colour of everything that is drawn.
fn rules() -> Vec<(String, &'static str, Colour)> {
    let mut rules: Vec<(String, &'static str, Colour)> = [
        ("rect.paper", "fill", PAPER),
        ("rect.node", "fill", NODE),
        ("rect.node", "stroke", QUIET),
        ("rect.pod", "fill", POD),
        ("rect.band", "fill", BAND),
        ("rect.pipe", "fill", PIPE),
        ("line.pipe", "stroke", PIPE),
        ("line.rule", "stroke", RULE),
        ("text", "fill", INK),
        ("text.quiet", "fill", QUIET),
    ]
    .map(|(selector, property, colour)| (selector.to_owned(), property, colour))
    .to_vec();
    for (step, &colour) in STEPS.iter().enumerate() {
        rules.push((format!("line.step{step}"), "stroke", colour));
        rules.push((format!("rect.step{step}"), "fill", colour));
    }
    for (line, &colour) in LINES.iter().enumerate() {
        rules.push((format!("path.s{line}"), "stroke", colour));
        rules.push((format!("path.mark.s{line}"), "fill", colour));
    }
    // After those above, which weigh as much.
    rules.push(("path.mark.second".to_owned(), "fill", PAPER));
    rules
}

/// The stylesheet of the figures, for a page or a file of its own. It contains nothing that HTML and XML read
/// differently.
pub fn stylesheet() -> String {
    let mut css = SHAPES.to_owned();
    let mut dark = String::new();
    for (selector, property, colour) in rules() {
        // Writing to a String does not fail.
        let _ = writeln!(css, "svg {selector} {{ {property}: {}; }}", colour.light);
        let _ = writeln!(dark, "svg {selector} {{ {property}: {}; }}", colour.dark);
    }
    // Paper is light, regardless of the screen.
    let _ = writeln!(css, "@media screen and (prefers-color-scheme: dark) {{\n{dark}}}");
    css
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance, WCAG 2.2.
    fn luminance(hex: &str) -> f64 {
        let channel = |at: usize| {
            let value = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_text_has_a_contrast_of_at_least_4_5_on_every_background() {
        for text in [INK, QUIET] {
            for background in [PAPER, NODE, POD, BAND] {
                assert!(contrast(text.light, background.light) >= 4.5, "{text:?} on {background:?}");
                assert!(contrast(text.dark, background.dark) >= 4.5, "{text:?} on {background:?}");
            }
        }
    }

    #[test]
    fn every_step_has_a_contrast_of_at_least_3_and_exceeds_the_previous_one() {
        for of in [|colour: Colour| colour.light, |colour: Colour| colour.dark] {
            let contrasts: Vec<f64> = STEPS.iter().map(|&step| contrast(of(step), of(PAPER))).collect();
            assert!(contrasts[0] >= 3.0, "{contrasts:?}");
            assert!(contrasts.windows(2).all(|pair| pair[1] > 1.2 * pair[0]), "{contrasts:?}");
        }
    }

    #[test]
    fn every_line_has_a_contrast_of_at_least_3_on_paper() {
        for line in LINES {
            assert!(contrast(line.light, PAPER.light) >= 3.0 && contrast(line.dark, PAPER.dark) >= 3.0, "{line:?}");
        }
    }

    #[test]
    fn the_stylesheet_reads_the_same_in_html_and_xml() {
        assert!(!stylesheet().contains(['<', '&', '"']));
    }
}
