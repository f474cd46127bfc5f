//! Watchdog for a batch that does not end: prints what it is doing and kills it.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Maximum CPU time of a batch, seconds: on a busy machine it takes many times as long.
const MAX_BATCH_CPU_SECONDS: u64 = 120;
/// Maximum wall time of a batch, seconds: a blocked process uses no CPU time.
const MAX_BATCH_SECONDS: u64 = 1200;
/// Number of samples of a stuck process.
const SAMPLES: usize = 40;

/// Watches processes of a program until it is dropped.
pub struct Watchdog {
    end: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Watchdog {
    /// Watches the processes of `program` that have this word among their arguments.
    pub fn start(program: &Path, word: &str) -> Self {
        let (sender, receiver) = channel();
        let (program, word) = (program.to_owned(), word.to_owned());
        let thread = std::thread::spawn(move || {
            while receiver.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                for pid in processes(&program, &word) {
                    let (cpu, wall) = seconds(pid);
                    if cpu > MAX_BATCH_CPU_SECONDS || wall > MAX_BATCH_SECONDS {
                        explain(pid);
                        // SAFETY: a batch of ours, which would not end.
                        unsafe { libc::kill(pid, libc::SIGKILL) };
                    }
                }
            }
        });
        Self {
            end: Some((sender, thread)),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.end.take() {
            drop(sender);
            let _ = thread.join();
        }
    }
}

fn read(pid: i32, name: &str) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn processes(program: &Path, word: &str) -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| *pid != std::process::id() as i32)
        .filter(|pid| {
            std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program)
        })
        .filter(|pid| read(*pid, "cmdline").split('\0').any(|one| one == word))
        .collect()
}

/// Returns the CPU time of a process, and the wall time since it began, seconds.
fn seconds(pid: i32) -> (u64, u64) {
    let stat = read(pid, "stat");
    // Field 2, which may contain anything, ends with the last parenthesis.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    // SAFETY: asks for a number.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
    let field = |number: usize| -> Option<u64> {
        let text = fields.split_ascii_whitespace().nth(number - 3)?;
        Some(text.parse::<u64>().ok()? / ticks)
    };
    let up = std::fs::read_to_string("/proc/uptime").unwrap_or_default();
    let up = (up.split('.').next()).and_then(|text| text.parse::<u64>().ok());
    match (field(14), field(15), field(22), up) {
        (Some(user), Some(system), Some(begun), Some(up)) => {
            (user + system, up.saturating_sub(begun))
        }
        _ => (0, 0),
    }
}

/// Prints where a process is, several times, and the code there.
fn explain(pid: i32) {
    eprintln!("process {pid} does not end:");
    for name in ["status", "stat", "syscall", "stack", "wchan"] {
        eprintln!("--- {name}\n{}", read(pid, name));
    }
    let mut places = Vec::new();
    // SAFETY: a process of ours, which is stopped and goes on; the registers are ours.
    unsafe {
        if libc::ptrace(libc::PTRACE_SEIZE, pid, 0, 0) != 0 {
            eprintln!("it cannot be traced: {}", std::io::Error::last_os_error());
            return;
        }
        for _ in 0..SAMPLES {
            let mut status = 0;
            libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0);
            libc::waitpid(pid, &raw mut status, libc::__WALL);
            let mut registers: libc::user_regs_struct = std::mem::zeroed();
            libc::ptrace(libc::PTRACE_GETREGS, pid, 0, &raw mut registers);
            eprintln!("{registers:x?}");
            places.push(registers.rip);
            let signal = match status >> 16 {
                0 => libc::WSTOPSIG(status),
                _ => 0,
            };
            libc::ptrace(libc::PTRACE_CONT, pid, 0, signal);
            std::thread::sleep(Duration::from_millis(10));
        }
        // Its end must be seen by its parent first, so it is detached from.
        let mut status = 0;
        libc::ptrace(libc::PTRACE_INTERRUPT, pid, 0, 0);
        libc::waitpid(pid, &raw mut status, libc::__WALL);
        libc::ptrace(libc::PTRACE_DETACH, pid, 0, 0);
    }
    places.sort_unstable();
    places.dedup();
    for place in places {
        code(pid, place);
    }
    eprintln!("--- maps\n{}", read(pid, "maps"));
}

/// Prints the instructions at an address.
fn code(pid: i32, place: u64) {
    use iced_x86::{Decoder, Formatter, GasFormatter};
    use std::os::unix::fs::FileExt;
    let mut bytes = [0u8; 48];
    let memory = std::fs::File::open(format!("/proc/{pid}/mem"));
    if memory
        .and_then(|file| file.read_exact_at(&mut bytes, place))
        .is_err()
    {
        return;
    }
    let mut formatter = GasFormatter::new();
    let mut text = format!("at {place:x}:");
    for instruction in Decoder::with_ip(64, &bytes, place, 0).into_iter().take(6) {
        text.push_str("  ");
        formatter.format(&instruction, &mut text);
        text.push(';');
    }
    eprintln!("{text}");
}
