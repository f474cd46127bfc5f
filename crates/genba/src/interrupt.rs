//! Signals that end genba. Ctrl-C, SIGTERM and SIGHUP: the first ends the run and keeps what was
//! measured; after the second, or when the first is not obeyed in time, genba ends at once. SIGXCPU is
//! like Ctrl-C; SIGXFSZ makes the write fail that exceeds the limit. And SIGUSR2, which asks for a snapshot.

use std::io::{self, PipeReader, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use genba_run::Cancel;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR2, SIGXCPU, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::exit_code::{Exit, Failure};

/// Time after the first signal in which the result of what was measured must be there.
const MAX_TIME_TO_OBEY: Duration = Duration::from_millis(1700);
/// Longest wait for the end of the process tree before genba exits at once.
const MAX_TIME_TO_END_PROCESSES: Duration = Duration::from_millis(1500);
/// Time between checks for a second signal.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Whether a signal asked genba to end.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// The case that keeps what an experiment measured.
static EXPERIMENT: OnceLock<String> = OnceLock::new();
/// Whether genba is exiting at once.
static EXITING: AtomicBool = AtomicBool::new(false);

/// Returns a token that the first signal triggers.
pub fn token() -> Result<Cancel, Failure> {
    let cancel = Cancel::new()?;
    let mut handled = vec![SIGINT, SIGTERM, SIGXCPU];
    // `nohup genba …` is to survive the end of the terminal.
    if !is_ignored(SIGHUP) {
        handled.push(SIGHUP);
    }
    let mut signals = Signals::new(handled).map_err(unsupported)?;
    let trigger = cancel.clone();
    let watch = move || {
        let Some(first) = signals.forever().next() else {
            return;
        };
        if first == SIGXCPU {
            say("genba's limit of CPU time (ulimit -t) is reached; it ends as after Ctrl-C");
        }
        INTERRUPTED.store(true, Ordering::Release);
        trigger.trigger();
        let mut until = Instant::now() + MAX_TIME_TO_OBEY;
        loop {
            thread::sleep(POLL_INTERVAL);
            // SIGXCPU comes every second.
            if signals.pending().any(|signal| signal != SIGXCPU) {
                exit_at_once("interrupted twice: what was not stored yet is lost");
            }
            if trigger.is_protected() {
                until = Instant::now() + MAX_TIME_TO_OBEY;
            } else if Instant::now() >= until {
                exit_at_once("interrupted: the result would have taken too long to compute");
            }
        }
    };
    thread::Builder::new().spawn(watch).map_err(unsupported)?;
    Ok(cancel)
}

fn unsupported(error: io::Error) -> Failure {
    Failure::new(
        Exit::Unsupported,
        format!("cannot install signal handlers: {error}"),
    )
}

/// Returns a pipe that gets a byte for each SIGUSR2 from now on.
pub fn snapshot_requests() -> Result<PipeReader, Failure> {
    let (requests, signals) = io::pipe().map_err(unsupported)?;
    signal_hook::low_level::pipe::register(SIGUSR2, signals).map_err(unsupported)?;
    Ok(requests)
}

/// Says which case resumes the experiment of this process, for the message of an end at once.
pub fn resumed_by(case: &str) {
    // There is one experiment in a process.
    let _ = EXPERIMENT.set(case.to_owned());
}

/// Whether a signal asked genba to end: what fails then fails because of that.
pub fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Acquire)
}

/// The exit code of a verb that did and showed what was asked for, as far as no signal ended it before.
pub fn exit() -> Exit {
    match is_interrupted() {
        true => Exit::Interrupted,
        false => Exit::Done,
    }
}

/// The exit code of a verb that watches processes or CPUs. Where nothing else bounds it, neither a time
/// nor a command, Ctrl-C is its usual end.
pub fn exit_of_watching(is_bounded: bool) -> Exit {
    match is_bounded {
        true => exit(),
        false => Exit::Done,
    }
}

/// Writes a line to standard error. Nobody may be there to read it any more: this thread, which ends genba,
/// must survive that.
fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn exit_at_once(reason: &str) -> ! {
    EXITING.store(true, Ordering::Release);
    say(reason);
    if let Some(case) = EXPERIMENT.get() {
        say(&format!(
            "its runs are stored; resume with: genba case resume {case}"
        ));
    }
    genba_run::exit_at_once(Exit::Interrupted as i32, MAX_TIME_TO_END_PROCESSES)
}

/// Waits for ever if genba is exiting at once: what the main thread would say is an effect of that.
pub fn wait_if_exiting() {
    while EXITING.load(Ordering::Acquire) {
        thread::park();
    }
}

/// Makes a write that exceeds the limit of file sizes (`ulimit -f`) fail, instead of SIGXFSZ ending
/// genba. Unlike an ignored signal, a handler is not inherited by the commands that genba runs.
pub fn survive_file_size_limit() {
    if is_ignored(SIGXFSZ) {
        return;
    }
    // SAFETY: the handler does nothing.
    let installed = unsafe { signal_hook::low_level::register(SIGXFSZ, || {}) };
    // Without it genba works, and is ended by the signal.
    drop(installed);
}

/// Whether genba was started with a signal ignored (`SigIgn` in `/proc/self/status`).
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
