//! The directory of cases.

use std::io::Read;
use std::path::{Path, PathBuf};

use genba_model::{
    CaseKind, CaseState, CaseSummary, ComparisonReport, Document, HostFingerprint, Investigation,
    SCHEMA, Workload,
};

use crate::case::{DATABASE, now};
use crate::schema::Access;
use crate::{Case, Error, Phase, Result, case_id, comparison_case, store_directory};

/// Maximum size of an imported file, bytes.
pub const MAX_IMPORT_BYTES: u64 = 1 << 30;

/// The directory of cases: `$GENBA_HOME`, or `.genba` in the working directory or above it in the project.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

/// Excludes cases from version control.
const IGNORE: &str = ".gitignore";

impl Store {
    /// The store that the environment names; its directory is created with the first case.
    #[must_use]
    pub fn open_root() -> Self {
        let root = std::env::var_os("GENBA_HOME")
            .filter(|home| !home.is_empty())
            .map_or_else(store_directory::nearest, PathBuf::from);
        Self::at(root)
    }

    /// The store in this directory.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The directory of cases.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Creates a case; this process is its writer until it is finished or dropped.
    ///
    /// # Errors
    /// The directory cannot be written to.
    pub fn create(&self, workload: &Workload, host: &HostFingerprint) -> Result<Case> {
        let (id, directory) = self.make_directory(None)?;
        let genba = env!("CARGO_PKG_VERSION");
        Case::begin(id, directory, workload, host, &now(), genba)
    }

    /// Removes a case, and the store's directory if it is then empty.
    ///
    /// # Errors
    /// The case's directory cannot be removed.
    pub fn discard(&self, case: Case) -> Result<()> {
        let directory = case.directory().to_owned();
        drop(case);
        std::fs::remove_dir_all(&directory).map_err(Error::io("remove", &directory))?;
        if self.identifiers()?.is_empty() {
            let _ = std::fs::remove_file(self.root.join(IGNORE));
            // Fails, as it should, if anything else is there.
            let _ = std::fs::remove_dir(&self.root);
        }
        Ok(())
    }

    /// As [`Store::create`] for a comparison; the workload is that of the baseline.
    ///
    /// # Errors
    /// As [`Store::create`].
    pub fn create_comparison(&self, workload: &Workload, host: &HostFingerprint) -> Result<Case> {
        let case = self.create(workload, host)?;
        case.mark(CaseKind::Comparison)?;
        Ok(case)
    }

    /// Opens for reading the case whose id starts with `wanted`, or the newest for `latest`.
    ///
    /// # Errors
    /// No case or several match, or the file is damaged, foreign or newer.
    pub fn find(&self, wanted: &str) -> Result<Case> {
        let id = self.resolve(wanted)?;
        let directory = self.root.join(&id);
        Case::open(id, directory, Access::Read)
    }

    /// As [`Store::find`], opened for writing.
    ///
    /// # Errors
    /// As [`Store::find`].
    pub fn find_to_write(&self, wanted: &str) -> Result<Case> {
        let id = self.resolve(wanted)?;
        let directory = self.root.join(&id);
        Case::open(id, directory, Access::Write)
    }

    /// The id of the case that `wanted` names, if it is of one of these kinds. `latest` is the newest of them.
    ///
    /// # Errors
    /// No case or several match, it is of another kind, or its file is damaged.
    pub fn id_among(&self, wanted: &str, kinds: &[CaseKind]) -> Result<String> {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
        let names = names.join(" or ");
        if wanted == "latest" {
            let newest = (self.list()?.into_iter())
                .find(|case| case.error.is_none() && kinds.contains(&case.kind));
            return newest.map(|case| case.id).ok_or_else(|| Error::NoneOfKind {
                wanted: names,
                root: self.root.clone(),
            });
        }
        let case = self.find(wanted)?;
        let kind = case.kind()?;
        match kinds.contains(&kind) {
            true => Ok(case.id().to_owned()),
            false => Err(Error::OtherKind {
                case: case.id().to_owned(),
                kind: kind.name(),
                wanted: names,
            }),
        }
    }

