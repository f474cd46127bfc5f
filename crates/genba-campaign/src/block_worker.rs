//! Measures one block on this node.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use genba_experiment::run_journal::{ExperimentClock, Journal, JournalEntry, JournalingRunner};
use genba_experiment::{ExperimentError, NoObserver, Runner, now, run};
use genba_model::HostFingerprint;
use genba_run::Cancel;

use crate::CampaignError;
use crate::block_matrix::{Block, Group, Tree};
use crate::block_variants::measurement_plan;
use crate::campaign_directory::CampaignDirectory;
use crate::campaign_plan::ResolvedPlan;
use crate::stored_results::BlockResult;

/// Makes the runner for a plan's events.
pub type MakeRunner<'a, R> = &'a dyn Fn(&[String]) -> Result<R, ExperimentError>;

/// Measures a block and stores its result, unless it is stored already.
///
/// # Errors
/// The directory cannot be written to, or the block was interrupted. A block in which nothing can be
/// run is a result.
pub fn measure_block<R: Runner>(
    directory: &CampaignDirectory,
    resolved: &ResolvedPlan,
    group: &Group,
    block: &Block,
    fingerprint: HostFingerprint,
    runner: MakeRunner<'_, R>,
    cancel: &Cancel,
) -> Result<(), CampaignError> {
    if directory.has_block(&block.key) {
        return Ok(());
    }
    let mut result = BlockResult {
        key: block.key.clone(),
        node: node_name(),
        fingerprint,
        started: now(),
        seconds: 0.0,
        genba: env!("CARGO_PKG_VERSION").to_owned(),
        runs: Vec::new(),
        excluded: Vec::new(),
        failure: None,
        notes: Vec::new(),
    };
    let clock = Instant::now();
    let built = with_builds(directory, resolved, group, block, &mut result)?;
    if built.cells.is_empty() {
        result.failure = Some("no build of its variants succeeded".to_owned());
    } else {
        measure(
            directory,
            resolved,
            &built,
            block,
            runner,
            cancel,
            &mut result,
        )?;
    }
    result.seconds = clock.elapsed().as_secs_f64();
    directory.put_block(&result)?;
    Ok(())
}

/// The variants of a group whose builds are there; the others are noted as excluded.
fn with_builds(
    directory: &CampaignDirectory,
    resolved: &ResolvedPlan,
    group: &Group,
    block: &Block,
    result: &mut BlockResult,
) -> Result<Group, CampaignError> {
    let mut built = Group {
        name: group.name.clone(),
        cells: Vec::new(),
    };
    for cell in &group.cells {
        let failure = match resolved.tree(cell, block.host) {
            Tree::AsItIs => None,
            Tree::Built(key) => match directory.build(&key)? {
                Some(build) => build.failure,
                None => Some("there is no build of it".to_owned()),
            },
        };
        match failure {
            None => built.cells.push(cell.clone()),
            Some(reason) => result.excluded.push((cell.name.clone(), reason)),
        }
    }
    Ok(built)
}

fn measure<R: Runner>(
    directory: &CampaignDirectory,
    resolved: &ResolvedPlan,
    group: &Group,
    block: &Block,
    make_runner: MakeRunner<'_, R>,
    cancel: &Cancel,
    result: &mut BlockResult,
) -> Result<(), CampaignError> {
    let tree_of = |key: &str| {
        let build = directory.build(key).ok().flatten();
        build.map(|build| build.tree).unwrap_or_default()
    };
    let seed = seed_of(resolved.plan.seed, &block.key);
    let runs = resolved.plan.runs;
    let plan = measurement_plan(resolved, group, block.host, runs, seed, &tree_of)?;
    let journal = MemoryJournal::default();
    let entries = Rc::clone(&journal.0);
    let inner = make_runner(&plan.counters)?;
    let mut runner = JournalingRunner::new(inner, journal, Vec::new(), ExperimentClock::new(0));
    let measured = run(&plan, &mut runner, cancel, &mut NoObserver);
    if cancel.is_triggered() {
        return Err(genba_run::RunError::Cancelled.into());
    }
    match measured {
        Ok(measurement) => {
            let excluded = measurement.excluded(&plan);
            result.excluded.extend(excluded);
            result.notes.extend(runner.notes().iter().cloned());
        }
        Err(ExperimentError::NothingLeft { reasons, .. }) => {
            result.failure = Some(reasons.join("; "));
        }
        Err(error) => return Err(error.into()),
    }
    drop(runner);
    result.runs = without_warmup(entries.take(), resolved.plan.measure.warmup);
    Ok(())
}

/// The runs without the first ones of each variant.
fn without_warmup(runs: Vec<JournalEntry>, warmup: u32) -> Vec<JournalEntry> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let measured = move |entry: &JournalEntry| {
        let count = seen.entry(entry.variant.clone()).or_default();
        *count += 1;
        *count > warmup
    };
    runs.into_iter().filter(measured).collect()
}

/// Seed of the order of runs in a block: another one in each.
fn seed_of(seed: u64, key: &str) -> u64 {
    let digits = u64::from_str_radix(key.get(..16).unwrap_or_default(), 16);
    seed ^ digits.unwrap_or_default()
}

/// The name of this node: Slurm's, as several of its nodes may be one machine, else the machine's.
#[must_use]
pub fn node_name() -> String {
    let of_slurm = std::env::var("SLURMD_NODENAME").ok();
    of_slurm.filter(|name| !name.is_empty()).unwrap_or_else(|| {
        let system = rustix::system::uname();
        system.nodename().to_string_lossy().into_owned()
    })
}

/// The runs of a block; they are stored together when it is complete.
#[derive(Default)]
struct MemoryJournal(Rc<RefCell<Vec<JournalEntry>>>);

impl Journal for MemoryJournal {
    fn keep(&mut self, entry: &JournalEntry) -> Result<(), String> {
        self.0.borrow_mut().push(entry.clone());
        Ok(())
    }
}
