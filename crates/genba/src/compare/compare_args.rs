//! The arguments of a comparison, and the plan made of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use genba_experiment::parameters::{Parameter, mentions, product, replace};
use genba_experiment::{Plan, Stop, VariantPlan};
use genba_profile::event::EventSpec;
use genba_report::export::{RowOrder, TableOptions, TimeUnit};
use genba_run::{CommandSpec, Output as Stream, Stdin};
use genba_runtime::shim::{PER_REQUEST, Shims};

use super::named_commands::NamedCommands;
use super::runtime_args::RuntimeArgs;
use genba_units::parse_duration;

use crate::exit_code::Failure;
use crate::json_args::JsonArgs;
use crate::measurement_args::MeasurementArgs;
use crate::other_meanings::{input_file, refuse_recording};
use crate::output::Output;

/// The commands to compare, and how.
#[derive(Debug, ClapArgs)]
pub struct CompareArgs {
    #[command(flatten)]
    pub commands: NamedCommands,

    #[command(flatten)]
    pub measurement: MeasurementArgs,

    /// Parameter with a list of values, separated by commas, replacing {VAR} in commands; several
    /// parameters are combined.
    #[arg(short = 'L', long, num_args = 2, value_names = ["VAR", "VALUES"], allow_hyphen_values = true)]
    pub parameter_list: Vec<String>,

    /// Parameter with a range of numbers.
    #[arg(short = 'P', long, num_args = 3, value_names = ["VAR", "MIN", "MAX"], allow_hyphen_values = true)]
    pub parameter_scan: Vec<String>,

    /// Step of the range [default: 1]; once for all ranges, or once for each.
    #[arg(short = 'D', long, value_name = "STEP", allow_hyphen_values = true)]
    pub parameter_step_size: Vec<String>,

    /// Number of runs of each command, instead of as many as the verdict needs.
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub runs: Option<u32>,

    /// Fewest runs of each command before a verdict ends the comparison.
    #[arg(short, long, value_name = "N", conflicts_with = "runs",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub min_runs: Option<u32>,

    /// Most runs of each command, with or without a verdict.
    #[arg(short = 'M', long, value_name = "N", conflicts_with = "runs",
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_runs: Option<u32>,

    /// Command that the others are compared with: the baseline, before the commands.
    #[arg(long, value_name = "COMMAND")]
    pub reference: Option<String>,

    /// Name of the command of --reference.
    #[arg(long, value_name = "NAME", requires = "reference")]
    pub reference_name: Option<String>,

    /// Command before each run; once for all commands, or once for each in order.
    #[arg(short, long, value_name = "COMMAND")]
    pub prepare: Vec<String>,

    /// Command after each run; once for all, or once for each.
    #[arg(short = 'C', long, value_name = "COMMAND")]
    pub conclude: Vec<String>,

    /// Command once before the first run; once for all, or once for each.
    #[arg(short, long, value_name = "COMMAND")]
    pub setup: Vec<String>,

    /// Command once after the last run; once for all, or once for each.
    #[arg(short = 'c', long, value_name = "COMMAND")]
    pub cleanup: Vec<String>,

    /// Standard input: `null` or a file; once for all commands, or once for each.
    #[arg(long, value_name = "WHERE")]
    pub input: Vec<String>,

    /// Standard output: `null`, `pipe`, `inherit` or a file.
    #[arg(long, value_name = "WHERE", default_value = "null")]
    pub output: String,

    /// Show the output of the commands: the same as --output inherit.
    #[arg(long, conflicts_with = "output")]
    pub show_output: bool,

    /// Working directory; once for all commands, or once for each.
    #[arg(long, value_name = "DIR")]
    pub directory: Vec<String>,

    /// Primary metric, which decides the verdict: wall, user, system, cpu, max_rss, an event
    /// (instructions), or one of the target's own [default: wall].
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,

