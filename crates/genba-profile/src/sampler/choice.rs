//! Which event to sample here, and why, so that it can be said aloud.

use std::hint::black_box;
use std::io;
use std::os::fd::AsRawFd;

use perf_event_open_sys::bindings::perf_event_attr;

use super::options::{Rate, RecordOptions};
use super::ring::{Ring, Seen};
use super::sys;
use crate::error::ProfileError;
use crate::event::EventSpec;
use crate::permission;

/// What will be sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The event, with what is excluded.
    pub event: EventSpec,
    /// Precision that the machine gave, 0…3.
    pub precise_ip: u8,
    /// Whether the kernel is sampled too.
    pub kernel: bool,
    /// How often.
    pub rate: Rate,
    /// Why this event: a sentence.
    pub reason: String,
    /// What is less than asked for, a sentence each, with the command that mends it.
    pub notes: Vec<String>,
}

impl Choice {
    /// perf's name with modifiers.
    #[must_use]
    pub fn name(&self) -> String {
        let mut event = self.event.clone();
        event.exclude_kernel = !self.kernel;
        event.precise = self.precise_ip;
        event.full_name()
    }
}

/// Why hardware cycles cannot be sampled here.
fn probe_cycles() -> Result<(), String> {
    let open = |period: u64| {
        let mut attr = perf_event_attr::default(); // hardware, cycles
        attr.__bindgen_anon_1.sample_period = period;
        attr.sample_type = 1;
        attr.read_format = 3; // time enabled, time running
        attr.set_disabled(1);
        attr.set_exclude_kernel(1);
        attr.set_exclude_hv(1);
        attr.set_exclude_guest(1);
        sys::open(&mut attr, 0, -1)
    };
    const PERIOD: u64 = 100_000;
    let fd = open(PERIOD).map_err(|e| match e.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            "this machine has no cycle counter".to_owned()
        }
        _ => format!("the cycle counter cannot be opened: {e}"),
    })?;
    let mut ring = Ring::map(&fd, 8).map_err(|e| format!("no ring for the cycle counter: {e}"))?;
    sys::enable(&fd).map_err(|e| format!("the cycle counter does not start: {e}"))?;
    // A chain of dependent multiplications: 3 cycles or more each on any x86-64.
    const STEPS: u64 = 1_000_000;
    let mut x = 3u64;
    for _ in 0..STEPS {
        x = black_box(x.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }
    black_box(x);
    let stopped = sys::disable(&fd);
    let mut values = [0u64; 3];
    // SAFETY: reads at most the 24 bytes that `values` has.
    let n = unsafe { libc::read(fd.as_raw_fd(), values.as_mut_ptr().cast(), 24) };
    if stopped.is_err() || n != 24 {
        return Err("the cycle counter cannot be read".to_owned());
    }
    let mut seen = Seen::default();
    let drained = ring.drain(&mut seen, &mut |_| Ok(()));
    match (values[0], values[2], seen.samples) {
        (_, 0, _) => Err("the cycle counter is never scheduled (others hold it)".to_owned()),
        // Fewer cycles than multiplications: it does not count.
        (count, ..) if count < STEPS => Err(format!(
            "the cycle counter counts {count} cycles where there were millions"
        )),
        (_, _, 0) => Err("the cycle counter counts but never interrupts".to_owned()),
        _ if drained.is_err() => Err("the cycle counter's ring cannot be read".to_owned()),
        _ => Ok(()),
    }
}

/// Whether cycles can be counted *and* sampled in hardware: opens the counter, runs a known
/// piece of work (a few ms) and looks at what comes.
///
/// # Errors
/// The reason in words, if they cannot.
pub fn hardware_cycles_work() -> Result<(), String> {
    probe_cycles()
}

fn refused(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EACCES | libc::EPERM | libc::ENOSYS)
    )
}

/// Opens the event for this thread, on any CPU, only to see whether the kernel takes it.
fn takes(event: &EventSpec, precise_ip: u8, exclude_kernel: bool, rate: Rate) -> io::Result<()> {
    let mut attr = perf_event_attr {
        type_: event.kind,
        config: event.config,
        ..Default::default()
    };
    match rate {
        Rate::Frequency(hz) => {
            attr.set_freq(1);
            attr.__bindgen_anon_1.sample_freq = hz;
        }
        Rate::Period(n) => attr.__bindgen_anon_1.sample_period = n,
    }
    attr.sample_type = 1;
    attr.set_disabled(1);
    attr.set_exclude_user(event.exclude_user.into());
    attr.set_exclude_kernel(exclude_kernel.into());
    attr.set_exclude_hv(exclude_kernel.into());
    attr.set_exclude_guest(1);
    attr.set_precise_ip(precise_ip.into());
    sys::open(&mut attr, 0, -1).map(drop)
}

