//! Makes one build: checkout or copy, patches, the recipe's command.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use genba_build::{BuildError, apply_patch, checkout, copy_tree};
use genba_model::ExitKind;
use genba_run::{Cancel, CommandSpec, Executor, Output, RunError};

use crate::CampaignError;
use crate::block_matrix::BuildTask;
use crate::campaign_directory::CampaignDirectory;
use crate::campaign_plan::ResolvedPlan;
use crate::stored_results::BuildResult;

/// Lines of a failed build's output that are stored.
const MAX_ERROR_LINES: usize = 3;
/// Output of a build that is looked at, bytes.
const MAX_OUTPUT_BYTES: usize = 1 << 20;

/// Makes a build and stores its result, unless it is stored already.
///
/// Each attempt has a directory of its own, as two may be at work at the same time. All have paths of
/// the same length, because the length of a program's name moves its stack.
///
/// # Errors
/// The directory cannot be written to, or the build was interrupted. A build that fails is a result.
pub fn make_build(
    directory: &CampaignDirectory,
    resolved: &ResolvedPlan,
    task: &BuildTask,
    executor: &mut impl Executor,
    cancel: &Cancel,
) -> Result<(), CampaignError> {
    if directory.build(&task.key)?.is_some() {
        return Ok(());
    }
    let started = Instant::now();
    let place = directory.build_path(&task.key);
    std::fs::create_dir_all(&place).map_err(CampaignError::file("make the directory", &place))?;
    let attempt = new_attempt(&place)?;
    let tree = attempt.join("tree");
    let made = prepare_tree(resolved, task, &tree);
    let (tree, failure) = match made {
        Err(error) => (tree, Some(error.to_string())),
        Ok(tree) => {
            let failure = run_recipe(resolved, task, &tree, executor, cancel)?;
            (tree, failure)
        }
    };
    if let Some(text) = &failure {
        let log = attempt.join("log");
        std::fs::write(&log, text).map_err(CampaignError::file("write", &log))?;
    }
    let stored = directory.put_build(&BuildResult {
        key: task.key.clone(),
        tree,
        node: crate::block_worker::node_name(),
        seconds: started.elapsed().as_secs_f64(),
        failure: failure.map(|text| last_lines(&text)),
    })?;
    if !stored {
        // Somebody else was faster.
        let _ = genba_build::remove_tree(&attempt);
    }
    Ok(())
}

/// A directory `0000`, `0001`, … that this process alone has made.
fn new_attempt(place: &Path) -> Result<PathBuf, CampaignError> {
    let mut number = 0;
    loop {
        let path = place.join(format!("{number:04}"));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 9_999 => {
                number += 1;
            }
            Err(error) => return Err(CampaignError::file("make the directory", &path)(error)),
        }
    }
}

fn prepare_tree(
    resolved: &ResolvedPlan,
    task: &BuildTask,
    to: &Path,
) -> Result<PathBuf, BuildError> {
    let revision = &resolved.plan.revisions[task.revision];
    let source = revision.source.as_ref().unwrap_or(&resolved.plan.source);
    let tree = match &resolved.identities[task.revision].commit {
        Some(commit) => {
            let below = checkout(source, commit, to)?;
            match below.as_os_str().is_empty() {
                true => to.to_owned(),
                false => to.join(below),
            }
        }
        None => {
            copy_tree(source, to)?;
            to.to_owned()
        }
    };
    for patch in &revision.patches {
        apply_patch(&tree, patch)?;
    }
    Ok(tree)
}

/// Runs the command of the recipe; returns why it failed, if it did.
fn run_recipe(
    resolved: &ResolvedPlan,
    task: &BuildTask,
    tree: &Path,
    executor: &mut impl Executor,
    cancel: &Cancel,
) -> Result<Option<String>, CampaignError> {
    let recipe = &resolved.plan.builds[task.build];
    let Some(command) = &recipe.command else {
        return Ok(None);
    };
    let mut spec = CommandSpec::shell(&format!("exec 2>&1; {command}"));
    spec.directory = Some(tree.to_owned());
    spec.timeout = Some(Duration::from_secs_f64(recipe.timeout_seconds));
    spec.stdout = Output::Capture {
        limit: MAX_OUTPUT_BYTES,
    };
    for (name, value) in &recipe.environment {
        spec.environment.set(name, value);
    }
    let done = executor.execute(&spec, cancel)?;
    if done.record.exit == ExitKind::Cancelled {
        return Err(RunError::Cancelled.into());
    }
    let output = String::from_utf8_lossy(&done.stdout.captured);
    let failure = done.record.exit.failure();
    Ok(failure.map(|how| format!("{output}\nbuild {how}")))
}

/// The last lines of a failed build's output, the reason first; blank ones are skipped.
fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = (output.lines().map(str::trim))
        .filter(|line| !line.is_empty())
        .collect();
    let Some((how, before)) = lines.split_last() else {
        return String::new();
    };
    let end = before[before.len().saturating_sub(MAX_ERROR_LINES)..].join(" | ");
    match end.is_empty() {
        true => (*how).to_owned(),
        false => format!("{how}: {end}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_comes_before_the_end_of_the_output() {
        assert_eq!(
            last_lines("a\nb\n\n  c\nd\nbuild failed with exit code 2"),
            "build failed with exit code 2: b | c | d"
        );
        assert_eq!(last_lines("\nbuild timed out"), "build timed out");
    }
}
