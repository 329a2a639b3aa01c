//! Comments of source files in the languages of the repository, as paragraphs of text.

/// A line of a comment.
struct Line<'a> {
    number: usize,
    words: &'a str,
    /// `true` for the first line of a comment.
    begins: bool,
}

/// A paragraph of a comment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Paragraph {
    /// Number of its first line.
    pub(crate) line: usize,
    /// `true` for the first paragraph of a comment.
    pub(crate) is_first: bool,
    pub(crate) text: String,
}

/// Returns the comments of a source file, or `None` if its language is not known.
pub(crate) fn comments(path: &str, text: &str) -> Option<Vec<Paragraph>> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let lines = match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "rs" => marked(text, &["//!", "///", "//"]),
        "c" | "h" | "css" | "js" | "mjs" | "ts" | "tsx" => slashed(text),
        "py" => python(text),
        "toml" | "yaml" | "yml" | "sh" | "service" => marked(text, &["#"]),
        _ if text.starts_with("#!") || name == "Makefile" => marked(text, &["#"]),
        _ => return None,
    };
    Some(paragraphs(lines))
}

/// Lines that are only a comment, which begins with one of the prefixes. Another prefix begins another comment.
fn marked<'a>(text: &'a str, prefixes: &[&'static str]) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let mut previous = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let prefix = prefixes.iter().find(|prefix| line.starts_with(**prefix) && !line.starts_with("#!")).copied();
        if let Some(prefix) = prefix {
            lines.push(Line { number, words: line[prefix.len()..].trim(), begins: previous != Some(prefix) });
        }
        previous = prefix;
    }
    lines
}

/// Comments of C and its relatives: lines that are only a comment, and blocks, also behind code.
fn slashed(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let (mut in_block, mut follows) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        let opened = if in_block { None } else { line.find("/*").filter(|_| !line.starts_with("//")) };
        if in_block || opened.is_some() {
            let begins = !in_block;
            let rest = opened.map_or(line, |at| &line[at..]);
            let (words, is_closed) = rest.split_once("*/").map_or((rest, false), |(words, _)| (words, true));
            lines.push(Line { number, words: words.trim_start_matches(['/', '*']).trim(), begins });
            in_block = !is_closed;
            follows = false;
        } else if let Some(words) = line.strip_prefix("//") {
            lines.push(Line { number, words: words.trim(), begins: !follows });
            follows = true;
        } else {
            follows = false;
        }
    }
    lines
}

/// Comments and documentation strings of Python: strings of several lines that begin a line.
fn python(text: &str) -> Vec<Line<'_>> {
    const QUOTES: &str = "\"\"\"";
    let mut lines = Vec::new();
    // `Some(true)` inside of a documentation string, `Some(false)` inside of another string of several lines.
    let (mut string, mut follows) = (None, false);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        let quotes = line.matches(QUOTES).count();
        let begins = string.is_none() && line.starts_with(QUOTES);
        if begins || string == Some(true) {
            let words = line.trim_start_matches(QUOTES).split(QUOTES).next().unwrap_or_default().trim();
            // Examples of the interpreter are code.
            let words = if words.starts_with(">>>") { "" } else { words };
            lines.push(Line { number, words, begins });
            string = (begins == (quotes == 1)).then_some(true);
            follows = false;
        } else if string == Some(false) || quotes % 2 == 1 {
            string = (string.is_none() == (quotes % 2 == 1)).then_some(false);
            follows = false;
        } else if let Some(words) = line.strip_prefix('#').filter(|words| !words.starts_with('!')) {
            lines.push(Line { number, words: words.trim(), begins: !follows });
            follows = true;
        } else {
            follows = false;
        }
    }
    lines
}

/// Returns `true` for the target of a reference link: `[name]: target`.
fn is_link_target(words: &str) -> bool {
    words.starts_with('[') && words.contains("]: ")
}

/// Joins lines to paragraphs. Code and tables are left out.
fn paragraphs(lines: Vec<Line<'_>>) -> Vec<Paragraph> {
    let mut found: Vec<Paragraph> = Vec::new();
    let (mut is_open, mut in_code, mut is_first) = (false, false, false);
    for Line { number, words, begins } in lines {
        if begins {
            (is_open, in_code, is_first) = (false, false, true);
        }
        if words.starts_with("```") {
            (is_open, in_code) = (false, !in_code);
        } else if in_code || words.is_empty() || words.starts_with('|') || is_link_target(words) {
            is_open = false;
        } else if is_open && !words.starts_with("- ") {
            let paragraph = &mut found.last_mut().unwrap().text;
            paragraph.push(' ');
            paragraph.push_str(words);
        } else {
            found.push(Paragraph { line: number, is_first, text: words.trim_start_matches("- ").to_owned() });
            (is_open, is_first) = (true, false);
        }
    }
    found
}

fn expected(paragraphs: &[(usize, bool, &str)]) -> Option<Vec<Paragraph>> {
    let paragraphs = paragraphs.iter();
    Some(paragraphs.map(|&(line, is_first, text)| Paragraph { line, is_first, text: text.to_owned() }).collect())
}

#[test]
fn comments_of_rust_begin_with_each_prefix() {
    let text = "//! Parses.\n//!\n//! - a\n//!   b\n/// Returns.\n// Why.\nf();\n// ```\n// code\n";
    let paragraphs = [(1, true, "Parses."), (3, false, "a b"), (5, true, "Returns."), (6, true, "Why.")];
    assert_eq!(comments("a/b.rs", text), expected(&paragraphs));
}

#[test]
fn comments_of_c_are_lines_and_blocks_also_behind_code() {
    let text =
        "/* A frame,\n * parsed.\n *\n * More. */\nint a; /* bytes */\n  int b; /* packets */\n// Line\n// two.\n";
    let paragraphs = [
        (1, true, "A frame, parsed."),
        (4, false, "More."),
        (5, true, "bytes"),
        (6, true, "packets"),
        (7, true, "Line two."),
    ];
    assert_eq!(comments("a/b.c", text), expected(&paragraphs));
    assert_eq!(comments("a/b.tsx", "/** A bar. */\nf();\n"), expected(&[(1, true, "A bar.")]));
}

#[test]
fn comments_of_python_include_documentation_strings() {
    let text = "#!/usr/bin/python\n\"\"\"Draws.\n\nMore,\nmuch.\n\n>>> draw()\n\"\"\"\n# One.\nx = \"\"\"\n# no\n\"\"\"\n# Two.\n";
    let paragraphs = [(2, true, "Draws."), (4, false, "More, much."), (9, true, "One."), (13, true, "Two.")];
    assert_eq!(comments("a/b.py", text), expected(&paragraphs));
}

#[test]
fn comments_of_scripts_begin_with_a_hash() {
    let paragraphs = [(2, true, "Builds all."), (5, true, "Then runs.")];
    assert_eq!(comments("a/run", "#!/bin/sh\n# Builds\n# all.\necho \"# no\"\n# Then runs.\n"), expected(&paragraphs));
    assert_eq!(comments("Makefile", "\n# Builds\n# all.\n\n# Then runs.\n"), expected(&paragraphs));
    assert_eq!(comments("a/b.csv", "# no"), None);
}
