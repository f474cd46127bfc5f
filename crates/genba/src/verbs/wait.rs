//! `genba wait`: what the wall clock waits for.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use genba_case::Store;
use genba_investigate::{in_words, waits};
use genba_model::{Waits, Workload};
use genba_report::{page, terminal};
use genba_run::Launcher;
use genba_units::parse_duration;

use crate::attach_args::parse_pid;
use crate::command_args::CommandArgs;
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::interrupt;
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::output_file;
use crate::progress_line::ProgressLine;

/// Arguments of `genba wait`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba wait -- ./server --threads 8 load.txt   a command with its threads and children
  genba wait --html waits.html -- make -j4      the same as a page, with a timeline of threads
  genba wait -p 1234 --seconds 10               a running process for ten seconds
  genba wait -p 1234                            until Ctrl-C or its end
  genba wait -p 1234 --seconds 10 --requests    what its slow requests wait for
  genba report --off-cpu                        then: functions and stacks by time off a CPU
  genba flame latest                            and all threads' wall time as a flame graph

Says how the wall time divides into time on CPUs and waiting; for what each thread waited (a lock,
a condition, another thread, a child, a pipe, a socket, a file, fsync, a CPU, a sleep), at which
line, and what the other thread did meanwhile; causes of needless waiting with fix and gain.")]
pub struct Args {
    /// Attach to this running process.
    #[arg(short, long, value_name = "PID", conflicts_with = "command",
          value_parser = parse_pid)]
    pid: Option<i32>,

    /// Watch the process for this time [default: until Ctrl-C or its end].
    #[arg(long, value_name = "DURATION", requires = "pid",
          conflicts_with = "command", allow_negative_numbers = true,
          value_parser = parse_duration)]
    seconds: Option<std::time::Duration>,

    /// Also a server's requests one by one: what slow ones waited for that fast ones did not. Records system
    /// calls: all of them as root, else reads, writes, polls, futex, fsync and sleeps.
    #[arg(long)]
    requests: bool,

    /// Write a page with a timeline of the threads.
    #[arg(long, value_name = "FILE", value_parser = output_file::parser())]
    html: Option<PathBuf>,

    /// Do not store a case.
    #[arg(long)]
    no_case: bool,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    run: CommandArgs,
}

/// Runs `genba wait`. The command's output is passed through, as `record` does.
pub fn run(mut args: Args, output: &Output) -> VerbResult {
    args.run.pass_input_on();
    let output = &output.behind_command(args.run.passes_output_on(&args.json));
    if args.json.takes_stdout() && args.html.as_deref() == Some(Path::new("-")) {
        return Err(Failure::usage(
            "--html - and --json exclude each other: write one of them to a file",
        ));
    }
    let cancel = interrupt::token()?;
    let mut directory = None;
    let (found, failed) = match args.pid {
        Some(pid) => {
            let time = args.seconds.or(args.run.timeout);
            let seconds = time.map(|time| time.as_secs_f64());
            let mut progress = ProgressLine::new(output);
            let found = waits::of_process(pid, seconds, args.requests, &cancel, &mut progress)?;
            (found, None)
        }
        None => {
            let prepared = args.run.prepare_shown(&args.json)?;
            let spec = &prepared.spec;
            directory.clone_from(&spec.directory);
            let mut launcher = Launcher::new()?;
            let mut progress = ProgressLine::beside(spec, output);
            let (found, finished) =
                waits::of_command(&mut launcher, spec, args.requests, &cancel, &mut progress)?;
            let record = finished.record;
            (found, (!record.exit.success()).then_some(record))
        }
    };
    print(&found, &args, output)?;
    let exit = match args.pid {
        Some(_) => interrupt::exit_of_watching(args.seconds.or(args.run.timeout).is_some()),
        None => interrupt::exit(),
    };
    let interrupted = exit == Exit::Interrupted;
    if !args.no_case {
        store(&found, directory, interrupted, output);
    }
    if interrupted {
        return Ok(Exit::Interrupted);
    }
    if let Some(record) = failed {
        output.note(&in_words(&record));
        return Ok(Exit::TargetFailed);
    }
    Ok(Exit::Done)
}

/// Stores the case. Without a directory for it the result has been shown all the same.
fn store(found: &Waits, directory: Option<PathBuf>, interrupted: bool, output: &Output) {
    let command = match found.pid {
        Some(pid) => vec!["process".to_owned(), pid.to_string()],
        None => found.command.clone(),
    };
    let directory = directory.or_else(|| std::env::current_dir().ok());
    let workload = Workload::in_directory(command, &directory.unwrap_or_default());
    let host = genba_host::fingerprint(false);
    match Store::open_root().create_waits(&workload, &host, found, interrupted) {
        Ok(case) => output.note(&format!(
            "CASE  {0}   genba report --off-cpu -i {0}, genba flame -i {0}",
            case.id()
        )),
        Err(error) => output.note(&format!("no case stored: {error}")),
    }
}

/// Writes the page and prints the result.
fn print(found: &Waits, args: &Args, output: &Output) -> Result<(), Failure> {
    if let Some(file) = &args.html {
        let html = page::waits_html(found);
        if file == Path::new("-") {
            return output.result(&html);
        }
        output_file::write(file, &html)?;
        output.note(&format!("wrote {}", file.display()));
    }
    if args.json.wanted() {
        output.json(&args.json, "waits", found)
    } else {
        output.last_result(&terminal::waits(found, output.screen()))
    }
}
