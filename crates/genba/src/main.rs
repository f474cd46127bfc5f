//! The `genba` command: parses arguments, runs the verb, maps its result to an exit code.
//!
//! **Scope.** `verbs/` has a file for each verb: its arguments, the calls of the libraries that do the work, and
//! where the document goes. Beside it stands what verbs share: arguments, progress, Ctrl-C, output, exit codes.
//!
//! **Not here.** Measuring and deciding; sentences about results (`genba-report`).

mod attach_args;
mod cli;
mod command_args;
mod compare;
mod exit_code;
mod interrupt;
mod json_args;
mod large_allocations;
mod measurement_args;
mod optional_values;
mod other_meanings;
mod output;
mod output_file;
mod progress_line;
mod recording_args;
mod sampling_args;
mod session;
mod snapshot_args;
mod standard_input;
mod unread_input;
mod verbs;

use std::process::ExitCode;

use crate::cli::Verb;
use crate::exit_code::{Exit, VerbResult};
use crate::output::Output;

#[global_allocator]
static ALLOCATOR: large_allocations::LargeAllocations = large_allocations::LargeAllocations;

fn main() -> ExitCode {
    interrupt::survive_file_size_limit();
    genba_code::confine_sources(std::env::var_os("GENBA_SOURCES_WITHIN").map(Into::into));
    let cli = cli::parse(std::env::args_os()).unwrap_or_else(|error| error.exit());
    let output = Output::new(cli.color, cli.quiet);
    let result = dispatch(cli.verb, &output);
    interrupt::wait_if_exiting();
    match result {
        Ok(code) => {
            // A command that failed may have been meant as a value.
            let is_wrong = |word: &str| !other_meanings::may_be_command(word);
            let tip = (code == Exit::TargetFailed).then(|| cli::tip_for(is_wrong));
            if let Some(tip) = tip.flatten() {
                output.note(&format!("note: {tip}"));
            }
            code.into()
        }
        Err(failure) => {
            let tip = cli::tip_for(|word| failure.message.contains(word));
            output.error(&failure, tip);
            match interrupt::is_interrupted() {
                true => Exit::Interrupted.into(),
                false => failure.exit.into(),
            }
        }
    }
}

/// Runs the verb that the command line names.
fn dispatch(verb: Verb, output: &Output) -> VerbResult {
    match verb {
        Verb::Investigate(args) => verbs::investigate::run(args, output),
        Verb::Bench(args) => verbs::bench::run(args, output),
        Verb::Bisect(args) => verbs::bisect::run(args, output),
        Verb::Gate(args) => verbs::gate::run(args, output),
        Verb::Host(args) => verbs::host::run(args, output),
        Verb::Stat(args) => verbs::stat::run(args, output),
        Verb::Count(args) => verbs::count::run(args, output),
        Verb::Grow(args) => verbs::grow::run(args, output),
        Verb::Observe(args) => verbs::observe::run(args, output),
        Verb::Record(args) => verbs::record::run(args, output),
        Verb::Report(args) => verbs::report::run(args, output),
        Verb::Top(args) => verbs::top::run(args, output),
        Verb::Wait(args) => verbs::wait::run(args, output),
        Verb::Annotate(args) => verbs::annotate::run(args, output),
        Verb::Explain(args) => verbs::explain::run(args, output),
        Verb::Prove(args) => verbs::prove::run(args, output),
        Verb::Fix(args) => verbs::fix::run(args, output),
        Verb::Flame(args) => verbs::flame::run(args, output),
        Verb::Export(args) => verbs::export::run(args, output),
        Verb::Ablate(args) => verbs::ablate::run(args, output),
        Verb::Sweep(args) => verbs::sweep::run(args, output),
        Verb::Diff(args) => verbs::diff::run(args, output),
        Verb::Try(args) => verbs::try_variants::run(args, output),
        Verb::Campaign(args) => verbs::campaign::run(args, output),
        Verb::Case(args) => verbs::case::run(args, output),
        Verb::History(args) => verbs::history::run(args, output),
        Verb::Mcp(args) => verbs::mcp::run(&args),
        Verb::Completions(args) => verbs::completions_and_man::completions(&args, output),
        Verb::Man(args) => verbs::completions_and_man::man(&args),
    }
}
