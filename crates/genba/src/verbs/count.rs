//! `genba count`: exact execution counts.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::{Args as ClapArgs, ValueEnum};
use genba_attribution::PerUnit;
use genba_count::Transfers;
use genba_investigate::execution_counts::{self, CountPlan};
use genba_investigate::observations::observations;
use genba_investigate::observed_place;
use genba_model::{Counts, RawCounts};
use genba_report::{csv, export, terminal};
use genba_run::{Launcher, Stdin};

use crate::command_args::CommandArgs;
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::interrupt;
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::progress_line::ProgressLine;
use crate::unread_input;

/// Sort order of functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Sort {
    /// Instructions executed.
    Instructions,
    /// Calls.
    Calls,
}

/// Arguments of `genba count`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba count -- ./prog args                  functions by instructions and calls
  genba count --per 1000000 -- ./load db      calls per record, of a million records
  genba count --per tcbdbput -- ./load db     calls per call of tcbdbput
  genba count --calls memcmp -- ./prog        who calls memcmp, and how often
  genba count -o counts.json -- ./prog        then: genba annotate --counts counts.json FUNCTION
  genba count --export-callgrind out -- ./prog; callgrind_annotate out")]
pub struct Args {
    /// Count engine: `genba` or `callgrind` [default: the first that supports the command].
    #[arg(long, value_name = "NAME")]
    engine: Option<String>,

    /// Divide counts by this number of units, or by the calls of this function.
    #[arg(long, value_name = "N|FUNCTION", value_parser = per_unit)]
    per: Option<PerUnit>,

    /// Show callers and callees of this function instead.
    #[arg(long, value_name = "FUNCTION")]
    calls: Option<String>,

    /// Record jumps and calls as well: totals, callers and callees, taken counts of branches. This
    /// may double the overhead; implied by --calls, -o and the exports.
    #[arg(long)]
    transfers: bool,

    /// Do not record jumps and calls, even if another option implies it.
    #[arg(long, conflicts_with = "transfers")]
    no_transfers: bool,

    /// Sort functions by this.
    #[arg(long, value_enum, default_value_t = Sort::Instructions)]
    sort: Sort,

    /// Maximum number of rows; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 30)]
    limit: usize,

    /// Count child processes as well; always on for a shell's command line.
    #[arg(long)]
    children: bool,

    /// Run the command only under the engine; the slowdown is then unknown.
    #[arg(long)]
    once: bool,

    /// Watch the run in bursts as well, and show where they saw mispredictions, cache misses and
    /// repeated work; `genba observe` shows one place.
    #[arg(long)]
    observe: bool,

    /// Exit with 0 although the command fails.
    #[arg(short, long)]
    ignore_failure: bool,

    /// Write the counts to a file for `report --counts` and `annotate --counts`.
    #[arg(short = 'o', long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Write every executed instruction as CSV module,offset,count; the offset is the address that
    /// objdump prints.
    #[arg(long, value_name = "FILE")]
    sites: Option<PathBuf>,

    /// Write callgrind's format, for callgrind_annotate and KCachegrind.
    #[arg(long, value_name = "FILE")]
    export_callgrind: Option<PathBuf>,

    /// Write pprof's format, for `go tool pprof`.
    #[arg(long, value_name = "FILE")]
    export_pprof: Option<PathBuf>,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    run: CommandArgs,
}

impl Args {
    /// Which jumps and calls to record for the requested output.
    fn transfers(&self) -> Transfers {
        let implied = self.calls.is_some()
            || self.file.is_some()
            || self.export_callgrind.is_some()
            || self.export_pprof.is_some();
        match (self.transfers || implied) && !self.no_transfers {
            true => Transfers::Everywhere,
            false => Transfers::Entries,
        }
    }
}

