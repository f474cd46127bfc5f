//! The progress line on standard error, for anything that takes longer than a second.

use std::io::Write as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use genba_investigate::Progress;
use genba_run::{CommandSpec, Output as Stream};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::{Output, Shown};

/// A progress line that appears after a second, counts the time left down, and is erased at the end.
/// A thread draws it: a run of a minute must not be a minute of silence. Without a terminal there are a few
/// lines instead, which stay.
pub struct ProgressLine {
    drawing: Option<(Sender<Message>, JoinHandle<()>)>,
}

/// What the drawing thread is told.
enum Message {
    Stage(Stage),
    /// A sentence that stays.
    Note(String),
}

/// What is done now.
#[derive(Default)]
struct Stage {
    text: String,
    /// When it is expected to end.
    end: Option<Instant>,
}

/// Work shorter than this shows no progress.
const SHOW_AFTER: Duration = Duration::from_secs(1);
/// Interval between redraws, so that the seconds left count down.
const REDRAW_EVERY: Duration = Duration::from_millis(250);

impl ProgressLine {
    /// A line that is never shown where the command writes to the terminal itself.
    pub fn beside(spec: &CommandSpec, output: &Output) -> Self {
        let inherits = |stream: &Stream| matches!(stream, Stream::Inherit);
        if inherits(&spec.stdout) || inherits(&spec.stderr) {
            return Self { drawing: None };
        }
        Self::new(output)
    }

    /// A line without text, not shown yet.
    pub fn new(output: &Output) -> Self {
        let start = |show: fn(&Receiver<Message>)| {
            let (sender, receiver) = channel();
            let thread = std::thread::Builder::new().name("progress".to_owned());
            // Without a thread there is no line.
            let drawing = thread.spawn(move || show(&receiver)).ok()?;
            Some((sender, drawing))
        };
        let show: Option<fn(&Receiver<Message>)> = match output.progress() {
            _ if is_read_by_program() => Some(report),
            Shown::Nothing => None,
            Shown::Line => Some(draw),
            Shown::SparseLines => Some(print_sparsely),
        };
        Self {
            drawing: show.and_then(start),
        }
    }
}

/// Whether a program reads the progress: `GENBA_PROGRESS=json`, which `genba mcp` sets.
fn is_read_by_program() -> bool {
    std::env::var_os("GENBA_PROGRESS").is_some_and(|how| how == "json")
}

