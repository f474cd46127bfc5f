//! `genba gate`: exit with 1 if a variant is slower than the threshold allows.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args as ClapArgs;
use genba_build::CachedCheckout;
use genba_case::{Baseline, Store};
use genba_report::export::{self, GateResult};

use genba_units::{parse_duration, parse_share};

use crate::compare::{self, CompareArgs, Compared};
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::interrupt;
use crate::output::Output;
use crate::output_file::{self, write};

/// Arguments of `genba gate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba gate -n main ./main -n change ./change                 exit 1 if change is slower by 2 %
  genba gate --against origin/main --build 'make -j2' './prog input'
                                                          builds the base from git, measures both
  genba gate --threshold 5% --against 7f3a ./change            against the runs of a case
  genba gate --markdown \"$GITHUB_STEP_SUMMARY\" ./main ./change  in a GitHub workflow
  genba gate --set-baseline release './prog'                   then: --against release

Prints GitHub-flavoured Markdown.
--against latest is the newest comparison that no gate has refused.
Exit codes: 0 no variant was found slower by the threshold; 1 slower; 3 a command failed.")]
pub struct Args {
    /// Refuse a variant whose verdict is `slower` by this much or more. Runs are added until the
    /// interval lies on one side of it, within the budget.
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = parse_share)]
    threshold: f64,

    /// Command that builds a checkout; --against is then a revision of the git repository. Its build
    /// is kept by commit and command. Build the change, which runs here, before.
    #[arg(long, value_name = "COMMAND", requires = "against")]
    build: Option<String>,

    /// End the build of the base after this time.
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, value_parser = parse_duration, requires = "build")]
    build_timeout: Option<Duration>,

    /// Do not count the instructions of base and change as a second opinion.
    #[arg(long, requires = "build")]
    no_count: bool,

    /// Keep this comparison under a name for --against, unless it is refused.
    #[arg(long, value_name = "NAME", conflicts_with = "no_case")]
    set_baseline: Option<String>,

    /// Append the Markdown to this file, and print the terminal table instead.
    #[arg(long, value_name = "FILE", value_parser = output_file::parser())]
    markdown: Option<PathBuf>,

    /// Write JUnit XML to this file.
    #[arg(long, value_name = "FILE", value_parser = output_file::parser())]
    junit: Option<PathBuf>,

    /// Write SARIF to this file: annotations where a refused change executes more instructions.
    #[arg(long, value_name = "FILE", value_parser = output_file::parser())]
    sarif: Option<PathBuf>,

    #[command(flatten)]
    compare: CompareArgs,
}

/// Runs `genba gate`.
pub fn run(mut args: Args, output: &Output) -> VerbResult {
    if let Some(name) = &args.set_baseline {
        check_baseline_name(name)?;
    }
    args.compare.threshold = Some(args.threshold);
    let (base, mut done) = match measure(&mut args, output) {
        Ok(done) => done,
        Err(failure) => {
            if let Err(unwritten) = report_failure(&args, &failure) {
                output.note(&unwritten.message);
            }
            return Err(failure);
        }
    };
    let refused = (done.whole.comparisons.iter())
        .filter(|one| one.metric == done.whole.metric)
        .any(|one| one.is_worse_by(args.threshold));
    let kept = keep(&args, refused, &done)?;
    done.notes.extend(kept);
    let mut counted = None;
    if base.is_some() && !args.no_count && done.exit == Exit::Done {
        match compare::count_both(&args.compare, &interrupt::token()?, output) {
            Ok(found) => {
                let note = genba_report::second_opinion(&found, &done.whole);
                done.whole.notes.push(note.clone());
                done.notes.push(note);
                counted = Some(found);
            }
            Err(failure) => done.notes.push(format!("not counted: {}", failure.message)),
        }
    }
    let result = GateResult {
        report: &done.whole,
        threshold: args.threshold,
        counted: counted.as_ref(),
        interrupted: done.exit == Exit::Interrupted,
    };
    let text = export::github_markdown(&result);
    if let Some(path) = &args.markdown {
        append(path, &text)?;
    }
    if let Some(path) = &args.junit {
        write(path, &export::junit_xml(&result))?;
    }
    if let Some(path) = &args.sarif {
        let root = genba_build::repository_root(&std::env::current_dir().unwrap_or_default());
        let root = root
            .map(|root| root.display().to_string())
            .unwrap_or_default();
        write(path, &export::sarif(&result, &root))?;
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

/// Refuses names that --against reads as something else.
fn check_baseline_name(name: &str) -> Result<(), Failure> {
    let meaning = match name {
        "" => "not a name",
        "latest" => "the newest comparison for --against",
        _ if genba_build::rev_parse(Path::new("."), name).is_ok() => {
            "a revision of git, which --against with --build measures"
        }
        _ => return Ok(()),
    };
    Err(Failure::usage(format!(
        "--set-baseline {name:?}: this is {meaning}; choose another name"
    )))
}

/// Builds the base, if there is one, and measures. The base's checkout must live as long as it is run.
fn measure(
    args: &mut Args,
    output: &Output,
) -> Result<(Option<CachedCheckout>, Compared), Failure> {
    let mut base = None;
    if let Some(build) = &args.build
        && let Some(reference) = args.compare.against.take()
    {
        let (cancel, timeout) = (interrupt::token()?, args.build_timeout);
        let built = compare::add_base(
            &mut args.compare,
            &reference,
            build,
            timeout,
            &cancel,
            output,
        )?;
        base = Some(built);
    }
    Ok((base, compare::run(&args.compare, output)?))
}

/// Writes the reports of a gate that could not measure: what reads them must not take their absence,
/// or those of an earlier run, for a pass.
fn report_failure(args: &Args, failure: &Failure) -> Result<(), Failure> {
    let message = &failure.message;
    if let Some(path) = &args.markdown {
        append(path, &export::github_failure(message))?;
    }
    if let Some(path) = &args.junit {
        write(path, &export::junit_failure(message))?;
    }
    if let Some(path) = &args.sarif {
        let text = export::sarif_failure(message, env!("CARGO_PKG_VERSION"));
        write(path, &text)?;
    }
    Ok(())
}

/// Appends Markdown: a workflow's summary gathers the text of several steps.
fn append(path: &Path, text: &str) -> Result<(), Failure> {
    // Reading from a pipe, as /dev/stdout may be, would wait for ever.
    let before = match path.is_file() {
        true => std::fs::read_to_string(path).unwrap_or_default(),
        false => String::new(),
    };
    write(path, &format!("{before}{text}"))
}

/// Marks a refused case, or gives one that passed its name; what became of the name.
fn keep(args: &Args, refused: bool, done: &Compared) -> Result<Option<String>, Failure> {
    let Some(case) = done.whole.case.as_deref() else {
        return Ok(None);
    };
    let store = Store::open_root();
    if refused {
        store.find_to_write(case)?.mark_refused()?;
    }
    let Some(name) = &args.set_baseline else {
        return Ok(None);
    };
    let why_not = match done.exit {
        _ if refused => "it was refused",
        Exit::Done => "",
        Exit::Interrupted => "it was interrupted",
        _ => "a command failed",
    };
    if !why_not.is_empty() {
        return Ok(Some(format!(
            "case {case} is not kept as {name}: {why_not}"
        )));
    }
    let (revision, _) = compare::revision(None)?;
    let baseline = Baseline {
        case: case.to_owned(),
        commit: revision.map(|one| one.commit).unwrap_or_default(),
    };
    store.set_baseline(name, baseline)?;
    Ok(Some(format!(
        "case {case} is kept as {name}: --against {name}"
    )))
}
