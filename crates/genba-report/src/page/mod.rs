//! page
use genba_model::Investigation;
/// One self-contained HTML file.
#[must_use]
pub fn html(all: &Investigation) -> String {
    crate::html::escape(&all.case)
}
