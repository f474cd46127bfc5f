//! `genba top`: where the time goes now.

mod draw;
mod state;

use std::io::{self, IsTerminal};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use clap::Args as ClapArgs;
use genba_attribution::{
    AnnotateOptions, AttributionError, ProfileOptions, ResolveOptions, ResolvedProfile,
};
use genba_code::{SourceCache, Syntax};
use genba_profile::recording_tail::RecordingTail;
use genba_profile::sampler::CallGraph;
use genba_profile::wait_sampler::ThreadLoad;
use genba_profile::{ProfileError, RecordOutcome};
use genba_report::Screen;
use genba_report::terminal::{self, ReportOptions};
use genba_run::{Cancel, Launcher, Output as Stream, PrivateDirectory};
use genba_runtime::function_names::FunctionNames;
use genba_runtime::live_view::live_view;
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use genba_units::parse_duration;

use crate::attach_args::parse_pid;
use crate::command_args::CommandArgs;
use crate::exit_code::{Exit, Failure, VerbResult};
use crate::interrupt;
use crate::json_args::JsonArgs;
use crate::output::Output;
use crate::sampling_args::SamplingArgs;
use state::{Action, Screenful, State};

/// Arguments of `genba top`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  genba top -p 1234             functions of a process, live
  genba top -- ./prog args      of a command and its children
  genba top --once -p 1234      one window as a table, for scripts

Keys: arrows, PgUp, PgDn, Home, End move; Enter or a annotates; Esc returns; p or space pauses;
t shows the threads; z discards the samples so far; + and - change the window; q quits.

Threads: share of their wall time on a CPU, runnable without one, and blocked (the kernel's
account). What they are blocked in: genba wait -p PID.")]
pub struct Args {
    #[command(flatten)]
    sampling: SamplingArgs,

    /// Attach to this running process.
    #[arg(short, long, value_name = "PID", conflicts_with = "command",
          value_parser = parse_pid)]
    pid: Option<i32>,

    /// Length of the window of samples shown.
    #[arg(long, value_name = "DURATION", allow_negative_numbers = true, default_value = "10s", value_parser = parse_duration)]
    window: Duration,

    /// Time between two updates.
    #[arg(short, long, value_name = "DURATION", allow_negative_numbers = true, default_value = "2s", value_parser = parse_duration)]
    delay: Duration,

    /// Print one table after one window (or at the end of the command) and exit; always on if
    /// standard output is not a terminal.
    #[arg(long)]
    once: bool,

    /// Maximum number of rows with --once; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 30)]
    limit: usize,

    #[command(flatten)]
    json: JsonArgs,

    #[command(flatten)]
    run: CommandArgs,
}

/// Runs `genba top`.
pub fn run(mut args: Args, output: &Output) -> VerbResult {
    if args.pid.is_none() && args.run.command.is_empty() {
        return Err(Failure::usage(
            "nothing to watch: give -p PID, or a command after `--`",
        ));
    }
    args.json.check_output(args.run.output.as_deref())?;
    let once = args.once
        || args.json.wanted()
        || !io::stdout().is_terminal()
        || !io::stdin().is_terminal();
    // Otherwise the keys are genba's.
    if once {
        args.run.pass_input_on();
    }
    let cancel = interrupt::token()?;
    // A command is ended by its launcher.
    let deadline = args
        .pid
        .and(args.run.timeout)
        .map(|time| Instant::now() + time);
    let directory = PrivateDirectory::new("top").map_err(|error| {
        let place = std::env::temp_dir();
        let place = place.display();
        Failure::usage(format!("cannot create a directory in {place}: {error}"))
    })?;
    let path = directory.path().join("top.data");
    let recorder = start(&args, once, &path, &cancel)?;
    let window = args.window.as_nanos() as u64;
    let seen = match open(&path, window, &recorder, &cancel) {
        Ok(Some(tail)) => {
            if once {
                print_once(
                    &args,
                    tail,
                    &recorder,
                    directory.path(),
                    deadline,
                    &cancel,
                    output,
                )
            } else {
                watch(&args, tail, &recorder, directory.path(), deadline, &cancel)
            }
        }
        Ok(None) => Ok(()),
        Err(error) => Err(cannot_read(&error)),
    };
    // Ends the command that genba started; an attached process continues.
    cancel.trigger();
    let outcome = recorder.join().map_err(|_| {
        Failure::new(
            Exit::Unsupported,
            "internal error: the recorder thread ended unexpectedly",
        )
    })?;
    outcome?;
    match seen {
        // Ended before there was anything to show: Ctrl-C is the way to end.
        Err(_) if interrupt::is_interrupted() => Ok(Exit::Done),
        seen => seen.map(|()| Exit::Done),
    }
}

