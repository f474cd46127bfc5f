//! Keeps the report of a comparison in the history.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use genba_build::HeadRevision;
use genba_case::Store;
use genba_experiment::parameters::replace;
use genba_history::{
    History, Location, Recorded, Recording, RecordingContext, Revision, VariantOrigin, recording,
    recording_text,
};
use genba_investigate::Progress as _;
use genba_model::{ComparisonReport, EXACT_INSTRUCTIONS, Variant};

use super::CompareArgs;
use crate::exit_code::Failure;
use crate::output::Output;
use crate::progress_line::ProgressLine;

/// The variant that is the anchor of a recording.
#[derive(Clone, Debug, Default)]
pub struct Anchor {
    /// Name of the variant.
    pub variant: String,
    /// Its commit, if known.
    pub revision: Option<Revision>,
    /// Command that built the program.
    pub recipe: Option<String>,
}

/// The base and the change of a gate, which are runs of one command at two commits.
#[derive(Clone, Debug)]
pub struct GateSides {
    /// The command's own name, if it has one.
    pub name: Option<String>,
    /// Beginning of the names of the base's variants; parameters may follow.
    pub base: String,
    /// Commit of the base.
    pub revision: Option<Revision>,
    /// Command that built the base.
    pub recipe: String,
}

impl GateSides {
    /// The series and commit of a variant: those that the command has where it is recorded alone.
    fn origin(&self, variant: &Variant, change: Option<&Revision>) -> VariantOrigin {
        let of_base = variant.name.strip_prefix(&self.base);
        let benchmark = match (&self.name, of_base) {
            (None, _) => variant.command.clone(),
            (Some(_), None) => variant.name.clone(),
            (Some(name), Some(parameters)) => {
                format!("{}{parameters}", replace(name, &variant.parameters))
            }
        };
        VariantOrigin {
            benchmark: Some(benchmark),
            series: String::new(),
            revision: match of_base {
                Some(_) => self.revision.clone(),
                None => change.cloned(),
            },
            recipe: of_base.map(|_| self.recipe.clone()),
        }
    }
}

/// Which history.
#[derive(Clone, Debug, clap::Args)]
pub struct StoreArg {
    /// The store: sqlite:FILE or postgres://….
    #[arg(
        id = "history",
        long = "history",
        value_name = "STORE",
        default_value = "",
        hide_default_value = true
    )]
    store: String,
}

impl StoreArg {
    /// The location that the option names, else the default one.
    pub fn location(&self) -> Result<Location, Failure> {
        location(&self.store)
    }
}

/// The location that an option names, else `$GENBA_HISTORY`, else the file beside the cases.
pub fn location(option: &str) -> Result<Location, Failure> {
    let environment = std::env::var("GENBA_HISTORY").unwrap_or_default();
    let text = match option {
        "" => &environment,
        some => some,
    };
    let location = Location::parse(text, Store::open_root().root())?;
    // A mistyped path would make directories.
    if let Location::Sqlite(file) = &location
        && let Some(directory) = file.parent().filter(|_| !text.is_empty())
        && !directory.as_os_str().is_empty()
        && !directory.is_dir()
    {
        return Err(Failure::usage(format!(
            "cannot keep a history in {}: there is no directory {}",
            file.display(),
            directory.display()
        )));
    }
    Ok(location)
}

/// A progress line for the time in which a store may be locked by another process, or its server far.
pub fn waiting_line(location: &Location, output: &Output) -> ProgressLine {
    let mut line = ProgressLine::new(output);
    line.update(
        &format!("waiting for the history {}", location.display()),
        None,
    );
    line
}

/// The commit that the working directory is at, or that `reference` names, and the project's name.
pub fn revision(reference: Option<&str>) -> Result<(Option<Revision>, String), Failure> {
    revision_at(&std::env::current_dir().unwrap_or_default(), reference)
}

/// As [`revision`], of the repository around `here`.
pub fn revision_at(
    here: &Path,
    reference: Option<&str>,
) -> Result<(Option<Revision>, String), Failure> {
    let folder = here
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let head = genba_build::head_revision(here, reference).map_err(Failure::usage)?;
    let Some(HeadRevision {
        mut revision,
        project,
    }) = head
    else {
        return Ok((None, folder));
    };
    if revision.branch.is_empty() && reference.is_none() {
        revision.branch = branch_of_job();
    }
    Ok((Some(revision), project))
}

