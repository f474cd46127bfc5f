//! `genba bench`: compare commands.

use clap::Args as ClapArgs;
use genba_case::Store;
use genba_investigate::FindingCheck;
use genba_report::terminal;

use crate::compare::{self, CompareArgs, Compared};
use crate::exit_code::{Failure, VerbResult};
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
    let check = args.proves.as_deref().map(finding_check).transpose()?;
    let output = &args.compare.styled(output);
    let mut done = compare::run(&args.compare, output)?;
    if let Some(check) = check {
        let trial = check.store(&done.whole)?;
        done.notes
            .push(genba_report::checked_prediction(trial.as_ref()));
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

/// The finding of `CASE` or `CASE:NUMBER`.
fn finding_check(text: &str) -> Result<FindingCheck, Failure> {
    let (case, number) = match text.split_once(':') {
        Some((case, number)) => (case, number.parse().ok()),
        None => (text, Some(1)),
    };
    let Some(number @ 1..) = number else {
        return Err(Failure::usage(format!(
            "--proves {text}: write CASE or CASE:NUMBER, as in 7f3a:2"
        )));
    };
    Ok(FindingCheck::find(&Store::open_root(), case, number)?)
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
