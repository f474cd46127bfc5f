//! `$GENBA_METRICS_FD`: metrics that a target reports as lines `name value [unit]`.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use genba_run::{PassFd, RunError};
use rustix::fs::{MemfdFlags, OFlags};

use crate::output_metric::shorten;

/// Environment variable that holds the number of the descriptor.
pub const VARIABLE: &str = "GENBA_METRICS_FD";

/// Number of the descriptor in the target.
const DESCRIPTOR: i32 = 3;
/// Bytes of a run that are read at most.
const MAX_BYTES: usize = 1 << 20;
/// Metrics of a run at most.
const MAX_METRICS: usize = 1000;
/// Longest name and unit, characters.
const MAX_CHARACTERS: usize = 100;

/// A metric that a target reported.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelValue {
    /// Name of the metric.
    pub name: String,
    /// Its value, finite.
    pub value: f64,
    /// Its unit; empty if none was given.
    pub unit: String,
}

/// Parses what a run wrote. The last line of a name counts. The first invalid line becomes a
/// complaint that continues "VARIANT, run N: ".
#[must_use]
pub fn parse(bytes: &[u8]) -> (Vec<ChannelValue>, Vec<String>) {
    let mut values: Vec<ChannelValue> = Vec::new();
    let mut complaints = Vec::new();
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match parse_line(line) {
            Ok(found) => match values.iter().position(|value| value.name == found.name) {
                Some(known) => values[known] = found,
                None if values.len() < MAX_METRICS => values.push(found),
                None => {
                    complaints.push(format!("more than {MAX_METRICS} metrics on ${VARIABLE}"));
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
            "{:?} on ${VARIABLE} does not have the form `name value [unit]`",
            shorten(line)
        ));
    };
    if name.chars().count() > MAX_CHARACTERS {
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
            .take(MAX_CHARACTERS)
            .collect(),
    })
}

/// The memory file that targets write to. A pipe would have to be read while they run, and a full
/// one would block them.
#[derive(Debug)]
pub struct Channel {
    memory: Arc<OwnedFd>,
}

impl Channel {
    /// Creates the file.
    ///
    /// # Errors
    /// The kernel has no memory or no descriptor left.
    pub fn new() -> Result<Self, RunError> {
        let fail = |source: rustix::io::Errno| RunError::Descriptor {
            number: DESCRIPTOR,
            why: format!("cannot create a memory file for ${VARIABLE}: {source}"),
        };
        let memory =
            rustix::fs::memfd_create("genba-metrics", MemfdFlags::CLOEXEC).map_err(fail)?;
        // Appending: after truncation the next run starts at the beginning, and concurrent
        // writers do not overwrite each other.
        rustix::fs::fcntl_setfl(&memory, OFlags::APPEND).map_err(fail)?;
        Ok(Self {
            memory: Arc::new(memory),
        })
    }

    /// The descriptor and variable for the target.
    #[must_use]
    pub fn pass(&self) -> PassFd {
        PassFd {
            fd: Arc::clone(&self.memory),
            number: DESCRIPTOR,
            variable: Some(VARIABLE.into()),
        }
    }

    /// Takes what a run wrote, at most 1 MiB, and empties the file.
    #[must_use]
    pub fn take(&self) -> Vec<u8> {
        let memory = self.memory.as_fd();
        let size = rustix::fs::fstat(memory).map_or(0, |stat| stat.st_size);
        if size <= 0 {
            return Vec::new();
        }
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(MAX_BYTES).min(MAX_BYTES)];
        let mut at = 0;
        while let Some(rest) = bytes.get_mut(at..).filter(|rest| !rest.is_empty()) {
            match rustix::io::pread(memory, rest, at as u64) {
                Ok(0) | Err(_) => break,
                Ok(count) => at += count,
            }
        }
        bytes.truncate(at);
        // If the file cannot be emptied, the next run would report these values again.
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
    fn last_line_of_a_name_counts_and_invalid_lines_are_reported() {
        let (values, complaints) = parse(b"hits 12 op/s\nmisses 3\n\nhits 13 op/s\nbad\nworse x\n");
        assert_eq!(values.len(), 2);
        assert_eq!((values[0].value, values[0].unit.as_str()), (13.0, "op/s"));
        assert_eq!((values[1].value, values[1].unit.as_str()), (3.0, ""));
        assert_eq!(complaints.len(), 1);
    }

    #[test]
    fn more_metrics_than_the_limit_are_refused() {
        let many: String = (0..2000).map(|i| format!("m{i} 1\n")).collect();
        let (values, complaints) = parse(many.as_bytes());
        assert_eq!((values.len(), complaints.len()), (MAX_METRICS, 1));
    }

    #[test]
    fn taking_the_metrics_empties_the_file() {
        let channel = Channel::new().expect("a channel");
        rustix::io::write(&*channel.memory, b"a 1\n").expect("a write");
        assert_eq!(channel.take(), b"a 1\n");
        assert_eq!(channel.take(), b"");
        rustix::io::write(&*channel.memory, b"b 2\n").expect("a write");
        assert_eq!(channel.take(), b"b 2\n");
    }

    proptest! {
        #[test]
        fn any_bytes_give_finite_values(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            let (values, _) = parse(&bytes);
            prop_assert!(values.iter().all(|value| value.value.is_finite()));
        }
    }
}
