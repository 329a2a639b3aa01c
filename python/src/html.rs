//! Output for notebooks: pictures whose styles do not affect others, tables, and texts.

use std::fmt::Write;

/// A text that HTML shows as it is.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A paragraph in front of pictures and more.
pub(crate) fn page<'s>(title: &str, pictures: impl IntoIterator<Item = &'s str>, more: &str) -> String {
    let pictures: String = pictures.into_iter().map(picture).collect();
    format!("<div class=\"wayleave\"><p>{}</p>{pictures}{more}</div>", escaped(title))
}

/// A text of fixed width.
pub(crate) fn listing(text: &str) -> String {
    format!("<pre>{}</pre>", escaped(text))
}

/// Embeds a picture as an image: directly in the page, its stylesheet would colour other pictures of a notebook.
fn picture(svg: &str) -> String {
    format!("<img alt=\"\" style=\"max-width:100%\" src=\"data:image/svg+xml,{}\"/>", percent(svg))
}

/// A text in a URL.
fn percent(text: &str) -> String {
    let mut url = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~ :=/;,()".contains(&byte) {
            url.push(char::from(byte));
        } else {
            // Writing to a String does not fail.
            let _ = write!(url, "%{byte:02X}");
        }
    }
    url
}

/// The first rows of a table, how many there are, and where it comes from.
pub(crate) fn page_of_table(
    names: &[String],
    rows: impl Iterator<Item = Vec<String>>,
    all: usize,
    provenance: &str,
) -> String {
    let row = |tag: &str, cells: &[String]| {
        let cells: String = cells.iter().map(|cell| format!("<{tag}>{cell}</{tag}>")).collect();
        format!("<tr>{cells}</tr>")
    };
    let mut shown = 0;
    let body: String = rows.inspect(|_| shown += 1).map(|cells| row("td", &cells)).collect();
    let head = row("th", names);
    let more = if all > shown { format!("{shown} of {all} rows; ") } else { String::new() };
    format!("<table><thead>{head}</thead><tbody>{body}</tbody></table><p><small>{more}{provenance}</small></p>")
}
