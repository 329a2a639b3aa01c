//! Reports of Wayleave: numbers as text, text for the terminal, plots, tables and pages, each a pure function of
//! plain data.
//!
//! Nothing here accesses a ledger or a clock. Every figure is rounded once, by [`numbers`], so the terminal and the
//! page agree. Plots are SVG, written through [`markup`] and [`svg`].
//!
//! | module | content |
//! |---|---|
//! | [`numbers`] | numbers as text |
//! | [`markup`], [`svg`], [`palette`], [`scale`] | elements, shapes, colours, axes |
//! | [`plot`] | lines and points over two axes, bars |
//! | [`tables`], [`page`] | tables of a page, and the page of `wayleave demo` |
//! | [`findings`], [`terminal`] | the results of `wayleave demo` as plain data, and their text |
//! | [`fat_tree`], [`network_figure`], [`queue_figure`], [`verified_figure`] | figures of that page |
//! | [`sim`] | results of the simulator: their document, text and page |

pub mod fat_tree;
pub mod findings;
pub mod markup;
pub mod network_figure;
pub mod numbers;
pub mod page;
pub mod palette;
pub mod plot;
pub mod queue_figure;
pub mod scale;
pub mod sim;
pub mod svg;
pub mod tables;
pub mod terminal;
pub mod verified_figure;

#[cfg(test)]
mod sample;
