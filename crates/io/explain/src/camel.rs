//! Names of JSON members as the REST interface has them: camelCase, where plans and results of simulations have snake_case.

/// Returns a JSON text with the names of members in camelCase: `budget_ns` becomes `budgetNs`. Values, their order
/// and their digits stay as they are.
///
/// The member `scheme` is copied: some of its settings are named after services, and user-defined names are not
/// changed. The text must be output of serde; for other texts the result is not specified.
///
/// ```
/// use wayleave_explain::camel_case;
/// assert_eq!(camel_case(r#"{"rate_bps":1,"why":"rate_bps: 1"}"#), r#"{"rateBps":1,"why":"rate_bps: 1"}"#);
/// assert_eq!(camel_case(r#"{"scheme":{"of":{"web_a":1}},"a_b":2}"#), r#"{"scheme":{"of":{"web_a":1}},"aB":2}"#);
/// ```
pub fn camel_case(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(start) = rest.find('"') {
        out += &rest[..=start];
        let after = &rest[start + 1..];
        let (text, after) = after.split_at(end_of_string(after));
        let is_key = after.trim_start_matches('"').trim_start().starts_with(':');
        if is_key {
            push_camel(&mut out, text);
        } else {
            out += text;
        }
        let copied = if is_key && text == "scheme" { end_of_value(after) } else { after.len().min(1) };
        out += &after[..copied];
        rest = &after[copied..];
    }
    out += rest;
    out
}

/// Position at which a string ends, behind its opening quote.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    });
    end.unwrap_or(text.len())
}

/// Position at which the value of a member ends, from the closing quote of its name.
fn end_of_value(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 1);
    while let Some(byte) = text.as_bytes().get(at) {
        match byte {
            b'"' => at += 1 + end_of_string(&text[at + 1..]),
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    at.min(text.len())
}

fn push_camel(out: &mut String, key: &str) {
    let mut is_first_of_word = false;
    for char in key.chars() {
        match char {
            '_' => is_first_of_word = true,
            char if is_first_of_word => {
                out.push(char.to_ascii_uppercase());
                is_first_of_word = false;
            }
            char => out.push(char),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_members_change() {
        let of = |text: &str| camel_case(text);
        assert_eq!(
            of(r#"{ "a_b_c" : [ { "in_every_queue": null } ] }"#),
            r#"{ "aBC" : [ { "inEveryQueue": null } ] }"#
        );
        // Strings that look like names, quotes and backslashes in strings, and numbers that no double holds.
        let kept = r#"{"a":"x_y\": \\","b":["c_d","e_f"],"n":123456789012345678901234567890}"#;
        assert_eq!(of(kept), kept);
        assert_eq!(of(r#"{"a":"\\","b_c":"\""}"#), r#"{"a":"\\","bC":"\""}"#);
        assert_eq!((of(""), of("[]"), of(r#""a_b""#)), (String::new(), "[]".to_owned(), r#""a_b""#.to_owned()));
    }

    #[test]
    fn settings_of_schemes_are_copied_unchanged() {
        let inner = r#""scheme":{"x_y":["}",{"a_b":1}]}"#;
        assert_eq!(camel_case(&format!(r#"{{{inner},"c_d":1}}"#)), format!(r#"{{{inner},"cD":1}}"#));
        assert_eq!(camel_case(&format!(r#"{{"c_d":{{{inner}}},"e_f":2}}"#)), format!(r#"{{"cD":{{{inner}}},"eF":2}}"#));
        assert_eq!(camel_case(r#"{"scheme":"a_b","c_d":1}"#), r#"{"scheme":"a_b","cD":1}"#);
    }
}