/// Runs `genba count`.
pub fn run(mut args: Args, output: &Output) -> VerbResult {
    let output = &output.behind_command(args.run.passes_output_on(&args.json));
    // Without the second run, which would have nothing to read.
    if unread_input::is_given() {
        args.run.pass_input_on();
    }
    let prepared = args.run.prepare_shown(&args.json)?;
    let plan = CountPlan {
        engine: args.engine.clone(),
        transfers: args.transfers(),
        children: args.children || prepared.spec.shell_line.is_some(),
        // Standard input that is inherited cannot be read by a second run.
        native: !args.once && !matches!(prepared.spec.stdin, Stdin::Inherit),
        ignore_failure: true,
        observe: args.observe,
    };
    let cancel = interrupt::token()?;
    let mut launcher = Launcher::new()?;
    let mut progress = ProgressLine::beside(&prepared.spec, output);
    let mut counted =
        execution_counts::count(&mut launcher, &prepared.spec, &plan, &cancel, &mut progress)?;
    drop(progress);
    let observed = (observations(&mut counted.raw, None).0)
        .map(|found| observed_place::most_notable(&found, &counted.raw));
    // The counts are written before anything that could fail on their content.
    if let Some(file) = &args.file {
        genba_count::saved_counts::write(file, &counted.raw).map_err(Failure::usage)?;
    }
    if let Some(file) = &args.sites {
        write_file(file, |out| write_sites(out, &counted.raw))?;
    }
    if args.export_callgrind.is_some() || args.export_pprof.is_some() {
        let detail = genba_attribution::counted_detail(&counted.raw);
        if let Some(file) = &args.export_callgrind {
            write_file(file, |out| {
                out.write_all(export::callgrind(&detail).as_bytes())
            })?;
        }
        if let Some(file) = &args.export_pprof {
            write_file(file, |out| out.write_all(&export::pprof(&detail)))?;
        }
    }
    let native = counted.native_cpu_seconds();
    let (mut counts, lines) =
        genba_attribution::counts_without_lines(&counted.raw, args.per.as_ref(), native)
            .map_err(Failure::from)?;
    counts.observation = observed;
    let exit = exit(&counts, args.ignore_failure, cancel.is_triggered());
    if args.json.wanted() {
        let all = 0..counts.functions.len();
        lines.fill(&mut counts, all);
        output.json(&args.json, "counts", counts)?;
    } else {
        let options = terminal::CountsOptions {
            limit: if args.limit == 0 {
                usize::MAX
            } else {
                args.limit
            },
            sort: match args.sort {
                Sort::Instructions => terminal::CountSort::Instructions,
                Sort::Calls => terminal::CountSort::Calls,
            },
            calls_of: args.calls,
        };
        let shown = terminal::functions_shown(&counts, &options);
        lines.fill(&mut counts, shown);
        let mut text = terminal::counts(&counts, &options, output.screen());
        if let Some(observed) = &counts.observation {
            text.push_str(&terminal::observed_place(observed, output.screen()));
        }
        output.last_result(&text)?;
    }
    Ok(exit)
}

fn exit(counts: &Counts, ignore_failure: bool, cancelled: bool) -> Exit {
    match counts.exit {
        _ if cancelled => Exit::Interrupted,
        0 => Exit::Done,
        _ if ignore_failure => Exit::Done,
        _ => Exit::TargetFailed,
    }
}

/// Writes every executed instruction of all processes as CSV.
fn write_sites(out: &mut dyn Write, raw: &RawCounts) -> io::Result<()> {
    writeln!(out, "module,offset,count")?;
    for module in genba_attribution::merged(raw) {
        let name = csv::field(&module.path);
        for one in &module.instructions {
            writeln!(out, "{name},{:#x},{}", one.address, one.count)?;
        }
    }
    Ok(())
}

/// Writes a file through a buffer.
fn write_file(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    File::create(path)
        .and_then(|file| {
            let mut out = BufWriter::new(file);
            write(&mut out)?;
            out.flush()
        })
        .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))
}

fn per_unit(text: &str) -> Result<PerUnit, String> {
    match text.parse::<f64>() {
        Ok(units) if units.is_finite() && units > 0.0 => Ok(PerUnit::Number(units)),
        Ok(_) => Err(format!(
            "invalid number {text:?}: write a number above zero, or the name of a function"
        )),
        Err(_) if text.is_empty() => {
            Err("empty: write a number above zero, or the name of a function".to_owned())
        }
        Err(_) => Ok(PerUnit::Calls(text.to_owned())),
    }
}
