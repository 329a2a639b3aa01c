//! Scalars of YAML that mean the text they were made from.

use std::borrow::Cow;

/// Returns the text as a YAML scalar: plain if that is safe, otherwise quoted.
pub(crate) fn scalar(text: &str) -> Cow<'_, str> {
    if is_plain(text) { Cow::Borrowed(text) } else { Cow::Owned(quoted(text)) }
}

/// Letters, digits and a few signs, beginning with a letter, and no word that YAML 1.1 or 1.2 reads as something else.
fn is_plain(text: &str) -> bool {
    const SPECIAL: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte))
        && !SPECIAL.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// In double quotation marks, as JSON writes it: everything but printable ASCII and letters is escaped.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            ' '..='~' => quoted.push(c),
            c if c.is_alphanumeric() => quoted.push(c),
            c => {
                let mut units = [0; 2];
                c.encode_utf16(&mut units).iter().for_each(|unit| quoted.push_str(&format!("\\u{unit:04x}")));
            }
        }
    }
    quoted + "\""
}
