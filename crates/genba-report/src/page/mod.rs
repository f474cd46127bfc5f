//! The page of a case: one self-contained HTML file, for a browser without a network.
//!
//! Nothing is loaded from anywhere. A content-security policy allows the styles in the file
//! and one script, named by its hash, and nothing else: should a name ever slip through the
//! escaping, it would still not run. Without scripts everything is there; only the flame
//! graph's zoom and search are missing. Sizes are bounded, whatever the input.

mod ablation;
mod asm;
mod bisection;
mod comparison;
mod counts;
mod distribution;
mod effects;
mod facts;
mod findings;
mod flame;
mod head;
mod scatter;
mod script;
mod sweep;
mod tables;
mod trial;

use std::fmt::Write as _;

use genba_model::Investigation;

use crate::text;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// SHA-256 of [`SCRIPT`] in Base64, for the content-security policy; a test holds it true.
const SCRIPT_HASH: &str = "SnhY2CPkwGM6ffqTvpg3Zk6WDYsbO2fi+kvnRaM3SWw=";

pub use ablation::ablation_html;
pub use bisection::bisection_html;
pub use comparison::comparison_html;
pub use sweep::sweep_html;
pub use trial::{profile_diff_html, trial_html};

/// One self-contained HTML file.
#[must_use]
pub fn html(all: &Investigation) -> String {
    let command = text::command(&all.workload.command);
    let mut out = String::with_capacity(256 << 10);
    head::begin_with_script(&mut out, &command, SCRIPT_HASH);
    facts::header(&mut out, all, &command);
    facts::cards(&mut out, all);
    facts::notes(&mut out, all);
    let anchors = findings::list(&mut out, all);
    if let Some(profile) = &all.profile {
        tables::functions(&mut out, profile);
        scatter::picture(&mut out, profile);
        let stacks = all.script.as_ref().filter(|s| !s.collapsed.is_empty());
        if let Some(script) = &all.script {
            script::functions(&mut out, script);
        }
        match stacks {
            // The stacks of the interpreter itself say less.
            Some(script) => flame::of_script(&mut out, script),
            None => flame::graph(&mut out, profile),
        }
    }
    asm::listings(&mut out, &all.annotations, &anchors);
    if let Some(stat) = &all.stat {
        tables::counters(&mut out, stat);
    }
    if let Some(profile) = &all.profile {
        tables::lines_modules_threads(&mut out, profile);
    }
    tables::runs(&mut out, all);
    facts::host(&mut out, all);
    facts::footer(&mut out, all, &command);
    let _ = write!(out, "</main>\n<script>{SCRIPT}</script>\n</body></html>\n");
    out
}

#[cfg(test)]
mod comparison_tests;
#[cfg(test)]
mod scatter_tests;
#[cfg(test)]
mod tests;
