//! How genba talks: terminal tables and plots, the HTML page, flame graphs.
//!
//! **Scope.** From the plain types of [`genba_model`] to text: for terminals of a given width
//! ([`terminal`]), one self-contained page ([`page`]), interactive flame graphs
//! ([`flame_graph`]), the files that other programs read ([`export`]). The sentences that these
//! share are in `wording`.
//!
//! **Not here.** Any I/O, any statistics, any decision about what was found.
//!
//! **Hostile names.** Symbols, paths, command lines and source text come from files that
//! anybody may have written. All of them pass [`safe_text::sanitise`] on the way to a terminal,
//! [`escape_html::escape`] on the way to a page, [`csv::field`] on the way to a table.

pub mod csv;
pub mod escape_html;
pub mod export;
pub mod flame_graph;
mod jump_arrows;
mod listing_rows;
pub mod page;
pub mod safe_text;
pub mod served;
pub mod terminal;
mod variants;
pub mod wall_flame_graph;
mod wording;

pub use safe_text::{sanitise, sanitise_lines};
pub use terminal::screen::Screen;
pub use wording::diagnosis::findings;
pub use wording::findings::next_command;
pub use wording::gate::second_opinion;
pub use wording::loop_verdicts::loop_verdict;
pub use wording::proofs::checked_prediction;
pub use wording::source_fix::{fix_by_hand, patch_header};

#[cfg(test)]
mod hostile_text_tests;
#[cfg(test)]
mod test_fixtures;
