//! Who is told what the driver does.

use std::collections::BTreeMap;

use genba_model::{Estimate, RunRecord};

/// What is going on.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// What is done now.
    pub stage: Stage,
    /// Blocks done.
    pub blocks: u32,
    /// Blocks in all, for a fixed number.
    pub planned: Option<u32>,
    /// Variants without a verdict.
    pub undecided: usize,
    /// The comparison furthest from an answer: its variant, and its ratio to the baseline.
    pub current: Option<(&'a str, Option<Estimate>)>,
    /// At most about so long, seconds.
    pub left_seconds: Option<f64>,
}

/// What is done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Set-up commands.
    SetUp,
    /// Runs that are not measured.
    WarmUp,
    /// Measured runs.
    Measure,
    /// Clean-up commands.
    CleanUp,
}

/// A run to be kept.
#[derive(Clone, Debug)]
pub struct FinishedRun<'a> {
    /// Name of its variant.
    pub variant: &'a str,
    /// Its block, from 0.
    pub block: u32,
    /// Its account.
    pub record: &'a RunRecord,
    /// Values of the metrics that are not built in, by name.
    pub own: BTreeMap<String, f64>,
}

/// Is told what happens, and keeps the runs.
pub trait Observer {
    /// About ten times a second.
    fn progress(&mut self, progress: &Progress<'_>);

    /// What a driver does between measurements (a build), and the time left at most, seconds.
    fn say(&mut self, _what: &str, _left_seconds: Option<f64>) {}

    /// A measured run has ended.
    ///
    /// # Errors
    /// Why it cannot be kept; that ends the measurement.
    fn keep(&mut self, run: &FinishedRun<'_>) -> Result<(), String>;
}

/// Watches nothing and keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn progress(&mut self, _: &Progress<'_>) {}
    fn keep(&mut self, _: &FinishedRun<'_>) -> Result<(), String> {
        Ok(())
    }
}
