//! Arguments shared by `try`, `ablate`, `sweep` and `bisect`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use genba_experiment::{Plan, VariantPlan};
use genba_model::EXACT_INSTRUCTIONS;
use genba_profile::event::EventSpec;
use genba_run::{CommandSpec, Output, Stdin, is_shell_line, join_words};

use genba_units::parse_duration;

use crate::exit_code::Failure;
use crate::json_args::JsonArgs;
use crate::measurement_args::MeasurementArgs;
use crate::other_meanings::{input_file, refuse_recording};

/// How variants are run and compared.
#[derive(Debug, ClapArgs)]
pub struct ExperimentArgs {
    #[command(flatten)]
    pub measurement: MeasurementArgs,

    /// Primary metric, which decides the verdict: wall, user, system, cpu, max_rss, an event
    /// (instructions), one of the target's own, or exact-instructions (counted, without noise)
    /// [default: wall].
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,

    /// Time for the whole experiment.
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, value_parser = parse_duration)]
    pub budget: Option<Duration>,

    /// Command before each run.
    #[arg(long, value_name = "COMMAND")]
    pub prepare: Option<String>,

    /// Command after each run.
    #[arg(long, value_name = "COMMAND")]
    pub conclude: Option<String>,

    /// Command once before the first run.
    #[arg(long, value_name = "COMMAND")]
    pub setup: Option<String>,

    /// Command once after the last run.
    #[arg(long, value_name = "COMMAND")]
    pub cleanup: Option<String>,

    /// Standard input: `null` or a file.
    #[arg(long, value_name = "WHERE", default_value = "null")]
    pub input: String,

    /// Working directory of the commands.
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,

    /// Print the plan and its expected time without running anything.
    #[arg(long)]
    pub dry_run: bool,

    /// Do not store a case: the experiment can then be neither resumed nor repeated.
    #[arg(long, conflicts_with = "continue_case")]
    pub no_case: bool,

    #[command(flatten)]
    pub json: JsonArgs,

    /// Resume this case; added by `genba case resume`.
    #[arg(long, value_name = "CASE", hide = true)]
    pub continue_case: Option<String>,

    /// Command line that does this experiment, without genba's own name, where another verb has begun it.
    #[arg(skip)]
    pub arguments: Option<Vec<String>>,
}

impl ExperimentArgs {
    /// A variant of one command line, with the steps round it. Placeholders must have been
    /// replaced.
    pub fn variant(&self, name: &str, line: &str) -> Result<VariantPlan, Failure> {
        let spec = CommandSpec::from_line(line, &self.measurement.shell()?)?;
        self.with_steps(name, line, spec)
    }

    /// A variant of words that are started without a shell (those after `--`).
    pub fn variant_of_words(&self, name: &str, words: &[String]) -> Result<VariantPlan, Failure> {
        self.with_steps(name, &join_words(words), CommandSpec::direct(words))
    }

    /// A variant of a command as it was given: one string with blanks is a line for the shell, all
    /// else are words.
    pub fn variant_as_given(&self, name: &str, command: &[String]) -> Result<VariantPlan, Failure> {
        match command {
            [line] if is_shell_line(command) => self.variant(name, line),
            words => {
                words
                    .first()
                    .map_or(Ok(()), |word| refuse_recording(word))?;
                self.variant_of_words(name, words)
            }
        }
    }

    /// The variant with its streams, time-out and the commands before and after it.
    fn with_steps(
        &self,
        name: &str,
        line: &str,
        mut spec: CommandSpec,
    ) -> Result<VariantPlan, Failure> {
        self.set_surroundings(&mut spec)?;
        spec.stdin = match self.input.as_str() {
            "null" => Stdin::Null,
            path => Stdin::File(input_file(path)?),
        };
        spec.stdout = Output::Null;
        spec.timeout = self.measurement.timeout;
        spec.cpus = self.measurement.cpus()?;
        let mut variant = VariantPlan::new(name, line, spec);
        let step = |line: &Option<String>| -> Result<Vec<CommandSpec>, Failure> {
            let Some(line) = line else {
                return Ok(Vec::new());
            };
            let mut spec = CommandSpec::from_line(line, &self.measurement.shell()?)?;
            self.set_surroundings(&mut spec)?;
            Ok(vec![spec])
        };
        variant.setup = step(&self.setup)?;
        variant.prepare = step(&self.prepare)?;
        variant.conclude = step(&self.conclude)?;
        variant.cleanup = step(&self.cleanup)?;
        Ok(variant)
    }

    /// Sets directory and environment of a command.
    fn set_surroundings(&self, spec: &mut CommandSpec) -> Result<(), Failure> {
        spec.directory.clone_from(&self.directory);
        for (name, value) in self.measurement.environment()? {
            spec.environment.set(name, genba_run::bytes_of(value));
        }
        Ok(())
    }

    /// The plan of these variants, with the seed of the session.
    pub fn plan(&self, variants: Vec<VariantPlan>, seed: u64) -> Result<Plan, Failure> {
        let mut plan = Plan::new(variants);
        plan.metrics = self.measurement.metrics()?;
        plan.seed = seed;
        if let Some(metric) = &self.metric {
            plan.primary.clone_from(metric);
        }
        let known = genba_model::Metric::ALL
            .iter()
            .any(|one| one.name() == plan.primary)
            || plan.metrics.iter().any(|one| one.name == plan.primary);
        if !known && (self.is_exact() || EventSpec::parse(&plan.primary).is_ok()) {
            plan.counters.push(plan.primary.clone());
        }
        self.measurement.apply_to(&mut plan, self.budget);
        plan.check().map_err(Failure::usage)?;
        Ok(plan)
    }

    /// Whether runs are counted instead of timed.
    pub fn is_exact(&self) -> bool {
        self.metric.as_deref() == Some(EXACT_INSTRUCTIONS)
    }
}
