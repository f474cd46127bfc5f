//! A server's requests in a terminal: part of `genba wait --requests`.

use genba_model::Requests;
use genba_units::format;

use super::{remark, wrap};
use crate::Screen;
use crate::safe_text;
use crate::terminal::screen::{DIM, HEAD, STRONG};
use crate::terminal::table::{Cell, Column, Table};
use crate::wording::{requests as wording, waits};

/// Maximum number of parts.
const MAX_PARTS: usize = 10;
/// Maximum number of slow requests.
const MAX_SLOWEST: usize = 5;

/// Adds the section.
pub(super) fn section(out: &mut String, all: &Requests, screen: Screen) {
    let width = screen.columns().saturating_sub(2);
    out.push_str(&format!("\n{}\n", screen.paint(HEAD, "REQUESTS")));
    let mut lines = |text: &str, style| {
        for line in wrap(&safe_text::sanitise(text), width) {
            out.push_str(&format!("  {}\n", screen.paint(style, &line)));
        }
    };
    lines(&wording::times(all), STRONG);
    if let Some(text) = wording::difference(all) {
        lines(&text, STRONG);
    }
    if !all.parts.is_empty() {
        out.push_str(&parts(all, screen));
    }
    if !all.slowest.is_empty() {
        out.push_str(&slowest(all, screen));
    }
    if let Some(text) = wording::remark(all) {
        remark(out, &text, screen);
    }
}

fn parts(all: &Requests, screen: Screen) -> String {
    let mut table = Table::new(vec![
        Column::right("slow"),
        Column::right("fast"),
        Column::right("requests"),
        Column::flexible("mean time of a request", 16),
        Column::flexible("where, most often", 12),
        Column::flexible("object", 8),
    ]);
    for one in all.parts.iter().take(MAX_PARTS) {
        let place = one.place.as_ref().map(waits::place);
        table.row(vec![
            format::seconds(one.slow_seconds).into(),
            format::seconds(one.fast_seconds).into(),
            Cell::new(format::count(one.slow_requests as f64), DIM),
            wording::doing(one).into(),
            place.unwrap_or_default().into(),
            one.object.as_deref().unwrap_or_default().into(),
        ]);
    }
    table.render(screen)
}

fn slowest(all: &Requests, screen: Screen) -> String {
    let mut table = Table::new(vec![
        Column::right("slowest"),
        Column::right("at"),
        Column::right("thread"),
        Column::flexible("most of it", 16),
        Column::flexible("where", 12),
    ]);
    for one in all.slowest.iter().take(MAX_SLOWEST) {
        let place = one.most.place.as_ref().map(waits::place);
        table.row(vec![
            format::seconds(one.seconds).into(),
            format::seconds(one.at).into(),
            Cell::new(one.tid.to_string(), DIM),
            wording::most(one).into(),
            place.unwrap_or_default().into(),
        ]);
    }
    table.render(screen)
}
