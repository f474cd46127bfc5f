//! The arguments of a comparison.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use genba_report::export::{RowOrder, TableOptions, TimeUnit};
use genba_units::parse_duration;

use super::named_commands::NamedCommands;
use super::runtime_args::RuntimeArgs;
use crate::json_args::JsonArgs;
use crate::measurement_args::MeasurementArgs;
use crate::output::Output;
use crate::output_file;

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

    /// A gate's threshold, a share.
    #[arg(skip)]
    pub threshold: Option<f64>,

    /// What base and change of a gate are.
    #[arg(skip)]
    pub sides: Option<super::GateSides>,

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
    #[arg(long, value_name = "FILE", value_parser = output_file::parser())]
    pub export_json: Option<PathBuf>,

    /// Write hyperfine's CSV to this file.
    #[arg(long, value_name = "FILE", value_parser = output_file::parser())]
    pub export_csv: Option<PathBuf>,

    /// Write a Markdown table to this file.
    #[arg(long, value_name = "FILE", value_parser = output_file::parser())]
    pub export_markdown: Option<PathBuf>,

    /// Write an AsciiDoc table to this file.
    #[arg(long, value_name = "FILE", value_parser = output_file::parser())]
    pub export_asciidoc: Option<PathBuf>,

    /// Write a table for Emacs' Org mode to this file.
    #[arg(long, value_name = "FILE", value_parser = output_file::parser())]
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
    pub(super) fn commands(&self) -> Vec<(Option<&str>, &str)> {
        let reference =
            (self.reference.as_deref()).map(|command| (self.reference_name.as_deref(), command));
        let others = (self.commands.commands.iter())
            .map(|(name, command)| (name.as_deref(), command.as_str()));
        reference.into_iter().chain(others).collect()
    }

    /// Where standard output goes.
    pub(super) fn output(&self) -> &str {
        match self.show_output {
            true => "inherit",
            false => &self.output,
        }
    }
}
