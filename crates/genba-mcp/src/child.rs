//! `genba` as a child process: its progress, its document, and its end when nobody wants the answer any more.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// Largest document, bytes.
const MAX_DOCUMENT_BYTES: usize = 256 << 20;
/// Most bytes of error messages and notes that are kept.
const MAX_NOTES_BYTES: usize = 64 << 10;
/// Longest line of progress, bytes.
const MAX_LINE_BYTES: usize = 4 << 10;
/// Time in which genba obeys Ctrl-C; it has a deadline of its own, which is shorter.
const TIME_TO_OBEY: Duration = Duration::from_secs(5);
/// Time in which genba ends at the second signal.
const TIME_TO_END: Duration = Duration::from_secs(4);

/// Asks genba for progress on standard error, as lines of JSON.
pub const PROGRESS_VARIABLE: (&str, &str) = ("GENBA_PROGRESS", "json");
/// Confines the source files that annotations show.
pub const SOURCES_VARIABLE: &str = "GENBA_SOURCES_WITHIN";

/// A run of genba.
pub struct Run {
    pub words: Vec<String>,
    pub directory: PathBuf,
    pub cases: PathBuf,
    pub sources: PathBuf,
    pub limit: Duration,
}

/// A line of progress.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Progress {
    pub stage: String,
    pub seconds_left: Option<f64>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    ByItself,
    Cancelled,
    TimeLimit,
    TooLarge,
}

/// What a run left.
#[derive(Debug)]
pub struct Finished {
    pub document: Vec<u8>,
    /// What it wrote to standard error beside progress.
    pub notes: String,
    pub ended: Ended,
}

/// Runs genba until it ends, `cancelled` becomes true, or the time limit has passed. When this returns, the process
/// and what it started are gone.
pub async fn run(
    run: Run,
    progress: mpsc::UnboundedSender<Progress>,
    mut cancelled: watch::Receiver<bool>,
) -> std::io::Result<Finished> {
    let mut child = command(&run).spawn()?;
    let out = child.stdout.take();
    let err = child.stderr.take();
    let document = tokio::spawn(read_document(out));
    let notes = tokio::spawn(read_notes(err, progress));
    let mut document = Watched(document);
    let ended = tokio::select! {
        _ = child.wait() => Ended::ByItself,
        () = document.overflows() => Ended::TooLarge,
        _ = cancelled.wait_for(|cancelled| *cancelled) => Ended::Cancelled,
        () = tokio::time::sleep(run.limit) => Ended::TimeLimit,
    };
    if ended != Ended::ByItself {
        end(&mut child).await?;
    }
    // Whoever inherited the streams is gone as well, unless it left the process tree.
    let document = timeout(TIME_TO_END, document.0)
        .await
        .ok()
        .and_then(Result::ok);
    let notes = timeout(TIME_TO_END, notes).await.ok().and_then(Result::ok);
    Ok(Finished {
        document: document.flatten().unwrap_or_default(),
        notes: notes.unwrap_or_default(),
        ended,
    })
}

/// A task that reads the document; `None` where it is too large.
struct Watched(tokio::task::JoinHandle<Option<Vec<u8>>>);

impl Watched {
    /// Ends when the document is too large, and never otherwise.
    async fn overflows(&mut self) {
        while !self.0.is_finished() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        match (&mut self.0).await {
            Ok(Some(read)) => {
                // The stream has ended, and the process is about to.
                self.0 = tokio::spawn(async move { Some(read) });
                std::future::pending().await
            }
            _ => self.0 = tokio::spawn(async { None }),
        }
    }
}

fn command(run: &Run) -> Command {
    // This file, even where it has been replaced meanwhile.
    let mut command = std::process::Command::new(Path::new("/proc/self/exe"));
    command
        .arg0("genba")
        .args(&run.words)
        .current_dir(&run.directory)
        .env("GENBA_HOME", &run.cases)
        .env(PROGRESS_VARIABLE.0, PROGRESS_VARIABLE.1)
        .env(SOURCES_VARIABLE, &run.sources)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Ctrl-C in the terminal reaches the server, which ends its children in order.
        .process_group(0);
    // SAFETY: prctl is async-signal-safe, and nothing else happens between fork and exec.
    unsafe {
        command.pre_exec(|| {
            // The server may be killed: then genba ends as at SIGTERM.
            rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
            Ok(())
        });
    }
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    command
}

/// Ends genba as Ctrl-C does: it ends the process tree and marks the case; then with more force.
async fn end(child: &mut Child) -> std::io::Result<()> {
    for (signal, time) in [(Signal::INT, TIME_TO_OBEY), (Signal::TERM, TIME_TO_END)] {
        let pid = (child.id()).and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let Some(pid) = pid else {
            return Ok(());
        };
        let _ = kill_process(pid, signal);
        if let Ok(ended) = timeout(time, child.wait()).await {
            return ended.map(drop);
        }
    }
    // The launcher ends the tree when genba is gone.
    child.kill().await
}

/// The whole stream; `None` if it is too large.
async fn read_document(stream: Option<impl AsyncRead + Unpin>) -> Option<Vec<u8>> {
    let mut document = Vec::new();
    let stream = stream?;
    let limit = MAX_DOCUMENT_BYTES as u64 + 1;
    let read = stream.take(limit).read_to_end(&mut document).await;
    (read.is_ok() && document.len() <= MAX_DOCUMENT_BYTES).then_some(document)
}

/// Sends on the lines of progress; returns all others, as far as they have room.
async fn read_notes(
    stream: Option<impl AsyncRead + Unpin>,
    progress: mpsc::UnboundedSender<Progress>,
) -> String {
    let mut notes = String::new();
    let Some(mut stream) = stream else {
        return notes;
    };
    let mut line = Vec::new();
    let mut chunk = [0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut chunk).await {
        for &byte in &chunk[..read] {
            match byte {
                b'\n' => take_line(&mut line, &mut notes, &progress),
                _ if line.len() < MAX_LINE_BYTES => line.push(byte),
                _ => {}
            }
        }
    }
    take_line(&mut line, &mut notes, &progress);
    notes
}

fn take_line(line: &mut Vec<u8>, notes: &mut String, progress: &mpsc::UnboundedSender<Progress>) {
    let text = String::from_utf8_lossy(line);
    match serde_json::from_str::<Progress>(&text) {
        Ok(stage) => {
            // Nobody may want to know.
            let _ = progress.send(stage);
        }
        Err(_) if !text.trim().is_empty() && notes.len() + text.len() < MAX_NOTES_BYTES => {
            notes.push_str(&genba_report::sanitise(&text));
            notes.push('\n');
        }
        Err(_) => {}
    }
    line.clear();
}
