//! What a command or process waits for, from watching it to the document.

use std::path::Path;
use std::time::{Duration, Instant};

use genba_model::Waits;
use genba_profile::wait_sampler::{WaitRecording, watch_command, watch_process};
use genba_profile::{ProfileError, Recording};
use genba_run::{Cancel, CommandSpec, Finished, Launcher, text_of};
use genba_runtime::script::LiveScripts;

pub use genba_wait::off_cpu;

use crate::{InvestigateError, Progress};

/// Sockets of a process that listens and has one connection.
const LISTENS_AND_ONE: u64 = 2;

/// Runs a command once and says what its threads waited for; `requests` asks what those waited for that it serves.
///
/// # Errors
/// When the command cannot be started, or what was seen cannot be stored.
pub fn of_command(
    launcher: &mut Launcher,
    spec: &CommandSpec,
    requests: bool,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<(Waits, Finished), InvestigateError> {
    progress.update("watching what threads wait for", None);
    let directory = genba_run::PrivateDirectory::new("waits").map_err(internal)?;
    let path = directory.path().join("stacks.data");
    let mut scripts = LiveScripts::default();
    let (recording, finished) = watch_command(
        launcher,
        spec,
        &path,
        &own_command_line(),
        &mut scripts,
        requests,
        cancel,
    )?;
    progress.update("finding names", None);
    let mut waits = document(&recording, &path)?;
    waits.command = spec.argv.iter().map(|word| text_of(word)).collect();
    Ok((waits, finished))
}

/// Watches a running process for some seconds, or until it ends or `cancel` is triggered; `requests` as in
/// [`of_command`].
///
/// # Errors
/// When there is no such process, or what was seen cannot be stored.
pub fn of_process(
    pid: i32,
    seconds: Option<f64>,
    requests: bool,
    cancel: &Cancel,
    progress: &mut dyn Progress,
) -> Result<Waits, InvestigateError> {
    let duration = seconds.map(Duration::from_secs_f64);
    progress.update("watching what threads wait for", duration);
    let directory = genba_run::PrivateDirectory::new("waits").map_err(internal)?;
    let path = directory.path().join("stacks.data");
    let began = Instant::now();
    let mut scripts = LiveScripts::default();
    let recording = watch_process(
        pid,
        duration,
        &path,
        &own_command_line(),
        &mut scripts,
        requests,
        cancel,
    )?;
    progress.update("finding names", None);
    let mut waits = document(&recording, &path)?;
    waits.pid = Some(pid);
    let serves = recording
        .processes
        .iter()
        .any(|process| process.most_sockets > LISTENS_AND_ONE);
    if serves && !requests {
        waits.notes.push(
            "this process has several connections: --requests says what its slow requests wait for"
                .to_owned(),
        );
    }
    if cancel.is_triggered() && duration.is_some_and(|duration| began.elapsed() < duration) {
        waits
            .notes
            .push("interrupted: what was seen until then is shown".to_owned());
    }
    Ok(waits)
}

fn document(recording: &WaitRecording, path: &Path) -> Result<Waits, InvestigateError> {
    let stacks = Recording::open(path).map_err(internal)?;
    Ok(genba_wait::waits(recording, &stacks).map_err(internal)?)
}

fn own_command_line() -> Vec<String> {
    std::env::args_os().map(|word| text_of(&word)).collect()
}

fn internal(error: impl std::fmt::Display) -> ProfileError {
    ProfileError::Internal(error.to_string())
}
