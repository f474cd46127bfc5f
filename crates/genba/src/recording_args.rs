//! Arguments of the recording to read, shared by `report`, `annotate`, `flame`, `explain` and
//! `diff`.

use std::path::{Path, PathBuf};

use clap::Args;
use genba_attribution::{ResolveOptions, ResolvedProfile};
use genba_case::{Case, Error as CaseError, Store};
use genba_code::SourceCache;
use genba_import::Imported;
use genba_investigate::explanation_inputs::{JOIN, Join};
use genba_investigate::join_counts::{self, COUNTS_FILE};
use genba_model::{CaseKind, DataProfile, Profile, RawCounts, SampledDetail, ScriptProfile, Waits};
use genba_profile::jit;
use genba_runtime::script::ScriptError;
use genba_units::parse_positive_number;

use crate::exit_code::Failure;
use crate::standard_input;

/// The recording that is read where none is given.
const DEFAULT_INPUT: &str = "perf.data";

/// Kinds of cases that have a profile, of time on or off a CPU: `latest` is the newest of them.
const WITH_PROFILE: [CaseKind; 2] = [CaseKind::Investigation, CaseKind::Waits];

/// The recording to read, with counts to join.
#[derive(Debug, Args)]
pub struct RecordingArgs {
    /// Recording to read: a perf.data file of genba or perf, a case id (or `latest`), or, for report, flame,
    /// diff and export, a profile of another program: collapsed stacks, pprof, callgrind, Firefox
    /// Profiler; `-` is standard input [default: perf.data].
    #[arg(short, long, value_name = "FILE|CASE", value_parser = standard_input::parser())]
    input: Option<PathBuf>,

    /// Event to show, of a recording of several events.
    #[arg(short, long, value_name = "EVENT")]
    event: Option<String>,

    /// Join exact counts: a file written by `genba count -o`. A case has its own.
    #[arg(long, value_name = "FILE")]
    counts: Option<PathBuf>,

    /// Multiply the counts by this: the number of runs in the recording, or its work divided by
    /// the work of the run that was counted.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, requires = "counts",
          value_parser = parse_positive_number)]
    counts_scale: f64,
}

impl RecordingArgs {
    /// The first event of a recording, with counts of one run.
    pub fn of(input: PathBuf, counts: Option<PathBuf>) -> Self {
        Self {
            input: Some(input),
            event: None,
            counts,
            counts_scale: 1.0,
        }
    }

    /// Reads this recording, if one is given; `--input` must not be given as well.
    pub fn or_input(&mut self, input: Option<PathBuf>) -> Result<(), Failure> {
        if input.is_some() && self.input.is_some() {
            return Err(Failure::usage(
                "the recording is given twice: as an argument and with --input",
            ));
        }
        self.input = self.input.take().or(input);
        Ok(())
    }

    /// The profile of another program that the input is; `None` for recordings and cases.
    pub fn imported(&self) -> Result<Option<Imported>, Failure> {
        let input = self.input();
        // Counts of genba are JSON, too.
        if self.counts.is_some() || is_counts(input) {
            return Ok(None);
        }
        let imported = genba_import::open(input, self.event.as_deref())
            .map_err(|error| Failure::usage(format!("{}: {error}", input.display())))?;
        Ok(imported.map(|mut one| {
            let unnamed = genba_attribution::name_addresses(&mut one.detail);
            if unnamed > 0 {
                one.detail.notes.push(format!(
                    "{unnamed} functions have addresses for names: the file has none, and the programs are not here as \
                     they were sampled, by their build ids"
                ));
            }
            one
        }))
    }

    /// The same as a profile by function, line, module, thread and stack.
    pub fn imported_profile(&self) -> Result<Option<Profile>, Failure> {
        let imported = self.imported()?;
        let profile =
            |one: Imported| genba_attribution::sampled_profile(&one.detail, one.format.name());
        Ok(imported.map(profile))
    }

    /// The input as the user gave it.
    pub fn given_input(&self) -> Option<String> {
        let input = self.input.as_ref()?;
        Some(input.to_string_lossy().into_owned())
    }

    fn input(&self) -> &Path {
        self.input.as_deref().unwrap_or(Path::new(DEFAULT_INPUT))
    }

    /// What the case that the input names knows of waits; `None` where the input is a file or a case
    /// without waits.
    pub fn waits_of_case(&self) -> Result<Option<Waits>, Failure> {
        match self.case() {
            Some(case) => Ok(case.waits()?.filter(|waits| !waits.stacks.is_empty())),
            None => Ok(None),
        }
    }

