//! `genba history import`: results of other programs.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use genba_history::import::{self, FileContent, ImportContext, Imported};
use genba_history::{History, Recorded};
use genba_units::format::plural;

use crate::compare::{self, StoreArg, ThisHost};
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::output::Output;

#[derive(Debug, ClapArgs)]
pub struct ImportArgs {
    #[command(flatten)]
    store: StoreArg,

    /// The revision that was measured [default: the file's, else the one that is checked out].
    #[arg(long, value_name = "REVISION")]
    revision: Option<String>,

    /// Branch [default: the file's, else the one that is checked out].
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,

    /// Name of the machine [default: the file's, else this host].
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,

    /// Files; a directory is searched for Criterion's new/sample.json.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Runs `genba history import`.
pub fn run(args: &ImportArgs, output: &Output) -> VerbResult {
    let files: Vec<PathBuf> = args
        .files
        .iter()
        .flat_map(|path| import::files_of(path))
        .collect();
    if files.is_empty() {
        return Err(Failure::usage(
            "no new/sample.json of Criterion in the directory; name the files to import",
        ));
    }
    // Before the store is opened, which creates it: a file that cannot be imported leaves nothing.
    for path in &files {
        read(path)?;
    }
    let location = args.store.location()?;
    let line = compare::waiting_line(&location, output);
    let mut history = History::open(&location)?;
    let (mut new, mut benchmarks) = (0, 0);
    for path in &files {
        let recording = match read(path)? {
            FileContent::Recording(recording) => *recording,
            FileContent::Results(imported, bytes) => {
                let context = context(args, &imported)?;
                import::import_recording(imported, &bytes, context)
            }
        };
        benchmarks += recording.measurements.len();
        new += usize::from(history.record(&recording)? == Recorded::New);
    }
    drop(line);
    let known = match files.len() - new {
        0 => String::new(),
        known => format!(" ({known} imported before)"),
    };
    output.result(&format!(
        "{new} of {} imported{known}, {} in {}; genba history show\n",
        plural(files.len() as u64, "file"),
        plural(benchmarks as u64, "measurement"),
        match files.len() {
            1 => "it",
            _ => "them",
        }
    ))?;
    Ok(Exit::Done)
}

fn read(path: &Path) -> Result<FileContent, Failure> {
    import::read_file(path)
        .map_err(|error| Failure::usage(format!("cannot import {}: {error}", path.display())))
}

/// What the file may not say: from the options, the repository around, and this machine.
fn context(args: &ImportArgs, imported: &Imported) -> Result<ImportContext, Failure> {
    let wanted = args.revision.as_deref().or(imported.commit.as_deref());
    let (revision, project) = match compare::revision(wanted) {
        Ok(found) => found,
        // The file's commit may be of another repository.
        Err(_) if args.revision.is_none() => (None, compare::revision(None)?.1),
        Err(failure) => return Err(failure),
    };
    Ok(ImportContext {
        project,
        revision,
        branch: args.branch.clone(),
        machine: args.machine.clone(),
        this_machine: rustix::system::uname()
            .nodename()
            .to_string_lossy()
            .into_owned(),
        this_host: ThisHost::detect().fingerprint,
        now: genba_experiment::now(),
    })
}
