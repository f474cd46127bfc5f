//! `genba diff`: compare two profiles of the same work.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use genba_case::Store;
use genba_investigate::diff::{Side, diff};
use genba_model::ProfileDiff;
use genba_report::{Screen, page, terminal};

use crate::exit_code::{Exit, Failure, VerbResult};
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::recording_args::{RecordingArgs, is_counts};

/// Rows of a table where the user does not say.
const DEFAULT_ROWS: usize = 15;

/// Arguments of `genba diff`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba diff 7f3a 81c0                       two cases: functions, lines, instructions
  genba diff before.data after.data          two recordings, of genba or perf
  genba diff --counts-before a.json --counts-after b.json before.data after.data
  genba diff a.json b.json                   two files of genba count -o: executions only
  genba diff 5b1e                            winner and worst loser of a case of genba try

Times are per run. Inlined code is found by debug information (-g), clones by their names; without
debug information, a caller that grew is reported as the likely place.")]
pub struct Args {
    /// Profile before: a recording, a profile of another program, a file of counts, or a case.
    #[arg(value_name = "BEFORE")]
    before: PathBuf,

    /// Profile after; omitted if BEFORE is a case of genba try.
    #[arg(value_name = "AFTER")]
    after: Option<PathBuf>,

    /// Exact counts of BEFORE: a file written by `genba count -o`.
    #[arg(long, value_name = "FILE")]
    counts_before: Option<PathBuf>,

    /// Exact counts of AFTER.
    #[arg(long, value_name = "FILE")]
    counts_after: Option<PathBuf>,

    /// Maximum number of rows per table.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_ROWS)]
    limit: usize,

    /// Write an HTML page to this file.
    #[arg(long, value_name = "FILE")]
    export_html: Option<PathBuf>,

    #[command(flatten)]
    json: JsonArgs,
}

/// Runs `genba diff`.
pub fn run(args: Args, output: &Output) -> VerbResult {
    let (found, stacks) = match &args.after {
        Some(after) => {
            let before = side(&args.before, args.counts_before.as_ref())?;
            let after = side(after, args.counts_after.as_ref())?;
            (
                vec![diff(&before, &after)],
                Some([before.stacks, after.stacks]),
            )
        }
        None => (stored(&args.before)?, None),
    };
    if let (Some(path), Some(first)) = (&args.export_html, found.first()) {
        let stacks = stacks.as_ref().map(|sides| sides.each_ref());
        crate::output_file::write(path, &page::profile_diff_html(first, stacks))?;
    }
    if args.json.wanted() {
        let Some(first) = found.into_iter().next() else {
            return Err(nothing(&args.before));
        };
        output.json(&args.json, "profile-diff", first)?;
        return Ok(Exit::Done);
    }
    let texts: Vec<String> = (found.iter())
        .map(|one| terminal::profile_diff(one, args.limit, output.screen()))
        .collect();
    output.result(&texts.join("\n"))?;
    Ok(Exit::Done)
}

/// Both sides of a comparison of two cases.
fn sides_of_cases(before: &str, after: &str) -> Result<(Side, Side), Failure> {
    let [before, after] = [before, after].map(|case| side(Path::new(case), None));
    Ok((before?, after?))
}

/// How two cases differ, as text for the terminal.
pub fn text_of_cases(before: &str, after: &str, screen: Screen) -> Result<String, Failure> {
    let (before, after) = sides_of_cases(before, after)?;
    let found = diff(&before, &after);
    Ok(terminal::profile_diff(&found, DEFAULT_ROWS, screen))
}

/// The page that compares two cases.
pub fn page_of_cases(before: &str, after: &str) -> Result<String, Failure> {
    let (before, after) = sides_of_cases(before, after)?;
    let stacks = [&before.stacks, &after.stacks];
    Ok(page::profile_diff_html(
        &diff(&before, &after),
        Some(stacks),
    ))
}

/// The differential profiles that a case of `genba try` stored.
fn stored(case: &Path) -> Result<Vec<ProfileDiff>, Failure> {
    let found = Store::open_root().find(&case.to_string_lossy())?;
    let report: Option<genba_model::TrialReport> =
        found.experiment(genba_model::CaseKind::Trial)?;
    let differences = report.map(|report| report.differences).unwrap_or_default();
    if differences.is_empty() {
        return Err(nothing(case));
    }
    Ok(differences)
}

fn nothing(case: &Path) -> Failure {
    Failure::usage(format!(
        "{} has no differential profile; give two recordings or cases: genba diff BEFORE AFTER",
        case.display()
    ))
}

fn side(path: &Path, counts: Option<&PathBuf>) -> Result<Side, Failure> {
    let name = path
        .file_name()
        .unwrap_or(path.as_os_str())
        .to_string_lossy()
        .into_owned();
    let read = |path: &Path| genba_count::saved_counts::read(path).map_err(Failure::usage);
    if is_counts(path) {
        return Ok(Side::of_counts(&name, &read(path)?));
    }
    let recording = RecordingArgs::of(path.to_owned(), counts.cloned());
    // A case knows the time of a run and the number of sampled runs.
    if let Some(imported) = recording.imported()? {
        return Ok(Side::of_samples(
            &name,
            &imported.detail,
            imported.format.name(),
        ));
    }
    let case = recording.case();
    let investigation = case
        .as_ref()
        .map(genba_case::Case::investigation_without_stacks)
        .transpose()?;
    let profile = investigation.as_ref().and_then(|all| all.profile.as_ref());
    let stored_stacks = profile.is_some_and(|profile| profile.stacks);
    let has_recording = case
        .as_ref()
        .is_none_or(|case| case.recording_path().exists());
    let mut side = match investigation {
        Some(all) if !has_recording => Side::of_tables(&name, all),
        // A case has its callers stored.
        Some(all) => Side::of_investigation(&name, &recording.open_for_code(false)?, all),
        None => Side::of_scene(&name, &recording.open(true, true)?, None, 1.0),
    };
    if let Some(case) = case.as_ref().filter(|_| stored_stacks) {
        side.stacks = case.stack_tree()?;
    }
    let file = counts.cloned().or_else(|| {
        let case = case.as_ref()?;
        let file = case
            .directory()
            .join(genba_investigate::join_counts::COUNTS_FILE);
        file.exists().then_some(file)
    });
    if let Some(file) = file {
        side.join_counts(&read(&file)?);
    }
    Ok(side)
}
