//! Making a suite ready to be measured: builds, loop counts, scripts on disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use genba_model::ExitKind;
use genba_run::{Cancel, CommandSpec, Executor, Finished, Output, RunError, Stdin};
use tempfile::TempDir;

use crate::channel::Channel;
use crate::error::printable;
use crate::snippet::{Language, MAX_LOOP_COUNT, Mode, PER_ITERATION, Snippet};
use crate::version::at_least;
use crate::{Executable, Suite, SuiteError, Variant, Work};

/// Seconds that the loop around a snippet takes in one run unless the caller says otherwise.
/// Short, so that many runs of all variants interleave: their number makes the interval narrow,
/// not their length.
pub const DEFAULT_LOOP_SECONDS: f64 = 0.2;

/// Time-out of a run that finds a loop count or tries a snippet.
const TRY_TIMEOUT: Duration = Duration::from_secs(120);
/// Bytes of a failing command's messages that are kept.
const MESSAGE_BYTES: usize = 4096;

/// A suite with the directory that it may write to, which goes with the session.
#[derive(Debug)]
pub struct Session {
    suite: Suite,
    temp: TempDir,
    excluded: Vec<Exclusion>,
}

/// A variant that cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusion {
    /// Its benchmark.
    pub benchmark: String,
    /// Its name.
    pub variant: String,
    /// Why, for people; may have several lines.
    pub reason: String,
}

impl Session {
    /// Reads a suite's file.
    ///
    /// # Errors
    /// As [`crate::load`]; or no temporary directory is to be had.
    pub fn open(path: &Path, executables: &[Executable]) -> Result<Self, SuiteError> {
        let made = tempfile::Builder::new().prefix("genba-suite-").tempdir();
        let temp = made.map_err(|source| temporary("a temporary directory", source))?;
        let suite = crate::load(path, temp.path(), executables)?;
        Ok(Self {
            suite,
            temp,
            excluded: Vec::new(),
        })
    }

    /// The suite; after [`Session::prepare`], without snippets and without what cannot be run.
    #[must_use]
    pub fn suite(&self) -> &Suite {
        &self.suite
    }

    /// What was taken out by [`Session::prepare`].
    #[must_use]
    pub fn excluded(&self) -> &[Exclusion] {
        &self.excluded
    }

    /// Directory for temporary files, `{temp}` in TOML.
    #[must_use]
    pub fn temp(&self) -> &Path {
        self.temp.path()
    }

    /// Keeps the benchmarks that a filter wants; it gets the benchmark's name.
    pub fn retain(&mut self, mut filter: impl FnMut(&str) -> bool) {
        (self.suite.benchmarks).retain(|benchmark| filter(&benchmark.name));
    }

    /// Runs the build commands in order.
    ///
    /// # Errors
    /// The first that fails.
    pub fn build(
        &self,
        executor: &mut dyn Executor,
        cancel: &Cancel,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), SuiteError> {
        for step in &self.suite.builds {
            progress(&format!("building: {}", step.command));
            let mut spec = CommandSpec::shell(&step.command);
            spec.directory.clone_from(&step.directory);
            let capture = Output::Capture {
                limit: MESSAGE_BYTES,
            };
            spec.stderr = capture.clone();
            spec.stdout = capture;
            let finished = executor.execute(&spec, cancel)?;
            if !finished.record.exit.success() {
                let streams = [&finished.stdout.captured, &finished.stderr.captured];
                let text = streams.map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
                return Err(SuiteError::Build {
                    command: step.command.clone(),
                    how: how(finished.record.exit),
                    stderr: printable(text.join("\n").trim()),
                });
            }
        }
        Ok(())
    }

    /// Turns snippets into commands: tries each once, finds loop counts so that a loop takes
    /// `loop_seconds`, writes the scripts. Variants whose snippet fails, whose interpreter is
    /// not there or too old are taken out and listed in [`Session::excluded`].
    ///
    /// # Errors
    /// Cancelled, or a script cannot be written.
    pub fn prepare(
        &mut self,
        executor: &mut dyn Executor,
        cancel: &Cancel,
        loop_seconds: f64,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), SuiteError> {
        let mut serial = 0;
        for benchmark in &mut self.suite.benchmarks {
            // One count for a script in all its interpreters.
            let mut counts = BTreeMap::new();
            let mut ready = Vec::with_capacity(benchmark.variants.len());
            for mut variant in std::mem::take(&mut benchmark.variants) {
                let Work::Snippet(snippet) = &variant.work else {
                    ready.push(variant);
                    continue;
                };
                progress(&format!("trying {}: {}", benchmark.name, variant.name));
                serial += 1;
                let mut trial = Trial {
                    variant: &variant,
                    snippet,
                    path: script_path(self.temp.path(), snippet.language, serial),
                    executor,
                    cancel,
                };
                match trial.ready(&mut counts, loop_seconds) {
                    Ok(words) => {
                        variant.work = Work::Direct(words);
                        ready.push(variant);
                    }
                    Err(Failure::Stop(error)) => return Err(error),
                    Err(Failure::Exclude(reason)) => self.excluded.push(Exclusion {
                        benchmark: benchmark.name.clone(),
                        variant: variant.name.clone(),
                        reason,
                    }),
                }
            }
            benchmark.variants = ready;
            let names: Vec<_> = benchmark
                .variants
                .iter()
                .map(|variant| &variant.name)
                .collect();
            let there = (benchmark.subtract.as_ref()).is_none_or(|name| names.contains(&name));
            if !there {
                self.suite.notes.push(format!(
                    "{}: the variant to subtract was taken out, so nothing is subtracted",
                    benchmark.name
                ));
                benchmark.subtract = None;
            }
        }
        (self.suite.benchmarks).retain(|benchmark| !benchmark.variants.is_empty());
        Ok(())
    }
}

