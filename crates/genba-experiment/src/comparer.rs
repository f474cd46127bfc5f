//! Comparisons and single runs for the drivers `try`, `ablate`, `sweep` and `bisect`.

use std::collections::BTreeMap;

use genba_run::{Cancel, CommandSpec, Finished};

use crate::measurement::Measurement;
use crate::observer::Observer;
use crate::random_schedule::Schedule;
use crate::run_plan::run_with_clock;
use crate::runner::Runner;
use crate::{ExperimentError, Plan, Stop};

/// Makes the comparisons and runs that a driver requests.
///
/// A driver that takes time and values only from the comparer, and whose order follows from the
/// plan's seed, can be resumed after an interruption (see [`crate::run_journal`]).
pub struct Comparer<'a> {
    runner: Box<dyn Runner + 'a>,
    observer: Box<dyn Observer + 'a>,
    cancel: Cancel,
    clock: Box<dyn FnMut() -> f64 + 'a>,
    /// Number of measurements so far: each gets its own order and padding.
    measurements: u64,
}

/// Result of a single run of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct SingleRun {
    /// The primary metric; `None` if the run failed or did not report it.
    pub value: Option<f64>,
    /// All metrics of the run, by name.
    pub values: BTreeMap<String, f64>,
    /// Why it failed, with the beginning of its error output.
    pub failed: Option<String>,
    /// Duration with its prepare commands, seconds.
    pub seconds: f64,
}

impl<'a> Comparer<'a> {
    /// A comparer with this runner; `clock` returns the seconds spent so far.
    pub fn new(
        runner: impl Runner + 'a,
        observer: impl Observer + 'a,
        cancel: Cancel,
        clock: impl FnMut() -> f64 + 'a,
    ) -> Self {
        Self {
            runner: Box::new(runner),
            observer: Box::new(observer),
            cancel,
            clock: Box::new(clock),
            measurements: 0,
        }
    }

    /// Compares the variants of a plan in one interleaved schedule until there is a verdict.
    ///
    /// # Errors
    /// As [`crate::run`].
    pub fn compare(&mut self, plan: &Plan) -> Result<Measurement, ExperimentError> {
        let plan = self.with_own_seed(plan.clone());
        self.run(&plan)
    }

    /// Runs one variant once with its prepare and conclude commands. The caller is responsible for
    /// set-up and clean-up ([`Comparer::set_up`]).
    ///
    /// # Errors
    /// An interruption, a failing launcher, a run that cannot be stored. A failing run is not an
    /// error: see [`SingleRun::failed`].
    pub fn run_once(&mut self, plan: &Plan, variant: usize) -> Result<SingleRun, ExperimentError> {
        let Some(variant) = plan.variants.get(variant) else {
            return Err(ExperimentError::Plan {
                what: format!("the plan has no variant {variant}"),
            });
        };
        let mut one = plan.clone();
        one.variants = vec![variant.clone()];
        one.variants[0].setup.clear();
        one.variants[0].cleanup.clear();
        one.variants[0].subtract = None;
        one.variants[0].overhead_only = false;
        one.stop = Stop::Blocks(1);
        one.warmup = 0;
        one.check_output = false;
        let one = self.with_own_seed(one);
        let began = (self.clock)();
        let measured = self.run(&one);
        let seconds = (self.clock)() - began;
        let failed = |reason: String| SingleRun {
            value: None,
            values: BTreeMap::new(),
            failed: Some(reason),
            seconds,
        };
        match measured {
            Ok(measured) if measured.variants[0].exits.is_empty() => {
                Err(ExperimentError::Interrupted)
            }
            Ok(measured) => {
                let values: BTreeMap<String, f64> = (measured.series.iter().enumerate())
                    .filter_map(|(number, series)| {
                        let value = *measured.variants[0].finite(number).first()?;
                        Some((series.name.clone(), value))
                    })
                    .collect();
                Ok(SingleRun {
                    value: values.get(&plan.primary).copied(),
                    values,
                    failed: None,
                    seconds,
                })
            }
            Err(ExperimentError::NothingLeft { reasons, .. }) => {
                // Who asks knows which variant it is.
                let named = format!("{}: ", variant.name);
                let bare =
                    |reason: &String| reason.strip_prefix(&named).unwrap_or(reason).to_owned();
                let reasons: Vec<String> = reasons.iter().map(bare).collect();
                Ok(failed(reasons.join("\n")))
            }
            Err(error) => Err(error),
        }
    }

    /// Runs each of these variants once in random order; the results are in the order of
    /// `variants`.
    ///
    /// # Errors
    /// As [`Comparer::run_once`].
    pub fn run_block(
        &mut self,
        plan: &Plan,
        variants: &[usize],
    ) -> Result<Vec<SingleRun>, ExperimentError> {
        let places: Vec<usize> = (0..variants.len()).collect();
        let mut runs: Vec<Option<SingleRun>> = vec![None; variants.len()];
        for place in self.block_order(plan, &places) {
            runs[place] = Some(self.run_once(plan, variants[place])?);
        }
        Ok(runs.into_iter().flatten().collect())
    }

