//! The one definition of the command line: completions and man pages are made from it.

use std::any::TypeId;
use std::ffi::OsString;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::optional_values;
use crate::other_meanings::with_tip;
use crate::verbs;

/// Parses a command line. Arguments may have bytes that are not UTF-8 ([`genba_run::text_of`]).
pub fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let mut command = accepting_bytes(Cli::command());
    let mut words: Vec<OsString> = words.into_iter().collect();
    if let Some(verb) = verb_of(&command, &words) {
        words = optional_values::with_store(verb, words);
    }
    let mut matches = command
        .try_get_matches_from_mut(&words)
        .map_err(|error| with_tip(error, verb_of(&command, &words)))?;
    let attached = verb_of(&command, &words)
        .zip(matches.subcommand())
        .and_then(|(verb, (_, given))| optional_values::attached(verb, given, &words));
    if let Some(words) = attached
        && let Ok(better) = command.try_get_matches_from_mut(words)
    {
        matches = better;
    }
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// The verb that a command line names.
fn verb_of<'a>(command: &'a Command, words: &[OsString]) -> Option<&'a Command> {
    let mut names = words.iter().skip(1).filter_map(|word| word.to_str());
    names.find_map(|word| command.find_subcommand(word))
}

/// What to write instead, where a word that is `is_wrong` as what it was taken for stands behind a flag with an optional
/// value.
pub fn tip_for(is_wrong: impl Fn(&str) -> bool) -> Option<String> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let text: Vec<String> = words.iter().map(|word| genba_run::text_of(word)).collect();
    optional_values::tip(verb_of(&Cli::command(), &words)?, &text, is_wrong)
}

/// Lets all arguments that are text have any bytes.
fn accepting_bytes(command: Command) -> Command {
    let text = TypeId::of::<String>();
    command
        .mut_args(|arg| match arg.get_value_parser().type_id() == text {
            true => {
                let parser = OsStringValueParser::new().map(|word| genba_run::text_of(&word));
                arg.value_parser(parser)
            }
            false => arg,
        })
        .mut_subcommands(accepting_bytes)
}

/// Finds where a program's time goes, on the machine it runs on.
#[derive(Debug, Parser)]
#[command(
    name = "genba",
    version,
    about = "A performance-investigation workbench for native programs and language runtimes",
    after_help = "Examples:
  genba investigate -- ./prog args      measure, profile, count, explain; writes a case and a page
  genba record -g -- ./prog args        sample only; then: genba report, genba annotate FUNCTION
  genba bench './old' './new'           which is faster, and by how much
  genba wait -- ./prog args             what it waits for when it is not on a CPU
  genba stat -- ./prog args             hardware and software counters, as perf stat -d

