//! The thread that injects the engine into processes: into the target, then into those that request
//! it. No other thread traces.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use genba_engine::count_file_layout::{
    Control, REQUEST_DONE, REQUEST_EXEC, REQUEST_FORK, REQUEST_REFUSED, STATUS_FAILED,
    STATUS_REFUSED,
};
use genba_symbols::mappings_of_process;

use super::inject::{self, EngineOptions};
use super::ptrace::Tracee;
use super::refused_before_run;

/// Time between polls of the request channels.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Name of the count file in `/proc/PID/maps`.
const NAME: &str = "/memfd:genba-counts (deleted)";
/// Maximum number of processes in one run.
const MAX_PROCESSES: usize = 4096;

/// A counted process.
pub struct Process {
    /// Its process id.
    pub pid: i32,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Its count file.
    pub file: File,
}

/// All processes that were followed.
pub struct Followed {
    /// The target first.
    pub processes: Vec<Process>,
    /// What was not counted, a sentence each.
    pub notes: Vec<String>,
    /// Why the target was ended: it executed a program that cannot be counted.
    pub refused: Option<String>,
}

/// Report of the thread: that it has attached, then that the target counts.
pub type Report = io::Result<()>;

/// Attaches to the gated process and injects the engine into it and into the programs that it
/// executes, until `stop` is set.
pub fn follow(
    pid: i32,
    options: &EngineOptions,
    report: &Sender<Report>,
    stop: &AtomicBool,
) -> Followed {
    let mut followed = Followed {
        processes: Vec::new(),
        notes: Vec::new(),
        refused: None,
    };
    let tracee = Tracee::seize(pid);
    let tracee = match tracee {
        Ok(tracee) => {
            let _ = report.send(Ok(()));
            tracee
        }
        Err(error) => {
            let _ = report.send(Err(error));
            return followed;
        }
    };
    let target = ProcessHandle::open(pid);
    let begun = inject_into_target(tracee, options);
    let _ = report.send(begun.map(|process| followed.processes.push(process)));
    let mut waiting: Vec<(Tracee, i32)> = Vec::new();
    let mut ended = false;
    while !stop.load(Ordering::Relaxed) && !followed.processes.is_empty() {
        for index in 0..followed.processes.len() {
            serve_request(&mut followed, index, &mut waiting);
        }
        for index in (0..waiting.len()).rev() {
            let ready = waiting[index].0.poll_for_program();
            match ready {
                Ok(Some(false)) => {}
                Ok(Some(true)) => {
                    let (tracee, pid) = waiting.swap_remove(index);
                    count_executed(&mut followed, tracee, pid, options);
                }
                Ok(None) | Err(_) => {
                    waiting.swap_remove(index);
                }
            }
        }
        // Without one of its processes the target may wait for ever.
        if !ended && followed.is_refused() {
            ended = true;
            target.kill();
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    followed
}

/// Injects the engine into a process that has executed a program.
fn count_executed(followed: &mut Followed, mut tracee: Tracee, pid: i32, options: &EngineOptions) {
    let program = command(pid).into_iter().next().unwrap_or_default();
    let failure = match inject::inject_stopped(&mut tracee, options) {
        Ok(file) => match tracee.detach() {
            Ok(()) => return followed.add(pid, file),
            Err(error) => inject::Failure::from(error),
        },
        Err(failure) => {
            let target = followed.processes.first().map(|process| process.pid);
            if failure.restored && Some(pid) != target && tracee.detach().is_ok() {
                return followed.note(format!(
                    "process {pid}, which executed {program}, was not counted: {}",
                    failure.error
                ));
            }
            failure
        }
    };
    followed.refused = Some(format!("{program}, which it executed: {}", failure.error));
}

fn inject_into_target(mut tracee: Tracee, options: &EngineOptions) -> io::Result<Process> {
    let file = inject::inject(&mut tracee, options).map_err(|failure| failure.error)?;
    let pid = tracee.pid();
    let command = command(pid);
    tracee.detach()?;
    Ok(Process { pid, command, file })
}

/// Returns program and arguments as the kernel knows them.
fn command(pid: i32) -> Vec<String> {
    let text = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = text.split(|byte| *byte == 0);
    let mut words: Vec<String> = words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    words.pop();
    words
}

/// Handle of the target, which stays its own when its number is used again.
struct ProcessHandle(Option<OwnedFd>);

impl ProcessHandle {
    fn open(pid: i32) -> Self {
        // SAFETY: no memory is passed.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        // SAFETY: a new descriptor, which nobody else has.
        Self((fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) }))
    }

    /// Kills the process; the launcher then ends what is left of its tree.
    fn kill(&self) {
        if let Some(fd) = &self.0 {
            let arguments = (fd.as_raw_fd(), libc::SIGKILL, 0usize, 0usize);
            let (fd, signal, info, flags) = arguments;
            // SAFETY: no memory is passed.
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, info, flags) };
        }
    }
}

impl Followed {
    /// Whether the target executed a program that cannot be counted, or one of its processes refused
    /// to go on.
    fn is_refused(&self) -> bool {
        const STATUS: usize = std::mem::offset_of!(Control, status);
        let refused = |process: &Process| {
            let status = word(&process.file, STATUS);
            matches!(status, STATUS_REFUSED | STATUS_FAILED)
        };
        self.refused.is_some() || self.processes.iter().any(refused)
    }

