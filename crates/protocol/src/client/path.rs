//! Names in addresses.

/// A name as a part of a path or a query: names of links have `>`, `#` and `/` in them (RFC 3986, section 2.3).
pub fn encode(name: &str) -> String {
    let mut text = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text += &format!("%{byte:02X}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_meaning_in_addresses_is_written_as_its_bytes() {
        assert_eq!(encode("acme:web-1.a_b~"), "acme:web-1.a_b~");
        assert_eq!(encode("h1->s1#2/?&ü"), "h1-%3Es1%232%2F%3F%26%C3%BC");
    }
}
