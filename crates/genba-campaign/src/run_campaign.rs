//! A session of a campaign: builds first, then blocks; and what a worker does.

use std::collections::{BTreeMap, BTreeSet};

use genba_experiment::{ExperimentError, HostRunner, Runner};
use genba_model::HostFingerprint;
use genba_run::{Cancel, Launcher};

use crate::CampaignError;
use crate::block_matrix::{Matrix, Tree};
use crate::block_variants::measurement_plan;
use crate::block_worker::{MakeRunner, measure_block};
use crate::build_worker::make_build;
use crate::campaign_directory::CampaignDirectory;
use crate::campaign_plan::ResolvedPlan;
use crate::scheduler::{CampaignObserver, Scheduler, settle};
use crate::stored_results::{BlockResult, BuildResult};
use crate::task_board::{Task, TaskBoard};

/// What a session came to; the results are in the directory.
#[derive(Clone, Debug, Default)]
pub struct CampaignRun {
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Attempts that ended without a result.
    pub lost: u64,
    /// What the scheduler remarked, the latest last.
    pub remarks: Vec<String>,
}

/// Checks what can be checked before anything runs.
///
/// # Errors
/// A command that cannot be split into words, an unknown metric.
pub fn check(resolved: &ResolvedPlan, matrix: &Matrix) -> Result<(), ExperimentError> {
    for group in &matrix.groups {
        let plan = measurement_plan(resolved, group, 0, 1, 0, &|key| key.into())?;
        if !plan.counters.is_empty() {
            // Refuses unknown events, which a misspelt metric looks like.
            HostRunner::new(&plan.counters)?;
        }
    }
    Ok(())
}

/// Makes all builds and blocks that are not stored yet; with `trial`, only the first block of each
/// group on each host.
///
/// # Errors
/// The directory or the scheduler cannot be used.
pub fn run_campaign(
    directory: &CampaignDirectory,
    resolved: &ResolvedPlan,
    matrix: &Matrix,
    trial: bool,
    scheduler: &mut dyn Scheduler,
    cancel: &Cancel,
    observer: &mut dyn CampaignObserver,
) -> Result<CampaignRun, CampaignError> {
    let mut session = Session {
        directory,
        attempts: resolved.plan.attempts,
        scheduler,
        cancel,
        observer,
        done: CampaignRun::default(),
    };
    let stored = directory.block_keys()?;
    let blocks = || {
        matrix
            .blocks
            .iter()
            .filter(|block| !trial || block.repeat == 0)
    };
    let wanted = |key: &str| !stored.contains(key);
    let builds = builds_of(
        resolved,
        matrix,
        &mut blocks().filter(|block| wanted(&block.key)),
    );
    session.builds(matrix, &builds)?;
    if !session.done.interrupted {
        let tasks = blocks().map(|block| Task {
            key: block.key.clone(),
            host: block.host,
        });
        session.settle("blocks", tasks.collect(), &mut || directory.block_keys())?;
    }
    Ok(session.done)
}

/// Keys of the builds that these blocks need.
fn builds_of(
    resolved: &ResolvedPlan,
    matrix: &Matrix,
    blocks: &mut dyn Iterator<Item = &crate::Block>,
) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut keys = BTreeSet::new();
    for block in blocks {
        if !seen.insert((block.group, block.host)) {
            continue;
        }
        for cell in &matrix.groups[block.group].cells {
            if let Tree::Built(key) = resolved.tree(cell, block.host) {
                keys.insert(key);
            }
        }
    }
    keys
}

struct Session<'a> {
    directory: &'a CampaignDirectory,
    attempts: u32,
    scheduler: &'a mut dyn Scheduler,
    cancel: &'a Cancel,
    observer: &'a mut dyn CampaignObserver,
    done: CampaignRun,
}