    /// Time for the whole comparison; it ends sooner when all verdicts are decided [default: 10s
    /// per command].
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, value_parser = parse_duration)]
    pub budget: Option<Duration>,

    /// Iterations per run, to report the cost of one iteration.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub per_iteration: Option<u64>,

    /// Subtract the cost of this command (the empty loop) from all others.
    #[arg(long, value_name = "NAME")]
    pub subtract: Option<String>,

    /// Count events as well: those named, or instructions, cycles, branch and cache misses.
    #[arg(long, value_name = "EVENTS", num_args = 0..=1, require_equals = true,
          default_missing_value = "instructions,cycles,branch-misses,cache-misses")]
    pub counters: Option<String>,

    #[command(flatten)]
    pub runtime: RuntimeArgs,

    /// Exclude commands whose standard output differs from that of the first.
    #[arg(long)]
    pub check_output: bool,

    /// Compare with the runs of this case as well; it must have been measured on this host.
    #[arg(long, value_name = "CASE")]
    pub against: Option<String>,

    /// Keep the results in the history as well: sqlite:FILE, postgres://… [default: $GENBA_HISTORY
    /// or .genba/history.sqlite].
    #[arg(long, value_name = "STORE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub history: Option<String>,

    /// The variant that is the anchor of the history.
    #[arg(skip)]
    pub anchor: Option<super::Anchor>,

    /// Whether the history gets the number of instructions as well.
    #[arg(skip)]
    pub count_instructions: bool,

    /// Do not store a case.
    #[arg(long)]
    pub no_case: bool,

    /// Interpreters for a suite of snippets, as in benchmark_driver's -e: NAME::COMMAND;…
    #[arg(short = 'e', long, value_name = "LIST")]
    pub executables: Vec<String>,

    /// Duration of one run of the loop around a snippet.
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, value_parser = parse_duration)]
    pub loop_time: Option<Duration>,

    /// Run only the benchmarks of a suite whose name contains this.
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,

    /// Write hyperfine's JSON to this file.
    #[arg(long, value_name = "FILE")]
    pub export_json: Option<PathBuf>,

    /// Write hyperfine's CSV to this file.
    #[arg(long, value_name = "FILE")]
    pub export_csv: Option<PathBuf>,

    /// Write a Markdown table to this file.
    #[arg(long, value_name = "FILE")]
    pub export_markdown: Option<PathBuf>,

    /// Write an AsciiDoc table to this file.
    #[arg(long, value_name = "FILE")]
    pub export_asciidoc: Option<PathBuf>,

    /// Write a table for Emacs' Org mode to this file.
    #[arg(long, value_name = "FILE")]
    pub export_orgmode: Option<PathBuf>,

    /// Order of the rows of exported tables [default: command; the terminal's table has ranks].
    #[arg(long, value_enum, value_name = "ORDER")]
    pub sort: Option<SortArg>,

    /// Unit of times in exported tables [default: that of the first mean].
    #[arg(short = 'u', long, value_enum, value_name = "UNIT")]
    pub time_unit: Option<TimeUnitArg>,

    /// hyperfine's style of output: `none` is --quiet and no report, `basic` and `nocolor` are --color
    /// never, `full` and `color` --color always.
    #[arg(long, value_enum, value_name = "STYLE")]
    pub style: Option<StyleArg>,

    #[command(flatten)]
    pub json: JsonArgs,
}

/// Order of the rows of exported tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SortArg {
    /// As `command`.
    Auto,
    /// As on the command line.
    Command,
    /// The smallest mean first.
    MeanTime,
}

/// Unit of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum TimeUnitArg {
    /// Microseconds.
    Microsecond,
    /// Milliseconds.
    Millisecond,
    /// Seconds.
    Second,
}

/// hyperfine's styles of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum StyleArg {
    /// Colour on a terminal.
    Auto,
    /// No colour.
    Basic,
    /// Colour.
    Full,
    /// No colour.
    Nocolor,
    /// Colour.
    Color,
    /// No output.
    None,
}

