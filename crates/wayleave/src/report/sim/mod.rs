//! The report of `wayleave sim`: one page with everything in it, a pure function of the results.
//!
//! | module | what |
//! |---|---|
//! | [`figures`] | which lines are drawn of a run |
//! | [`tables`] | the tables of a run |
//! | [`sweep`] | figures and tables of a sweep |
//! | [`page`] | `report.html` |

pub(crate) mod figures;
pub(crate) mod page;
pub(crate) mod sweep;
pub(crate) mod tables;
#[cfg(test)]
mod tests;
