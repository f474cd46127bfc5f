//! `genba bench`: commands against one another.

use clap::Args as ClapArgs;
use genba_report::terminal;

use crate::compare::{self, CompareArgs, Compared, FindingCheck};
use crate::exit_code::VerbResult;
use crate::output::Output;

/// Arguments of `genba bench`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba bench './old input' './new input'            until the difference is known, at most 20 s
  genba bench -n old ./old -n new ./new --metric user --delta 0.5%
  genba bench -L level 1,6,9 'gzip -k -{level} -c file'
  genba bench -N -r 30 true                          one command, 30 runs, no shell
  genba bench --metric rate --metric-regex 'rate:op/s=(\\d+) op/s' './server-a' './server-b'
  genba bench suite.toml                             a suite; also benchmark_driver's YAML

Runs are interleaved in random order, compared pair by pair, and judged as they come in.
Every {NAME} of -L and -P is replaced in commands, names, steps, --env, --input, --directory.")]
pub struct Args {
    #[command(flatten)]
    compare: CompareArgs,

    /// This compares the program as it was with one mended after a finding of this case (its
    /// number, 1 unless given): kept beside it, for `genba explain --calibration`.
    #[arg(long, value_name = "CASE[:FINDING]")]
    proves: Option<String>,
}

/// Runs it.
pub fn run(args: Args, output: &Output) -> VerbResult {
    let check = args.proves.as_deref().map(FindingCheck::find).transpose()?;
    let mut done = compare::run(&args.compare, output)?;
    if let Some(check) = check {
        done.notes.push(check.keep(&done.whole)?);
    }
    if args.compare.json {
        for note in &done.notes {
            output.note(note);
        }
        let exit = done.exit;
        output.json("comparison", done.whole)?;
        return Ok(exit);
    }
    output.answer(&text(&done, output))?;
    Ok(done.exit)
}

/// The reports in words, with what belongs beside them.
pub fn text(done: &Compared, output: &Output) -> String {
    let screen = output.screen();
    let mut text = String::new();
    for (index, (title, report)) in done.reports.iter().enumerate() {
        if index > 0 {
            text.push('\n');
        }
        if let Some(title) = title {
            text.push_str(&genba_report::sanitise(title));
            text.push('\n');
        }
        text.push_str(&terminal::comparison(report, screen));
    }
    for note in &done.notes {
        text.push_str(&terminal::note(note, screen));
    }
    if let Some(page) = &done.page {
        text.push_str(&format!("\nPAGE  {}\n", genba_report::sanitise(page)));
    }
    text
}
