//! The place where the drivers of searches measure: whole comparisons, and single runs.

use std::collections::BTreeMap;

use genba_run::{Cancel, CommandSpec, Finished};

use crate::measurement::Measurement;
use crate::observer::Observer;
use crate::random_schedule::Schedule;
use crate::run_plan::run_with_clock;
use crate::runner::Runner;
use crate::{ExperimentError, Plan, Stop};

/// Measures what a driver asks for, in one sitting or several.
///
/// A driver that asks only the comparer for time and values, and whose order follows from the plan's
/// seed, can be taken up again where it was interrupted (see [`crate::run_journal`]).
pub struct Comparer<'a> {
    runner: Box<dyn Runner + 'a>,
    observer: Box<dyn Observer + 'a>,
    cancel: Cancel,
    clock: Box<dyn FnMut() -> f64 + 'a>,
    /// Measurements so far: each gets an order and paddings of its own.
    asked: u64,
}

/// A single run of a variant.
#[derive(Clone, Debug, PartialEq)]
pub struct SingleRun {
    /// The plan's primary metric; `None` if the run failed or did not yield it.
    pub value: Option<f64>,
    /// All metrics that it yielded, by name.
    pub values: BTreeMap<String, f64>,
    /// Why it failed, with the end of what it said.
    pub failed: Option<String>,
    /// Time that it took with its preparation, seconds.
    pub seconds: f64,
}

impl<'a> Comparer<'a> {
    /// A comparer; `clock` shows the seconds spent so far.
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
            asked: 0,
        }
    }

    /// Compares the variants of a plan in one interleaved schedule, until it is decided.
    ///
    /// # Errors
    /// As [`crate::run`].
    pub fn compare(&mut self, plan: &Plan) -> Result<Measurement, ExperimentError> {
        let plan = self.with_own_seed(plan.clone());
        self.run(&plan)
    }

    /// One run of one variant with its prepare and conclude commands; its set-up and clean-up
    /// are the caller's ([`Comparer::set_up`]).
    ///
    /// # Errors
    /// An interruption, a launcher that dies, a run that cannot be kept. A run that fails is no
    /// error: see [`SingleRun::failed`].
    pub fn run_once(&mut self, plan: &Plan, variant: usize) -> Result<SingleRun, ExperimentError> {
        let Some(variant) = plan.variants.get(variant) else {
            return Err(ExperimentError::Plan {
                what: format!("there is no variant {variant}"),
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
            Err(ExperimentError::NothingLeft { reasons, .. }) => Ok(failed(reasons.join("\n"))),
            Err(error) => Err(error),
        }
    }

    /// One run of each of these variants, in random order; the probes are in the order asked.
    ///
    /// # Errors
    /// As [`Comparer::run_once`].
    pub fn run_block(
        &mut self,
        plan: &Plan,
        variants: &[usize],
    ) -> Result<Vec<SingleRun>, ExperimentError> {
        self.asked += 1;
        let mut schedule = Schedule::new(plan.seed.wrapping_add(self.asked));
        let places: Vec<usize> = (0..variants.len()).collect();
        let mut probes: Vec<Option<SingleRun>> = vec![None; variants.len()];
        for place in schedule.block(&places) {
            probes[place] = Some(self.run_once(plan, variants[place])?);
        }
        Ok(probes.into_iter().flatten().collect())
    }

    /// Runs the set-up commands of all variants of a plan that will be probed.
    ///
    /// # Errors
    /// A command that fails, by name with the end of what it said.
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
                let line = crate::output_streams::line(command);
                if let Some(reason) = crate::exclusion_reason::of_step(step, &line, &finished) {
                    return Err(ExperimentError::Plan {
                        what: format!("{}: {reason}", variant.name),
                    });
                }
            }
        }
        Ok(())
    }

    /// A command that is not measured (a build), the end of what it says kept.
    ///
    /// # Errors
    /// It cannot be started, or was cancelled.
    pub fn command(&mut self, spec: &CommandSpec) -> Result<Finished, ExperimentError> {
        let mut spec = spec.clone();
        crate::output_streams::capture_errors(&mut spec);
        Ok(self.runner.command(&spec, &self.cancel)?)
    }

    /// Seconds spent so far, earlier sittings included.
    pub fn elapsed(&mut self) -> f64 {
        (self.clock)()
    }

    /// Whether the person wants it to end.
    #[must_use]
    pub fn cancelled(&self) -> bool {
        self.cancel.is_triggered()
    }

    /// The token that ends it.
    #[must_use]
    pub fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Says what is done now, and how long it will take at most, seconds.
    pub fn say(&mut self, what: &str, left_seconds: Option<f64>) {
        self.observer.say(what, left_seconds);
    }

    /// What the runner has to tell: events that this machine lacks, runs that were recalled.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        self.runner.notes()
    }

    fn with_own_seed(&mut self, mut plan: Plan) -> Plan {
        self.asked += 1;
        plan.seed = plan.seed.wrapping_add(self.asked.wrapping_mul(0x9e37_79b9));
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
    fn probes_give_values_or_reasons() {
        let mut comparer = comparer();
        let probe = comparer.run_once(&plan(), 1).unwrap();
        assert_eq!(probe.value, Some(2.0));
        assert_eq!(probe.values["wall"], 2.0);
        let failed = comparer.run_once(&plan(), 2).unwrap();
        assert_eq!(failed.value, None);
        assert!(failed.failed.unwrap().contains('3'));
        assert!(comparer.run_once(&plan(), 9).is_err());
        let round = comparer.run_block(&plan(), &[1, 0, 1]).unwrap();
        let values: Vec<_> = round.iter().map(|probe| probe.value.unwrap()).collect();
        assert_eq!(values, [2.0, 1.0, 2.0]);
    }

    #[test]
    fn a_comparison_is_the_benchs_own() {
        let mut plan = plan();
        plan.variants.pop();
        let measured = comparer().compare(&plan).unwrap();
        assert_eq!(measured.end(), crate::End::Decided);
    }
}
