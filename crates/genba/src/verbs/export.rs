//! `genba export`: profiles and comparisons in the formats of other tools.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};
use genba_model::{CaseKind, ComparisonReport, SampledDetail};
use genba_report::export::samples::{self, ExportError, SamplesFormat};
use genba_report::export::{self, bigger_is_better};
use genba_report::wall_flame_graph::Shown;

use crate::exit_code::{Exit, Failure, VerbResult};
use crate::output::Output;
use crate::recording_args::RecordingArgs;
use crate::standard_input;

/// A format of another tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Firefox Profiler (profiler.firefox.com, samply): threads, categories, lines, inlined frames.
    Firefox,
    /// speedscope's JSON.
    Speedscope,
    /// pprof, for `go tool pprof` and what is built on it.
    Pprof,
    /// callgrind's format, for callgrind_annotate and KCachegrind.
    Callgrind,
    /// Collapsed stacks, for flame graph tools.
    Collapsed,
    /// Chrome's trace events, for Perfetto: a timeline.
    ChromeTrace,
    /// The text of `perf script`.
    PerfScript,
    /// hyperfine's JSON, of a case of bench or gate.
    Hyperfine,
    /// github-action-benchmark's JSON, of a case of bench or gate.
    GithubActionBenchmark,
    /// Bencher's metric format (BMF), of a case of bench or gate.
    Bencher,
}

impl Format {
    /// The format of samples, if it is one.
    fn of_samples(self) -> Option<SamplesFormat> {
        Some(match self {
            Self::Firefox => SamplesFormat::Firefox,
            Self::Speedscope => SamplesFormat::Speedscope,
            Self::Pprof => SamplesFormat::Pprof,
            Self::Callgrind => SamplesFormat::Callgrind,
            Self::Collapsed => SamplesFormat::Collapsed,
            Self::ChromeTrace => SamplesFormat::ChromeTrace,
            Self::PerfScript => SamplesFormat::PerfScript,
            Self::Hyperfine | Self::GithubActionBenchmark | Self::Bencher => return None,
        })
    }
}

/// Arguments of `genba export`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba record -g -- ./prog && genba export --format firefox -o profile.json
                                       then load profile.json at profiler.firefox.com
  genba export --format pprof -o cpu.pb -i latest && go tool pprof -top cpu.pb
  genba export --format speedscope -o prog.speedscope.json prog.data
  genba export --format callgrind -o callgrind.out && callgrind_annotate callgrind.out
  genba export --format chrome-trace -o trace.json          open it at ui.perfetto.dev
  genba wait -- ./prog && genba export --format firefox -i latest -o waits.json
                                       threads on CPUs and off, with what they waited for
  genba export --format bencher -i latest | bencher run --adapter json

Weights are written as they were sampled: totals are those of genba report. Lines are those of the
sampled addresses, without skid correction.")]
pub struct Args {
    /// Recording to read, as with --input.
    #[arg(value_name = "FILE|CASE", value_parser = standard_input::parser())]
    from: Option<PathBuf>,

    /// Format to write.
    #[arg(long, short, value_enum)]
    format: Format,

    #[command(flatten)]
    recording: RecordingArgs,

    /// File to write; `-` is standard output.
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,

    /// Write the wall time of all threads, on CPUs and off, of a case of `genba wait` or `genba
    /// investigate`; always of a case of `genba wait`.
    #[arg(long)]
    wall: bool,

    /// Write only time off a CPU, of a case of `genba wait` or `genba investigate`.
    #[arg(long, conflicts_with = "wall")]
    off_cpu: bool,
}

