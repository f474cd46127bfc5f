//! Which event to sample on this machine, and why.

use std::io;

use perf_event_open_sys::bindings::perf_event_attr;

use super::cycles_probe::cycles_slowdown;
use super::data_event;
use super::record_options::RecordOptions;
use super::sampling_rate::{Rate, max_sample_rate_hz};
use super::syscalls;
use crate::error::ProfileError;
use crate::event::EventSpec;
use crate::permission;

/// The event that will be sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventChoice {
    /// The event, with the modes that it excludes.
    pub event: EventSpec,
    /// `precise_ip` that the machine supports, 0…3.
    pub precise_ip: u8,
    /// Whether the kernel is sampled too.
    pub kernel: bool,
    /// How often.
    pub rate: Rate,
    /// Why this event was chosen, for the user: follows "sampled by EVENT:".
    pub reason: String,
    /// What was requested and cannot be had, each with the command that allows it.
    pub notes: Vec<String>,
}

impl EventChoice {
    /// perf's name of the event with its modifiers (`cycles:u`).
    #[must_use]
    pub fn name(&self) -> String {
        let mut event = self.event.clone();
        event.exclude_kernel = !self.kernel;
        event.precise = self.precise_ip;
        event.full_name()
    }
}

/// Cycles are not the default where sampling them slows the target by more than this share: in
/// virtual machines an interrupt of the counter may cost ten times what one of cpu-clock costs.
const MAX_CYCLES_SLOWDOWN: f64 = 0.03;

/// The event to sample where none was requested, and why: cycles where the machine has a counter
/// of low overhead, else cpu-clock.
fn default_event(cycles_slowdown: Result<f64, String>) -> (&'static str, String) {
    match cycles_slowdown {
        Err(why) => ("cpu-clock", why),
        Ok(slowdown) if slowdown <= MAX_CYCLES_SLOWDOWN => {
            ("cycles", "hardware cycles work here".to_owned())
        }
        Ok(slowdown) => (
            "cpu-clock",
            format!(
                "sampling hardware cycles slows programs by {:.0} % here (-e cycles samples them all \
                 the same)",
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

/// Opens the event for this thread on any CPU, to check whether the kernel accepts it.
fn check_event(
    event: &EventSpec,
    precise_ip: u8,
    exclude_kernel: bool,
    rate: Rate,
) -> io::Result<()> {
    let mut attr = perf_event_attr {
        type_: event.kind,
        config: event.config,
        ..Default::default()
    };
    attr.__bindgen_anon_3.config1 = event.more_config[0];
    attr.__bindgen_anon_4.config2 = event.more_config[1];
    rate.set(&mut attr);
    attr.sample_type = 1;
    attr.set_disabled(1);
    attr.set_exclude_user(event.exclude_user.into());
    attr.set_exclude_kernel(exclude_kernel.into());
    attr.set_exclude_hv(exclude_kernel.into());
    attr.set_exclude_guest((!event.is_ibs()).into());
    attr.set_precise_ip(precise_ip.into());
    syscalls::open(&mut attr, 0, -1).map(drop)
}

/// Chooses the event to sample: the requested one, else hardware cycles where they can be sampled
/// at low overhead, else `cpu-clock`. User code only where the kernel may not be sampled.
///
/// # Errors
/// [`ProfileError::Forbidden`] where the kernel refuses all perf events,
/// [`ProfileError::NotSupported`] where the machine lacks the requested event.
pub fn choose_event(options: &RecordOptions) -> Result<EventChoice, ProfileError> {
    let mut notes = Vec::new();
    let rate = options.rate.limited(max_sample_rate_hz(), &mut notes);
    let (event, reason) = match &options.event {
        Some(event) => (event.clone(), "requested".to_owned()),
        None if options.data => (data_event::here()?, "requested".to_owned()),
        None => {
            let (name, reason) = default_event(cycles_slowdown(rate));
            (EventSpec::parse(name)?, reason)
        }
    };
    let mut kernel = !event.exclude_kernel && !options.user_only;
    let wanted = if event.precise == EventSpec::HIGHEST {
        3
    } else {
        event.precise
    };
    let mut precise_ip = wanted;
    loop {
        match check_event(&event, precise_ip, !kernel, rate) {
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
            "{} was requested with precise_ip {wanted}; this machine supports {precise_ip}",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_clock_is_the_default_where_cycles_have_high_overhead() {
        assert_eq!(default_event(Ok(0.01)).0, "cycles");
        let (event, reason) = default_event(Ok(0.07));
        assert_eq!(event, "cpu-clock");
        assert!(
            reason.contains("7 %") && reason.contains("-e cycles"),
            "{reason}"
        );
        let (event, reason) = default_event(Err("no counter".to_owned()));
        assert_eq!(event, "cpu-clock");
        assert!(reason.contains("no counter"), "{reason}");
    }

    #[test]
    fn refused_perf_events_are_an_error_with_the_reason() {
        syscalls::REFUSE.set(Some(libc::EPERM));
        let error = choose_event(&RecordOptions::default());
        syscalls::REFUSE.set(None);
        assert!(
            matches!(error, Err(ProfileError::Forbidden(_))),
            "{error:?}"
        );
    }

    #[test]
    fn error_names_the_event_that_the_machine_lacks() {
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
