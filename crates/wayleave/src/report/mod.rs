//! What `wayleave demo` shows: text for the terminal, pictures, and a page, each a pure function of
//! [`findings::Findings`].
//!
//! Nothing here asks a ledger or a clock. Every figure is rounded once, by [`numbers`], so the terminal and the page say
//! the same; the pictures are SVG written by hand ([`markup`], [`svg`]), since two figures need no plotting library.
//!
//! | module | what |
//! |---|---|
//! | [`findings`] | the plain data |
//! | [`numbers`] | numbers as text |
//! | [`terminal`] | the text |
//! | [`markup`], [`svg`], [`palette`], [`scale`] | elements, shapes, colours, axes |
//! | [`fat_tree`] | where the nodes and lanes of a fat tree are drawn |
//! | [`network_figure`], [`queue_figure`], [`verified_figure`] | the pictures |
//! | [`plot`] | lines and points over two axes, bars: for the reports of `wayleave sim` and the figures of `reproduce` |
//! | `pictures` | networks, plans, runs and sweeps, each in a file of its own |
//! | [`tables`], [`page`] | `report.html` |

pub(crate) mod fat_tree;
pub(crate) mod findings;
pub(crate) mod markup;
pub(crate) mod network_figure;
pub(crate) mod numbers;
pub(crate) mod page;
pub(crate) mod palette;
mod pictures;
pub(crate) mod plot;
pub(crate) mod queue_figure;
pub(crate) mod scale;
pub(crate) mod sim;
pub(crate) mod svg;
pub(crate) mod tables;
pub(crate) mod terminal;
pub(crate) mod verified_figure;

#[cfg(test)]
pub(crate) mod sample;