/// Runs `genba export`.
pub fn run(mut args: Args, output: &Output) -> VerbResult {
    args.recording.or_input(args.from.take())?;
    let Some(format) = args.format.of_samples() else {
        let report = comparison(&args)?;
        let text = match args.format {
            Format::Bencher => export::bencher_json(&report),
            Format::GithubActionBenchmark => {
                if bigger_is_better(&report) {
                    output.note("note: more is better: use the tool customBiggerIsBetter");
                }
                export::github_action_benchmark(&report)
            }
            _ => export::hyperfine_json(&report),
        };
        return write(
            &args,
            output,
            &mut |out| Ok(out.write_all(text.as_bytes())?),
        );
    };
    if format == SamplesFormat::Pprof && is_standard_output(&args) && io::stdout().is_terminal() {
        return Err(Failure::usage(
            "pprof's format is binary, and standard output is a terminal: give a file with -o",
        ));
    }
    if let Some(raw) = args.recording.exact_counts()? {
        let detail = genba_attribution::counted_detail(&raw);
        let bytes = match format {
            SamplesFormat::Pprof => export::pprof(&detail),
            SamplesFormat::Callgrind => export::callgrind(&detail).into_bytes(),
            _ => {
                return Err(Failure::usage(
                    "exact counts have no stacks; export them as pprof or callgrind",
                ));
            }
        };
        return write(&args, output, &mut |out| Ok(out.write_all(&bytes)?));
    }
    let detail = detail(&args, format, output)?;
    samples::check(format, &detail).map_err(Failure::usage)?;
    write(&args, output, &mut |out| {
        samples::write_samples(format, &detail, out)
    })
}

/// What is to be exported: the wall time of a case, its stored stacks, or a recording.
fn detail(args: &Args, format: SamplesFormat, output: &Output) -> Result<SampledDetail, Failure> {
    let shown = match args.off_cpu {
        true => Shown::OffCpu,
        false => Shown::All,
    };
    if args.wall || args.off_cpu {
        return Ok(samples::wall_time_detail(&args.recording.waits()?, shown));
    }
    let Some(case) = args.recording.case() else {
        return args.recording.sampled_detail();
    };
    if case.kind()? == CaseKind::Waits {
        return Ok(samples::wall_time_detail(&args.recording.waits()?, shown));
    }
    if case.waits()?.is_some() {
        output.note(
            "note: these are the samples on CPUs; --wall writes what threads waited for, too",
        );
    }
    let recorded = args.recording.sampled_detail()?;
    let timeline = matches!(
        format,
        SamplesFormat::ChromeTrace | SamplesFormat::PerfScript
    );
    match case.profile()? {
        Some(stored) if !recorded.has_callers && !stored.collapsed.is_empty() && !timeline => {
            output.note(&format!(
                "note: stacks are from runs of their own, as the case stores them, without times, \
                 threads and lines\n  for those, without stacks: -i {}",
                case.recording_path().display()
            ));
            Ok(samples::stacks_of_stored_profile(&stored))
        }
        _ => Ok(recorded),
    }
}

/// The comparison of the case.
fn comparison(args: &Args) -> Result<ComparisonReport, Failure> {
    let make = "make one with: genba bench COMMAND COMMAND";
    let case = args.recording.comparison().map_err(|error| {
        Failure::usage(format!(
            "this format is of a comparison: {error}\n  {make}, then: -i latest"
        ))
    })?;
    let found = case.comparison()?;
    found.ok_or_else(|| {
        Failure::usage(format!(
            "case {} has no comparison, which this format is of\n  {make}, then: -i latest",
            case.id()
        ))
    })
}

fn is_standard_output(args: &Args) -> bool {
    args.output.as_os_str() == "-"
}

/// Writes to the file or standard output.
fn write(
    args: &Args,
    output: &Output,
    body: &mut dyn FnMut(&mut dyn Write) -> Result<(), ExportError>,
) -> VerbResult {
    let finish = |result: Result<(), ExportError>, name: &dyn std::fmt::Display| match result {
        // A closed pipe (`| head`) is not an error.
        Err(ExportError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(ExportError::Write(error)) => {
            Err(Failure::usage(format!("cannot write {name}: {error}")))
        }
        Err(other) => Err(Failure::usage(other)),
        Ok(()) => Ok(()),
    };
    if is_standard_output(args) {
        let mut out = BufWriter::new(io::stdout().lock());
        let result = body(&mut out).and_then(|()| Ok(out.flush()?));
        finish(result, &"to standard output")?;
        return Ok(Exit::Done);
    }
    if args.recording.is_input(&args.output) {
        return Err(Failure::usage(format!(
            "{} is the recording that is read; write to another file",
            args.output.display()
        )));
    }
    let result = create(&args.output).and_then(|mut out| {
        body(&mut out)?;
        Ok(out.flush()?)
    });
    finish(result, &args.output.display())?;
    output.note(&format!("wrote {}", args.output.display()));
    Ok(Exit::Done)
}

fn create(path: &Path) -> Result<BufWriter<File>, ExportError> {
    Ok(BufWriter::new(File::create(path)?))
}
