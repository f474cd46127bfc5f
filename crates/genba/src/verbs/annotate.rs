//! `genba annotate`: one function of a recording, source and assembly together.

use clap::{Args as ClapArgs, ValueEnum};
use genba_attribution::{AnnotateOptions, AttributionError};
use genba_code::{SourceCache, Syntax};
use genba_model::Annotation;
use genba_report::terminal;

use crate::exit_code::{Exit, Failure, VerbResult};
use crate::output::Output;
use crate::recording_args::{RecordingArgs, failure};

/// How instructions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SyntaxArg {
    /// Destination first.
    Intel,
    /// As the GNU tools do by default.
    Att,
}

/// Arguments of `genba annotate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba annotate qsort_r                 of ./perf.data
  genba annotate -i latest main          of the newest case here
  genba annotate --raw --syntax att f    as `perf annotate` shows it
  genba annotate 0x12d0                  the function at an address, where there is no name")]
pub struct Args {
    #[command(flatten)]
    recording: RecordingArgs,

    /// Leave the samples where the machine put them: the skid is not put right.
    #[arg(long)]
    raw: bool,

    /// How instructions are written.
    #[arg(long, value_enum, default_value_t = SyntaxArg::Intel)]
    syntax: SyntaxArg,

    /// Show the whole function, the parts without samples too.
    #[arg(long)]
    all: bool,

    /// Where sources are that have moved since the build.
    #[arg(long, value_name = "OLD=NEW")]
    source_prefix: Vec<String>,

    /// Print one JSON document.
    #[arg(long)]
    json: bool,

    /// The function: its name, its name in the symbol table, or an address in it.
    function: String,
}

/// Functions of more instructions than this are folded where they are cold.
const FOLD_ABOVE: usize = 60;

/// What is cold: less than this share of the function's samples.
const COLD: f64 = 0.005;

/// Runs it.
pub fn run(args: Args, output: &Output) -> VerbResult {
    let mut sources = args.recording.sources();
    for prefix in &args.source_prefix {
        let Some((old, new)) = prefix.split_once('=') else {
            return Err(Failure::usage(format!(
                "--source-prefix {prefix}: write OLD=NEW, the path at build time and the path here"
            )));
        };
        sources = sources.with_prefix(old, new);
    }
    let options = AnnotateOptions {
        raw: args.raw,
        syntax: match args.syntax {
            SyntaxArg::Intel => Syntax::Intel,
            SyntaxArg::Att => Syntax::Att,
        },
    };
    let annotation = match kept(&args) {
        Some(annotation) => annotation,
        None => from_recording(&args, &options, &mut sources)?,
    };
    if args.json {
        output.json("annotation", annotation)?;
        return Ok(Exit::Done);
    }
    let folds = !args.all && annotation.instructions.len() > FOLD_ABOVE;
    let options = terminal::AnnotateOptions {
        hide_below: folds.then_some(COLD),
        ..Default::default()
    };
    output.answer(&terminal::annotation(&annotation, options, output.screen()))?;
    Ok(Exit::Done)
}

/// The annotation that the case keeps, if it is of this function and as asked for.
fn kept(args: &Args) -> Option<Annotation> {
    if args.raw || args.syntax != SyntaxArg::Intel {
        return None;
    }
    let all = args.recording.case()?.investigation().ok()?;
    all.annotations
        .into_iter()
        .find(|annotation| annotation.function == args.function)
}

/// The annotation made of the recording and the binaries.
fn from_recording(
    args: &Args,
    options: &AnnotateOptions,
    sources: &mut SourceCache,
) -> Result<Annotation, Failure> {
    let whole = |kernel_names: bool, sources: &mut SourceCache| {
        let resolved = args.recording.open(false, kernel_names)?;
        Ok::<_, Failure>(resolved.annotate(&args.function, options, sources))
    };
    let annotation = match args.recording.open_for(&args.function)? {
        Some(resolved) => {
            let annotation = resolved.annotate(&args.function, options, sources);
            // This process ends soon: setting free what the resolved holds would only take time.
            std::mem::forget(resolved);
            annotation
        }
        None => whole(false, sources)?,
    };
    let annotation = match annotation {
        // It may be a function of the kernel: then the reason why it has no code is told.
        Err(AttributionError::NoSuchFunction { .. }) => whole(true, sources)?,
        other => other,
    };
    annotation.map_err(|error| failure(&error))
}