/// A script's language and text, and how many iterations it is to make.
type Counts = BTreeMap<(&'static str, String), u64>;

enum Failure {
    Exclude(String),
    Stop(SuiteError),
}

impl From<SuiteError> for Failure {
    fn from(error: SuiteError) -> Self {
        Self::Stop(error)
    }
}

/// One snippet on its way to a command.
struct Trial<'a> {
    variant: &'a Variant,
    snippet: &'a Snippet,
    path: PathBuf,
    executor: &'a mut dyn Executor,
    cancel: &'a Cancel,
}

impl Trial<'_> {
    /// The command that measures the snippet.
    fn ready(&mut self, counts: &mut Counts, loop_seconds: f64) -> Result<Vec<String>, Failure> {
        if let Some(required) = &self.snippet.required_version {
            let arguments = self.snippet.language.runner().version_arguments();
            let finished = self.run(arguments.iter().map(ToString::to_string), None)?;
            let version = String::from_utf8_lossy(&finished.stdout.captured).into_owned();
            if !at_least(&version, required) {
                return Err(Failure::Exclude(format!(
                    "it needs {} {required}, and this is {version}",
                    self.snippet.language.runner().language()
                )));
            }
        }
        let key = (
            self.snippet.language.runner().language(),
            self.snippet.script.text.clone(),
        );
        let loop_count = match self.snippet.loop_count.or(counts.get(&key).copied()) {
            Some(count) => {
                let mode = Mode::Measure {
                    loop_count: 1,
                    warm_up: false,
                };
                self.attempt(mode, PER_ITERATION)?;
                count
            }
            None => {
                let mode = Mode::Calibrate {
                    seconds: loop_seconds,
                };
                // A whole number in f64 up to 10^12; anything else does not come from us.
                let found = self.attempt(mode, "iterations")?;
                let count = (found as u64).clamp(1, MAX_LOOP_COUNT);
                counts.insert(key, count);
                count
            }
        };
        self.write(Mode::Measure {
            loop_count,
            warm_up: self.snippet.loop_count != Some(1),
        })?;
        let path = self.path.to_string_lossy().into_owned();
        Ok(self
            .snippet
            .interpreter
            .iter()
            .cloned()
            .chain([path])
            .collect())
    }

    /// Writes a script and runs it; gives back a number that it reports.
    fn attempt(&mut self, mode: Mode, name: &str) -> Result<f64, Failure> {
        let map = self.write(mode)?;
        let path = self.path.to_string_lossy().into_owned();
        let channel =
            Channel::new().map_err(|error| temporary("a file in memory", error.into()))?;
        let finished = self.run([path.clone()], Some(&channel))?;
        let stderr = String::from_utf8_lossy(&finished.stderr.captured).into_owned();
        if !finished.record.exit.success() {
            let stderr = printable(&first_lines(&map.translate(stderr.trim(), &path)));
            let how = how(finished.record.exit);
            return Err(Failure::Exclude(format!("it fails ({how}): {stderr}")));
        }
        channel.number(name).ok_or_else(|| {
            Failure::Exclude(
                "it ended before it was measured (does it return, exit, or close all files?)"
                    .to_owned(),
            )
        })
    }

    fn write(&self, mode: Mode) -> Result<crate::snippet::SourceMap, Failure> {
        let runner = self.snippet.language.runner();
        let script = runner
            .generate(self.snippet, mode)
            .map_err(Failure::Exclude)?;
        fs::write(&self.path, script.text)
            .map_err(|source| temporary("the script of a snippet", source))?;
        Ok(script.map)
    }

    fn run(
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

fn script_path(temp: &Path, language: Language, serial: u32) -> PathBuf {
    temp.join(format!(
        "snippet-{serial}.{}",
        language.runner().extension()
    ))
}

fn temporary(what: &str, source: std::io::Error) -> SuiteError {
    SuiteError::Temporary {
        what: what.to_owned(),
        source,
    }
}

fn how(exit: ExitKind) -> String {
    match exit {
        ExitKind::Code(code) => format!("exit code {code}"),
        ExitKind::Signal { signal, .. } => format!("signal {signal}"),
        ExitKind::TimedOut => format!("not done after {} s", TRY_TIMEOUT.as_secs()),
        ExitKind::Cancelled => "cancelled".to_owned(),
    }
}
