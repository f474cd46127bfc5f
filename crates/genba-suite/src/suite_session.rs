//! Session of a suite: builds, loop counts, scripts on disk.

use std::path::{Path, PathBuf};

use genba_run::{Cancel, CommandSpec, Executor, Output, PrivateDirectory};

use crate::common_loop_count::settle;
use crate::error::printable;
use crate::snippet::Language;
use crate::snippet_trial::{Counts, Failure, MESSAGE_BYTES, Trial, how, temporary};
use crate::{Executable, Suite, SuiteError, Work};

/// Default duration of the loop around a snippet in one run, seconds. Short, so that many runs of
/// all variants interleave: the number of runs narrows the interval, not their length.
pub const DEFAULT_LOOP_SECONDS: f64 = 0.2;

/// A suite with its temporary directory, which is removed with the session.
#[derive(Debug)]
pub struct Session {
    suite: Suite,
    temp: PrivateDirectory,
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
        let made = PrivateDirectory::new("suite");
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

    /// Variants excluded by [`Session::prepare`].
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
            let mut counts = Counts::new();
            let mut ready = Vec::with_capacity(benchmark.variants.len());
            let mut tried = Vec::new();
            for variant in std::mem::take(&mut benchmark.variants) {
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
                match trial.run(&mut counts, loop_seconds) {
                    Ok(one) => {
                        tried.push((ready.len(), one));
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
            settle(benchmark, &mut tried, &mut self.suite.notes);
            for (index, tried) in tried {
                let variant = &mut benchmark.variants[index];
                if let Work::Snippet(snippet) = &variant.work {
                    let command = tried.command(snippet)?;
                    variant.shown = Some(snippet.shown());
                    variant.work = Work::Direct(command);
                }
            }
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

fn script_path(temp: &Path, language: Language, serial: u32) -> PathBuf {
    temp.join(format!(
        "snippet-{serial}.{}",
        language.runner().extension()
    ))
}
