//! Elements of HTML and SVG as values, written as text that is both well-formed XML and HTML.

use std::fmt;

/// An element with its attributes and children.
#[derive(Clone, Debug)]
pub struct MarkupElement {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Child>,
}

#[derive(Clone, Debug)]
enum Child {
    Text(String),
    Element(MarkupElement),
}

/// HTML's elements without an end tag; every other element gets one, because HTML does not know `<td/>`.
const VOID: [&str; 5] = ["br", "col", "hr", "link", "meta"];

impl MarkupElement {
    /// An empty element.
    pub const fn new(name: &'static str) -> Self {
        Self { name, attributes: Vec::new(), children: Vec::new() }
    }

    /// With an attribute.
    pub fn with(mut self, name: &'static str, value: impl fmt::Display) -> Self {
        self.attributes.push((name, value.to_string()));
        self
    }

    /// With a class, as the stylesheet calls it.
    pub fn class(self, class: &str) -> Self {
        self.with("class", class)
    }

    /// With text in it.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.children.push(Child::Text(text.into()));
        self
    }

    /// With another element in it.
    pub fn child(mut self, child: MarkupElement) -> Self {
        self.children.push(Child::Element(child));
        self
    }

    /// With several elements in it.
    pub fn children(mut self, children: impl IntoIterator<Item = MarkupElement>) -> Self {
        self.children.extend(children.into_iter().map(Child::Element));
        self
    }

    /// Returns `true` if all children are elements. Each is then written on a separate line, which is not visible in
    /// the result.
    fn is_block(&self) -> bool {
        !self.children.is_empty() && self.children.iter().all(|child| matches!(child, Child::Element(_)))
    }
}

impl fmt::Display for MarkupElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}", self.name)?;
        for (name, value) in &self.attributes {
            write!(f, " {name}=\"{}\"", escape(value))?;
        }
        if VOID.contains(&self.name) {
            return f.write_str("/>");
        }
        f.write_str(">")?;
        let is_block = self.is_block();
        for child in &self.children {
            if is_block {
                f.write_str("\n")?;
            }
            match child {
                Child::Text(text) => f.write_str(&escape(text))?,
                Child::Element(element) => element.fmt(f)?,
            }
        }
        if is_block {
            f.write_str("\n")?;
        }
        write!(f, "</{}>", self.name)
    }
}

/// Escapes text for use between tags and in quoted attributes. `>` stays: scripts must be equal in HTML, which does
/// not unescape them. Characters that XML forbids are replaced.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' => escaped.push(character),
            _ if character.is_control() || matches!(character, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_parsed_back_after_escaping() {
        let nasty = "a<b>&\"c\" ]] </title><script>'x'";
        let element = MarkupElement::new("g").with("id", nasty).child(MarkupElement::new("title").text(nasty));
        let text = element.to_string();
        let document = roxmltree::Document::parse(&text).unwrap();
        assert_eq!(document.root_element().attribute("id"), Some(nasty));
        assert_eq!(document.root_element().first_element_child().unwrap().text(), Some(nasty));
    }

    #[test]
    fn characters_that_xml_forbids_are_replaced() {
        let text = MarkupElement::new("title").text("a\u{1}b\u{7f}\u{ffff}").to_string();
        assert_eq!(text, "<title>a\u{fffd}b\u{fffd}\u{fffd}</title>");
        assert!(roxmltree::Document::parse(&text).is_ok());
    }

    #[test]
    fn an_empty_cell_has_an_end_tag_and_a_line_break_has_none() {
        assert_eq!(MarkupElement::new("td").to_string(), "<td></td>");
        assert_eq!(MarkupElement::new("br").to_string(), "<br/>");
    }
}