/// Writes the stages that are received as lines of JSON to standard error, the last of each interval.
fn report(messages: &Receiver<Message>) {
    let mut next = messages.recv().ok();
    while let Some(message) = next.take() {
        let stage = message.into_stage();
        let left = stage.end.map(|end| end - Instant::now().min(end));
        // Nobody may be there to read it any more.
        let _ = writeln!(std::io::stderr(), "{}", json_line(&stage.text, left));
        let until = Instant::now() + REDRAW_EVERY;
        loop {
            match messages.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(message) => next = Some(message),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        next = next.or_else(|| messages.recv().ok());
    }
}

impl Message {
    /// A note as a stage, for a reader that knows stages only.
    fn into_stage(self) -> Stage {
        match self {
            Self::Stage(stage) => stage,
            Self::Note(text) => Stage { text, end: None },
        }
    }
}

/// Prints what is done now to standard error, seldom: it may go to a log.
fn print_sparsely(messages: &Receiver<Message>) {
    let mut pace = Pace::new(Instant::now());
    let mut stage = Stage::default();
    loop {
        match messages.recv_timeout(REDRAW_EVERY) {
            Ok(Message::Stage(next)) => stage = next,
            Ok(Message::Note(text)) => {
                let _ = writeln!(std::io::stderr(), "{text}");
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = Instant::now();
        if pace.is_due(now, &stage.text) {
            let left = stage.end.map(|end| end - now.min(end));
            // Nobody may be there to read it any more.
            let _ = writeln!(std::io::stderr(), "… {}", message(&stage.text, left));
        }
    }
}

/// When a line is due where there is no terminal.
struct Pace {
    next: Instant,
    printed: String,
    interval: Duration,
}

impl Pace {
    /// Work shorter than this prints nothing.
    const FIRST_AFTER: Duration = Duration::from_secs(5);
    /// The same stage again is printed after this time at the earliest; then after twice as much.
    const REPEAT_AFTER: Duration = Duration::from_secs(30);
    /// Shortest time between two lines.
    const MIN_INTERVAL: Duration = Duration::from_secs(8);

    fn new(now: Instant) -> Self {
        Self {
            next: now + Self::FIRST_AFTER,
            printed: String::new(),
            interval: Self::REPEAT_AFTER,
        }
    }

    /// Whether a line about this stage is to be printed now.
    fn is_due(&mut self, now: Instant, stage: &str) -> bool {
        // What stands before a colon names the stage; numbers of runs behind it change all the time.
        let name = stage.split([':', ',']).next().unwrap_or_default();
        let is_new = name != self.printed;
        let earliest = match is_new {
            true => self.next,
            false => self.next + self.interval.saturating_sub(Self::MIN_INTERVAL),
        };
        if name.is_empty() || now < earliest {
            return false;
        }
        self.interval = match is_new {
            true => Self::REPEAT_AFTER,
            false => self.interval * 2,
        };
        name.clone_into(&mut self.printed);
        self.next = now + Self::MIN_INTERVAL;
        true
    }
}

fn json_line(stage: &str, left: Option<Duration>) -> String {
    let left = left.map(|left| left.as_secs_f64());
    serde_json::json!({"stage": stage, "seconds_left": left}).to_string()
}

impl Progress for ProgressLine {
    fn update(&mut self, stage: &str, left: Option<Duration>) {
        if let Some((sender, _)) = &self.drawing {
            let stage = Stage {
                text: stage.to_owned(),
                end: left.and_then(|left| Instant::now().checked_add(left)),
            };
            let _ = sender.send(Message::Stage(stage));
        }
    }

    fn note(&mut self, sentence: &str) {
        if let Some((sender, _)) = &self.drawing {
            let _ = sender.send(Message::Note(sentence.to_owned()));
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.drawing.take() {
            drop(sender);
            // The line must be gone before the result is printed.
            let _ = thread.join();
        }
    }
}

/// Draws the stages that are received, until the sender is gone.
fn draw(messages: &Receiver<Message>) {
    let started = Instant::now();
    let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::hidden());
    let style = ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner());
    bar.set_style(style);
    let mut stage = Stage::default();
    loop {
        match messages.recv_timeout(REDRAW_EVERY) {
            Ok(Message::Stage(next)) => stage = next,
            Ok(Message::Note(text)) => bar.suspend(|| {
                let _ = writeln!(std::io::stderr(), "{text}");
            }),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if started.elapsed() >= SHOW_AFTER {
            if bar.is_hidden() {
                bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            let left = stage.end.map(|end| end - Instant::now().min(end));
            bar.set_message(message(&stage.text, left));
            bar.tick();
        }
    }
    bar.finish_and_clear();
}

/// A stage and about how long it will still take; nothing where that time has passed.
fn message(stage: &str, left: Option<Duration>) -> String {
    let seconds = left.map_or(0, |left| left.as_secs_f64().ceil() as u64);
    match (seconds / 60, seconds % 60) {
        (0, 0) => stage.to_owned(),
        (0, seconds) => format!("{stage}, about {seconds} s left"),
        (minutes, seconds) => format!("{stage}, about {minutes} min {seconds} s left"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_for_programs_is_a_line_of_json() {
        let line = json_line("run \"1\"\n", Some(Duration::from_millis(1500)));
        assert_eq!(line, r#"{"seconds_left":1.5,"stage":"run \"1\"\n"}"#);
        assert_eq!(json_line("x", None), r#"{"seconds_left":null,"stage":"x"}"#);
    }

    #[test]
    fn lines_without_a_terminal_are_seldom() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        let mut printed = Vec::new();
        for second in 0..120 {
            let stage = match second {
                0..60 => format!("measuring: run {second}"),
                60 => "counting".to_owned(),
                _ => "sampling, ±3 %".to_owned(),
            };
            if pace.is_due(start + Duration::from_secs(second), &stage) {
                printed.push(second);
            }
        }
        // The first; the same stage after 30 s; that of a second is passed over; a new one; again.
        assert_eq!(printed, [5, 35, 60, 68, 98]);
    }

    #[test]
    fn time_left_is_shown_until_it_has_passed() {
        let of = |seconds: u64| message("run 1", Some(Duration::from_secs(seconds)));
        assert_eq!(of(83), "run 1, about 1 min 23 s left");
        assert_eq!(of(9), "run 1, about 9 s left");
        assert_eq!(of(0), "run 1");
        assert_eq!(message("run 1", None), "run 1");
    }
}
