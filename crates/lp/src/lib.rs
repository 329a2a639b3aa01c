//! Bounds from linear programs.
