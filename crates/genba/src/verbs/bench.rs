//! `genba bench`: compare commands.

use clap::Args as ClapArgs;
use genba_report::terminal;

use crate::compare::{self, CompareArgs, Compared, FindingCheck};
use crate::exit_code::VerbResult;
use crate::output::Output;

/// Arguments of `genba bench`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba bench './old input' './new input'            until the verdict is decided, at most 20 s
  genba bench -n old ./old -n new ./new --metric user --delta 0.5%
  genba bench -L level 1,6,9 'gzip -k -{level} -c file'
  genba bench -N -r 30 true                          one command, 30 runs, no shell
  genba bench --metric rate --metric-regex 'rate:op/s=(\\d+) op/s' './server-a' './server-b'
  genba bench --budget 2min suite.toml               a suite; also benchmark_driver's YAML
  genba bench --reference ./old ./new ./newer        hyperfine's flags: docs/bench.md has them all

Runs are interleaved in random order and compared in pairs by a sequential test. Every {NAME} of
-L and -P is replaced in commands, names, --prepare and other steps, --env, --input and
--directory.")]
pub struct Args {
    #[command(flatten)]
    compare: CompareArgs,

    /// Compare the original program with one fixed according to a finding of this case (number,
    /// default 1), and store the measured gain for `genba explain --calibration`.
    #[arg(long, value_name = "CASE[:FINDING]")]
    proves: Option<String>,
}

/// Runs `genba bench`.
pub fn run(args: Args, output: &Output) -> VerbResult {
    let check = args.proves.as_deref().map(FindingCheck::find).transpose()?;
    let output = &args.compare.styled(output);
    let mut done = compare::run(&args.compare, output)?;
    if let Some(check) = check {
        done.notes.push(check.store(&done.whole)?);
    }
    if args.compare.json.wanted() {
        for note in &done.notes {
            output.note(note);
        }
        let exit = done.exit;
        output.json(&args.compare.json, "comparison", done.whole)?;
        return Ok(exit);
    }
    if !args.compare.is_silent() {
        output.result(&text(&done, output))?;
    }
    Ok(done.exit)
}

/// The reports as text, with notes and the path of the page.
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
