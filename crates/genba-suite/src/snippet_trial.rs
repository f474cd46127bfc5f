//! Trial run of a snippet: whether it runs, and how many iterations take how long.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use genba_experiment::metrics_channel::{self, Channel, ChannelValue};
use genba_model::ExitKind;
use genba_run::{Cancel, CommandSpec, Executor, Finished, Output, RunError, Stdin};

use crate::error::printable;
use crate::interpreter_version::at_least;
use crate::snippet::{EMPTY_LOOP, MAX_LOOP_COUNT, Mode, PER_ITERATION, Snippet, SourceMap};
use crate::{SuiteError, Variant};

/// Time-out of a trial run.
const TRY_TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes of a failing command's messages that are kept.
pub const MESSAGE_BYTES: usize = 4096;

/// A script's language and text, and how many iterations it is to make.
pub type Counts = BTreeMap<(&'static str, String), u64>;

/// Why a snippet is not ready.
pub enum Failure {
    /// It cannot be measured; the others can.
    Exclude(String),
    /// Nothing can.
    Stop(SuiteError),
}

impl From<SuiteError> for Failure {
    fn from(error: SuiteError) -> Self {
        Self::Stop(error)
    }
}

/// A snippet that ran successfully.
#[derive(Debug)]
pub struct Tried {
    path: PathBuf,
    /// Iterations in one run.
    pub loop_count: u64,
    /// Whether the file says how many.
    pub given: bool,
    /// Seconds of an iteration, roughly, the empty loop taken off.
    pub per_iteration: f64,
    /// Seconds of an iteration of the empty loop, roughly.
    pub empty_loop: f64,
}

impl Tried {
    #[cfg(test)]
    pub fn new(loop_count: u64, given: bool, per_iteration: f64, empty_loop: f64) -> Self {
        Self {
            path: PathBuf::new(),
            loop_count,
            given,
            per_iteration,
            empty_loop,
        }
    }

    /// Writes the script; gives back the command that runs it.
    pub fn command(&self, snippet: &Snippet) -> Result<Vec<String>, SuiteError> {
        let mode = measure(self.loop_count, snippet);
        let script = snippet.language.runner().generate(snippet, mode);
        let text = script.map_err(|_| SuiteError::Unprepared {
            label: snippet.script.label.clone(),
        })?;
        fs::write(&self.path, text.text)
            .map_err(|source| temporary("the script of a snippet", source))?;
        let path = self.path.to_string_lossy().into_owned();
        Ok(snippet.interpreter.iter().cloned().chain([path]).collect())
    }
}

fn measure(loop_count: u64, snippet: &Snippet) -> Mode {
    Mode::Measure {
        loop_count,
        // Who writes 1 means a program that may not bear to be run twice.
        warm_up: snippet.loop_count != Some(1),
    }
}

/// One snippet on its way to a command.
pub struct Trial<'a> {
    /// Whose it is.
    pub variant: &'a Variant,
    /// The code.
    pub snippet: &'a Snippet,
    /// Where its scripts are written.
    pub path: PathBuf,
    /// What runs them.
    pub executor: &'a mut dyn Executor,
    /// Stops it.
    pub cancel: &'a Cancel,
}

