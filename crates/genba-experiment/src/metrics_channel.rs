//! `$GENBA_METRICS_FD`: lines `name value [unit]` that a target writes about itself.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use genba_run::{PassFd, RunError};
use rustix::fs::{MemfdFlags, OFlags};

use crate::output_metric::shorten;

/// Variable of the environment that names the descriptor.
pub const VARIABLE: &str = "GENBA_METRICS_FD";

/// Number under which targets get it.
const NUMBER: i32 = 3;
/// Most that is read of what a run wrote, bytes.
const MOST_BYTES: usize = 1 << 20;
/// Most metrics of a run.
const MOST_METRICS: usize = 1000;
/// Longest name and unit, characters.
const LONGEST: usize = 100;

/// One line of a target's.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelValue {
    /// Name.
    pub name: String,
    /// Value.
    pub value: f64,
    /// Unit; empty if none was given.
    pub unit: String,
}

/// Reads what a run wrote. The last line of a name counts. A line that cannot be understood
/// becomes a complaint, in words that follow "VARIANT, run N: ".
#[must_use]
pub fn parse(bytes: &[u8]) -> (Vec<ChannelValue>, Vec<String>) {
    let mut values: Vec<ChannelValue> = Vec::new();
    let mut complaints = Vec::new();
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match parse_line(line) {
            Ok(found) => match values.iter().position(|value| value.name == found.name) {
                Some(known) => values[known] = found,
                None if values.len() < MOST_METRICS => values.push(found),
                None => {
                    complaints.push(format!(
                        "it wrote more than {MOST_METRICS} metrics to ${VARIABLE}"
                    ));
                    break;
                }
            },
            Err(what) if complaints.is_empty() => complaints.push(what),
            Err(_) => {}
        }
    }
    (values, complaints)
}

fn parse_line(line: &str) -> Result<ChannelValue, String> {
    let mut words = line.split_whitespace();
    let (Some(name), Some(value)) = (words.next(), words.next()) else {
        return Err(format!(
            "{:?} on ${VARIABLE} is not of the form `name value [unit]`",
            shorten(line)
        ));
    };
    if name.chars().count() > LONGEST {
        return Err(format!(
            "the name {:?}… on ${VARIABLE} is too long",
            shorten(name)
        ));
    }
    let value = genba_units::parse_number(value)
        .map_err(|what| format!("metric {name} on ${VARIABLE}: {what}"))?;
    Ok(ChannelValue {
        name: name.to_owned(),
        value,
        unit: words
            .next()
            .unwrap_or_default()
            .chars()
            .take(LONGEST)
            .collect(),
    })
}

/// The file in memory that targets write to. A pipe would have to be read while they run, and
/// one that is full would stop them.
#[derive(Debug)]
pub struct Channel {
    memory: Arc<OwnedFd>,
}

impl Channel {
    /// Makes one.
    ///
    /// # Errors
    /// When the kernel has no memory or no descriptor left.
    pub fn new() -> Result<Self, RunError> {
        let fail = |source: rustix::io::Errno| RunError::Descriptor {
            number: NUMBER,
            why: format!("no file in memory for ${VARIABLE}: {source}"),
        };
        let memory =
            rustix::fs::memfd_create("genba-metrics", MemfdFlags::CLOEXEC).map_err(fail)?;
        // Appending: after the file is emptied the next run starts at its beginning, and
        // processes that write at once do not overwrite one another.
        rustix::fs::fcntl_setfl(&memory, OFlags::APPEND).map_err(fail)?;
        Ok(Self {
            memory: Arc::new(memory),
        })
    }

    /// What the target is to be given.
    #[must_use]
    pub fn pass(&self) -> PassFd {
        PassFd {
            fd: Arc::clone(&self.memory),
            number: NUMBER,
            variable: Some(VARIABLE.into()),
        }
    }

    /// Takes out what a run wrote, at most a mebibyte of it.
    #[must_use]
    pub fn take(&self) -> Vec<u8> {
        let memory = self.memory.as_fd();
        let size = rustix::fs::fstat(memory).map_or(0, |stat| stat.st_size);
        if size <= 0 {
            return Vec::new();
        }
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(MOST_BYTES).min(MOST_BYTES)];
        let mut at = 0;
        while let Some(rest) = bytes.get_mut(at..).filter(|rest| !rest.is_empty()) {
            match rustix::io::pread(memory, rest, at as u64) {
                Ok(0) | Err(_) => break,
                Ok(count) => at += count,
            }
        }
        bytes.truncate(at);
        // A file that cannot be emptied would give the next run this run's values.
        if rustix::fs::ftruncate(memory, 0).is_err() {
            return Vec::new();
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines() {
        let (values, complaints) = parse(b"hits 12 op/s\nmisses 3\n\nhits 13 op/s\nbad\nworse x\n");
        assert_eq!(values.len(), 2);
        assert_eq!((values[0].value, values[0].unit.as_str()), (13.0, "op/s"));
        assert_eq!((values[1].value, values[1].unit.as_str()), (3.0, ""));
        assert_eq!(complaints.len(), 1);
    }

    #[test]
    fn too_many_are_refused() {
        let many: String = (0..2000).map(|i| format!("m{i} 1\n")).collect();
        let (values, complaints) = parse(many.as_bytes());
        assert_eq!((values.len(), complaints.len()), (MOST_METRICS, 1));
    }

    #[test]
    fn each_run_starts_empty() {
        let channel = Channel::new().expect("a channel");
        rustix::io::write(&*channel.memory, b"a 1\n").expect("a write");
        assert_eq!(channel.take(), b"a 1\n");
        assert_eq!(channel.take(), b"");
        rustix::io::write(&*channel.memory, b"b 2\n").expect("a write");
        assert_eq!(channel.take(), b"b 2\n");
    }

    proptest! {
        #[test]
        fn anything_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let (values, _) = parse(&bytes);
            prop_assert!(values.iter().all(|value| value.value.is_finite()));
        }
    }
}