    /// Adds a note, once, and only a bounded number of notes.
    fn note(&mut self, note: String) {
        const MAX_PROCESSES: usize = 50;
        if self.notes.len() < MAX_PROCESSES && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn add(&mut self, pid: i32, file: File) {
        if self.processes.len() == MAX_PROCESSES {
            self.notes.push(format!(
                "processes beyond the first {MAX_PROCESSES} were not counted"
            ));
            return;
        }
        let command = command(pid);
        self.processes.push(Process { pid, command, file });
    }
}

/// Reads a word of a count file.
fn word(file: &File, offset: usize) -> u32 {
    let mut bytes = [0; 4];
    let read = file.read_exact_at(&mut bytes, offset as u64);
    read.map_or(0, |()| u32::from_le_bytes(bytes))
}

/// Serves the request of a process, if there is one.
fn serve_request(followed: &mut Followed, index: usize, waiting: &mut Vec<(Tracee, i32)>) {
    let word = |offset: usize| word(&followed.processes[index].file, offset);
    let request = word(std::mem::offset_of!(Control, request));
    if request != REQUEST_EXEC && request != REQUEST_FORK {
        return;
    }
    let pid = word(std::mem::offset_of!(Control, request_pid)) as i32;
    let thread = word(std::mem::offset_of!(Control, request_thread)) as i32;
    let fd = word(std::mem::offset_of!(Control, request_fd));
    let mut path = vec![0; 4096];
    let at = std::mem::offset_of!(Control, request_path) as u64;
    let read = followed.processes[index].file.read_exact_at(&mut path, at);
    let end = path.iter().position(|byte| *byte == 0).unwrap_or(0);
    path.truncate(end);
    let namespace = word(std::mem::offset_of!(Control, request_namespace));
    // A request is not trusted, and its numbers may be of another PID namespace: only a process
    // that has mapped the count file is attached to.
    let requester = identify_requester(pid, &followed.processes[index].file);
    let done = match request {
        // Processes that do not know their namespace, as without /proc, send 0.
        _ if namespace != 0 && namespace != own_namespace() || requester == Requester::Other => {
            followed.note("processes in other PID namespaces were not counted".to_owned());
            false
        }
        // The process ended while it asked: before it executed a program, or before its first
        // instruction as a forked child. There is nothing more to count.
        _ if requester == Requester::Ended => false,
        REQUEST_EXEC if read.is_ok() => {
            let path = Path::new(std::ffi::OsStr::from_bytes(&path));
            let known = waiting.iter().any(|(other, _)| other.thread() == thread);
            let possible = refused_before_run::program_in(pid, path);
            let countable = possible == Some(Ok(()));
            if known && !countable {
                // An earlier `execve` has failed. Under ptrace, a set-uid program would not get its
                // privileges.
                detach_from(thread, waiting);
            }
            if let Some(Err(reason)) = possible {
                followed.note(format!(
                    "process {pid} executed {}, which cannot be counted: {reason}",
                    path.display()
                ));
            }
            let traced = countable && (known || attach_before_exec(pid, thread, waiting));
            if countable && !traced {
                followed.note(format!(
                    "process {pid}, which executed {}, could not be attached to and was not \
                     counted",
                    path.display()
                ));
            }
            traced
        }
        REQUEST_FORK => {
            let options = File::options().read(true).write(true).to_owned();
            match options.open(format!("/proc/{pid}/fd/{fd}")) {
                Ok(file) if followed.processes.len() < MAX_PROCESSES => {
                    match inject::initialise_count_file(&file) {
                        Ok(()) => {
                            followed.add(pid, file);
                            true
                        }
                        Err(error) => {
                            followed.note(format!("a forked child was not counted: {error}"));
                            false
                        }
                    }
                }
                _ => false,
            }
        }
        _ => false,
    };
    if request == REQUEST_FORK && !done && requester != Requester::Ended {
        followed.note(format!("process {pid}, a forked child, was not counted"));
    }
    let answer = if done { REQUEST_DONE } else { REQUEST_REFUSED };
    let at = std::mem::offset_of!(Control, request) as u64;
    let _ = (followed.processes[index].file).write_all_at(&answer.to_le_bytes(), at);
}

/// Who sent a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Requester {
    /// A process that counts into this file.
    Ours,
    /// A process that has ended since.
    Ended,
    /// Another process.
    Other,
}

/// Tells by its mappings who sent a request.
fn identify_requester(pid: i32, file: &File) -> Requester {
    let Ok(data) = file.metadata() else {
        return Requester::Other;
    };
    let mappings = match mappings_of_process(pid) {
        Ok(mappings) if mappings.is_empty() => return Requester::Ended,
        Ok(mappings) => mappings,
        Err(error)
            if error.kind() == io::ErrorKind::NotFound
                || error.raw_os_error() == Some(libc::ESRCH) =>
        {
            return Requester::Ended;
        }
        Err(_) => return Requester::Other,
    };
    let has = (mappings.iter()).any(|mapping| mapping.inode == data.ino() && mapping.path == NAME);
    match has {
        true => Requester::Ours,
        false => Requester::Other,
    }
}

/// Returns the inode of genba's PID namespace; 0 if it is not known.
fn own_namespace() -> u32 {
    let inode = std::fs::metadata("/proc/self/ns/pid").map_or(0, |data| data.ino());
    u32::try_from(inode).unwrap_or(0)
}

/// Detaches from a thread that was about to execute a program.
fn detach_from(thread: i32, waiting: &mut Vec<(Tracee, i32)>) {
    let at = waiting
        .iter()
        .position(|(other, _)| other.thread() == thread);
    if let Some(at) = at {
        // Detaching fails only if the thread has ended.
        let _ = waiting.swap_remove(at).0.detach_running();
    }
}

/// Attaches to a thread that is about to execute a program.
fn attach_before_exec(pid: i32, thread: i32, waiting: &mut Vec<(Tracee, i32)>) -> bool {
    match Tracee::seize(thread) {
        Ok(tracee) => {
            waiting.push((tracee.with_process_id(pid), pid));
            true
        }
        Err(_) => false,
    }
}
