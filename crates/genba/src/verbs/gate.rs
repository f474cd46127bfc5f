//! `genba gate`: exit with 1 if a variant is slower than the threshold allows.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use genba_report::export;

use genba_units::parse_share;

use crate::compare::{self, CompareArgs, write};
use crate::exit_code::{Exit, VerbResult};
use crate::output::Output;

/// Arguments of `genba gate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba gate -n main ./main -n change ./change                 exit 1 if change is slower by 2 %
  genba gate --threshold 5% --against 7f3a ./change            against the runs of a case
  genba gate --markdown \"$GITHUB_STEP_SUMMARY\" ./main ./change  in a GitHub workflow

Prints GitHub-flavoured Markdown.
Exit codes: 0 no variant was found slower by the threshold; 1 slower; 3 a command failed.")]
pub struct Args {
    /// Refuse a variant whose verdict is `slower` by this much or more.
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = parse_share)]
    threshold: f64,

    /// Append the Markdown to this file, and print the terminal table instead.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,

    #[command(flatten)]
    compare: CompareArgs,
}

/// Runs `genba gate`.
pub fn run(args: Args, output: &Output) -> VerbResult {
    let done = compare::run(&args.compare, output)?;
    let refused = (done.whole.comparisons.iter())
        .filter(|one| one.metric == done.whole.metric)
        .any(|one| one.is_worse_by(args.threshold));
    let text = export::github_markdown(&done.whole, args.threshold);
    if let Some(path) = &args.markdown {
        // A workflow's summary gathers the text of several steps.
        let before = std::fs::read_to_string(path).unwrap_or_default();
        write(path, &format!("{before}{text}"))?;
    }
    let exit = match done.exit {
        Exit::Interrupted => Exit::Interrupted,
        _ if refused => Exit::Refused,
        exit => exit,
    };
    for note in &done.notes {
        output.note(note);
    }
    if args.compare.json.wanted() {
        output.json(&args.compare.json, "comparison", done.whole)?;
    } else if args.markdown.is_some() {
        output.result(&super::bench::text(&done, output))?;
    } else {
        output.result(&text)?;
    }
    Ok(exit)
}
