//! The page of a case: one self-contained HTML file, for a browser without a network.
//!
//! Nothing is loaded from anywhere. A content-security policy allows the styles in the file
//! and one script, named by its hash, and nothing else: a name that slipped through the escaping
//! would still not run. Without scripts only the flame graph's zoom and search are missing. Sizes
//! are bounded for any input.

mod ablation;
mod annotation;
mod axis_ticks;
mod bisection;
mod campaign;
mod comparison;
mod differential_flame_graph;
mod document;
mod effect_table;
mod findings;
pub(crate) mod flame_graph;
mod history;
mod observed_places;
mod places;
mod profile_diff;
mod profile_tables;
mod requests;
mod run_distribution;
mod run_tables;
mod script_functions;
mod summary;
mod sweep;
mod time_against_calls;
mod timeline;
mod timeline_arrows;
mod try_variants;
mod waits;

use std::fmt::Write as _;

use genba_model::Investigation;

use crate::safe_text;

const STYLE: &str = concat!(
    include_str!("style.css"),
    include_str!("flame_graph.css"),
    include_str!("timeline.css")
);
/// The scripts of a page; each leaves a page alone that does not have its picture.
const SCRIPT: &str = concat!(include_str!("flame_graph.js"), include_str!("timeline.js"));
/// SHA-256 of [`SCRIPT`] in Base64, for the content-security policy; a test checks it.
const SCRIPT_HASH: &str = "X9wkPYmxixpOoVzSIc1Sb/IS0OCbHPDPEa11KwDiZcw=";

pub use ablation::ablation_html;
pub use annotation::annotation_html;
pub use bisection::bisection_html;
pub use campaign::campaign_html;
pub use comparison::comparison_html;
pub(crate) use document::when;
pub use flame_graph::{MAX_LEVELS as MAX_FLAME_LEVELS, MIN_FRAME_SHARE};
pub use history::history_html;
pub use profile_diff::profile_diff_html;
pub use sweep::sweep_html;
pub use try_variants::trial_html;
pub use waits::waits_html;

/// Renders an investigation as one self-contained HTML file.
#[must_use]
pub fn html(all: &Investigation) -> String {
    let command = safe_text::command(&all.workload.command);
    let mut out = String::with_capacity(256 << 10);
    document::begin_with_script(&mut out, &command, SCRIPT_HASH);
    summary::header(&mut out, all, &command);
    summary::cards(&mut out, all);
    summary::notes(&mut out, all);
    if let Some(waits) = &all.waits {
        waits::section(&mut out, waits);
    }
    let anchors = findings::list(&mut out, all);
    if let Some(profile) = &all.profile {
        profile_tables::functions(&mut out, profile);
        time_against_calls::picture(&mut out, profile);
        let stacks = all.script.as_ref().filter(|s| !s.collapsed.is_empty());
        if let Some(script) = &all.script {
            script_functions::functions(&mut out, script);
        }
        match stacks {
            // Stacks of script functions are more informative than those of the interpreter.
            Some(script) => flame_graph::of_script(&mut out, script),
            None => flame_graph::graph(&mut out, profile),
        }
    }
    annotation::listings(&mut out, &all.annotations, &anchors);
    if let Some(observed) = &all.observed {
        observed_places::hot_lines(&mut out, observed);
    }
    if let Some(stat) = &all.stat {
        run_tables::counters(&mut out, stat);
    }
    if let Some(profile) = &all.profile {
        profile_tables::lines_modules_threads(&mut out, profile);
    }
    run_tables::runs(&mut out, all);
    summary::host(&mut out, all);
    summary::footer(&mut out, all, &command);
    let _ = write!(out, "</main>\n<script>{SCRIPT}</script>\n</body></html>\n");
    out
}

#[cfg(test)]
mod comparison_tests;
#[cfg(test)]
mod html_tests;
#[cfg(test)]
mod time_against_calls_tests;
