//! Differential profiles of programs relative to a baseline; each is measured between its setup and
//! cleanup commands.

use genba_model::ProfileDiff;
use genba_run::{Cancel, CommandSpec, Launcher};

use super::profile_diff::diff;
use super::profile_side::{Effort, Side};
use crate::{InvestigateError, Progress};

/// Maximum number of rows of functions and of lines.
const MAX_ROWS: usize = 60;

/// A program to profile.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// Its name in the result.
    pub name: &'a str,
    /// Its command.
    pub spec: &'a CommandSpec,
    /// Commands to run before it, in order.
    pub before: Vec<&'a CommandSpec>,
    /// Commands to run after it, in order.
    pub after: Vec<&'a CommandSpec>,
    /// CPU time of one run, seconds, if known.
    pub seconds: Option<f64>,
}

/// Samples and counts a baseline and other programs, and returns the difference of each to the
/// baseline. Nothing runs where there are no others.
///
/// # Errors
/// The launcher, or a command before or after a program, cannot be started; files cannot be written;
/// an interruption.
pub fn diff_against_baseline(
    baseline: &Subject<'_>,
    others: &[Subject<'_>],
    effort: &Effort,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Vec<ProfileDiff>, InvestigateError> {
    if others.is_empty() {
        return Ok(Vec::new());
    }
    let mut launcher = Launcher::new()?;
    let mut measure = |subject: &Subject<'_>| -> Result<Side, InvestigateError> {
        for spec in &subject.before {
            launcher.run(spec, cancel)?;
        }
        let side = Side::measure(
            &mut launcher,
            subject.name,
            subject.spec,
            subject.seconds,
            effort,
            cancel,
            progress,
        )?;
        for spec in &subject.after {
            launcher.run(spec, cancel)?;
        }
        Ok(side)
    };
    let before = measure(baseline)?;
    let mut found = Vec::new();
    for other in others {
        found.push(shortened(diff(&before, &measure(other)?)));
    }
    Ok(found)
}

fn shortened(mut diff: ProfileDiff) -> ProfileDiff {
    diff.functions.truncate(MAX_ROWS);
    diff.lines.truncate(MAX_ROWS);
    diff
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::progress::NoProgress;

    fn writes(word: &str, log: &Path) -> CommandSpec {
        CommandSpec::shell(&format!("echo {word} >> {}", log.display()))
    }

    fn effort() -> Effort {
        Effort {
            samples: 1,
            sampling: 0.1,
            counting: 0.0,
        }
    }

    #[test]
    fn commands_run_before_and_after_each_program_baseline_first() {
        let place = tempfile::tempdir().unwrap();
        let log = place.path().join("log");
        let specs: Vec<CommandSpec> = ["a", "one", "z", "b", "two", "y"]
            .iter()
            .map(|word| writes(word, &log))
            .collect();
        let subject = |name: &'static str, from: usize| Subject {
            name,
            spec: &specs[from + 1],
            before: vec![&specs[from]],
            after: vec![&specs[from + 2]],
            seconds: Some(0.1),
        };
        let found = diff_against_baseline(
            &subject("one", 0),
            &[subject("two", 3)],
            &effort(),
            &Cancel::new().unwrap(),
            &mut NoProgress,
        )
        .unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].before.name, "one");
        assert_eq!(found[0].after.name, "two");
        // The sampler decides how often a program runs; without a sampler it does not run.
        let text = std::fs::read_to_string(&log).unwrap();
        let mut order: Vec<&str> = text.lines().collect();
        order.dedup();
        order.retain(|word| !["one", "two"].contains(word));
        assert_eq!(order, ["a", "z", "b", "y"]);
        let place_of = |word: &str| text.lines().position(|line| line == word);
        if let (Some(one), Some(two)) = (place_of("one"), place_of("two")) {
            assert!(place_of("a").unwrap() < one && one < place_of("z").unwrap());
            assert!(place_of("b").unwrap() < two && two < place_of("y").unwrap());
        }
    }

    #[test]
    fn nothing_runs_without_other_programs() {
        let place = tempfile::tempdir().unwrap();
        let log = place.path().join("log");
        let spec = writes("one", &log);
        let baseline = Subject {
            name: "one",
            spec: &spec,
            before: vec![&spec],
            after: Vec::new(),
            seconds: None,
        };
        let found = diff_against_baseline(
            &baseline,
            &[],
            &effort(),
            &Cancel::new().unwrap(),
            &mut NoProgress,
        );
        assert!(found.unwrap().is_empty());
        assert!(!log.exists());
    }

    #[test]
    fn command_that_cannot_be_started_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let missing = CommandSpec::direct([place.path().join("missing")]);
        let spec = CommandSpec::direct(["true"]);
        let subject = |before| Subject {
            name: "one",
            spec: &spec,
            before,
            after: Vec::new(),
            seconds: None,
        };
        let found = diff_against_baseline(
            &subject(Vec::new()),
            &[subject(vec![&missing])],
            &effort(),
            &Cancel::new().unwrap(),
            &mut NoProgress,
        );
        assert!(matches!(found, Err(InvestigateError::Run(_))));
    }

    #[test]
    fn rows_beyond_the_maximum_are_dropped() {
        let line = |number| genba_model::LineDiff {
            file: "a.c".to_owned(),
            line: number,
            function: "f".to_owned(),
            inside_before: None,
            inside_after: None,
            before: 0.1,
            after: 0.2,
            executions: None,
            text: None,
        };
        let mut many = diff(&Side::default(), &Side::default());
        many.lines = (1..=100).map(line).collect();
        let few = shortened(many);
        assert_eq!(few.lines.len(), MAX_ROWS);
        assert_eq!(few.lines[0].line, 1);
    }
}
