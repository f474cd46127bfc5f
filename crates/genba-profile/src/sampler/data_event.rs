//! The event whose samples say which data was accessed, by the kernel's description of the PMUs.

use std::path::Path;

use crate::error::ProfileError;
use crate::event::EventSpec;

/// Intel's loads of at least 30 cycles, as `perf mem` samples them (Linux, `tools/perf/arch/x86/util/mem-events.c`).
const INTEL_LOADS: &str = "cpu/mem-loads,ldlat=30/P";
/// AMD's instruction-based sampling of ops: loads and stores are among them.
const AMD_OPS: &str = "ibs_op//";

/// The event on a machine that has these files below `/sys/bus/event_source/devices`.
///
/// # Errors
/// What is missing, as a sentence.
fn choose(has: &dyn Fn(&str) -> bool) -> Result<&'static str, &'static str> {
    if has("ibs_op/type") {
        return Ok(AMD_OPS);
    }
    match (has("cpu/events/mem-loads"), has("cpu/events/mem-loads-aux")) {
        (true, false) => Ok(INTEL_LOADS),
        (true, true) => Err(
            "this processor samples loads only together with a second event (mem-loads-aux), which genba does not \
             open; record with: perf mem record -- COMMAND, and read it with: genba report --by data",
        ),
        (false, _) => Err(
            "neither load latency (cpu/mem-loads/, Intel) nor instruction-based sampling (ibs_op, AMD) is there; \
             addresses without them, from bursts of every instruction: genba observe FUNCTION -- COMMAND",
        ),
    }
}

/// The event on this machine.
///
/// # Errors
/// [`ProfileError::NoDataAddresses`] where the hardware or the virtual machine has none.
pub(super) fn here() -> Result<EventSpec, ProfileError> {
    let devices = Path::new("/sys/bus/event_source/devices");
    let chosen = choose(&|file| devices.join(file).exists());
    EventSpec::parse(chosen.map_err(ProfileError::NoDataAddresses)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_follows_from_what_the_kernel_describes() {
        let with = |files: &'static [&str]| choose(&|file| files.contains(&file));
        assert_eq!(with(&["ibs_op/type"]), Ok(AMD_OPS));
        assert_eq!(with(&["cpu/events/mem-loads"]), Ok(INTEL_LOADS));
        let aux = with(&["cpu/events/mem-loads", "cpu/events/mem-loads-aux"]);
        assert!(aux.is_err_and(|why| why.contains("perf mem record")));
        assert!(with(&[]).is_err_and(|why| why.contains("genba observe")));
    }
}
