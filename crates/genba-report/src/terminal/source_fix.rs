//! `genba fix`: the verdict of a source patch, and the patch.

use genba_model::{FixVerdict, SourceFix};

use crate::Screen;
use crate::safe_text::{sanitise, sanitise_lines};
use crate::terminal::messages::remark;
use crate::terminal::screen::STRONG;
use crate::wording::{findings, source_fix as wording};

/// Renders the verdict, what was tried, and the patch.
#[must_use]
pub fn source_fix(all: &SourceFix, screen: Screen) -> String {
    let head = format!("FIX  finding {}: {}", all.finding, all.cause);
    let mut out = format!(
        "{} at {}\n",
        screen.paint(STRONG, &sanitise(&head)),
        sanitise(&findings::place(&all.site))
    );
    let mut line = |text: &str| out.push_str(&format!("  {}\n", sanitise_lines(text).trim_end()));
    line(&wording::verdict(all));
    if all.verdict != FixVerdict::NoRewrite {
        line(&format!(
            "estimated: {}",
            findings::speedup(&all.predicted_speedup)
        ));
    }
    let several = all.tried.len() > 1 || all.patch.is_none();
    for one in all.tried.iter().filter(|_| several) {
        line(&wording::tried(one, &all.metric));
    }
    if all.patch.is_some() {
        match all.output_identical {
            Some(true) => line("the output is the same"),
            _ => line("the output was not compared: the unchanged program's varies"),
        }
    }
    if all.applied_to_sources {
        line("applied to the sources");
    }
    if let Some(file) = &all.patch_file {
        line(&format!("patch: {file}"));
    }
    let shown = all.patch.clone().or_else(|| {
        (all.verdict == FixVerdict::NotTried)
            .then(|| all.tried.iter().map(|one| one.diff.as_str()).collect())
    });
    if let Some(patch) = shown {
        out.push('\n');
        out.push_str(&sanitise_lines(&patch));
    }
    for note in &all.notes {
        remark(&mut out, note, screen);
    }
    out
}
