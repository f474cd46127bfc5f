//! Plan of a measurement: the input of [`crate::run`].

use std::collections::{BTreeMap, BTreeSet};

use genba_model::{ExitKind, Metric};
use genba_run::CommandSpec;

use crate::{ExperimentError, MetricPlan};

/// Variants that are compared in one interleaved schedule.
///
/// A suite of several operations is several plans, run one after another; only variants of one
/// plan are compared.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Title, if there are several plans ("hash write 10⁶").
    pub name: Option<String>,
    /// The variants; the first is the baseline.
    pub variants: Vec<VariantPlan>,
    /// Metrics that the target reports. The built-in ones (`wall`, `user`, …) and every metric on
    /// `$GENBA_METRICS_FD` are always measured; a definition here sets unit and direction.
    pub metrics: Vec<MetricPlan>,
    /// Hardware and software events to count in each run, with the names of `perf stat -e`.
    pub counters: Vec<String>,
    /// The primary metric, which decides when to stop: built in, or one of `metrics` or `counters`.
    pub primary: String,
    /// Stopping rule.
    pub stop: Stop,
    /// Number of blocks that are run first and not measured.
    pub warmup: u32,
    /// Equivalence margin δ: smaller differences are treated as equal (0.01).
    pub delta: f64,
    /// Loss, a share, on one side of which the interval of a worse variant must lie before its verdict
    /// ends the measurement: a gate's threshold.
    pub threshold: Option<f64>,
    /// Significance level α (0.05).
    pub alpha: f64,
    /// Seed of the order of runs and of the padding.
    pub seed: u64,
    /// Whether the size of the environment varies from run to run, so that no single stack address
    /// decides (Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!",
    /// ASPLOS 2009).
    pub vary_environment: bool,
    /// Whether commands with an exit code other than 0 are measured.
    pub ignore_failure: bool,
    /// The exit codes that [`Plan::ignore_failure`] is about; all if empty.
    pub ignored_codes: Vec<i32>,
    /// Number of blocks before which no verdict ends the measurement.
    pub min_runs: u32,
    /// Number of blocks after which it ends without a verdict.
    pub max_runs: Option<u32>,
    /// Whether variants whose standard output differs from the baseline are excluded.
    pub check_output: bool,
}

impl Plan {
    /// A plan with the default settings.
    #[must_use]
    pub fn new(variants: Vec<VariantPlan>) -> Self {
        let stop = Stop::default_for(variants.len());
        Self {
            name: None,
            variants,
            metrics: Vec::new(),
            counters: Vec::new(),
            primary: Metric::Wall.name().to_owned(),
            stop,
            warmup: 0,
            delta: 0.01,
            threshold: None,
            alpha: 0.05,
            seed: rand::random(),
            vary_environment: true,
            ignore_failure: false,
            ignored_codes: Vec::new(),
            min_runs: 0,
            max_runs: None,
            check_output: false,
        }
    }
}

/// Stopping rule of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// After this number of blocks; the interval is that for a number fixed beforehand.
    Blocks(u32),
    /// When every variant has a verdict in the primary metric, or the time is spent.
    Budget {
        /// Time for all runs with their prepare commands, seconds.
        seconds: f64,
        /// Number of blocks that are measured even beyond the budget.
        min_blocks: u32,
    },
    /// When the time is spent, whatever the verdicts.
    Time {
        /// Time for all runs, seconds.
        seconds: f64,
    },
}

/// Default budget per variant, seconds.
const DEFAULT_SECONDS_PER_VARIANT: f64 = 10.0;
/// Number of blocks of the default budget at least: with six pairs Wilcoxon's test can reach 5 %.
pub(crate) const DEFAULT_MIN_BLOCKS: u32 = 6;

impl Stop {
    /// The default budget for this number of variants: 20 s for two.
    #[must_use]
    pub fn default_for(variants: usize) -> Self {
        Self::Budget {
            seconds: DEFAULT_SECONDS_PER_VARIANT * variants.max(1) as f64,
            min_blocks: DEFAULT_MIN_BLOCKS,
        }
    }
}

/// One way of running the workload.
#[derive(Clone, Debug)]
pub struct VariantPlan {
    /// Name, unique in the plan.
    pub name: String,
    /// The command line for display.
    pub command: String,
    /// The command that is measured. [`run`](crate::run) redirects its standard output and error
    /// where a metric, the output check or a message needs them.
    pub spec: CommandSpec,
    /// Values of its parameters, by name.
    pub parameters: BTreeMap<String, String>,
    /// Commands before its first run (a build, a server); processes they start keep running.
    pub setup: Vec<CommandSpec>,
    /// Commands before each of its runs; not measured.
    pub prepare: Vec<CommandSpec>,
    /// Commands after each of its runs; not measured.
    pub conclude: Vec<CommandSpec>,
    /// Commands after its last run.
    pub cleanup: Vec<CommandSpec>,
    /// Iterations of one run, for the cost per iteration.
    pub iterations: Option<u64>,
    /// Name of the variant (the empty loop) whose cost is subtracted.
    pub subtract: Option<String>,
    /// Whether this variant is only subtracted: it is measured in every block, but is neither a
    /// baseline nor compared nor ranked.
    pub overhead_only: bool,
}