impl Trial<'_> {
    /// Runs the snippet once: to find a loop count, or with the one that is known.
    pub fn run(&mut self, counts: &mut Counts, loop_seconds: f64) -> Result<Tried, Failure> {
        self.check_version()?;
        let language = self.snippet.language.runner().language();
        let key = (language, self.snippet.script.text.clone());
        let known = self.snippet.loop_count.or(counts.get(&key).copied());
        let mode = match known {
            Some(count) => measure(count, self.snippet),
            None => Mode::Calibrate {
                seconds: loop_seconds,
            },
        };
        let reported = self.attempt(mode)?;
        let number = |name| {
            let found = reported.iter().find(|one| one.name == name);
            found.map(|one| one.value).ok_or_else(|| {
                Failure::Exclude(
                    "it ended before it was measured (does it return, exit, or close all files?)"
                        .to_owned(),
                )
            })
        };
        let loop_count = match known {
            Some(count) => count,
            // A whole number in f64 up to 10^12; anything else does not come from us.
            None => (number("iterations")? as u64).clamp(1, MAX_LOOP_COUNT),
        };
        counts.insert(key, loop_count);
        Ok(Tried {
            path: self.path.clone(),
            loop_count,
            given: self.snippet.loop_count.is_some(),
            per_iteration: number(PER_ITERATION)?,
            empty_loop: number(EMPTY_LOOP)?,
        })
    }

    fn check_version(&mut self) -> Result<(), Failure> {
        let Some(required) = &self.snippet.required_version else {
            return Ok(());
        };
        let runner = self.snippet.language.runner();
        let arguments = runner.version_arguments().iter().map(ToString::to_string);
        let finished = self.execute(arguments, None)?;
        let version = printable(&String::from_utf8_lossy(&finished.stdout.captured));
        if at_least(&version, required) {
            return Ok(());
        }
        Err(Failure::Exclude(format!(
            "it needs {} {required}, and this is {version}",
            runner.language()
        )))
    }

    /// Writes a script and runs it; gives back what it reports.
    fn attempt(&mut self, mode: Mode) -> Result<Vec<ChannelValue>, Failure> {
        let map = self.write(mode)?;
        let path = self.path.to_string_lossy().into_owned();
        let channel = Channel::new().map_err(SuiteError::from)?;
        let finished = self.execute([path.clone()], Some(&channel))?;
        if finished.record.exit.success() {
            return Ok(metrics_channel::parse(&channel.take()).0);
        }
        let stderr = String::from_utf8_lossy(&finished.stderr.captured).into_owned();
        let stderr = printable(&first_lines(&map.translate(stderr.trim(), &path)));
        let how = how(finished.record.exit);
        Err(Failure::Exclude(format!("it fails ({how}): {stderr}")))
    }

    fn write(&self, mode: Mode) -> Result<SourceMap, Failure> {
        let runner = self.snippet.language.runner();
        let script = runner
            .generate(self.snippet, mode)
            .map_err(Failure::Exclude)?;
        fs::write(&self.path, script.text)
            .map_err(|source| temporary("the script of a snippet", source))?;
        Ok(script.map)
    }

    fn execute(
        &mut self,
        arguments: impl IntoIterator<Item = String>,
        channel: Option<&Channel>,
    ) -> Result<Finished, Failure> {
        let words = self.snippet.interpreter.iter().cloned();
        let mut spec = CommandSpec::direct(words.chain(arguments));
        spec.directory.clone_from(&self.variant.directory);
        for (name, value) in &self.variant.environment {
            spec.environment.set(name, value);
        }
        if let Some(path) = &self.variant.stdin {
            spec.stdin = Stdin::File(path.clone());
        }
        spec.stdout = Output::Capture { limit: 256 };
        spec.stderr = Output::Capture {
            limit: MESSAGE_BYTES,
        };
        spec.timeout = Some(TRY_TIMEOUT);
        spec.pass_fd = channel.map(Channel::pass);
        match self.executor.execute(&spec, self.cancel) {
            Ok(finished) if finished.record.exit == ExitKind::Cancelled => {
                Err(SuiteError::Run(RunError::Cancelled).into())
            }
            Ok(finished) => Ok(finished),
            Err(RunError::Cancelled) => Err(SuiteError::Run(RunError::Cancelled).into()),
            Err(error) => Err(Failure::Exclude(error.to_string())),
        }
    }
}

/// Enough of an interpreter's complaint to see what is wrong.
fn first_lines(text: &str) -> String {
    const LINES: usize = 12;
    let lines: Vec<_> = text.lines().take(LINES + 1).collect();
    match lines.get(..LINES).filter(|_| lines.len() > LINES) {
        Some(first) => format!("{}\n…", first.join("\n")),
        None => lines.join("\n"),
    }
}

/// A temporary file that cannot be made.
pub fn temporary(what: &str, source: std::io::Error) -> SuiteError {
    SuiteError::Temporary {
        what: what.to_owned(),
        source,
    }
}

/// How a command ended, for messages.
pub fn how(exit: ExitKind) -> String {
    match exit {
        ExitKind::Code(code) => format!("exit code {code}"),
        ExitKind::Signal { signal, .. } => format!("signal {signal}"),
        ExitKind::TimedOut => format!("not done after {} s", TRY_TIMEOUT.as_secs()),
        ExitKind::Cancelled => "cancelled".to_owned(),
    }
}
