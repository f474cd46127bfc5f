//! Which event to sample here, and why, so that it can be said aloud.

use std::hint::black_box;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use perf_event_open_sys::bindings::perf_event_attr;
use rustix::time::{ClockId, clock_gettime};

use super::record_options::{Rate, RecordOptions};
use super::ring_buffer::{Ring, SampleCounts};
use super::syscalls;
use crate::error::ProfileError;
use crate::event::EventSpec;
use crate::permission;

/// What will be sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventChoice {
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

impl EventChoice {
    /// perf's name with modifiers.
    #[must_use]
    pub fn name(&self) -> String {
        let mut event = self.event.clone();
        event.exclude_kernel = !self.kernel;
        event.precise = self.precise_ip;
        event.full_name()
    }
}

/// Multiplications of one piece of the probe's work: some 5 ms.
const PROBE_STEPS: u64 = 5_000_000;

/// How often the probe's work is timed with and without sampling, after a first time in which
/// the kernel finds the period that gives the frequency.
const PROBE_ROUNDS: usize = 3;

/// CPU time of this thread so far.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // Since the thread's start, so neither part is negative.
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs() as u32,
    )
}

/// Does a known piece of work, a chain of dependent multiplications of 3 cycles or more each on
/// any x86-64, and says what CPU time it took: with the interrupts, without other processes.
fn work() -> Duration {
    let started = cpu_time();
    let mut x = 3u64;
    for _ in 0..PROBE_STEPS {
        x = black_box(x.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    }
    black_box(x);
    cpu_time().saturating_sub(started)
}

/// By what share sampling cycles at this rate slows a program, or why they cannot be sampled
/// here.
fn probe_cycles(rate: Rate) -> Result<f64, String> {
    let mut attr = perf_event_attr::default(); // hardware, cycles
    match rate {
        Rate::Frequency(hz) => {
            attr.set_freq(1);
            attr.__bindgen_anon_1.sample_freq = hz;
        }
        Rate::Period(cycles) => attr.__bindgen_anon_1.sample_period = cycles,
    }
    attr.sample_type = 1;
    attr.read_format = 3; // time enabled, time running
    attr.set_disabled(1);
    attr.set_exclude_kernel(1);
    attr.set_exclude_hv(1);
    attr.set_exclude_guest(1);
    let fd = syscalls::open(&mut attr, 0, -1).map_err(|e| match e.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
            "this machine has no cycle counter".to_owned()
        }
        _ => format!("the cycle counter cannot be opened: {e}"),
    })?;
    let mut ring = Ring::map(&fd, 8).map_err(|e| format!("no ring for the cycle counter: {e}"))?;
    let sampled_work = || -> Result<Duration, String> {
        syscalls::enable(&fd).map_err(|e| format!("the cycle counter does not start: {e}"))?;
        let time = work();
        syscalls::disable(&fd).map_err(|e| format!("the cycle counter does not stop: {e}"))?;
        Ok(time)
    };
    sampled_work()?;
    let (mut plain, mut sampled) = (Duration::MAX, Duration::MAX);
    for _ in 0..PROBE_ROUNDS {
        plain = plain.min(work());
        sampled = sampled.min(sampled_work()?);
    }
    let mut values = [0u64; 3];
    // SAFETY: reads at most the 24 bytes that `values` has.
    let n = unsafe { libc::read(fd.as_raw_fd(), values.as_mut_ptr().cast(), 24) };
    if n != 24 {
        return Err("the cycle counter cannot be read".to_owned());
    }
    let mut seen = SampleCounts::default();
    let drained = ring.drain(&mut seen, &mut |_| Ok(()));
    // A period longer than all of the probe's work gives no sample, and that is no fault.
    let few = matches!(rate, Rate::Period(cycles) if cycles > PROBE_STEPS)
        || matches!(rate, Rate::Frequency(hz) if hz < 1000);
    match (values[0], values[2], seen.samples) {
        (_, 0, _) => Err("the cycle counter is never scheduled (others hold it)".to_owned()),
        // Fewer cycles than multiplications: it does not count.
        (count, ..) if count < PROBE_STEPS => Err(format!(
            "the cycle counter counts {count} cycles where there were millions"
        )),
        (_, _, 0) if !few => Err("the cycle counter counts but never interrupts".to_owned()),
        _ if drained.is_err() => Err("the cycle counter's ring cannot be read".to_owned()),
        _ => Ok((sampled.as_secs_f64() / plain.as_secs_f64().max(1e-9) - 1.0).max(0.0)),
    }
}