    /// The waits to show with `--off-cpu`: those of the input, or of the newest case where no
    /// input is given.
    pub fn waits(&self) -> Result<Waits, Failure> {
        if self.event.is_some() || self.counts.is_some() {
            return Err(Failure::usage(
                "--event and --counts are for samples on a CPU; omit them with --off-cpu",
            ));
        }
        let name = match &self.input {
            Some(input) if input.exists() => {
                return Err(Failure::usage(format!(
                    "{} has samples on a CPU only\n  to see waits: genba wait -- COMMAND, then the same without \
                     this file",
                    input.display()
                )));
            }
            Some(input) => input.to_string_lossy().into_owned(),
            None => "latest".to_owned(),
        };
        let make = "make one with: genba wait -- COMMAND";
        let store = Store::open_root();
        let case = (store.id_among(&name, &WITH_PROFILE))
            .and_then(|id| store.find(&id))
            .map_err(|error| Failure::usage(format!("no case with waits: {error}\n  {make}")))?;
        match case.waits()? {
            Some(waits) if !waits.stacks.is_empty() => Ok(waits),
            Some(_) => Err(Failure::usage(format!(
                "the waits of case {} have no stacks (an older genba stored it)\n  {make}",
                case.id()
            ))),
            None => Err(Failure::usage(format!(
                "case {} has no waits\n  {make}",
                case.id()
            ))),
        }
    }

    /// The case that the input names, if its stored documents can answer without reading the
    /// recording again; `None` for a file, an event or other counts.
    pub fn case(&self) -> Option<Case> {
        if self.event.is_some() || self.counts.is_some() {
            return None;
        }
        self.stored_case()
    }

    /// The comparison that the input names.
    pub fn comparison(&self) -> Result<Case, CaseError> {
        let store = Store::open_root();
        let id = store.id_among(&self.input().to_string_lossy(), &[CaseKind::Comparison])?;
        store.find(&id)
    }

    /// The case that the input names, if it is not a file.
    fn stored_case(&self) -> Option<Case> {
        if self.input().exists() {
            return None;
        }
        let store = Store::open_root();
        let id = store.id_among(&self.input().to_string_lossy(), &WITH_PROFILE);
        store.find(&id.ok()?).ok()
    }

    /// The source files, also those that were stored with the recording.
    pub fn sources(&self) -> SourceCache {
        let sources = SourceCache::new();
        match self.path() {
            Ok(path) => sources.with_directory(jit::directory_of(&path)),
            Err(_) => sources,
        }
    }

    /// The recorded functions of Python or Ruby.
    pub fn script(&self) -> Result<ScriptProfile, Failure> {
        let path = self.path()?;
        match genba_runtime::script::profile(&path) {
            // An investigation stores the profile without the samples.
            Err(ScriptError::None(_)) if let Some(stored) = self.script_of_case()? => Ok(stored),
            read => read.map_err(Failure::usage),
        }
    }

    fn script_of_case(&self) -> Result<Option<ScriptProfile>, Failure> {
        match self.case() {
            Some(case) => Ok(case.get_document("script")?),
            None => Ok(None),
        }
    }

    /// Where the data of the recording's loads and stores was.
    pub fn data_profile(&self) -> Result<DataProfile, Failure> {
        let options = ResolveOptions {
            event: self.event.clone(),
            stacks: false,
            kernel_names: true,
        };
        genba_attribution::data_profile(&self.recording_path()?, &options).map_err(Failure::from)
    }

    /// Opens the recording and joins it with the code.
    pub fn open(&self, stacks: bool, kernel_names: bool) -> Result<ResolvedProfile, Failure> {
        let path = self.recording_path()?;
        let options = ResolveOptions {
            event: self.event.clone(),
            stacks,
            kernel_names,
        };
        let mut resolved = ResolvedProfile::open(&path, &options).map_err(Failure::from)?;
        self.join(&mut resolved)?;
        Ok(resolved)
    }

    /// The same for annotations alone: without stacks and threads. Cases have the samples added up by address, so that the
    /// recording need not be read.
    pub fn open_for_code(&self, kernel_names: bool) -> Result<ResolvedProfile, Failure> {
        match self.open_addresses(kernel_names)? {
            Some(resolved) => Ok(resolved),
            None => self.open(false, kernel_names),
        }
    }

    /// The samples by address that the case has stored; `None` where the input is no such case.
    pub fn open_addresses(&self, kernel_names: bool) -> Result<Option<ResolvedProfile>, Failure> {
        let stored = self.case().map(|case| case.sampled_addresses());
        let stored = stored.transpose()?.flatten();
        let resolved = stored.and_then(|one| ResolvedProfile::of_addresses(one, kernel_names));
        resolved
            .map(|mut resolved| {
                self.join(&mut resolved)?;
                Ok(resolved)
            })
            .transpose()
    }

    /// The samples of the recording one by one.
    pub fn sampled_detail(&self) -> Result<SampledDetail, Failure> {
        if let Some(imported) = self.imported()? {
            return Ok(imported.detail);
        }
        let path = self.path()?;
        let options = ResolveOptions {
            event: self.event.clone(),
            ..ResolveOptions::default()
        };
        let (resolved, samples) =
            ResolvedProfile::open_with_samples(&path, &options).map_err(Failure::from)?;
        Ok(resolved.sampled_detail(&samples))
    }

