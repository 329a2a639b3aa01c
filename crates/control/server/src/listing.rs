//! Lists of names in problems.

/// Returns the first names of a list of this length.
pub(crate) fn list(names: Vec<String>, length: usize) -> String {
    let more = length.saturating_sub(names.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

/// Returns `contract a`, or `contracts a, b and 3 more`.
pub(crate) fn contracts(names: Vec<String>, length: usize) -> String {
    let noun = if length == 1 { "contract" } else { "contracts" };
    format!("{noun} {}", list(names, length))
}