    /// Returns the random order in which a block runs these variants.
    pub fn block_order(&mut self, plan: &Plan, variants: &[usize]) -> Vec<usize> {
        self.measurements += 1;
        let mut schedule = Schedule::new(plan.seed.wrapping_add(self.measurements));
        schedule.block(variants)
    }

    /// Runs the set-up commands of all variants of a plan.
    ///
    /// # Errors
    /// A failing command, with the beginning of its error output.
    pub fn set_up(&mut self, plan: &Plan) -> Result<(), ExperimentError> {
        self.around(plan, "setup", |variant| &variant.setup, true)
    }

    /// Runs the clean-up commands of all variants of a plan.
    ///
    /// # Errors
    /// As [`Comparer::set_up`].
    pub fn clean_up(&mut self, plan: &Plan) -> Result<(), ExperimentError> {
        self.around(plan, "cleanup", |variant| &variant.cleanup, false)
    }

    fn around(
        &mut self,
        plan: &Plan,
        step: &str,
        commands: impl Fn(&crate::VariantPlan) -> &Vec<CommandSpec>,
        stays: bool,
    ) -> Result<(), ExperimentError> {
        for variant in &plan.variants {
            for command in commands(variant) {
                let mut spec = command.clone();
                spec.leave_running |= stays;
                let finished = self.command(&spec)?;
                let line = crate::output_streams::command_line(command);
                if let Some(reason) = crate::exclusion_reason::of_step(step, &line, &finished) {
                    return Err(ExperimentError::Plan {
                        what: format!("{}: {reason}", variant.name),
                    });
                }
            }
        }
        Ok(())
    }

    /// Runs a command that is not measured, such as a build, and captures its error output.
    ///
    /// # Errors
    /// The command cannot be started, or was cancelled.
    pub fn command(&mut self, spec: &CommandSpec) -> Result<Finished, ExperimentError> {
        let mut spec = spec.clone();
        crate::output_streams::capture_errors(&mut spec);
        Ok(self.runner.command(&spec, &self.cancel)?)
    }

    /// Seconds spent so far, including earlier sessions.
    pub fn elapsed(&mut self) -> f64 {
        (self.clock)()
    }

    /// Whether the user has interrupted the experiment.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        self.cancel.is_triggered()
    }

    /// The token that cancels the experiment.
    #[must_use]
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Reports what is done now and the longest time left, seconds.
    pub fn say(&mut self, what: &str, left_seconds: Option<f64>) {
        self.observer.say(what, left_seconds);
    }

    /// Notes of the runner: events that this machine lacks, runs that were replayed.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        self.runner.notes()
    }

    fn with_own_seed(&mut self, mut plan: Plan) -> Plan {
        self.measurements += 1;
        plan.seed = plan
            .seed
            .wrapping_add(self.measurements.wrapping_mul(0x9e37_79b9));
        plan
    }

    fn run(&mut self, plan: &Plan) -> Result<Measurement, ExperimentError> {
        run_with_clock(
            plan,
            &mut *self.runner,
            &self.cancel,
            &mut *self.observer,
            &mut *self.clock,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NoObserver, VariantPlan};
    use genba_run::MockExecutor;

    fn plan() -> Plan {
        let variant = |name: &str| VariantPlan::new(name, name, CommandSpec::direct([name]));
        Plan::new(vec![variant("1"), variant("2"), variant("missing")])
    }

    fn comparer<'a>() -> Comparer<'a> {
        let runner = MockExecutor::new(|spec: &CommandSpec| {
            let name = spec.argv[0].to_string_lossy();
            match name.parse() {
                Ok(seconds) => Ok(Finished::mock(seconds)),
                Err(_) => {
                    let mut run = Finished::mock(0.1);
                    run.record.exit = genba_model::ExitKind::Code(3);
                    Ok(run)
                }
            }
        });
        let mut now = 0.0;
        Comparer::new(runner, NoObserver, Cancel::new().unwrap(), move || {
            now += 0.5;
            now
        })
    }

    #[test]
    fn single_runs_give_values_or_the_reason_of_failure() {
        let mut comparer = comparer();
        let run = comparer.run_once(&plan(), 1).unwrap();
        assert_eq!(run.value, Some(2.0));
        assert_eq!(run.values["wall"], 2.0);
        let failed = comparer.run_once(&plan(), 2).unwrap();
        assert_eq!(failed.value, None);
        assert!(failed.failed.unwrap().contains('3'));
        assert!(comparer.run_once(&plan(), 9).is_err());
        let round = comparer.run_block(&plan(), &[1, 0, 1]).unwrap();
        let values: Vec<_> = round.iter().map(|run| run.value.unwrap()).collect();
        assert_eq!(values, [2.0, 1.0, 2.0]);
    }

    #[test]
    fn comparisons_end_with_a_verdict() {
        let mut plan = plan();
        plan.variants.pop();
        let measured = comparer().compare(&plan).unwrap();
        assert_eq!(measured.end(), crate::End::Decided);
    }
}