    /// All cases, newest first; an unreadable one with the reason.
    ///
    /// # Errors
    /// The directory cannot be read; one that does not exist has no cases.
    pub fn list(&self) -> Result<Vec<CaseSummary>> {
        let mut cases: Vec<CaseSummary> = self
            .identifiers()?
            .into_iter()
            .map(|id| {
                let directory = self.root.join(&id);
                Case::open(id.clone(), directory.clone(), Access::Read)
                    .and_then(|case| case.summary())
                    .unwrap_or_else(|error| unreadable(id, &directory, &error))
            })
            .collect();
        // By time, not by text: "0.1Z" is after "0.12Z". The unreadable ones, without a start, come last.
        let start = |case: &CaseSummary| case.started.parse::<jiff::Timestamp>().ok();
        cases.sort_by(|a, b| start(b).cmp(&start(a)).then_with(|| a.id.cmp(&b.id)));
        Ok(cases)
    }

    /// Creates a case from an exported document, under its own id if that is free.
    ///
    /// # Errors
    /// The document is not of a case, or over [`MAX_IMPORT_BYTES`].
    pub fn import(&self, reader: impl Read) -> Result<Case> {
        let mut text = Vec::new();
        reader
            .take(MAX_IMPORT_BYTES + 1)
            .read_to_end(&mut text)
            .map_err(|error| import_error(format!("cannot read it: {error}")))?;
        if text.len() as u64 > MAX_IMPORT_BYTES {
            return Err(Error::TooLarge {
                what: "the file to import".to_owned(),
                bytes: text.len() as u64,
                limit: MAX_IMPORT_BYTES,
            });
        }
        #[derive(serde::Deserialize)]
        struct Envelope {
            schema: String,
            kind: String,
        }
        let envelope: Envelope = serde_json::from_slice(&text)
            .map_err(|error| import_error(format!("not a document of genba: {error}")))?;
        let case = match (envelope.schema.as_str(), envelope.kind.as_str()) {
            (SCHEMA, "investigation") => {
                let all: Investigation = body(&text, "investigation")?;
                drop(text);
                let case = self.begin_import(&all.case, &all.workload, &all.host, &all)?;
                fill(case, |case| {
                    all.runs
                        .runs
                        .iter()
                        .try_for_each(|run| case.add_run(run, Phase::Measure))?;
                    case.put_investigation(&all)
                })
            }
            (SCHEMA, "comparison") => {
                let all: ComparisonReport = body(&text, "comparison")?;
                drop(text);
                let wanted = all.case.clone().unwrap_or_default();
                let workload = comparison_case::workload(&all);
                let case = self.begin_import(&wanted, &workload, &all.host, &all)?;
                fill(case, |case| {
                    case.mark(CaseKind::Comparison)?;
                    case.put_comparison(&all)
                })
            }
            (SCHEMA, name) if experiment(name).is_some() => {
                let kind = experiment(name).unwrap_or_default();
                let head: Head = body(&text, kind.name())?;
                let all: serde_json::Value = body(&text, kind.name())?;
                drop(text);
                let wanted = head.case.clone().unwrap_or_default();
                let workload = Workload {
                    command: vec![head.command.clone()],
                    shell: None,
                    directory: String::new(),
                    name: None,
                };
                let case = self.begin_import(&wanted, &workload, &head.host, &head)?;
                fill(case, |case| {
                    case.mark(kind)?;
                    case.put_experiment(kind, &all)
                })
            }
            (schema, kind) => {
                let (schema, kind) = (cut(schema), cut(kind));
                return Err(import_error(format!(
                    "its schema is {schema:?} and its kind {kind:?}, not {SCHEMA:?} and \
                     a kind of case (investigation, comparison, trial, ablation, sweep, \
                     bisection)"
                )));
            }
        }?;
        Ok(case)
    }

    fn begin_import(
        &self,
        wanted: &str,
        workload: &Workload,
        host: &HostFingerprint,
        origin: &impl Origin,
    ) -> Result<Case> {
        let (id, directory) = self.make_directory(Some(wanted))?;
        let (started, genba) = origin.origin();
        Case::begin(id, directory, workload, host, started, genba)
    }