impl CompareArgs {
    /// Unit and order of exported tables.
    pub fn table_options(&self) -> TableOptions {
        TableOptions {
            unit: self.time_unit.map(|unit| match unit {
                TimeUnitArg::Microsecond => TimeUnit::Microsecond,
                TimeUnitArg::Millisecond => TimeUnit::Millisecond,
                TimeUnitArg::Second => TimeUnit::Second,
            }),
            order: match self.sort {
                Some(SortArg::MeanTime) => RowOrder::MeanTime,
                Some(SortArg::Auto | SortArg::Command) | None => RowOrder::Command,
            },
        }
    }

    /// The output in hyperfine's style.
    pub fn styled(&self, output: &Output) -> Output {
        let color = match self.style {
            Some(StyleArg::Full | StyleArg::Color) => Some(true),
            Some(StyleArg::Basic | StyleArg::Nocolor) => Some(false),
            Some(StyleArg::Auto | StyleArg::None) | None => None,
        };
        output.with(color, self.is_silent())
    }

    /// Whether nothing is printed but errors.
    pub fn is_silent(&self) -> bool {
        self.style == Some(StyleArg::None)
    }

    /// The commands with their names, that of --reference first.
    fn commands(&self) -> Vec<(Option<&str>, &str)> {
        let reference =
            (self.reference.as_deref()).map(|command| (self.reference_name.as_deref(), command));
        let others = (self.commands.commands.iter())
            .map(|(name, command)| (name.as_deref(), command.as_str()));
        reference.into_iter().chain(others).collect()
    }

    /// Where standard output goes.
    fn output(&self) -> &str {
        match self.show_output {
            true => "inherit",
            false => &self.output,
        }
    }

    /// The plan for the commands; the shims, if any, must live as long as it.
    pub fn plan(&self, shims: Option<&Shims>) -> Result<Plan, Failure> {
        self.json.check_output(Some(self.output()))?;
        if self.commands().is_empty() {
            return Err(Failure::usage(
                "no command to measure: give each as one word, as in 'COMMAND ARGUMENT' 'OTHER COMMAND'",
            ));
        }
        if let Some(name) = &self.commands.left_over {
            return Err(Failure::usage(format!(
                "-n {name}: more names than commands"
            )));
        }
        let mut plan = Plan::new(self.variants(shims)?);
        plan.metrics = self.measurement.metrics()?;
        if let Some(shims) = shims {
            self.runtime.prepare_plan(&mut plan, shims)?;
        }
        if self.runtime.per_request.is_some() {
            plan.primary = PER_REQUEST.to_owned();
        }
        self.apply_to(&mut plan)?;
        Ok(plan)
    }

    /// Overrides the settings of a plan (of a suite) with those of the command line.
    pub fn apply_to(&self, plan: &mut Plan) -> Result<(), Failure> {
        if let Some(metric) = &self.metric {
            plan.primary.clone_from(metric);
        }
        if let Some(events) = &self.counters {
            let events = events.split(',').map(|name| name.trim().to_owned());
            plan.counters = events.collect();
        }
        let known = genba_model::Metric::ALL
            .iter()
            .any(|one| one.name() == plan.primary)
            || plan.metrics.iter().any(|one| one.name == plan.primary)
            || plan.counters.contains(&plan.primary);
        if !known {
            let iterations = plan.variants.iter().any(|one| one.iterations.is_some());
            // Naming a runtime's metric or an event as the primary metric asks for it.
            if let Some(metric) = self.runtime.metric(&plan.primary, iterations)? {
                plan.metrics.push(metric);
            } else if EventSpec::parse(&plan.primary).is_ok() {
                plan.counters.push(plan.primary.clone());
            }
        }
        self.measurement.apply_to(plan, self.budget);
        if let Some(runs) = self.runs {
            plan.stop = Stop::Blocks(runs);
        }
        plan.min_runs = self.min_runs.unwrap_or(plan.min_runs);
        plan.max_runs = self.max_runs.or(plan.max_runs);
        if let (Stop::Budget { min_blocks, .. }, Some(least)) = (&mut plan.stop, self.min_runs) {
            *min_blocks = least;
        }
        plan.check_output |= self.check_output;
        let cpus = self.measurement.cpus()?;
        for variant in &mut plan.variants {
            variant.spec.timeout = self.measurement.timeout.or(variant.spec.timeout);
            variant.spec.cpus = cpus.clone().or(variant.spec.cpus.take());
        }
        if let Some(name) = &self.subtract {
            for variant in &mut plan.variants {
                variant.overhead_only = variant.name == *name;
                variant.subtract = (variant.name != *name).then(|| name.clone());
            }
        }
        plan.check().map_err(Failure::usage)
    }