type Recorder = JoinHandle<Result<RecordOutcome, ProfileError>>;

fn cannot_read(error: &io::Error) -> Failure {
    Failure::usage(format!("cannot read the recording in progress: {error}"))
}

/// Starts recording in its own thread.
fn start(args: &Args, once: bool, path: &Path, cancel: &Cancel) -> Result<Recorder, Failure> {
    let mut options = args.sampling.options(CallGraph::None);
    // Only perf events can be read while the recording grows.
    options.no_timer_fallback = true;
    options.force_timer = false;
    let (path, cancel) = (path.to_owned(), cancel.clone());
    if let Some(pid) = args.pid {
        return in_thread(move || genba_profile::attach(pid, &options, &path, &cancel));
    }
    let quiet = if once { Stream::Inherit } else { Stream::Null };
    let mut prepared = args
        .run
        .prepare(if once { Stream::Null } else { quiet.clone() })?;
    prepared.spec.stderr = quiet;
    let mut launcher = Launcher::new()?;
    in_thread(move || {
        genba_profile::record(&mut launcher, &prepared.spec, &options, &path, &cancel)
    })
}

fn in_thread(
    record: impl FnOnce() -> Result<RecordOutcome, ProfileError> + Send + 'static,
) -> Result<Recorder, Failure> {
    std::thread::Builder::new().spawn(record).map_err(|error| {
        let what = format!("there is no thread for recording (ulimit -u): {error}");
        Failure::new(Exit::Unsupported, what)
    })
}

