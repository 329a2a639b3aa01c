//! Lists with gaps, by index.

/// Sets the entry of an index.
pub(crate) fn set<T>(list: &mut Vec<Option<T>>, index: usize, entry: T) {
    if list.len() <= index {
        list.resize_with(index + 1, || None);
    }
    list[index] = Some(entry);
}
