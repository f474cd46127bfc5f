//! Progress of an investigation.

use std::time::Duration;

/// Receives progress.
pub trait Progress {
    /// Reports the current stage, and about how long it will still take.
    fn update(&mut self, stage: &str, left: Option<Duration>);
}

/// Shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn update(&mut self, _stage: &str, _left: Option<Duration>) {}
}