    fn resolve(&self, wanted: &str) -> Result<String> {
        let missing = || Error::NotFound {
            wanted: cut(wanted),
            root: self.root.clone(),
        };
        if wanted == "latest" {
            let newest = self.list()?.into_iter().next().ok_or_else(missing)?;
            return Ok(newest.id);
        }
        if !case_id::is_prefix(wanted) {
            return Err(missing());
        }
        let mut matches = self.identifiers()?;
        matches.retain(|id| id.starts_with(wanted));
        if let Some(exact) = matches.iter().position(|id| id == wanted) {
            return Ok(matches.swap_remove(exact));
        }
        match matches.len() {
            0 => Err(missing()),
            1 => Ok(matches.swap_remove(0)),
            _ => {
                matches.sort();
                matches.truncate(8);
                Err(Error::Ambiguous {
                    wanted: wanted.to_owned(),
                    matches,
                })
            }
        }
    }

    fn identifiers(&self) -> Result<Vec<String>> {
        let entries = match std::fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("read", &self.root)(error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(Error::io("read", &self.root))?;
            if let Ok(name) = entry.file_name().into_string()
                && case_id::is_valid(&name)
                && entry.path().join(DATABASE).exists()
            {
                found.push(name);
            }
        }
        Ok(found)
    }

    /// Makes the directory of cases, if it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make_root(&self) -> Result<()> {
        if !self.root.exists() {
            std::fs::create_dir_all(&self.root).map_err(Error::io("create", &self.root))?;
            // Cases do not belong to the repository that they are made in.
            let _ = std::fs::write(self.root.join(IGNORE), "*\n");
        }
        Ok(())
    }

    /// Creates the directory of a new case; `create_dir` makes the id unique.
    fn make_directory(&self, wanted: Option<&str>) -> Result<(String, PathBuf)> {
        self.make_root()?;
        let wanted = wanted.filter(|id| case_id::is_valid(id)).map(str::to_owned);
        let candidates = wanted.into_iter().chain((0..64).map(case_id::candidate));
        for id in candidates {
            let directory = self.root.join(&id);
            match std::fs::create_dir(&directory) {
                Ok(()) => return Ok((id, directory)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(Error::io("create", &directory)(error)),
            }
        }
        let full = std::io::Error::other("no free id");
        Err(Error::io("create a case in", &self.root)(full))
    }
}

/// When and by which genba version a document was made.
trait Origin {
    fn origin(&self) -> (&str, &str);
}

impl Origin for Investigation {
    fn origin(&self) -> (&str, &str) {
        (&self.started, &self.genba)
    }
}

impl Origin for ComparisonReport {
    fn origin(&self) -> (&str, &str) {
        (&self.started, &self.genba)
    }
}

/// The fields that every document of an experiment has.
#[derive(serde::Deserialize)]
struct Head {
    case: Option<String>,
    genba: String,
    started: String,
    host: HostFingerprint,
    /// The command line of the workload.
    command: String,
}

impl Origin for Head {
    fn origin(&self) -> (&str, &str) {
        (&self.started, &self.genba)
    }
}

/// The kind of experiment of this name.
fn experiment(name: &str) -> Option<CaseKind> {
    (CaseKind::ALL.into_iter()).find(|kind| kind.is_experiment() && kind.name() == name)
}

/// Parses the body of a document of this kind.
fn body<T: serde::de::DeserializeOwned>(text: &[u8], kind: &str) -> Result<T> {
    serde_json::from_slice::<Document<T>>(text)
        .map(|document| document.body)
        .map_err(|error| import_error(format!("not a document of kind {kind}: {error}")))
}

/// Fills a new case; if that fails, the case is removed.
fn fill(mut case: Case, with: impl FnOnce(&Case) -> Result<()>) -> Result<Case> {
    if let Err(error) = with(&case).and_then(|()| case.finish()) {
        let directory = case.directory().to_owned();
        drop(case);
        // A partial import is of no use.
        let _ = std::fs::remove_dir_all(directory);
        return Err(error);
    }
    Ok(case)
}

fn unreadable(id: String, directory: &Path, error: &Error) -> CaseSummary {
    CaseSummary {
        id,
        kind: CaseKind::default(),
        state: CaseState::Unreadable,
        started: String::new(),
        ended: None,
        command: Vec::new(),
        name: None,
        runs: 0,
        wall_seconds: None,
        path: directory.to_string_lossy().into_owned(),
        error: Some(error.to_string()),
    }
}

fn import_error(why: String) -> Error {
    Error::Import { why }
}

/// Input from outside, shortened for a message.
fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}
