//! `genba history import`: results of other programs.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use genba_history::import::{self, Imported, MAX_BYTES};
use genba_history::{Build, History, Measurement, Recorded, Recording, Role};
use genba_model::HostFingerprint;

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

/// Most files of a directory.
const MAX_FILES: usize = 100_000;
/// Deepest directory that is searched.
const MAX_DEPTH: usize = 12;

/// Runs `genba history import`.
pub fn run(args: &ImportArgs, output: &Output) -> VerbResult {
    let mut files = Vec::new();
    for path in &args.files {
        if path.is_dir() {
            samples(path, MAX_DEPTH, &mut files);
        } else {
            files.push(path.clone());
        }
    }
    if files.is_empty() {
        return Err(Failure::usage(
            "no new/sample.json of Criterion in the directory; name the files to import",
        ));
    }
    let mut history = History::open(&args.store.location()?)?;
    let (mut new, mut benchmarks) = (0, 0);
    for path in &files {
        let fail =
            |what: String| Failure::usage(format!("cannot import {}: {what}", path.display()));
        let bytes = read(path).map_err(|error| fail(error.to_string()))?;
        let imported =
            import::parse(&bytes, &name_of(path)).map_err(|error| fail(error.to_string()))?;
        let recording = recording(args, imported, &bytes)?;
        benchmarks += recording.measurements.len();
        new += usize::from(history.record(&recording)? == Recorded::New);
    }
    let known = match files.len() - new {
        0 => String::new(),
        known => format!(" ({known} imported before)"),
    };
    output.result(&format!(
        "{new} of {} files imported{known}, {benchmarks} measurements in them; genba history show\n",
        files.len()
    ))?;
    Ok(Exit::Done)
}

/// The recording of a file. Its key is the content, so that a file is imported once.
fn recording(args: &ImportArgs, imported: Imported, bytes: &[u8]) -> Result<Recording, Failure> {
    let wanted = args.revision.as_deref().or(imported.commit.as_deref());
    let (mut revision, project) = match compare::revision(wanted) {
        Ok(found) => found,
        // The file's commit may be of another repository.
        Err(_) if args.revision.is_none() => (None, compare::revision(None)?.1),
        Err(failure) => return Err(failure),
    };
    if revision.is_none()
        && let Some(commit) = &imported.commit
    {
        revision = Some(genba_history::Revision {
            commit: commit.clone(),
            ..Default::default()
        });
    }
    if let Some(revision) = &mut revision {
        if let Some(branch) = args.branch.as_ref().or(imported.branch.as_ref()) {
            revision.branch.clone_from(branch);
        }
        revision.dirty |= imported.dirty;
    }
    let here = ThisHost::detect().fingerprint;
    let machine = args.machine.as_ref().or(imported.machine.as_ref());
    let this = machine_name();
    let host = match machine {
        Some(name) if *name != this => HostFingerprint {
            id: format!("name:{name}"),
            cpu: name.clone(),
            microarchitecture: String::new(),
            cpus: 0,
            memory_bytes: 0,
            kernel: String::new(),
            os: String::new(),
            virtualisation: None,
            hardware_counters: false,
        },
        _ => here,
    };
    let commit = revision
        .as_ref()
        .map(|one| one.commit.clone())
        .unwrap_or_default();
    let measurements = (imported.benchmarks.into_iter())
        .map(|one| Measurement {
            benchmark: one.name,
            variant: one.variant,
            metric: one.metric,
            unit: one.unit,
            direction: one.direction,
            role: Role::Measured,
            revision: revision.clone(),
            build: Build::default(),
            values: one.values.into_iter().map(Some).collect(),
        })
        .collect();
    Ok(Recording {
        key: format!("import {commit} {:016x}", content_hash(bytes)),
        project,
        started: imported.started.unwrap_or_else(genba_experiment::now),
        tool: imported.tool,
        host,
        environment: std::collections::BTreeMap::new(),
        measurements,
    })
}

fn content_hash(bytes: &[u8]) -> u64 {
    // FNV-1a; a key must mean the same in every version.
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The name of this machine on the network.
fn machine_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)?
        .take(MAX_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The benchmark's name of a Criterion file: from `benchmark.json` beside it, else the directory.
fn name_of(path: &Path) -> String {
    let beside = path.with_file_name("benchmark.json");
    let named = read(&beside)
        .ok()
        .and_then(|bytes| import::criterion_benchmark_name(&bytes));
    let folder = path.ancestors().nth(2).and_then(Path::file_name);
    named.unwrap_or_else(|| folder.unwrap_or_default().to_string_lossy().into_owned())
}

/// Finds `new/sample.json` below a directory.
fn samples(directory: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if found.len() == MAX_FILES {
            return;
        }
        if path.ends_with("new/sample.json") {
            found.push(path);
        } else if depth > 0 && path.is_dir() && !path.is_symlink() {
            samples(&path, depth - 1, found);
        }
    }
}
