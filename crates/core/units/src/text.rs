//! Text from outside: the characters that deceive a reader or a terminal, and their display.
//!
//! Control characters move the cursor, set titles and colours, and begin lines (ECMA-48). Bidirectional controls show
//! a text in another order than it has (Unicode UAX #9, sections 2.1 to 2.6). Invisible characters make two names
//! look alike (Unicode UTS #39, section 3).

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt::Write;

/// Returns `true` if a character is a control character, a bidirectional control, or invisible.
///
/// ```
/// use wayleave_units::is_deceptive;
/// assert!(['\n', '\u{1b}', '\u{9b}', '\u{202e}', '\u{200b}', '\u{feff}'].into_iter().all(is_deceptive));
/// assert!(!['a', ' ', '\u{a0}', 'ä', '中', '"'].into_iter().any(is_deceptive));
/// ```
pub fn is_deceptive(character: char) -> bool {
    matches!(
        character,
        // Cc: C0, DEL, C1.
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        // Soft hyphen, combining grapheme joiner, Hangul and Khmer fillers, Mongolian vowel separator.
        | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180e}' | '\u{3164}' | '\u{ffa0}'
        // Bidirectional: Arabic letter mark; marks beside the zero widths; embeddings, overrides, isolates. Separators of lines and paragraphs.
        | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        // Variation selectors, byte order mark, interlinear annotations, tags.
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns `true` if no character of a text is deceptive.
pub fn is_plain(text: &str) -> bool {
    !text.contains(is_deceptive)
}

/// Returns a text with its deceptive characters as JSON escapes them: `\u001b`. In a JSON string the value does not
/// change.
///
/// ```
/// use wayleave_units::escaped;
/// assert_eq!(escaped("a\u{1b}]0;\u{7}\nb"), "a\\u001b]0;\\u0007\\u000ab");
/// assert_eq!(escaped("\u{e0041}"), "\\udb40\\udc41");
/// assert_eq!(escaped("plain"), "plain");
/// ```
pub fn escaped(text: &str) -> Cow<'_, str> {
    escaped_but(text, &[])
}

/// Returns a text as `escaped` does, but leaves some characters as they are.
pub fn escaped_but<'a>(text: &'a str, kept: &[char]) -> Cow<'a, str> {
    let is_escaped = |character: char| is_deceptive(character) && !kept.contains(&character);
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if !is_escaped(character) {
            shown.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            // Writing to a string does not fail.
            let _ = write!(shown, "\\u{unit:04x}");
        }
    }
    Cow::Owned(shown)
}
