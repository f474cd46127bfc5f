//! Errors of reading recordings, and of sampling and counting.

use std::path::PathBuf;

/// Why a recording could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be opened or mapped.
    #[error("cannot read {path}: {source}")]
    Io {
        /// Its path.
        path: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
    /// The file is not perf.data.
    #[error("{0} is not a perf.data recording: it does not start with PERFILE2")]
    NotARecording(String),
    /// The file was recorded on a machine of the other byte order.
    #[error("{0} was recorded on a big-endian machine, which genba cannot read")]
    BigEndian(String),
    /// The file is malformed so that none of it can be read.
    #[error("{name} is damaged: {what}")]
    Damaged {
        /// The recording.
        name: String,
        /// What is wrong, and where.
        what: String,
    },
    /// Compressed records that cannot be unpacked.
    #[error(
        "{0} is compressed (`perf record -z`), which genba cannot read; \
         unpack it first: perf inject -i {0} -o unpacked.data"
    )]
    Compressed(String),
    /// The requested event is not in the file.
    #[error("{name} has no event `{event}`; it has: {known}")]
    NoSuchEvent {
        /// The recording.
        name: String,
        /// The requested event.
        event: String,
        /// The events in the file.
        known: String,
    },
    /// The file describes more mappings than any real recording.
    #[error("{0} is damaged: it describes more than {1} memory mappings at once")]
    TooMuch(String, usize),
}

/// Why sampling or counting could not be done.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// An event name is not known.
    #[error(
        "unknown event `{0}`; {suggestion}known events, each with modifiers :u :k :p :pp :P: {known}, raw ones (r01c2), PMU/TERMS/, SYSTEM:TRACEPOINT",
        suggestion = crate::event::suggestion(.0),
        known = crate::event::known_names()
    )]
    UnknownEvent(String),
    /// The kernel's files do not describe the event.
    #[error("this machine has no event `{event}`: {why}")]
    EventNotHere {
        /// The event.
        event: String,
        /// What is missing.
        why: String,
    },
    /// Issue slots cannot be counted on this processor: why, and what to do instead.
    #[error("{0}")]
    NoTopdown(String),
    /// No event of this machine says which data instructions access: what is missing, and what to use.
    #[error("this machine cannot sample data addresses: {0}")]
    NoDataAddresses(&'static str),
    /// The kernel refuses perf_event_open to this user.
    #[error("{0}")]
    Forbidden(crate::permission::Refusal),
    /// The machine or kernel lacks the event.
    #[error("this machine cannot sample `{event}`: {why}")]
    NotSupported {
        /// The event.
        event: String,
        /// The system's message.
        why: String,
    },
    /// perf_event_open failed for another reason, or a ring buffer cannot be mapped.
    #[error("cannot sample `{event}`: {what}: {source}")]
    Perf {
        /// The event.
        event: String,
        /// The step that failed.
        what: &'static str,
        /// The system's message.
        source: std::io::Error,
    },
    /// The user may not watch whole CPUs; the value of `kernel.perf_event_paranoid`.
    #[error("whole CPUs may be watched by root, or where kernel.perf_event_paranoid is 0 or less; it is {}\n  run genba as root", .0.map_or("unknown".to_owned(), |level| level.to_string()))]
    SystemWide(Option<i32>),
    /// A CPU that is not online.
    #[error("there is no CPU {0}; those of this machine: cat /sys/devices/system/cpu/online")]
    NoSuchCpu(i32),
    /// The process to attach to does not exist or belongs to another user.
    #[error("cannot attach to process {pid}: {why}")]
    Attach {
        /// The process.
        pid: i32,
        /// The reason and what to do.
        why: String,
    },
    /// The recording could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The recording.
        path: PathBuf,
        /// The system's message.
        source: std::io::Error,
    },
    /// The timer-signal sampler cannot work on this target.
    #[error("cannot sample {target} with timer signals: {why}")]
    Timer {
        /// The program.
        target: String,
        /// What prevents it.
        why: String,
    },
    /// The target could not be started or waited for.
    #[error(transparent)]
    Run(#[from] genba_run::RunError),
    /// genba itself failed.
    #[error("{0}")]
    Internal(String),
}