    fn parameters(&self) -> Result<Vec<Parameter>, Failure> {
        let mut parameters = Vec::new();
        for pair in self.parameter_list.chunks_exact(2) {
            parameters.push(Parameter::list(&pair[0], &pair[1]));
        }
        let steps = &self.parameter_step_size;
        for (index, range) in self.parameter_scan.chunks_exact(3).enumerate() {
            let step = if steps.len() == 1 {
                steps.first()
            } else {
                steps.get(index)
            };
            let step = step.map(String::as_str);
            parameters.push(Parameter::range(&range[0], &range[1], &range[2], step));
        }
        parameters
            .into_iter()
            .collect::<Result<_, _>>()
            .map_err(Failure::usage)
    }

    fn variants(&self, shims: Option<&Shims>) -> Result<Vec<VariantPlan>, Failure> {
        let parameters = self.parameters()?;
        let commands = self.commands();
        let count = commands.len();
        let mut variants: Vec<VariantPlan> = Vec::new();
        let mut used = BTreeSet::new();
        for (index, &command) in commands.iter().enumerate() {
            let texts = self.texts(command, index, count)?;
            let own: Vec<Parameter> = (parameters.iter())
                .filter(|one| texts.all().any(|text| mentions(text, &one.name)))
                .cloned()
                .collect();
            used.extend(own.iter().map(|one| one.name.clone()));
            for values in product(&own).map_err(Failure::usage)? {
                variants.push(self.variant(&texts, values, shims)?);
            }
        }
        if let Some(unused) = parameters.iter().find(|one| !used.contains(&one.name)) {
            return Err(Failure::usage(format!(
                "no command contains {{{}}}, which -L or -P defines",
                unused.name
            )));
        }
        make_unique(&mut variants);
        Ok(variants)
    }