/// The most that the kernel allows now, Hz; it lowers this by itself when sampling is slow.
#[must_use]
pub fn max_sample_rate() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").ok()?;
    text.trim().parse().ok()
}

/// Decides what to sample: the event asked for, else hardware cycles where they really work,
/// else `cpu-clock`. User code only where the kernel is refused.
///
/// # Errors
/// [`ProfileError::Forbidden`] where perf events are refused altogether,
/// [`ProfileError::NotSupported`] where the machine lacks an event that was asked for by name.
pub fn choose(options: &RecordOptions) -> Result<Choice, ProfileError> {
    let mut notes = Vec::new();
    let (event, reason) = match &options.event {
        Some(event) => (event.clone(), "asked for".to_owned()),
        None => match probe_cycles() {
            Ok(()) => (
                EventSpec::parse("cycles")?,
                "hardware cycles work here".to_owned(),
            ),
            Err(why) => (
                EventSpec::parse("cpu-clock")?,
                format!("{why}; the kernel's clock instead"),
            ),
        },
    };
    let rate = limited(options.rate, max_sample_rate(), &mut notes);
    let mut kernel = !event.exclude_kernel && !options.user_only;
    let wanted = if event.precise == EventSpec::HIGHEST {
        3
    } else {
        event.precise
    };
    let mut precise_ip = wanted;
    loop {
        match takes(&event, precise_ip, !kernel, rate) {
            Ok(()) => break,
            Err(e) if refused(&e) && kernel && !event.exclude_user => {
                kernel = false;
                notes.push(permission::kernel_refused(permission::paranoid()).to_string());
            }
            Err(e) if refused(&e) => {
                let refusal = permission::all_refused(permission::paranoid(), &e);
                return Err(ProfileError::Forbidden(refusal));
            }
            Err(_) if precise_ip > 0 => precise_ip -= 1,
            Err(e) => {
                return Err(ProfileError::NotSupported {
                    event: event.full_name(),
                    why: e.to_string(),
                });
            }
        }
    }
    if precise_ip < wanted && event.precise != EventSpec::HIGHEST {
        notes.push(format!(
            "{} was asked for with precision {wanted}; this machine gives {precise_ip}",
            event.name
        ));
    }
    Ok(Choice {
        event,
        precise_ip,
        kernel,
        rate,
        reason,
        notes,
    })
}

fn limited(rate: Rate, most: Option<u64>, notes: &mut Vec<String>) -> Rate {
    match (rate, most) {
        (Rate::Frequency(hz), Some(most)) if hz > most && most > 0 => {
            notes.push(format!(
                "{hz} samples a second are more than the kernel allows now; {most} are taken\n  \
                 to allow it: sudo sysctl kernel.perf_event_max_sample_rate={hz}"
            ));
            Rate::Frequency(most)
        }
        _ => rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_limited_aloud() {
        let mut notes = Vec::new();
        assert_eq!(
            limited(Rate::Frequency(100), Some(99), &mut notes),
            Rate::Frequency(99)
        );
        assert!(notes[0].contains("perf_event_max_sample_rate=100"));
        assert_eq!(
            limited(Rate::Period(5), Some(1), &mut notes),
            Rate::Period(5)
        );
        assert_eq!(notes.len(), 1);
    }

    #[test]
    fn everything_forbidden_is_an_explained_error() {
        sys::REFUSE.set(Some(libc::EPERM));
        let error = choose(&RecordOptions::default());
        sys::REFUSE.set(None);
        assert!(
            matches!(error, Err(ProfileError::Forbidden(_))),
            "{error:?}"
        );
    }

    #[test]
    fn an_event_that_is_not_there_is_named() {
        sys::REFUSE.set(Some(libc::ENOENT));
        let options = RecordOptions {
            event: Some(EventSpec::parse("cycles:pp").unwrap()),
            ..RecordOptions::default()
        };
        let error = choose(&options).unwrap_err().to_string();
        sys::REFUSE.set(None);
        assert!(error.contains("cycles:pp"), "{error}");
    }
}
