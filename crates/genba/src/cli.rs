//! The one definition of the command line: completions and man pages are made from it.

use clap::{Parser, Subcommand};

use crate::verbs;

/// Find where a program's time goes, on the machine it runs on.
#[derive(Debug, Parser)]
#[command(
    name = "genba",
    version,
    about = "A performance-investigation workbench for native programs and language runtimes",
    after_help = "Start with:\n  genba investigate -- ./prog args      the whole road: measure, profile, annotate, page\n  genba record -g -- ./prog args        sample only; then: genba report, genba annotate FUNCTION\n  genba bench './old' './new'           which is faster, and by how much
  genba stat -- ./prog args             counters, as perf stat -d\n\nExit codes: 0 done; 1 a gate refused; 2 usage; 3 the target failed; 4 this machine cannot do that.",
    max_term_width = 100,
    arg_required_else_help = true
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,

    /// When to use colour.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorWhen,

    /// No progress, no remarks; only the answer and errors.
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Measure, profile and annotate a command; leaves a case and a page.
    Investigate(verbs::investigate::Args),
    /// Compare commands: interleaved, paired, until the difference is known.
    Bench(verbs::bench::Args),
    /// What is responsible: a value, a commit, items of a set, regions of a source file.
    Bisect(verbs::bisect::Args),
    /// As bench, and exit with 1 if a variant is slower: for CI.
    Gate(verbs::gate::Args),
    /// This machine: what it can see.
    Host(verbs::host::Args),
    /// Count events of a command: what `perf stat -d` shows.
    Stat(verbs::stat::Args),
    /// Count executions exactly: functions by calls and instructions, callers and callees.
    Count(verbs::count::Args),
    /// Sample a command or a process into a perf.data file.
    Record(verbs::record::Args),
    /// Where the samples of a recording are: functions, lines, modules, threads.
    Report(verbs::report::Args),
    /// Live: functions by self time over the last seconds; Enter annotates.
    Top(verbs::top::Args),
    /// One function of a recording: source and assembly with the share of each instruction.
    Annotate(verbs::annotate::Args),
    /// Why the time goes where it goes: causes, with evidence and what a fix would gain.
    Explain(verbs::explain::Args),
    /// A flame graph (interactive SVG) of a recording.
    Flame(verbs::flame::Args),
    /// Parts of a workload switched off one at a time: what each costs.
    Ablate(verbs::ablate::Args),
    /// A metric over a parameter: knees with their interval, the law of growth.
    Sweep(verbs::sweep::Args),
    /// Two profiles of the same work side by side: what gained and what lost.
    Diff(verbs::diff::Args),
    /// Other ways of building and running a program: each proven or refuted.
    Try(verbs::try_variants::Args),
    /// The cases under .genba: list, show, export, import.
    Case(verbs::case::Args),
    /// Shell completions on standard output.
    #[command(hide = true)]
    Completions(verbs::completions_and_man::CompletionsArgs),
    /// Man pages into a directory.
    #[command(hide = true)]
    Man(verbs::completions_and_man::ManArgs),
}
