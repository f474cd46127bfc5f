//! Parses valgrind's messages (`-v -v --log-file`): where it loaded which object, and how the
//! process ended. Pure.

/// An object that valgrind loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Its path.
    pub path: String,
    /// Load bias: address in memory minus link-time address.
    pub bias: u64,
}

/// What the messages of one process say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    /// Objects in the order of loading; an object that was loaded twice is there twice.
    pub loaded: Vec<Loaded>,
    /// Whether the process began as a program, not as a fork.
    pub started: bool,
    /// The signal that killed it, as valgrind prints it: `11 (SIGSEGV)`.
    pub signal: Option<String>,
    /// Whether valgrind met an instruction that it does not know.
    pub unknown_instruction: bool,
    /// Its parent process.
    pub parent: Option<i32>,
    /// Its last lines that are neither empty nor boilerplate, for error messages.
    pub tail: Vec<String>,
}

/// Number of lines kept for error messages.
const TAIL_LINES: usize = 4;
/// Maximum number of objects, far more than programs load.
const MAX_OBJECTS: usize = 100_000;

impl Log {
    /// Parses messages; unknown lines are skipped.
    pub fn parse(text: &str) -> Self {
        let mut log = Self::default();
        let mut reading: Option<&str> = None;
        for line in text.lines() {
            let Some(message) = message(line) else {
                continue;
            };
            if let Some(path) = message.strip_prefix("Reading syms from ") {
                reading = Some(path);
            } else if let Some(bias) = message.strip_prefix("svma ").and_then(bias) {
                if let Some(path) = reading.take().filter(|_| log.loaded.len() < MAX_OBJECTS) {
                    let path = path.to_owned();
                    log.loaded.push(Loaded { path, bias });
                }
            } else if let Some(pid) = message.strip_prefix("Parent PID: ") {
                log.parent = pid.parse().ok();
            } else if message.starts_with("For interactive control") {
                log.started = true;
            } else if let Some(signal) =
                message.strip_prefix("Process terminating with default action of signal ")
            {
                log.signal = Some(signal.to_owned());
            } else if message.starts_with("valgrind: Unrecognised instruction") {
                log.unknown_instruction = true;
            }
            let boilerplate =
                message.is_empty() || message.starts_with("Adding active redirection");
            if line.starts_with("==") && !boilerplate {
                log.tail.push(message.to_owned());
                if log.tail.len() > TAIL_LINES {
                    log.tail.remove(0);
                }
            }
        }
        log
    }
}

/// `==12== text`, `--12-- text`: the text.
fn message(line: &str) -> Option<&str> {
    let mark = line.get(..2).filter(|mark| matches!(*mark, "==" | "--"))?;
    let rest = &line[2..];
    let (_, text) = rest.split_once(mark)?;
    Some(text.trim())
}

/// `0x0000001070, avma 0x0000109070`.
fn bias(addresses: &str) -> Option<u64> {
    let (linked, mapped) = addresses.split_once(", avma ")?;
    let hex = |text: &str| u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok();
    Some(hex(mapped)?.wrapping_sub(hex(linked)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn objects_their_place_and_the_end_are_read() {
        let text = "==7== Callgrind, a call-graph generating cache profiler\n\
                    ==7== Parent PID: 6\n\
                    ==7== For interactive control, run 'callgrind_control -h'.\n\
                    --7-- Reading syms from /tmp/a b\n\
                    --7--    svma 0x0000001070, avma 0x0000109070\n\
                    --7--    svma 0x1, avma 0x2\n\
                    nonsense\n\
                    ==7== Process terminating with default action of signal 11 (SIGSEGV)\n";
        let log = Log::parse(text);
        let loaded = Loaded {
            path: "/tmp/a b".into(),
            bias: 0x10_8000,
        };
        assert_eq!(log.loaded, [loaded]);
        assert!(log.started);
        assert_eq!(log.parent, Some(6));
        assert_eq!(log.signal.as_deref(), Some("11 (SIGSEGV)"));
    }

    proptest! {
        #[test]
        fn arbitrary_text_does_not_panic(text in "(==|--|[0-9]|svma |, avma |0x|Reading syms from |\n|\\PC){0,60}") {
            let _ = Log::parse(&text);
        }
    }
}
