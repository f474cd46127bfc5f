//! Progress of an investigation.

use std::time::Duration;

/// Receives progress.
pub trait Progress {
    /// Reports the current stage, and about how long it will still take.
    fn update(&mut self, stage: &str, left: Option<Duration>);

    /// Shows a sentence that stays, such as how long all of it will take.
    fn note(&mut self, _sentence: &str) {}
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn update(&mut self, _stage: &str, _left: Option<Duration>) {}
}
