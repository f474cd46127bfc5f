//! Observer of a measurement: progress, and storage of the runs.

use std::collections::BTreeMap;

use genba_model::{Estimate, RunRecord};

/// Progress of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Current stage.
    pub stage: Stage,
    /// Blocks measured so far.
    pub blocks: u32,
    /// Total number of blocks, if fixed.
    pub planned: Option<u32>,
    /// Number of variants without a verdict.
    pub undecided: usize,
    /// The first undecided comparison: variant and ratio to the baseline.
    pub current: Option<(&'a str, Option<Estimate>)>,
    /// Longest time left, about, seconds.
    pub left_seconds: Option<f64>,
}

/// Stage of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Running set-up commands.
    SetUp,
    /// Running blocks that are not measured.
    WarmUp,
    /// Measuring blocks.
    Measure,
    /// Running clean-up commands.
    CleanUp,
}

/// A finished run to be stored.
#[derive(Clone, Debug)]
pub struct FinishedRun<'a> {
    /// Name of its variant.
    pub variant: &'a str,
    /// Its block, from 0.
    pub block: u32,
    /// Times, memory and exit code.
    pub record: &'a RunRecord,
    /// Values of the metrics that are not built in, by name.
    pub own: BTreeMap<String, f64>,
}

/// Receives progress and stores the runs of a measurement.
pub trait Observer {
    /// Called about ten times per second.
    fn progress(&mut self, progress: &Progress<'_>);

    /// Called between measurements with what is done (a build) and the longest time left, seconds.
    fn say(&mut self, _what: &str, _left_seconds: Option<f64>) {}

    /// Called at the end of every measured run.
    ///
    /// # Errors
    /// Why the run cannot be stored; that ends the measurement.
    fn keep(&mut self, run: &FinishedRun<'_>) -> Result<(), String>;
}

/// An observer that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn progress(&mut self, _: &Progress<'_>) {}
    fn keep(&mut self, _: &FinishedRun<'_>) -> Result<(), String> {
        Ok(())
    }
}
