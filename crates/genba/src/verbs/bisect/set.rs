//! `genba bisect set`: search the elements of a set that is passed to the command.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use genba_build::BuildDirectory;
use genba_experiment::bisect::{ElementSet, find_elements};
use genba_experiment::parameters::mentions;
use genba_experiment::{ExperimentError, VariantPlan};
use genba_model::BisectionKind;

use super::placeholders::variant_with_values;
use super::{dry_run, finish, open, request, run_search, words};
use crate::exit_code::{Failure, VerbResult};
use crate::output::Output;
use crate::session::ExperimentArgs;

/// Environment variable with the enabled elements.
const VARIABLE: &str = "GENBA_ITEMS";
/// Placeholders.
const ITEMS: &str = "ITEMS";
const ITEMS_FILE: &str = "ITEMS_FILE";
/// Longer names of a subset are replaced by its number of elements and a bit mask.
const MAX_NAME_LENGTH: usize = 120;

/// Arguments of `genba bisect set`.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Elements of the set, separated by commas.
    #[arg(long, value_name = "A,B,C", required_unless_present = "items_file")]
    items: Option<String>,

    /// File with one element per line.
    #[arg(long, value_name = "FILE", conflicts_with = "items")]
    items_file: Option<PathBuf>,

    /// Separator between the enabled elements.
    #[arg(long, value_name = "TEXT", default_value = ",")]
    separator: String,

    #[command(flatten)]
    pub(super) experiment: ExperimentArgs,

    /// Command; {ITEMS} is replaced by the enabled elements, {ITEMS_FILE} by a file with one per
    /// line; $GENBA_ITEMS holds them as well.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Runs `genba bisect set`.
pub fn run(args: &Args, output: &Output) -> VerbResult {
    let words = words(&args.command)?;
    let names = names(args)?;
    let experiment = &args.experiment;
    let mut session = open(experiment, words, output)?;
    let files = (words.iter().any(|word| mentions(word, ITEMS_FILE)))
        .then(BuildDirectory::open)
        .transpose()
        .map_err(Failure::usage)?;
    let items = Items {
        args,
        names,
        files,
        written: Cell::new(0),
    };
    let none = items.variant(&[])?;
    let search = request(
        BisectionKind::Set,
        items.names.len() as u64,
        words,
        none,
        experiment,
        &session,
    )?;
    if experiment.dry_run {
        let how = "none and all elements first (13 or more pairs of runs), then half of them at a time \
                   in a screening design (about 10 runs per element where noise is as large as the \
                   effect), then each suspect alone, and all elements without it; without noise a \
                   binary search";
        return dry_run(&search, how, output);
    }
    let (found, seconds) = run_search(&mut session, &search, |comparer| {
        find_elements(comparer, &search.plan, &items, search.budget)
    })?;
    Ok(finish(session, search, found, seconds, experiment)?.0)
}

fn names(args: &Args) -> Result<Vec<String>, Failure> {
    let text = match (&args.items, &args.items_file) {
        (Some(items), _) => items.replace(',', "\n"),
        (None, Some(path)) => std::fs::read_to_string(path).map_err(|error| {
            Failure::usage(format!(
                "cannot read the elements from {}: {error}",
                path.display()
            ))
        })?,
        (None, None) => String::new(),
    };
    let names: Vec<String> = (text.lines().map(str::trim))
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect();
    let mut seen = std::collections::BTreeSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(Failure::usage(format!(
            "the element {twice:?} is given twice"
        )));
    }
    if names.is_empty() {
        return Err(Failure::usage("the set is empty: nothing to search"));
    }
    Ok(names)
}

struct Items<'a> {
    args: &'a Args,
    names: Vec<String>,
    /// Directory of the files for {ITEMS_FILE}.
    files: Option<BuildDirectory>,
    written: Cell<u64>,
}

impl Items<'_> {
    fn subset_name(&self, on: &[usize]) -> String {
        if on.is_empty() {
            return "none".to_owned();
        }
        if on.len() == self.names.len() {
            return "all".to_owned();
        }
        let list: Vec<&str> = on.iter().map(|item| self.names[*item].as_str()).collect();
        let name = list.join(",");
        if name.len() <= MAX_NAME_LENGTH {
            return name;
        }
        let off: Vec<&str> = (self.names.iter().enumerate())
            .filter(|(item, _)| on.binary_search(item).is_err())
            .map(|(_, name)| name.as_str())
            .collect();
        let name = format!("all but {}", off.join(","));
        if name.len() <= MAX_NAME_LENGTH {
            return name;
        }
        // One bit per element: the same subset has the same name in every session.
        let mut bits = vec![0u8; self.names.len().div_ceil(4)];
        for item in on {
            bits[item / 4] |= 1 << (item % 4);
        }
        let digits: String = bits
            .iter()
            .map(|bit| char::from_digit(u32::from(*bit), 16).unwrap_or('?'))
            .collect();
        format!("{} of {} elements, {digits}", on.len(), self.names.len())
    }

    fn variant(&self, on: &[usize]) -> Result<VariantPlan, Failure> {
        let list: Vec<&str> = on.iter().map(|item| self.names[*item].as_str()).collect();
        let joined = list.join(&self.args.separator);
        let mut values = BTreeMap::from([(ITEMS.to_owned(), joined.clone())]);
        if let Some(files) = &self.files {
            self.written.set(self.written.get() + 1);
            // All names have the same length, because the length moves the target's stack.
            let path = files
                .path()
                .join(format!("items-{:08}", self.written.get()));
            let text: String = list.iter().map(|name| format!("{name}\n")).collect();
            std::fs::write(&path, text).map_err(|error| {
                Failure::usage(format!("cannot write {}: {error}", path.display()))
            })?;
            values.insert(ITEMS_FILE.to_owned(), path.display().to_string());
        }
        let name = self.subset_name(on);
        let mut variant =
            variant_with_values(&self.args.experiment, &name, &self.args.command, &values)?;
        variant
            .spec
            .environment
            .set(VARIABLE, genba_run::bytes_of(&joined));
        Ok(variant)
    }
}

impl ElementSet for Items<'_> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn variant(&self, on: &[usize]) -> Result<VariantPlan, ExperimentError> {
        Items::variant(self, on).map_err(ExperimentError::from)
    }
}