    /// The texts of one command, before parameters are replaced.
    fn texts<'a>(
        &'a self,
        (name, command): (Option<&'a str>, &'a str),
        index: usize,
        count: usize,
    ) -> Result<CommandTexts<'a>, Failure> {
        Ok(CommandTexts {
            name,
            command,
            setup: value_for("--setup", &self.setup, index, count)?,
            prepare: value_for("--prepare", &self.prepare, index, count)?,
            conclude: value_for("--conclude", &self.conclude, index, count)?,
            cleanup: value_for("--cleanup", &self.cleanup, index, count)?,
            input: value_for("--input", &self.input, index, count)?,
            directory: value_for("--directory", &self.directory, index, count)?,
            env: &self.measurement.env,
        })
    }

    fn variant(
        &self,
        texts: &CommandTexts<'_>,
        values: BTreeMap<String, String>,
        shims: Option<&Shims>,
    ) -> Result<VariantPlan, Failure> {
        let shell = self.measurement.shell()?;
        let fill = |text: &str| replace(text, &values);
        let spec_of = |line: &str| -> Result<CommandSpec, Failure> {
            let mut spec = CommandSpec::from_line(&fill(line), &shell)?;
            spec.directory = texts
                .directory
                .map(|path| genba_run::bytes_of(&fill(path)).into());
            for variable in texts.env {
                let Some((name, value)) = variable.split_once('=') else {
                    return Err(Failure::usage(format!(
                        "--env {variable}: write NAME=VALUE"
                    )));
                };
                spec.environment
                    .set(fill(name), genba_run::bytes_of(&fill(value)));
            }
            Ok(spec)
        };
        let step = |line: Option<&str>| -> Result<Vec<CommandSpec>, Failure> {
            line.map(&spec_of)
                .transpose()
                .map(|spec| spec.into_iter().collect())
        };
        let line = fill(texts.command);
        if !line.contains(char::is_whitespace) {
            refuse_recording(&line)?;
        }
        let mut spec = spec_of(&self.runtime.command(texts.command, shims))?;
        spec.stdin = match texts.input.map(fill).as_deref() {
            None | Some("null") => Stdin::Null,
            Some(path) => Stdin::File(input_file(path)?),
        };
        spec.stdout = match self.output() {
            "null" => Stream::Null,
            "pipe" => Stream::Count,
            "inherit" => Stream::Inherit,
            path => Stream::File(genba_run::bytes_of(path).into()),
        };
        if self.output() == "inherit" {
            spec.stderr = Stream::Inherit;
        }
        let command = fill(texts.command);
        let name = texts.name.map_or_else(|| command.clone(), fill);
        let mut variant = VariantPlan::new(name, command, spec);
        variant.setup = step(texts.setup)?;
        variant.prepare = step(texts.prepare)?;
        variant.conclude = step(texts.conclude)?;
        variant.cleanup = step(texts.cleanup)?;
        variant.iterations = self.per_iteration;
        variant.parameters = values;
        Ok(variant)
    }
}

struct CommandTexts<'a> {
    name: Option<&'a str>,
    command: &'a str,
    setup: Option<&'a str>,
    prepare: Option<&'a str>,
    conclude: Option<&'a str>,
    cleanup: Option<&'a str>,
    input: Option<&'a str>,
    directory: Option<&'a str>,
    env: &'a [String],
}

impl<'a> CommandTexts<'a> {
    fn all(&self) -> impl Iterator<Item = &'a str> {
        let one = [
            self.name,
            Some(self.command),
            self.setup,
            self.prepare,
            self.conclude,
            self.cleanup,
            self.input,
            self.directory,
        ];
        let env = self.env.iter().map(String::as_str);
        one.into_iter().flatten().chain(env)
    }
}

/// The value of an option that is given once for all commands or once for each.
fn value_for<'a>(
    option: &str,
    values: &'a [String],
    index: usize,
    count: usize,
) -> Result<Option<&'a str>, Failure> {
    match values.len() {
        0 | 1 => Ok(values.first().map(String::as_str)),
        some if some == count => Ok(values.get(index).map(String::as_str)),
        some => Err(Failure::usage(format!(
            "{option} is given {some} times for {count} commands: give it once for all or once for each"
        ))),
    }
}

/// Makes the names of variants unique: by their parameters, else by a number.
fn make_unique(variants: &mut [VariantPlan]) {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for variant in variants.iter() {
        *counts.entry(variant.name.clone()).or_default() += 1;
    }
    for variant in variants.iter_mut() {
        if counts[&variant.name] > 1 && !variant.parameters.is_empty() {
            let values: Vec<String> = (variant.parameters.iter())
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            variant.name = format!("{} ({})", variant.name, values.join(", "));
        }
    }
    let mut taken = BTreeSet::new();
    for variant in variants.iter_mut() {
        let base = variant.name.clone();
        let mut number = 1;
        while !taken.insert(variant.name.clone()) {
            number += 1;
            variant.name = format!("{base} ({number})");
        }
    }
}
