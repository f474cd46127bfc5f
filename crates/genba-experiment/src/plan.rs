//! What an experiment is to do: the input of [`crate::run`].

use std::collections::{BTreeMap, BTreeSet};

use genba_model::Metric;
use genba_run::CommandSpec;

use crate::{ExperimentError, MetricPlan};

/// Variants that are measured against one another in one interleaved schedule.
///
/// A suite of several operations is several plans, run one after another: only variants of one
/// plan are compared.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Title, where there are several plans ("hash write 10⁶").
    pub name: Option<String>,
    /// The variants; the first is the baseline.
    pub variants: Vec<VariantPlan>,
    /// The target's own metrics. The built-in ones (`wall`, `user`, …) are always taken, and so
    /// is every metric that a target writes to `$GENBA_METRICS_FD`; naming one of these here
    /// gives it a unit and a direction.
    pub metrics: Vec<MetricPlan>,
    /// Hardware and software events to count in each run, as `perf stat -e` names them.
    pub counters: Vec<String>,
    /// The metric that decides when to stop: a built-in one, one of `metrics` or of `counters`.
    pub primary: String,
    /// When to stop.
    pub stop: Stop,
    /// Blocks that are run first and not measured.
    pub warmup: u32,
    /// Differences up to this share are of no interest (0.01).
    pub delta: f64,
    /// Rate of false alarms allowed (0.05).
    pub alpha: f64,
    /// Seed of the order and of the padding.
    pub seed: u64,
    /// Vary the size of the environment from run to run, so that no one stack address decides
    /// (Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!",
    /// ASPLOS 2009).
    pub vary_environment: bool,
    /// Measure commands that exit with another code than 0.
    pub ignore_failure: bool,
    /// Take a variant out that writes something else to standard output than the baseline.
    pub check_output: bool,
}

impl Plan {
    /// A plan with the usual settings.
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
            alpha: 0.05,
            seed: rand::random(),
            vary_environment: true,
            ignore_failure: false,
            check_output: false,
        }
    }
}

/// When the measurement is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stop {
    /// After exactly so many blocks; the interval is that of a number fixed beforehand.
    Blocks(u32),
    /// When the primary metric is decided for all variants, or the time is spent.
    Budget {
        /// Time for all runs with their preparation, seconds.
        seconds: f64,
        /// Blocks that are made even beyond the budget.
        min_blocks: u32,
    },
    /// When the time is spent, decided or not.
    Time {
        /// Seconds.
        seconds: f64,
    },
}

/// Time for a variant when nobody said how much, seconds.
const SECONDS_PER_VARIANT: f64 = 10.0;
/// With six pairs Wilcoxon's test can first speak at 5 %; a person who gave no budget would
/// rather wait than learn nothing.
const LEAST_BLOCKS: u32 = 6;

impl Stop {
    /// The budget for so many variants when nobody said how much: 20 s for two.
    #[must_use]
    pub fn default_for(variants: usize) -> Self {
        Self::Budget {
            seconds: SECONDS_PER_VARIANT * variants.max(1) as f64,
            min_blocks: LEAST_BLOCKS,
        }
    }
}

/// One way of running the workload.
#[derive(Clone, Debug)]
pub struct VariantPlan {
    /// Name, unlike all others of the plan.
    pub name: String,
    /// The command as people read it.
    pub command: String,
    /// What is measured. Its standard output and error are changed by the driver where a metric,
    /// the output check or a message needs them.
    pub spec: CommandSpec,
    /// Parameters that made it, by name.
    pub parameters: BTreeMap<String, String>,
    /// Once, before its first run (a build, a server: what it leaves behind stays running).
    pub setup: Vec<CommandSpec>,
    /// Before each of its runs; not part of the measurement.
    pub prepare: Vec<CommandSpec>,
    /// After each of its runs; not part of the measurement.
    pub conclude: Vec<CommandSpec>,
    /// Once, after its last run.
    pub cleanup: Vec<CommandSpec>,
    /// Iterations that one run makes, for the cost of one.
    pub iterations: Option<u64>,
    /// Name of the variant whose cost (the empty loop) is taken off before that.
    pub subtract: Option<String>,
    /// This variant is there to be subtracted only: it is measured in every block, yet is
    /// neither a baseline nor compared nor ranked.
    pub overhead_only: bool,
}

impl VariantPlan {
    /// The commands round its runs.
    pub fn steps_mut(&mut self) -> impl Iterator<Item = &mut CommandSpec> {
        (self.setup.iter_mut())
            .chain(&mut self.prepare)
            .chain(&mut self.conclude)
            .chain(&mut self.cleanup)
    }

    /// A variant with nothing round it.
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

/// More variants than this are a mistake in a product of parameters.
const MOST_VARIANTS: usize = 10_000;

impl Plan {
    /// Looks for what cannot be done.
    ///
    /// # Errors
    /// No variants, names that are not unique, parameters out of range, a primary metric that
    /// nothing yields, a variant to subtract that does not exist.
    pub fn check(&self) -> Result<(), ExperimentError> {
        let wrong = |what: String| Err(ExperimentError::Plan { what });
        if self.variants.is_empty() {
            return wrong("there is no command to measure".to_owned());
        }
        if self.variants.len() > MOST_VARIANTS {
            return wrong(format!(
                "{} variants are more than the {MOST_VARIANTS} that one comparison takes; give \
                 fewer values of the parameters",
                self.variants.len()
            ));
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = (self.variants.iter()).find(|variant| !names.insert(&variant.name)) {
            return wrong(format!(
                "two variants are called {:?}; name them with -n",
                twice.name
            ));
        }
        if self.variants.iter().all(|variant| variant.overhead_only) {
            return wrong("every variant is there to be subtracted only".to_owned());
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
                return wrong(format!("{:?} makes no iterations", variant.name));
            }
        }
        if !(self.alpha > 0.0 && self.alpha < 1.0) {
            return wrong(format!("alpha is {}, not between 0 and 1", self.alpha));
        }
        if !(self.delta >= 0.0 && self.delta.is_finite()) {
            return wrong(format!("delta is {}, not at or above 0", self.delta));
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
                    "{:?} is the name of a built-in metric; call the target's own differently",
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
                "there is no metric {:?}; there are {}",
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