/// The branch that a CI job is for; its checkout is of a commit, not of a branch.
fn branch_of_job() -> String {
    ["GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .unwrap_or_default()
}

/// Stores the reports, and of those that were counted the instructions; returns the note for the
/// user.
pub fn keep(
    option: &str,
    reports: &[(Option<String>, ComparisonReport)],
    counted: &[(Option<String>, ComparisonReport)],
    args: &CompareArgs,
    output: &Output,
) -> Result<String, Failure> {
    let location = location(option)?;
    let (revision, project) = revision(None)?;
    let mut environment = genba_host::speed_environment();
    for variable in &args.measurement.env {
        if let Some((name, value)) = variable.split_once('=') {
            environment.insert(format!("${name}"), value.to_owned());
        }
    }
    // Only a single comparison has no titles.
    let titled = |reports: &[(Option<String>, ComparisonReport)]| match reports {
        [(_, report)] => vec![(None, report.clone())],
        several => several.to_vec(),
    };
    let counted = match reports {
        [_] => titled(counted),
        _ => counted.to_vec(),
    };
    let reports = titled(reports);
    let variants = reports.iter().flat_map(|(_, report)| &report.variants);
    let origins = (args.sides.iter()).flat_map(|sides| {
        let origin = |one: &Variant| (one.name.clone(), sides.origin(one, revision.as_ref()));
        variants.clone().map(origin)
    });
    let origins = origins.collect();
    let context = RecordingContext {
        origins,
        project,
        revision,
        environment,
        recipe: args.anchor.as_ref().and_then(|one| one.recipe.clone()),
        anchor: (args.anchor.as_ref()).map(|one| (one.variant.clone(), one.revision.clone())),
        build_ids: build_ids(&reports, &args.directory),
        ..RecordingContext::default()
    };
    let base = (args.sides.as_ref()).and_then(|sides| sides.revision.as_ref());
    let base = base.map_or(String::new(), |one| {
        format!(", and its base at {}", short(&one.commit))
    });
    let at = context.revision.as_ref().map(|one| match one.dirty {
        true => format!(" at {} with uncommitted changes{base}", short(&one.commit)),
        false => format!(" at {}{base}", short(&one.commit)),
    });
    let counts = recording(&counted, &context).map_or(Vec::new(), |one| one.measurements);
    let counts = (counts.into_iter()).filter(|one| one.metric == EXACT_INSTRUCTIONS);
    let mut stored = recording(&reports, &context);
    if let Some(stored) = &mut stored {
        stored.measurements.extend(counts);
    }
    let stored = stored
        .filter(|one| !one.measurements.is_empty())
        .ok_or_else(|| Failure::usage("nothing to keep in the history: no variant was measured"))?;
    // As an option of other verbs, without a password.
    let named = match &location {
        _ if option.is_empty() => String::new(),
        Location::Sqlite(_) => format!(" --history {option}"),
        Location::Postgres(_) => format!(" --history {}", location.display()),
    };
    let line = waiting_line(&location, output);
    let recorded = History::open(&location).and_then(|mut history| history.record(&stored));
    drop(line);
    let done = match recorded {
        Ok(Recorded::New) => "recorded",
        Ok(Recorded::AlreadyThere) => "already recorded",
        Err(error) => return Err(Failure::usage(kept_in_file(&stored, &error, &named)?)),
    };
    Ok(format!(
        "{done}{} in {}: genba history show{named}",
        at.unwrap_or_default(),
        location.display()
    ))
}

/// Keeps a recording whose store failed in a file; returns what to say.
fn kept_in_file(
    recording: &Recording,
    error: &genba_history::Error,
    named: &str,
) -> Result<String, Failure> {
    let store = Store::open_root();
    store.make_root()?;
    let time: String = (recording.started.chars())
        .filter(char::is_ascii_alphanumeric)
        .collect();
    let file = store.root().join(format!("unrecorded-{time}.json"));
    crate::output_file::write(&file, &recording_text(recording))?;
    Ok(format!(
        "{error}\n  what was measured is in {file}; to record it: genba history import{named} {file}",
        file = file.display()
    ))
}

fn short(commit: &str) -> &str {
    &commit[..commit.len().min(10)]
}

/// The build ids of the executables by variant, where a command begins with one.
fn build_ids(
    reports: &[(Option<String>, ComparisonReport)],
    directories: &[String],
) -> BTreeMap<String, String> {
    let variants = reports.iter().flat_map(|(_, report)| &report.variants);
    (variants.enumerate())
        .filter_map(|(index, variant)| {
            let directory = directories.get(index).or_else(|| directories.first());
            let directory = directory.map_or(Path::new("."), Path::new);
            let program = executable(&variant.command, directory)?;
            let id = genba_symbols::Binary::open(program).ok()?.build_id()?;
            Some((variant.name.clone(), id))
        })
        .collect()
}

/// The file that a command line starts.
fn executable(command: &str, directory: &Path) -> Option<PathBuf> {
    let words = shlex::split(command)?;
    let program = words.iter().find(|word| !word.contains('='))?;
    if program.contains('/') {
        return Some(directory.join(program));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|one| one.join(program))
        .find(|one| one.is_file())
}
