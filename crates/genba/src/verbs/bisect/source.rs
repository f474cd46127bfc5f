//! `genba bisect source`: search the regions of a C or C++ file.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};
use genba_build::BuildDirectory;
use genba_experiment::bisect::{Regions, SourceLanguage, SwitchableSource, find_regions};
use genba_experiment::parameters::mentions;
use genba_experiment::{ExperimentError, VariantPlan};
use genba_model::BisectionKind;

use super::placeholders::variant_with_values;
use super::{dry_run, finish, open, request, run_search, words};
use crate::exit_code::{Failure, VerbResult};
use crate::output::Output;
use crate::session::ExperimentArgs;

/// Placeholder.
const FILE: &str = "FILE";

/// Arguments of `genba bisect source`.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Source file. It is not modified: copies are compiled.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Language [default: C for .c, else C++].
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<Language>,

    #[command(flatten)]
    pub(super) experiment: ExperimentArgs,

    /// Command; {FILE} is replaced by the copy. Includes are searched in the directory of the file.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Languages.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Language {
    /// C.
    C,
    /// C++.
    #[value(name = "c++")]
    Cpp,
}

/// Runs `genba bisect source`.
pub fn run(args: &Args, output: &Output) -> VerbResult {
    let words = words(&args.command)?;
    let experiment = &args.experiment;
    if !words.iter().any(|word| mentions(word, FILE)) {
        return Err(Failure::usage(
            "the command does not contain {FILE}: write {FILE} in place of the file name",
        ));
    }
    let source = std::fs::read(&args.file)
        .map_err(|error| Failure::usage(format!("cannot read {}: {error}", args.file.display())))?;
    let name = args.file.file_name().unwrap_or_default().to_os_string();
    let language = match args.language {
        Some(Language::C) => SourceLanguage::C,
        Some(Language::Cpp) => SourceLanguage::Cpp,
        None => SourceLanguage::of_name(&name.to_string_lossy()),
    };
    let regions = Regions::find(&source, language)?;
    let mut session = open(experiment, words, output)?;
    let parent = args
        .file
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    let beside = std::path::absolute(parent.unwrap_or(Path::new("."))).unwrap_or_default();
    let remover = RegionRemover {
        args,
        source,
        name,
        beside,
        regions,
        build_directory: BuildDirectory::open().map_err(Failure::usage)?,
        written: Cell::new(0),
    };
    let whole = remover.variant(&[])?;
    let mut search = request(
        BisectionKind::Source,
        remover.regions.all.len() as u64,
        words,
        whole,
        experiment,
        &session,
    )?;
    // User time covers the processes that a compiler starts, and has less noise than wall time.
    if experiment.metric.is_none() {
        search.plan.primary = "user".to_owned();
    }
    if experiment.dry_run {
        let how = "the whole file three times, then halves of its functions and the blocks of the \
                   costly ones, the most costly four times, then the culprit in 13 or more pairs";
        return dry_run(&search, how, output);
    }
    let (found, seconds) = run_search(&mut session, &search, |comparer| {
        find_regions(comparer, &search.plan, &remover, search.budget)
    })?;
    drop(remover);
    Ok(finish(session, search, found, seconds, experiment)?.0)
}

/// Writes copies of the file without some of its regions.
struct RegionRemover<'a> {
    args: &'a Args,
    source: Vec<u8>,
    name: OsString,
    /// Directory of the file.
    beside: PathBuf,
    regions: Regions,
    build_directory: BuildDirectory,
    written: Cell<u32>,
}

impl RegionRemover<'_> {
    fn variant(&self, off: &[usize]) -> Result<VariantPlan, Failure> {
        let number = self.written.get();
        self.written.set(number + 1);
        // All paths have the same length, and the file keeps its name, which may be compiled in.
        let place = self.build_directory.path().join(format!("cut-{number:06}"));
        let path = place.join(&self.name);
        let write = || -> std::io::Result<()> {
            std::fs::create_dir(&place)?;
            std::fs::write(&path, self.regions.without(&self.source, off))
        };
        write()
            .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))?;
        let values = BTreeMap::from([(FILE.to_owned(), path.display().to_string())]);
        let name = self.regions.name_without(off);
        let mut variant =
            variant_with_values(&self.args.experiment, &name, &self.args.command, &values)?;
        variant.command = genba_run::join_words(&self.args.command);
        // `#include "header.h"` must still find headers in the directory of the original.
        let mut include = self.beside.clone().into_os_string();
        let key = OsString::from("CPATH");
        let own = variant
            .spec
            .environment
            .changes
            .get(&key)
            .cloned()
            .flatten();
        if let Some(before) = own.or_else(|| std::env::var_os(&key)) {
            include.push(":");
            include.push(before);
        }
        variant.spec.environment.set(key, include);
        Ok(variant)
    }
}

impl SwitchableSource for RegionRemover<'_> {
    fn regions(&self) -> &Regions {
        &self.regions
    }

    fn without(&self, off: &[usize]) -> Result<VariantPlan, ExperimentError> {
        self.variant(off).map_err(ExperimentError::from)
    }
}
