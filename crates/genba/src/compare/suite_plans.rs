//! Reads a suite's file, builds it, and makes its plans.

use std::path::Path;

use genba_experiment::Plan;
use genba_investigate::Progress as _;
use genba_run::{Cancel, Launcher};
use genba_suite::{DEFAULT_LOOP_SECONDS, FileKind, Session, SuiteError, parse_executables};

use super::compare_args::CompareArgs;
use crate::exit_code::{Exit, Failure};
use crate::progress_line::ProgressLine;

/// The path of the suite, if the only argument is one.
pub fn file(args: &CompareArgs) -> Option<&Path> {
    match args.commands.commands.as_slice() {
        [(None, word)] if args.reference.is_none() => {
            let path = Path::new(word);
            (FileKind::of(path).is_some() && path.is_file()).then_some(path)
        }
        _ => None,
    }
}

/// The plans of a suite. The session owns the scripts that the plans run.
pub struct PreparedSuite {
    /// Owns the scripts.
    _session: Session,
    /// The plans.
    pub plans: Vec<Plan>,
    /// Notes of the suite.
    pub notes: Vec<String>,
    /// Whether a variant was excluded before anything was measured.
    pub excludes: bool,
}

/// Reads the file, runs its builds, and finds the loop counts.
pub fn prepare(
    path: &Path,
    args: &CompareArgs,
    cancel: &Cancel,
    line: &mut ProgressLine,
) -> Result<PreparedSuite, Failure> {
    let mut executables = Vec::new();
    for list in &args.executables {
        executables.extend(parse_executables(list)?);
    }
    let mut session = Session::open(path, &executables)?;
    if let Some(filter) = &args.filter {
        session.retain(|name| name.contains(filter.as_str()));
    }
    let mut launcher = Launcher::new()?;
    let stop = |error: SuiteError| {
        if cancel.is_triggered() {
            Failure::new(Exit::Interrupted, error)
        } else {
            error.into()
        }
    };
    let mut tell = |text: &str| line.update(text, None);
    session
        .build(&mut launcher, cancel, &mut tell)
        .map_err(stop)?;
    let seconds = (args.loop_time).map_or(DEFAULT_LOOP_SECONDS, |time| time.as_secs_f64());
    (session.prepare(&mut launcher, cancel, seconds, &mut tell)).map_err(stop)?;
    let mut notes = session.suite().notes.clone();
    for one in session.excluded() {
        notes.push(format!("{}: {} {}", one.benchmark, one.variant, one.reason));
    }
    let excludes = !session.excluded().is_empty();
    let mut plans = session.plans(&args.measurement.shell()?)?;
    if plans.is_empty() {
        let mut message = format!("{}: nothing left to measure", path.display());
        for note in &notes {
            message.push_str(&format!("\n  {note}"));
        }
        return Err(Failure::new(Exit::TargetFailed, message));
    }
    for plan in &mut plans {
        args.apply_to(plan)?;
    }
    Ok(PreparedSuite {
        _session: session,
        plans,
        notes,
        excludes,
    })
}