Exit codes: 0 success; 1 a gate refused; 2 usage error; 3 the target failed; 4 not supported on
this machine; 130 interrupted.",
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

    /// Print no progress and no notes; only the result and errors.
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
    /// Measure, profile, count and explain a command; writes a case and a page.
    Investigate(verbs::investigate::Args),
    /// Compare commands by interleaved, paired runs until the difference is decided.
    Bench(verbs::bench::Args),
    /// Find the culprit: a parameter value, a commit, elements of a set, regions of a source file.
    Bisect(verbs::bisect::Args),
    /// Compare as bench does, and exit with 1 if a variant is slower: for CI.
    Gate(verbs::gate::Args),
    /// Show what this machine can measure, and what its instructions cost.
    Host(verbs::host::Args),
    /// Count hardware and software events of a command, as `perf stat -d`.
    Stat(verbs::stat::Args),
    /// Count executions exactly: calls and instructions of functions, callers and callees.
    Count(verbs::count::Args),
    /// Show what a function or line did: values, data, cache levels, branch outcomes, repeated work.
    Observe(verbs::observe::Args),
    /// Sample a command or a process into a perf.data file.
    Record(verbs::record::Args),
    /// Show where the samples of a recording are: functions, lines, modules, threads.
    Report(verbs::report::Args),
    /// Show functions by self time over the last seconds, live; Enter annotates.
    Top(verbs::top::Args),
    /// Show what the wall clock waits for: locks, threads, children, files, CPUs; with causes and gains.
    Wait(verbs::wait::Args),
    /// Show source and assembly of one function with the share of each instruction.
    Annotate(verbs::annotate::Args),
    /// Explain the time: causes with evidence, fix and predicted gain.
    Explain(verbs::explain::Args),
    /// Apply the fix of a finding to the running program and measure what it gains.
    Prove(verbs::prove::Args),
    /// Write a source patch for a finding, where a mechanical one exists; tried and measured in a copy.
    Fix(verbs::fix::Args),
    /// Write a flame graph (interactive SVG) of a recording.
    Flame(verbs::flame::Args),
    /// Write a profile or comparison for another tool: Firefox Profiler, speedscope, pprof, Perfetto …
    Export(verbs::export::Args),
    /// Measure what each component costs by switching components off one at a time.
    Ablate(verbs::ablate::Args),
    /// Measure a metric over a parameter: change points with intervals, scaling law.
    Sweep(verbs::sweep::Args),
    /// Count at several sizes of the input: how each function's executions grow with it.
    Grow(verbs::grow::Args),
    /// Compare two profiles of the same work: which functions and lines gained or lost.
    Diff(verbs::diff::Args),
    /// Try other builds, allocators and settings of a program, each compared with the baseline.
    Try(verbs::try_variants::Args),
    /// Measure revisions × builds × options × hosts in blocks, here or by Slurm; a verdict for each host.
    Campaign(verbs::campaign::Args),
    /// List, show, export, import, resume and repeat the cases under .genba.
    Case(verbs::case::Args),
    /// Keep results over commits and hosts: record, show change points, compare, import.
    History(verbs::history::Args),
    /// Serve these measurements as tools of a coding agent (Model Context Protocol).
    Mcp(verbs::mcp::Args),
    /// Print the completion script of a shell.
    Completions(verbs::completions_and_man::CompletionsArgs),
    /// Write man pages into a directory.
    Man(verbs::completions_and_man::ManArgs),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use clap::CommandFactory;
    use clap::error::ErrorKind;

    /// Help is wrapped at 100 columns: a longer line of its closing words would leave single words behind.
    #[test]
    fn closing_words_of_help_fit_its_width() {
        let mut all = vec![Cli::command()];
        while let Some(one) = all.pop() {
            let closing = one.get_after_help().map(ToString::to_string);
            for line in closing.unwrap_or_default().lines() {
                let example = line.starts_with("  ");
                assert!(
                    example || line.chars().count() <= 98,
                    "{}: {line}",
                    one.get_name()
                );
            }
            all.extend(one.get_subcommands().cloned());
        }
    }

    /// The command line at the beginning of a text: without prompt, comment, and what the shell does with it.
    fn command_line(text: &str) -> Option<String> {
        let line = text.trim().trim_start_matches("$ ");
        let verb = line.strip_prefix("genba ")?;
        if !verb.starts_with(|c: char| c.is_ascii_lowercase()) {
            return None;
        }
        let ends = ["   ", " # ", " | ", "; ", " && ", " >", " &"];
        let end = ends.iter().filter_map(|end| line.find(end)).min();
        Some(line[..end.unwrap_or(line.len())].replace(['[', ']'], ""))
    }

    /// The command lines of genba in a text of Markdown: in its blocks of code, and in backquotes.
    fn command_lines(text: &str) -> Vec<String> {
        let (mut found, mut fenced) = (Vec::new(), false);
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            } else if fenced || line.starts_with("    ") {
                found.extend(command_line(line));
            } else {
                found.extend(line.split('`').skip(1).step_by(2).filter_map(command_line));
            }
        }
        found
    }

    /// Why a command line does not parse; `None` where it only leaves something out, or has a placeholder for a value.
    fn mistake(line: &str) -> Option<String> {
        let words = shlex::split(line)?;
        let error = parse(words.iter().map(Into::into)).err()?;
        let message = error.to_string();
        let is_placeholder = |word: &String| {
            word == "…" || word.contains('|') || word.chars().all(|c| c.is_ascii_uppercase())
        };
        let leaves_out = match error.kind() {
            ErrorKind::MissingRequiredArgument
            | ErrorKind::MissingSubcommand
            | ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => true,
            ErrorKind::ValueValidation | ErrorKind::InvalidValue => {
                message.contains("none was supplied") || words.iter().any(is_placeholder)
            }
            _ => false,
        };
        (!leaves_out).then(|| format!("{line}: {message}"))
    }

    #[test]
    fn command_lines_of_the_documents_parse() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let docs = std::fs::read_dir(root.join("docs")).expect("a folder");
        let docs = docs.map(|entry| entry.expect("an entry").path());
        let texts = docs.filter(|path| path.extension().is_some_and(|end| end == "md"));
        let (mut lines, mut mistakes) = (0, Vec::new());
        for path in texts.chain([root.join("README.md")]) {
            let text = std::fs::read_to_string(&path).expect("a text");
            for line in command_lines(&text) {
                lines += 1;
                mistakes.extend(mistake(&line).map(|error| format!("{}: {error}", path.display())));
            }
        }
        assert!(lines > 200, "only {lines} command lines were found");
        assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    }

    #[test]
    fn examples_of_the_help_parse() {
        let mut all = vec![Cli::command()];
        let (mut lines, mut mistakes) = (0, Vec::new());
        while let Some(one) = all.pop() {
            let closing = one.get_after_help().map(ToString::to_string);
            for line in closing.unwrap_or_default().lines().filter_map(command_line) {
                lines += 1;
                mistakes.extend(mistake(&line));
            }
            all.extend(one.get_subcommands().cloned());
        }
        assert!(lines > 80, "only {lines} examples were found");
        assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    }
}