impl Session<'_> {
    fn builds(&mut self, matrix: &Matrix, keys: &BTreeSet<String>) -> Result<(), CampaignError> {
        let tasks = (matrix.builds.iter())
            .filter(|task| keys.contains(&task.key))
            .map(|task| Task {
                key: task.key.clone(),
                host: task.host,
            });
        let tasks: Vec<Task> = tasks.collect();
        let directory = self.directory;
        let given_up = self.settle("builds", tasks, &mut || {
            let mut built = BTreeSet::new();
            for key in keys {
                if directory.build(key)?.is_some() {
                    built.insert(key.clone());
                }
            }
            Ok(built)
        })?;
        for (key, attempts) in given_up {
            let why = self
                .done
                .remarks
                .last()
                .map_or_else(String::new, |last| format!(": {last}"));
            directory.put_build(&BuildResult {
                tree: directory.build_path(&key),
                key,
                node: String::new(),
                seconds: 0.0,
                failure: Some(format!("{attempts} attempts ended without a result{why}")),
            })?;
        }
        Ok(())
    }

    /// Settles tasks; returns those that were given up, with their attempts.
    fn settle(
        &mut self,
        stage: &'static str,
        tasks: Vec<Task>,
        stored: &mut dyn FnMut() -> Result<BTreeSet<String>, CampaignError>,
    ) -> Result<BTreeMap<String, u32>, CampaignError> {
        // Tasks of an earlier session: a scheduler that cannot be asked yet is asked again.
        let live = loop {
            if let Some(live) = self.scheduler.live()? {
                break live;
            }
            if self.cancel.is_triggered() {
                self.done.interrupted = true;
                return Ok(BTreeMap::new());
            }
            self.scheduler.advance(self.cancel)?;
        };
        let mut board = TaskBoard::new(tasks, &live, self.attempts);
        let (cancel, observer) = (self.cancel, &mut *self.observer);
        let ended = settle(stage, &mut board, self.scheduler, stored, cancel, observer);
        self.done.remarks = self.scheduler.remarks();
        self.done.interrupted = ended?;
        self.done.lost += board.counts().lost;
        Ok(board.given_up())
    }
}

/// Makes the build or block with this key: what a worker does.
///
/// # Errors
/// The directory cannot be used, no such task, or it was interrupted.
pub fn run_task<R: Runner>(
    directory: &CampaignDirectory,
    resolved: &ResolvedPlan,
    key: &str,
    fingerprint: HostFingerprint,
    runner: MakeRunner<'_, R>,
    cancel: &Cancel,
) -> Result<(), CampaignError> {
    let matrix = resolved.matrix();
    if let Some(task) = matrix.builds.iter().find(|task| task.key == key) {
        return make_build(directory, resolved, task, &mut Launcher::new()?, cancel);
    }
    let Some(block) = matrix.blocks.iter().find(|block| block.key == key) else {
        return Err(CampaignError::UnknownTask {
            key: key.to_owned(),
        });
    };
    let group = &matrix.groups[block.group];
    measure_block(
        directory,
        resolved,
        group,
        block,
        fingerprint,
        runner,
        cancel,
    )
}

/// Builds and blocks that are stored, by key.
pub type Stored = (BTreeMap<String, BuildResult>, BTreeMap<String, BlockResult>);

/// Everything of a plan that is stored.
///
/// # Errors
/// A stored file is damaged.
pub fn stored(directory: &CampaignDirectory, matrix: &Matrix) -> Result<Stored, CampaignError> {
    let mut builds = BTreeMap::new();
    for task in &matrix.builds {
        if let Some(build) = directory.build(&task.key)? {
            builds.insert(task.key.clone(), build);
        }
    }
    let keys = directory.block_keys()?;
    let mut blocks = BTreeMap::new();
    for block in matrix
        .blocks
        .iter()
        .filter(|block| keys.contains(&block.key))
    {
        blocks.insert(block.key.clone(), directory.block(&block.key)?);
    }
    Ok((builds, blocks))
}

/// Forgets builds that failed, and blocks in which a variant could not be run; returns how many.
///
/// # Errors
/// A stored file is damaged or cannot be removed.
pub fn forget_failed(
    directory: &CampaignDirectory,
    matrix: &Matrix,
) -> Result<usize, CampaignError> {
    let (builds, blocks) = stored(directory, matrix)?;
    let failed_builds = (builds.values())
        .filter(|build| build.failure.is_some())
        .map(|build| build.key.as_str());
    let failed_blocks = (blocks.values())
        .filter(|block| block.failure.is_some() || !block.excluded.is_empty())
        .map(|block| block.key.as_str());
    let keys: Vec<&str> = failed_builds.chain(failed_blocks).collect();
    directory.forget(keys.iter().copied())?;
    Ok(keys.len())
}
