//! The progress line on standard error, for anything that takes longer than a second.

use std::time::{Duration, Instant};

use genba_investigate::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::Output;

/// A progress line that appears after a second and is erased at the end.
pub struct ProgressLine {
    bar: ProgressBar,
    shown: bool,
    started: Instant,
    wanted: bool,
}

/// Work shorter than this shows no progress.
const SHOW_AFTER: Duration = Duration::from_secs(1);

impl ProgressLine {
    /// A line without text, not shown yet.
    pub fn new(output: &Output) -> Self {
        let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        bar.set_style(style);
        Self {
            bar,
            shown: false,
            started: Instant::now(),
            wanted: output.progress(),
        }
    }
}

impl Progress for ProgressLine {
    fn update(&mut self, stage: &str, left: Option<Duration>) {
        if !self.wanted {
            return;
        }
        if !self.shown && self.started.elapsed() >= SHOW_AFTER {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.enable_steady_tick(Duration::from_millis(120));
            self.shown = true;
        }
        let left = left.map_or(String::new(), |left| {
            let seconds = left.as_secs_f64().ceil() as u64;
            match seconds / 60 {
                0 => format!(", about {seconds} s left"),
                minutes => format!(", about {minutes} min {} s left", seconds % 60),
            }
        });
        self.bar.set_message(format!("{stage}{left}"));
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
