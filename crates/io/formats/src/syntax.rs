//! Syntax errors in the words of the person who made them.

use granit_parser::{ErrorKind, ScanError};
use serde::de::IgnoredAny;

use crate::location::{SourceLocation, Span, boundary};
use crate::messages::is_invisible;
use crate::problem::Message;

/// Returns the position of a syntax error, and its message.
pub(crate) fn explain(text: &str, error: &ScanError) -> (Span, Message) {
    let at = boundary(text, error.marker().byte_offset().unwrap_or(text.len()));
    let too_deep = *error.kind() == ErrorKind::RecursionLimitExceeded;
    match as_json(text).filter(|_| !too_deep) {
        Some(opinion) => opinion,
        None => (place(text, at, error.kind()), describe(text, error.kind())),
    }
}

/// The character that is meant: some errors are reported where the value begins that the character spoils.
fn place(text: &str, at: usize, kind: &ErrorKind) -> Span {
    let at = match kind {
        ErrorKind::UnexpectedCharacter { character } => text[at..].find(*character).map_or(at, |offset| at + offset),
        kind if is_about_a_tab(kind) => nearest_tab(text, at).unwrap_or(at),
        _ => at,
    };
    Span::new(at..next_character(text, at))
}

fn is_about_a_tab(kind: &ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::TabNotAllowed
            | ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabInPlainScalar
            | ErrorKind::TabAtBlockScalarStart
    )
}

/// The tab before the place on its line, or else the next one.
fn nearest_tab(text: &str, at: usize) -> Option<usize> {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    text[line..at].rfind('\t').map(|tab| line + tab).or_else(|| Some(at + text[at..].find('\t')?))
}

fn describe(text: &str, kind: &ErrorKind) -> Message {
    match kind {
        ErrorKind::UnclosedFlowCollection { open } => unclosed(text, *open),
        ErrorKind::UnclosedQuotedScalar => unclosed(text, '"'),
        ErrorKind::UnexpectedCharacter { character } if is_invisible(*character) => {
            let message =
                format!("the invisible character {} is not allowed in a text file", character.escape_unicode());
            (message, "remove it: YAML and JSON do not allow it").into()
        }
        ErrorKind::UnexpectedCharacter { character } => {
            let message = format!("the character {character} is not allowed here");
            (message, "put the value into quotation marks if it belongs to it").into()
        }
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            format!("a \"{open}\" is closed by a \"{close}\"").into()
        }
        kind if is_about_a_tab(kind) => "YAML does not allow a tab here: indent with spaces".into(),
        kind => match advice(kind) {
            Some((message, "")) => message.into(),
            Some(advice) => advice.into(),
            None => format!("invalid YAML: {kind}").into(),
        },
    }
}

/// Returns the message about an unclosed bracket or quotation, which swallows the rest of the file: often the file
/// was cut off.
fn unclosed(text: &str, open: char) -> Message {
    let end = text.trim_end().len();
    let last_line = SourceLocation::new(text, Span::new(end..end)).line;
    let (what, close) = match open {
        '[' => ("this \"[\" is", "add the \"]\""),
        '{' => ("this \"{\" is", "add the \"}\""),
        _ => ("this quotation mark is", "add the closing one"),
    };
    let message = format!("{what} never closed: the file ends on line {last_line}");
    (message, format!("{close}, or look whether the file was cut off")).into()
}

/// Returns the message and the hint, which may be empty, for errors without values.
fn advice(kind: &ErrorKind) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        ErrorKind::RecursionLimitExceeded => ("lists and mappings are nested too deeply here", ""),
        ErrorKind::UnknownAnchor => ("this alias (*name) refers to an anchor (&name) that does not exist", ""),
        ErrorKind::MappingValueNotAllowed => (
            "a colon is not allowed here",
            "a line of the same mapping begins in the same column as the one above; \
             text that contains \": \" needs quotation marks",
        ),
        ErrorKind::InvalidColonPlacement => {
            ("a colon is not allowed here", "look whether a bracket above it was not closed")
        }
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            ("a key needs a colon after it", "write `key: value`, with a space after the colon")
        }
        ErrorKind::InvalidQuotedScalarIndent => {
            ("the quoted text that began above continues here", "look whether its closing mark is missing")
        }
        ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofFlowSequence
        | ErrorKind::UnexpectedEofImplicitFlowMapping => ("a value is missing here", ""),
        ErrorKind::MissingAnchorOrAliasName => (
            "* and & begin an alias or an anchor, which needs a name",
            "an item of a list begins with \"- \"; other text that begins so needs quotation marks",
        ),
        ErrorKind::ExpectedDocumentStart => (
            "the document ended above: this line does not belong to it",
            "a line of the same mapping begins in the same column as the first one",
        ),
        ErrorKind::UnknownQuotedScalarEscape => {
            ("a backslash in \"...\" begins an escape that is not known", "write \\\\, or use '...'")
        }
        ErrorKind::ExpectedFlowMappingSeparator => ("a comma or a closing } is expected here", ""),
        ErrorKind::ExpectedFlowSequenceSeparator => ("a comma or a closing ] is expected here", ""),
        ErrorKind::ExpectedBlockSequenceEntry => {
            ("the list above continues with \"- \" in the same column: this line does not belong to it", "")
        }
        ErrorKind::ExpectedBlockMappingKey => ("a key is expected here, in the same column as the keys above", ""),
        ErrorKind::MisplacedFlowCollectionEnd => ("this bracket closes nothing", ""),
        ErrorKind::InvalidTrailingSingleQuotedScalar => (
            "nothing can follow the closing quotation mark here",
            "inside '...' a quotation mark is written twice: 'it''s'",
        ),
        ErrorKind::InvalidTrailingDoubleQuotedScalar => (
            "nothing can follow the closing quotation mark here",
            "inside \"...\" a quotation mark is written \\\"; a key needs a colon after it",
        ),
        _ => return None,
    })
}

/// Returns the error of a JSON parser, if the text is meant to be JSON and is malformed.
fn as_json(text: &str) -> Option<(Span, Message)> {
    let inside = text.trim_start().strip_prefix(['{', '['])?.trim_start();
    if !inside.starts_with(['"', '{', '[', '}', ']']) {
        // Flow-style YAML with bare keys: JSON's opinion would be about the missing quotation marks.
        return None;
    }
    let error = serde_json::from_str::<IgnoredAny>(text).err()?;
    let stated = error.to_string();
    let reason = stated.split(" at line ").next().unwrap_or_default();
    if error.is_eof() {
        let end = text.trim_end().len();
        let message = format!("the JSON ends before everything that was opened is closed ({reason})");
        return Some((Span::new(end..end), (message, "look whether the file was cut off").into()));
    }
    let at = offset_of(text, error.line(), error.column());
    let span = Span::new(at..next_character(text, at));
    Some((span, format!("invalid JSON: {reason}").into()))
}

/// The byte at which a line and column of `serde_json` (both from 1, columns in bytes) point.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let start = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
    boundary(text, start + column.saturating_sub(1))
}

fn next_character(text: &str, at: usize) -> usize {
    text[at..].chars().next().map_or(at, |c| at + c.len_utf8())
}
