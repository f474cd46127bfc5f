//! How often to sample: the default rate, and the limit that the kernel sets.

use perf_event_open_sys::bindings::perf_event_attr;

/// Default sampling rate, Hz of CPU time: fine enough for single instructions, and a prime, so
/// that it is not in step with anything periodic.
pub const DEFAULT_RATE_HZ: u64 = 4999;

/// How often to sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Samples per second of CPU time (`-F`), Hz.
    Frequency(u64),
    /// Events from one sample to the next (`-c`).
    Period(u64),
}

impl Default for Rate {
    fn default() -> Self {
        Self::Frequency(DEFAULT_RATE_HZ)
    }
}

impl Rate {
    /// Writes the rate into an event's attribute.
    pub(super) fn set(self, attr: &mut perf_event_attr) {
        match self {
            Self::Frequency(hz) => {
                attr.set_freq(1);
                attr.__bindgen_anon_1.sample_freq = hz;
            }
            Self::Period(events) => attr.__bindgen_anon_1.sample_period = events,
        }
    }

    /// The rate, or the kernel's limit where that is lower; a note tells the user.
    pub(super) fn limited(self, max_hz: Option<u64>, notes: &mut Vec<String>) -> Self {
        match (self, max_hz) {
            (Self::Frequency(hz), Some(max)) if hz > max && max > 0 => {
                notes.push(format!(
                    "the kernel allows at most {max} samples per second now: sampling at {max} Hz \
                     instead of {hz} Hz\n  \
                     to allow it: sudo sysctl kernel.perf_event_max_sample_rate={hz}"
                ));
                Self::Frequency(max)
            }
            _ => self,
        }
    }
}

/// The highest frequency that the kernel allows now, Hz. The kernel lowers it when sampling
/// interrupts take too long.
#[must_use]
pub fn max_sample_rate_hz() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequency_above_the_kernels_limit_is_lowered_with_a_note() {
        let mut notes = Vec::new();
        let rate = Rate::Frequency(100).limited(Some(99), &mut notes);
        assert_eq!(rate, Rate::Frequency(99));
        assert!(notes[0].contains("perf_event_max_sample_rate=100"));
        assert_eq!(
            Rate::Period(5).limited(Some(1), &mut notes),
            Rate::Period(5)
        );
        assert_eq!(notes.len(), 1);
    }
}
