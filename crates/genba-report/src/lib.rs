//! How genba talks: terminal tables and plots, the HTML page, flame graphs.
//!
//! **Scope.** From the plain types of [`genba_model`] to text: for terminals of a given width
//! ([`terminal`]), one self-contained page ([`page`]), interactive flame graphs ([`flame`]),
//! small plots ([`plot`]), the files that other programs read ([`export`]), and the formatting of numbers that shows no more digits than the
//! interval supports ([`number`]).
//!
//! **Not here.** Any I/O, any statistics, any decision about what was found.
//!
//! **Hostile names.** Symbols, paths, command lines and source text come from files that
//! anybody may have written. All of them pass [`text::sanitise`] on the way to a terminal,
//! [`html::escape`] on the way to a page, [`csv::field`] on the way to a table.

mod ablating;
mod bisecting;
mod counting;
pub mod csv;
mod curve_plot;
mod effect;
mod execution;
pub mod export;
mod facts;
mod findings;
pub mod flame;
mod gutter;
pub mod html;
mod listing;
mod loops;
pub mod number;
pub mod page;
pub mod plot;
mod screen;
mod sweeping;
mod table;
pub mod terminal;
pub mod text;
mod trial;
mod variants;

pub use screen::Screen;
pub use text::{sanitise, sanitise_lines};

#[cfg(test)]
mod test_comparison;
#[cfg(test)]
mod test_counts;
#[cfg(test)]
mod test_curves;
#[cfg(test)]
mod test_findings;
#[cfg(test)]
mod test_fixture;
#[cfg(test)]
mod trial_tests;
