//! Opening what a target's streams need.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

use crate::output::Reader;
use crate::protocol::stream;
use crate::{CommandSpec, Output, RunError, Stdin};

/// Capacity of a pipe that genba reads, if the kernel allows: fewer waits for the target.
const PIPE: usize = 1 << 20;

/// The streams of one run.
pub struct Streams {
    /// For the start request.
    pub kinds: [u8; 3],
    /// What goes over to the launcher, in order; genba's copies close when dropped.
    passed: Vec<OwnedFd>,
    extra: Option<Arc<OwnedFd>>,
    /// stdout's and stderr's reading ends.
    pub readers: [Option<Reader>; 2],
}

impl Streams {
    /// Opens files and makes pipes as the spec says.
    pub fn open(spec: &CommandSpec) -> Result<Self, RunError> {
        let mut streams = Self {
            kinds: [stream::NULL; 3],
            passed: Vec::new(),
            extra: spec.pass_fd.as_ref().map(|pass| Arc::clone(&pass.fd)),
            readers: [None, None],
        };
        let (kind, fd) = open_stdin(&spec.stdin)?;
        streams.kinds[0] = kind;
        streams.passed.extend(fd);
        for (index, (output, name)) in [(&spec.stdout, "stdout"), (&spec.stderr, "stderr")]
            .into_iter()
            .enumerate()
        {
            let (kind, fd, reader) = open_output(output, name)?;
            streams.kinds[index + 1] = kind;
            streams.passed.extend(fd);
            streams.readers[index] = reader;
        }
        Ok(streams)
    }

    /// Descriptors to send with the request.
    pub fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let extra = self.extra.as_deref().map(AsFd::as_fd);
        self.passed.iter().map(AsFd::as_fd).chain(extra).collect()
    }

    /// Closes genba's copies of what the target has; gives the reading ends.
    pub fn into_readers(self) -> [Option<Reader>; 2] {
        self.readers
    }
}

fn open_stdin(stdin: &Stdin) -> Result<(u8, Option<OwnedFd>), RunError> {
    match stdin {
        Stdin::Null => Ok((stream::NULL, None)),
        Stdin::Inherit => Ok((stream::INHERIT, None)),
        Stdin::File(path) => match File::open(path) {
            Ok(file) => Ok((stream::PASSED, Some(file.into()))),
            Err(source) => Err(RunError::Stream {
                stream: "stdin",
                path: path.clone(),
                source,
            }),
        },
        Stdin::Bytes(bytes) => {
            let error = |errno| RunError::io("put stdin into memory", errno);
            let memory = memfd_create(c"genba-stdin", MemfdFlags::CLOEXEC).map_err(error)?;
            let mut at = 0;
            while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
                // `pwrite` leaves the position at 0, where the target starts to read.
                at += rustix::io::pwrite(&memory, rest, at as u64).map_err(error)?;
            }
            Ok((stream::PASSED, Some(memory)))
        }
    }
}

fn open_output(
    output: &Output,
    name: &'static str,
) -> Result<(u8, Option<OwnedFd>, Option<Reader>), RunError> {
    let limit = match output {
        Output::Null => return Ok((stream::NULL, None, None)),
        Output::Inherit => return Ok((stream::INHERIT, None, None)),
        Output::File(path) => {
            let file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .open(path);
            let file = file.map_err(|source| RunError::Stream {
                stream: name,
                path: path.clone(),
                source,
            })?;
            return Ok((stream::PASSED, Some(file.into()), None));
        }
        Output::Count => 0,
        Output::Capture { limit } => *limit,
    };
    let error = |errno| RunError::io("make a pipe for the target's output", errno);
    let (reading, writing) = pipe_with(PipeFlags::CLOEXEC).map_err(error)?;
    // Only genba's end does not wait: the two ends are two open files.
    rustix::fs::fcntl_setfl(&reading, rustix::fs::OFlags::NONBLOCK).map_err(error)?;
    // Refused to users with many pipes; then it is the usual 64 KiB.
    let _ = fcntl_setpipe_size(&reading, PIPE);
    Ok((
        stream::PASSED,
        Some(writing),
        Some(Reader::new(reading, limit)),
    ))
}