    /// The exact counts of `--counts`, or of an input that is a file of `genba count -o`.
    pub fn exact_counts(&self) -> Result<Option<RawCounts>, Failure> {
        let file = match &self.counts {
            Some(file) => file,
            None if is_counts(self.input()) => self.input(),
            None => return Ok(None),
        };
        let raw = genba_count::saved_counts::read(file).map_err(Failure::usage)?;
        Ok(Some(raw))
    }

    /// Whether a path is the file that is read.
    pub fn is_input(&self, path: &Path) -> bool {
        let same = |input: &Path| {
            let files = (std::fs::canonicalize(input), std::fs::canonicalize(path));
            matches!(files, (Ok(one), Ok(other)) if one == other)
        };
        self.path().is_ok_and(|input| same(&input)) || self.counts.as_deref().is_some_and(same)
    }

    /// Opens the recording for one function alone; `None` if it takes the whole to find it.
    pub fn open_for(&self, function: &str) -> Result<Option<ResolvedProfile>, Failure> {
        let path = self.recording_path()?;
        let options = ResolveOptions {
            event: self.event.clone(),
            ..ResolveOptions::default()
        };
        let resolved = ResolvedProfile::open_for(&path, &options, function);
        let mut resolved = resolved.map_err(Failure::from)?;
        if let Some(resolved) = &mut resolved {
            self.join(resolved)?;
        }
        Ok(resolved)
    }

    /// Joins what the case knows, its command and counts; the counts of `--counts` instead, if they are given.
    fn join(&self, resolved: &mut ResolvedProfile) -> Result<(), Failure> {
        let case = self.stored_case();
        // The recording has the command line of genba.
        if let Some(case) = &case {
            resolved.command = case.workload()?.command;
        }
        if let Some(file) = &self.counts {
            let raw = genba_count::saved_counts::read(file).map_err(Failure::usage)?;
            resolved.join_counts(join_here(self.counts_scale).with(&raw));
        } else if let Some(case) = &case
            && let Some(join) = case.get_document::<Join>(JOIN)?
        {
            let file = case.directory().join(COUNTS_FILE);
            let raw = genba_count::saved_counts::read(&file).map_err(|error| {
                let recording = case.recording_path();
                Failure::usage(format!(
                    "{error}\n  to read it without counts: -i {}",
                    recording.display()
                ))
            })?;
            resolved.join_counts(join.with(&raw));
        }
        Ok(())
    }

    /// The path of a recording that has addresses: not of the profile of another program.
    fn recording_path(&self) -> Result<PathBuf, Failure> {
        match self.imported()? {
            Some(imported) => Err(Failure::usage(format!(
                "{} is a profile of another program ({}), which has no code to show\n  it can be read by: \
                 genba report, flame, diff, export",
                self.input().display(),
                imported.format.name()
            ))),
            None => self.path(),
        }
    }

    /// The path of the recording: the input itself, or the recording of the case it names.
    fn path(&self) -> Result<PathBuf, Failure> {
        if self.input().exists() {
            return Ok(self.input().to_owned());
        }
        let name = self.input().to_string_lossy();
        if name == DEFAULT_INPUT {
            return Err(Failure::usage(
                "no perf.data in this directory\n  make one with: genba record -- COMMAND, or name a case (genba case list): -i CASE",
            ));
        }
        let store = Store::open_root();
        let case = (store.id_among(&name, &WITH_PROFILE)).and_then(|id| store.find(&id));
        match case {
            Ok(case) if case.kind()? == CaseKind::Waits => Err(Failure::usage(format!(
                "case {0} is of genba wait and has no recording of its own\n  to see it: genba report \
                 --off-cpu -i {0}, genba flame -i {0}",
                case.id()
            ))),
            Ok(case) => Ok(case.recording_path()),
            Err(error @ (CaseError::OtherKind { .. } | CaseError::Ambiguous { .. })) => {
                Err(error.into())
            }
            Err(_) => Err(Failure::usage(format!(
                "{name} is neither a file nor a case under .genba; list cases with: genba case list"
            ))),
        }
    }
}

/// Whether a file is a JSON document of genba's, as of `genba count -o`, by its begin: the profiles of other programs can be
/// JSON, too.
pub fn is_counts(path: &Path) -> bool {
    use std::io::Read;
    let mut first = Vec::new();
    let file = path.is_file().then(|| std::fs::File::open(path));
    let Some(Ok(file)) = file else { return false };
    if file.take(200).read_to_end(&mut first).is_err() {
        return false;
    }
    let text = String::from_utf8_lossy(&first);
    let head: String = (text.chars().filter(|c| !c.is_whitespace()))
        .take(40)
        .collect();
    head.starts_with("{\"schema\":\"genba/")
}

/// How counts of one run join samples of one run, both taken on this host.
fn join_here(scale: f64) -> Join {
    let host = genba_host::load(&genba_host::fingerprint(false).id);
    Join {
        runs: 1.0,
        native_cpu_seconds: None,
        scale,
        clock: host.as_ref().map(|table| {
            let clock = join_counts::clock_of_table(table);
            (clock.hz, clock.source)
        }),
        host,
    }
}
