//! The base of a gate: built from a revision of the repository, measured beside the change.

use std::path::{Path, PathBuf};
use std::time::Duration;

use genba_build::{BuildError, CachedCheckout, cached_checkout};
use genba_investigate::Progress as _;
use genba_investigate::diff::counted_change;
use genba_model::{ExitKind, InstructionChange};
use genba_run::{Cancel, CommandSpec, Launcher, Output as Stream};

use super::CompareArgs;
use super::history_store::{GateSides, revision_at};
use crate::exit_code::{Exit, Failure};
use crate::output::Output;
use crate::progress_line::ProgressLine;

/// Bytes of a failed build's error output that are shown.
const MAX_ERROR_BYTES: usize = 2000;

/// An error of a build, or of git.
struct BuildFailure(Failure);

impl From<BuildError> for BuildFailure {
    fn from(error: BuildError) -> Self {
        Self(Failure::usage(error))
    }
}

/// Checks `reference` out and builds it, unless that was done before, and adds it to the commands as
/// the baseline. The checkout must live until the comparison has ended.
pub fn add_base(
    args: &mut CompareArgs,
    reference: &str,
    build: &str,
    timeout: Option<Duration>,
    cancel: &Cancel,
    output: &Output,
) -> Result<CachedCheckout, Failure> {
    let commands = &mut args.commands.commands;
    let [(name, command)] = commands.as_mut_slice() else {
        return Err(Failure::usage(
            "--against REVISION with --build takes one command, which runs in the checkout and here",
        ));
    };
    let here = std::env::current_dir().unwrap_or_default();
    let base = built_checkout(&here, reference, build, timeout, cancel, output)?;
    let command = command.clone();
    let name = name.take();
    let change = name.clone().unwrap_or_else(|| "change".to_owned());
    let short: String = base.commit.chars().take(10).collect();
    let label = format!("base {short}");
    args.sides = Some(GateSides {
        name,
        base: label.clone(),
        revision: revision_at(&here, Some(&base.commit))?.0,
        recipe: build.to_owned(),
    });
    *commands = vec![(Some(label), command.clone()), (Some(change), command)];
    let own = args.directory.first().map_or("", String::as_str);
    args.directory = vec![
        genba_run::text_of(base.path.join(own).as_os_str()),
        here.join(own).display().to_string(),
    ];
    Ok(base)
}

/// A checkout of `reference` of the repository around `from`, built by `build` now or earlier. It is
/// kept as long as the result lives.
pub fn built_checkout(
    from: &Path,
    reference: &str,
    build: &str,
    timeout: Option<Duration>,
    cancel: &Cancel,
    output: &Output,
) -> Result<CachedCheckout, Failure> {
    let cache = cache_directory()?;
    let mut line = ProgressLine::new(output);
    cached_checkout(&cache, from, reference, build, |path| {
        line.update(&format!("building {reference}"), None);
        run_build(build, path, timeout, cancel).map_err(BuildFailure)
    })
    .map_err(|failure| failure.0)
}

/// `$XDG_CACHE_HOME/genba/builds` or `~/.cache/genba/builds`.
fn cache_directory() -> Result<PathBuf, Failure> {
    let variable = |name: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    variable("XDG_CACHE_HOME")
        .or_else(|| Some(variable("HOME")?.join(".cache")))
        .map(|cache| cache.join("genba/builds"))
        .ok_or_else(|| Failure::usage("no place for builds: set XDG_CACHE_HOME"))
}

fn run_build(
    line: &str,
    path: &Path,
    timeout: Option<Duration>,
    cancel: &Cancel,
) -> Result<(), Failure> {
    let mut spec = CommandSpec::shell(line);
    spec.directory = Some(path.to_owned());
    spec.timeout = timeout;
    spec.stdout = Stream::Null;
    spec.stderr = Stream::Capture {
        limit: crate::verbs::MAX_ERROR_OUTPUT,
    };
    let done = Launcher::new()?.run(&spec, cancel)?;
    if done.record.exit == ExitKind::Cancelled {
        return Err(Failure::new(Exit::Interrupted, "interrupted"));
    }
    let Some(how) = done.record.exit.failure() else {
        return Ok(());
    };
    let said = String::from_utf8_lossy(&done.stderr.captured);
    let start = said.ceil_char_boundary(said.len().saturating_sub(MAX_ERROR_BYTES));
    let end = &said[start..];
    Err(Failure::new(
        Exit::TargetFailed,
        format!("the build {how}: {line}\n{}", end.trim()),
    ))
}

/// Counts the instructions of base and change, one run each.
pub fn count_both(
    args: &CompareArgs,
    cancel: &Cancel,
    output: &Output,
) -> Result<InstructionChange, Failure> {
    let plan = args.plan(None)?;
    let [base, change] = plan.variants.as_slice() else {
        return Err(Failure::usage("two variants are counted, not more"));
    };
    let mut progress = ProgressLine::new(output);
    Ok(counted_change(
        &base.spec,
        &change.spec,
        cancel,
        &mut progress,
    )?)
}
