//! What can go wrong, said so that a person can act on it.

use std::path::PathBuf;

/// Why a recording could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be opened or mapped.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no perf.data at all.
    #[error("{0} is not a recording: it does not begin as perf.data does (PERFILE2)")]
    NotARecording(String),
    /// Recorded on a machine of the other byte order.
    #[error("{0} was recorded on a big-endian machine, which genba cannot read")]
    BigEndian(String),
    /// The file breaks its own rules in a way that leaves nothing to read.
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
    /// The event asked for is not in the file.
    #[error("{name} has no event `{event}`; it has: {known}")]
    NoSuchEvent {
        /// The recording.
        name: String,
        /// What was asked for.
        event: String,
        /// What there is.
        known: String,
    },
    /// More address-space state than any real recording has.
    #[error("{0} describes more than {1} memory mappings at once: taken for damaged")]
    TooMuch(String, usize),
}

/// Why sampling or counting could not be done.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// An event name that is not known.
    #[error(
        "unknown event `{0}`; known are {known}, each with modifiers :u :k :p :pp :P",
        known = crate::event::known_names()
    )]
    UnknownEvent(String),
    /// The kernel refuses perf_event_open to this user.
    #[error("{0}")]
    Forbidden(crate::permission::Refusal),
    /// The machine or kernel lacks the event.
    #[error("this machine cannot sample `{event}`: {why}")]
    NotSupported {
        /// The event.
        event: String,
        /// The system's words.
        why: String,
    },
    /// Another failure of perf_event_open or its ring buffers.
    #[error("cannot sample `{event}`: {what}: {source}")]
    Perf {
        /// The event.
        event: String,
        /// The step that failed.
        what: &'static str,
        /// The system's words.
        source: std::io::Error,
    },
    /// The process to attach to is not there, or not ours.
    #[error("cannot attach to process {pid}: {why}")]
    Attach {
        /// The process.
        pid: i32,
        /// What is the matter and what to do.
        why: String,
    },
    /// The recording could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The recording.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The timer-signal sampler cannot work on this target.
    #[error("cannot sample {target} with timer signals: {why}")]
    Timer {
        /// The program.
        target: String,
        /// Why.
        why: String,
    },
    /// The target could not be started or waited for.
    #[error(transparent)]
    Run(#[from] genba_run::RunError),
    /// Something of genba's own that went wrong.
    #[error("{0}")]
    Internal(String),
}
