//! Lists of names in problems.

/// Returns the first names of a list of this length.
pub(crate) fn list(names: Vec<String>, length: usize) -> String {
    let more = length.saturating_sub(names.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}
