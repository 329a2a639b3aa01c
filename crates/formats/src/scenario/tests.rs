//! Paths into a tree.
