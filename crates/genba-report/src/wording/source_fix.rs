//! Sentences of `genba fix`: the verdict of a patch, and the header that the patch carries.

use genba_model::{Estimate, FixVerdict, SourceFix, TriedRewrite};
use genba_units::format;

use crate::safe_text::sanitise;
use crate::wording::{findings, metrics};

/// Returns the verdict in a sentence without its full stop.
pub(crate) fn verdict(all: &SourceFix) -> String {
    let because = |reason: &Option<String>| {
        let reason = reason.as_deref().unwrap_or_default();
        reason.trim().to_owned()
    };
    match all.verdict {
        FixVerdict::Gain => measured(all.speedup, all.pairs, &all.metric),
        FixVerdict::NoGain => format!(
            "tried, no gain: {}",
            measured(all.speedup, all.pairs, &all.metric)
        ),
        FixVerdict::Undecided => format!(
            "tried, undecided: {}; increase --budget",
            undecided(all.speedup, all.pairs, &all.metric)
        ),
        FixVerdict::DoesNotCompile => format!("tried, does not compile: {}", because(&all.reason)),
        FixVerdict::OutputDiffers => {
            format!("tried, discarded: the program {}", because(&all.reason))
        }
        FixVerdict::CheckFailed => format!("tried, discarded: {}", because(&all.reason)),
        FixVerdict::NoRewrite => {
            format!(
                "no mechanical fix for {} here, because {}",
                all.cause,
                because(&all.reason)
            )
        }
        FixVerdict::NotTried => format!("not tried: {}", because(&all.reason)),
    }
}

/// Returns a measured speedup with its pairs: `1.66× faster (1.65–1.67) in CPU time, 12 pairs`.
fn measured(speedup: Option<Estimate>, pairs: u32, metric: &str) -> String {
    let Some(speedup) = speedup else {
        return "the same program".to_owned();
    };
    format!(
        "{}× ({}–{}) in {}, {}",
        findings::ratio(speedup.value),
        findings::ratio(speedup.low),
        findings::ratio(speedup.high),
        metrics::phrase(metric),
        format::plural(u64::from(pairs), "pair"),
    )
}

/// Returns the same of a measurement without a verdict. An interval that excludes 1 needs a reason: it is of few pairs.
fn undecided(speedup: Option<Estimate>, pairs: u32, metric: &str) -> String {
    let measured = measured(speedup, pairs, metric);
    match speedup.is_some_and(|one| one.low > 1.0 || one.high < 1.0) {
        true => format!("{measured}, too few for a verdict"),
        false => measured,
    }
}

/// Returns one tried rewrite in a line: what it does, and what came of it.
pub(crate) fn tried(one: &TriedRewrite, metric: &str) -> String {
    let came = match one.verdict {
        FixVerdict::Gain => measured(one.speedup, one.pairs, metric),
        FixVerdict::NoGain => format!("no gain: {}", measured(one.speedup, one.pairs, metric)),
        FixVerdict::Undecided => {
            format!("undecided: {}", undecided(one.speedup, one.pairs, metric))
        }
        FixVerdict::DoesNotCompile => "does not compile".to_owned(),
        FixVerdict::OutputDiffers => "other output, or fails".to_owned(),
        FixVerdict::CheckFailed => "the project's tests fail".to_owned(),
        FixVerdict::NoRewrite | FixVerdict::NotTried => "not tried".to_owned(),
    };
    format!("{}: {came}", one.title)
}

/// Returns what a person would do where no rule applies: the finding's fix.
#[must_use]
pub fn fix_by_hand(fix: &str) -> String {
    format!("by hand: {fix}")
}

/// Returns the lines in front of the diff of a patch: what it does, and what was measured.
#[must_use]
pub fn patch_header(all: &SourceFix, best: &TriedRewrite) -> String {
    let mut lines = vec![
        format!("genba fix: {}", best.title),
        String::new(),
        format!("Cause: {} at {}", all.cause, findings::place(&all.site)),
        format!(
            "Measured: {}; output identical: {}",
            measured(best.speedup, best.pairs, &all.metric),
            match best.output_identical {
                Some(true) => "yes",
                Some(false) => "no",
                None => "unknown, the unchanged program's varies",
            }
        ),
        format!("Estimated: {}", findings::speedup(&all.predicted_speedup)),
        format!("Command: {}", all.command),
    ];
    if let Some(build) = &all.build {
        lines.push(format!("Build: {build}"));
    }
    match best.check_passed {
        Some(_) => lines.push("Tests of the project: passed".to_owned()),
        None => lines.push("Tests of the project: not run".to_owned()),
    }
    lines.extend(best.assumes.iter().map(|one| format!("Assumes: {one}")));
    lines.push(format!("Case: {}, finding {}", all.case, all.finding));
    // A line of a header must not begin a diff.
    let lines = lines.iter().map(|line| sanitise(line).replace('\n', " "));
    lines.map(|line| format!("{line}\n")).collect::<String>() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_fixtures::source_fix;

    #[test]
    fn verdicts_are_sentences() {
        let mut all = source_fix();
        assert_eq!(verdict(&all), "1.66× (1.65–1.67) in CPU time, 12 pairs");
        all.verdict = FixVerdict::NoRewrite;
        all.reason = Some("it has no source lines".to_owned());
        assert_eq!(
            verdict(&all),
            "no mechanical fix for duplicate-division here, because it has no source lines"
        );
        assert_eq!(tried(&all.tried[1], "cpu"), "another: does not compile");
    }

    #[test]
    fn header_has_the_verdict_and_no_line_that_begins_a_diff() {
        let mut all = source_fix();
        all.command = "./prog '\n--- a/x\n+++ b/x\n'".to_owned();
        let header = patch_header(&all, &all.tried[0]);
        assert!(header.contains(
            "Measured: 1.66× (1.65–1.67) in CPU time, 12 pairs; output identical: yes\n"
        ));
        assert!(header.contains("Assumes: the store before it does not change b\n"));
        assert!(
            !header
                .lines()
                .any(|line| line.starts_with("---") || line.starts_with("+++"))
        );
        assert!(header.ends_with("\n\n"));
    }
}
