//! Runner that counts user instructions exactly, without a PMU: metric `exact-instructions`.

use genba_count::{CountError, CountRequest, choose};
use genba_model::{CpuTime, EXACT_INSTRUCTIONS, ExitKind};
use genba_run::{Cancel, CommandSpec, Finished, Launcher, RunError};

use crate::runner::{Measured, Runner};
use crate::{ExperimentError, Plan, Stop};

/// The plan of one run of each variant by an [`ExactRunner`].
#[must_use]
pub fn counting_plan(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    EXACT_INSTRUCTIONS.clone_into(&mut plan.primary);
    plan.counters = vec![plan.primary.clone()];
    plan.metrics.clear();
    plan.stop = Stop::Blocks(1);
    (plan.min_runs, plan.max_runs, plan.warmup) = (0, None, 0);
    // The count depends a little on where the stack is.
    plan.vary_environment = false;
    // The engine does not capture the output.
    plan.check_output = false;
    plan
}

/// Runs every measured command under a count engine. Its times include the overhead of counting.
/// The output of the target is not captured, so that neither metrics in the output nor a check of
/// the output are available.
pub struct ExactRunner {
    launcher: Launcher,
    notes: Vec<String>,
}

impl ExactRunner {
    /// A runner with its own launcher.
    ///
    /// # Errors
    /// The launcher cannot be started.
    pub fn new() -> Result<Self, ExperimentError> {
        Ok(Self {
            launcher: Launcher::new()?,
            notes: Vec::new(),
        })
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

impl Runner for ExactRunner {
    fn measure(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Measured, RunError> {
        let request = CountRequest {
            spec: spec.clone(),
            transfers: genba_count::Transfers::None,
            children: true,
            observe: None,
            native_exit: None,
        };
        let counted = choose(None, &request)
            .and_then(|choice| choice.engine.count(&request, &mut self.launcher, cancel));
        let raw = match counted {
            Ok(raw) => raw,
            Err(CountError::Run(error)) => return Err(error),
            Err(_) if cancel.is_triggered() => return Err(RunError::Cancelled),
            // The run has no counts: the metric is missing and a note gives the reason.
            Err(error) => {
                self.note(format!("not counted: {error}"));
                let finished = self.launcher.run(spec, cancel)?;
                return Ok(Measured {
                    counters: vec![None],
                    ..Measured::from(finished)
                });
            }
        };
        let instructions: u64 = (raw.processes.iter())
            .flat_map(|process| &process.modules)
            .flat_map(|module| &module.instructions)
            .map(|one| one.count)
            .sum();
        for note in &raw.notes {
            self.note(note.clone());
        }
        let mut finished = Finished::mock(raw.wall_seconds);
        finished.record.target = CpuTime {
            user: raw.cpu_seconds,
            system: 0.0,
        };
        finished.record.exit = match raw.exit {
            status @ 129..=192 => ExitKind::Signal {
                signal: status - 128,
                core: false,
            },
            status => ExitKind::Code(status),
        };
        Ok(Measured {
            counters: vec![Some(instructions as f64)],
            ..Measured::from(finished)
        })
    }

    fn command(&mut self, spec: &CommandSpec, cancel: &Cancel) -> Result<Finished, RunError> {
        self.launcher.run(spec, cancel)
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}
