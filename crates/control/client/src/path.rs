//! Names in addresses.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Unreserved characters (RFC 3986, section 2.3), and the colon of a contract's id.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');

/// A name as a part of a path or a query: names of links have `>`, `#` and `/` in them.
pub fn encode(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_characters_of_addresses_are_percent_encoded() {
        assert_eq!(encode("acme:web-1.a_b~"), "acme:web-1.a_b~");
        assert_eq!(encode("h1->s1#2/?&ü"), "h1-%3Es1%232%2F%3F%26%C3%BC");
    }
}