impl VariantPlan {
    /// The commands before and after its runs.
    pub fn steps_mut(&mut self) -> impl Iterator<Item = &mut CommandSpec> {
        (self.setup.iter_mut())
            .chain(&mut self.prepare)
            .chain(&mut self.conclude)
            .chain(&mut self.cleanup)
    }

    /// A variant without other commands.
    #[must_use]
    pub fn new(name: impl Into<String>, command: impl Into<String>, spec: CommandSpec) -> Self {
        Self {
            name: name.into(),
            command: command.into(),
            spec,
            parameters: BTreeMap::new(),
            setup: Vec::new(),
            prepare: Vec::new(),
            conclude: Vec::new(),
            cleanup: Vec::new(),
            iterations: None,
            subtract: None,
            overhead_only: false,
        }
    }
}

impl Plan {
    /// Whether a run that ended like this is measured although it failed.
    #[must_use]
    pub fn tolerates(&self, exit: ExitKind) -> bool {
        let listed = |code: &i32| exit == ExitKind::Code(*code);
        self.ignore_failure
            && (self.ignored_codes.is_empty() || self.ignored_codes.iter().any(listed))
    }
}

/// Largest number of variants of a plan.
const MAX_VARIANTS: usize = 10_000;

impl Plan {
    /// Checks the plan.
    ///
    /// # Errors
    /// No variants, names that are not unique, parameters out of range, an unknown primary metric,
    /// an unknown variant to subtract.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let wrong = |what: String| Err(ExperimentError::Plan { what });
        if self.variants.is_empty() {
            return wrong("there is no command to measure".to_owned());
        }
        if self.variants.len() > MAX_VARIANTS {
            return wrong(format!(
                "{} variants exceed the limit of {MAX_VARIANTS} for one comparison; give fewer \
                 parameter values",
                self.variants.len()
            ));
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = (self.variants.iter()).find(|variant| !names.insert(&variant.name)) {
            return wrong(format!(
                "two variants have the name {:?}; name them with -n",
                twice.name
            ));
        }
        if self.variants.iter().all(|variant| variant.overhead_only) {
            return wrong("every variant is only subtracted, none is left to compare".to_owned());
        }
        for variant in &self.variants {
            if let Some(other) = &variant.subtract
                && (!names.contains(other) || *other == variant.name)
            {
                return wrong(format!(
                    "cannot subtract {other:?} from {:?}: it is not the name of another variant",
                    variant.name
                ));
            }
            if variant.iterations == Some(0) {
                return wrong(format!("{:?} has 0 iterations", variant.name));
            }
        }
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return wrong(format!(
                "alpha is {}, but must be between 0 and 1",
                self.alpha
            ));
        }
        if !(self.delta >= 0.0 && self.delta.is_finite()) {
            return wrong(format!("delta is {}, but must be at least 0", self.delta));
        }
        match self.stop {
            Stop::Blocks(0) => return wrong("the number of runs is 0".to_owned()),
            Stop::Budget { seconds, .. } | Stop::Time { seconds }
                if !(seconds > 0.0 && seconds.is_finite()) =>
            {
                return wrong(format!("the budget is {seconds} seconds"));
            }
            _ => {}
        }
        let mut own = BTreeSet::new();
        for metric in &self.metrics {
            if is_built_in(&metric.name) {
                return wrong(format!(
                    "{:?} is the name of a built-in metric; rename the metric of the target",
                    metric.name
                ));
            }
            if !own.insert(&metric.name) {
                return wrong(format!("the metric {:?} is defined twice", metric.name));
            }
        }
        if !is_built_in(&self.primary)
            && !own.contains(&self.primary)
            && !self.counters.contains(&self.primary)
        {
            let known: Vec<&str> = (Metric::ALL.iter().map(|metric| metric.name()))
                .chain(own.iter().map(|name| name.as_str()))
                .chain(self.counters.iter().map(String::as_str))
                .collect();
            return wrong(format!(
                "unknown metric {:?}; known are {}",
                self.primary,
                known.join(", ")
            ));
        }
        Ok(())
    }
}

pub(crate) fn is_built_in(name: &str) -> bool {
    Metric::ALL.iter().any(|metric| metric.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_exit_codes_only_are_tolerated() {
        let mut plan = Plan::new(Vec::new());
        let failed = ExitKind::Code(3);
        assert!(!plan.tolerates(failed));
        plan.ignore_failure = true;
        assert!(plan.tolerates(failed));
        plan.ignored_codes = vec![1, 2];
        assert!(!plan.tolerates(failed) && plan.tolerates(ExitKind::Code(2)));
    }
}