/// Waits for the recording to start; `None` if it never does.
fn open(
    path: &Path,
    window: u64,
    recorder: &Recorder,
    cancel: &Cancel,
) -> io::Result<Option<RecordingTail>> {
    loop {
        let ended = recorder.is_finished() || cancel.is_triggered();
        if let Some(tail) = RecordingTail::open(path, window)? {
            return Ok(Some(tail));
        }
        if ended {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Prints the table of one window, which ends at the deadline at the latest.
fn print_once(
    args: &Args,
    mut tail: RecordingTail,
    recorder: &Recorder,
    directory: &Path,
    deadline: Option<Instant>,
    cancel: &Cancel,
    output: &Output,
) -> Result<(), Failure> {
    let mut load = thread_load(args);
    let window_end = Instant::now() + args.window;
    let until = deadline.map_or(window_end, |deadline| window_end.min(deadline));
    while Instant::now() < until && !recorder.is_finished() && !cancel.is_triggered() {
        // The command may not have begun yet.
        if !load.has_threads() {
            load.look();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let threads = load.look();
    if args.pid.is_some() {
        // Reads the ring buffers out; the process goes on.
        cancel.trigger();
        while !recorder.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
        }
    } else if !recorder.is_finished() {
        // Ring buffers are read out at least once a second.
        std::thread::sleep(Duration::from_millis(1100));
    }
    tail.read().map_err(|error| cannot_read(&error))?;
    let mut profile = resolved(&tail, directory)?.profile(&ProfileOptions::default());
    profile.thread_times = threads;
    if args.json.wanted() {
        return output.json(&args.json, "profile", profile);
    }
    let options = ReportOptions {
        limit: if args.limit == 0 {
            usize::MAX
        } else {
            args.limit
        },
        ..ReportOptions::default()
    };
    let mut text = terminal::report(&profile, &options, output.screen());
    text.push_str(&terminal::thread_times(
        &profile.thread_times,
        options.limit,
        output.screen(),
    ));
    output.result(&text)
}

/// The threads of the target.
fn thread_load(args: &Args) -> ThreadLoad {
    match args.pid {
        Some(pid) => ThreadLoad::of_process(pid),
        None => ThreadLoad::of_children(),
    }
}

/// The window joined with code.
fn resolved(tail: &RecordingTail, directory: &Path) -> Result<ResolvedProfile, Failure> {
    let path = directory.join("window.data");
    std::fs::write(&path, tail.bytes()).map_err(|error| cannot_read(&error))?;
    let options = ResolveOptions {
        kernel_names: true,
        ..ResolveOptions::default()
    };
    ResolvedProfile::open(&path, &options).map_err(|error| match error {
        AttributionError::NoSamples { .. } => Failure::new(
            Exit::TargetFailed,
            "no samples: what is watched used no CPU time in this window; to see what it waits for: genba wait",
        ),
        other => other.into(),
    })
}

/// Runs the live view until q, Ctrl-C or the deadline.
fn watch(
    args: &Args,
    mut tail: RecordingTail,
    recorder: &Recorder,
    directory: &Path,
    deadline: Option<Instant>,
    cancel: &Cancel,
) -> Result<(), Failure> {
    let what = match args.pid {
        Some(pid) => format!("process {pid}"),
        None => args.run.command.join(" "),
    };
    let mut state = State::new(&genba_report::sanitise(&what), args.window.as_secs_f64());
    let mut names = FunctionNames::default();
    let mut load = thread_load(args);
    load.look();
    let mut terminal = ratatui::try_init().map_err(|error| cannot_read(&error))?;
    let result = (|| {
        let mut next = Instant::now();
        loop {
            if Instant::now() >= next {
                next = Instant::now() + args.delay;
                tail.read()?;
                state.ended = recorder.is_finished();
                let complete = state.ended && state.complete;
                if !state.paused && !complete {
                    let view = live_view(&tail, &mut names);
                    state.show(view.map_err(io::Error::other)?);
                    if !state.ended {
                        state.threads = load.look();
                    }
                    // Everything that the recorder wrote has been read once it has ended.
                    state.complete = state.ended;
                }
            }
            terminal.draw(|frame| draw::draw(frame, &mut state))?;
            if cancel.is_triggered() || deadline.is_some_and(|deadline| Instant::now() >= deadline)
            {
                return Ok(());
            }
            let wait = next.saturating_duration_since(Instant::now());
            if !event::poll(wait.min(Duration::from_millis(100)))? {
                continue;
            }
            let Event::Key(key) = event::read()? else {
                continue;
            };
            if key.kind != KeyEventKind::Press {
                continue;
            }
            match state.key(key) {
                Action::None => {}
                Action::Quit => return Ok(()),
                Action::Discard => tail.clear(),
                Action::Window(seconds) => tail.set_window((seconds * 1e9) as u64),
                Action::Threads => {
                    let width = usize::from(terminal.size()?.width);
                    let screen = Screen {
                        width,
                        colour: false,
                    };
                    let text = terminal::thread_times(&state.threads, usize::MAX, screen);
                    state.screenful = Some(Screenful::new("threads", &text));
                }
                Action::Annotate(function) => {
                    let width = usize::from(terminal.size()?.width);
                    let text = annotated(&tail, directory, &function, width);
                    state.screenful = Some(Screenful::new(&function, &text));
                }
            }
        }
    })();
    ratatui::restore();
    result.map_err(|error: io::Error| cannot_read(&error))
}

/// The annotation of a function as text, or the error message.
fn annotated(tail: &RecordingTail, directory: &Path, function: &str, width: usize) -> String {
    let made = resolved(tail, directory).and_then(|resolved| {
        let options = AnnotateOptions {
            syntax: Syntax::Intel,
            ..AnnotateOptions::new(genba_report::loop_verdict)
        };
        resolved
            .annotate(function, &options, &mut SourceCache::new())
            .map_err(Failure::from)
    });
    match made {
        Ok(annotation) => {
            let screen = Screen {
                width,
                colour: false,
            };
            terminal::annotation(&annotation, terminal::AnnotateOptions::default(), screen)
        }
        Err(failure) => genba_report::sanitise_lines(&failure.message),
    }
}