/// Whether cycles can be counted *and* sampled in hardware: opens the counter, runs a known
/// piece of work (some 50 ms) and looks at what comes.
///
/// # Errors
/// The reason in words, if they cannot.
pub fn hardware_cycles_work() -> Result<(), String> {
    probe_cycles(Rate::default()).map(drop)
}

/// Sampling that slows the target by more than this share is not chosen unasked: in virtual
/// machines an interrupt of the counter may cost ten times what the kernel's clock costs.
const MOST_SLOWDOWN: f64 = 0.03;

/// The event to sample when none was asked for, and why: cycles where the machine has a counter
/// that is not too dear, else the kernel's clock.
fn unasked(probe: Result<f64, String>) -> (&'static str, String) {
    match probe {
        Err(why) => ("cpu-clock", format!("{why}; the kernel's clock instead")),
        Ok(slowdown) if slowdown <= MOST_SLOWDOWN => {
            ("cycles", "hardware cycles work here".to_owned())
        }
        Ok(slowdown) => (
            "cpu-clock",
            format!(
                "sampling the cycle counter slows programs by {:.0} % here; the kernel's clock \
                 instead (-e cycles to have them all the same)",
                slowdown * 100.0
            ),
        ),
    }
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
    syscalls::open(&mut attr, 0, -1).map(drop)
}

/// The most that the kernel allows now, Hz; it lowers this by itself when sampling is slow.
fn max_sample_rate() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").ok()?;
    text.trim().parse().ok()
}

/// Decides what to sample: the event asked for, else hardware cycles where they really work,
/// else `cpu-clock`. User code only where the kernel is refused.
///
/// # Errors
/// [`ProfileError::Forbidden`] where perf events are refused altogether,
/// [`ProfileError::NotSupported`] where the machine lacks an event that was asked for by name.
pub fn choose_event(options: &RecordOptions) -> Result<EventChoice, ProfileError> {
    let mut notes = Vec::new();
    let (event, reason) = match &options.event {
        Some(event) => (event.clone(), "asked for".to_owned()),
        None => {
            let (name, reason) = unasked(probe_cycles(options.rate));
            (EventSpec::parse(name)?, reason)
        }
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
    Ok(EventChoice {
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
    fn a_dear_counter_is_left_for_the_clock_and_that_is_said() {
        assert_eq!(unasked(Ok(0.01)).0, "cycles");
        let (event, reason) = unasked(Ok(0.07));
        assert_eq!(event, "cpu-clock");
        assert!(
            reason.contains("7 %") && reason.contains("-e cycles"),
            "{reason}"
        );
        let (event, reason) = unasked(Err("no counter".to_owned()));
        assert_eq!(event, "cpu-clock");
        assert!(reason.contains("no counter"), "{reason}");
    }

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
        syscalls::REFUSE.set(Some(libc::EPERM));
        let error = choose_event(&RecordOptions::default());
        syscalls::REFUSE.set(None);
        assert!(
            matches!(error, Err(ProfileError::Forbidden(_))),
            "{error:?}"
        );
    }

    #[test]
    fn an_event_that_is_not_there_is_named() {
        syscalls::REFUSE.set(Some(libc::ENOENT));
        let options = RecordOptions {
            event: Some(EventSpec::parse("cycles:pp").unwrap()),
            ..RecordOptions::default()
        };
        let error = choose_event(&options).unwrap_err().to_string();
        syscalls::REFUSE.set(None);
        assert!(error.contains("cycles:pp"), "{error}");
    }
}
