//! `genba annotate`: source and assembly of one function of a recording.

use clap::{Args as ClapArgs, ValueEnum};
use genba_attribution::{AnnotateOptions, AttributionError, ResolvedProfile};
use genba_case::Case;
use genba_code::{SourceCache, Syntax};
use genba_model::{Annotation, Finding, best_fits};
use genba_report::terminal;
use genba_units::format;

use crate::exit_code::{Exit, Failure, VerbResult};
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::recording_args::RecordingArgs;

/// Syntax of assembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SyntaxArg {
    /// Intel syntax: destination first.
    Intel,
    /// AT&T syntax, the default of GNU tools.
    Att,
}

/// Arguments of `genba annotate`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba annotate qsort_r                 a function of ./perf.data
  genba annotate -i latest main          a function of the newest case
  genba annotate --raw --syntax att f    as `perf annotate` shows it
  genba annotate 0x12d0                  the function at an address, where it has no name")]
pub struct Args {
    #[command(flatten)]
    recording: RecordingArgs,

    /// Show samples where the hardware put them, without skid correction.
    #[arg(long)]
    raw: bool,

    /// Syntax of assembly.
    #[arg(long, value_enum, default_value_t = SyntaxArg::Intel)]
    syntax: SyntaxArg,

    /// Show the whole function, including code without samples.
    #[arg(long)]
    all: bool,

    /// Source directory at build time and its directory now.
    #[arg(long, value_name = "OLD=NEW")]
    source_prefix: Vec<String>,

    #[command(flatten)]
    json: JsonArgs,

    /// Function: its name or the end of it (`Basket::has`), its linkage name, an address in it, a source line (`file.c:12`),
    /// or the number of a finding of the case.
    function: String,
}

/// Runs `genba annotate`.
pub fn run(mut args: Args, output: &Output) -> VerbResult {
    if let Some(function) = function_of_finding(&args)? {
        args.function = function;
    }
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
        loop_verdict: genba_report::loop_verdict,
    };
    let stored = stored(&args);
    let annotation = match stored_as(&stored, &args.function) {
        Some(annotation) => annotation,
        None => from_recording(&args, &options, &mut sources)
            .or_else(|failure| stored_like(&stored, &args.function).ok_or(failure))?,
    };
    if args.json.wanted() {
        output.json(&args.json, "annotation", annotation)?;
        return Ok(Exit::Done);
    }
    let options = match args.all {
        true => terminal::AnnotateOptions::default(),
        false => terminal::AnnotateOptions::folding(&annotation),
    };
    output.result(&terminal::annotation(&annotation, options, output.screen()))?;
    Ok(Exit::Done)
}

/// A case whose functions are annotated one after the other: its recording is read once.
pub struct AnnotatedCase {
    id: String,
    stored: Vec<Annotation>,
    recording: RecordingArgs,
    resolved: Option<ResolvedProfile>,
}

impl AnnotatedCase {
    /// Reads what the case stores; the recording is read when it is needed.
    pub fn open(case: &Case) -> Result<Self, Failure> {
        let stored: Option<Vec<Annotation>> = case.get_document("annotations")?;
        Ok(Self {
            id: case.id().to_owned(),
            stored: stored.unwrap_or_default(),
            recording: RecordingArgs::of(case.id().into(), None),
            resolved: None,
        })
    }

    /// The id of the case.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The annotation of a function: the stored one, else one of the recording.
    pub fn annotation(&mut self, function: &str) -> Result<Annotation, Failure> {
        if let Some(found) = stored_as(&self.stored, function) {
            return Ok(found);
        }
        let resolved = match self.resolved.take() {
            Some(resolved) => resolved,
            None => self.recording.open_for_code(false)?,
        };
        let resolved = self.resolved.insert(resolved);
        let options = AnnotateOptions::new(genba_report::loop_verdict);
        let annotation = resolved.annotate(function, &options, &mut self.recording.sources());
        annotation.or_else(|error| stored_like(&self.stored, function).ok_or_else(|| error.into()))
    }
}

/// The function of a finding of the case, where the argument is a finding's number.
fn function_of_finding(args: &Args) -> Result<Option<String>, Failure> {
    let (Ok(number), Some(case)) = (args.function.parse::<usize>(), args.recording.case()) else {
        return Ok(None);
    };
    let findings: Vec<Finding> = case.get_document("findings")?.unwrap_or_default();
    let finding = number.checked_sub(1).and_then(|at| findings.get(at));
    match finding {
        Some(finding) => Ok(Some(finding.site.code().function.clone())),
        None => Err(Failure::usage(format!(
            "case {} has no finding {number}: {} in it\n  to list its functions: genba report -i {}",
            case.id(),
            format::plural(findings.len() as u64, "finding"),
            case.id()
        ))),
    }
}

/// The annotations stored in the case, if it has some with these options.
fn stored(args: &Args) -> Vec<Annotation> {
    if args.raw || args.syntax != SyntaxArg::Intel {
        return Vec::new();
    }
    let all = (args.recording.case()).and_then(|case| case.investigation().ok());
    all.map(|one| one.annotations).unwrap_or_default()
}

/// The stored annotation of the function that has this name.
fn stored_as(stored: &[Annotation], name: &str) -> Option<Annotation> {
    stored.iter().find(|one| one.function == name).cloned()
}

/// The stored annotation of the function that the name means, for when the program is not there any more as it was
/// recorded: of several the one with most time.
fn stored_like(stored: &[Annotation], name: &str) -> Option<Annotation> {
    let fits = best_fits(stored.iter().map(|one| one.function.as_str()), name);
    fits.first().map(|at| stored[*at].clone())
}

/// The annotation, made from the recording and the binaries.
fn from_recording(
    args: &Args,
    options: &AnnotateOptions,
    sources: &mut SourceCache,
) -> Result<Annotation, Failure> {
    let whole = |kernel_names: bool, sources: &mut SourceCache| {
        let resolved = args.recording.open_for_code(kernel_names)?;
        Ok::<_, Failure>(resolved.annotate(&args.function, options, sources))
    };
    let focused = match args.recording.open_addresses(false)? {
        Some(resolved) => Some(resolved),
        None => args.recording.open_for(&args.function)?,
    };
    let annotation = match focused {
        Some(resolved) => {
            let annotation = resolved.annotate(&args.function, options, sources);
            // This process ends soon: freeing the profile would only take time.
            std::mem::forget(resolved);
            annotation
        }
        None => whole(false, sources)?,
    };
    let annotation = match annotation {
        // It may be a kernel function: then the error says why it has no code.
        Err(AttributionError::NoSuchFunction { .. }) => whole(true, sources)?,
        other => other,
    };
    annotation.map_err(Failure::from)
}
