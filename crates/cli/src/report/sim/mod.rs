//! The report of `wayleave sim`.

pub(crate) mod page;
